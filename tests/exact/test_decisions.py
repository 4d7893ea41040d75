from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from flint import arb
from support.adversary import CountingBits
from support.cases import every
from support.tapes import assert_law, enumerate_law

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import (
    Constant,
    Formula,
    Real,
    StandardExponential,
    Uniform,
    argmax,
    float_bounds,
    floor,
    floors_of_sums,
    less_than,
    uniform_below,
    uniform_subset,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource


class Vague(Real):
    """A number that shows nothing useful until `patience` enclosures were asked for."""

    def __init__(self, value: Fraction | int, patience: int, fog: Callable[[], Any]) -> None:
        super().__init__()
        self._value = Constant(value)
        self._patience = patience
        self._fog = fog
        self.asked = 0

    def _enclosure(self, width: int) -> Any:
        self.asked += 1
        return self._value.ball(width) if self.asked > self._patience else self._fog()


FOGS: dict[str, Callable[[], Any]] = {
    "nan": lambda: arb("nan"),
    "whole line": lambda: arb(0, arb("inf")),
    "wide": lambda: arb(0, 1000),
}
BY_FOG = pytest.mark.parametrize("fog", FOGS)


@BY_FOG
@every(("left", "right"), [(1, 2), (2, 1), (Fraction(1, 3), Fraction(3333, 10_000))])
def test_undecided_is_never_read_as_decided(fog: str, left: Fraction, right: Fraction) -> None:
    x, y = Vague(left, 3, FOGS[fog]), Vague(right, 2, FOGS[fog])
    assert less_than(x, y, bits=SystemBits()) == (left < right)
    assert x.asked == 4


@BY_FOG
@every("winner", range(3))
def test_argmax_keeps_what_it_cannot_exclude(fog: str, winner: int) -> None:
    values = [5, 5, 5]
    values[winner] = 6
    for patient in range(3):
        reals = [Vague(value - i * Fraction(1, 9), 3 * (i == patient), FOGS[fog]) for i, value in enumerate(values)]
        assert argmax(reals, bits=SystemBits()) == winner


@BY_FOG
def test_floor_waits(fog: str) -> None:
    x = Vague(Fraction(-7, 2), 3, FOGS[fog])
    assert floor(x, bits=SystemBits()) == -4


@every("distance", [1, 60, 64, 130, 700])
def test_close_numbers_are_told_apart(distance: int) -> None:
    x, y = Constant(Fraction(1, 3)), Constant(Fraction(1, 3) + Fraction(1, 2**distance))
    assert less_than(x, y, bits=SystemBits())
    assert not less_than(y, x, bits=SystemBits())
    assert argmax([x, y, x], bits=SystemBits()) == 1


def test_argmax_of_one_asks_for_nothing() -> None:
    bits = CountingBits()
    assert argmax([Uniform(bits=bits)], bits=bits) == 0
    assert bits.taken == 0


@every("value", [0.5, -0.5, 10**30 + 0.0, -(10**30), 7.999])
def test_floor_of_constants(value: float) -> None:
    exact = Fraction(value) + Fraction(1, 10**40)
    assert floor(Constant(exact), bits=SystemBits()) == math.floor(exact)


def test_floors_of_sums_are_floors() -> None:
    constants = [Constant(Fraction(x, 7)) for x in (10, -25, 3, 300)]
    assert floors_of_sums(constants, bits=SystemBits()) == [1, -3, -2, 41]
    assert floors_of_sums(constants[:1], bits=SystemBits()) == [floor(constants[0], bits=SystemBits())]
    assert floors_of_sums([], bits=SystemBits()) == []


def test_floor_right_beside_an_integer() -> None:
    for n in (-(2**200), -1, 0, 1, 2**200):
        assert floor(Constant(n + Fraction(1, 2**300)), bits=SystemBits()) == n
        assert floor(Constant(n - Fraction(1, 2**300)), bits=SystemBits()) == n - 1


def test_law_of_less_than() -> None:
    def compare(bits: BitSource) -> bool:
        return less_than(Uniform(bits=bits), Uniform(bits=bits), bits=bits)

    assert_law(compare, {True: Fraction(1, 2), False: Fraction(1, 2)}, depth=16, undecided=0.02)


def test_law_of_exponential_comparison() -> None:
    def compare(bits: BitSource) -> bool:
        twice = Formula(lambda e: 2 * e, StandardExponential(bits=bits))
        return less_than(StandardExponential(bits=bits), twice, bits=bits)

    assert_law(compare, {True: Fraction(2, 3), False: Fraction(1, 3)}, depth=16, undecided=0.05)


def test_law_of_argmax() -> None:
    def winner(bits: BitSource) -> int:
        return argmax([Uniform(bits=bits) for _ in range(3)], bits=bits)

    assert_law(winner, dict.fromkeys(range(3), Fraction(1, 3)), depth=15, undecided=0.15)


def test_law_of_argmax_of_unequal_exponentials() -> None:
    """E_1 against E_2/2: the first is larger with probability 2/3."""

    def winner(bits: BitSource) -> int:
        half = Formula(lambda e: e / 2, StandardExponential(bits=bits))
        return argmax([StandardExponential(bits=bits), half], bits=bits)

    assert_law(winner, {0: Fraction(2, 3), 1: Fraction(1, 3)}, depth=16, undecided=0.05)


def test_law_of_floor() -> None:
    """⌊E⌋ is geometric."""

    def jump(bits: BitSource) -> int:
        return min(floor(StandardExponential(bits=bits), bits=bits), 5)

    stop = 1 - math.exp(-1)
    law = {k: stop * math.exp(-k) for k in range(5)} | {5: math.exp(-5)}
    assert_law(jump, law, depth=12, undecided=0.02)


@every("count", range(1, 10))
def test_uniform_below_is_exactly_uniform(count: int) -> None:
    masses, _ = enumerate_law(lambda bits: uniform_below(count, bits=bits), depth=12)
    assert set(masses) == set(range(count))
    assert len(set(masses.values())) == 1


@pytest.mark.parametrize("count", [2**64, 10**30, 2**128 + 1])
def test_uniform_below_large_counts(count: int) -> None:
    bits = CountingBits()
    draws = [uniform_below(count, bits=bits) for _ in range(300)]
    assert all(0 <= value < count for value in draws)
    assert max(draws) > count * 9 // 10
    assert min(draws) < count // 10
    assert bits.taken <= 300 * 2.5 * count.bit_length()


@every(("size", "count"), [(4, 2), (3, 0), (3, 3), (5, 1)])
def test_uniform_subset_is_exactly_uniform(size: int, count: int) -> None:
    sets = list(combinations(range(size), count))
    law = dict.fromkeys(sets, 1 / len(sets))
    assert_law(lambda bits: tuple(uniform_subset(size, count, bits=bits)), law, depth=12, undecided=0.1)


def mean_bits(decide: Callable[[CountingBits], object], *, by_bit: bool, draws: int = 400) -> float:
    bits = CountingBits(by_bit=by_bit)
    for _ in range(draws):
        decide(bits)
    return bits.taken / draws


# Bit by bit, the number of bits is 1 or 2 each more than a geometric variable: 400 draws stay below these bounds
# but for a chance of less than 1e-9.


def test_a_comparison_costs_few_bits() -> None:
    assert mean_bits(lambda bits: less_than(Uniform(bits=bits), Constant(Fraction(1, 3)), bits=bits), by_bit=True) < 4
    assert mean_bits(lambda bits: less_than(Uniform(bits=bits), Uniform(bits=bits), bits=bits), by_bit=True) < 8
    assert mean_bits(lambda bits: floor(StandardExponential(bits=bits), bits=bits), by_bit=True) < 8


def test_one_attempt_is_enough_for_the_system_source() -> None:
    """64 bits decide but for a chance of about 2^-60."""
    assert (
        mean_bits(lambda bits: less_than(Uniform(bits=bits), Constant(Fraction(1, 3)), bits=bits), by_bit=False) == 64
    )
    assert (
        mean_bits(lambda bits: argmax([StandardExponential(bits=bits) for _ in range(5)], bits=bits), by_bit=False)
        == 320
    )


@every("value", [Fraction(1, 3), Fraction(-10, 7), Fraction(0), Fraction(2**70 + 1, 2**3), 10**400, -(10**400)])
def test_float_bounds_enclose(value: Fraction | int) -> None:
    low, high = float_bounds(Constant(value), bits=SystemBits())
    assert low < value < high
    assert value in {10**400, -(10**400)} or high - low <= 4e-15 * max(1, abs(float(value)))


def test_float_bounds_of_what_is_not_known() -> None:
    unknown = Formula(lambda ball: (ball - ball).log(), Constant(1))
    assert float_bounds(unknown, bits=SystemBits()) == (-math.inf, math.inf)
