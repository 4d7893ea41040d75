"""Running a batch: what is stored is taken from there, what is not is paid for, run and stored, one by one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from dpmine.errors import BadData, BadLedger
from dpmine.ledger.budget import Amount
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.checks import checked_plan, price_of
from dpmine.reporting.job import Payer
from dpmine.reporting.store import Store, Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.checks import Step
    from dpmine.reporting.job import Job
    from dpmine.reporting.job_file import JobFile, Terms


_BEGUN_BEFORE = (
    "it was begun before and came to no result, and what was charged for it stays charged: change the job, or give "
    "--retry to run it again, which is charged again."
)


class Watcher(Protocol):
    """Who follows a batch."""

    def __call__(self, number: int, job: Job, share: float) -> None:
        """The job of that number is done to that share, between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job.

    Attributes:
        job: it.
        promise: what it promises; where it failed, what it would have promised at most.
        result: what it released; None where it failed.
        reused: whether the result was there already.
        error: why it failed, or why its result could not be stored; for whoever runs the batch, not for a page, because
            it may depend on the data.
        charged: whether a job without a result may have been charged.
    """

    job: Job
    promise: Guarantee
    result: Stored | None
    reused: bool = False
    error: Exception | None = None
    charged: bool = True

    @property
    def price(self) -> Amount:
        """What the job came to."""
        if self.result is not None:
            return price_of(self.result.guarantee)
        return Amount(self.promise.epsilon, self.promise.delta) if self.charged else Amount()


@dataclass(frozen=True, slots=True)
class Report:
    """A batch that was run.

    Attributes:
        job_file: what was asked for.
        unit: the privacy unit.
        outcomes: of the jobs, in order.
        budget: the data set's, afterwards; None where the ledger could not be read any more.
    """

    job_file: JobFile
    unit: str
    outcomes: tuple[Outcome, ...]
    budget: Budget | None


def run_batch(job_file: JobFile, store: Store, *, watch: Watcher, retry: bool = False) -> Report:
    """Run the jobs that have no stored result; grants the data set its budget where the ledger does not know it.

    Everything is checked before anything is charged. A job that fails, even by a bug, does not stop the others; it is
    run again, and charged again, to `retry` it only.
    Raises as `checked_plan`; UnreadableFile where the results folder cannot be used.
    """
    terms = job_file.terms
    with store.lock():
        plan = checked_plan(job_file, store, retry=retry)
        payer = Payer(Ledger(terms.ledger), terms.dataset)
        if plan.budget is None:
            _grant(payer, terms, plan.unit)
            plan = checked_plan(job_file, store, retry=retry)  # somebody else may have granted it meanwhile
        outcomes = tuple(
            _outcome(step, store, payer, partial(watch, number, step.job)) for number, step in enumerate(plan.steps, 1)
        )
        store.free_room()
    return Report(job_file, plan.unit, outcomes, _budget(payer))


def _grant(payer: Payer, terms: Terms, unit: str) -> None:
    payer.ledger.grant(
        terms.dataset,
        epsilon=terms.total.epsilon,
        delta=terms.total.delta,
        neighbors=terms.neighbors,
        unit=unit,
        only_first=True,
    )


def _budget(payer: Payer) -> Budget | None:
    """The budget, or None: what was released must not be lost with the ledger."""
    with suppress(BadLedger):
        return payer.ledger.budget(payer.dataset)
    return None


def _outcome(step: Step, store: Store, payer: Payer, progress: Callable[[float], None]) -> Outcome:
    if step.stored is not None:
        return Outcome(step.job, step.guarantee, step.stored, reused=True)
    if step.failed:
        return Outcome(step.job, step.guarantee, None, error=BadData(_BEGUN_BEFORE))
    progress(0.0)
    before = _budget(payer)
    marked = store.was_begun(step.job) or store.is_unstored(step.job)
    try:
        store.begin(step.job)
        released = step.job.run(payer, progress=progress)
    except Exception as error:  # noqa: BLE001 - the others' results must not be lost with this one
        return _failed(step, store, error, marked=marked, charged=before is None or before != _budget(payer))
    try:
        return Outcome(step.job, released.guarantee, store.write(step.job, released))
    except Exception as error:  # noqa: BLE001 - paid for, so it is shown all the same
        kept = Stored(released.document, released.guarantee, ())
        return Outcome(step.job, released.guarantee, kept, error=error)


def _failed(step: Step, store: Store, error: Exception, *, marked: bool, charged: bool) -> Outcome:
    """The outcome of a failed job; its mark stays, against a second charge, unless nothing was ever charged."""
    if not (charged or marked):
        with suppress(OSError):  # the error that is reported matters more
            store.forget(step.job)
    return Outcome(step.job, step.guarantee, None, error=error, charged=charged)
