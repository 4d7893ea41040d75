"""The windows of a schedule: what each may charge, those that a run is for, and all of them for a page.

What a window may charge is a public function of the job file. The file's total is divided once, before anything is
released, so no result decides what a later window gets.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadData, BadLedger, BadParameter, BudgetExceeded, DpmineError, NotReady
from dpmine.exact.reals import decimal_below
from dpmine.ledger.budget import Accounting, Amount, composed, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.results import SharedResults
from dpmine.options.tables import as_keys
from dpmine.privacy import Neighbors, short
from dpmine.reporting.batch import Report, checked_batch, run_batch
from dpmine.reporting.forecast import WindowsForecast
from dpmine.reporting.jobs.job import Scheduled
from dpmine.reporting.jobs.schedule import Kept, Missed, Window
from dpmine.reporting.terms import Charges, PastWindow, Timeline

if TYPE_CHECKING:
    from collections.abc import Collection, Container

    from dpmine.privacy import Guarantee
    from dpmine.reporting.batch import Watcher
    from dpmine.reporting.jobs.file import BudgetTerms, JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.jobs.schedule import Schedule
    from dpmine.reporting.store import ResultsFolder
    from dpmine.reporting.terms import Batch


_BUDGET = ("epsilon", "delta")
"""The options of a job that say what it may charge."""
_PATIENCE = 3600  # seconds, for a run on another machine
_DIGITS = 4  # of an ε that was computed from ρ
_STEPS = 6  # of that computation
_CLOSE = 0.9999  # of what ρ allows: ε is rounded down, and ρ grows nearly as its square


@dataclass(frozen=True)
class Recurring:
    """A job file with a schedule; `at` gives it for one window.

    Attributes:
        job_file: as it was read.
        schedule: its schedule.
    """

    job_file: JobFile
    schedule: Schedule

    @cached_property
    def terms(self) -> BudgetTerms:
        """Those of the file, with everything fixed that could depend on a ledger. Raises BadParameter."""
        terms = self.job_file.terms
        accounting = terms.accounting or Accounting.BASIC
        if accounting is Accounting.BASIC:
            return replace(terms, accounting=accounting)
        share = terms.total.delta / 2 if terms.approximate_delta is None else terms.approximate_delta
        return replace(terms, accounting=accounting, approximate_delta=share)

    @cached_property
    def accounting(self) -> Accounting:
        """By which the total is divided."""
        return self.terms.accounting or Accounting.BASIC

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, each with its part of what a window may charge, where the file leaves that to the schedule.

        Raises BadParameter for jobs that cannot recur, BudgetExceeded where all runs together exceed [budget].
        """
        self._require_disjoint_possible()
        for job in self.job_file.jobs:
            if job.obstacle:
                raise BadParameter(f"job {job.name!r} cannot recur: {job.obstacle}")
        share = self._share
        jobs = tuple(self._with_budget(job, share) for job in self.job_file.jobs)
        window = Amount.total([Amount.of(_guarantee(job)) for job in jobs])
        runs = 1 if self.schedule.disjoint_units else self.schedule.runs
        total, needed = self.terms.total_under(self.accounting), Amount(*(number * runs for number in window))
        if not total.fits(needed, self.accounting):
            raise BudgetExceeded(
                f"{runs} windows are charged up to {needed.shown(self.accounting, short)} together, and [budget] "
                f"allows {total.shown(self.accounting, short)}: leave epsilon and delta of the jobs out, and "
                "[schedule] divides the budget."
            )
        return jobs

    def at(self, window: Window) -> JobFile:
        """The file for one window: its rows, its name, and with disjoint units its part of the data set."""
        terms, schedule = self.terms, self.schedule
        if schedule.disjoint_units:
            terms = replace(terms, dataset=f"{terms.dataset}/{window}")
        jobs = tuple(
            replace(
                job,
                name=f"{job.name} {window}",
                charged={"dataset": terms.dataset},
                scheduled=Scheduled(
                    str(window.every), str(window), window.days(schedule.column), asked.options, asked.name
                ),
            )
            for job, asked in zip(self.jobs, self.job_file.jobs, strict=True)
        )
        return replace(self.job_file, title=f"{self.job_file.title}, {window}", terms=terms, jobs=jobs)

    @property
    def _share(self) -> Amount:
        """What one job of one window may charge."""
        window = self.schedule.share(self.terms.total_under(self.accounting))
        return Amount(*(number / len(self.job_file.jobs) for number in window))

    def _with_budget(self, job: Job, share: Amount) -> Job:
        if self._is_stated:
            return job
        if job.options.get("release_support", "auto") != "auto":
            raise BadParameter(
                f"release_support of job {job.name!r} must be 'auto', because [schedule] says what a window may "
                "charge: or give epsilon and delta in every job."
            )
        delta = share.compared(self.accounting)[1]
        if self.accounting is Accounting.BASIC:
            return _with(job, share.epsilon, delta)
        return _with(job, _largest(job, share, delta), delta)

    @property
    def _is_stated(self) -> bool:
        """Whether the jobs say themselves what they charge. BadParameter where only some do."""
        stated = [any(name in job.options for name in _BUDGET) for job in self.job_file.jobs]
        if any(stated) and not all("epsilon" in job.options for job in self.job_file.jobs):
            raise BadParameter(
                "Some jobs of this schedule have epsilon or delta, and others do not: give epsilon (and delta) in "
                "every job, or in none; [schedule] then divides the budget equally."
            )
        return any(stated)

    def _require_disjoint_possible(self) -> None:
        if not self.schedule.disjoint_units:
            return
        if self.terms.neighbors is not Neighbors.ADD_REMOVE:
            raise BadParameter(
                'disjoint_units = true needs neighbors = "add-remove" in [budget]: a replaced unit may leave its '
                "window and enter another, and the budgets of both would have to add up."
            )
        if name_and_part(self.terms.dataset)[1]:
            raise BadParameter(
                "disjoint_units = true makes a part of each window: give dataset without '/' in [budget]."
            )


