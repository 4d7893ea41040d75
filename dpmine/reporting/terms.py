"""A batch that is checked: what each job is charged, whether that keeps to the terms of its file and ledger.

Of recurring jobs, a ledger's history says what all windows were charged so far.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from dpmine.errors import BadLedger, BadParameter, BudgetExceeded
from dpmine.exact.reals import decimal_above
from dpmine.io.atomic import database_files
from dpmine.ledger import budget as budgets
from dpmine.ledger.budget import Accounting, Amount, Parts, composed, guaranteed, in_part, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.records import Kind
from dpmine.markup import ShownAsText
from dpmine.privacy import short
from dpmine.reporting.jobs.compare import COMPARED, charges_to_parts, parts_of_others
from dpmine.reporting.jobs.file import Create
from dpmine.reporting.jobs.schedule import length_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from fractions import Fraction

    from dpmine.ledger.budget import Budget
    from dpmine.ledger.records import Entry
    from dpmine.privacy import Guarantee
    from dpmine.reporting.jobs.file import BudgetTerms
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import ResultsFolder, Stored


_DIGITS = 4  # of an ε that is rounded up for readers
_MARK = re.compile(r"\[(\S+) ([0-9a-f]{16})\]$")
"""How the job of an entry ends: the window, and what is asked of every window."""
CHANGED = (
    "the window was charged for a job of this name with other options, so the job file was changed. Undo the change. "
    "To keep it, write a later start in [schedule]: the changed job is run from that window on. If it is another job, "
    "give it another name."
)


@dataclass(frozen=True, slots=True)
class Charges:
    """The charges of some recurring jobs, over all windows.

    Attributes:
        amounts: by the keys of the jobs, retries included.
        replaced: windows and names of these jobs that were charged with other options, before the file was changed.
    """

    amounts: Mapping[str, Amount] = field(default_factory=dict)
    replaced: Collection[tuple[str, str]] = frozenset()

    @classmethod
    def of(
        cls, ledger: Ledger, dataset: str, jobs: Iterable[Job], *, all_parts: bool = False, settled: bool = True
    ) -> Charges:
        """Those on the data set, or its part, that is named, or on all of its parts; as `among`. Raises BadLedger."""
        recurring = [job for job in jobs if job.key]
        name, part = name_and_part(dataset)
        history = ledger.history(name) if recurring and ledger.known(name) else ()
        return cls.among(history, recurring, None if all_parts else part, settled=settled)

    @classmethod
    def among(cls, history: Iterable[Entry], jobs: Collection[Job], part: str | None, *, settled: bool = True) -> Self:
        """Those among the entries of the part (None: any); of a reservation what it came to, unless `settled` all."""
        digests = {job.key.rpartition(" ")[2] for job in jobs}
        titles = {job.scheduled.title for job in jobs if job.scheduled and job.in_window}
        charges, replaced = dict[int, tuple[str, Amount]](), set[tuple[str, str]]()
        for entry in history:
            mark = _MARK.search(entry.job) if entry.kind in {Kind.CHARGE, Kind.RESERVE} else None
            if mark and part in {None, entry.part}:
                if mark[2] in digests:
                    charges[entry.number] = f"{mark[1]} {mark[2]}", entry.amount
                else:
                    words = entry.job[: mark.start()]
                    replaced |= {(mark[1], title) for title in titles if words.endswith(f" {title!r} ")}
            elif settled and entry.kind == Kind.SETTLE and entry.reservation in charges:
                charges[entry.reservation] = charges[entry.reservation][0], entry.amount
        amounts: dict[str, Amount] = {}
        for key, amount in charges.values():
            amounts[key] = amounts.get(key, Amount()) + amount
        return cls(amounts, replaced)

    def after(self, batches: Iterable[Batch], dataset: str) -> Charges:
        """These, and what the batches will charge to the data set, or part, of that name."""
        amounts = dict(self.amounts)
        for step in (step for batch in batches if batch.dataset == dataset for step in batch.steps if step.pending):
            amounts[step.job.key] = amounts.get(step.job.key, Amount()) + step.charge
        return replace(self, amounts=amounts)

    def for_one_unit(self, *, disjoint: bool) -> Amount:
        """What all windows come to for one unit, which is in one of them alone if they are disjoint."""
        return composed(Amount(), self.by_window.values()) if disjoint else self.total

    @property
    def by_window(self) -> dict[str, Amount]:
        """What each window was charged, by its name."""
        windows: dict[str, Amount] = {}
        for key, amount in self.amounts.items():
            window = key.partition(" ")[0]
            windows[window] = windows.get(window, Amount()) + amount
        return windows

    @property
    def total(self) -> Amount:
        """Of all windows together."""
        return Amount.total(self.amounts.values())


@dataclass(frozen=True, slots=True)
class PastWindow:
    """A window of recurring jobs.

    Attributes:
        window: its name.
        documents: what its jobs released, by the names of the jobs; None where there is no result.
        charged: whether anything was charged for it.
    """

    window: str
    documents: Mapping[str, dict[str, Any] | None]
    charged: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """All windows so far, in order; what all came to together for each unit, and the most that it could have."""

    windows: tuple[PastWindow, ...]
    charge: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class Step:
    """A job, and what is to be done with it.

    Attributes:
        job: it.
        guarantee: of its result where one is stored, else the most that it can be charged.
        charge: the most that it is charged, or what it was charged.
        stored: its result, if there is one.
        failed: whether it was begun before, without a result, and is not to be run again.
    """

    job: Job
    guarantee: Guarantee
    charge: Amount
    stored: Stored | None = None
    failed: bool = False

    @property
    def pending(self) -> bool:
        """Whether it is to be charged and run."""
        return self.stored is None and not self.failed


@dataclass(frozen=True, slots=True)
class Batch(ShownAsText):
    """A batch that was checked. Its text says what each job would be charged, and what is left.

    Attributes:
        dataset: the data set's name in the ledger.
        steps: the jobs in order.
        unit: the privacy unit of all.
        budget: the data set's, before the batch; None where it is yet to be granted.
        total: the most that the file's jobs may be charged together.
        accounting: by which it is counted.
        charges: of recurring jobs, in all windows so far.
    """

    dataset: str
    steps: tuple[Step, ...]
    unit: str
    budget: Budget | None
    total: Amount
    accounting: Accounting
    charges: Charges = field(default_factory=Charges)

    def __str__(self) -> str:
        left = self.budget and f"{self.budget.left_of(self.dataset)} left{in_part(self.dataset)}"
        charged = f"up to {self.to_charge.shown(self.accounting, short)} for each {self.unit}"
        return "\n".join([*self.lines, f"All together: {charged}; {left or 'the budget is yet to be granted'}."])

    @property
    def lines(self) -> list[str]:
        """What each job is charged."""
        return list(map(self._charge, self.steps))

    def _charge(self, step: Step) -> str:
        if step.pending:
            return f"{step.job.name_with_files}: a charge of up to {step.charge.shown(self.accounting, short)}"
        free = "stored already" if step.stored else "begun before, without a result"
        return f"{step.job.name}: {free}; no charge"

    @property
    def parts(self) -> Parts:
        """How the data set has to be cut into parts for the jobs."""
        return Parts.BY_UNIT if any(step.job.partition for step in self.steps) else Parts.NONE

    @property
    def notices(self) -> tuple[str, ...]:
        """What the jobs that are run have to say before they read; each once."""
        return tuple(dict.fromkeys(text for step in self.steps if step.pending for text in step.job.notices))

    @property
    def paths(self) -> list[str]:
        """The inputs of the jobs, those in queries among them, and public catalogues in files."""
        from dpmine.io.sources.query import named_files

        paths: list[str] = []
        for job in (step.job for step in self.steps):
            catalogue = job.options.get("catalogue")
            paths += [*job.paths, *named_files(job.options.get("query"), job.options.get("database"))]
            paths += [catalogue] if isinstance(catalogue, str) else []
        return paths

    @property
    def afterwards(self) -> Budget:
        """The budget once the jobs are charged; a new data set's where it is yet to be granted."""
        name, part = name_and_part(self.dataset)
        neighbors = self.steps[0].guarantee.neighbors
        budget = self.budget or budgets.Budget(name, neighbors, self.parts, self.total, self.unit, self.accounting)
        return budget.charging(part, self.to_charge) if self.to_charge != Amount() else budget

    @property
    def to_charge(self) -> Amount:
        """The most that the jobs without a stored result are charged."""
        return Amount.total([step.charge for step in self.steps if step.pending])

    @property
    def together(self) -> Amount:
        """The most that all jobs are charged, including other windows and jobs without a result."""
        other = [step.charge for step in self.steps if not (step.pending or step.job.key)]
        return Amount.total([self.charges.total, self.to_charge, *other])


