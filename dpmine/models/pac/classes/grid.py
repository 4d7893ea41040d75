"""Public grids of points, up to 2^64 of them, exact places of numbers among them, and how data divide a grid."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.parameters import Number, exact_number, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dpmine.models.pac.hypothesis import Bools
    from dpmine.models.supervised import Floats

Places: TypeAlias = "NDArray[np.uint64]"
"""Arrays of places in a grid."""

MOST_POINTS = 2**64
_LARGEST = Fraction(10**100)
_NARROWEST = Fraction(1, 2**200)  # far from underflow and overflow, still when it is a divisor
_MOST_ESTIMATED = 2**45  # places: in finer grids no estimate is certain
_SLACK = 2.0**-49  # relative: more than the rounding of the estimates, which is below 2^-49.5


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
        if self.whole:  # so that other numbers follow the rule as it is written
            values = np.floor(values)
        least, most = self._estimates(values)
        found, sure = np.zeros(len(values), np.uint64), least == most
        found[sure] = least[sure].astype(np.uint64)
        if not sure.all():
            found[~sure] = self._exact_places(values[~sure])
        return found

    @property
    def _step(self) -> Fraction:
        return (self.upper - self.lower) / (self.points - 1)

    def _estimates(self, values: Floats) -> tuple[Floats, Floats]:
        """The least and the largest place that each value may have.

        All of them where the grid is so fine, or so narrow, that floats say nothing. Proof:
        docs/proofs/models/hypothesis_classes.md, "Places".
        """
        last = self.points - 1
        if not 0 < last < _MOST_ESTIMATED or self.upper - self.lower < _NARROWEST:
            return np.zeros(len(values)), np.full(len(values), float(last))
        slope = 1 / self._step
        slack = _SLACK * float(max(-self.lower, self.upper) * slope)
        with np.errstate(over="ignore"):
            steps = (values - float(self.lower)) * float(slope)
        return np.floor(np.clip(steps - slack, 0, last)), np.floor(np.clip(steps + slack, 0, last))

    def _exact_places(self, values: Floats) -> Places:
        """⌊(x − lower)/step⌋ between the first and the last place, in integers throughout."""
        different, which = np.unique(np.nan_to_num(values, nan=np.nan), return_inverse=True)
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
    last, lie all records. That place may be 2^64, so places and sizes are Python's integers.

    Attributes:
        starts: the first place of each run.
        sizes: how many places each run has, at least 1.
        gains: int64, one a run: positive minus negative records below its places.
    """

    starts: list[int]
    sizes: list[int]
    gains: NDArray[np.int64]

    @classmethod
    def of(cls, grid: PublicGrid, values: Floats, positive: Bools, last: int) -> Runs:
        """The runs of 0 … `last`, one of the last two places, that the values of a feature, shape (m,), make; m ≥ 0."""
        cuts, owner = np.unique(grid.places(values), return_inverse=True)
        change = np.bincount(owner, weights=np.where(positive, 1.0, -1.0), minlength=len(cuts)).astype(np.int64)
        starts = [0, *(cut + 1 for cut in cuts.tolist() if cut < last)]
        sizes = [end - start for start, end in pairwise([*starts, last + 1])]
        return cls(starts, sizes, np.concatenate([[0], np.cumsum(change)])[: len(starts)])

    def run_of(self, place: int) -> int:
        """The run of a place of 0 … `last`."""
        return bisect_right(self.starts, place) - 1

    def sizes_modulo(self, prime: int) -> NDArray[np.uint64]:
        """Residues of the sizes modulo `prime` < 2^63."""
        return np.array([size % prime for size in self.sizes], np.uint64)

    def __len__(self) -> int:
        return len(self.starts)


def located(rank: int, sizes: Iterable[int]) -> tuple[int, int]:
    """Which of the sizes, laid end to end, holds place `rank`, and which of its places that is, from 0."""
    for position, size in enumerate(sizes):
        if rank < size:
            return position, rank
        rank -= size
    raise LookupError("there are fewer places")