def _guarantee(job: Job) -> Guarantee:
    """That of a job, before its unit is known. Raises with the name of the job."""
    try:
        return job.guarantee_at()
    except DpmineError as error:
        raise type(error)(f"job {job.name!r}: {as_keys(str(error))}") from None


def _with(job: Job, epsilon: Fraction, delta: Fraction) -> Job:
    return replace(job, options={**job.options, "epsilon": short(epsilon), "delta": short(delta)})


def _largest(job: Job, share: Amount, delta: Fraction) -> Fraction:
    """An ε of few digits whose run charges at most the share's ρ, close to the largest.

    √(2ρ) suffices for every mechanism. ρ grows about as ε²; a step that goes too far is halved.
    """
    best = decimal_below(Fraction(sqrt(2 * share.rho)) * Fraction(_CLOSE), _DIGITS)
    rho = Amount.of(_guarantee(_with(job, best, delta))).rho
    step = Fraction(sqrt(share.rho / rho)) * Fraction(_CLOSE)
    for _ in range(_STEPS):
        trial = decimal_below(best * step, _DIGITS)
        if trial <= best:
            break
        charge = Amount.of(_guarantee(_with(job, trial, delta)))
        if share.fits(charge, Accounting.ZCDP):
            best, step = trial, Fraction(sqrt(share.rho / charge.rho)) * Fraction(_CLOSE)
        else:
            step = (1 + step) / 2
    return best


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
        if job_file.schedule.kept is Kept.LEDGER:
            store = replace(store, shared=SharedResults(job_file.terms.ledger))
        day = today or datetime.now(UTC).astimezone().date()
        run = cls(recurring, store, job_file.schedule.window(window, day))
        if window is None:
            run._require_clock()
        return run

    @property
    def job_file(self) -> JobFile:
        """For the window that is asked for."""
        return self.recurring.at(self.window)

    def forecast(self, *, retry: bool) -> WindowsForecast:
        """What `run` will do, if nothing is charged or stored meanwhile. Raises as `run` before it charges anything."""
        batches: list[Batch] = []
        rejected, (windows, waiting) = "", self._planned(retry=retry)
        for window in windows:
            again, job_file = retry and window == self.window, self.recurring.at(window)
            try:
                batches.append(checked_batch(job_file, self.store, retry=again, earlier=batches))
            except BudgetExceeded as error:
                if not batches:
                    raise
                rejected = _rejection(window, error)
                break
        return WindowsForecast(tuple(batches), rejected, waiting)

    def _planned(self, *, retry: bool) -> tuple[tuple[Window, ...], str]:
        """The windows that are run, in order, and why others are not, or ""; NotReady where none is run.

        Those that are stored already, or failed and are not run again, need nothing to be there.
        """
        ready: list[Window] = []
        late: list[Window] = []
        reasons: list[str] = []
        schedule, jobs = self.recurring.schedule, self.recurring.job_file.jobs
        self._require_no_loss()
        charged = {} if retry else self._charges().amounts
        for window in (*self.missed, self.window):
            if window == self.window and not self._has_work(window, charged):
                ready.append(window)
            elif missing := schedule.missing(window, jobs):
                reasons += [] if late else [f"{window} is not run yet, and not charged: {missing}."]
                late.append(window)
            elif folder := schedule.ready.empties(str(window), window.first):
                reasons.append(f"{window} and later windows are not run, and not charged: '{folder}' has no file.")
                break
            else:
                ready.append(window)
        if len(late) > 1:
            others = f"are {len(late) - 1} later ones, up to {late[-1]}" if len(late) > 2 else f"is {late[-1]}"
            reasons.insert(1, f"Nor {others}.")
        if not ready:
            raise NotReady(" ".join(reasons))
        return tuple(ready), " ".join(reasons)

    def _require_no_loss(self) -> None:
        """BadLedger where the folder has a result that the ledger has no charge for: the ledger is an older copy."""
        terms, charged = self.recurring.terms, self._charges().amounts
        if Ledger(terms.ledger).known(name_and_part(terms.dataset)[0]) is None:
            return  # where there is none, the batch says so
        for window in self._windows(charged):
            if any(job.key not in charged and self.store.find(job) for job in self.recurring.at(window).jobs):
                raise BadLedger(
                    f"'{self.store.folder}' has a result of {window} that the ledger has no charge for: an older copy "
                    "of the ledger was put back. Restore a newer one, or charge what is missing (dpmine.Ledger)."
                )

    def _require_clock(self) -> None:
        """BadParameter for a clock that is behind; one window of difference is that of zones, on two machines."""
        latest = max(self._windows(self._charges().amounts))
        if self.window.following() < latest:
            raise BadParameter(
                f"By the clock of this machine {self.window} is the last window that has ended, and the ledger has a "
                f"charge for {latest}: set the clock, or name the window with `window=…`."
            )

    def _has_work(self, window: Window, charged: Container[str]) -> bool:
        """Whether a job of the window is neither among those charged, nor has a result."""
        return any(job.key not in charged and self.store.find(job) is None for job in self.recurring.at(window).jobs)

    @property
    def missed(self) -> tuple[Window, ...]:
        """Earlier windows that this run catches up with: no job of theirs was charged, or has a result."""
        if self.recurring.schedule.missed is Missed.SKIP:
            return ()
        charged = self._charges().amounts
        windows = (window for window in self._windows(charged) if window < self.window)
        return tuple(window for window in windows if self._has_work(window, charged))

    def run(self, *, watch: Watcher, retry: bool) -> Report:
        """Catch up with what was missed, the earliest window first, then run the one that is asked for.

        Where the budget rejects a window, those after it are not run; others are not for which it is too early. The
        report is that of the last one that was. Raises as `run_batch`, and NotReady, where no window could be run.

        Where results are kept in the ledger, one machine runs after another, and each has the results of the others.
        """
        shared, dataset = self.store.shared, self.recurring.terms.dataset
        if shared is None:
            return self._run(watch=watch, retry=retry)
        with shared.turn(dataset, _PATIENCE):
            if charged := self._charges().amounts:
                jobs = [job for window in self._windows(charged) for job in self.recurring.at(window).jobs]
                with self.store.lock():
                    self.store.exchange(jobs, dataset)
            return self._run(watch=watch, retry=retry)

    def _run(self, *, watch: Watcher, retry: bool) -> Report:
        reports: list[Report] = []
        rejected, lost, (windows, waiting) = "", self._charges().amounts, self._planned(retry=retry)
        for window in windows:
            again = retry and window == self.window
            try:
                reports.append(run_batch(self.recurring.at(window), self.store, watch=watch, retry=again))
            except BudgetExceeded as error:
                if not reports:
                    raise
                rejected = _rejection(window, error)
                break
        *others, last = reports
        # A job that stopped after its charge, in an earlier run, was that run's failure.
        caught_up = tuple(
            each for report in others for each in report.outcomes if each.result or each.job.key not in lost
        )
        new = reports[0].new  # the others find what it granted
        timeline = self._timeline(last)
        return replace(last, others=caught_up, rejected=rejected, waiting=waiting, timeline=timeline, new=new)

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
            charges, by_window, charge = Charges(), {}, last.total
        else:
            by_window = charges.by_window
            # Of one unit, which is in one of the windows alone if units are disjoint.
            disjoint = self.recurring.schedule.disjoint_units
            charge = composed(Amount(), by_window.values()) if disjoint else charges.total
        windows = (
            self._past_window(window, charged=str(window) in by_window) for window in self._windows(charges.amounts)
        )
        return Timeline(tuple(windows), charge)

    def _past_window(self, window: Window, *, charged: bool) -> PastWindow:
        documents: dict[str, dict[str, Any] | None] = {}
        for job, named in zip(self.recurring.at(window).jobs, self.recurring.job_file.jobs, strict=True):
            documents[named.name] = None
            with suppress(BadData):  # a damaged result of another window must not take this page with it
                stored = self.store.find(job)
                documents[named.name] = None if stored is None else stored.document
        return PastWindow(str(window), documents, charged)


def _rejection(window: Window, error: BudgetExceeded) -> str:
    return f"{window} and later windows have no result: {error}"
