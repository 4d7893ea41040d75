"""Thresholds on a public grid: x >= t."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpmine.models.pac.candidates import candidate_number
from dpmine.models.pac.classes.blocks import Blocks
from dpmine.models.pac.classes.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.models.pac.classes.grid import Grid
    from dpmine.models.pac.records import Bools, Records
    from dpmine.models.supervised import Floats


Place: TypeAlias = "tuple[int, int, Side]"
"""Column, place in its grid, side."""


class Side(StrEnum):
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

    grid: Grid
    place: int
    side: Side = Side.AT_LEAST
    column: int = 0
    feature: str = "x"

    def __post_init__(self) -> None:
        """Raises IndexError for a place that the grid does not have."""
        if not 0 <= self.place < self.grid.points:
            raise IndexError("the grid has no such place")

    @property
    def threshold(self) -> Fraction:
        """The t of the rule."""
        return self.grid.cut(self.place)

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is on the side."""
        reached = self.grid.places(features[:, self.column]) >= np.uint64(self.place)
        return reached if self.side is Side.AT_LEAST else ~reached

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
class Thresholds:
    """x >= t for every point t of a public grid, up to 2^64 of them.

    Attributes:
        grid: the points.
        feature: what the one feature is called.
    """

    grid: Grid
    feature: str = "x"
    name = "thresholds"
    columns = 1

    @property
    def size(self) -> int:
        """The number of points."""
        return self.grid.points

    def universe(self, records: Records) -> ThresholdUniverse:
        """At most one block more than there are different values."""
        return ThresholdUniverse(records, [self.grid], (Side.AT_LEAST,))

    def hypothesis(self, candidate: Place) -> Threshold:
        """The threshold at that place. Raises LookupError, ValueError or TypeError for what is no candidate."""
        _, place, side = checked_place(candidate, (self.grid,), (Side.AT_LEAST,))
        return Threshold(self.grid, place, side, 0, self.feature)


class ThresholdUniverse(Blocks[Place]):
    """The thresholds of every column's grid, on the sides that are asked for; a candidate is a `Place`."""

    def __init__(self, records: Records, grids: Sequence[Grid], sides: Sequence[Side]) -> None:
        """`grids`: one a column of the records."""
        found = [_runs(records, column, grid) for column, grid in enumerate(grids)]
        self._parts = [(column, side, runs) for column, runs in enumerate(found) for side in sides]
        self._first_blocks = list(accumulate((len(runs) for _, _, runs in self._parts), initial=0))
        scores = [_correct(records, runs, side) for _, side, runs in self._parts]
        super().__init__(np.concatenate(scores), np.concatenate([runs.spans() for _, _, runs in self._parts]))

    def candidate(self, block: int, offset: int) -> Place:
        """Column, place and side."""
        part = bisect_right(self._first_blocks, block) - 1
        column, side, runs = self._parts[part]
        return column, runs.start(block - self._first_blocks[part]) + offset, side


def checked_place(candidate: Place, grids: Sequence[Grid], sides: Sequence[Side]) -> Place:
    """The candidate, which may come out of a file.

    Raises LookupError, ValueError or TypeError unless it is a column, a place in that column's grid, and one of the
    sides.
    """
    column, place, side = candidate
    if not isinstance(side, Side) or side not in sides:
        raise LookupError("the class has no such side")
    column = candidate_number(column, len(grids))
    return column, candidate_number(place, grids[column].points), side


def _runs(records: Records, column: int, grid: Grid) -> Runs:
    """Without the place after the last point, which is no threshold."""
    return Runs.of(grid, records.features[:, column], records.positive).without_last_place()


def _correct(records: Records, runs: Runs, side: Side) -> NDArray[np.int64]:
    """How many records the thresholds of each run classify correctly."""
    positives = int(records.positive.sum())
    return positives - runs.gains if side is Side.AT_LEAST else len(records) - positives + runs.gains
