"""Decisions about reals: each refines its balls until the answer is certain.

An undecided comparison of balls is False in both directions, so `not (x < y)` is never read as `x ≥ y`.
Requires, everywhere: the numbers compared are not equal (with continuous noise, equality has probability 0). Two equal
constants would be compared for ever: compare exact scores as rationals first.
"""

from __future__ import annotations

from itertools import accumulate
from math import inf, nextafter
from typing import TYPE_CHECKING

from dpmine.exact.reals import GUARD_BITS, Ball, Real, Uniform, working_precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource


def less_than(x: Real, y: Real, *, bits: BitSource) -> bool:
    """Whether x < y."""
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            left, right = x.ball(width), y.ball(width)
            if left < right:
                return True
            if right < left:
                return False


def float_bounds(x: Real, *, bits: BitSource) -> tuple[float, float]:
    """Two floats with x certainly between them, from the first bits alone; infinite where these settle nothing."""
    width = next(bits.widths())
    with working_precision(width + GUARD_BITS):
        ball = x.ball(width)
        if not ball.is_finite():
            return -inf, inf
        return nextafter(float(ball.lower()), -inf), nextafter(float(ball.upper()), inf)


def argmax(reals: Sequence[Real], *, bits: BitSource) -> int:
    """Index of the largest of at least one real; only those that can still be the largest are refined."""
    contenders = list(range(len(reals)))
    widths = bits.widths()
    while True:
        width = next(widths)
        if len(contenders) == 1:
            return contenders[0]
        with working_precision(width + GUARD_BITS):
            contenders = _not_beaten(contenders, [reals[i].ball(width) for i in contenders])


def floor(x: Real, *, bits: BitSource) -> int:
    """The largest integer ≤ x; x must not be an integer itself."""
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            whole = x.ball(width).floor().unique_fmpz()
            if whole is not None:
                return int(whole)


def floors_of_sums(terms: Sequence[Real], *, bits: BitSource) -> list[int]:
    """The floors of x_1, x_1 + x_2, x_1 + x_2 + x_3 and so on; none of these sums may be an integer.

    One loop over all of them: as formulas of each other, a thousand sums would be a thousand calls deep.
    """
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            sums = accumulate(term.ball(width) for term in terms)
            wholes = [total.floor().unique_fmpz() for total in sums]
        if None not in wholes:
            return [int(whole) for whole in wholes]


def happens(probability: Real, *, bits: BitSource) -> bool:
    """A Bernoulli draw."""
    return less_than(Uniform(bits=bits), probability, bits=bits)


def uniform_below(count: int, *, bits: BitSource) -> int:
    """A uniform integer in [0, count), count ≥ 1, by rejection: fewer than two attempts on average."""
    length = (count - 1).bit_length()
    while True:
        value = bits.take(length)
        if value < count:
            return value


def _not_beaten(indices: list[int], balls: list[Ball]) -> list[int]:
    """The indices whose ball does not certainly lie below another one; a ball of NaN is never certain."""
    leader = balls[0]
    for ball in balls:
        if leader < ball or not leader.is_finite():
            leader = ball
    return [index for index, ball in zip(indices, balls, strict=True) if not ball < leader]
