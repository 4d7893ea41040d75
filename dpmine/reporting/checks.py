"""Everything about a batch that can be refused before anything is charged."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.errors import BadData, BadLedger, BadParameter, BudgetExceeded, DpmineError, NotPrivate
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import ExPostGuarantee, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.job import Job
    from dpmine.reporting.job_file import JobFile, Terms
    from dpmine.reporting.store import Store, Stored


_UNSTORED = (
    "it was charged and came to a result that could not be stored, so only the page of that run has it. Keep that page "
    "and leave the job out, or give --retry to run it again, which is charged again."
)


@dataclass(frozen=True, slots=True)
class Step:
    """A job, and what is to be done with it.

    Attributes:
        job: it.
        guarantee: what it promises at most; what its result promises where one is stored.
        stored: its result, if there is one.
        failed: whether it was begun before, without a result, and is not to be run again.
    """

    job: Job
    guarantee: Guarantee
    stored: Stored | None
    failed: bool = False

    @property
    def pending(self) -> bool:
        """Whether it is to be run and paid for."""
        return self.stored is None and not self.failed

    @property
    def price(self) -> Amount:
        """What it costs at most, or what it did cost."""
        return price_of(self.guarantee) if self.stored else Amount(self.guarantee.epsilon, self.guarantee.delta)


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch that was checked.

    Attributes:
        steps: the jobs in order.
        unit: the privacy unit of all.
        budget: the data set's, before the batch; None where it is yet to be granted.
    """

    steps: tuple[Step, ...]
    unit: str
    budget: Budget | None

    @property
    def paths(self) -> list[str]:
        """The inputs of the jobs, and public catalogues in files."""
        jobs = [step.job for step in self.steps]
        catalogues = [job.options.get("catalogue") for job in jobs]
        return [path for job in jobs for path in job.paths] + [path for path in catalogues if isinstance(path, str)]

    @property
    def to_pay(self) -> Amount:
        """What the jobs without a stored result cost at most."""
        return total(step.price for step in self.steps if step.pending)


def price_of(guarantee: Guarantee) -> Amount:
    """What a run came to: of ex-post promises, what was paid."""
    paid = guarantee.ex_post_epsilon if isinstance(guarantee, ExPostGuarantee) else guarantee.epsilon
    return Amount(paid, guarantee.delta)


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum."""
    return sum(amounts, Amount())


def checked_plan(job_file: JobFile, store: Store, *, retry: bool = False) -> Plan:
    """What is to be run and paid for; jobs that failed before, only to `retry` them. Reads no values, writes nothing.

    Raises BadParameter, BadData and UnreadableFile, with the job's name; NotPrivate for a job that promises nothing;
    BadLedger; BudgetExceeded where the file's total, or what the ledger has left, does not suffice.
    """
    terms = job_file.terms
    _require_different(job_file.jobs)
    steps = tuple(_step(job, store, retry=retry) for job in job_file.jobs)
    budget = Ledger(terms.ledger).known(terms.dataset)
    _require_relation(steps, terms, budget)
    plan = Plan(steps, _common_unit(steps, terms, budget), budget)
    _require_total(plan, terms)
    return plan


@contextmanager
def _about(job: Job) -> Iterator[None]:
    """Errors inside name the job."""
    try:
        yield
    except DpmineError as error:
        raise type(error)(f"job {job.name!r}: {error}") from None


def _step(job: Job, store: Store, *, retry: bool) -> Step:
    with _about(job):
        stored = store.find(job)
        if stored is not None:
            return Step(job, stored.guarantee, stored)
        if store.is_unstored(job) and not retry:
            raise BadData(_UNSTORED)
        promise = job.promise()
        if not promise.private:
            raise NotPrivate("a report has private results only; leave out what is not.")
        return Step(job, promise, None, failed=not retry and store.was_begun(job))


def _require_different(jobs: Sequence[Job]) -> None:
    contents = [job.content() for job in jobs]
    for place, content in enumerate(contents):
        if content in contents[:place]:
            same = jobs[contents.index(content)].name
            raise BadParameter(f"Jobs {same!r} and {jobs[place].name!r} ask for the same: leave one out.")


def _require_relation(steps: Sequence[Step], terms: Terms, budget: Budget | None) -> None:
    for step in steps:
        if step.guarantee.neighbors is not terms.neighbors:
            raise BadParameter(
                f"job {step.job.name!r} is for neighbors {step.guarantee.neighbors}, and [budget] for "
                f"{terms.neighbors}: give both the same."
            )
    if budget is not None and budget.neighbors is not terms.neighbors:
        raise BadParameter(f"{terms.dataset!r} was granted for neighbors {budget.neighbors}: say so in [budget].")


def _common_unit(steps: Sequence[Step], terms: Terms, budget: Budget | None) -> str:
    """The privacy unit of all jobs, of [budget] and of the ledger."""
    said = [("[budget]", terms.unit), ("the ledger", budget.unit if budget else None)]
    said += [(f"job {step.job.name!r}", step.guarantee.unit) for step in steps]
    known = [(who, unit) for who, unit in said if unit]
    first, unit = known[0]
    for who, other in known:
        if other != unit:
            raise BadParameter(
                f"{first} protects each {unit!r}, and {who} each {other!r}: one budget has one privacy unit. Name the "
                "same columns with unit (or assert it with one_row_per), or another ledger data set."
            )
    return unit


def _advice(asked: Amount, allowed: Amount) -> str:
    if asked.delta > allowed.delta == 0:
        return f"give delta = {short(asked.delta)} or more in [budget], or use mechanisms with δ = 0."
    return "lower the jobs' epsilon (and delta), or raise the budget's."


def _require_total(plan: Plan, terms: Terms) -> None:
    """That the file's total suffices for all jobs, and the ledger for those that are yet to be paid."""
    paid = total(step.price for step in plan.steps if step.stored)
    if not (plan.budget.spent if plan.budget else Amount()).fits(paid):
        raise BadLedger(
            f"The stored results cost {paid}, which the ledger does not know: restore the ledger that paid for them, "
            "or give another --results folder."
        )
    asked = total(step.price for step in plan.steps)
    if not terms.total.fits(asked):
        raise BudgetExceeded(
            f"The jobs cost up to {asked} together, and [budget] allows {terms.total}: {_advice(asked, terms.total)}"
        )
    name, part = name_and_part(terms.dataset)
    if plan.budget is None:
        if part:
            raise BadParameter(f"{name!r} is not granted yet: grant it with its parts (dpmine ledger grant).")
        return
    if plan.to_pay != Amount() and not plan.budget.granted.fits(terms.total):
        raise BudgetExceeded(
            f"[budget] asks for {terms.total}, and the ledger grants {plan.budget.granted} to {name!r}: ask for less, "
            "or have a larger total granted (dpmine ledger grant)."
        )
    plan.budget.charging(part, plan.to_pay)
