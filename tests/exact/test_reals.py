from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from support.adversary import PlayedBits

from dpmine.exact.reals import (
    GUARD_BITS,
    Constant,
    Formula,
    Real,
    StandardExponential,
    Uniform,
    exact_ball,
    working_precision,
)

WIDTHS = [1, 2, 3, 5, 8, 16, 32, 64, 128, 512]


def balls(real: Real, widths: list[int]) -> list[Any]:
    enclosures = []
    for width in widths:
        with working_precision(width + GUARD_BITS):
            enclosures.append(real.ball(width))
    return enclosures


@pytest.mark.parametrize("played", [0b1, 0b10110011, 0b01111111])
def test_balls_of_a_uniform_close_in_on_one_number(played: int) -> None:
    enclosures = balls(Uniform(bits=PlayedBits(played, 8)), WIDTHS)
    assert all(ball.overlaps(enclosures[-1]) for ball in enclosures)
    assert [float(ball.rad()) for ball in enclosures] == pytest.approx([2.0 ** (-w - 1) for w in WIDTHS], rel=1e-6)
    assert float(enclosures[-1].mid()) == pytest.approx((played + 2 / 3) / 256)


def test_balls_of_an_exponential_close_in_on_one_number() -> None:
    enclosures = balls(StandardExponential(bits=PlayedBits(0b1011, 4)), WIDTHS)
    final = enclosures[-1]
    assert float(final.mid()) == pytest.approx(-math.log((11 + 2 / 3) / 16))
    assert float(final.rad()) < 1e-100
    assert all(ball.overlaps(final) for ball in enclosures)


def test_a_uniform_never_forgets() -> None:
    """A narrower question after a wider one is about the same number."""
    uniform = Uniform(bits=PlayedBits(0b11010, 5))
    wide, narrow = balls(uniform, [200, 3])
    assert narrow.overlaps(wide)
    again = balls(uniform, [200])[0]
    assert again.mid() == wide.mid()


def test_parts_are_shared() -> None:
    """x − x is 0 only if both x are the same real."""
    x = Uniform(bits=PlayedBits(5, 3))
    difference = Formula(lambda a, b: a - b, x, x)
    ball = balls(difference, [256])[0]
    assert ball.contains(0)
    assert float(ball.rad()) < 1e-70


def test_formula_is_continuous_in_the_width() -> None:
    x = Uniform(bits=PlayedBits(0b100, 3))
    square = Formula(lambda a, b: a * a + b, x, Constant(Fraction(1, 3)))
    enclosures = balls(square, WIDTHS)
    radii = [float(ball.rad()) for ball in enclosures]
    assert radii == sorted(radii, reverse=True)
    assert all(ball.overlaps(enclosures[-1]) for ball in enclosures)


def test_constant_tightens_with_the_precision() -> None:
    third = Constant(Fraction(1, 3))
    narrow, wide = balls(third, [10, 500])
    assert float(wide.rad()) < float(narrow.rad())
    with working_precision(600):
        assert narrow.overlaps(exact_ball(Fraction(1, 3)))
        assert wide.overlaps(exact_ball(Fraction(1, 3)))
