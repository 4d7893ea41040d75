"""The windows of a schedule: those that a run is for, and all of them for a page."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadData, BadLedger, BadParameter, BudgetExceeded, NotReady
from dpmine.ledger.budget import WHOLE, Amount, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.results import SharedResults
from dpmine.reporting.batch import Report, check_batch, run_batch, stops_later_windows
from dpmine.reporting.forecast import WindowsForecast
from dpmine.reporting.history import Charges, PastWindow, Timeline
from dpmine.reporting.jobs.job import ONCE
from dpmine.reporting.jobs.ready import CLOCK, NEWER_FILE, names_window, require_places
from dpmine.reporting.jobs.schedule import Kept, Missed, Window, leaving_out, retrying
from dpmine.reporting.recurring import Recurring
from dpmine.reporting.store import UNREADABLE
from dpmine.reporting.terms import require_no_loss

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.reporting.batch import JobOutcome, Watcher
    from dpmine.reporting.checked_batch import CheckedBatch
    from dpmine.reporting.jobs.file import JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import ResultsFolder


_PATIENCE = 3600  # seconds, for a run on another machine
_MOST_CAUGHT_UP = 12  # windows; more are rather a clock that is wrong


@dataclass(frozen=True)
class WindowRun:
    """A run of recurring jobs for one window.

    Attributes:
        recurring: the jobs, and their schedule.
        store: where their results are.
        window: the one that is asked for.
        by_clock: whether the clock chose it.
    """

    recurring: Recurring
    store: ResultsFolder
    window: Window
    by_clock: bool = False

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
        try:
            asked = job_file.schedule.window(window, day)
        except BudgetExceeded as error:
            schedule, current = job_file.schedule, Window.containing(day, job_file.schedule.every)
            ended = cls(recurring, store, schedule.windows(schedule.start or current, current)[-1])
            raise BudgetExceeded(f"{error}{ended._still_open()}") from None
        run = cls(recurring, store, asked, window is None)
        if window is None:
            run._require_clock()
        return run

    @property
    def job_file(self) -> JobFile:
        """For the window that is asked for."""
        return self.recurring.at(self.window)

    def forecast(self, *, retry: bool) -> WindowsForecast:
        """What `run` will do, if nothing is charged or stored meanwhile; where no window is run, one empty batch.

        Raises as `run` before it charges anything, but where it is too early or the budget is exhausted.
        """
        batches: list[CheckedBatch] = []
        self.store.require_no_fork(self._jobs_so_far(), self.recurring.terms.dataset)
        rejected, (windows, waiting) = "", self._planned(retry=retry)
        for window in windows:
            again, job_file = retry and window == self.window, self.recurring.at(window, once=not batches)
            try:
                batches.append(check_batch(job_file, self.store, retry=again, earlier=batches))
            except BudgetExceeded as error:
                rejected = _rejection(window, error) if batches else str(error)
                break
        if not batches:
            batches.append(check_batch(replace(self.job_file, jobs=()), self.store))
        left = self._left_after(windows[: len(batches)])
        affordable = self._affordable(batches[-1].afterwards, left)
        return WindowsForecast(tuple(batches), rejected, waiting, self._lost(), left, affordable)

    def _affordable(self, budget: Budget, left: int) -> int:
        """How many of the windows that the schedule has left the ledger's budget affords, whatever else was charged."""
        charge, disjoint = self.recurring.window_charge, self.recurring.schedule.disjoint_units
        part = str(self.window.following()) if disjoint else WHOLE

        def exceeds(windows: int) -> bool:
            try:
                budget.charging(part, Amount(*(number * windows for number in charge)))
            except BudgetExceeded:
                return True
            return False

        if disjoint:  # each has a part of its own
            return 0 if exceeds(1) else left
        return bisect_left(range(1, left + 1), x=True, key=exceeds)

    def _left_after(self, windows: Iterable[Window]) -> int:
        """How many windows of `runs` may still be run after these."""
        schedule, charges = self.recurring.schedule, self._charges()
        used, own = {*charges.by_window, *map(str, windows)}, [self._windows(charges.amounts)[0]]
        while len(own) < schedule.runs:
            own.append(own[-1].following())
        return sum(str(window) not in used and window not in schedule.skip for window in own)

    def _planned(self, *, retry: bool) -> tuple[tuple[Window, ...], str]:
        """The windows that are run, in order, and why others are not, or "".

        Raises BadData where one would be read as one before it could not be, BadParameter where the clock is wrong.
        Those that are stored already, or failed and are not run again, need nothing to be there.
        """
        ready: list[Window] = []
        late: list[Window] = []
        reasons: list[str] = []
        schedule, stopped = self.recurring.schedule, self._stopped(retry=retry)
        self._require_no_loss()
        charged = {} if retry else self._charges().amounts
        for window in (*self.missed, self.window):
            if window == self.window and not self._has_work(window, charged):
                ready.append(window)
            elif stopped:
                raise BadData(f"{window} is not run, and not charged: {stopped}")
            elif missing := schedule.missing(window, self.recurring.at(window, once=False).jobs):
                self._require_places()
                reasons += [] if late else [f"{window} is not run yet, and not charged: {missing}."]
                late.append(window)
            elif folder := schedule.ready.empty_folder(str(window), window.first):
                reasons.append(f"{window} and later windows are not run, and not charged: '{folder}' has no file.")
                break
            else:
                ready.append(window)
        if len(late) > 1:
            others = f"are {len(late) - 1} later ones, up to {late[-1]}" if len(late) > 2 else f"is {late[-1]}"
            reasons.insert(1, f"Nor {others}.")
        self._require_few(ready)
        return tuple(ready), " ".join(reasons)

    def _require_few(self, windows: Sequence[Window]) -> None:
        """BadParameter where the clock alone says that more windows were missed than a run catches up with."""
        if self.by_clock and len(windows) > _MOST_CAUGHT_UP + 1 and self._charges().amounts:
            first, last = windows[0], windows[-1]
            raise BadParameter(
                f"By the clock of this machine {len(windows)} windows are to be run, from {first} to {last}, and a run "
                f"by the clock catches up with {_MOST_CAUGHT_UP} at most, so nothing was charged: set the "
                f"clock. If it is right, name the last window that is to be run with `window='{last}'`."
            )

    def _require_places(self) -> None:
        """UnreadableFile where the data of no window could be there, so that waiting does not help."""
        ready = self.recurring.schedule.ready
        paths = [path for job in self.recurring.job_file.jobs for path in job.paths if names_window(path)]
        require_places(paths if ready.rule in {CLOCK, NEWER_FILE} else [*paths, ready.rule])

    def _require_no_loss(self) -> None:
        """BadLedger where the folder knows of a charge that the ledger does not have, being an older copy."""
        terms, charged = self.recurring.terms, self._charges().amounts
        if Ledger(terms.ledger).known(name_and_part(terms.dataset)[0]) is None:
            require_no_loss(terms, self.store)
            return
        own = {job.key.rpartition(" ")[2] for job in self.job_file.jobs}
        keys = (key for key in self.store.keys(terms.dataset) if key.rpartition(" ")[2] in own)
        if uncharged := sorted(key.partition(" ")[0] for key in keys if key not in charged):
            raise BadLedger(
                f"'{self.store.folder}' knows of a charge for {uncharged[0]} that the ledger does not have: an "
                "older copy of the ledger was put back. Restore a newer one, or charge what is missing "
                "(dpmine.Ledger)."
            )

    def _require_clock(self) -> None:
        """BadParameter for a clock that is behind; one window of difference is that of zones, on two machines."""
        latest = max(self._awaited(self._charges().amounts), default=self.window)
        following = self.window.following()
        while following in self.recurring.schedule.skip:
            following = following.following()
        if following < latest:
            raise BadParameter(
                f"By the clock of this machine {self.window} is the last window that has ended, and the ledger has a "
                f"charge for {latest}: set the clock, or name the window with `window=…`."
            )

    def _lost(self) -> str:
        """Which jobs of other windows were charged and have no result, and what to do; "" for none."""
        try:
            lost = [each for each in self._charged_jobs() if each[0] != self.window and not self._is_stored(each[1])]
        except BadLedger:
            return ""  # what was released must not be lost with the ledger
        if not lost:
            return ""
        names = ", ".join(repr(job.name) for _, job in lost)
        again = retrying(job for _, job in lost)
        return (
            f"Charged without a result: {names}. To run a window again, which is charged once more: {again}. To leave "
            "one out for good, write skip in [schedule]."
        )

    def _still_open(self) -> str:
        """Which windows up to this one have data and were not run, and how to run them; "" for none."""
        charged, schedule = self._charges().amounts, self.recurring.schedule
        names = [
            window
            for window in self._awaited(charged)
            if self._has_work(window, charged)
            and not schedule.missing(window, self.recurring.at(window, once=False).jobs)
        ]
        if not names:
            return ""
        listed = ", ".join(map(str, names)) if len(names) < 4 else f"{len(names)} from {names[0]} to {names[-1]}"
        return f" Still open, and within its budget: {listed}. To run them: `window='{names[-1]}'`."

    def _charged_jobs(self) -> list[tuple[Window, Job]]:
        """The jobs that were charged, each with its window, of those that are not left out. Raises BadLedger."""
        charged = self._charges().amounts
        jobs = ((window, self.recurring.at(window, once=False).jobs) for window in self._awaited(charged))
        return [(window, job) for window, of_window in jobs for job in of_window if job.key in charged]

    def _stopped(self, *, retry: bool) -> str:
        """Why no window is charged before someone says what becomes of one whose input could not be read; "" for none.

        The next window would be charged, and could read no more, where its files are the same. Results are asked for
        where there is a mark alone: another machine may have run the window again.
        """
        marked = [each for each in self._charged_jobs() if UNREADABLE in self.store.marks(each[1])]
        lost = [each for each in marked if not self._is_stored(each[1])]
        unreadable = list(dict.fromkeys(window for window, _ in lost))
        if not unreadable or (retry and self.window in unreadable):
            return ""
        return (
            f"{unreadable[0]} was charged, and an input could not be read. Repair the input, then give "
            f"{retrying(job for _, job in lost)}, which is charged once more. Or {leaving_out(unreadable)}"
        )

    def _is_stored(self, job: Job) -> bool:
        """Whether there is a result, even a damaged one."""
        try:
            return self.store.find(job) is not None
        except BadData:
            return True

    def _has_work(self, window: Window, charged: Container[str]) -> bool:
        """Whether a job of the window is neither among those charged, nor has a result."""
        jobs = self.recurring.at(window, once=False).jobs
        return any(job.key not in charged and self.store.find(job) is None for job in jobs)

    @property
    def missed(self) -> tuple[Window, ...]:
        """Earlier windows that this run catches up with: no job of theirs was charged, or has a result."""
        if self.recurring.schedule.missed is Missed.SKIP:
            return ()
        charged = self._charges().amounts
        windows = (window for window in self._awaited(charged) if window < self.window)
        return tuple(window for window in windows if self._has_work(window, charged))

    def run(self, *, watch: Watcher, retry: bool) -> Report:
        """Catch up with what was missed, the earliest window first, then run the one that is asked for.

        Where the budget rejects a window, or an input cannot be read, those after it are not run. Nor are those for
        which it is too early. The report is that of the last one that was. Raises as `run_batch`, and NotReady, where
        no window could be run.

        Where results are kept in the ledger, one machine runs after another, and each has the results of the others.
        """
        shared, dataset = self.store.shared, self.recurring.terms.dataset
        if shared is None:
            return self._run(watch=watch, retry=retry)
        with shared.turn(dataset, _PATIENCE):
            if jobs := self._jobs_so_far():
                with self.store.lock():
                    self.store.exchange(jobs, dataset)
            return self._run(watch=watch, retry=retry)

    def _jobs_so_far(self) -> list[Job]:
        """All jobs of all windows, that do not recur once; none before the first charge."""
        charged = self._charges().amounts
        windows = self._windows(charged) if charged else ()
        return [job for number, window in enumerate(windows) for job in self.recurring.at(window, once=not number).jobs]

    def _run(self, *, watch: Watcher, retry: bool) -> Report:
        reports: list[Report] = []
        rejected, lost, (windows, waiting) = "", self._charges().amounts, self._planned(retry=retry)
        if not windows:
            raise NotReady(waiting)
        for window in windows:
            again = retry and window == self.window
            try:
                reports.append(run_batch(self.recurring.at(window), self.store, watch=watch, retry=again))
            except BudgetExceeded as error:
                if not reports:
                    raise
                rejected = _rejection(window, error)
                break
            if any(stops_later_windows(each.job, each.error) for each in reports[-1].outcomes):
                later = f"Windows after {window} are not run, and not charged: an input cannot be read."
                rejected = "" if window == windows[-1] else later
                with suppress(BadLedger):  # what was released must not be lost with the ledger
                    rejected = f"{rejected} {self._stopped(retry=False)}".strip()
                break
        *others, last = reports
        # A job that stopped after its charge, in an earlier run, was that run's failure.
        caught_up = tuple(
            each
            for report in others
            for each in report.outcomes
            if each.job.in_window and (each.result or each.job.key not in lost)
        )
        last = replace(last, outcomes=tuple(_first(each, others) for each in last.outcomes))
        new = reports[0].new  # the others find what it granted
        timeline, left_behind = self._timeline(last), self._lost()
        return replace(
            last, others=caught_up, rejected=rejected, waiting=waiting, lost=left_behind, timeline=timeline, new=new
        )

    def _windows(self, charged: Collection[str]) -> tuple[Window, ...]:
        """From the start, or the first one that was charged, to the one that is asked for."""
        schedule = self.recurring.schedule
        names = {key.partition(" ")[0] for key in charged} - {ONCE}
        charged_windows = [Window.parse(name, schedule.every) for name in names]
        first = schedule.start or min([*charged_windows, self.window])
        return schedule.windows(first, max([*charged_windows, self.window]))

    def _awaited(self, charged: Collection[str]) -> list[Window]:
        """As `_windows`, without those that are left out."""
        return [window for window in self._windows(charged) if window not in self.recurring.schedule.skip]

    def _charges(self, *, settled: bool = True) -> Charges:
        terms = self.recurring.terms
        return Charges.of(Ledger(terms.ledger), terms.dataset, self.job_file.jobs, all_parts=True, settled=settled)

    def _timeline(self, last: Report) -> Timeline:
        """All windows; where the ledger cannot be read any more, at the most that the file allows."""
        disjoint = self.recurring.schedule.disjoint_units
        try:
            charges = self._charges()
            charge, most = (each.for_one_unit(disjoint=disjoint) for each in (charges, self._charges(settled=False)))
        except BadLedger:
            charges, charge, most = Charges(), last.total, last.total
        by_window, skipped = charges.by_window, self.recurring.schedule.skip
        windows = (
            self._past_window(window, charged=str(window) in by_window)
            for window in self._windows(charges.amounts)
            if window not in skipped or str(window) in by_window
        )
        return Timeline(tuple(windows), charge, most)

    def _past_window(self, window: Window, *, charged: bool) -> PastWindow:
        documents: dict[str, dict[str, Any] | None] = {}
        names = [job.name for job in self.recurring.jobs if job.recurs]
        for name, job in zip(names, self.recurring.at(window, once=False).jobs, strict=True):
            documents[name] = None
            with suppress(BadData):  # a damaged result of another window must not take this page with it
                stored = self.store.find(job)
                documents[name] = None if stored is None else stored.document
        return PastWindow(str(window), documents, charged)


def _first(outcome: JobOutcome, others: Sequence[Report]) -> JobOutcome:
    """Of a job that does not recur, what became of it in the first window that a run was for."""
    if outcome.job.in_window:
        return outcome
    attempts = [each for report in others for each in report.outcomes if each.job.key == outcome.job.key]
    return next((each for each in attempts if each.result is not None or each.charged), outcome)


def _rejection(window: Window, error: BudgetExceeded) -> str:
    return f"{window} and later windows have no result: {error}"
