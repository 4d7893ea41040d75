"""Private searches for a cut: how a margin mechanism finds the number ℓ of candidates it draws among.

Ranks count candidates from 1; q_ℓ = c(1) − c(ℓ+1) is the margin of the top ℓ. Given one conditioning variable X the
search stops at each ℓ independently, with a hazard that depends on (X − (T(ℓ) − q_ℓ)) / scale alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.laws.profile import FloatArray

TAIL = 80.0  # e^-80 of the conditioning variable's law may be left out
_CERTAIN = 750.0  # e^-750 is 0 in float64; an infinity would make nan in products with 0


class Hazard(Enum):
    """The fresh noise of every test, as the chance that the test passes `x` noise scales above its threshold."""

    LAPLACE = auto()
    """Two-sided noise: the Laplace distribution function."""
    EXPONENTIAL = auto()
    """One-sided noise in favour of stopping: e^min(x, 0)."""

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The hazard p and −ln(1 − p), elementwise; the latter is at least 700 where p = 1."""
        if self is Hazard.EXPONENTIAL:
            p = np.exp(np.minimum(x, -1e-15))
            return p, np.where(x < 0, -np.log1p(-p), _CERTAIN)
        tail = np.exp(-np.abs(x)) / 2
        below = x < 0
        return np.where(below, tail, 1 - tail), np.where(below, -np.log1p(-tail), math.log(2) + np.minimum(x, _CERTAIN))


class Conditioning(Protocol):
    """The law of the conditioning variable X: a density, smooth but at 0, that varies on a scale."""

    @property
    def scale(self) -> float:
        """The distance over which the density changes by a factor e."""

    @property
    def support(self) -> tuple[float, float]:
        """An interval that holds all but e^-TAIL of the mass, give or take a small factor."""

    def density(self, x: FloatArray) -> FloatArray:
        """The density, elementwise."""


@dataclass(frozen=True)
class LaplacePair:
    """X = Z − G with Z ~ Lap(inner) and G ~ Lap(2 · inner), independent."""

    inner: float

    @property
    def scale(self) -> float:
        """The wider of the two scales."""
        return 2 * self.inner

    @property
    def support(self) -> tuple[float, float]:
        """Both tails."""
        return -TAIL * self.scale, TAIL * self.scale

    def density(self, x: FloatArray) -> FloatArray:
        """The convolution of the two Laplace densities."""
        y = np.abs(x) / self.inner
        return np.asarray((2 * np.exp(-y / 2) - np.exp(-y)) / (6 * self.inner))


@dataclass(frozen=True)
class NegativeExponential:
    """X = −ρ with ρ ~ Exp(scale)."""

    scale: float

    @property
    def support(self) -> tuple[float, float]:
        """The lower tail, up to 0."""
        return -TAIL * self.scale, 0.0

    def density(self, x: FloatArray) -> FloatArray:
        """The density at x ≤ 0."""
        return np.asarray(np.exp(x / self.scale) / self.scale)


@dataclass(frozen=True)
class Search:
    """A search that stops at ℓ with hazard((X − T(ℓ) + q_ℓ) / scale), independently for every ℓ given X.

    Requires: `threshold` T increases and, in units of `scale`, at least as fast as ln(ℓ(ℓ+1)): what is left to happen
    in a run of equal scores after rank ℓ is then at most (ℓ+1) times the hazard there.
    """

    threshold: Callable[[FloatArray], FloatArray]
    hazard: Hazard
    scale: float
    conditioning: Conditioning