def is_by_rho(largest: Amount, total: Amount, accounting: Accounting) -> bool:
    """Whether the ledger adds up ρ, and the ε of that is less than the sum of all ε.

    It depends on the most that jobs may charge alone: chosen by outcomes, both δ would have to count. `total` is that
    of the file.
    """
    return guaranteed(largest, accounting, conversion_delta(total)).epsilon < largest.epsilon


def guaranteed_together(charged: Amount, largest: Amount, total: Amount, accounting: Accounting) -> Amount:
    """The (ε, δ) of results of that charge: by ρ where that guarantees more, else by the sum of all ε.

    This is the guarantee that a page, and evidence for it, state; `largest` and `total` as in `is_by_rho`.
    """
    if not is_by_rho(largest, total, accounting):
        return Amount(charged.epsilon, charged.delta)
    kept = guaranteed(charged, accounting, conversion_delta(total))
    return Amount(decimal_above(kept.epsilon, _DIGITS) if kept.epsilon else kept.epsilon, kept.delta)


def conversion_delta(total: Amount) -> Fraction:
    """The δ at which ρ is converted."""
    return total.delta - total.approximate_delta


def require_no_loss(terms: BudgetTerms, store: ResultsFolder) -> None:
    """BadLedger where a data set that the ledger does not know was granted before, or must have been."""
    if store.has_jobs_of(terms.ledger, terms.dataset):
        raise BadLedger(
            f"Jobs in '{store.folder}' were run on {terms.dataset!r}, which the ledger does not know: restore the "
            "ledger that was charged, or give another `results=…` folder."
        )
    if terms.create is Create.NEVER:
        raise BadLedger(
            f"The ledger does not know {terms.dataset!r}, and this run may not create its budget: restore the ledger "
            "if it was lost, or grant one with dpmine ledger grant."
        )
    file = next(iter(database_files(terms.ledger).values()), "")
    if file and os.path.lexists(file) and not Ledger(terms.ledger).exists():
        raise BadLedger(
            f"'{file}' is there and holds no ledger, so one may have been lost: restore it, or delete the file, or "
            "make the ledger with dpmine ledger grant."
        )


