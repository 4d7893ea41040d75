"""Every snippet of the README and of the pages in docs does what is shown."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.DOTALL)
PAGES = README + "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").rglob("*.md")))
PYTHON = re.findall(r"```python\n(.*?)```\n\n```output\n(.*?)```", PAGES, re.DOTALL)


def run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_commands_print_what_the_readme_shows(command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "dpmine"
    assert run([sys.executable, "-m", "dpmine_cli.main", *arguments]) == output


@pytest.mark.parametrize(("code", "output"), PYTHON, ids=[f"snippet {i + 1}" for i in range(len(PYTHON))])
def test_python_prints_what_is_shown(code: str, output: str) -> None:
    assert run([sys.executable, "-c", code]) == output


def test_every_snippet_is_tested() -> None:
    assert len(CONSOLE) == README.count("```console")
    assert len(PYTHON) == PAGES.count("```python")
