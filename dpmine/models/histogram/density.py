"""A released histogram: what it shows, and how it is written, drawn and sampled from. All of it is post-processing."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import uniform_below
from dpmine.io.atomic import new_figure
from dpmine.models.histogram.training import GRID_BITS
from dpmine.models.validation.split import random_words, uniform_integers
from dpmine.parameters import whole
from dpmine.privacy import rounded_up
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.histogram.training import Floats, NoisyHistogram
    from dpmine.privacy import Guarantee


_MANTISSA = 53
_MOST_IN_WORDS = 2**63  # beyond it sums of weights do not fit the words of numpy
_LONGEST_BAR = 40  # characters
_COLOUR = "#2a6f97"
_GRID = "#d9d9d9"
_FEW_BINS = 64  # more are drawn without lines between them


@dataclass(frozen=True, eq=False)
class Density:
    """A piecewise constant density between public bounds, with its guarantee.

    Attributes:
        histogram: the noisy histogram.
        candidates: the numbers of bins among which this one was chosen.
        mechanism: what chose, None where there was one candidate.
        guarantee: of the whole release.
    """

    histogram: NoisyHistogram
    candidates: tuple[int, ...]
    mechanism: str | None
    guarantee: Guarantee

    @property
    def bins(self) -> int:
        """The number of bins that was chosen."""
        return self.histogram.grid.bins

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
        return np.ldexp(np.array(self.histogram.weights, np.float64), -GRID_BITS)

    @cached_property
    def heights(self) -> Floats:
        """The density in each bin, per unit of the data; heights times the bin width sum to 1."""
        width = self.histogram.grid.bounds.width / self.bins
        return np.array([float(share / width) for share in self.histogram.shares])

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x: 0 outside the bounds, NaN at NaN."""
        points = np.asarray(x, np.float64)
        inside = np.clip(np.searchsorted(self.edges, points, side="right") - 1, 0, self.bins - 1)
        outside = (points < self.edges[0]) | (points > self.edges[-1])
        return np.where(np.isnan(points), np.nan, np.where(outside, 0.0, self.heights[inside]))

    def sample(self, n: int, *, bits: BitSource | None = None) -> Floats:
        """`n` ≥ 0 independent draws of the density: a bin with its exact probability, and a float64 place in it."""
        source = SystemBits() if bits is None else bits
        count = whole("n", n, least=0)
        weights, total = self.histogram.positive_weights()
        bins = _drawn_places(weights, total, count, bits=source)
        words = random_words(count, bits=source) >> np.uint64(64 - _MANTISSA)
        places = np.ldexp(words.astype(np.float64), -_MANTISSA)
        low, high = self.edges[bins], self.edges[bins + 1]
        drawn: Floats = np.clip(low * (1 - places) + high * places, low, np.nextafter(high, low))
        return drawn

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
        axes.set_title(_title(self))
        axes.set_axisbelow(True)
        axes.grid(visible=True, color=_GRID, linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        return {
            "bins": self.bins,
            "bin_width": self.bin_width,
            "edges": self.edges.tolist(),
            "density": self.heights.tolist(),
            "counts": self.counts.tolist(),
            "candidates": list(self.candidates),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_arrow(self) -> Any:
        """One row a bin: lower, upper, density, count; the guarantee is in the schema's metadata."""
        import pyarrow as pa

        columns = {"lower": self.edges[:-1], "upper": self.edges[1:], "density": self.heights, "count": self.counts}
        table = pa.table({name: column.tolist() for name, column in columns.items()})
        return table.replace_schema_metadata({"dpmine": json.dumps(self.guarantee.to_dict(), ensure_ascii=False)})

    def __str__(self) -> str:
        top = max(float(self.heights.max()), np.finfo(float).tiny)
        lines = [
            f"[{low:g}, {high:g}{']' if high == self.edges[-1] else ')'}\t{height:.4g}\t{_bar(height / top)}"
            for low, high, height in zip(self.edges[:-1], self.edges[1:], self.heights, strict=True)
        ]
        chosen = f"{self.bins} bins" + (f", chosen by {self.mechanism}" if self.mechanism else "")
        return "\n".join([*lines, f"({chosen}; {self.guarantee})", *(f"({note})" for note in self.guarantee.notes)])


def _drawn_places(weights: Sequence[int], total: int, count: int, *, bits: BitSource) -> NDArray[np.intp]:
    """Independent positions, each with probability weight/total, exactly, however large the weights are."""
    ends = list(accumulate(weights))
    if total > _MOST_IN_WORDS:
        return np.array([bisect_right(ends, uniform_below(total, bits=bits)) for _ in range(count)], np.intp)
    return np.searchsorted(np.array(ends, np.uint64), uniform_integers(count, total, bits=bits), side="right")


def _bar(share: float) -> str:
    return "█" * round(_LONGEST_BAR * share)


def _title(density: Density) -> str:
    promise = density.guarantee
    delta = f", δ = {rounded_up(promise.delta):g}" if promise.delta else ""
    return f"Private density, {density.bins} bins (ε = {rounded_up(promise.epsilon):g}{delta})"
