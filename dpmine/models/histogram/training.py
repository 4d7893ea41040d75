"""The private histogram as a training procedure, and its validation score, both exact.

Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithm 5 and equation 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import BadParameter
from dpmine.models.histogram.noise import GRID_BITS, rounded_laplace

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.histogram.bins import Grid, Values

Noise: TypeAlias = tuple[int, ...]
"""One number a bin, in steps of the grid."""


@dataclass(frozen=True)
class NoisyHistogram:
    """Shares of the bins, exact.

    Attributes:
        grid: the bins.
        weights: ñ_i ≥ 0, one a bin, in steps of the noise's grid.
    """

    grid: Grid
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

    def fit(self, data: Values, parameter: Grid, _alpha: Fraction, draw: Noise) -> NoisyHistogram:
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
