"""What is counted, and how often: chosen by public facts and by what was released before."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice, takewhile
from math import ceil, comb, sqrt
from typing import TYPE_CHECKING, NamedTuple

from dpmine.itemsets.best_first.counts import Capped, Centred, CountKind, Odd, Plain, Signed
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpmine.itemsets.best_first.order import Goal

COUNTS_A_PLACE, CAPPED_A_PLACE, _LAPLACE_A_PLACE = Fraction(16, 5), Fraction(5, 2), Fraction(9, 2)
"""Counts for each itemset that is wanted: in general; where supports are capped; there with Laplace noise."""
ITEMS_A_PLACE = Fraction(9, 2)
"""Items for each itemset of any size that is wanted, at most."""
AGAIN = Fraction(3, 10)
"""Of the counts: what decides the last places."""
_TOGETHER = Fraction(1, 2)
"""Of ρ, where a unit holds few likely itemsets: for these, counted once more and all at once."""
CAPS, _SMALL = range(20, 51), 0.28
"""Supports that a unit adds to, where they are capped: as many as leave a deviation of this share of the least one."""
_DEEP, _SHALLOW = (8, 40), (COUNTS_A_PLACE, 20)
"""For the best itemsets of two items and more alone: counts a place and counts beside these; the second where data are
dense. Items are counted before their pairs, and more of them where no item is in most of the best pairs.
"""
_SMALL_OF_ALL = 0.1
"""For all itemsets of some support: twice as many are counted as long as a deviation is below this share of it."""
_COUNTS_IN_ALL, _FEWEST, _LOOSE, _TIMES_HELD = 5, 30, 40, 5
"""For all itemsets of some support: counts for each likely one; how many of these there are at least.

The cap is a constant, and a multiple of what a unit holds of these on average.
"""
_LOOSE_OF_BEST, _TIMES_HELD_OF_BEST = 30, 3
"""For the best k: the cap likewise, if it is not above the one of `CAPS`."""
_NOISY, _THIN = 0.35, 15.0
"""They are where a support's deviation exceeds this share of the least one, and a unit holds fewer likely itemsets."""
_DEVIATIONS = 4.0
"""Of a count, in the least support that is wanted: about as many counts as keep their noise below that."""
LEAST_COUNTS, _MOST_COUNTS = 100, 5000


def counts_of_best(k: int, smallest: int) -> int:
    """How many itemsets are counted, about, for the best k of at least `smallest` items."""
    return ceil(COUNTS_A_PLACE * k) if smallest == 1 else _DEEP[0] * k + _DEEP[1]


def items_of_best(k: int, smallest: int) -> int:
    """Of how many items these are made, at most."""
    return ceil(ITEMS_A_PLACE * k) if smallest == 1 else counts_of_best(k, smallest)


class Gauge(NamedTuple):
    """What a first measure said: of the units, and of items' supports beside their weights.

    Attributes:
        number: of units, with noise.
        variance: of that number.
        scale: how many times its weight an item's support is.
    """

    number: int
    variance: float
    scale: float

    @property
    def units(self) -> int:
        """About how many there are, at least 1."""
        return max(1, self.number)


class CountingPlan(NamedTuple):
    """What is counted.

    Attributes:
        kind: of the counts.
        counts: how many there are at most.
        sensitivity: the squared L2 sensitivity of all of them together, and of what a cap adds. It is the L1
            sensitivity, too: one unit moves a count by 1 at most.
        again: how many of them count uncertain itemsets again.
        together: the part of the budget with which these are counted at once, in place of that.
    """

    kind: CountKind
    counts: int
    sensitivity: int
    again: int
    together: Fraction = Fraction(0)


_MOST_IN_CELLS, _FAR_LESS = 13, 4
"""Items of whose cells all are counted, at most; by what the variance of a pair must be less to count them."""
_ENOUGH_IN_CELLS = 1.5
"""Itemsets of the wanted sizes that these items must make, for each that is wanted."""
_DENSE, _MORE_ITEMS = 1 / 3, 4
"""The mean share of likely itemsets from which data are dense, and how many more items are chosen there."""


