"""The private histogram as a training procedure, its validation score, and how stable that is; all exact.

Every bound on the stability is a rational number that is not below (for β) or not above (for counts) the real one.
Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithm 5, equation 6 and Theorem 6, in a
sharper form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import BadParameter
from dpmine.exact.noise import LaplaceNoise, draw
from dpmine.exact.reals import GUARD_BITS, Ball, Formula, above, exact_ball, floor, logarithm
from dpmine.models.validation.scores import Stability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.models.histogram.bins import BinGrid, Values


Noise: TypeAlias = tuple[int, ...]
"""One number a bin, in steps of the grid."""


@dataclass(frozen=True)
class NoisyHistogram:
    """Shares of the bins, exact.

    Attributes:
        grid: the bins.
        weights: ñ_i ≥ 0, one a bin, in steps of the noise's grid.
    """

    grid: BinGrid
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

    def draw(self, parameter: BinGrid, alpha: Fraction, *, bits: BitSource) -> Noise:
        """One rounded Lap(2/α) a bin."""
        return tuple(rounded_laplace(2 / alpha, bits=bits) for _ in range(parameter.bins))

    def fit(self, data: Values, parameter: BinGrid, _alpha: Fraction, draw: Noise) -> NoisyHistogram:
        """ñ_i = max(0, n_i + noise_i)."""
        counts = data.counts(parameter.edges).tolist()
        noisy = [(count << GRID_BITS) + noise for count, noise in zip(counts, draw, strict=True)]
        return NoisyHistogram(parameter, tuple(max(0, weight) for weight in noisy))


def density_score(model: NoisyHistogram, validation: Values) -> Fraction:
    """q(f̂, V) = −∫ f̂² + (2/m) Σ_j f̂(z_j), with the bounds mapped to [0, 1]; exact.

    Higher is better: up to a constant, minus the integrated square error. Requires: m ≥ 1 records; an empty place has
    f̂ = 0.
    """
    records = validation.places
    if not records:
        raise BadParameter("There are no validation records: the score of nothing is not defined.")
    weights, total = model.positive_weights()
    counts = validation.counts(model.grid.edges).tolist()
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
