"""A private density of given numbers, its number of bins chosen privately: the released histogram, and how it is made.

All that a `Density` shows, writes, draws and samples is post-processing. Nothing here needs scikit-learn, which takes
long to import: `dpmine histogram` runs without it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.exact.noise import uniforms_below, words
from dpmine.exact.reals import uniform_below
from dpmine.io.atomic import new_figure
from dpmine.ledger.charging import ROW
from dpmine.models.contribution import EVERY_ROW, Bounding, SharedBudget, require_any
from dpmine.models.histogram.training import (
    CLIPPING,
    GRID_BITS,
    BinGrid,
    Bounds,
    Floats,
    HistogramTraining,
    Values,
    as_values,
    bin_counts,
    density_score,
    records_needed,
    stabilities,
)
from dpmine.models.tables import read_columns, units_of
from dpmine.models.validation.procedure import random_split, train_candidates, train_size_of, train_validated
from dpmine.models.validation.terms import CandidateSearch, require_replace_one
from dpmine.parameters import Number, exact_share, positive, probability, whole
from dpmine.privacy import Guarantee, Neighbors, rounded_up
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.charging import Account
    from dpmine.models.contribution import Places, PrivacyUnit
    from dpmine.models.histogram.training import NoisyHistogram
    from dpmine.models.validation.terms import ValidationTerms


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
        digits = words(count, np.uint64, bits=source) >> np.uint64(64 - _MANTISSA)
        places = np.ldexp(digits.astype(np.float64), -_MANTISSA)
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
    drawn = uniforms_below(np.full(count, total, np.uint64), bits=bits)
    return np.searchsorted(np.array(ends, np.uint64), drawn, side="right")


def _bar(share: float) -> str:
    return "█" * round(_LONGEST_BAR * share)


def _title(density: Density) -> str:
    promise = density.guarantee
    delta = f", δ = {rounded_up(promise.delta):g}" if promise.delta else ""
    return f"Private density, {density.bins} bins (ε = {rounded_up(promise.epsilon):g}{delta})"


@dataclass(frozen=True, slots=True)
class BinSearch:
    """The parameters of a `PrivateHistogram`, read and checked; made by `BinSearch.of`.

    A privacy unit may have several records, which share its budget: `shared` has those of one record.
    """

    bins: tuple[int, ...]
    bounds: Bounds
    train_share: Fraction
    search: CandidateSearch
    shared: SharedBudget

    @classmethod
    def of(
        cls,
        *,
        bins: Sequence[int],
        lower: Number,
        upper: Number,
        epsilon: Number,
        delta: Number,
        train_share: Number,
        mechanism: str,
        selection_share: Number,
        neighbors: str,
        rows: int = 1,
    ) -> Self:
        """Raises BadParameter for the first parameter that is not usable."""
        require_replace_one(neighbors)
        bounds = Bounds.of(lower, upper)
        counts = bin_counts(bins)
        for count in counts:
            bounds.edges(count)
        shared = SharedBudget(positive("epsilon", epsilon), probability("delta", delta), rows)
        if len(counts) > 1:
            shared.require_delta()
        trained, share = exact_share("train_share", train_share), exact_share("selection_share", selection_share)
        search = CandidateSearch(shared.row_epsilon, share, shared.row_delta / 2, str(mechanism), len(counts))
        search.chooser()
        return cls(counts, bounds, trained, search, shared)

    def promise(self) -> Guarantee:
        """The most that `density` will promise, before its notes."""
        delta = Fraction(0) if len(self.bins) == 1 else self.shared.row_delta
        return self.shared.of_unit(Guarantee(self.shared.row_epsilon, delta, Neighbors.REPLACE_ONE, "row"))

    def density(self, x: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Density:
        """The density of the numbers x, shape (n,) or (n, 1); `bounding` says which records share the budget.

        Raises BadData as `PrivateHistogram.fit`.
        """
        clipped = self.bounds.clipped(as_values(x))
        places = bounding.places(clipped.size, bits=bits)
        if bounding.units is not None:
            require_any(places)
        return (self._only if len(self.bins) == 1 else self._chosen)(clipped, places, bits=bits)

    def terms(self, train_size: int, validation_size: int) -> ValidationTerms:
        """The public terms of a validation with these numbers of records; half of δ is for an approximate chooser."""
        half, fewest = self.shared.row_delta / 2, int(np.argmin(self.bins))
        return self.search.terms(train_size, validation_size, fallback=fewest, stable_delta=half)

    def _only(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """One candidate: nothing is chosen, so that all of ε and all records train."""
        if not places.units:
            raise BadData("x holds no records.")
        every = Values.of(clipped[places.rows()])
        model = train_candidates(HistogramTraining(), self._grids(), every, self.shared.row_epsilon, bits=bits)[0]
        return Density(model, self.bins, None, self.promise().noting(CLIPPING))

    def _chosen(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """Algorithm 2, on units: each trains or validates with all its records.

        A unit has at least one record, so there are at least as many as units: the size that stability rests on.
        """
        self._require_enough(places.units)
        size = train_size_of(places.units, self.train_share)
        held = (places.units - size) * places.each
        terms = self.terms(size, held)
        trained, held_out = (clipped[places.rows(part)] for part in random_split(places.units, size, bits=bits))
        found = train_validated(
            HistogramTraining(),
            self._grids(),
            Values.of(trained),
            Values.of(held_out, held),
            score=density_score,
            stabilities=stabilities(self.bins, records=size, alpha=terms.training_epsilon, failure=terms.failure),
            terms=terms,
            final=Values.of(clipped[places.rows()]),
            bits=bits,
        )
        if found.model is None:  # cannot be: the terms name a fallback
            raise BadParameter("The mechanism returned no candidate, and there is no number of bins to fall back on.")
        guarantee = self.shared.of_unit(found.guarantee).noting(CLIPPING)
        return Density(found.model, self.bins, terms.mechanism, guarantee)

    def _grids(self) -> list[BinGrid]:
        return [BinGrid(self.bounds, count) for count in self.bins]

    def _require_enough(self, records: int) -> None:
        """BadData, with the number needed, unless the training part is large enough for every candidate."""
        terms = self.terms(1, 1)
        needed = records_needed(self.bins, alpha=terms.training_epsilon, failure=terms.failure)
        total = least_records(needed, self.train_share)
        if records < total:
            raise BadData(
                f"Too few records: these bins, ε, δ and train_share need at least {total}. "
                "Take more records, fewer bins or a larger ε."
            )


def least_records(train_size: int, train_share: Fraction) -> int:
    """The fewest records of which `train_size` ≥ 1 train at that share."""
    total = max(2, int(train_size / train_share) - 1)
    while train_size_of(total, train_share) < train_size:
        total += 1
    return total


def density_of_column(
    search: BinSearch,
    unit: PrivacyUnit,
    account: Account,
    data: Any,
    *,
    column: str,
    units: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Density:
    """The private density of a column, charged once the columns are known to be there, before any value is read.

    `search` is for `unit.rows` records per unit. Needs no scikit-learn, which takes long to import. Raises as
    `PrivateHistogram.fit`, and BadData and UnreadableFile as `read_columns`.
    """

    def charge() -> None:
        account.charge(unit.protecting(search.promise()), job="histogram")

    asserted = None if unit.enforced or unit.name == ROW else unit.name
    read = read_columns(data, [column], keys=units, asserted=asserted, progress=progress, ready=charge)
    bounding = Bounding(unit.rows, units_of(read, units))
    found = search.density(read[column], bounding=bounding, bits=SystemBits())
    return replace(found, guarantee=unit.protecting(found.guarantee))
