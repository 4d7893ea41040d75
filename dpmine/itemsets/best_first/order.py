"""Which itemset is counted next: the likeliest to be frequent, judged by what was released so far alone.

Everything here is post-processing: item numbers, noisy weights and estimates come in, itemsets come out.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING

from dpmine.itemsets.best_first.counts import EVERYBODY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.itemsets.best_first.counts import Counts, Itemset


GUESS_SHARE = 0.4
"""Of the guess in the rank; the rest is that of the bound."""
SLACK = 0.5
"""Deviations by which a bound may miss the goal before its itemset is skipped."""
QUANTILE = 0.75
"""Of support over weight among the counted items: what the other items are taken to have, in their bounds."""


@dataclass(frozen=True, slots=True)
class NoisyWeights:
    """What was released of the items before any of them is counted.

    Attributes:
        values: for each item the sum of what units gave it, with noise; at most its support, but for the noise.
        deviation: the standard deviation of the noise.
    """

    values: Sequence[float]
    deviation: float


@dataclass(frozen=True, slots=True)
class Goal:
    """What the search is for: the best itemsets, or all of some support.

    Attributes:
        sizes: the smallest and the largest size.
        k: the number of itemsets that are wanted; None for all that reach `support`.
        support: that all of them have; 0 for the best `k`.
    """

    sizes: tuple[int, int]
    k: int | None
    support: float = 0.0

    def least(self, supports: Sequence[float]) -> float:
        """What an itemset must have to be of use, beside these estimates in increasing order."""
        if self.k is None:
            return self.support
        return max(self.support, supports[-self.k]) if len(supports) >= self.k else self.support or -inf

    def border(self, supports: Sequence[float]) -> float | None:
        """What divides the wanted among these estimates, in increasing order, from the others; None where all are."""
        if self.k is None or len(supports) <= self.k:
            return self.support or None
        return max(self.support, (supports[-self.k] + supports[-self.k - 1]) / 2)


class Search:
    """Itemsets by decreasing rank, each only after all its parts with one item less.

    An itemset whose bound is clearly below what the goal asks for is skipped.
    """

    def __init__(self, counts: Counts, weights: NoisyWeights, goal: Goal, scale: float) -> None:
        """Requires: the number of units was counted. `scale`: support over weight, until items are counted."""
        self._counts, self._weights, self._goal = counts, weights, goal
        self._units = max(1.0, counts.support(EVERYBODY))
        self._supports: dict[Itemset, float] = {}
        self._sorted: list[float] = []
        self._items: list[int] = []  # counted, in this order
        self._scale = self._first_scale = scale
        self._queue: list[tuple[float, Itemset]] = []
        self._known: set[Itemset] = set()
        self._by_weight = deque(sorted(range(len(weights.values)), key=lambda item: (-weights.values[item], item)))
        self._push_items(1)

    @property
    def counted(self) -> list[Itemset]:
        """Those whose support was counted, in this order."""
        return list(self._supports)

    @property
    def frontier(self) -> list[Itemset]:
        """Itemsets of counted items that were not counted, though all their parts were."""
        return [each for each in self._known if len(each) > 1 and each not in self._supports]

    def run(self, most: int) -> None:
        """Count up to `most` itemsets."""
        while self._queue and len(self._supports) < most and self._counts.left:
            itemset = heappop(self._queue)[1]
            if len(itemset) == 1:
                self._push_items(1)
            if not self._is_hopeless(itemset):
                self._count(itemset)

    def _count(self, itemset: Itemset) -> None:
        self._counts.ask(itemset)
        support = self._counts.support(itemset)
        self._supports[itemset] = support
        if len(itemset) >= self._goal.sizes[0]:
            insort(self._sorted, support)
        if len(itemset) == 1:
            self._items.append(itemset[0])
            ratios = sorted(self._ratios())
            self._scale = max(1.0, ratios[int(QUANTILE * (len(ratios) - 1))])
        for larger in self._extensions(itemset):
            self._push(larger)

    def _ratios(self) -> Iterator[float]:
        """Support over weight, as first measured and of the counted items: weights count units with many items less."""
        for item in self._items:
            if self._weights.values[item] > 0:
                yield self._supports[item,] / self._weights.values[item]
        yield self._first_scale

    def _push_items(self, number: int) -> None:
        for _ in range(min(number, len(self._by_weight))):
            self._push((self._by_weight.popleft(),))

    def _push(self, itemset: Itemset) -> None:
        self._known.add(itemset)
        heappush(self._queue, (-self._rank(itemset), itemset))

    def _extensions(self, itemset: Itemset) -> Iterator[Itemset]:
        """The itemsets of one item more that were not known so far and whose parts were all counted."""
        if len(itemset) == self._goal.sizes[1]:
            return
        for item in self._items:
            if item in itemset:
                continue
            larger = tuple(sorted((*itemset, item)))
            if larger not in self._known and all(part in self._supports for part in smaller(larger)):
                yield larger

    def _is_hopeless(self, itemset: Itemset) -> bool:
        slack = self._scale * self._weights.deviation if len(itemset) == 1 else self._counts.deviation(itemset[1:])
        return self._bound(itemset) < self._goal.least(self._sorted) - SLACK * slack

    def _bound(self, itemset: Itemset) -> float:
        """What the support is at most, by the estimates of its parts."""
        if len(itemset) == 1:
            return self._scale * self._weights.values[itemset[0]]
        return min(self._supports[part] for part in smaller(itemset))

    def _rank(self, itemset: Itemset) -> float:
        """The bound, drawn towards the support under conditional independence."""
        bound = max(1.0, self._bound(itemset))
        if len(itemset) == 1:
            return bound
        guess = max(1.0, min(bound, self._guess(itemset)))
        rank: float = bound ** (1 - GUESS_SHARE) * guess**GUESS_SHARE
        return rank

    def _guess(self, itemset: Itemset) -> float:
        """The largest f(s∖i) f(s∖j)/f(s∖{i, j})."""

        def known(part: Itemset) -> float:
            return max(1.0, self._supports[part]) if part else self._units

        return max(
            known(without(itemset, i)) * known(without(itemset, j)) / known(without(without(itemset, j), i))
            for i, j in combinations(range(len(itemset)), 2)
        )


def without(itemset: Itemset, place: int) -> Itemset:
    """All items but the one at this place."""
    return itemset[:place] + itemset[place + 1 :]


def smaller(itemset: Itemset) -> Iterator[Itemset]:
    """The parts of one item less."""
    return (without(itemset, place) for place in range(len(itemset)))
