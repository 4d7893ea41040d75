"""Whether the data of a window are complete, by facts that are public: times and names of files, never what is in them.

A schedule asks before it charges a window: a clock that runs ahead would else charge windows without data.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from datetime import datetime, time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.files import STDIN, is_glob
from dpmine.ledger.budget import checked_name
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from dpmine.reporting.jobs.job import Job

CLOCK, NEWER_FILE = "clock", "newer-file"
_PLACES = re.compile(r"\{([^{}]*)\}")
_MARK_FILE = re.compile(r"(^|/)[._][^/]*$|\.[A-Za-z]+$")
"""A path that ends like a mark: _SUCCESS, .done, week.ok."""
_WINDOW, _DATES = "window", ("year", "month", "day")
_SQL = ("query", "where", "database", "parts")
_IN_SQL = re.compile(r"\{(window|year|month|day|start|end)\}")
"""Other braces may belong to the database's language."""


class OnEmpty(StrEnum):
    """What is done about a window whose folder holds no file."""

    RUN = "run"
    """It is charged like every other one."""
    STOP = "stop"
    """Neither it nor a later one is run."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What must be there before a window is run.

    Attributes:
        rule: `CLOCK`, that the window has ended by this machine's clock. `NEWER_FILE`, that each input also has a file
            written after the window's end. Else a path that must exist, with the window's name or dates in braces.
        on_empty: what is done if that path is a folder without files.
    """

    rule: str
    on_empty: OnEmpty = OnEmpty.RUN

    @classmethod
    def of(cls, rule: object, on_empty: object, examples: tuple[tuple[str, date], ...]) -> Readiness:
        """`examples`: names and first days of windows, of which a path must tell one from the others.

        Raises BadParameter.
        """
        text = checked_name("ready", rule)
        ready = cls(NEWER_FILE if text == "newer_file" else text, named(OnEmpty, "on_empty", on_empty))
        if ready.rule not in {CLOCK, NEWER_FILE} and len({ready._path(*each) for each in examples}) < len(examples):
            raise BadParameter(
                f"ready must be {NEWER_FILE!r}, {CLOCK!r}, or a path that differs from window to window, such as "
                "'exports/{window}.done' or 'sales/year={year}/month={month}'."
            )
        if is_glob(ready.rule) or ready.rule.startswith("~"):
            raise BadParameter(
                "ready must be a path as it is: it is no pattern (with *, ? or [), and ~ is not replaced by a folder. "
                "Write the whole path, such as /home/shop/exports/{window}.done."
            )
        if ready.on_empty is OnEmpty.STOP and ready.rule in {CLOCK, NEWER_FILE}:
            raise BadParameter(
                "on_empty = 'stop' is for windows whose folder is named in ready, such as 'sales/week={window}': "
                "whether a window has rows is private, and only whether its folder has files can be public."
            )
        if ready.on_empty is OnEmpty.STOP and _MARK_FILE.search(ready.rule):
            raise BadParameter(
                f"on_empty = 'stop' is for a ready that names a folder, and {ready.rule!r} names a file: leave "
                "on_empty out, because a mark says that the export has ended."
            )
        return ready

    def assertion(self, unit: str) -> str:
        """What it takes for public, and nothing checks; "" for nothing."""
        if self.rule == CLOCK:
            return ""
        fact = "the time at which a file of the inputs was written" if self.rule == NEWER_FILE else "that a path exists"
        more = ", or that its folder is empty," if self.on_empty is OnEmpty.STOP else ""
        return f"{fact}{more} shows nothing of one {unit}"

    def missing(self, window: str, first: date, end: date, jobs: Iterable[Job]) -> str:
        """What the window still lacks, in words; "" for nothing. No file is opened. Raises BadParameter."""
        if self.rule == CLOCK:
            return ""
        if self.rule != NEWER_FILE:
            path = self._path(window, first)
            return "" if Path(path).exists() else f"there is no '{path}'"
        after = datetime.combine(end, time()).astimezone().timestamp()
        for job in jobs:
            written = [path.stat().st_mtime for path in _files(job)]
            own = job.scheduled is not None and job.scheduled.paths
            if (written or own) and max(written, default=0) < after:  # where there is none, the job's check says so
                return f"no file of {job.source!r} was written after the end of it"
        return ""

    def empty_folder(self, window: str, first: date) -> str:
        """The window's folder, if that has no file and the schedule is to stop there; else ""."""
        if self.on_empty is OnEmpty.RUN:
            return ""
        folder = Path(self._path(window, first))
        if not folder.is_dir():
            raise BadParameter(f"on_empty = 'stop' is for folders, and '{folder}' is a file: leave on_empty out.")
        return "" if any(_is_data(path, folder) for path in _below(folder)) else str(folder)

    def _path(self, window: str, first: date) -> str:
        return path_at("ready", self.rule, window, first)


