"""What is left of a budget, in terms of what it suffices for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpmine.exact.reals import decimal_below
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.ledger.budget import WHOLE, Accounting, Amount, name_and_part

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dpmine.ledger.budget import Budget
    from dpmine.reporting.batch import Report


_DIGITS = 3  # of an ε that is left
_SEVERAL = 10  # numbers that are released together
_MOST_NOISE = 10**9  # a half width beyond it is of no use, and takes long to compute


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left, in terms of what it suffices for.

    Attributes:
        times: how often each job could be run again, by its name; without the jobs that were charged nothing.
        page: whether all jobs could be run again.
        epsilon: the most that one job with δ = 0 may ask for, rounded down.
        one: if all is charged for one more number of units, its half width at probability 0.95; None where nothing
            useful is left.
        several: the same for each of ten numbers that are released together.
    """

    times: Mapping[str, int]
    page: bool
    epsilon: Fraction
    one: int | None
    several: int | None


def left_to_file(report: Report, budget: Budget) -> Amount:
    """What further jobs of the file may be charged, by the ledger and by the file's total: each number is the smaller.

    A job without a result is counted at its most: the file still asks for it. A schedule divides the file's total among
    its windows, so only the ledger says what is left for anything else.
    """
    by_ledger = budget.remaining_of(name_and_part(report.job_file.terms.dataset)[1])
    if report.timeline is not None:
        return by_ledger
    charged = Amount.total([each.charge if each.result else Amount.of(each.guarantee) for each in report.outcomes])
    by_file = replace(budget, granted=report.total, charged={WHOLE: charged}).remaining
    return Amount(*map(min, zip(by_ledger, by_file, strict=True)))


def rest_of(remaining: Amount, accounting: Accounting, charges: Mapping[str, Amount]) -> Rest:
    """What `remaining` suffices for, given the most that each job may be charged."""
    loss = remaining.compared(accounting)[0]
    times = {name: _times(remaining, most, accounting) for name, most in charges.items() if any(most)}
    page = not times or _times(remaining, Amount.total(charges.values()), accounting) > 0
    if loss <= 0:
        return Rest(times, page, loss, None, None)
    noise = DiscreteLaplace(loss) if accounting is Accounting.BASIC else DiscreteGaussian(loss)
    useful = loss * _MOST_NOISE > 1
    one, several = (noise.half_width(count) if useful else None for count in (1, _SEVERAL))
    return Rest(times, page, decimal_below(remaining.epsilon, _DIGITS), one, several)


def _times(remaining: Amount, largest_charge: Amount, accounting: Accounting) -> int:
    """How many charges fit. Raises ValueError for a charge of nothing."""
    pairs = zip(remaining.compared(accounting), largest_charge.compared(accounting), strict=True)
    return max(0, min(int(left // charge) for left, charge in pairs if charge))