@dataclass(frozen=True, slots=True)
class Planner:
    """What is public.

    Attributes:
        goal: what the counts are for.
        variance: of the noise of one of N counts.
        neighbors: the relation.
        several_baskets: whether units may have several.
    """

    goal: Goal
    variance: Callable[[int], Fraction]
    neighbors: Neighbors
    several_baskets: bool

    def plan(self, weights: Sequence[float], gauge: Gauge) -> CountingPlan:
        """By the items' noisy weights: a cap keeps noise small where units hold few of what is counted."""
        kind, shares = self._kind(), _shares(weights, gauge)
        most = _MOST_COUNTS if self.goal.k is None else ceil(COUNTS_A_PLACE * self.goal.k)
        candidates = likely_shares(shares, most)
        least = self._least(candidates, gauge.units)
        likely = [share for share in candidates if share * gauge.units >= least or self.goal.k is not None]
        held = sum(likely)
        counts = self._counts(kind, len(likely), least, is_dense=held >= _THIN)
        if self.goal.k is None and (plan := self._loosely_capped(kind, candidates, len(likely), counts)) is not None:
            return plan
        is_noisy = _NOISY * least < self._deviation(counts, gauge)
        cap = self._cap(least)
        if self.goal.k is not None and self._is_gaussian and held < _THIN:
            loose = ceil(_LOOSE_OF_BEST + _TIMES_HELD_OF_BEST * held)
            return self._counted_together(kind, counts, min(loose, cap) if is_noisy else None)
        if is_noisy and held < _THIN and capped_sensitivity(cap, self.neighbors) < counts:
            return self._capped(cap, counts)
        return self._alone(kind, counts)

    def uncapped(self) -> CountingPlan:
        """Before anything was measured."""
        kind = self._kind()
        return self._alone(kind, self._counts(kind, 0, self.goal.support, is_dense=False))

    def _alone(self, kind: CountKind, counts: int) -> CountingPlan:
        """Each itemset by itself, and the uncertain ones again."""
        return CountingPlan(kind, counts, counts, int(AGAIN * counts))

    def _counted_together(self, kind: CountKind, counts: int, cap: int | None) -> CountingPlan:
        """Where a unit holds few: all at once in the end, and before with the cap, if noise is less with it."""
        most = self._with_a_cap(counts)
        if cap is not None and self._halves(kind) * capped_sensitivity(cap, self.neighbors) < counts:
            return CountingPlan(Capped(cap), most, capped_sensitivity(cap, self.neighbors), 0, _TOGETHER)
        return CountingPlan(kind, most, most, 0, _TOGETHER)

    def _capped(self, cap: int, counts: int) -> CountingPlan:
        """Instead of that many counts without a cap. Only Gaussian noise is small for shares of units."""
        sensitivity = capped_sensitivity(cap, self.neighbors)
        if self._is_gaussian:
            return CountingPlan(Capped(cap), self._with_a_cap(counts), sensitivity, 0, _TOGETHER)
        more = counts if self._is_deep else ceil(counts * _LAPLACE_A_PLACE / COUNTS_A_PLACE)
        return CountingPlan(Capped(cap), more, sensitivity, int(AGAIN * more))

    def _loosely_capped(
        self, kind: CountKind, candidates: Sequence[float], likely: int, counts: int
    ) -> CountingPlan | None:
        """A cap that hardly any unit reaches, where it has far less noise than that many counts; else None.

        For all itemsets of some support, of which a unit holds more or less, and whose number is not known: it is
        larger than items say that imply each other. So there are more counts, as long as their noise stays small.
        """
        if isinstance(kind, Signed) or not self._is_gaussian:
            return None
        plan, wanted = None, min(_MOST_COUNTS, max(LEAST_COUNTS, _COUNTS_IN_ALL * max(_FEWEST, likely)))
        while wanted <= _MOST_COUNTS:
            cap = ceil(_LOOSE + _TIMES_HELD * sum(candidates[:wanted]))
            sensitivity = capped_sensitivity(cap, self.neighbors)
            is_small = sqrt(self.variance(sensitivity)) <= _SMALL_OF_ALL * self.goal.support
            if 2 * self._halves(kind) * sensitivity >= counts or (plan is not None and not is_small):
                break
            plan, wanted = CountingPlan(Capped(cap), wanted, sensitivity, 0, _TOGETHER / 2), 2 * wanted
        return plan

    @property
    def _is_deep(self) -> bool:
        """Whether single items are counted for their itemsets alone."""
        return self.goal.k is not None and self.goal.sizes[0] > 1

    def _with_a_cap(self, counts: int) -> int:
        """How many itemsets are counted in place of that many counts, some of which would be taken again."""
        return counts if self._is_deep else ceil(counts * CAPPED_A_PLACE / COUNTS_A_PLACE)

    @staticmethod
    def _halves(kind: CountKind) -> int:
        """By what a count's variance is divided in that of a support, at least."""
        return 4 if isinstance(kind, Centred) else 1

    @property
    def _is_gaussian(self) -> bool:
        """Whether the variance grows as the number of counts, not as its square."""
        return self.variance(2) == 2 * self.variance(1)

    def _cap(self, least: float) -> int:
        """A larger one hides less of the supports, and takes more noise."""

        def variance(cap: int) -> float:
            return float(self.variance(capped_sensitivity(cap, self.neighbors)))

        return CAPS[max(0, bisect_right(CAPS, (_SMALL * least) ** 2, key=variance) - 1)]

    def basis(self, weights: Sequence[float], gauge: Gauge) -> int:
        """Of how many items all cells are counted in place of itemsets, which has far less noise; 0 if it has not.

        As many as the likely itemsets have, and one more. Noise of the items blurs that number where many units have
        these itemsets. Then it is a few more than k itemsets need.
        """
        if self._is_gaussian or self.several_baskets:
            return 0
        shares = _shares(weights, gauge)
        wanted = islice(likely_itemsets(shares, self.goal.sizes), self.goal.k or _MOST_COUNTS)
        likely = list(takewhile(lambda itemset: itemset.share * gauge.units >= self.goal.support, wanted))
        if not likely:
            return 0
        items = min(len(shares), 2 + max(itemset.rarest for itemset in likely))
        if sum(itemset.share for itemset in likely) > _DENSE * len(likely):
            items = min(len(shares), len(likely).bit_length() + _MORE_ITEMS, _MOST_IN_CELLS)
        made = sum(comb(items, size) for size in range(self.goal.sizes[0], self.goal.sizes[1] + 1))
        too_few = items < len(shares) and made < _ENOUGH_IN_CELLS * (self.goal.k or 0)
        if items > _MOST_IN_CELLS or too_few:
            return 0
        plan = self.plan(weights, gauge)
        of_pairs = 2 ** (items - 2) * self.variance(changes(self.neighbors))
        others = self.variance(plan.sensitivity) * sum(weight**2 for part, weight in plan.kind.terms((0, 1)) if part)
        return items if of_pairs * _FAR_LESS <= others else 0

    def _kind(self) -> CountKind:
        if self.neighbors is Neighbors.REPLACE_ONE:
            return Plain() if self.several_baskets else Odd()
        return Centred() if self.several_baskets else Signed()

    def _least(self, likely: Sequence[float], units: float) -> float:
        """The least support that is wanted, or that of the last place, if items were independent."""
        last = likely[min(self.goal.k or 0, len(likely)) - 1] * units if likely and self.goal.k else 0.0
        return max(self.goal.support, last)

    def _counts(self, kind: CountKind, likely: int, least: float, *, is_dense: bool) -> int:
        """As many as k asks for; for all of some support, as many as keep the noise of each below that."""
        if self.goal.k is not None and self._is_deep and is_dense:
            return ceil(_SHALLOW[0] * self.goal.k) + _SHALLOW[1]
        if self.goal.k is not None:
            return counts_of_best(self.goal.k, self.goal.sizes[0])
        if not self._is_gaussian:
            return min(_MOST_COUNTS, max(LEAST_COUNTS, ceil(COUNTS_A_PLACE * likely)))
        halves = 4 if isinstance(kind, (Centred, Signed)) else 1
        largest = halves * (least / _DEVIATIONS) ** 2
        fine = bisect_right(range(1, _MOST_COUNTS + 1), largest, key=lambda counts: float(self.variance(counts)))
        return min(_MOST_COUNTS, max(LEAST_COUNTS, fine, ceil(COUNTS_A_PLACE * likely)))

    def _deviation(self, counts: int, gauge: Gauge) -> float:
        """Of an item's support, about."""
        variance = float(self.variance(counts))
        return sqrt(variance if self.neighbors is Neighbors.REPLACE_ONE else (variance + gauge.variance) / 4)


