"""Whether two clean clones, in folders of different names and lengths, build equal files.

    python release/reproduce.py            the source archive, and the wheel for this machine
    python release/reproduce.py --wheels   the wheels for all platforms, too, by two downloads of the compiler

What is committed is built. The hashes are printed, for others to compare.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("one", "another/and longer")


def built(place: Path, *, wheels: bool) -> dict[str, str]:
    """The names and SHA-256 of what a clone in `place` builds."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
    commands = [["-m", "hatchling", "build", "-d", "dist"], *([["hatch_build.py", "--wheels"]] if wheels else [])]
    for command in commands:
        subprocess.run([sys.executable, *command], cwd=place, check=True, stdout=subprocess.DEVNULL)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted((place / "dist").iterdir())}


def main() -> None:
    """Build twice and compare."""
    with TemporaryDirectory() as folder:
        first, second = (built(Path(folder) / place, wheels="--wheels" in sys.argv[1:]) for place in PLACES)
    for name in sorted({*first, *second}):
        print(f"{first.get(name)}  {name}{'' if first.get(name) == second.get(name) else '  DIFFERS'}")
    if first != second:
        sys.exit("Two builds of one commit differ: something of the place, the time or the order of files got in.")


if __name__ == "__main__":
    main()
