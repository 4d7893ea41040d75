"""Distributions on which every private learner of thresholds fails: the construction behind theorem 5, made to run.

1/N of the interval [0, 1] is so narrow that no ε-private learner with m records can find out which one it is. Half of
the points lie in a window of width 2/(3N) around z, the other half anywhere; a point is positive if it is at least z.
Any threshold outside the window has error above 1/4. The windows of different z do not meet.
Proof: docs/proofs/models/sample_complexity.md. Source: Chaudhuri & Hsu 2011, theorem 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, nextafter
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import BadParameter
from dpmine.exact.reals import GUARD_BITS, exact_ball, uniform_below, working_precision
from dpmine.parameters import Number, positive, whole
from dpmine.selection.universes.dense import exact_score
from experiments.learning_bounds import packing_success

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

TOLERATED = Fraction(1, 4)
"""A learner fails when its error is above this."""
_CELLS = 2**32
"""Cells to either side of z in a window; a point is the middle of a cell."""
_LARGEST_EXPONENT = 10**4
"""N beyond 6 + 4e^(10^4) is not written out."""


@dataclass(frozen=True, slots=True)
class Example:
    """A record: a point strictly between 0 and 1, and whether it is of the second class."""

    point: Fraction
    positive: bool


ThresholdLearner: TypeAlias = Callable[[Sequence[Example]], Number]
"""A learner of thresholds t, which predict "positive" at t and above; a float is the dyadic number it is."""


@dataclass(frozen=True, slots=True)
class Needle:
    """The distribution D_z with z = place/pins, on a public grid of 3·2^32·pins cells.

    Attributes:
        place: 1 to pins − 1.
        pins: N, the number of intervals.
    """

    place: int
    pins: int

    @property
    def threshold(self) -> Fraction:
        """z, which makes no errors."""
        return Fraction(self.place, self.pins)

    @property
    def half_width(self) -> Fraction:
        """1/(3N): the window is z ± this."""
        return Fraction(1, 3 * self.pins)

    @property
    def smoothness(self) -> Fraction:
        """κ = 1/2 + 3N/4 against the uniform distribution on all cells."""
        return Fraction(1, 2) + Fraction(3 * self.pins, 4)

    def sample(self, records: int, *, bits: BitSource) -> tuple[Example, ...]:
        """Independent examples. Raises BadParameter for fewer than 1."""
        return tuple(self._example(bits) for _ in range(whole("records", records)))

    def error(self, threshold: Number) -> Fraction:
        """The exact probability that [x ≥ threshold] is not the label of x."""
        return abs(self._below(exact_score(threshold)) - self._below(self.threshold))

    def _example(self, bits: BitSource) -> Example:
        anywhere = bits.take(1) == 0
        first = 0 if anywhere else self._first
        cell = first + uniform_below(self._cells if anywhere else 2 * _CELLS, bits=bits)
        point = Fraction(2 * cell + 1, 2 * self._cells)
        return Example(point, point >= self.threshold)

    @property
    def _cells(self) -> int:
        return 3 * _CELLS * self.pins

    @property
    def _first(self) -> int:
        """The first cell of the window."""
        return _CELLS * (3 * self.place - 1)

    def _below(self, threshold: Fraction | int) -> Fraction:
        """The probability of a point below a threshold."""
        middles = ceil(threshold * self._cells - Fraction(1, 2))
        anywhere, near = _clipped(middles, self._cells), _clipped(middles - self._first, 2 * _CELLS)
        return Fraction(anywhere, 2 * self._cells) + Fraction(near, 4 * _CELLS)


@dataclass(frozen=True, slots=True)
class Haystack:
    """All D_z for learners with m records at ε: so many that one of them, and most of them, must be missed.

    Attributes:
        records: m ≥ 1.
        epsilon: ε > 0, under replace_one.
        pins: N = ⌈6 + 4e^{εm}⌉; z is one of 1/N, …, (N − 1)/N.
    """

    records: int
    epsilon: Fraction
    pins: int

    @classmethod
    def of(cls, records: int, epsilon: Number) -> Haystack:
        """The distributions for these public numbers. Raises BadParameter, also where εm is above 10^4."""
        count, rate = whole("records", records), positive("epsilon", epsilon)
        if count * rate > _LARGEST_EXPONENT:
            raise BadParameter("records times epsilon must be at most 10000: the windows are too narrow to write out.")
        return cls(count, rate, _pins(count * rate))

    @property
    def size(self) -> int:
        """K = N − 1, how many distributions there are."""
        return self.pins - 1

    @property
    def failure(self) -> float:
        """1 − 1/(1 + (K − 1)e^{−εm}) > 4/5, from below: an ε-private learner's failures, z being uniform."""
        return nextafter(1 - packing_success(self.records, self.size, self.epsilon), 0)

    def needle(self, place: int) -> Needle:
        """D_z of z = place/N; BadParameter unless 1 ≤ place < N."""
        if whole("place", place) > self.size:
            raise BadParameter("place must be less than the number of pins.")
        return Needle(place, self.pins)

    def places(self, count: int, *, bits: BitSource) -> list[int]:
        """`count` ≥ 1 independent uniform places, to be drawn after the learner has been fixed."""
        return [1 + uniform_below(self.size, bits=bits) for _ in range(whole("count", count))]


@dataclass(frozen=True, slots=True)
class Trials:
    """How a learner did.

    Attributes:
        tried: number of samples that were learnt from, one a place.
        failed: how many of the thresholds had error above 1/4.
        guaranteed: for uniform places, the least expected share of failures of any ε-private learner.
    """

    tried: int
    failed: int
    guaranteed: float

    @property
    def share(self) -> Fraction:
        """Of failures."""
        return Fraction(self.failed, self.tried)


def try_learner(learner: ThresholdLearner, haystack: Haystack, places: Iterable[int], *, bits: BitSource) -> Trials:
    """Run a learner on one sample of m records from D_z for every place, and count its failures.

    `bits` draws the samples; the learner's own randomness is its own affair. Every z is tried with places =
    range(1, N). Raises BadParameter when there are no places, or the learner returns no finite number.
    """
    results = [_fails(learner, haystack.needle(place), haystack.records, bits) for place in places]
    if not results:
        raise BadParameter("places must hold at least one place.")
    return Trials(len(results), sum(results), haystack.failure)


def _fails(learner: ThresholdLearner, needle: Needle, records: int, bits: BitSource) -> bool:
    return needle.error(learner(needle.sample(records, bits=bits))) > TOLERATED


def _clipped(count: int, most: int) -> int:
    return max(0, min(count, most))


def _pins(loss: Fraction) -> int:
    """⌈6 + 4e^{εm}⌉, or one more where that is hard to tell."""
    with working_precision(2 * int(loss) + GUARD_BITS + 16):
        return int((6 + 4 * exact_ball(loss).exp()).upper().ceil().unique_fmpz())
