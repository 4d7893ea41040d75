"""The three noise distributions, by their quantiles.

A quantile takes t = −ln q > 0 instead of q, because the largest of M independent draws sits at q = U^{1/M}, that is at
t = E/M for a standard exponential E: one random real stands for the maximum of any number of draws, 10^30 included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from flint import arb

from dpmine.exact.reals import Ball, Formula, Real, StandardExponential, Uniform, exact_ball

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.exact.bits import BitSource


class Noise(Protocol):
    """A continuous noise distribution on the real line."""

    @property
    def scale(self) -> Fraction:
        """The scale parameter b, in units of the score."""
        ...

    def quantile(self, t: Ball) -> Ball:
        """F^{-1}(e^{−t}) for t > 0; decreasing in t. Balls of t that touch 0 give balls that settle nothing."""
        ...


@dataclass(frozen=True, slots=True)
class GumbelNoise:
    """F(x) = exp(−e^{−x/b})."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """−b ln t."""
        return -exact_ball(self.scale) * t.log()


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """F(x) = 1 − e^{−x/b}, x ≥ 0."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """−b ln(1 − e^{−t})."""
        return -exact_ball(self.scale) * (-(-t).expm1()).log()


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Density e^{−|x|/b}/(2b)."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """B ln(2q) below the median, −b ln(2(1 − q)) above it, the hull of both where the ball holds the median."""
        half = arb.const_log2()
        below = half - t
        if t > half:
            return exact_ball(self.scale) * below
        above = -(-2 * (-t).expm1()).log()
        if t < half:
            return exact_ball(self.scale) * above
        return exact_ball(self.scale) * below.union(above)


def draw(noise: Noise, *, bits: BitSource) -> Real:
    """One draw of the noise."""
    return Formula(noise.quantile, StandardExponential(bits=bits))


def laplace_cdf(y: Ball) -> Ball:
    """F(y) of the standard Laplace distribution, relatively accurate far below the median."""
    below = y.exp() / 2
    if y < 0:
        return below
    above = 1 - (-y).exp() / 2
    return above if y > 0 else below.union(above)


def laplace_log_survival(y: Ball) -> Ball:
    """ln(1 − F(y)) of the standard Laplace distribution, relatively accurate everywhere."""
    below = (-(y.exp() / 2)).log1p()
    if y < 0:
        return below
    above = -y - arb.const_log2()
    return above if y > 0 else below.union(above)


def standard_normals(count: int, *, bits: BitSource) -> list[Real]:
    """Independent standard normal reals, in pairs. Source: Box & Muller 1958."""
    normals: list[Real] = []
    while len(normals) < count:
        radius = Formula(lambda half_square: (2 * half_square).sqrt(), StandardExponential(bits=bits))
        angle = Uniform(bits=bits)
        normals.append(Formula(lambda r, turn: r * (2 * turn).cos_pi(), radius, angle))
        normals.append(Formula(lambda r, turn: r * (2 * turn).sin_pi(), radius, angle))
    return normals[:count]
