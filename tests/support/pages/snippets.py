"""What the documents show, found and run.

A page's blocks run from top to bottom in one folder, where `datasets` is that of the repository:

- ```console: lines `$ dpmine …` with the output after each. A line `...` stands for any lines. A command that fails
  shows its error instead.
- ```python, each in a process of its own. What it prints stands in an ```output block right after it; without one it
  prints nothing.
- ```toml: a job file. The comment of its first line is its name; it is written, and `dpmine report --dry-run` must
  accept it.

Blocks of all other kinds are only read.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = frozenset({"console", "python", "toml"})
READ = frozenset({"output", "text", "json", "sql", "{eval-rst}", "{toctree}"})
_FENCE = re.compile(r"^(?P<indent>[ >]*)(?P<fence>`{3,}|~{3,})(?P<kind>.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its kind, its text, and the line of its opening fence, counted from 1."""

    kind: str
    text: str
    line: int
    end: int
    indented: bool


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, whatever their kind and place."""
    found: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if opened is None:
            opened = number, fence
        elif fence["fence"].startswith(opened[1]["fence"]) and not fence["kind"].strip():
            start, opening = opened
            body = "".join(f"{each}\n" for each in lines[start : number - 1])
            found.append(Block(opening["kind"].strip(), body, start, number, bool(opening["indent"])))
            opened = None
    if opened is not None:
        raise ValueError(f"the block of line {opened[0]} does not end")
    return found


def untested(text: str) -> list[str]:
    """What is wrong with a page's blocks: kinds that nobody knows, runnable ones where they are not looked for."""
    wrong = []
    before: Block | None = None
    for block in blocks(text):
        if block.kind not in RUN | READ:
            wrong.append(f"line {block.line}: unknown kind {block.kind!r}")
        if block.kind in RUN and block.indented:
            wrong.append(f"line {block.line}: an indented block is not run")
        if block.kind == "output" and (before is None or before.kind != "python" or block.line > before.end + 2):
            wrong.append(f"line {block.line}: the output of nothing")
        before = block
    return wrong


def run_page(text: str, folder: Path, *, reports: bool) -> Iterator[str]:
    """Runs a page's blocks in a folder; tells each difference between what is shown and what came."""
    found = blocks(text)
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.kind == "console":
            yield from _console(block, folder, reports=reports)
        elif block.kind == "python":
            shown = after.text if after is not None and after.kind == "output" else ""
            yield from _python(block, shown, folder)
        elif block.kind == "toml":
            yield from _toml(block, folder, reports=reports)


def _console(block: Block, folder: Path, *, reports: bool) -> Iterator[str]:
    if not block.text.startswith("$ "):
        yield f"line {block.line}: no command"
        return
    for entry in block.text.removeprefix("$ ").split("\n$ "):
        command, _, shown = entry.replace("\\\n", " ").partition("\n")
        program, *arguments = shlex.split(command)
        if program != "dpmine":
            yield f"line {block.line}: {program} is not dpmine"
            continue
        if arguments[0] == "report" and not reports:
            continue
        came = run([sys.executable, "-m", "dpmine_cli.main", *arguments], folder)
        if not is_shown(came, shown if shown.endswith("\n") or not shown else f"{shown}\n"):
            yield f"line {block.line}: {command}\n{came}"


def _python(block: Block, shown: str, folder: Path) -> Iterator[str]:
    came = run([sys.executable, "-c", block.text], folder)
    if not is_shown(came, shown):
        yield f"line {block.line}: printed\n{came}"


def _toml(block: Block, folder: Path, *, reports: bool) -> Iterator[str]:
    name = re.match(r"# ([\w-]+\.toml)\n", block.text)
    if name is None:
        yield f"line {block.line}: the first line is no comment with a file's name"
        return
    (folder / name[1]).write_text(block.text, encoding="utf-8")
    if reports:
        done = _finished([sys.executable, "-m", "dpmine_cli.main", "report", name[1], "--dry-run"], folder)
        if done.returncode:
            yield f"line {block.line}: refused\n{done.stderr}"


def run(command: list[str], folder: Path) -> str:
    """What it prints; the last line of its errors where it fails."""
    done = _finished(command, folder)
    return done.stdout if not done.returncode else "".join(done.stderr.splitlines(keepends=True)[-1:])


def _finished(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def is_shown(came: str, shown: str) -> bool:
    """Whether an output is what a page shows, where `...` stands for any lines."""
    pattern = "".join("(?:.*\n)*" if line == "..." else f"{re.escape(line)}\n" for line in shown.splitlines())
    return re.fullmatch(pattern, came) is not None
