"""What a histogram is laid over, all of it public: an interval, or a rectangle, and the candidate grids of it.

A rectangle's grid is a grid of each side. Its cells have equal size, so all that is proved of s bins of an interval is
true of s cells. Proof: docs/proofs/models/histogram.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.histogram.training import (
    BinGrid,
    Bounds,
    Values,
    as_pairs,
    as_values,
    bin_count,
    bin_counts,
    listed_bins,
    require_usable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats
    from dpmine.models.histogram.training import Grid


class Space(Protocol):
    """Public bounds, and candidate grids between them."""

    features: ClassVar[int]
    """Numbers a record."""

    @property
    def grids(self) -> Sequence[Grid]:
        """One a candidate."""

    @property
    def candidates(self) -> tuple[Any, ...]:
        """What a result says of them."""

    def clipped(self, x: Any, /) -> Floats:
        """The records put between the bounds, one after the other. Raises BadData for what is no such records."""

    def data(self, clipped: Floats, places: int | None = None) -> Any:
        """Such records as the grids count them; `places` is their public number where some places are empty."""


@dataclass(frozen=True)
class Line:
    """An interval; made by `space_of`.

    Attributes:
        bounds: of the numbers.
        candidates: the numbers of bins.
    """

    bounds: Bounds
    candidates: tuple[int, ...]

    features: ClassVar[int] = 1

    @classmethod
    def of(cls, bins: list[Any], lower: Any, upper: Any) -> Line:
        """The parameters, read exactly. Raises BadParameter."""
        return cls(Bounds.of(lower, upper), bin_counts(bins))

    @cached_property
    def grids(self) -> tuple[BinGrid, ...]:
        """One a candidate."""
        return tuple(BinGrid(self.bounds, count) for count in self.candidates)

    def clipped(self, x: Any) -> Floats:
        """Shape (n,), of numbers of shape (n,) or (n, 1). Raises BadData for anything else."""
        return self.bounds.clipped(as_values(x))

    def data(self, clipped: Floats, places: int | None = None) -> Values:
        """See `Space.data`."""
        return Values.of(clipped, places)


@dataclass(frozen=True, eq=False)
class Points:
    """Records of two numbers each.

    Attributes:
        pairs: the numbers, shape (n, 2).
        places: the public number of records; above n where some places are empty.
    """

    pairs: Floats
    places: int


@dataclass(frozen=True)
class PlaneGrid:
    """Equal cells of a rectangle, those with the same first coordinate one after the other.

    Attributes:
        axes: the bins of the first number, and of the second.
    """

    axes: tuple[BinGrid, BinGrid]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of bins of both."""
        return self.axes[0].bins, self.axes[1].bins

    @property
    def bins(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    def counts(self, data: Points) -> NDArray[np.int64]:
        """How many records lie in each cell: those of a record are the bins of its two numbers."""
        first, second = (
            np.searchsorted(axis.edges[1:-1], data.pairs[:, column], side="right")
            for column, axis in enumerate(self.axes)
        )
        return np.bincount(first * self.shape[1] + second, minlength=self.bins).astype(np.int64, copy=False)


@dataclass(frozen=True)
class Plane:
    """A rectangle; made by `space_of`.

    Attributes:
        bounds: of the first number, and of the second.
        candidates: the pairs of numbers of bins.
    """

    bounds: tuple[Bounds, Bounds]
    candidates: tuple[tuple[int, int], ...]

    features: ClassVar[int] = 2

    @classmethod
    def of(cls, bins: list[Any], lower: Any, upper: Any) -> Plane:
        """The parameters, read exactly: a number stands for the same one twice. Raises BadParameter."""
        low, high = _pair("lower", lower), _pair("upper", upper)
        bounds = Bounds.of(low[0], high[0]), Bounds.of(low[1], high[1])
        found = [_pair("Every entry of bins", entry) for entry in bins]
        shapes = tuple((bin_count(first), bin_count(second)) for first, second in found)
        require_usable(shapes, [prod(shape) for shape in shapes])
        return cls(bounds, shapes)

    @cached_property
    def grids(self) -> tuple[PlaneGrid, ...]:
        """One a candidate."""
        first, second = self.bounds
        return tuple(PlaneGrid((BinGrid(first, a), BinGrid(second, b))) for a, b in self.candidates)

    def clipped(self, x: Any) -> Floats:
        """Shape (n, 2), of numbers of that shape. Raises BadData for anything else."""
        pairs = as_pairs(x)
        return np.column_stack([bound.clipped(pairs[:, column]) for column, bound in enumerate(self.bounds)])

    def data(self, clipped: Floats, places: int | None = None) -> Points:
        """See `Space.data`."""
        return Points(clipped, len(clipped) if places is None else places)


AnySpace: TypeAlias = Line | Plane


def space_of(bins: Any, lower: Any, upper: Any) -> AnySpace:
    """An interval, or a rectangle where a bound or an entry of `bins` has two numbers. Raises BadParameter."""
    listed = listed_bins(bins)
    space = (Plane if any(map(_several, [lower, upper, *listed])) else Line).of(listed, lower, upper)
    for grid in space.grids:
        for axis in grid.axes if isinstance(grid, PlaneGrid) else [grid]:
            axis.bounds.edges(axis.bins)  # raises where two edges are the same
    return space


def _several(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    """Two values, or one for both."""
    values = list(value) if _several(value) else [value] * 2
    if len(values) != 2:
        raise BadParameter(f"{name} must be one number, or two: a histogram has one or two dimensions.")
    return values[0], values[1]
