"""Rational bounds on real numbers."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import pytest
from flint import arb

from dpmine.exact.rounding import above, below


@pytest.mark.parametrize("bits", [64, 128, 1088])
@pytest.mark.parametrize("value", [2, 3, 5, 10**40 + 1])
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
