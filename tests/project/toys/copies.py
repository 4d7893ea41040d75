"""Toys: one thing of each kind that docs/architecture.md tells how to add, added to a copy of this project.

A toy is a list of edits, each to a file that a step of the page names. The test adds the toy and leaves out one edit
after the other.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
TOYS = Path(__file__).resolve().parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
COPIED = ("dpmine", "cli", "docs", "fuzz", "tests", "pyproject.toml", "hatch_build.py")
OURS = {"dpmine", "dpmine_cli", "fuzz", "hatch_build", "models", "project", "support"}
"""Packages that are imported anew from the copy."""


@dataclass(frozen=True)
class Edit:
    """One file that a toy makes or changes.

    Attributes:
        path: as the page has it, with NAME in place of the toy's name.
        lines: lines to put in, by the line before which each stands; of a new file its text, by "".
        gives: what the registration test names as missing without it; where that is nothing, the toy does not work.
    """

    path: str
    lines: dict[str, str]
    gives: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The file, from the top of the project."""
        return self.path.replace("NAME", "toy")

    def apply(self, text: str) -> str:
        """The file's text with the lines put in; each line before which one goes stands there once."""
        for before, line in self.lines.items():
            assert not before or text.count(f"\n{before}") == 1, f"{self.place} has not one line {before!r}"
            text = text.replace(f"\n{before}", f"\n{line}\n{before}") if before else line
        return text


def made(path: str, toy: str) -> Edit:
    """An edit that copies a file of tests/project/toys to its place."""
    return Edit(path, {"": (TOYS / toy).read_text(encoding="utf-8")})


def steps(kind: str) -> set[str]:
    """The files that the steps of the page's list name, before their first colons."""
    section = re.search(rf"^## I want to add an? {kind}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, kind
    heads = re.findall(r"^\d+\. ([^:]*):", section[1], re.MULTILINE)
    return set(re.findall(r"`([\w/.-]+)`", " ".join(heads)))


class Copy:
    """A copy of the project, to which toys are added."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self._writes = 0
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, folder / name)

    @contextmanager
    def edited(self, edits: Iterable[Edit]) -> Iterator[None]:
        """The copy with these edits, imported anew; both end with the block."""
        places = [self.root / edit.place for edit in edits]
        before = {place: place.read_text(encoding="utf-8") if place.exists() else None for place in places}
        try:
            for edit, place in zip(edits, places, strict=True):
                self._write(place, edit.apply(before[place] or ""))
            with self._imported():
                yield
        finally:
            for place, text in before.items():
                place.unlink() if text is None else self._write(place, text)

    def _write(self, place: Path, text: str) -> None:
        """With a time of its own: Python's caches tell texts of one length apart by whole seconds."""
        place.write_text(text, encoding="utf-8")
        self._writes += 1
        os.utime(place, (self._writes, self._writes))

    @contextmanager
    def _imported(self) -> Iterator[None]:
        """Modules of the copy in place of those of this process."""
        kept, path = _without_ours(), [*sys.path]
        sys.path[:0] = [str(self.root / folder) for folder in ("", "cli", "tests")]
        importlib.invalidate_caches()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            _without_ours()
            sys.path[:] = path
            sys.modules.update(kept)
            importlib.invalidate_caches()


def _without_ours() -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] in OURS}
