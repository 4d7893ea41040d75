"""How sure the estimates are, all of them together. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from dpmine.itemsets.best_first.order import smaller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpmine.itemsets.best_first.counts import Counts
    from dpmine.itemsets.best_first.together import Support
    from dpmine.itemsets.transactions.lists import CodedItemset

Value = TypeVar("Value", int, float)

_LARGEST = 2**63 - 1
"""Units are counted in 64 bits: no support is larger, however large noise is."""

_ROUNDING = 1e-6
"""More than floats lose in sums of counts below 2^30 and weights of at most 1: an end moves outwards, if at all."""


class Errors(NamedTuple):
    """How wrong counts may be.

    Attributes:
        of_mean: the largest plausible error of a count: of the mean of 1, 2, … answers.
        of_units: that of the number of units.
        left_out: of itemsets whose counts may lack units: how far supports may be above what `of_mean` allows for.
    """

    of_mean: Callable[[int], int]
    of_units: int
    left_out: Mapping[CodedItemset, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Supports that agree with each other, and intervals that hold the true ones, all with one probability.

    Attributes:
        values: never negative, and never above that of a part.
        lows: the least plausible supports.
        highs: the largest ones.
    """

    values: Mapping[CodedItemset, int]
    lows: Mapping[CodedItemset, int]
    highs: Mapping[CodedItemset, int]

    @classmethod
    def of(
        cls, counts: Counts, itemsets: Iterable[CodedItemset], errors: Errors, together: Mapping[CodedItemset, Support]
    ) -> Bounds:
        """An estimate is off by at most the sum of its weights times the errors of the counts.

        Args:
            counts: what was counted.
            itemsets: those that are wanted; with each all its parts but the empty one.
            errors: what is plausible.
            together: of those that were counted once more and all at once, what is known since.
        """

        def error_of(part: CodedItemset) -> int:
            return errors.of_mean(counts.answers[part].times) if part else errors.of_units

        def ends(itemset: CodedItemset) -> tuple[float, float]:
            counted, far = max(0.0, counts.counted(itemset)), counts.kind.reach(itemset, error_of)
            low, high = counted - far, counted + far + errors.left_out.get(itemset, 0)
            if itemset in together:
                low, high = max(low, together[itemset].low), min(high, together[itemset].high)
            return low, high

        by_size = sorted(itemsets, key=lambda itemset: (len(itemset), itemset))
        values = {each: together[each].value if each in together else counts.support(each) for each in by_size}
        both = {each: ends(each) for each in by_size}
        lows = {each: ceil(low - _ROUNDING) for each, (low, _) in both.items()}
        highs = {each: floor(high + _ROUNDING) for each, (_, high) in both.items()}
        return cls.around({each: max(0.0, value) for each, value in values.items()}, lows, highs)

    @classmethod
    def around(
        cls, estimates: dict[CodedItemset, float], lows: dict[CodedItemset, int], highs: dict[CodedItemset, int]
    ) -> Bounds:
        """Estimates that agree, inside intervals that are as narrow as those of parts and wholes say.

        Requires: all in the same order, by size, with all parts of each itemset; no estimate is below 0.
        """
        highs = {each: min(max(0, high), _LARGEST) for each, high in _least_of_parts(highs).items()}
        lows = {each: min(max(0, low), highs[each]) for each, low in _largest_of_wholes(lows).items()}
        least, largest = _least_of_parts(estimates), _largest_of_wholes(estimates)
        values = {each: round((least[each] + largest[each]) / 2) for each in estimates}
        return cls({each: min(max(values[each], lows[each]), highs[each]) for each in values}, lows, highs)

    def largest(self, itemsets: Iterable[CodedItemset]) -> int:
        """The largest support that one of the itemsets may have, all of whose parts of one item less are known."""
        return max((min(self.highs[part] for part in smaller(itemset)) for itemset in itemsets), default=0)


def _least_of_parts(values: dict[CodedItemset, Value]) -> dict[CodedItemset, Value]:
    """Of each itemset and all its parts. Requires: by size."""
    least = dict(values)
    for itemset in values:
        if len(itemset) > 1:
            least[itemset] = min(least[itemset], *(least[part] for part in smaller(itemset)))
    return least


def _largest_of_wholes(values: dict[CodedItemset, Value]) -> dict[CodedItemset, Value]:
    """Of each itemset and all that contain it. Requires: by size."""
    largest = dict(values)
    for itemset in reversed(values):
        if len(itemset) > 1:
            for part in smaller(itemset):
                largest[part] = max(largest[part], largest[itemset])
    return largest
