"""The private histogram as a training procedure, its validation score, and how stable that is; all exact.

Values are put between public bounds, and the bin each falls into is a function of one record alone. That is what makes
the sensitivity of the counts exact in floating point. Edges are float64 numbers that depend on public parameters only;
a value is compared with them, never computed with.

Every bound on the stability is a rational number that is not below (for β) or not above (for counts) the real one.
Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithm 5, equation 6 and Theorem 6, in a
sharper form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, log1p, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.reals import GUARD_BITS, Ball, Formula, LaplaceNoise, above, draw, exact_ball, floor, logarithm
from dpmine.models.entries import Entries, Floats, as_numbers, require_numbers, shape_of
from dpmine.models.validation.terms import Stability
from dpmine.parameters import Number, exact_number, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource


MOST_BINS = 100_000
_HUGE = Fraction(10**300)
CLIPPING = "values outside the bounds count as the nearest bound, missing values (NaN, null) as the lower one"
"""What a released histogram says of its data."""


@dataclass(frozen=True)
class Bounds:
    """A public interval that all data are put into; made by `Bounds.of`."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, lower: Number, upper: Number) -> Bounds:
        """The bounds, read exactly; BadParameter unless lower < upper, as float64 numbers too."""
        low, high = exact_number("lower", lower), exact_number("upper", upper)
        if low >= high:
            raise BadParameter(
                "lower must be less than upper: these are the public bounds of the data, such as 0 and 100."
            )
        if not (abs(low) < _HUGE and abs(high) < _HUGE):
            raise BadParameter("lower and upper must lie between -1e300 and 1e300.")
        if not float(low) < float(high):
            raise BadParameter("lower and upper are the same in float64: shift or scale the data first.")
        return cls(low, high)

    @property
    def width(self) -> Fraction:
        """Upper − lower."""
        return self.upper - self.lower

    def clipped(self, values: Floats) -> Floats:
        """Every value put into the bounds, NaN at the lower one; total, and one record at a time."""
        low, high = float(self.lower), float(self.upper)
        return np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True, eq=False)
class Records:
    """Clipped records of one number each, or of two.

    Attributes:
        numbers: shape (n, 1), in order, so that any number of bins is counted fast; or (n, 2).
        places: the public number of records; above n where some places are empty.
    """

    numbers: Floats
    places: int

    @classmethod
    def of(cls, clipped: Floats, places: int | None = None) -> Records:
        """Of numbers of shape (n, 1) or (n, 2); `places` only where some are empty."""
        ordered = np.sort(clipped, axis=0) if clipped.shape[1] == 1 else clipped
        return cls(ordered, len(clipped) if places is None else places)


@dataclass(frozen=True)
class Axis:
    """Equal bins between bounds, of one of the numbers of a record.

    Attributes:
        bounds: public.
        bins: their number, at least 2.
    """

    bounds: Bounds
    bins: int

    @cached_property
    def edges(self) -> Floats:
        """The bins + 1 float64 numbers nearest to the edges of equal bins; BadParameter where two are the same."""
        lower, width, bins = self.bounds.lower, self.bounds.width, self.bins
        edges = np.array([float(lower + width * i / bins) for i in range(bins + 1)])
        if not (edges[1:] > edges[:-1]).all():
            raise BadParameter(f"{bins} bins between these bounds are too narrow for float64: shift or scale the data.")
        return edges


