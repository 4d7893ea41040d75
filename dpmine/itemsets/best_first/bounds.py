"""How sure the estimates are, all of them together. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, TypeVar

from dpmine.itemsets.best_first.order import smaller

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpmine.itemsets.best_first.counts import Counts, Itemset

Value = TypeVar("Value", int, float)

_ROUNDING = 1e-6
"""More than floats lose in sums of counts below 2^30 and weights of at most 1: an end moves outwards, if at all."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Supports that agree with each other, and intervals that hold the true ones, all with one probability.

    Attributes:
        values: never negative, and never above that of a part.
        lows: the least plausible supports.
        highs: the largest ones.
    """

    values: Mapping[Itemset, int]
    lows: Mapping[Itemset, int]
    highs: Mapping[Itemset, int]

    @classmethod
    def of(cls, counts: Counts, itemsets: Iterable[Itemset], error: int, error_of_all: int, hidden: int) -> Bounds:
        """An estimate is off by at most the sum of its weights times the errors of the counts.

        Args:
            counts: what was counted.
            itemsets: those that are wanted; with each all its parts but the empty one.
            error: the largest noise that is plausible of any count.
            error_of_all: that of the number of units.
            hidden: how many units, at most, a support may have beside those that were counted.
        """
        reach = {each: counts.kind.reach(each, error, error_of_all) for each in itemsets}
        by_size = sorted(reach, key=lambda itemset: (len(itemset), itemset))
        estimates = {itemset: max(0.0, counts.support(itemset)) for itemset in by_size}
        lows = {each: ceil(estimates[each] - reach[each] - _ROUNDING) for each in by_size}
        highs = {each: floor(estimates[each] + reach[each] + _ROUNDING) + hidden for each in by_size}
        return cls.around(estimates, lows, highs)

    @classmethod
    def around(cls, estimates: dict[Itemset, float], lows: dict[Itemset, int], highs: dict[Itemset, int]) -> Bounds:
        """Estimates that agree, inside intervals that are as narrow as those of parts and wholes say.

        Requires: all in the same order, by size, with all parts of each itemset; no estimate is below 0.
        """
        highs = {each: max(0, high) for each, high in _least_of_parts(highs).items()}
        lows = {each: min(max(0, low), highs[each]) for each, low in _largest_of_wholes(lows).items()}
        least, largest = _least_of_parts(estimates), _largest_of_wholes(estimates)
        values = {each: round((least[each] + largest[each]) / 2) for each in estimates}
        return cls({each: min(max(values[each], lows[each]), highs[each]) for each in values}, lows, highs)

    def largest(self, itemsets: Iterable[Itemset]) -> int:
        """The largest support that one of the itemsets may have, all of whose parts of one item less are known."""
        return max((min(self.highs[part] for part in smaller(itemset)) for itemset in itemsets), default=0)


def _least_of_parts(values: dict[Itemset, Value]) -> dict[Itemset, Value]:
    """Of each itemset and all its parts. Requires: by size."""
    least = dict(values)
    for itemset in values:
        if len(itemset) > 1:
            least[itemset] = min(least[itemset], *(least[part] for part in smaller(itemset)))
    return least


def _largest_of_wholes(values: dict[Itemset, Value]) -> dict[Itemset, Value]:
    """Of each itemset and all that contain it. Requires: by size."""
    largest = dict(values)
    for itemset in reversed(values):
        if len(itemset) > 1:
            for part in smaller(itemset):
                largest[part] = max(largest[part], largest[itemset])
    return largest
