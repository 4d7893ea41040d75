"""Validation scores that a computer can bound: sums of per-record terms in a public fixed point.

Floating-point sums depend on their order and round by amounts that depend on all records; sums of integers do not.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNIT_BITS = 32
UNIT = Fraction(1, 2**UNIT_BITS)
"""u: the public unit that terms are rounded to."""
_LARGEST = 2**20  # of a bound on the terms: terms in units are then exact in float64


def fixed_point_mean(terms: ArrayLike, *, least: int, most: int) -> Fraction:
    """The mean of the terms, each put into [least, most] and rounded to the nearest multiple of u = 2^−32, exactly.

    Requires: at least one term; a term is a function of one record and of the model alone.
    Bound: replacing one of the m records moves the mean by at most (most − least)/m, rounding included. Models that
    move every term by at most b move it by at most b + u (clipping to the bounds does not add to it); if the terms
    themselves are computed with an error of at most r, by b + 2r + u.
    NaN counts as `least`. Raises BadParameter for no terms, and for bounds that are not −2^20 ≤ least < most ≤ 2^20.
    """
    if not -_LARGEST <= least < most <= _LARGEST:
        raise BadParameter("The bounds of the terms must be whole numbers, least < most, within ±2^20.")
    values = np.asarray(terms, np.float64).ravel()
    if not values.size:
        raise BadParameter("There are no validation records: the score of nothing is not defined.")
    bounded = np.clip(np.nan_to_num(values, nan=least, posinf=most, neginf=least), least, most)
    units = np.rint(np.ldexp(bounded, UNIT_BITS)).astype(np.int64)
    return Fraction(_exact_sum(units), values.size) * UNIT


def _exact_sum(units: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    """The sum, without overflow: the halves of the numbers are summed apart."""
    high, low = units >> UNIT_BITS, units & (2**UNIT_BITS - 1)
    return (int(high.sum()) << UNIT_BITS) + int(low.sum())
