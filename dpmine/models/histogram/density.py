"""A private density: the released histogram of one number per record, or of two.

All that it shows, writes, draws and samples is post-processing. Nothing here needs scikit-learn, which takes long to
import: `dpmine histogram` runs without it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from dpmine.errors import BadData
from dpmine.exact.bits import SystemBits
from dpmine.exact.noise import uniforms_below, words
from dpmine.exact.reals import uniform_below
from dpmine.io.atomic import new_figure
from dpmine.models.histogram.spaces import PlaneGrid
from dpmine.models.histogram.training import GRID_BITS, AnyGrid, BinGrid
from dpmine.parameters import whole
from dpmine.privacy import Guarantee, rounded_up
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.models.histogram.training import NoisyHistogram


_MANTISSA = 53
_MOST_IN_WORDS = 2**63  # beyond it sums of weights do not fit the words of numpy
_LONGEST_BAR = 40  # characters
_COLOUR = "#2a6f97"
_GRID = "#d9d9d9"
_FEW_BINS = 64  # more are drawn without lines between them


@dataclass(frozen=True, eq=False)
class _Released(ABC, Generic[AnyGrid]):
    """What a density on an interval and one on a rectangle share.

    Attributes:
        histogram: the noisy histogram.
        candidates: the numbers of bins among which this one was chosen; pairs of them on a rectangle.
        mechanism: what chose, None where there was one candidate.
        guarantee: of the whole release.
    """

    histogram: NoisyHistogram[AnyGrid]
    candidates: tuple[Any, ...]
    mechanism: str | None
    guarantee: Guarantee

    @property
    def bins(self) -> int:
        """The number of bins, or cells, that was chosen."""
        return self.histogram.grid.bins

    @property
    @abstractmethod
    def heights(self) -> Floats:
        """The density in each bin or cell."""

    @property
    def _counts(self) -> Floats:
        """Noisy counts ≥ 0, multiples of 2^−20: exact in float64 below 2^33, beyond it the nearest."""
        return np.ldexp(np.array(self.histogram.weights, np.float64), -GRID_BITS)

    def _heights(self, size: Fraction) -> Floats:
        """The shares over the size of a bin or cell."""
        return np.array([float(share / size) for share in self.histogram.shares])

    def _drawn_bins(self, n: int, bits: BitSource) -> NDArray[np.intp]:
        """`n` ≥ 0 independent bins, each with its exact probability."""
        weights, total = self.histogram.positive_weights()
        return _drawn_places(weights, total, whole("n", n, least=0), bits=bits)

    @abstractmethod
    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x."""

    @abstractmethod
    def sample(self, n: int, *, bits: BitSource | None = None) -> Floats:
        """`n` ≥ 0 independent draws of the density."""

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw on matplotlib axes, new ones by default, titled with the guarantee; returns the axes."""

    @abstractmethod
    def _shape_dict(self) -> dict[str, Any]:
        """What bins there are, and what is in them, for JSON."""

    @abstractmethod
    def _columns(self) -> dict[str, Floats]:
        """One row a bin or cell: where it lies, density and count."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """One line of text a bin or cell."""

    @property
    @abstractmethod
    def _size(self) -> str:
        """How many bins, for people."""

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        return {
            "bins": self.bins,
            **self._shape_dict(),
            "candidates": list(self.candidates),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_arrow(self) -> Any:
        """One row a bin or cell: its bounds, density, count; the guarantee is in the schema's metadata."""
        import pyarrow as pa

        table = pa.table({name: column.tolist() for name, column in self._columns().items()})
        return table.replace_schema_metadata({"dpmine": json.dumps(self.guarantee.to_dict(), ensure_ascii=False)})

    def __str__(self) -> str:
        chosen = self._size + (f", chosen by {self.mechanism}" if self.mechanism else "")
        notes = [f"({note})" for note in self.guarantee.notes]
        return "\n".join([*self._lines(), f"({chosen}; {self.guarantee})", *notes])

    def _title(self) -> str:
        guarantee = self.guarantee
        delta = f", δ = {rounded_up(guarantee.delta):g}" if guarantee.delta else ""
        return f"Private density, {self._size} (ε = {rounded_up(guarantee.epsilon):g}{delta})"


