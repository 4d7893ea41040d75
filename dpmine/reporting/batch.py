"""A batch of jobs: checked as a whole, then each one is taken from the results folder, or charged, run and stored."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import (
    AlreadyCharged,
    AlreadyGranted,
    BadData,
    BadLedger,
    BadParameter,
    BudgetExceeded,
    DpmineError,
    FailedPass,
    NotPrivate,
    NotReady,
    UnreadableFile,
)
from dpmine.ledger.budget import Accounting, Amount, first_grant, in_part
from dpmine.ledger.charging import Account
from dpmine.ledger.ledger import KeyedLedger, Ledger
from dpmine.markup import ShownAsText
from dpmine.options.tables import as_keys
from dpmine.reporting.checked_batch import CheckedBatch, Step
from dpmine.reporting.history import Charges
from dpmine.reporting.jobs.schedule import leaving_out
from dpmine.reporting.store import BEGUN, CHARGED, UNREADABLE, UNSTORED, Stored
from dpmine.reporting.terms import (
    CHANGED,
    common_unit,
    require_no_loss,
    require_one_partition,
    require_same_terms,
    require_total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from dpmine.ledger.budget import Budget, Parts
    from dpmine.ledger.ledger import Receipt
    from dpmine.privacy import Guarantee
    from dpmine.reporting.history import Timeline
    from dpmine.reporting.jobs.file import BudgetTerms, JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import ResultsFolder


Watcher: TypeAlias = "Callable[[int, Job, float], None]"
"""Follows a batch: the job of that number is done to that share, between 0 and 1."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What became of a job.

    Attributes:
        job: it.
        guarantee: of its result; where it failed, the most that it would have been charged.
        result: what it released; None where it failed.
        reused: whether the result was there already.
        error: why it failed, or why its result could not be stored. It may depend on the data, so it is for the
            person who runs the batch, not for a page.
        charged: whether a job without a result may have been charged.
    """

    job: Job
    guarantee: Guarantee
    result: Stored | None
    reused: bool = False
    error: Exception | None = None
    charged: bool = True

    @property
    def summary(self) -> str:
        """What became of it, in one line, for those who run the batch; it quotes no data."""
        if self.error is None:
            what = f"stored before, on {self.result.day}" if self.reused and self.result else "done"
        elif isinstance(self.error, DpmineError):
            what = " ".join(as_keys(str(self.error)).split())
        elif isinstance(self.error, MemoryError):
            what = "not enough memory."
        else:
            kind = type(self.error).__name__
            what = f"a bug in dpmine ({kind}): please report it with the output of dpmine report `debug=True`."
        return f"job {self.job.name!r}: {what}"

    @property
    def most(self) -> Amount:
        """The most that the job could be charged, whatever it came to."""
        return Amount.of(self.guarantee) if self.charged else Amount()

    @property
    def charge(self) -> Amount:
        """What the job came to."""
        return self.most if self.result is None else Amount.settled(self.result.guarantee)


@dataclass(frozen=True, slots=True)
class Report(ShownAsText):
    """A batch that was run. Its text says what became of each job, and what is left.

    Attributes:
        job_file: what was asked for.
        unit: the privacy unit.
        outcomes: of the jobs, in order.
        budget: the data set's, afterwards; None where the ledger could not be read any more.
        total: the most that the file's jobs may be charged together.
        accounting: by which it is counted.
        day: when the run was started, in UTC. No time of day: two runs in a row would reveal how long the first took.
        timeline: all windows of recurring jobs; None for jobs that run once.
        others: of windows that the same run caught up with, before this one.
        rejected: why no further window was run, by the budget or an unreadable input; "" for none.
        waiting: why windows were not run for which it is too early; "" for none.
        lost: which jobs of other windows earlier runs charged without a result, and what to do; "" for none.
        checked: what was found in the ledger before the run; "" where there was none.
        new: "ledger" or "data set", where the run made it and granted the budget; "" where both were there.
    """

    job_file: JobFile
    unit: str
    outcomes: tuple[JobOutcome, ...]
    budget: Budget | None
    total: Amount
    accounting: Accounting
    day: date
    timeline: Timeline | None = None
    others: tuple[JobOutcome, ...] = ()
    rejected: str = ""
    waiting: str = ""
    lost: str = ""
    checked: str = ""
    new: str = ""

    @property
    def granted(self) -> str:
        """That the run made the ledger, or the data set in it, and what it granted; "" where both were there."""
        terms = self.job_file.terms
        return first_grant(self.new, terms.dataset, terms.total) if self.new else ""

    @property
    def left(self) -> str:
        """What the data set has left; "" where the ledger could not be read any more."""
        if self.budget is None:
            return ""
        dataset = self.job_file.terms.dataset
        return f"{self.budget.left_of(dataset)} left for each {self.unit}{in_part(dataset)}"

    @property
    def ledger_end(self) -> str:
        """How the ledger ends after the last charge, to compare restored copies with; "" where it could not be read."""
        return "" if self.budget is None else f"ledger: {self.budget.end}"

    @property
    def followed(self) -> tuple[JobOutcome, ...]:
        """Everything that the run did, in order."""
        return (*self.others, *self.outcomes)

    def __str__(self) -> str:
        outcomes = [outcome.summary for outcome in self.followed]
        said = [self.checked, self.granted, *outcomes, self.hint, self.rejected, self.waiting, self.lost, self.left]
        said.append(self.ledger_end)
        return "\n".join(filter(None, said))

    @property
    def hint(self) -> str:
        """What to do about results that are older than the data; "" where windows say which data each is of."""
        if not any(outcome.reused and not outcome.job.in_window for outcome in self.outcomes):
            return ""
        return "A stored result is of the data of its day; with another `results=…` folder its job is charged again."

    def raise_failures(self) -> None:
        """An error for jobs without a result: rejected charges, bugs, or anything else. Its notes say why each failed.

        Raises BudgetExceeded where the budget rejected every job that failed, a bug as it is, else BadData. Raises
        NotReady where none failed and it is too early for a window, BadData where an earlier run lost a result.
        """
        failed = [(outcome, outcome.error) for outcome in self.followed if outcome.error is not None]
        if self.rejected and not failed:
            raise BudgetExceeded(self.rejected)
        if self.waiting and not failed:
            raise NotReady(self.waiting)
        if self.lost and not failed:
            raise BadData(self.lost)
        if not failed:
            return
        for _, error in failed:
            if not isinstance(error, DpmineError | MemoryError):
                raise error
        names = ", ".join(repr(outcome.job.name) for outcome, _ in failed)
        text = f"{len(failed)} of {len(self.followed)} jobs failed ({names}); the page shows the others."
        all_rejected = all(isinstance(error, BudgetExceeded) for _, error in failed)
        raised = BudgetExceeded(text) if all_rejected else BadData(text)
        for note in [*(outcome.summary for outcome, _ in failed), *filter(None, [self.rejected])]:
            raised.add_note(note)
        raise raised


def check_batch(
    job_file: JobFile, store: ResultsFolder, *, retry: bool = False, earlier: Sequence[CheckedBatch] = ()
) -> CheckedBatch:
    """What is to be charged and run; jobs that failed before, only to `retry` them. Reads no values, writes nothing.

    An input is opened once, however often the batch is checked. Batches that are to be run `earlier`, for other windows
    of the same file, count as charged.
    Raises BadParameter, BadData and UnreadableFile, with the job's name, and BadLedger. Raises NotPrivate for a job
    without a guarantee. Raises BudgetExceeded where the file's total, or what the ledger has left, does not suffice.
    """
    terms, steps, ledger = job_file.terms, [], Ledger(job_file.terms.ledger)
    # The budget first: what is charged meanwhile is then no pending job of this batch.
    budget = earlier[-1].afterwards if earlier else ledger.known(terms.dataset)
    foreseen = [step for each in earlier if each.dataset == terms.dataset for step in each.steps if step.pending]
    charges = Charges.of(ledger, terms.dataset, job_file.jobs).plus((step.job.key, step.charge) for step in foreseen)
    if budget is None:
        require_no_loss(terms, store)
    for job in job_file.jobs:
        try:
            steps.append(_step(job, store, charges, budget, retry=retry))
        except DpmineError as error:
            text = f"job {job.name!r}: {as_keys(str(error))}"
            if job.scheduled and job.scheduled.paths and isinstance(error, UnreadableFile):  # of this window alone
                text += f" If {job.scheduled.window} never comes, {leaving_out([job.scheduled.window])}"
            raise type(error)(text) from None
    return _within(terms, tuple(steps), budget, charges)


def run_batch(job_file: JobFile, store: ResultsFolder, *, watch: Watcher, retry: bool = False) -> Report:
    """Run the jobs that have no stored result; grants the data set its budget where the ledger does not know it.

    Everything is checked before anything is charged. A job that fails, even by a bug, does not stop the others; it is
    run again, and charged again, to `retry` it only.
    Raises as `check_batch`; UnreadableFile where the results folder cannot be used.

    See Also:
        dpmine.reporting.jobs.file.read_job_file: the job file.
        dpmine.reporting.page.render.render: the report as a page.
    """
    terms, day = job_file.terms, datetime.now(UTC).date()
    with store.lock():
        batch = check_batch(job_file, store, retry=retry)
        ledger, new = Ledger(terms.ledger), ""
        if batch.budget is None:
            new = _granted(ledger, terms, batch.unit, batch.parts)
            batch = check_batch(job_file, store, retry=retry)
        outcomes = tuple(
            _outcome(
                step,
                store,
                Account(
                    _NotingLedger(_ledger(ledger, step, retry=retry), partial(store.remember_charge, step.job)),
                    terms.dataset,
                ),
                day,
                partial(watch, number, step.job),
            )
            for number, step in enumerate(batch.steps, 1)
        )
        store.free_room()
    left = _budget(ledger, terms.dataset)
    return Report(job_file, batch.unit, outcomes, left, batch.total, batch.accounting, day, new=new)


def _granted(ledger: Ledger, terms: BudgetTerms, unit: str, parts: Parts) -> str:
    """Grant the budget, and say what is new by that, as `Report.new`; nothing where another run was first."""
    new = "data set" if ledger.exists() else "ledger"
    try:
        ledger.grant(
            terms.dataset,
            epsilon=terms.total.epsilon,
            delta=terms.total.delta,
            neighbors=terms.neighbors,
            unit=unit,
            parts=parts,
            only_first=True,
            accounting=terms.accounting,
            approximate_delta=terms.approximate_delta,
        )
    except AlreadyGranted:
        return ""
    return new


def _ledger(ledger: Ledger, step: Step, *, retry: bool) -> Ledger:
    """The ledger, at which a recurring job is charged once, but to `retry` it."""
    scheduled = step.job.scheduled
    return ledger if scheduled is None else KeyedLedger(ledger, step.job.key, again=retry, title=scheduled.title)


class _NotingLedger(Ledger):
    """A ledger that does something after each charge: from then on, a copy without it is known to be older."""

    def __init__(self, ledger: Ledger, note: Callable[[], None]) -> None:
        self._database, self._ledger, self._note = ledger._database, ledger, note  # noqa: SLF001 - as `KeyedLedger`

    def charge(self, dataset: str, guarantee: Guarantee, *, job: str) -> Receipt:
        """As that of the ledger."""
        receipt = self._ledger.charge(dataset, guarantee, job=job)
        self._note()
        return receipt

    def after(self, dataset: str, guarantee: Guarantee) -> Budget:
        """As that of the ledger."""
        return self._ledger.after(dataset, guarantee)


def _budget(ledger: Ledger | None, dataset: str) -> Budget | None:
    """The budget, or None: what was released must not be lost with the ledger."""
    with suppress(BadLedger):
        return ledger.budget(dataset) if ledger else None
    return None


def stops_later_windows(job: Job, error: Exception | None) -> bool:
    """Whether the next window would meet the same: it reads the same files, and no row made this one fail."""
    own_files = job.scheduled is not None and bool(job.scheduled.paths)
    return isinstance(error, UnreadableFile) and not isinstance(error, FailedPass) and not own_files


def _outcome(
    step: Step, store: ResultsFolder, account: Account, day: date, progress: Callable[[float], None]
) -> JobOutcome:
    if step.stored is not None:
        return JobOutcome(step.job, step.guarantee, step.stored, reused=True)
    if step.failed:
        return JobOutcome(step.job, step.guarantee, None, error=BadData(store.why_lost(step.job)))
    progress(0.0)
    before = _budget(account.ledger, account.dataset)
    marked = store.marks(step.job)
    try:
        store.begin(step.job, before.seal if before else "")
        released = step.job.run(account, progress=progress)
    except Exception as error:  # noqa: BLE001 - the others' results must not be lost with this one
        charged = before is None or before != _budget(account.ledger, account.dataset)
        if isinstance(error, AlreadyCharged):  # by another run, whose result is not here
            error, charged = BadData(store.why_lost(step.job)), False
        if charged and step.job.key and stops_later_windows(step.job, error):
            store.remember(step.job, UNREADABLE)
        if not (charged or marked):  # else the mark stays, against a second charge
            with suppress(OSError):  # the error that is reported matters more
                store.forget(step.job)
        return JobOutcome(step.job, step.guarantee, None, error=error, charged=charged)
    try:
        return JobOutcome(step.job, released.guarantee, store.write(step.job, released, day))
    except Exception as error:  # noqa: BLE001 - it was charged, so it is shown nevertheless
        shown = Stored(released.document, released.guarantee, (), day.isoformat())
        return JobOutcome(step.job, released.guarantee, shown, error=error)


def _step(job: Job, store: ResultsFolder, charges: Charges, budget: Budget | None, *, retry: bool) -> Step:
    stored = store.find(job)
    if stored is not None:
        return Step(job, stored.guarantee, Amount.settled(stored.guarantee), stored)
    marks = set() if retry else store.marks(job)
    if UNSTORED in marks:
        raise BadData(store.why_lost(job))
    if not job.guarantee.private:
        raise NotPrivate("a report has private results only; leave out what is not.")
    # What was begun may not have been charged, and of recurring jobs the ledger knows.
    begun = CHARGED in marks or (BEGUN in marks and (budget is None or store.seal_before(job) != budget.seal))
    failed = not retry and job.key in charges.amounts if job.key else begun
    if job.scheduled and not failed and (job.scheduled.window, job.scheduled.title) in charges.replaced:
        raise BadParameter(CHANGED)
    return Step(job, job.guarantee, Amount.of(job.guarantee), failed=failed)


def _within(terms: BudgetTerms, steps: tuple[Step, ...], budget: Budget | None, charges: Charges) -> CheckedBatch:
    require_same_terms(terms, steps, budget)
    require_one_partition(terms, steps, budget)
    accounting = (terms.accounting or Accounting.BASIC) if budget is None else budget.accounting
    share = None if budget is None else budget.granted.approximate_delta
    total = terms.total_under(accounting, share)
    unit = common_unit(steps, terms, budget)
    batch = CheckedBatch(terms.dataset, steps, unit, terms.neighbors, budget, total, accounting, charges)
    require_total(batch, terms)
    return batch
