"""Disagreement metrics: the share of a distribution, or of a sample, on which two hypotheses differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import cos, floor, pi
from typing import TYPE_CHECKING, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.pac.covers.greedy import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.models.pac.records import Bools
    from dpmine.models.supervised import Floats

MOST_PREDICTIONS = 2**32
"""The most predictions (hypotheses times records) that are kept, one bit each: half a gigabyte."""
_AT_A_TIME = 2**22  # words of predictions that are compared at a time
_DOUBTFUL = 2.0**-24  # cosines this close to the limit are decided by the angle itself


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

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses are at distance ≤ radius, rounding granted."""
        near: Bools = self.distances(index) <= float(radius + TOLERANCE / 2)
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

    def within(self, index: int, radius: Fraction) -> Bools:
        """Decided by the cosine, and by the angle where the cosine is too close to tell."""
        limit = cos(pi * min(float(radius), 1.0))
        cosines = self.directions @ self.directions[index]
        near: Bools = cosines >= limit
        doubtful = np.flatnonzero(np.abs(cosines - limit) < _DOUBTFUL)
        angles = self._angles(self.directions[doubtful], self.directions[index])
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
class DisagreementMetric:
    """ρ_X: the share of the records of a sample X on which two hypotheses differ. Exact.

    Attributes:
        words: uint64, shape (K, w): the predictions, a bit each; made by `DisagreementMetric.of`.
        records: m ≥ 1.
    """

    words: NDArray[np.uint64]
    records: int

    @classmethod
    def of(cls, predictions: Iterable[Bools], *, hypotheses: int, records: int) -> DisagreementMetric:
        """`predictions`: blocks of bool rows (b, m), a row a hypothesis, `hypotheses` rows together.

        Raises BadParameter for no records, and where the predictions would take more than half a gigabyte.
        """
        if not records:
            raise BadParameter("A sample without records tells no hypotheses apart: give at least one.")
        if hypotheses * records > MOST_PREDICTIONS:
            most = MOST_PREDICTIONS // records
            raise BadParameter(f"{hypotheses} hypotheses are too many for the sample: take at most {most}.")
        words = np.zeros((hypotheses, -(-records // 64)), np.uint64)
        row = 0
        for block in predictions:
            packed = np.packbits(block, axis=1)
            words[row : row + len(block)].view(np.uint8)[:, : packed.shape[1]] = packed
            row += len(block)
        return cls(words, records)

    @property
    def size(self) -> int:
        """K."""
        return len(self.words)

    def disagreements(self, index: int) -> NDArray[np.int64]:
        """The number of records on which each hypothesis differs from one: int64, shape (K,)."""
        step = max(1, _AT_A_TIME // self.words.shape[1])
        parts = [
            np.bitwise_count(self.words[start : start + step] ^ self.words[index]).sum(axis=1, dtype=np.int64)
            for start in range(0, self.size, step)
        ]
        return np.concatenate(parts)

    def distances(self, index: int) -> Floats:
        """The shares."""
        shares: Floats = self.disagreements(index) / self.records
        return shares

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses differ on at most r·m records."""
        near: Bools = self.disagreements(index) <= floor(radius * self.records)
        return near

    def restrict(self, members: NDArray[np.int64]) -> DisagreementMetric:
        """These hypotheses only."""
        return DisagreementMetric(self.words[members], self.records)
