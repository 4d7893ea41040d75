"""Metrics of classes under their reference distributions, covers by them, and estimates of doubling dimensions.

No learner uses them: they check what proofs say of covers (docs/proofs/models/private_learners.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from math import cos, floor, log2, pi
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.pac.theory.separator_family import disagreements, greedy_centres, packed_answers
from dpmine.parameters import Number, positive, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats
    from dpmine.models.pac.hypothesis import Bools

TOLERANCE = Fraction(1, 2**40)
"""How much farther than asked an element of a cover may be: what rounding of float distances is given."""
_CENTRES = 64
_DOUBTFUL = 2.0**-24  # cosines this close to the limit are decided by the angle itself


class DistanceMetric(Protocol):
    """Distances in [0, 1] within a finite set of hypotheses, numbered from 0."""

    @property
    def size(self) -> int:
        """K, the number of hypotheses."""

    def within(self, index: int, radius: Fraction, among: NDArray[np.int64]) -> Bools:
        """Which of some hypotheses are near one, at distance ≤ radius."""

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """The same distances for these hypotheses only, in this order."""

    def distances(self, index: int) -> Floats:
        """From one hypothesis to all: float64, shape (K,), right to 2^-45."""
        ...


class ClosedForm(ABC):
    """A metric whose distances are a formula in float64."""

    @property
    @abstractmethod
    def size(self) -> int:
        """K, the number of hypotheses."""

    @abstractmethod
    def distances(self, index: int) -> Floats:
        """From one hypothesis to all: float64, shape (K,)."""

    @abstractmethod
    def restrict(self, members: NDArray[np.int64]) -> Self:
        """The same distances for these hypotheses only."""

    def within(self, index: int, radius: Fraction, among: NDArray[np.int64]) -> Bools:
        """Which of some hypotheses are at distance ≤ radius, rounding granted."""
        near: Bools = self.distances(index)[among] <= float(radius + TOLERANCE / 2)
        return near


@dataclass(frozen=True, eq=False, slots=True)
class LineMetric(ClosedForm):
    """|a − b|: thresholds at a and b under the uniform distribution on [0, 1].

    Attributes:
        positions: float64, shape (K,), in [0, 1].
    """

    positions: Floats

    @property
    def size(self) -> int:
        """K."""
        return len(self.positions)

    def distances(self, index: int) -> Floats:
        """|a − b|."""
        gaps: Floats = np.abs(self.positions - self.positions[index])
        return gaps

    def restrict(self, members: NDArray[np.int64]) -> LineMetric:
        """These positions only."""
        return LineMetric(self.positions[members])


@dataclass(frozen=True, eq=False, slots=True)
class IntervalMetric(ClosedForm):
    """Length of the symmetric difference: intervals in [0, 1] under the uniform distribution.

    Attributes:
        lower, upper: float64, shape (K,), 0 ≤ lower ≤ upper ≤ 1.
    """

    lower: Floats
    upper: Floats

    @property
    def size(self) -> int:
        """K."""
        return len(self.lower)

    def distances(self, index: int) -> Floats:
        """Both lengths, without twice what they share."""
        low, high = self.lower[index], self.upper[index]
        shared = np.minimum(self.upper, high) - np.maximum(self.lower, low)
        lengths = (self.upper - self.lower) + (high - low)
        apart: Floats = np.maximum(lengths - 2 * np.maximum(shared, 0.0), 0.0)
        return apart

    def restrict(self, members: NDArray[np.int64]) -> IntervalMetric:
        """These intervals only."""
        return IntervalMetric(self.lower[members], self.upper[members])


@dataclass(frozen=True, eq=False, slots=True)
class StumpMetric(ClosedForm):
    """Stumps over a box with independent uniform features, each mapped to [0, 1].

    With p and q the shares that two stumps call positive: on one feature, sides alike: |p − q|; sides opposed:
    min(p + q, 2 − p − q); on two features, independent: p(1 − q) + q(1 − p).

    Attributes:
        columns: which feature, shape (K,).
        positions: the threshold in [0, 1].
        at_least: whether the rule is x >= t; x < t otherwise.
    """

    columns: NDArray[np.int64]
    positions: Floats
    at_least: Bools

    @property
    def size(self) -> int:
        """K."""
        return len(self.columns)

    def distances(self, index: int) -> Floats:
        """The three cases of the class."""
        shares = np.where(self.at_least, 1.0 - self.positions, self.positions)
        own = shares[index]
        apart = shares * (1.0 - own) + own * (1.0 - shares)
        alike = np.abs(shares - own)
        opposed = np.minimum(shares + own, 2.0 - shares - own)
        same_column = self.columns == self.columns[index]
        on_it = np.where(self.at_least == self.at_least[index], alike, opposed)
        result: Floats = np.where(same_column, on_it, apart)
        return result

    def restrict(self, members: NDArray[np.int64]) -> StumpMetric:
        """These stumps only."""
        return StumpMetric(self.columns[members], self.positions[members], self.at_least[members])


@dataclass(frozen=True, eq=False, slots=True)
class AngleMetric(ClosedForm):
    """angle/π: separators through the origin under any distribution without a preferred direction.

    Attributes:
        directions: float64, shape (K, d), of length 1 up to rounding; made by `AngleMetric.of`.
    """

    directions: Floats

    @classmethod
    def of(cls, weights: NDArray[np.generic]) -> AngleMetric:
        """`weights`: shape (K, d), no row 0."""
        vectors = weights.astype(np.float64)
        return cls(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    @property
    def size(self) -> int:
        """K."""
        return len(self.directions)

    def distances(self, index: int) -> Floats:
        """2 atan2(|u − v|, |u + v|)/π: accurate for all angles, as the arc cosine is not."""
        return self._angles(self.directions, self.directions[index])

    def within(self, index: int, radius: Fraction, among: NDArray[np.int64]) -> Bools:
        """Decided by the cosine, and by the angle where the cosine is too close to tell."""
        limit = cos(pi * min(float(radius), 1.0))
        directions = self.directions[among]
        cosines = directions @ self.directions[index]
        near: Bools = cosines >= limit
        doubtful = np.flatnonzero(np.abs(cosines - limit) < _DOUBTFUL)
        angles = self._angles(directions[doubtful], self.directions[index])
        near[doubtful] = angles <= float(radius + TOLERANCE / 2)
        return near

    def restrict(self, members: NDArray[np.int64]) -> AngleMetric:
        """These directions only."""
        return AngleMetric(self.directions[members])

    @staticmethod
    def _angles(vectors: Floats, other: Floats) -> Floats:
        apart, along = np.linalg.norm(vectors - other, axis=1), np.linalg.norm(vectors + other, axis=1)
        angles: Floats = np.arctan2(apart, along) * (2 / pi)
        return angles


@dataclass(frozen=True, eq=False, slots=True)
class SampleMetric:
    """ρ_X: the share of the records of a sample X on which two hypotheses differ. Exact.

    Attributes:
        words: uint64, shape (K, w): the predictions, a bit each; made by `SampleMetric.of`.
        records: m ≥ 1.
    """

    words: NDArray[np.uint64]
    records: int

    @classmethod
    def of(cls, predictions: Iterable[Bools], *, hypotheses: int, records: int) -> Self:
        """As `packed_answers`."""
        return cls(packed_answers(predictions, hypotheses=hypotheses, records=records), records)

    def disagreements(self, index: int) -> NDArray[np.int64]:
        """The number of records on which each hypothesis differs from one: int64, shape (K,)."""
        return disagreements(self.words, index, np.arange(self.size))

    @property
    def size(self) -> int:
        """K."""
        return len(self.words)

    def distances(self, index: int) -> Floats:
        """The shares."""
        shares: Floats = self.disagreements(index) / self.records
        return shares

    def within(self, index: int, radius: Fraction, among: NDArray[np.int64]) -> Bools:
        """Which of some hypotheses differ from one on at most r·m records."""
        near: Bools = disagreements(self.words, index, among) <= floor(radius * self.records)
        return near

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """These hypotheses only."""
        return replace(self, words=self.words[members])


def greedy_cover(metric: DistanceMetric, radius: Fraction) -> NDArray[np.int64]:
    """`greedy_centres` of a metric, as an array."""
    found = greedy_centres(metric.size, lambda centre, among: metric.within(centre, radius, among))
    return np.fromiter(found, np.int64)


def cover_over_net(net: DistanceMetric, net_radius: Fraction, radius: Fraction) -> NDArray[np.int64]:
    """Greedy centres of a finite net of an infinite class H.

    Requires: every element of H is within `net_radius` < radius of the net, a subset of H.
    Law: an (r + 2^-40)-cover of H, and an (r − net_radius)-packing: radii add, so the net is covered to the difference.
    Raises BadParameter when the net is too coarse.
    """
    if net_radius >= radius:
        raise BadParameter("The net must be finer than the cover that is made of it.")
    return greedy_cover(net, radius - net_radius)


def covering_radius(metric: DistanceMetric, centres: Iterable[int]) -> float:
    """The least r for which `centres` are an r-cover of the set."""
    nearest = np.full(metric.size, np.inf)
    for centre in centres:
        np.minimum(nearest, metric.distances(centre), out=nearest)
    return float(nearest.max())


def separation(metric: DistanceMetric, centres: NDArray[np.int64]) -> float:
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


def doubling_dimension(metric: DistanceMetric, radii: Iterable[Number], *, centres: int = _CENTRES) -> DoublingEstimate:
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


def _balls_needed(metric: DistanceMetric, centre: int, radius: Fraction) -> tuple[int, int]:
    """Lower and upper bound on the balls of radius r/2 that cover the ball of radius r around a hypothesis."""
    ball = metric.restrict(np.flatnonzero(metric.within(centre, radius, np.arange(metric.size))))
    return len(greedy_cover(ball, radius)), len(greedy_cover(ball, radius / 2))
