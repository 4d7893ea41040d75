"""What is counted, and how often: chosen by public facts and by what was released before."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, NamedTuple

from dpmine.itemsets.best_first.counts import Capped, Centred, Kind, Odd, Plain, Signed
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpmine.itemsets.best_first.order import Goal

COUNTS_A_PLACE, CAPPED_A_PLACE, ITEMS_A_PLACE = Fraction(16, 5), Fraction(5, 2), Fraction(9, 2)
"""Counts for each itemset that is wanted: in general, and where supports are capped; and items, at most."""
AGAIN = Fraction(3, 10)
"""Of the counts: what decides the last places."""
_TOGETHER = Fraction(1, 2)
"""Of ρ, where supports are capped: for the uncertain itemsets, counted once more and all at once."""
CAP = 40
"""Supports that a unit adds to, where they are capped."""
_NOISY, _THIN = 0.35, 15.0
"""They are where a support's deviation exceeds this share of the least one, and a unit holds fewer likely itemsets."""
_DEVIATIONS = 4.0
"""Of a count, in the least support that is wanted: about as many counts as keep their noise below that."""
LEAST_COUNTS, _MOST_COUNTS = 100, 5000


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


class Plan(NamedTuple):
    """What is counted.

    Attributes:
        kind: of the counts.
        counts: how many there are at most.
        sensitivity: the squared L2 sensitivity of all of them together, and of what a cap adds.
        again: how many of them count uncertain itemsets again.
        together: the part of ρ with which these are counted at once, in place of that.
    """

    kind: Kind
    counts: int
    sensitivity: int
    again: int
    together: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Planner:
    """What is public: the goal, ρ of all counts, the relation, and whether units may have several baskets."""

    goal: Goal
    rho: Fraction
    neighbors: Neighbors
    several_baskets: bool

    def plan(self, weights: Sequence[float], gauge: Gauge) -> Plan:
        """By the items' noisy weights: a cap keeps noise small where units hold few of what is counted."""
        kind = self._kind()
        shares = [min(1.0, weight * gauge.scale / gauge.units) for weight in weights]
        most = _MOST_COUNTS if self.goal.k is None else ceil(COUNTS_A_PLACE * self.goal.k)
        likely = likely_shares(shares, most)
        least = self._least(likely, gauge.units)
        likely = [share for share in likely if share * gauge.units >= least] if self.goal.k is None else likely
        counts, capped = self._counts(kind, len(likely), least), 1 + CAP * self.times
        if _NOISY * least < self._deviation(counts, gauge) and sum(likely) < _THIN and capped < counts:
            return Plan(Capped(CAP), ceil(counts * CAPPED_A_PLACE / COUNTS_A_PLACE), capped, 0, _TOGETHER)
        return Plan(kind, counts, counts, int(AGAIN * counts))

    @property
    def times(self) -> int:
        """How often a cap is moved by one unit: a unit in another's place takes something away, too."""
        return 2 if self.neighbors is Neighbors.REPLACE_ONE else 1

    def _kind(self) -> Kind:
        if self.neighbors is Neighbors.REPLACE_ONE:
            return Plain() if self.several_baskets else Odd()
        return Centred() if self.several_baskets else Signed()

    def _least(self, likely: Sequence[float], units: float) -> float:
        """The least support that is wanted, or that of the last place, if items were independent."""
        last = likely[min(self.goal.k or 0, len(likely)) - 1] * units if likely and self.goal.k else 0.0
        return max(self.goal.support, last)

    def _counts(self, kind: Kind, likely: int, least: float) -> int:
        """As many as k asks for; for all of some support, as many as keep the noise of each below that."""
        if self.goal.k is not None:
            return ceil(COUNTS_A_PLACE * self.goal.k)
        halves = 4 if isinstance(kind, (Centred, Signed)) else 1
        fine = floor(min(halves * 2 * float(self.rho) * (least / _DEVIATIONS) ** 2, _MOST_COUNTS))
        return min(_MOST_COUNTS, max(LEAST_COUNTS, fine, ceil(COUNTS_A_PLACE * likely)))

    def _deviation(self, counts: int, gauge: Gauge) -> float:
        """Of an item's support, about."""
        variance = counts / (2 * float(self.rho))
        return sqrt(variance if self.neighbors is Neighbors.REPLACE_ONE else (variance + gauge.variance) / 4)


def likely_shares(items: Iterable[float], count: int) -> list[float]:
    """How large the best supports would be if items were independent, as shares of all units.

    The `count` largest products of different numbers out of `items`, in [0, 1]; fewer where there are no more.
    The sets of numbers make a tree: a set's children add the number after its last one, or put that in its place.
    """
    shares = sorted((share for share in items if share > 0), reverse=True)
    queue = [(-share, 0) for share in shares[:1]]
    found: list[float] = []
    while queue and len(found) < count:
        negative, last = heappop(queue)
        found.append(-negative)
        if last + 1 < len(shares):
            heappush(queue, (negative * shares[last + 1], last + 1))
            heappush(queue, (negative / shares[last] * shares[last + 1], last + 1))
    return found
