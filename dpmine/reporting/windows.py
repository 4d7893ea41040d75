"""The windows of a schedule: those that a run is for, each as its own batch, and all of them for a page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadData, BadLedger, BadParameter, BudgetExceeded
from dpmine.ledger.budget import Amount, composed
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.batch import Report, checked_batch, run_batch
from dpmine.reporting.jobs.recurring import Recurring
from dpmine.reporting.jobs.schedule import Missed, Window
from dpmine.reporting.timeline import Charges, PastWindow, Timeline

if TYPE_CHECKING:
    from collections.abc import Collection

    from dpmine.reporting.batch import Watcher
    from dpmine.reporting.jobs.file import JobFile
    from dpmine.reporting.store import ResultsFolder
    from dpmine.reporting.terms import Batch


@dataclass(frozen=True)
class WindowRun:
    """A run of recurring jobs for one window.

    Attributes:
        recurring: the jobs, and their schedule.
        store: where their results are.
        window: the one that is asked for.
    """

    recurring: Recurring
    store: ResultsFolder
    window: Window

    @classmethod
    def of(
        cls, job_file: JobFile, store: ResultsFolder, window: str | None, *, today: date | None = None
    ) -> WindowRun | None:
        """The run of that window, for None the last one that has ended; None for jobs without a schedule.

        Raises BadParameter, and BudgetExceeded for a window behind the end of the schedule.
        """
        if job_file.schedule is None:
            if window is not None:
                raise BadParameter(
                    "`window` is for job files with a [schedule]: leave it out, or write one with every, runs "
                    "and column."
                )
            return None
        recurring = Recurring(job_file, job_file.schedule)
        _ = recurring.jobs  # whose budget is checked here
        return cls(recurring, store, job_file.schedule.window(window, today or datetime.now(UTC).astimezone().date()))

    @property
    def job_file(self) -> JobFile:
        """For the window that is asked for."""
        return self.recurring.at(self.window)

    def checked(self, *, retry: bool) -> Batch:
        """The batch of the window that is asked for. Raises as `checked_batch`."""
        return checked_batch(self.job_file, self.store, retry=retry)

    @cached_property
    def missed(self) -> tuple[Window, ...]:
        """Earlier windows that this run catches up with: no job of theirs was charged, or has a result."""
        if self.recurring.schedule.missed is Missed.SKIP:
            return ()
        charged = self._charges().amounts
        return tuple(
            window for window in self._windows(charged) if window < self.window and self._is_due(window, charged)
        )

    def run(self, *, watch: Watcher, retry: bool) -> Report:
        """Catch up with what was missed, the earliest window first, then run the one that is asked for.

        Where the budget rejects a window, those after it are not run, and the report is that of the last one that was.
        Raises as `run_batch`, where no window could be run.
        """
        reports: list[Report] = []
        rejected, lost = "", self._charges().amounts
        for window in (*self.missed, self.window):
            again = retry and window == self.window
            try:
                reports.append(run_batch(self.recurring.at(window), self.store, watch=watch, retry=again))
            except BudgetExceeded as error:
                if not reports:
                    raise
                rejected = f"{window} and later windows have no result: {error}"
                break
        *others, last = reports
        # A job that stopped after its charge, in an earlier run, was that run's failure.
        caught_up = tuple(
            each for report in others for each in report.outcomes if each.result or each.job.key not in lost
        )
        new = reports[0].new  # the others find what it granted
        return replace(last, others=caught_up, rejected=rejected, timeline=self._timeline(last), new=new)

    def _is_due(self, window: Window, charged: Collection[str]) -> bool:
        """Whether a job of the window was never charged, and has no result."""
        return any(job.key not in charged and self.store.find(job) is None for job in self.recurring.at(window).jobs)

    def _windows(self, charged: Collection[str]) -> tuple[Window, ...]:
        """From the start, or the first one that was charged, to the one that is asked for."""
        schedule = self.recurring.schedule
        charged_windows = [Window.parse(key.partition(" ")[0], schedule.every) for key in charged]
        first = schedule.start or min([*charged_windows, self.window])
        return schedule.windows(first, max([*charged_windows, self.window]))

    def _charges(self) -> Charges:
        terms = self.recurring.terms
        return Charges.of(Ledger(terms.ledger), terms.dataset, self.job_file.jobs, all_parts=True)

    def _timeline(self, last: Report) -> Timeline:
        """All windows; where the ledger cannot be read any more, at the most that the file allows."""
        try:
            charges = self._charges()
        except BadLedger:
            charges, charge = Charges(), last.total
        else:
            charge = self._charge_of(charges)
        by_window = charges.by_window
        windows = (
            self._past_window(window, charged=str(window) in by_window) for window in self._windows(charges.amounts)
        )
        return Timeline(tuple(windows), charge)

    def _charge_of(self, charges: Charges) -> Amount:
        """Of all windows for one unit, which is in one of them alone if units are disjoint."""
        if self.recurring.schedule.disjoint_units:
            return composed(Amount(), charges.by_window.values())
        return charges.total

    def _past_window(self, window: Window, *, charged: bool) -> PastWindow:
        documents: dict[str, dict[str, Any] | None] = {}
        for job, named in zip(self.recurring.at(window).jobs, self.recurring.job_file.jobs, strict=True):
            documents[named.name] = None
            with suppress(BadData):  # a damaged result of another window must not take this page with it
                stored = self.store.find(job)
                documents[named.name] = None if stored is None else stored.document
        return PastWindow(str(window), documents, charged)