class Density(_Released[BinGrid]):
    """A piecewise constant density between public bounds, with its guarantee.

    Attributes:
        histogram: the noisy histogram.
        candidates: the numbers of bins among which this one was chosen.
        mechanism: what chose, None where there was one candidate.
        guarantee: of the whole release.
    """

    @property
    def bin_width(self) -> float:
        """In units of the data."""
        return float(self.histogram.grid.bounds.width / self.bins)

    @property
    def edges(self) -> Floats:
        """The bins + 1 edges."""
        return self.histogram.grid.edges

    @cached_property
    def counts(self) -> Floats:
        """Noisy counts ≥ 0, multiples of 2^−20: exact in float64 below 2^33, beyond it the nearest."""
        return self._counts

    @cached_property
    def heights(self) -> Floats:
        """The density in each bin, per unit of the data; heights times the bin width sum to 1."""
        return self._heights(self.histogram.grid.bounds.width / self.bins)

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x: 0 outside the bounds, NaN at NaN."""
        points = np.asarray(x, np.float64)
        places, outside = _located(points, self.edges)
        return np.where(np.isnan(points), np.nan, np.where(outside, 0.0, self.heights[places]))

    def sample(self, n: int, *, bits: BitSource | None = None) -> Floats:
        """`n` ≥ 0 independent draws of the density: a bin with its exact probability, and a float64 place in it."""
        source = SystemBits() if bits is None else bits
        return _inside(self._drawn_bins(n, source), self.edges, bits=source)

    def plot(self, ax: Any = None) -> Any:
        """Filled steps on matplotlib axes, new ones by default, titled with the guarantee; returns the axes."""
        axes = new_figure(8, 4.5).subplots() if ax is None else ax
        axes.stairs(self.heights, self.edges, fill=True, color=_COLOUR, alpha=0.35)
        axes.stairs(self.heights, self.edges, color=_COLOUR, linewidth=1.6)
        if self.bins <= _FEW_BINS:
            lower = [min(pair) for pair in pairwise(self.heights.tolist())]
            axes.vlines(self.edges[1:-1], 0, lower, color=_COLOUR, linewidth=0.5, alpha=0.6)
        axes.set_xlim(self.edges[0], self.edges[-1])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("value (outside the bounds: counted at the nearest)")
        axes.set_ylabel("density")
        axes.set_title(self._title())
        axes.set_axisbelow(True)
        axes.grid(visible=True, color=_GRID, linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def _shape_dict(self) -> dict[str, Any]:
        return {
            "bin_width": self.bin_width,
            "edges": self.edges.tolist(),
            "density": self.heights.tolist(),
            "counts": self.counts.tolist(),
        }

    def _columns(self) -> dict[str, Floats]:
        return {"lower": self.edges[:-1], "upper": self.edges[1:], "density": self.heights, "count": self.counts}

    def _lines(self) -> list[str]:
        rows = zip(_intervals(self.edges), self.heights, _bars(self.heights), strict=True)
        return ["\t".join([interval, f"{height:.4g}", bar]) for interval, height, bar in rows]

    @property
    def _size(self) -> str:
        return f"{self.bins} bins"


class PlaneDensity(_Released[PlaneGrid]):
    """A piecewise constant density on a rectangle between public bounds, with its guarantee.

    Attributes:
        histogram: the noisy histogram.
        candidates: the pairs of numbers of bins among which this one was chosen.
        mechanism: what chose, None where there was one candidate.
        guarantee: of the whole release.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of bins of the first number and of the second."""
        return self.histogram.grid.shape

    @property
    def bin_width(self) -> tuple[float, float]:
        """Width of a cell along the first number and along the second, in units of the data."""
        first, second = (float(axis.bounds.width / axis.bins) for axis in self.histogram.grid.axes)
        return first, second

    @property
    def edges(self) -> tuple[Floats, Floats]:
        """The edges along the first number and along the second."""
        first, second = self.histogram.grid.axes
        return first.edges, second.edges

    @cached_property
    def counts(self) -> Floats:
        """Noisy counts ≥ 0, of shape `shape`, multiples of 2^−20: exact below 2^33, beyond it the nearest."""
        return self._counts.reshape(self.shape)

    @cached_property
    def heights(self) -> Floats:
        """The density in each cell, of shape `shape`, per unit of area; heights times a cell's area sum to 1."""
        first, second = self.histogram.grid.axes
        return self._heights(first.bounds.width * second.bounds.width / self.bins).reshape(self.shape)

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each of the points x, shape (…, 2): 0 outside the bounds, NaN at NaN."""
        points = np.asarray(x, np.float64)
        if points.ndim == 0 or points.shape[-1] != 2:
            raise BadData("Points must have two numbers each, in the last dimension.")
        (first, out), (second, away) = (_located(points[..., i], edges) for i, edges in enumerate(self.edges))
        missing = np.isnan(points).any(axis=-1)
        return np.where(missing, np.nan, np.where(out | away, 0.0, self.heights[first, second]))

    def sample(self, n: int, *, bits: BitSource | None = None) -> Floats:
        """`n` ≥ 0 independent draws, shape (n, 2): a cell with its exact probability, and a float64 place in it."""
        source = SystemBits() if bits is None else bits
        cells = np.unravel_index(self._drawn_bins(n, source), self.shape)
        places = zip(cells, self.edges, strict=True)
        return np.column_stack([_inside(bins, edges, bits=source) for bins, edges in places])

    def plot(self, ax: Any = None) -> Any:
        """Shades of one colour on matplotlib axes, new ones by default; returns the axes, titled with the guarantee."""
        axes = new_figure(6.5, 5).subplots() if ax is None else ax
        mesh = axes.pcolormesh(*self.edges, self.heights.T, cmap="Blues", vmin=0)
        axes.figure.colorbar(mesh, ax=axes, label="density")
        axes.set_xlabel("first number (outside the bounds: counted at the nearest)")
        axes.set_ylabel("second number (likewise)")
        axes.set_title(self._title())
        return axes

    def _shape_dict(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape),
            "bin_width": list(self.bin_width),
            "edges": [edges.tolist() for edges in self.edges],
            "density": self.heights.tolist(),
            "counts": self.counts.tolist(),
        }

    def _columns(self) -> dict[str, Floats]:
        first, second = np.indices(self.shape).reshape(2, -1)
        (low, high), (left, right) = ((edges[:-1], edges[1:]) for edges in self.edges)
        return {
            "lower": low[first],
            "upper": high[first],
            "second_lower": left[second],
            "second_upper": right[second],
            "density": self.heights.ravel(),
            "count": self.counts.ravel(),
        }

    def _lines(self) -> list[str]:
        cells = product(*map(_intervals, self.edges))
        rows = zip(cells, self.heights.ravel(), _bars(self.heights.ravel()), strict=True)
        return ["\t".join([*cell, f"{height:.4g}", bar]) for cell, height, bar in rows]

    @property
    def _size(self) -> str:
        return f"{self.shape[0]} x {self.shape[1]} cells"


AnyDensity: TypeAlias = Density | PlaneDensity


def density_of(
    histogram: NoisyHistogram[Any], candidates: tuple[Any, ...], mechanism: str | None, guarantee: Guarantee
) -> AnyDensity:
    """The density of a noisy histogram, on an interval or on a rectangle."""
    kind = PlaneDensity if isinstance(histogram.grid, PlaneGrid) else Density
    return kind(histogram, candidates, mechanism, guarantee)


def _located(points: Floats, edges: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The bin of each number, the nearest one for those outside; and which are outside."""
    places = np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(edges) - 2)
    return places, (points < edges[0]) | (points > edges[-1])


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
