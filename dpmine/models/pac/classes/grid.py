"""Public grids of points, up to 2^64 of them, exact places of numbers among them, and how data divide a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.parameters import Number, exact_number, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.models.pac.hypothesis import Bools
    from dpmine.models.supervised import Floats

Places: TypeAlias = "NDArray[np.uint64]"
"""Arrays of places in a grid."""

MOST_POINTS = 2**64
_LARGEST = Fraction(10**100)
_NARROWEST = Fraction(1, 2**200)  # and far from underflow still when it is multiplied by a rounding error, twice
_SPLITTER = float(2**27 + 1)  # Dekker 1971: cuts 53 bits in two halves
_SLACK = 2.0**-96  # relative: far more than the rounding of the estimates, which is below 2^-100
_LEAST_SLACK = 2.0**-48
_AT_ONCE = 2**14  # numbers whose estimates fit a processor's cache


@dataclass(frozen=True, slots=True)
class PublicGrid:
    """`points` numbers at equal distances from `lower` to `upper`, both among them; a single one is `lower`.

    Made by `PublicGrid.of`, which reads and checks the numbers. `whole` says that the feature, by its type, has whole
    numbers only; it changes how cuts are written, and nothing else.
    """

    lower: Fraction
    upper: Fraction
    points: int
    whole: bool = False

    @classmethod
    def of(cls, lower: Number, upper: Number, points: int, *, only_whole: bool = False) -> PublicGrid:
        """Raises BadParameter unless −10^100 ≤ lower < upper ≤ 10^100 and 1 ≤ points ≤ 2^64."""
        low, high = exact_number("lower", lower), exact_number("upper", upper)
        if low >= high:
            raise BadParameter("lower must be less than upper: they bound the feature, publicly.")
        if low < -_LARGEST or high > _LARGEST:
            raise BadParameter("lower and upper must lie between -1e100 and 1e100: scale the feature down.")
        if whole("grid", points) > MOST_POINTS:
            raise BadParameter("grid must be at most 2^64 points.")
        return cls(low, high, int(points), only_whole)

    def point(self, place: int) -> Fraction:
        """Number `place` of 0 … points − 1, exactly."""
        return self.lower if place == 0 else self.lower + place * self._step

    def cut(self, place: int) -> Fraction:
        """The point as rules name it: for whole numbers x, x >= t is equivalent to x >= ⌈t⌉."""
        point = self.point(place)
        return Fraction(ceil(point)) if self.whole else point

    def written(self, place: int) -> str:
        """The cut as text: whole numbers in full, others with six digits."""
        return str(self.cut(place)) if self.whole else f"{float(self.point(place)):.6g}"

    def places(self, values: Floats) -> Places:
        """The place of the largest point ≤ x, for every x of `values`, shape (n,), exactly.

        Numbers outside the bounds count as the nearest bound. Raises ValueError for NaN.
        """
        if self.points == 1:
            return np.zeros(len(values), np.uint64)
        if self.whole:  # so that other numbers follow the rule as it is written
            values = np.floor(values)
        if not self._may_estimate():
            return self._exact_places(values)
        parts = [self._places(values[start : start + _AT_ONCE]) for start in range(0, len(values), _AT_ONCE)]
        return np.concatenate([np.zeros(0, np.uint64), *parts])

    def _places(self, values: Floats) -> Places:
        """Estimated where that is certain, else in integers. Requires more than one point."""
        low, high = float(self.lower), float(self.upper)
        found = np.where(values > high, np.uint64(self.points - 1), np.uint64(0))
        unsure = ~((values < low) | (values > high))
        inside = np.flatnonzero((values > low) & (values < high))
        found[inside], certain = self._estimated_places(values[inside])
        unsure[inside[certain]] = False
        found[unsure] = self._exact_places(values[unsure])
        return found

    @property
    def _step(self) -> Fraction:
        return (self.upper - self.lower) / (self.points - 1)

    def _may_estimate(self) -> bool:
        """Whether bounds and width are so far from overflow and underflow that neither matters."""
        narrow = self.upper - self.lower < _NARROWEST
        return not narrow and max(-self.lower, self.upper) <= _LARGEST

    def _estimated_places(self, values: Floats) -> tuple[Places, Bools]:
        """Places of values between the bounds, and which of them are certain.

        The distances from `lower`, counted in steps, in two floats each, and what that can be wrong by: proof in
        docs/proofs/models/hypothesis_classes.md, "Places".
        """
        base, base_rest = _two_floats(self.lower)
        slope, slope_rest = _two_floats(1 / self._step)
        slack = _SLACK * float(max(-self.lower, self.upper) / self._step) + _LEAST_SLACK
        distance, rest = _sum(values, -base)
        steps, steps_rest = _product(distance, slope)
        whole_steps = np.floor(steps)
        part = (steps - whole_steps) + (steps_rest + (distance * slope_rest + (rest - base_rest) * slope))
        more = np.floor(part - slack)
        certain: Bools = (more == np.floor(part + slack)) & (whole_steps < float(MOST_POINTS))
        whole_steps[~certain] = more[~certain] = 0.0
        return whole_steps.astype(np.uint64) + more.astype(np.int64).astype(np.uint64), certain

    def _exact_places(self, values: Floats) -> Places:
        """⌊(x − lower)/step⌋ between the first and the last place, in integers throughout."""
        different, which = np.unique(values, return_inverse=True)
        step, last = self._step, self.points - 1
        over, under = self.lower.numerator * step.denominator, self.lower.denominator * step.numerator
        scale = self.lower.denominator * step.denominator
        ratios = map(float.as_integer_ratio, different.tolist())
        found = [min(last, max(0, (top * scale - over * bottom) // (under * bottom))) for top, bottom in ratios]
        return np.array(found, np.uint64)[which]


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Places 0 … `last` of a grid, in increasing runs with the same records below them.

    A record lies below a place when its value is less than the grid's point there; below `points`, the place after the
    last, lie all records. That place may be 2^64: only the last run can hold it, which is why no array does.

    Attributes:
        cuts: uint64, one a run but the last: its last place, increasing. They are the places of the records.
        last: the last place of the last run.
        gains: int64, one a run: positive minus negative records below its places.
    """

    cuts: Places
    last: int
    gains: NDArray[np.int64]

    @classmethod
    def of(cls, grid: PublicGrid, values: Floats, positive: Bools) -> Runs:
        """The runs of 0 … `points` that the values of one feature, shape (m,), make; m ≥ 0."""
        cuts, owner = np.unique(grid.places(values), return_inverse=True)
        change = np.bincount(owner, weights=np.where(positive, 1.0, -1.0), minlength=len(cuts)).astype(np.int64)
        return cls(cuts, grid.points, np.concatenate([[0], np.cumsum(change)]))

    def without_last_place(self) -> Runs:
        """The same but for place `last`."""
        if self.size(len(self) - 1) > 1:
            return Runs(self.cuts, self.last - 1, self.gains)
        return Runs(self.cuts[:-1], self.last - 1, self.gains[:-1])

    def start(self, run: int) -> int:
        """The first place of a run."""
        return int(self.cuts[run - 1]) + 1 if run else 0

    def size(self, run: int) -> int:
        """How many places a run has."""
        end = int(self.cuts[run]) if run < len(self.cuts) else self.last
        return end + 1 - self.start(run)

    def run_of(self, place: int) -> int:
        """The run of a place of 0 … `last`."""
        return int(np.searchsorted(self.cuts, np.uint64(place))) if place < self.last else len(self.cuts)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First place and size of each run."""
        ends = (cut + 1 for cut in self.cuts.tolist())
        return ((start, end - start) for start, end in pairwise((0, *ends, self.last + 1)))

    def spans(self) -> NDArray[np.uint64]:
        """The sizes less one, which may be 2^64 themselves. Requires: `last` < 2^64."""
        spans = np.append(self.cuts, np.uint64(self.last))
        spans[1:] -= self.cuts + np.uint64(1)
        return spans

    def sizes_modulo(self, prime: int) -> NDArray[np.uint64]:
        """Residues of the sizes modulo `prime` < 2^63."""
        ends = np.append(self.cuts % np.uint64(prime), np.uint64(self.last % prime))
        starts = np.append(np.uint64(0), ends[:-1] + np.uint64(1))
        residues: NDArray[np.uint64] = (ends + np.uint64(1) + np.uint64(prime) - starts) % np.uint64(prime)
        return residues

    def __len__(self) -> int:
        return len(self.gains)


def _two_floats(number: Fraction) -> tuple[float, float]:
    """The nearest float, and the float nearest to the rest."""
    nearest = float(number)
    return nearest, float(number - Fraction(nearest))


def _sum(values: Floats, other: float) -> tuple[Floats, Floats]:
    """The sum as a float, and what it is wrong by, exactly (Knuth, TAOCP 2, 4.2.2, Theorem B)."""
    total = values + other
    taken = total - values
    return total, (values - (total - taken)) + (other - taken)


def _product(values: Floats, other: float) -> tuple[Floats, Floats]:
    """The product as a float, and what it is wrong by, exactly but for underflow (Dekker 1971)."""
    product = values * other
    high, low = _halves(values)
    other_high, other_low = _halves(np.array([other]))
    return product, low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """The first 26 bits and the others, whose products are floats."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high