def capped_sensitivity(cap: int, neighbors: Neighbors) -> int:
    """How far one unit moves all capped counts together, and the number of units that count no more."""
    return 1 + cap * changes(neighbors)


def changes(neighbors: Neighbors) -> int:
    """How many units' contributions come or go: a unit in another's place takes something away, too."""
    return 2 if neighbors is Neighbors.REPLACE_ONE else 1


def _shares(weights: Sequence[float], gauge: Gauge) -> list[float]:
    """Of all units, about."""
    return [min(1.0, weight * gauge.scale / gauge.units) for weight in weights]


class LikelyItemset(NamedTuple):
    """An itemset that is among the best if items are independent.

    Attributes:
        share: of the units that have it.
        rarest: the number of its rarest item, by decreasing share.
        size: how many items it has.
    """

    share: float
    rarest: int
    size: int


def likely_itemsets(items: Iterable[float], sizes: tuple[int, int] | None = None) -> Iterator[LikelyItemset]:
    """The best itemsets by decreasing share, if items were independent and had these shares in [0, 1].

    Those of all sizes, if no smallest and largest one is given; items of share 0 are left out.
    The sets of numbers make a tree: a set's children add the number after its last one, or put that in its place.
    """
    shares = sorted((share for share in items if share > 0), reverse=True)
    smallest, largest = sizes or (1, len(shares))
    queue = [(-share, 0, 1) for share in shares[:1]]
    while queue:
        negative, last, size = heappop(queue)
        if size >= smallest:
            yield LikelyItemset(-negative, last, size)
        if last + 1 < len(shares):
            heappush(queue, (negative / shares[last] * shares[last + 1], last + 1, size))
            if size < largest:
                heappush(queue, (negative * shares[last + 1], last + 1, size + 1))


def likely_shares(items: Iterable[float], count: int) -> list[float]:
    """The shares of the best `count` of them; fewer where there are no more."""
    return [itemset.share for itemset in islice(likely_itemsets(items), count)]
