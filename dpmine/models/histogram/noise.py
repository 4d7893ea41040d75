"""Laplace noise on a public dyadic grid, exact in law.

Counts are whole, so a count plus the rounded noise is the rounded noisy count: post-processing, whatever the grid.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.exact.decisions import floor
from dpmine.exact.noise import LaplaceNoise, draw
from dpmine.exact.reals import Formula, exact_ball

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

GRID_BITS = 20
GRID = Fraction(1, 2**GRID_BITS)
"""The step of the noise, in records."""


def rounded_laplace(scale: Fraction, *, bits: BitSource) -> int:
    """Lap(scale) rounded to the nearest multiple of the grid, in steps of the grid.

    Law: Pr[k] = F((k + 1/2)g/scale) − F((k − 1/2)g/scale), F the standard Laplace distribution function, g the grid.
    """
    noise = draw(LaplaceNoise(scale / GRID), bits=bits)
    return floor(Formula(lambda ball: ball + exact_ball(Fraction(1, 2)), noise), bits=bits)
