"""Thresholds on public grids, x >= t, and stumps: thresholds of several features, on either side."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from dpmine.models.pac.classes.grid import Runs
from dpmine.models.pac.hypothesis import Renamed, candidate_number
from dpmine.selection.universes.dense import Levels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.models.pac.classes.grid import PublicGrid
    from dpmine.models.pac.hypothesis import Bools, Records
    from dpmine.models.supervised import Floats
    from dpmine.selection.universes.base import Universe


Place: TypeAlias = "tuple[int, int, CutSide]"
"""Column, place in its grid, side."""

_HALF_BITS = np.uint64(32)
_HALF = np.uint64(2**32 - 1)
_BOTH_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


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
    name: ClassVar[str] = "stumps"
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
        return _Blocks(records, self.grids, self.sides).universe

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
    name = "thresholds"
    sides = (CutSide.AT_LEAST,)

    def __init__(self, grid: PublicGrid, feature: str = "x") -> None:
        super().__init__((grid,), (feature,))


class _Blocks:
    """Blocks of thresholds that classify every record alike, ordered by score.

    Between two neighbouring values in the data, all points of a grid are as good as each other: there are at most as
    many blocks as records, and as many candidates as one likes.
    """

    def __init__(self, records: Records, grids: Sequence[PublicGrid], sides: Sequence[CutSide]) -> None:
        """`grids`: one a column of the records."""
        found = [_runs(records, column, grid) for column, grid in enumerate(grids)]
        self._parts = [(column, side, runs) for column, runs in enumerate(found) for side in sides]
        self._first_blocks = list(accumulate((len(runs) for _, _, runs in self._parts), initial=0))
        scores = np.concatenate([_correct(records, runs, side) for _, side, runs in self._parts])
        spans = np.concatenate([runs.spans() for _, _, runs in self._parts])
        self._order = np.argsort(-scores, kind="stable")
        ranked = scores[self._order]
        lasts = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self._ends = BlockEnds(spans[self._order])
        self._firsts = [0, *self._ends.at(lasts)]
        counts = (end - first for first, end in pairwise(self._firsts))
        self.universe = Renamed(Levels(zip(ranked[lasts].tolist(), counts, strict=True)), self._place)

    def _place(self, candidate: tuple[int, int]) -> Place:
        """Column, place and side of a candidate, given as level and number."""
        level, number = candidate
        position, offset = self._ends.located(self._firsts[level] + number)
        block = int(self._order[position])
        part = bisect_right(self._first_blocks, block) - 1
        column, side, runs = self._parts[part]
        return column, runs.start(block - self._first_blocks[part]) + offset, side


class BlockEnds:
    """Where blocks laid end to end end: sums of sizes up to 2^64 each, as two 64-bit numbers."""

    def __init__(self, spans: NDArray[np.uint64]) -> None:
        """`spans`: uint64, shape (b,), b < 2^31: the sizes less one."""
        lower = np.cumsum((spans & _HALF) + np.uint64(1))  # of numbers up to 2^32
        self._upper = np.cumsum(spans >> _HALF_BITS) + (lower >> _HALF_BITS)
        self._lower = lower & _HALF

    def at(self, positions: NDArray[np.intp]) -> list[int]:
        """The ends of these blocks."""
        pairs = zip(self._upper[positions].tolist(), self._lower[positions].tolist(), strict=True)
        return [(upper << 32) + lower for upper, lower in pairs]

    def located(self, rank: int) -> tuple[int, int]:
        """The block that has place `rank`, and which of its places that is, from 0."""
        upper, lower = np.uint64(rank >> 32), np.uint64(rank & 0xFFFFFFFF)
        first, after = (int(np.searchsorted(self._upper, upper, side=side)) for side in _BOTH_SIDES)
        position = first + int(np.searchsorted(self._lower[first:after], lower, side="right"))
        return position, rank - (self.at(np.array([position - 1]))[0] if position else 0)


def _runs(records: Records, column: int, grid: PublicGrid) -> Runs:
    """Without the place after the last point, which is no threshold."""
    return Runs.of(grid, records.features[:, column], records.positive).without_last_place()


def _correct(records: Records, runs: Runs, side: CutSide) -> NDArray[np.int64]:
    """How many records the thresholds of each run classify correctly."""
    positives = int(records.positive.sum())
    return positives - runs.gains if side is CutSide.AT_LEAST else len(records) - positives + runs.gains
