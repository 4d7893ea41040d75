"""Every snippet of the README and of the pages in docs does what is shown, and none escapes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import every
from support.pages.snippets import RUN, blocks, is_shown, run_page, untested

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT)) for pattern in ("*.md", "datasets/*.md", "docs/**/*.md") for path in ROOT.glob(pattern)
)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


RUNNING = [name for name in DOCUMENTS if any(block.kind in RUN for block in blocks(text(name)))]


@pytest.fixture
def reports() -> bool:
    """Whether job files can be checked."""
    from dpmine_cli.program import group  # here: a broken command line fails these tests, not their collection

    return "report" in group().commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNNING)
def test_page_does_what_it_shows(name: str, folder: Path, reports: bool) -> None:
    assert list(run_page(text(name), folder, reports=reports)) == []


def typed(page: str) -> list[list[str]]:
    """The commands that a page shows in indented lines, but for those of pip and make."""
    lines = re.findall(r"^    (?:dpmine|python) .+$", page, flags=re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


LOOKS = {name: ["--dry-run"] for name in ("top-itemset", "histogram", "classify", "report")}
"""With these, commands check everything but values: other tests run them."""


@pytest.mark.slow
def test_every_command_of_the_readme_can_be_typed(folder: Path) -> None:
    (folder / "examples").symlink_to(ROOT / "examples")
    commands = [command for command in typed(text("README.md")) if command[1] != "doctor"]  # it reads no file
    assert len(commands) >= 8
    for program, *arguments in commands:
        starts = ["-m", "dpmine_cli.main"] if program == "dpmine" else []
        ends = LOOKS.get(arguments[0], [])
        command = [sys.executable, *starts, *arguments, *ends]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{program} {shlex.join(arguments)}\n{done.stderr}"


def test_comments_are_not_typed() -> None:
    page = "    pip install .\n    dpmine doctor   # looks\n    python a.py 'b c'\n\n```console\n$ dpmine\n```\n"
    assert typed(page) == [["dpmine", "doctor"], ["python", "a.py", "b c"]]


@every("name", DOCUMENTS)
def test_no_block_escapes(name: str) -> None:
    assert untested(text(name)) == []


def test_the_readme_and_the_tutorial_run() -> None:
    assert {"README.md", "docs/tutorial/index.md"} <= set(RUNNING)


@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ dpmine --version\ndpmine 0\n```\n",
        "```console\n$ dpmine nonsense\n```\n",
        "```console\n$ ls\n```\n",
        "```console\ndpmine --version\n```\n",
        "```python\nprint(1)\n```\n",
        "```python\nprint(1)\n```\n\n```output\n2\n```\n",
        "```python\nprint(1)\n```\n\n```text\n1\n```\n",
        "```python\n1 / 0\n```\n",
        "```toml\n[budget]\n```\n",
    ],
)
def test_pages_that_show_something_else_are_found(page: str, folder: Path) -> None:
    assert len(list(run_page(page, folder, reports=False))) == 1


def test_blocks_share_a_folder(folder: Path) -> None:
    page = (
        "```python\nfrom pathlib import Path\nPath('a.txt').write_text('x')\n```\n"
        "```python\nfrom pathlib import Path\nprint(Path('a.txt').read_text())\n```\n\n```output\nx\n```\n"
        "```console\n$ dpmine --version\n...\n$ dpmine nonsense\n"
        "dpmine: error: No such command 'nonsense'. Try: dpmine --help.\n```\n"
    )
    assert list(run_page(page, folder, reports=False)) == []


@every(
    "page",
    [
        "```py\n1\n```\n",
        "```\n1\n```\n",
        "~~~python3\n1\n~~~\n",
        "- item\n\n  ```python\n  1\n  ```\n",
        "> ```console\n> $ dpmine\n> ```\n",
        "```output\n1\n```\n",
        "```python\n1\n```\n\nwords\n\n```output\n1\n```\n",
    ],
)
def test_blocks_that_would_escape_are_found(page: str) -> None:
    assert len(untested(page)) == 1


def test_a_block_in_a_longer_fence_is_text() -> None:
    assert [block.kind for block in blocks("````text\n```python\n1 / 0\n```\n````\n")] == ["text"]


def test_dots_stand_for_lines() -> None:
    assert is_shown("a\nb\nc\n", "a\n...\n")
    assert is_shown("a\n", "a\n...\n")
    assert not is_shown("b\na\n", "a\n...\n")
    assert not is_shown("a (b)\n", "a .b.\n")
