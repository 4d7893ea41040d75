"""Thresholds on public grids, x >= t, and stumps: thresholds of several features, on either side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from dpmine.models.pac.classes.grid import Runs, located
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
        found = [
            Runs.of(grid, records.features[:, column], records.positive, grid.points - 1)
            for column, grid in enumerate(self.grids)
        ]
        parts = [(column, side, runs) for column, runs in enumerate(found) for side in self.sides]
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
    name = "thresholds"
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
    """How many records the thresholds of each run classify correctly."""
    positives = int(records.positive.sum())
    return positives - runs.gains if side is CutSide.AT_LEAST else len(records) - positives + runs.gains
