"""Rational bounds on real numbers."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import isqrt

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

from dpmine.exact.reals import above, below, decimal_above


@every("bits", [64, 128, 1088])
@every("value", [2, 3, 5, 10**40 + 1])
def test_bounds_lie_on_their_side_and_near(value: int, bits: int) -> None:
    """Of a square root, whose side a square decides exactly."""
    high, low = above(lambda: arb(value).sqrt(), bits), below(lambda: arb(value).sqrt(), bits)
    assert low**2 < value < high**2
    assert high - low <= Fraction(8 * (isqrt(value) + 1), 2**bits)


def test_whole_numbers_are_themselves() -> None:
    assert above(lambda: arb(7), 64) == below(lambda: arb(7), 64) == 7


@pytest.mark.parametrize("bound", [above, below])
def test_what_is_not_finite_is_refused(bound: object) -> None:
    with pytest.raises(OverflowError):
        bound(lambda: arb("inf"), 64)  # type: ignore[operator]
    with pytest.raises(OverflowError):
        bound(lambda: arb(1) / arb(0), 64)  # type: ignore[operator]


@every(
    ("value", "digits", "decimal"),
    [
        ("1", 6, "1"),
        ("1/3", 6, "0.333334"),
        ("2/3", 1, "0.7"),
        ("0.99999999", 6, "1"),
        ("999999.5", 6, "1000000"),
        ("0.000123456", 6, "0.000123456"),
        ("0.0001234561", 6, "0.000123457"),
        ("123456789", 3, "124000000"),
        ("1000000", 1, "1000000"),
        ("1000001", 1, "2000000"),
        ("1e-90", 6, "1e-90"),
    ],
)
def test_decimals_above(value: str, digits: int, decimal: str) -> None:
    assert decimal_above(Fraction(value), digits) == Fraction(decimal)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(1, 12))
def test_decimals_above_are_the_least(value: Fraction, digits: int) -> None:
    """Beside the decimal module, which rounds a quotient to so many digits by itself."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    expected = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    assert decimal_above(value, digits) == Fraction(expected)
