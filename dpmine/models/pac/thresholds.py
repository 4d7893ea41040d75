"""Public grids of points, exact places of numbers among them, and rules at the points: thresholds and stumps."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.pac.hypothesis import Bools, Records, Renamed, candidate_number
from dpmine.parameters import Number, exact_number, whole
from dpmine.selection.universes.dense import Levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats
    from dpmine.selection.universes.protocol import Universe


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
            raise BadParameter("lower must be less than upper: they bound the feature, publicly, such as 0 and 100.")
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
        lowest, highest = self._estimates(values)
        places, sure = np.zeros(len(values), np.uint64), lowest == highest
        places[sure] = lowest[sure].astype(np.uint64)
        if not sure.all():
            places[~sure] = self._exact_places(values[~sure])
        return places

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
        places = [min(last, max(0, (top * scale - over * bottom) // (under * bottom))) for top, bottom in ratios]
        return np.array(places, np.uint64)[which]


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Places 0 … `last` of a grid, in increasing runs with the same records below them.

    A record lies below a place when its value is less than the grid's point there. All records lie below `points`, the
    place after the last. That place may be 2^64, so places and sizes are Python's integers.

    Attributes:
        starts: the first place of each run.
        sizes: how many places each run has, at least 1.
        gains: int64, one per run: positive minus negative records below its places.
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

    def __len__(self) -> int:
        return len(self.starts)


def located(rank: int, sizes: Iterable[int]) -> tuple[int, int]:
    """Which of the sizes, laid end to end, holds place `rank`, and which of its places that is, from 0."""
    for position, size in enumerate(sizes):
        if rank < size:
            return position, rank
        rank -= size
    raise LookupError("there are fewer places")


Place: TypeAlias = "tuple[int, int, CutSide]"
"""Column, place in its grid, side."""


class CutSide(StrEnum):
    """Which side of a threshold is the second class."""

    AT_LEAST = ">="
    BELOW = "<"


@dataclass(frozen=True, slots=True)
class Threshold:
    """x >= t, or x < t, for one feature; values outside the grid's bounds count as the nearest bound.

    Attributes:
        grid: public.
        place: of t in the grid.
        side: which side is the second class.
        column: position of the feature.
        feature: its name.
    """

    grid: PublicGrid
    place: int
    side: CutSide = CutSide.AT_LEAST
    column: int = 0
    feature: str = "x"

    @property
    def threshold(self) -> Fraction:
        """The t of the rule."""
        return self.grid.cut(self.place)

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is on the side."""
        reached = self.grid.places(features[:, self.column]) >= np.uint64(self.place)
        return reached if self.side is CutSide.AT_LEAST else ~reached

    def parameters(self) -> dict[str, Any]:
        """Feature, side, and t as a float and exactly."""
        return {
            "feature": self.feature,
            "side": str(self.side),
            "threshold": float(self.threshold),
            "threshold_exact": str(self.threshold),
        }

    def __str__(self) -> str:
        return f"{self.feature} {self.side} {self.grid.written(self.place)}"


@dataclass(frozen=True, slots=True)
class Stumps:
    """x_f >= t and x_f < t for every feature f and every point t of its public grid.

    Attributes:
        grids: one a feature.
        features: their names.
    """

    grids: tuple[PublicGrid, ...]
    features: tuple[str, ...]
    sides: ClassVar[tuple[CutSide, ...]] = tuple(CutSide)

    @property
    def columns(self) -> int:
        """The number of features."""
        return len(self.grids)

    @property
    def size(self) -> int:
        """The number of points of all grids, once a side."""
        return len(self.sides) * sum(grid.points for grid in self.grids)

    def universe(self, records: Records) -> Universe[Place]:
        """At most one block more than there are different values, for each feature and side."""
        runs_of_features = [
            Runs.of(grid, records.features[:, column], records.positive, grid.points - 1)
            for column, grid in enumerate(self.grids)
        ]
        parts = [(column, side, runs) for column, runs in enumerate(runs_of_features) for side in self.sides]
        return _by_score(parts, np.concatenate([_correct(records, runs, side) for _, side, runs in parts]))

    def hypothesis(self, candidate: Place) -> Threshold:
        """The threshold at that place. Raises LookupError, ValueError or TypeError for what is no candidate."""
        column, place, side = candidate
        if not isinstance(side, CutSide) or side not in self.sides:
            raise LookupError("the class has no such side")
        column = candidate_number(column, self.columns)
        grid = self.grids[column]
        return Threshold(grid, candidate_number(place, grid.points), side, column, self.features[column])


class Thresholds(Stumps):
    """x >= t for every point t of the public grid of one feature, up to 2^64 of them."""

    __slots__ = ()
    sides = (CutSide.AT_LEAST,)

    def __init__(self, grid: PublicGrid, feature: str = "x") -> None:
        super().__init__((grid,), (feature,))


def _by_score(parts: Sequence[tuple[int, CutSide, Runs]], scores: NDArray[np.int64]) -> Universe[Place]:
    """The thresholds of all runs, in order; `scores` has one entry a run.

    Between two neighbouring values in the data, all points of a grid are as good as each other: there are at most as
    many runs as records, and as many candidates as one likes.
    """
    errors, level_of = np.unique(-scores, return_inverse=True)
    sizes = [size for *_, runs in parts for size in runs.sizes]
    counts = [0] * len(errors)
    for level, size in zip(level_of.tolist(), sizes, strict=True):
        counts[level] += size

    def place(candidate: tuple[int, int]) -> Place:
        level, number = candidate
        of_level = np.flatnonzero(level_of == level).tolist()
        position, offset = located(number, (sizes[run] for run in of_level))
        part, run = located(of_level[position], (len(runs) for *_, runs in parts))
        column, side, runs = parts[part]
        return column, runs.starts[run] + offset, side

    return Renamed(Levels(zip((-errors).tolist(), counts, strict=True)), place)


def _correct(records: Records, runs: Runs, side: CutSide) -> NDArray[np.int64]:
    positives = int(records.positive.sum())
    return positives - runs.gains if side is CutSide.AT_LEAST else len(records) - positives + runs.gains
