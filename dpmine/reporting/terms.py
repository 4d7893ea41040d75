"""Whether a batch keeps to the terms of its job file and ledger, and what it guarantees by these terms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpmine.errors import BadLedger, BadParameter, BudgetExceeded
from dpmine.exact.reals import decimal_above
from dpmine.io.atomic import database_files
from dpmine.ledger.budget import Accounting, Amount, Parts, guaranteed, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import short
from dpmine.reporting.jobs.compare import COMPARED, charges_to_parts, parts_of_others
from dpmine.reporting.jobs.file import Create
from dpmine.reporting.jobs.schedule import length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.reporting.checked_batch import CheckedBatch, Step
    from dpmine.reporting.jobs.file import BudgetTerms
    from dpmine.reporting.store import ResultsFolder


_DIGITS = 4  # of an ε that is rounded up for readers
CHANGED = (
    "the window was charged for a job of this name with other options, so the job file was changed. Undo the change. "
    "To keep it, write a later start in [schedule]: the changed job is run from that window on. If it is another job, "
    "give it another name."
)


def is_by_rho(largest: Amount, total: Amount, accounting: Accounting) -> bool:
    """Whether the ledger adds up ρ, and the ε of that is less than the sum of all ε.

    It depends on the most that jobs may charge alone: chosen by outcomes, both δ would have to count. `total` is that
    of the file.
    """
    return guaranteed(largest, accounting, total.conversion_delta).epsilon < largest.epsilon


def guaranteed_together(charged: Amount, largest: Amount, total: Amount, accounting: Accounting) -> Amount:
    """The (ε, δ) of results of that charge: by ρ where that guarantees more, else by the sum of all ε.

    This is the guarantee that a page, and evidence for it, state; `largest` and `total` as in `is_by_rho`.
    """
    if not is_by_rho(largest, total, accounting):
        return Amount(charged.epsilon, charged.delta)
    kept = guaranteed(charged, accounting, total.conversion_delta)
    return Amount(decimal_above(kept.epsilon, _DIGITS) if kept.epsilon else kept.epsilon, kept.delta)


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
    (first, unit), *others = [(source, unit) for source, unit in units if unit] or [("", "")]
    for source, other in others:
        if other != unit:
            raise BadParameter(
                f"{first} protects each {unit!r}, and {source} each {other!r}: one budget has one privacy unit. Name "
                "the same columns with unit (or assert it with one_row_per), or another ledger data set."
            )
    return unit


def require_total(batch: CheckedBatch, terms: BudgetTerms) -> None:
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
