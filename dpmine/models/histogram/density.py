"""A private density: the released histogram of one number per record, or of two.

All that it shows, writes, draws and samples is post-processing. Nothing here needs scikit-learn, which takes long to
import: `dpmine histogram` runs without it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpmine.errors import BadData
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.exact.noise import uniforms_below, words
from dpmine.exact.reals import uniform_below
from dpmine.io.atomic import new_figure
from dpmine.markup import json_text
from dpmine.models.histogram.training import GRID_BITS, Axis, NoisyHistogram
from dpmine.parameters import whole
from dpmine.privacy import Guarantee, rounded_up
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from dpmine.models.entries import Floats


Value = TypeVar("Value")
_MANTISSA = 53
_MOST_IN_WORDS = 2**63  # beyond it sums of weights do not fit the words of numpy
_LONGEST_BAR = 40  # characters
_COLOUR = "#2a6f97"
_GRID = "#d9d9d9"
_FEW_BINS = 64  # more are drawn without lines between them


@dataclass(frozen=True, eq=False)
class Density:
    """A piecewise constant density between public bounds, on an interval or on a rectangle, with its guarantee.

    Attributes:
        histogram: the noisy histogram.
        candidates: the numbers of bins among which this one was chosen; pairs of them on a rectangle.
        mechanism: what chose, None where there was one candidate.
        guarantee: of the whole release.
    """

    histogram: NoisyHistogram
    candidates: tuple[int | tuple[int, ...], ...]
    mechanism: str | None
    guarantee: Guarantee

    @property
    def bins(self) -> int:
        """The number of bins, or cells, that was chosen."""
        return self.histogram.grid.bins

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins along each axis."""
        return self.histogram.grid.shape

    @property
    def bin_width(self) -> float | Sequence[float]:
        """In units of the data; on a rectangle along the first number and along the second."""
        return self._each(self._widths)

    @property
    def edges(self) -> Floats | Sequence[Floats]:
        """The edges of the bins; on a rectangle along the first number and along the second."""
        return self._each(tuple(axis.edges for axis in self._axes))

    @cached_property
    def counts(self) -> Floats:
        """Noisy counts ≥ 0, of shape `shape`, multiples of 2^−20: exact below 2^33, beyond it the nearest."""
        return np.ldexp(np.array(self.histogram.weights, np.float64), -GRID_BITS).reshape(self.shape)

    @cached_property
    def heights(self) -> Floats:
        """The density in each bin, of shape `shape`, per unit of the data or of area; with the sizes it sums to 1."""
        size = prod(axis.bounds.width for axis in self._axes) / self.bins
        return np.array([float(share / size) for share in self.histogram.shares]).reshape(self.shape)

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x, on a rectangle at points of shape (…, 2): 0 outside the bounds, NaN at NaN."""
        points = np.asarray(x, np.float64)
        if self._is_line:
            points = points[..., np.newaxis]
        elif points.ndim == 0 or points.shape[-1] != 2:
            raise BadData("Points must have two numbers each, in the last dimension.")
        columns = [(points[..., place], axis.edges) for place, axis in enumerate(self._axes)]
        outside = np.any([(column < edges[0]) | (column > edges[-1]) for column, edges in columns], axis=0)
        cells = tuple(_nearest_bins(column, edges) for column, edges in columns)
        return np.where(np.isnan(points).any(axis=-1), np.nan, np.where(outside, 0.0, self.heights[cells]))

    def sample(self, n: int, *, bits: BitSource | None = None) -> Floats:
        """`n` ≥ 0 independent draws, shape (n,) or (n, 2): a cell with its exact probability, a float64 place in it."""
        source = SystemBits() if bits is None else bits
        weights, total = self.histogram.positive_weights()
        cells = np.unravel_index(_drawn_places(weights, total, whole("n", n, least=0), bits=source), self.shape)
        columns = [_inside(bins, axis.edges, bits=source) for bins, axis in zip(cells, self._axes, strict=True)]
        return columns[0] if self._is_line else np.column_stack(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw on matplotlib axes, new ones by default, titled with the guarantee; returns the axes.

        Filled steps; on a rectangle shades of one colour.
        """
        axes = new_figure(*((8, 4.5) if self._is_line else (6.5, 5))).subplots() if ax is None else ax
        (self._draw_steps if self._is_line else self._draw_cells)(axes)
        spent = f", δ = {rounded_up(self.guarantee.delta):g}" if self.guarantee.delta else ""
        axes.set_title(f"Private density, {self._size} (ε = {rounded_up(self.guarantee.epsilon):g}{spent})")
        return axes

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        return {
            "bins": self.bins,
            **({} if self._is_line else {"shape": list(self.shape)}),
            "bin_width": self._each(list(self._widths)),
            "edges": self._each([axis.edges.tolist() for axis in self._axes]),
            "density": self.heights.tolist(),
            "counts": self.counts.tolist(),
            "candidates": list(self.candidates),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json_text(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """One row a bin or cell: its bounds, density, count; the guarantee is in the schema's metadata."""
        import pyarrow as pa

        columns: dict[str, Floats] = {}
        places = np.indices(self.shape).reshape(len(self.shape), -1)
        for name, axis, place in zip(("", "second_"), self._axes, places, strict=False):
            columns |= {f"{name}lower": axis.edges[place], f"{name}upper": axis.edges[place + 1]}
        columns |= {"density": self.heights.ravel(), "count": self.counts.ravel()}
        table = pa.table({name: column.tolist() for name, column in columns.items()})
        return table.replace_schema_metadata({"dpmine": json_text(self.guarantee.to_dict())})

    def __str__(self) -> str:
        cells = product(*(_intervals(axis.edges) for axis in self._axes))
        rows = zip(cells, self.heights.ravel(), _bars(self.heights.ravel()), strict=True)
        lines = ["\t".join([*cell, f"{height:.4g}", bar]) for cell, height, bar in rows]
        chosen = self._size + (f", chosen by {self.mechanism}" if self.mechanism else "")
        return "\n".join([*lines, f"({chosen}; {self.guarantee})", *(f"({note})" for note in self.guarantee.notes)])

    @property
    def _axes(self) -> tuple[Axis, ...]:
        return self.histogram.grid.axes

    @property
    def _widths(self) -> tuple[float, ...]:
        return tuple(float(axis.bounds.width / axis.bins) for axis in self._axes)

    @property
    def _is_line(self) -> bool:
        return len(self._axes) == 1

    @property
    def _size(self) -> str:
        return f"{self.bins} bins" if self._is_line else f"{' x '.join(map(str, self.shape))} cells"

    def _each(self, values: Sequence[Value]) -> Value | Sequence[Value]:
        """The values of the axes; on an interval the only one."""
        return values[0] if self._is_line else values

    def _draw_steps(self, axes: Axes) -> None:
        edges = self._axes[0].edges
        axes.stairs(self.heights, edges, fill=True, color=_COLOUR, alpha=0.35)
        axes.stairs(self.heights, edges, color=_COLOUR, linewidth=1.6)
        if self.bins <= _FEW_BINS:
            lower = [min(pair) for pair in pairwise(self.heights.tolist())]
            axes.vlines(edges[1:-1], 0, lower, color=_COLOUR, linewidth=0.5, alpha=0.6)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("value (outside the bounds: counted at the nearest)")
        axes.set_ylabel("density")
        axes.set_axisbelow(True)
        axes.grid(visible=True, color=_GRID, linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)

    def _draw_cells(self, axes: Axes) -> None:
        first, second = (axis.edges for axis in self._axes)
        mesh = axes.pcolormesh(first, second, self.heights.T, cmap="Blues", vmin=0)
        figure: Any = axes.figure
        figure.colorbar(mesh, ax=axes, label="density")
        axes.set_xlabel("first number (outside the bounds: counted at the nearest)")
        axes.set_ylabel("second number (likewise)")


def _nearest_bins(points: Floats, edges: Floats) -> NDArray[np.intp]:
    """The bin of each number, the nearest one for those outside."""
    return np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(edges) - 2)


def _inside(bins: NDArray[np.intp], edges: Floats, *, bits: BitSource) -> Floats:
    """A float64 place in each of these bins, uniform."""
    digits = words(len(bins), np.uint64, bits=bits) >> np.uint64(64 - _MANTISSA)
    places = np.ldexp(digits.astype(np.float64), -_MANTISSA)
    low, high = edges[bins], edges[bins + 1]
    drawn: Floats = np.clip(low * (1 - places) + high * places, low, np.nextafter(high, low))
    return drawn


def _drawn_places(weights: Sequence[int], total: int, count: int, *, bits: BitSource) -> NDArray[np.intp]:
    """Independent positions, each with probability weight/total, exactly, however large the weights are."""
    ends = list(accumulate(weights))
    if total > _MOST_IN_WORDS:
        return np.array([bisect_right(ends, uniform_below(total, bits=bits)) for _ in range(count)], np.intp)
    drawn = uniforms_below(np.full(count, total, np.uint64), bits=bits)
    return np.searchsorted(np.array(ends, np.uint64), drawn, side="right")


def _intervals(edges: Floats) -> list[str]:
    return [f"[{low:g}, {high:g}{']' if high == edges[-1] else ')'}" for low, high in pairwise(edges.tolist())]


def _bars(heights: Floats) -> list[str]:
    top = max(float(heights.max()), np.finfo(float).tiny)
    return ["█" * round(_LONGEST_BAR * height / top) for height in heights.tolist()]