def require_same_terms(terms: BudgetTerms, steps: Sequence[Step], budget: Budget | None) -> None:
    """BadParameter where [budget], a job and the ledger disagree on the relation or the accounting."""
    for step in steps:
        if step.guarantee.neighbors is not terms.neighbors:
            raise BadParameter(
                f"job {step.job.name!r} is for `neighbors` {step.guarantee.neighbors}, and [budget] for "
                f"{terms.neighbors}: give both the same."
            )
    if budget is not None and budget.neighbors is not terms.neighbors:
        raise BadParameter(f"{terms.dataset!r} was granted for the relation {budget.neighbors}: say so in [budget].")
    if budget is not None and terms.accounting not in {None, budget.accounting}:
        raise BadParameter(f"{terms.dataset!r} was granted under {budget.accounting} accounting: say so in [budget].")


def require_one_partition(terms: BudgetTerms, steps: Sequence[Step], budget: Budget | None) -> None:
    """BadParameter where a unit could be in two parts of the data set, as its parts come from different divisions.

    The parts of one comparison are disjoint, and so are windows of one length. Those of two need not be: the largest
    charge would not bound their sum.
    """
    name, part = name_and_part(terms.dataset)
    asserted = {step.job.partition for step in steps} - {""}
    if asserted and part:
        raise BadParameter(f"A comparison charges parts of a data set: give dataset = {name!r} in [budget].")
    if len(asserted) > 1:
        raise BadParameter(
            "Comparisons of one data set must have the same parts, in every job: the parts of two comparisons overlap. "
            "Give the others another data set, in a job file of its own."
        )
    if budget is None or not (asserted or part):
        return
    if asserted and budget.parts is not Parts.BY_UNIT:
        raise BadParameter(
            f"{name!r} was granted without parts by unit, which a comparison charges: grant another data set with "
            "dpmine ledger grant (parts by-unit), and name it in [budget]."
        )
    charged = charges_to_parts(Ledger(terms.ledger).history(name))
    compared = [each for each in charged if each.job.startswith(f"{COMPARED} ")]
    others = [part for text in asserted for part in parts_of_others(charged, text)]
    if asserted and others:
        raise BadParameter(
            f"{name!r} was charged for other parts, such as {others[0]!r}, which may overlap with those of this "
            "comparison: compare the same parts, or name another data set in [budget]."
        )
    overlapping = [each.part for each in charged if length_of(each.part) is not length_of(part)]
    if part and not compared and overlapping:
        raise BadParameter(
            f"{name!r} was charged for {overlapping[0]!r}, which may overlap with {part!r}: let windows be as "
            "long as they were, or name another data set in [budget]."
        )
    if part and compared and part not in {each.part for each in compared}:
        raise BadParameter(
            f"{name!r} has the parts of a comparison, and {part!r} may overlap with them: name another data set in "
            "[budget]."
        )