def path_at(name: str, path: str, window: str, first: date) -> str:
    """The path for a window: in braces stand its name, and year, month and day of its first day.

    `name`: what the user calls the path. Raises BadParameter for anything else in braces.
    """
    dates = dict(zip(_DATES, first.isoformat().split("-"), strict=True))
    known = {_WINDOW: window, **dates}
    for found in _PLACES.finditer(path):
        if found[1] not in known:
            raise BadParameter(f"{name} knows {{window}}, {{year}}, {{month}} and {{day}}, and no {found[0]}.")
    return _PLACES.sub(lambda found: known[found[1]], path)


def require_places(paths: Iterable[str]) -> None:
    """UnreadableFile where a folder does not exist that lies before everything in braces: no window can be there.

    A feed that is late is no such case, but a folder that is not mounted or is misspelled is. Paths of other machines
    are not looked at.
    """
    for path in paths:
        folder = os.path.dirname(path.partition("{")[0])  # noqa: PTH120 - "" where nothing is fixed
        if folder and "://" not in path and not Path(folder).is_dir():
            raise UnreadableFile(
                f"There is no folder '{folder}', in which '{path}' is looked for: mount it, or correct the job file."
            )


def names_window(path: str) -> bool:
    """Whether something in braces stands in the path."""
    return _PLACES.search(path) is not None


def require_no_window(jobs: Iterable[Job]) -> None:
    """BadParameter where the path of an input names a window: for jobs that run once."""
    for job in jobs:
        found = _PLACES.search(" ".join(job.paths))
        if found and found[1] in {_WINDOW, *_DATES}:
            raise BadParameter(
                f"{found[0]} in the input of job {job.name!r} is for files with a [schedule]: write one, or the path "
                "itself."
            )


def require_plain_conditions(jobs: Iterable[Job]) -> None:
    """BadParameter where a query or a condition names a window in braces: it would be run as it stands, and charged."""
    for job in jobs:
        for name in _SQL:
            found = _IN_SQL.search(str(job.options.get(name, "")))
            if found:
                raise BadParameter(
                    f"{found[0]} in {name} of job {job.name!r} is not replaced: leave it out. With a [schedule], the "
                    "rows of the window are read by its column, also of a query. Paths of inputs may name the window."
                )


def _is_data(path: Path, folder: Path) -> bool:
    """As those who read partitions see it: names that begin with a dot or an underscore are no data."""
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    return not hidden and path.is_file() and path.stat().st_size > 0


def _below(folder: Path) -> Iterator[Path]:
    """The files in the folder and its sub-folders, links to folders included, as readers of inputs see them."""
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        status = os.stat(place)  # noqa: PTH116 - of a text
        if (status.st_dev, status.st_ino) in seen:  # a link to a folder that it lies in
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        yield from (Path(place, name) for name in files)


def _files(job: Job) -> list[Path]:
    """The files of a job's input. Raises BadParameter where it is none on this machine."""
    if not job.paths or any(path == STDIN or "://" in path for path in job.paths):
        raise BadParameter(
            f"ready = {NEWER_FILE!r} looks at files of this machine, and job {job.name!r} reads none: name a path that "
            f"must exist, or ready = {CLOCK!r}."
        )
    names = [name for path in job.paths for name in (glob.glob(path) if is_glob(path) else [path])]  # noqa: PTH207 - as inputs are read
    found = [file for name in names for file in ([*_below(Path(name))] if Path(name).is_dir() else [Path(name)])]
    return [path for path in found if path.is_file()]