@dataclass(frozen=True)
class Grid:
    """Equal cells of an interval, or of a rectangle: those with the same first coordinate one after the other.

    All that is proved of s bins of an interval is true of s cells of a rectangle, as these have equal size.

    Attributes:
        axes: the bins of each number of a record.
    """

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins along each axis."""
        return tuple(axis.bins for axis in self.axes)

    @property
    def bins(self) -> int:
        """The number of cells: 1/h in the paper, where the bounds are mapped to the unit interval, or square."""
        return prod(self.shape)

    def counts(self, records: Records) -> NDArray[np.int64]:
        """How many records lie in each cell, which is [e_i, e_{i+1}) along each axis, the last one closed.

        A record's cell is a function of this record alone.
        """
        if len(self.axes) == 1:
            inner = np.searchsorted(records.numbers[:, 0], self.axes[0].edges[1:-1], side="left")
            return np.diff(inner, prepend=0, append=len(records.numbers)).astype(np.int64, copy=False)
        columns = zip(self.axes, records.numbers.T, strict=True)
        cells = [np.searchsorted(axis.edges[1:-1], column, side="right") for axis, column in columns]
        counts = np.bincount(np.ravel_multi_index(cells, self.shape), minlength=self.bins)
        return counts.astype(np.int64, copy=False)


@dataclass(frozen=True)
class Space:
    """What a histogram is laid over, all of it public; made by `Space.of`.

    Attributes:
        bounds: of each number of a record: one for an interval, two for a rectangle.
        shapes: the candidates: numbers of bins along each axis.
    """

    bounds: tuple[Bounds, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, bins: Any, lower: Any, upper: Any) -> Space:
        """An interval, or a rectangle where a bound or an entry of `bins` has two numbers. Raises BadParameter."""
        listed = _listed(bins)
        axes = 2 if any(map(_several, [lower, upper, *listed])) else 1
        bounds = tuple(map(Bounds.of, _each("lower", lower, axes), _each("upper", upper, axes)))
        shapes = tuple(tuple(map(_bin_count, _each("Every entry of bins", entry, axes))) for entry in listed)
        if max(map(prod, shapes)) > MOST_BINS:
            raise BadParameter(f"A number of bins must not exceed {MOST_BINS}.")
        if len(set(shapes)) < len(shapes):
            raise BadParameter("The same number of bins is given twice: name every candidate once.")
        space = cls(bounds, shapes)
        for axis in (axis for grid in space.grids for axis in grid.axes):
            _ = axis.edges  # raises where two are the same
        return space

    @property
    def features(self) -> int:
        """Numbers of a record."""
        return len(self.bounds)

    @property
    def candidates(self) -> tuple[int | tuple[int, ...], ...]:
        """What a result says of them: numbers of bins, on a rectangle pairs of them."""
        return tuple(shape if len(shape) > 1 else shape[0] for shape in self.shapes)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """One a candidate."""
        return tuple(Grid(tuple(map(Axis, self.bounds, shape))) for shape in self.shapes)

    def clipped(self, x: Entries) -> Floats:
        """The records between the bounds, shape (n, `features`). Raises BadData as `require_records`."""
        columns = as_records(x, self.features).T
        return np.column_stack([bound.clipped(column) for bound, column in zip(self.bounds, columns, strict=True)])


def _listed(bins: Any) -> list[Any]:
    """The candidates as they were given. Raises BadParameter for what is no list of them, and for an empty one."""
    if not _several(bins):
        raise BadParameter("bins must be a list of whole numbers, such as [4, 8, 16].")
    if not (listed := list(bins)):
        raise BadParameter("bins is empty: give at least one number of bins to choose from.")
    return listed


def _bin_count(value: object) -> int:
    return whole("Every number of bins (`bins=[4, 8, 16]`)", value, least=2)


def _several(value: object) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


def _each(name: str, value: Any, axes: int) -> list[Any]:
    """A value for each axis; one stands for all."""
    values = list(value) if _several(value) else [value] * axes
    if len(values) != axes:
        raise BadParameter(f"{name} must be one number, or two: a histogram has one or two dimensions.")
    return values


def as_records(x: Entries, features: int) -> Floats:
    """That many float64 numbers per record, shape (n, features); missing ones are NaN. Raises as `require_records`."""
    require_records(x, features)
    return as_numbers(x).reshape(-1, features)


def require_records(x: Entries, features: int) -> None:
    """Raises BadData for data without that many numbers per record, by shape and types alone."""
    if hasattr(x, "toarray"):
        raise BadData("x is a sparse matrix, and a histogram counts every record: pass x.toarray().")
    require_numbers(x)
    shape = shape_of(x)
    if len(shape) == 2 and not shape[1]:
        raise BadData(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if (len(shape) == 2 and shape[1] == features) or len(shape) == features == 1:
        return
    other_number = f", not {shape[1]} feature(s)" if len(shape) == 2 else ""
    expected = "one dimension: one number" if features == 1 else f"two columns{other_number}: two numbers"
    raise BadData(f"x must have {expected} a record.")


Noise: TypeAlias = tuple[int, ...]
"""One number a bin, in steps of the grid."""


@dataclass(frozen=True)
class NoisyHistogram:
    """Shares of the bins, exact.

    Attributes:
        grid: the bins.
        weights: ñ_i ≥ 0, one a bin, in steps of the noise's grid.
        floor: F, a public number of records; a smaller ñ counts as F, so that shares may add up to less than 1.
    """

    grid: Grid
    weights: tuple[int, ...]
    floor: int = 0

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """p_i = ñ_i/max(ñ, F); all equal where both are 0."""
        weights, total = self.positive_weights()
        return tuple(Fraction(weight, total) for weight in weights)

    def positive_weights(self) -> tuple[tuple[int, ...], int]:
        """The weights and their sum > 0, or the floor: equal weights stand for weights that are all 0 without one."""
        total = max(sum(self.weights), self.floor << GRID_BITS)
        return (self.weights, total) if total else ((1,) * self.grid.bins, self.grid.bins)


@dataclass(frozen=True)
class HistogramTraining:
    """T = (G, F): bin counts with Laplace noise of scale 2/α, negative ones raised to 0.

    α-private under replace_one: one record moves two counts by 1 each.

    Attributes:
        floor: of the histograms that are trained.
    """

    floor: int = 0

    def draw(self, parameter: Grid, alpha: Fraction, *, bits: BitSource) -> Noise:
        """One rounded Lap(2/α) a bin."""
        return tuple(rounded_laplace(2 / alpha, bits=bits) for _ in range(parameter.bins))

    def fit(self, data: Records, parameter: Grid, _alpha: Fraction, draw: Noise) -> NoisyHistogram:
        """ñ_i = max(0, n_i + noise_i)."""
        counts = parameter.counts(data).tolist()
        noisy = [(count << GRID_BITS) + noise for count, noise in zip(counts, draw, strict=True)]
        return NoisyHistogram(parameter, tuple(max(0, weight) for weight in noisy), self.floor)


def density_score(model: NoisyHistogram, validation: Records) -> Fraction:
    """q(f̂, V) = −∫ f̂² + (2/m) Σ_j f̂(z_j), with the bounds mapped to [0, 1] or its square; exact.

    Higher is better: up to a constant, minus the integrated square error. Requires: m ≥ 1 records; an empty place has
    f̂ = 0.
    """
    records = validation.places
    if not records:
        raise BadParameter("There are no validation records: the score of nothing is not defined.")
    weights, total = model.positive_weights()
    counts = model.grid.counts(validation).tolist()
    squares = sum(weight * weight for weight in weights)
    hits = sum(count * weight for count, weight in zip(counts, weights, strict=True))
    return model.grid.bins * (Fraction(2 * hits, records * total) - Fraction(squares, total * total))


GRID_BITS = 20  # counts are whole: with rounded noise they are rounded noisy counts, whatever the grid
GRID = Fraction(1, 2**GRID_BITS)
"""The step of the noise, in records."""


def rounded_laplace(scale: Fraction, *, bits: BitSource) -> int:
    """Lap(scale) rounded to the nearest multiple of the grid, in steps of the grid.

    Law: Pr[k] = F((k + 1/2)g/scale) − F((k − 1/2)g/scale), F the standard Laplace distribution function, g the grid.
    """
    noise = draw(LaplaceNoise(scale / GRID), bits=bits)
    return floor(Formula(lambda ball: ball + exact_ball(Fraction(1, 2)), noise), bits=bits)


_PRECISION = 64 + GUARD_BITS
_STEPS = 4096  # t is a multiple of 1/4096: every t in (0, 1) gives a bound


def stabilities(bins: Sequence[int], *, records: int, alpha: Fraction, failure: Fraction) -> tuple[Stability, ...]:
    """β1_i = 4/((1 − ν_i)h_i) and β2_i = 2/h_i of every candidate.

    For n = `records` training records, at least `records_needed`, budget α and failure probability δ in all.
    """
    lost = [records_lost(count, len(bins), alpha=alpha, failure=failure) for count in bins]
    return tuple(
        Stability(4 * count * records / (records - gone), Fraction(2 * count))
        for count, gone in zip(bins, lost, strict=True)
    )


def stabilities_at_floor(bins: Sequence[int]) -> tuple[Stability, ...]:
    """β1_i = 4/h_i and β2_i = 2/h_i where n is the floor of the training: for every draw, however few records train."""
    return tuple(Stability(Fraction(4 * count), Fraction(2 * count)) for count in bins)


def records_needed(bins: Sequence[int], *, alpha: Fraction, failure: Fraction) -> int:
    """The least number of training records with n(1 − ν_i) > 0 for every candidate."""
    return int(max(records_lost(count, len(bins), alpha=alpha, failure=failure) for count in bins)) + 1


def records_lost(bins: int, candidates: int, *, alpha: Fraction, failure: Fraction) -> Fraction:
    """nν_i: with probability ≥ 1 − δ/k the noisy counts sum to at least n − nν_i, rounded noise included.

    nν_i = (2/α) min_{0<t<1} [ln(k/δ) − s ln(1 − t²)]/t + s·grid/2, s the number of bins: the Chernoff bound
    Pr[ΣR ≤ −θ] ≤ e^{−tθ}(1 − t²)^{−s} for s standard Laplace variables.
    """
    odds = candidates / failure

    def exponent(t: Fraction) -> Ball:
        return (logarithm(odds) - bins * logarithm(1 - t * t)) / exact_ball(t)

    tail = above(lambda: exponent(_best_t(bins, float(odds))), _PRECISION)
    return 2 / alpha * tail + bins * GRID / 2


def _best_t(bins: int, odds: float) -> Fraction:
    """Near the minimum of [ln(odds) − s ln(1 − t²)]/t, which has one: by ternary search on a grid of t."""
    low, high = 1, _STEPS - 1

    def value(step: int) -> float:
        t = step / _STEPS
        return (log(odds) - bins * log1p(-t * t)) / t

    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return Fraction(min(range(low, high + 1), key=value), _STEPS)
