"""The noise vector of both perturbations: density proportional to e^{−‖r‖₂}.

Its norm is Gamma(d, 1), a sum of d standard exponentials; its direction is uniform, that of d normal variables. Every
coordinate is an exact real, known as closely as asked for. So floating point enters in one place only, `floats`, which
says by how much; that bound goes into the solver's tolerance, which the guarantee covers. What is released is
`rounded_sum`: the exact real sum, rounded to a public grid, which is post-processing of the continuous mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial, reduce
from operator import add, mul
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from dpmine.exact.noise import standard_normals
from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Formula,
    Real,
    StandardExponential,
    exact_ball,
    floor,
    working_precision,
)

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.supervised import Floats

RELATIVE_ERROR = 2.0**-50
"""Bound on ‖floats − R‖/‖floats‖ of `NoiseVector.floats`."""


class NoiseVector:
    """One draw of R ∈ ℝ^d with density proportional to e^{−‖R‖₂}: the same numbers however often they are asked for.

    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithms 1 and 2.
    """

    def __init__(self, dimension: int, *, bits: BitSource) -> None:
        """Requires: dimension ≥ 1. Bits are read here and, where more digits are needed, later."""
        self._bits = bits
        self.norm: Real = Formula(_sum, *[StandardExponential(bits=bits) for _ in range(dimension)])
        normals = standard_normals(dimension, bits=bits)
        stretch = Formula(_stretch, self.norm, *normals)
        self.coordinates: tuple[Real, ...] = tuple(Formula(mul, normal, stretch) for normal in normals)

    def floats(self) -> tuple[Floats, float]:
        """The coordinates as float64, and a bound on the distance to the exact R: at most `RELATIVE_ERROR` ‖floats‖."""
        widths = self._bits.widths()
        while True:
            width = next(widths)
            with working_precision(width + GUARD_BITS):
                balls = [coordinate.ball(width) for coordinate in self.coordinates]
            middles = np.array([float(ball.mid()) for ball in balls])
            norm = float(np.linalg.norm(middles))
            error = 2.0 * sum(float(ball.rad()) for ball in balls) + 2.0**-52 * norm
            if error <= RELATIVE_ERROR * norm:
                return middles, error

    def rounded_sum(self, origin: Floats, scale: Fraction, grid: Fraction) -> Floats:
        """`origin` + `scale`·R, each coordinate rounded exactly to the nearest multiple of `grid` (a power of two)."""
        half = Fraction(1, 2)  # the floor of a number plus 1/2 is the nearest whole number
        sums = [
            floor(Formula(partial(_affine, Fraction(float(start)) / grid + half, scale / grid), noise), bits=self._bits)
            for start, noise in zip(origin, self.coordinates, strict=True)
        ]
        return np.array([float(whole * grid) for whole in sums])


def _affine(shift: Fraction, factor: Fraction, noise: Ball) -> Ball:
    return exact_ball(shift) + exact_ball(factor) * noise


def _sum(*parts: Ball) -> Ball:
    return reduce(add, parts)


def _stretch(norm: Ball, *normals: Ball) -> Ball:
    """What the normals are multiplied by to have that norm."""
    return norm / _sum(*[normal * normal for normal in normals]).sqrt()


@lru_cache(maxsize=1024)
def norm_quantile(dimension: int, failure: Fraction) -> float:
    """The quantile r of Gamma(dimension, 1), rounded up: P(‖R‖ > r) ≤ `failure`.

    Requires: 0 < failure < 1. By bisection on the regularised upper incomplete gamma function in ball arithmetic.
    """
    with working_precision(192):
        target, shape = exact_ball(failure), exact_ball(dimension)

        def suffices(radius: float) -> bool:
            return bool(arb(radius).gamma_upper(shape, regularized=True) < target)

        low, high = 0.0, 1.0
        while not suffices(high):
            high *= 2.0
        while high - low > high * 2.0**-20:
            middle = (low + high) / 2.0
            low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
