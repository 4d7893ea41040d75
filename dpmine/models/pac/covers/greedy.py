"""Covers, packings and doubling dimensions of finite sets of hypotheses.

Proofs: docs/proofs/models/private_learners.md.

An r-cover of a set has a member within distance r of every element; an r-packing has members farther than r apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import log2
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.parameters import Number, positive, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dpmine.models.pac.records import Bools
    from dpmine.models.supervised import Floats

TOLERANCE = Fraction(1, 2**40)
"""How much farther than asked an element of the cover may be: what rounding of float distances is given."""
_CENTRES = 64


class Metric(Protocol):
    """Distances within a finite set of hypotheses, numbered from 0; each in [0, 1]."""

    @property
    def size(self) -> int:
        """K, the number of hypotheses."""
        ...

    def distances(self, index: int) -> Floats:
        """From one hypothesis to all: float64, shape (K,), right to 2^-45."""
        ...

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses are near one: true at distance ≤ radius, false beyond radius + `TOLERANCE`."""
        ...

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """The same distances for these hypotheses only, in this order."""
        ...


def greedy_cover(metric: Metric, radius: Fraction) -> NDArray[np.int64]:
    """The hypotheses that no earlier centre is near, in order: a cover and a packing at once.

    Law: an r-packing exactly, and an (r + 2^-40)-cover (an r-cover where distances are exact). K·|G| distances at most,
    O(K) memory. Source: Kolmogorov & Tikhomirov 1961 (Lemma 13 of Chaudhuri & Hsu 2011): a maximal packing is a cover.
    """
    return np.fromiter(_greedy_centres(metric, radius), np.int64)


def small_greedy_cover(metric: Metric, radius: Fraction, most: int) -> NDArray[np.int64] | None:
    """`greedy_cover` if it has at most `most` members, found in K·(most + 1) distances; None otherwise."""
    centres = np.fromiter(islice(_greedy_centres(metric, radius), most + 1), np.int64)
    return centres if len(centres) <= most else None


def cover_over_net(net: Metric, net_radius: Fraction, radius: Fraction) -> NDArray[np.int64]:
    """Greedy centres of a finite net of an infinite class H.

    Requires: every element of H is within `net_radius` < radius of the net, a subset of H.
    Law: an (r + 2^-40)-cover of H, and an (r − net_radius)-packing: radii add, so the net is covered to the difference.
    Raises BadParameter when the net is too coarse.
    """
    if net_radius >= radius:
        raise BadParameter("The net must be finer than the cover that is made of it.")
    return greedy_cover(net, radius - net_radius)


def covering_radius(metric: Metric, centres: Iterable[int]) -> float:
    """The least r for which `centres` are an r-cover of the set."""
    nearest = np.full(metric.size, np.inf)
    for centre in centres:
        np.minimum(nearest, metric.distances(centre), out=nearest)
    return float(nearest.max())


def separation(metric: Metric, centres: NDArray[np.int64]) -> float:
    """The least distance between two of the centres: they are an r-packing for every r below it; inf for one centre."""
    among = metric.restrict(centres)
    rows = (np.delete(among.distances(i), i) for i in range(len(centres) - 1))
    return min((float(row.min()) for row in rows), default=float("inf"))


@dataclass(frozen=True, slots=True)
class DoublingEstimate:
    """Bounds on the doubling dimension of a finite metric, at the scales and around the centres looked at.

    The doubling dimension at scale r is log2 of the balls of radius r/2 that the ball of radius r needs, at the worst
    centre (Chaudhuri & Hsu 2011, section 2.4). It says how fast covers grow: |G| ≤ (4·diameter/r)^d.

    Attributes:
        lower: no doubling dimension is smaller: some ball holds an r-packing of 2^lower members, and no ball of radius
            r/2 holds two of them. It holds for every class that contains this one, too.
        upper: the balls looked at can be covered by 2^upper balls. An upper bound on the dimension only if every scale
            and every centre that matter were looked at (`complete` says it of the centres): an estimate otherwise.
        complete: whether every hypothesis was a centre.
    """

    lower: float
    upper: float
    complete: bool


def doubling_dimension(metric: Metric, radii: Iterable[Number], *, centres: int = _CENTRES) -> DoublingEstimate:
    """Bounds from greedy packings and covers of the balls around up to `centres` hypotheses, evenly spread by number.

    Raises BadParameter without radii, or for an empty set.
    """
    if not metric.size:
        raise BadParameter("A doubling dimension needs at least one hypothesis.")
    count = min(metric.size, whole("centres", centres))
    looked_at = [metric.size * number // count for number in range(count)]
    scales = [positive("radius", radius) for radius in radii]
    bounds = [_balls_needed(metric, centre, scale) for centre in looked_at for scale in scales]
    if not bounds:
        raise BadParameter("A doubling dimension needs at least one radius.")
    least, most = (max(column) for column in zip(*bounds, strict=True))
    return DoublingEstimate(log2(least), log2(most), count == metric.size)


def _balls_needed(metric: Metric, centre: int, radius: Fraction) -> tuple[int, int]:
    """Lower and upper bound on the balls of radius r/2 that cover the ball of radius r around a hypothesis."""
    ball = metric.restrict(np.flatnonzero(metric.within(centre, radius)))
    return len(greedy_cover(ball, radius)), len(greedy_cover(ball, radius / 2))


def _greedy_centres(metric: Metric, radius: Fraction) -> Iterator[int]:
    names = np.arange(metric.size)
    uncovered = np.ones(metric.size, dtype=bool)
    first = 0
    while len(names):
        if 2 * np.count_nonzero(uncovered) < len(names):  # the rest are half as many: go on with them alone
            left = np.flatnonzero(uncovered)
            metric, names, uncovered, first = metric.restrict(left), names[left], np.ones(len(left), dtype=bool), 0
            continue
        first += int(np.argmax(uncovered[first:]))
        yield int(names[first])
        uncovered &= ~metric.within(first, radius)
