"""Rational numbers that certainly lie on one side of a real one, and very near."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING

from dpmine.exact.reals import Ball, working_precision

if TYPE_CHECKING:
    from collections.abc import Callable


def above(formula: Callable[[], Ball], bits: int) -> Fraction:
    """Not below the real number that the formula, computed with so many bits, stands for.

    Raises OverflowError where the ball has no finite end.
    """
    with working_precision(bits):
        return _rational(formula().upper())


def below(formula: Callable[[], Ball], bits: int) -> Fraction:
    """Not above the real number; as `above`."""
    with working_precision(bits):
        return _rational(formula().lower())


def decimal_above(value: Fraction, digits: int) -> Fraction:
    """The least decimal number of so many significant digits that is not below `value` > 0."""
    unit = Fraction(10) ** (power_below(value, 10) + 1 - digits)
    return ceil(value / unit) * unit


def power_below(value: Fraction, base: int = 2) -> int:
    """The largest k with base^k ≤ `value`, for `value` > 0 and `base` ≥ 2. Raises ValueError for other values."""
    if value <= 0:
        raise ValueError("only numbers above 0 lie above a power")
    bits = value.numerator.bit_length() - value.denominator.bit_length()  # value < 2^(bits + 1)
    power = ceil((bits + 1) / log2(base))
    while Fraction(base) ** power > value:
        power -= 1
    return power


def _rational(end: Ball) -> Fraction:
    if not end.is_finite():
        raise OverflowError("the number is too large to be written out")
    mantissa, power = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)