def common_unit(steps: Sequence[Step], terms: BudgetTerms, budget: Budget | None) -> str:
    """The privacy unit of all jobs, of [budget] and of the ledger."""
    units = [("[budget]", terms.unit), ("the ledger", budget.unit if budget else None)]
    units += [(f"job {step.job.name!r}", step.guarantee.unit) for step in steps]
    (first, unit), *others = [(source, unit) for source, unit in units if unit]
    for source, other in others:
        if other != unit:
            raise BadParameter(
                f"{first} protects each {unit!r}, and {source} each {other!r}: one budget has one privacy unit. Name "
                "the same columns with unit (or assert it with one_row_per), or another ledger data set."
            )
    return unit


def require_total(batch: Batch, terms: BudgetTerms) -> None:
    """That the file's total suffices for all jobs, and the ledger for those that are yet to be charged."""
    total, accounting = batch.total, batch.accounting
    stored = Amount.total([step.charge for step in batch.steps if step.stored])

    def holds(budget: Budget | None) -> bool:
        return (budget.spent if budget else Amount()).fits(stored, accounting)

    # Another machine may have charged and stored since the budget was read.
    if not holds(batch.budget) and not holds(Ledger(terms.ledger).known(terms.dataset)):
        raise BadLedger(
            f"The stored results were charged {stored.shown(accounting)}, which the ledger does not know: restore the "
            "ledger that was charged, or give another `results=…` folder."
        )
    together = batch.together
    if not total.fits(together, accounting):
        advice = "lower the jobs' epsilon (and delta), or raise the budget's."
        delta = together.compared(accounting)[1]
        if delta > total.compared(accounting)[1] == 0:
            advice = f"give delta = {short(delta)} or more in [budget], or use mechanisms with δ = 0."
        allowed = total.shown(accounting)
        raise BudgetExceeded(
            f"The jobs are charged up to {together.shown(accounting)} together, and [budget] allows {allowed}: {advice}"
        )
    name, part = name_and_part(terms.dataset)
    if batch.budget is None:
        if part:
            raise BadParameter(f"{name!r} is not granted yet: grant it with its parts (dpmine ledger grant).")
        return
    to_charge = batch.to_charge
    if to_charge != Amount() and not batch.budget.granted.fits(total, accounting):
        raise BudgetExceeded(
            f"[budget] asks for {total.shown(accounting)}, and the ledger grants "
            f"{batch.budget.granted.shown(accounting)} to {name!r}: ask for less, or have a larger total granted "
            "(dpmine ledger grant)."
        )
    try:
        batch.budget.charging(part, to_charge)
    except BudgetExceeded as error:
        raise BudgetExceeded(f"{error} Jobs that were run before are found with `results=FOLDER`.") from None
