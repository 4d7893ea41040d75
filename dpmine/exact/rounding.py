"""Rational numbers that certainly lie on one side of a real one, and very near."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from dpmine.exact.balls import Ball, working_precision

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
    unit = Fraction(10) ** (_decimal_power(value) + 1 - digits)
    return ceil(value / unit) * unit


def _decimal_power(value: Fraction) -> int:
    """The largest k with 10^k ≤ value."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _rational(end: Ball) -> Fraction:
    if not end.is_finite():
        raise OverflowError("the number is too large to be written out")
    mantissa, power = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)
