"""Intervals for coefficients by the known distribution of the noise on them: output perturbation alone.

What is released is w̃ + κR, rounded to a grid, in a ball that it leaves with probability below 2⁻⁴⁰. Here w̃ is within
τ/Λ of the minimiser. All of κ, the grid, τ/Λ and the distribution of R are public.
Proof: docs/proofs/models/output_perturbation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.linear.noise import GammaNoise
from dpmine.models.linear.perturbations import RADIUS_FAILURE, OutputPerturbation
from dpmine.models.linear.sensitivities import projection_rounding, up

if TYPE_CHECKING:
    from dpmine.models.entries import Floats
    from dpmine.models.linear.noise import VectorNoise
    from dpmine.models.linear.perturbations import Perturbation, Release

_CELLS = 100_000  # of the mixture; its tail is bounded from above, by at most one cell
_NARROW = 2.0**-20


@dataclass(frozen=True, slots=True)
class Spread:
    """How far noise moves a unit combination of released weights; public.

    Attributes:
        noise: the distribution of R.
        dimension: the number of weights.
        scale: κ.
        error: what the grid and the solver's tolerance add at most.
    """

    noise: VectorNoise
    dimension: int
    scale: float
    error: float

    @classmethod
    def of(cls, training: Perturbation, release: Release) -> Spread | None:
        """Of a training; None where the effect of the noise on the weights depends on the data."""
        if not isinstance(training, OutputPerturbation):
            return None
        accuracy, dimension = release.accuracy, release.dimension
        grid = float(release.grid) / 2.0 * dimension**0.5
        error = up(grid + accuracy.tolerance / accuracy.ridge + projection_rounding(dimension, release.radius))
        return cls(training.noise, dimension, float(release.scale), error)

    def half_width(self, level: float) -> float:
        """A w with P(|⟨a, released − minimiser⟩| ≤ w) ≥ `level`, for every ‖a‖ = 1 and data set; 0 < level < 1."""
        failure = 1.0 - level - float(RADIUS_FAILURE)
        if failure <= float(RADIUS_FAILURE):  # no radius is known for less
            return float("inf")
        return up(self.scale * coordinate_quantile(self.noise, self.dimension, failure) + self.error)


@lru_cache(maxsize=64)
def coordinate_quantile(noise: VectorNoise, dimension: int, failure: float) -> float:
    """An r with P(|R_1| > r) ≤ `failure`, for one coordinate of R, rounded up: about the least.

    A vector of density e^{−‖r‖} in d dimensions is √V times a normal one, where V has the distribution
    Gamma((d + 1)/2, 2). Both have the characteristic function (1 + ‖s‖²)^{−(d+1)/2}.
    So P(|R_1| > r) = E erfc(r/√(2V)), an increasing function of V.
    """
    from scipy.special import erfc, gammaincinv, ndtri

    if not isinstance(noise, GammaNoise):
        return float(-ndtri(failure / 2.0)) * (1.0 + _NARROW)
    ends = np.sqrt(4.0 * gammaincinv((dimension + 1) / 2.0, np.arange(1, _CELLS + 1) / _CELLS))  # √(2V), the last is ∞

    def tail(radius: float) -> float:
        return float(erfc(radius / ends).mean())

    low, high = 0.0, 1.0
    while tail(high) > failure and high < _most(dimension):
        high *= 2.0
    while high - low > high * _NARROW:
        middle = (low + high) / 2.0
        low, high = (middle, high) if tail(middle) > failure else (low, middle)
    return high


def _most(dimension: int) -> float:
    """Far beyond what the cells can distinguish: the norm is longer with probability below 2⁻⁴⁰."""
    return GammaNoise().quantile(dimension, RADIUS_FAILURE)


def intervals(coefficients: Floats, factors: Floats, spread: Spread, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends around coefficients, where noise moves each by `factors` times a unit combination."""
    width = np.abs(factors) * spread.half_width(level)
    return coefficients - width, coefficients + width
