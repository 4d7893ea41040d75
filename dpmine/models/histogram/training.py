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
from math import log, log1p
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.noise import LaplaceNoise, draw
from dpmine.exact.reals import GUARD_BITS, Ball, Formula, above, exact_ball, floor, logarithm
from dpmine.models.entries import Floats, as_numbers, require_numbers, shape_of
from dpmine.models.validation.terms import Stability
from dpmine.parameters import Number, exact_number, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

    def edges(self, bins: int) -> Floats:
        """The bins + 1 float64 numbers nearest to the edges of equal bins; BadParameter where two are the same."""
        edges = np.array([float(self.lower + self.width * i / bins) for i in range(bins + 1)])
        if not (edges[1:] > edges[:-1]).all():
            raise BadParameter(f"{bins} bins between these bounds are too narrow for float64: shift or scale the data.")
        return edges

    def clipped(self, values: Floats) -> Floats:
        """Every value put into the bounds, NaN at the lower one; total, and one record at a time."""
        low, high = float(self.lower), float(self.upper)
        return np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True, eq=False)
class Values:
    """Records of one number each, in order of their values, so that any number of bins is counted fast.

    Attributes:
        sorted: the numbers.
        places: the public number of records; above that of the numbers where some places are empty.
    """

    sorted: Floats
    places: int

    @classmethod
    def of(cls, clipped: Floats, places: int | None = None) -> Values:
        """The records with these clipped values."""
        return cls(np.sort(clipped), len(clipped) if places is None else places)

    def counts(self, edges: Floats) -> NDArray[np.int64]:
        """How many values are in [e_0, e_1), [e_1, e_2), …, and in the last bin, which is closed."""
        inner = np.searchsorted(self.sorted, edges[1:-1], side="left")
        return np.diff(inner, prepend=0, append=len(self.sorted)).astype(np.int64, copy=False)


class Records(Protocol):
    """What a grid counts."""

    @property
    def places(self) -> int:
        """The public number of records; above that of the records where some places are empty."""


class Grid(Protocol):
    """Cells of equal size that cover the public bounds, numbered from 0."""

    @property
    def bins(self) -> int:
        """The number of cells: 1/h in the paper, where the bounds are mapped to the unit interval, or square."""

    def counts(self, data: Any, /) -> NDArray[np.int64]:
        """How many of the records lie in each cell; a record's cell is a function of this record alone."""


@dataclass(frozen=True)
class BinGrid:
    """Equal bins between bounds.

    Attributes:
        bounds: public.
        bins: their number, at least 2; 1/h in the paper, where the data lie in [0, 1].
    """

    bounds: Bounds
    bins: int

    @cached_property
    def edges(self) -> Floats:
        """The bins + 1 edges."""
        return self.bounds.edges(self.bins)

    def counts(self, data: Values) -> NDArray[np.int64]:
        """See `Values.counts`."""
        return data.counts(self.edges)


def bin_counts(bins: Iterable[Any]) -> tuple[int, ...]:
    """The candidate numbers of bins; BadParameter unless each is a whole number from 2 to `MOST_BINS`, none twice."""
    counts = tuple(map(bin_count, listed_bins(bins)))
    require_usable(counts, counts)
    return counts


def bin_count(value: object) -> int:
    """A number of bins. Raises BadParameter for less than 2, and for what is no whole number."""
    return whole("Every number of bins (`bins=[4, 8, 16]`)", value, least=2)


def listed_bins(bins: Any) -> list[Any]:
    """The candidates as they were given. Raises BadParameter for what is no list of them, and for an empty one."""
    if isinstance(bins, str | bytes) or not hasattr(bins, "__iter__"):
        raise BadParameter("bins must be a list of whole numbers, such as [4, 8, 16].")
    if not (listed := list(bins)):
        raise BadParameter("bins is empty: give at least one number of bins to choose from.")
    return listed


def require_usable(candidates: Sequence[Any], cells: Sequence[int]) -> None:
    """Raises BadParameter for more than `MOST_BINS` cells, and for a candidate that is there twice."""
    if max(cells) > MOST_BINS:
        raise BadParameter(f"A number of bins must not exceed {MOST_BINS}.")
    if len(set(candidates)) < len(candidates):
        raise BadParameter("The same number of bins is given twice: name every candidate once.")


def as_values(x: Any) -> Floats:
    """One float64 number per record; missing ones are NaN. Raises BadData as `require_records`."""
    require_records(x, 1)
    return as_numbers(x).ravel()


def as_pairs(x: Any) -> Floats:
    """Two float64 numbers per record, shape (n, 2); missing ones are NaN. Raises BadData as `require_records`."""
    require_records(x, 2)
    return as_numbers(x)


def require_records(x: Any, features: int) -> None:
    """Raises BadData for data without that many numbers per record, by shape and types alone."""
    if hasattr(x, "toarray"):
        raise BadData("x is a sparse matrix, and a histogram counts every record: pass x.toarray().")
    require_numbers(x)
    shape = shape_of(x)
    if len(shape) == 2 and not shape[1]:
        raise BadData(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if (len(shape) == 2 and shape[1] == features) or len(shape) == features == 1:
        return
    found = f", not {shape[1]} feature(s)" if len(shape) == 2 else ""
    expected = "one dimension: one number" if features == 1 else f"two columns{found}: two numbers"
    raise BadData(f"x must have {expected} a record.")


Noise: TypeAlias = tuple[int, ...]
"""One number a bin, in steps of the grid."""


AnyGrid = TypeVar("AnyGrid", bound=Grid)


@dataclass(frozen=True)
class NoisyHistogram(Generic[AnyGrid]):
    """Shares of the bins, exact.

    Attributes:
        grid: the bins.
        weights: ñ_i ≥ 0, one a bin, in steps of the noise's grid.
    """

    grid: AnyGrid
    weights: tuple[int, ...]

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """p_i = ñ_i/ñ; all equal where ñ = 0."""
        weights, total = self.positive_weights()
        return tuple(Fraction(weight, total) for weight in weights)

    def positive_weights(self) -> tuple[tuple[int, ...], int]:
        """The weights and their sum > 0: equal weights stand for weights that are all 0."""
        total = sum(self.weights)
        return (self.weights, total) if total else ((1,) * self.grid.bins, self.grid.bins)


class HistogramTraining:
    """T = (G, F): bin counts with Laplace noise of scale 2/α, negative ones raised to 0.

    α-private under replace_one: one record moves two counts by 1 each.
    """

    def draw(self, parameter: Grid, alpha: Fraction, *, bits: BitSource) -> Noise:
        """One rounded Lap(2/α) a bin."""
        return tuple(rounded_laplace(2 / alpha, bits=bits) for _ in range(parameter.bins))

    def fit(self, data: Any, parameter: AnyGrid, _alpha: Fraction, draw: Noise) -> NoisyHistogram[AnyGrid]:
        """ñ_i = max(0, n_i + noise_i)."""
        counts = parameter.counts(data).tolist()
        noisy = [(count << GRID_BITS) + noise for count, noise in zip(counts, draw, strict=True)]
        return NoisyHistogram(parameter, tuple(max(0, weight) for weight in noisy))


def density_score(model: NoisyHistogram[AnyGrid], validation: Records) -> Fraction:
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
