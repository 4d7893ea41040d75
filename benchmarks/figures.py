"""Measure the figures of one page again: the commands that the table of docs/explanation/measured/index.md has for it.

Usage: python benchmarks/figures.py [PAGE] (such as short_lists; without a page it lists them)
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "explanation" / "measured" / "index.md"
_ROW = re.compile(r"^\| \[[^]]*\]\((?:.*/)?(\w+)\.md\) \| (.*?) \|", re.MULTILINE)


def commands() -> dict[str, list[str]]:
    """The commands of each page, in order."""
    return {page: re.findall(r"`(.*?)`", cell) for page, cell in _ROW.findall(TABLE.read_text(encoding="utf-8"))}


def main() -> None:
    known = commands()
    if sys.argv[1:] and sys.argv[1] not in known:
        sys.exit(f"{sys.argv[1]} is no page of measurements: one of {', '.join(known)}.")
    if not sys.argv[1:]:
        print("\n".join(f"{page}: {', '.join(its)}" for page, its in known.items()))
        return
    for command in known[sys.argv[1]]:
        print(f"$ {command}", flush=True)
        words = shlex.split(command)
        subprocess.run([sys.executable if words[0] == "python" else words[0], *words[1:]], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
