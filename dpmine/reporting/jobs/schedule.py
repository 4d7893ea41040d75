"""The calendar of a job file: windows of days, weeks or months, of which each has a part of one budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.io.input import Days
from dpmine.ledger.budget import Amount, checked_name
from dpmine.parameters import named, truth, whole
from dpmine.reporting.jobs.ready import OnEmpty, Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dpmine.reporting.jobs.job import Job

KEYS = ("every", "runs", "column", "ready", "on_empty", "start", "skip", "missed", "disjoint_units")
RESULT_KEYS = ("store",)
_MOST_RUNS = 100_000
_EPOCH = date(1970, 1, 1).toordinal()


class Every(StrEnum):
    """How long a window is."""

    DAY = "day"
    WEEK = "week"
    """From Monday to Sunday, as ISO 8601 numbers weeks."""
    MONTH = "month"


class Kept(StrEnum):
    """Where results are kept, beside the results folder."""

    LEDGER = "ledger"
    """With their charges: every machine of the ledger has them."""
    FOLDER = "folder"
    """Nowhere else."""


_WRITTEN_FORMS = {
    Every.DAY: (re.compile(r"\d{4}-\d\d-\d\d"), "2026-11-22"),
    Every.WEEK: (re.compile(r"\d{4}-W\d\d"), "2026-W47"),
    Every.MONTH: (re.compile(r"\d{4}-\d\d"), "2026-11"),
}


def length_of(window: str) -> Every | None:
    """How long the window of that name is; None where it is no name of one."""
    return next((every for every, (form, _) in _WRITTEN_FORMS.items() if form.fullmatch(window)), None)


def leaving_out(windows: Iterable[object]) -> str:
    """What to write in a job file, so that these windows are left out for good."""
    names = ", ".join(f'"{window}"' for window in windows)
    return f"leave it out for good: skip = [{names}] in [schedule]."


def retrying(jobs: Iterable[Job]) -> str:
    """What to type, to run jobs that were charged once more, each for its window."""
    windows = (f"`window='{job.scheduled.window}'` with " if job.scheduled and job.in_window else "" for job in jobs)
    return ", or ".join(f"{window}`retry=True`" for window in dict.fromkeys(windows))


class Missed(StrEnum):
    """What a run does about earlier windows that were never charged."""

    CATCH_UP = "catch_up"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One day, week or month.

    Attributes:
        first: its first day.
        every: how long it is.
    """

    first: date
    every: Every

    @classmethod
    def parse(cls, text: object, every: Every) -> Window:
        """The window of that name: 2026-W47, 2026-11 or 2026-11-22, a date too. Raises BadParameter."""
        pattern, example = _WRITTEN_FORMS[every]
        text = text.isoformat() if type(text) is date else text
        written = text if isinstance(text, str) and pattern.fullmatch(text) else ""
        try:  # Python reads 2026-W47 as its Monday
            window = cls(date.fromisoformat(f"{written}-01" if every is Every.MONTH else written), every)
            window.following(), window.preceding()
        except (ValueError, OverflowError):
            shown = f"{text!r:.60}" if isinstance(text, str) else "A value that is no text"
            raise BadParameter(
                f"{shown} is no window: one of a schedule for every {every} is written like {example}."
            ) from None
        return window

    @classmethod
    def containing(cls, day: date, every: Every) -> Window:
        """The window that the day is in."""
        days_back = {Every.DAY: 0, Every.WEEK: day.weekday(), Every.MONTH: day.day - 1}[every]
        return cls(day - timedelta(days_back), every)

    def following(self) -> Window:
        """The next window."""
        return Window.containing(
            self.first + timedelta({Every.DAY: 1, Every.WEEK: 7, Every.MONTH: 31}[self.every]), self.every
        )

    def preceding(self) -> Window:
        """The window before this one."""
        return Window.containing(self.first - timedelta(1), self.every)

    def until(self, last: Window) -> Iterator[Window]:
        """This window and the following ones, up to `last`; none where that is earlier."""
        window = self
        while window <= last:
            yield window
            window = window.following()

    def days(self, column: str) -> Days:
        """The rows of this window."""
        first, end = (window.first.toordinal() - _EPOCH for window in (self, self.following()))
        return Days(column, first, end)

    def __str__(self) -> str:
        if self.every is Every.WEEK:
            year, week, _ = self.first.isocalendar()
            return f"{year:04}-W{week:02}"
        return self.first.isoformat()[: 10 if self.every is Every.DAY else 7]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the jobs of a file run, and on which rows.

    Attributes:
        every: how long a window is.
        runs: among how many windows the budget is divided.
        column: the column of dates or timestamps that says which window a row is in.
        ready: what must be there before a window is run.
        start: the first window; None for the first one that was charged.
        skip: windows that are left out for good.
        missed: what a run does about earlier windows that were never charged.
        kept: where results are kept.
        disjoint_units: whether it is asserted that no unit has rows in two windows. Each window has all of the budget
            then, as a part of the data set (docs/proofs/ledger.md, section 4).
    """

    every: Every
    runs: int
    column: str
    ready: Readiness
    start: Window | None = None
    missed: Missed = Missed.CATCH_UP
    disjoint_units: bool = False
    kept: Kept = Kept.LEDGER
    skip: frozenset[Window] = frozenset()

    @classmethod
    def of(cls, table: Mapping[str, Any], results: Mapping[str, Any]) -> Schedule:
        """The schedule that two tables of known keys describe, [schedule] and [results]. Raises BadParameter."""
        for name, example in (("every", '"week"'), ("runs", "52"), ("column", '"at"'), ("ready", '"newer-file"')):
            if name not in table:
                raise BadParameter(f"{name} is missing in [schedule]: write there, for example, {name} = {example}.")
        every, start, skip = named(Every, "every", table["every"]), table.get("start"), table.get("skip", [])
        if not isinstance(skip, list):
            raise BadParameter(f'skip must be a list of windows, such as ["{_WRITTEN_FORMS[every][1]}"].')
        runs = whole("runs", table["runs"])
        if runs > _MOST_RUNS:
            raise BadParameter(f"runs must be at most {_MOST_RUNS:,}.")
        return cls(
            every,
            runs,
            checked_name("column", table["column"]),
            Readiness.of(table["ready"], table.get("on_empty", OnEmpty.RUN), _a_year_of(every)),
            None if start is None else Window.parse(start, every),
            named(Missed, "missed", table.get("missed", Missed.CATCH_UP)),
            truth("disjoint_units", table.get("disjoint_units", False)),
            named(Kept, "store", results.get("store", Kept.LEDGER)),
            frozenset(Window.parse(each, every) for each in skip),
        )

    def assertion(self, unit: str) -> str:
        """What it says of each unit, and nothing checks; "" for nothing."""
        disjoint = f"no {unit} has data in two windows" if self.disjoint_units else ""
        return "; ".join(filter(None, [disjoint, self.ready.assertion(unit)]))

    def missing(self, window: Window, jobs: Iterable[Job]) -> str:
        """What the window still lacks, as `Readiness.missing`."""
        return self.ready.missing(str(window), window.first, window.following().first, jobs)

    def share(self, total: Amount) -> Amount:
        """What one window may be charged of the file's total; a public function of the file."""
        return total if self.disjoint_units else Amount(*(entry / self.runs for entry in total))

    def window(self, text: str | None, today: date) -> Window:
        """The window of that name; for None the last one that has ended and is not left out.

        Raises BadParameter for one that has not ended, is left out or is before the schedule's start, BudgetExceeded
        behind its end.
        """
        current = Window.containing(today, self.every)
        window = self._last_before(current) if text is None else Window.parse(text, self.every)
        if window in self.skip:
            raise BadParameter(f"{window} is left out by skip in [schedule]: name another window, or take it out.")
        if window >= current:
            raise BadParameter(
                f"{window} has not ended, and a window is charged once: run it after {current.preceding()}, or later."
                if window > current
                else f"{window} has not ended, and a window is charged once: run it when it has."
            )
        if self.start is not None and window < self.start:
            raise BadParameter(f"{window} is before {self.start}, the start of [schedule]: give a later window.")
        if self.start is not None and window not in self.windows(self.start, window):
            raise BudgetExceeded(
                f"The budget is divided among {self.runs} windows from {self.start} on, and {window} is behind the "
                "last one: write a schedule with another start and a budget of its own."
            )
        return window

    def _last_before(self, window: Window) -> Window:
        window = window.preceding()
        while window in self.skip:
            window = window.preceding()
        return window

    def windows(self, first: Window, last: Window) -> tuple[Window, ...]:
        """The windows from `first` to `last`, at most as many as the schedule has runs."""
        return tuple(window for window, _ in zip(first.until(last), range(self.runs), strict=False))


def _a_year_of(every: Every) -> tuple[tuple[str, date], ...]:
    """Names and first days of windows, more than a year of them: a path without the year names two of them."""
    first, last = (Window.containing(day, every) for day in (date(2026, 1, 1), date(2027, 3, 1)))
    return tuple((str(window), window.first) for window in first.until(last))
