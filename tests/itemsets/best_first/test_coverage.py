"""Intervals and what is said of itemsets that were not counted: how often they hold, where the order hunts for noise.

The order knows the true supports, and counts next what the largest errors so far speak for. No order that goes by what
was released can do worse on purpose. All draws are those of the exact sampler.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING

import pytest
from scipy.stats import binom
from support.effort import PROFILE, Profile
from support.oracles.itemsets import baskets_of

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.best_first import plan
from dpmine.itemsets.best_first.counts import Capped, Centred, CountKind, Odd, Plain, Signed
from dpmine.itemsets.best_first.order import BestFirstSearch, smaller
from dpmine.itemsets.release.noise import DiscreteGaussian
from dpmine.itemsets.ways import adaptive_counts
from dpmine.itemsets.ways.adaptive_counts import AdaptiveCounts
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.adaptive_counts import CountedItemsets

ITEMS, SIZES = 9, (1, 3)
LEVEL, FALSE_ALARM = 0.95, 1e-6
RUNS = 600 if PROFILE is Profile.FULL else 200
BLOCKS = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}]
"""Items that are always together: what is not counted may be as frequent as its parts."""
UNITS = [[{unit % 9}.union(*(block for place, block in enumerate(BLOCKS) if unit >> place & 1))] for unit in range(150)]
SEVERAL = [[*unit, {(item + 2) % ITEMS for item in unit[0]}] if place % 3 else unit for place, unit in enumerate(UNITS)]
ALL = [itemset for size in range(1, SIZES[1] + 1) for itemset in combinations(range(ITEMS), size)]
REPLACED, ADDED = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE
Case = tuple[type[CountKind], Neighbors, list[list[set[int]]], bool]
CASES: list[Case] = [
    (Signed, ADDED, UNITS, False),
    (Signed, ADDED, UNITS, True),
    (Odd, REPLACED, UNITS, False),
    (Odd, REPLACED, UNITS, True),
    (Centred, ADDED, SEVERAL, False),
    (Plain, REPLACED, SEVERAL, False),
    (Capped, ADDED, SEVERAL, True),
    (Capped, REPLACED, UNITS, True),
]
"""What is counted, and whether the likely itemsets are counted together in the end."""


def supports(units: list[list[set[int]]]) -> dict[CodedItemset, int]:
    """By the definition."""
    return {each: sum(any(basket.issuperset(each) for basket in unit) for unit in units) for each in ALL}


def hunting(true: Mapping[CodedItemset, int], sign: int) -> type[BestFirstSearch]:
    """The order that counts next what has the parts with the largest errors of that sign."""

    class Hunt(BestFirstSearch):
        def _rank(self, itemset: CodedItemset) -> float:
            errors = (self._supports[part] - true[part] for part in smaller(itemset) if part)
            return sign * sum(errors)

    return Hunt


def failures(counted: CountedItemsets, true: Mapping[CodedItemset, int], units: int) -> tuple[bool, bool]:
    """Whether an interval does not hold its support or the number of units, and whether what is missing is larger."""
    bounds, (_, (low, high)) = counted.bounds, counted.units
    held = all(bounds.lows[each] <= true[each] <= bounds.highs[each] for each in bounds.values) and low <= units <= high
    items = {each[0] for each in bounds.values if len(each) == 1}
    missing = max((true[each] for each in ALL if each not in bounds.values and items.issuperset(each)), default=0)
    return not held, missing > (inf if counted.complete_above is None else counted.complete_above)


def hunted(case: Case, sign: int, runs: int) -> list[tuple[bool, bool]]:
    """The failures of some runs in which that kind is counted."""
    kind, relation, units, together = case
    true, transactions = supports(units), baskets_of(units, ITEMS)
    counting = AdaptiveCounts(SIZES, 20, DiscreteGaussian(Fraction(1, 2)), Fraction(0), relation, ITEMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive_counts, "BestFirstSearch", hunting(true, sign))
        patch.setattr(plan, "_MOST_IN_CELLS", 0)
        patch.setattr(plan, "_THIN", inf if together else 0)
        patch.setattr(plan, "CAPS", (5 if kind is Capped else 1000,))
        patch.setattr(plan, "_LOOSE_OF_BEST", 1000)
        several, found = units is SEVERAL, []
        for _ in range(runs):
            counted = counting.count(transactions, several_baskets=several, bits=SystemBits())
            found.append(failures(counted, true, len(units)))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_hold_together_whatever_is_hunted_for(case: Case, sign: int) -> None:
    """False-alarm rate: at most 1e-6, for each of the two statements."""
    for failed in zip(*hunted(case, sign, RUNS), strict=True):
        assert binom.sf(sum(failed) - 1, RUNS, 1 - LEVEL) > FALSE_ALARM
