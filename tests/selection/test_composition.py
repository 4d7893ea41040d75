"""The budgets of rounds, beside the theorems in 60 digits and beside all answers of the worst channel."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from inspect import unwrap
from itertools import product
from math import exp, floor, log1p, log10
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.top_k import delta_between, leaky_responses

from dpmine.errors import BadParameter
from dpmine.selection import composition
from dpmine.selection.composition import Rounds, approximate_rounds, bounded_range_rounds, pure_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = [bounded_range_rounds, pure_rounds, approximate_rounds]
PURE = [bounded_range_rounds, pure_rounds]
POINTS = [
    (10, "1", "1e-6"),
    (100, "1", "1e-6"),
    (1000, "0.1", "1e-9"),
    (3, "1", "0.1"),
    (2, "0.01", "0.3"),
    (50, "20", "1e-3"),
    (10_000, "1e-9", "1e-300"),
    (100, "1e-9", "1e-6"),
    (20, "1e6", "0.9"),
    (10_000, "1e6", "1e-300"),
    (5, "1e-30", "1e-40"),
    (30_000, "1", "1e-6"),
]
TIGHT = 1 + Fraction(3, 10**5)
"""Rounding down to six digits costs less than a factor of 1.00001."""


def budget(rounds: Callable[..., Rounds], count: int, epsilon: str, delta: str) -> Rounds:
    return rounds(count, Fraction(epsilon), Fraction(delta))


def bounded_range_delta(count: int, epsilon: Fraction, round_epsilon: Fraction) -> float:
    """Ln δ of the conversion at the best of many orders α, by floats and a golden section of its own."""
    rho, target = float(count * round_epsilon**2 / 8), float(epsilon)

    def log_delta(t: float) -> float:  # α = 1 + e^t
        order = 1 + exp(t)
        log_order = log1p(exp(t))
        return exp(t) * (order * rho - target) - t + order * (t - log_order)

    left, right = -30.0, 75.0
    best = min((left + step * (right - left) / 2000 for step in range(2001)), key=log_delta)
    return min(log_delta(best + step / 20_000) for step in range(-1100, 1101))


def optimal_delta(count: int, epsilon: Fraction, round_epsilon: Fraction) -> Decimal:
    """KOV's sum, in decimals, term by term with binomials of its own."""
    with localcontext() as context:
        context.prec = 60
        context.Emin, context.Emax = -(10**17), 10**17
        step, target = decimal(round_epsilon), decimal(epsilon)
        total, binomial = Decimal(0), 1
        for j in range(count, -1, -1):
            true, false = (j * step).exp(), (target + (count - j) * step).exp()
            total += binomial * max(Decimal(0), true - false)
            binomial = binomial * j // (count - j + 1)
        return total / (1 + step.exp()) ** count


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize(("count", "expected"), [(10, "0.1396"), (100, "0.0441")])
def test_known_budgets(count: int, expected: str) -> None:
    assert round(float(budget(bounded_range_rounds, count, "1", "1e-6").round_epsilon), 4) == float(expected)


@every("rounds", PURE)
@every("count", [1, 2, 7])
def test_pure_rounds_add_up(rounds: Callable[..., Rounds], count: int) -> None:
    """Without δ, and where δ buys nothing, ε is shared out exactly and no δ is charged."""
    shared = Rounds(count, Fraction(1, 3), Fraction(0), Fraction(1, 3 * count), Fraction(0))
    assert rounds(count, Fraction(1, 3), Fraction(0)) == shared
    assert rounds(count, Fraction(1, 3), Fraction(1, 10**30)) == shared


def test_one_approximate_round_has_everything() -> None:
    epsilon, delta = Fraction(1, 3), Fraction(1, 7)
    assert approximate_rounds(1, epsilon, delta) == Rounds(1, epsilon, delta, epsilon, delta)


def test_approximate_rounds_add_up_where_that_is_as_good() -> None:
    epsilon, delta = Fraction(1, 3), Fraction(1, 10**6)
    assert approximate_rounds(4, epsilon, delta) == Rounds(4, epsilon, delta, epsilon / 4, delta / 4)


def test_approximate_rounds_halve_delta() -> None:
    found = budget(approximate_rounds, 100, "1", "1e-6")
    assert (found.delta, found.round_delta) == (Fraction("1e-6"), Fraction("1e-6") / 200)
    assert found.round_epsilon == pure_rounds(100, Fraction(1), Fraction("5e-7")).round_epsilon


@every("rounds", ALL)
@every("point", POINTS)
def test_never_below_basic_composition(rounds: Callable[..., Rounds], point: tuple[int, str, str]) -> None:
    found = budget(rounds, *point)
    basic = found.epsilon / found.count
    assert (found.count, found.epsilon) == (point[0], Fraction(point[1]))
    assert found.round_epsilon == basic or found.round_epsilon >= Fraction(101, 100) * basic
    assert found.delta == Fraction(point[2]) or (found.delta == 0 and found.round_epsilon == basic)


@every("point", POINTS)
def test_bounded_range_rounds_are_the_largest(point: tuple[int, str, str]) -> None:
    found = budget(bounded_range_rounds, *point)
    log_delta = float(Decimal(point[2]).ln())
    if found.delta:
        assert bounded_range_delta(found.count, found.epsilon, found.round_epsilon) <= log_delta + 1e-9 * abs(log_delta)
    larger = TIGHT if found.delta else Fraction(102, 100)
    assert bounded_range_delta(found.count, found.epsilon, found.round_epsilon * larger) > log_delta


@every("point", [point for point in POINTS if point[0] <= 100])
def test_pure_rounds_are_the_largest(point: tuple[int, str, str]) -> None:
    found = budget(pure_rounds, *point)
    assert optimal_delta(found.count, found.epsilon, found.round_epsilon) <= decimal(found.delta)
    larger = TIGHT if found.delta else Fraction(102, 100)
    assert optimal_delta(found.count, found.epsilon, found.round_epsilon * larger) > Decimal(point[2])


@pytest.mark.parametrize("rounds", [pure_rounds, approximate_rounds])
def test_very_many_rounds_are_concentrated(rounds: Callable[..., Rounds]) -> None:
    """ε_0²/2-zCDP is the bounded-range bound at 2ε_0; it gives little less than the optimal theorem."""
    asked = Fraction(1, 10**6) if rounds is pure_rounds else Fraction(2, 10**6)
    found = rounds(10_001, Fraction(1), asked).round_epsilon
    log_delta = float(Decimal("1e-6").ln())
    assert bounded_range_delta(10_001, Fraction(1), 2 * found) <= log_delta + 1e-9
    assert bounded_range_delta(10_001, Fraction(1), 2 * found * TIGHT) > log_delta
    assert Fraction(9, 10) < found / rounds(10_000, Fraction(1), asked).round_epsilon < 1


@settings(max_examples=examples(30))
@given(st.integers(1, 30), st.integers(-90, 60), st.integers(-300, -1))
def test_pure_rounds_are_certainly_private(count: int, epsilon: int, delta: int) -> None:
    """ε from 10^-9 to 10^6, δ from 10^-300 on."""
    asked = Fraction(10) ** delta
    found = pure_rounds(count, Fraction(10 ** (epsilon / 10)), asked)
    if found.delta:
        assert found.delta == asked
        assert optimal_delta(count, found.epsilon, found.round_epsilon) <= decimal(asked)
    else:
        assert found.round_epsilon == found.epsilon / count


@settings(max_examples=examples(40))
@given(st.integers(1, 5), st.floats(0.01, 3), st.floats(0.001, 0.5))
def test_all_answers_of_the_worst_channel(count: int, epsilon: float, delta: float) -> None:
    """Every list of answers, one by one; and the bound is reached."""
    found = approximate_rounds(count, Fraction(epsilon), Fraction(delta))
    assume(found.round_delta < found.delta / count)
    no, yes = (leaky_responses(count, float(found.round_epsilon), float(found.round_delta), bit) for bit in (0, 1))
    assert 0.8 * delta < delta_between(no, yes, epsilon) <= delta


@pytest.mark.parametrize("rounds", ALL)
@settings(max_examples=examples(25))
@given(st.integers(1, 40), st.floats(0.001, 30), st.floats(1e-12, 0.5))
def test_a_larger_budget_never_gives_less(
    rounds: Callable[..., Rounds], count: int, epsilon: float, delta: float
) -> None:
    """Up to the one per cent below which a δ is not spent, and the rounding."""
    least = rounds(count, Fraction(epsilon), Fraction(delta)).round_epsilon * Fraction(99, 100)
    for more in (Fraction(3, 2), Fraction(1001, 1000)):
        assert rounds(count, Fraction(epsilon) * more, Fraction(delta)).round_epsilon >= least
        assert rounds(count, Fraction(epsilon), Fraction(delta) * more).round_epsilon >= least


@pytest.mark.parametrize("rounds", [pure_rounds, approximate_rounds])
def test_what_balls_do_not_certify_is_not_returned(
    rounds: Callable[..., Rounds], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composition, "_certainly_at_most", lambda *_: False)
    found = unwrap(rounds)(64, Fraction(11, 10), Fraction(1, 10**5))
    assert found.round_epsilon == Fraction(11, 640)


@every("rounds", ALL)
@every("point", [(3, "1e100", "0.3"), (10**6, "1e100", "1e-100"), (4, "1e-100", "1e-100")])
def test_extremes_do_not_overflow(rounds: Callable[..., Rounds], point: tuple[int, str, str]) -> None:
    found = budget(rounds, *point)
    assert found.round_epsilon >= found.epsilon / found.count


@every("rounds", ALL)
@every(("count", "epsilon", "delta"), [(0, 1, 0), (1, 0, 0), (1, -1, 0), (1, 1, 1), (1, 1, -1)])
def test_unusable_budgets_are_refused(rounds: Callable[..., Rounds], count: int, epsilon: int, delta: int) -> None:
    with pytest.raises(BadParameter):
        rounds(count, Fraction(epsilon), Fraction(delta))


@every(("rounds", "point"), list(product(ALL, POINTS[:6])))
def test_decimals_are_short(rounds: Callable[..., Rounds], point: tuple[int, str, str]) -> None:
    """Six significant digits, unless ε is shared out."""
    found = budget(rounds, *point)
    if found.round_epsilon != found.epsilon / found.count:
        places = 5 - floor(log10(found.round_epsilon))
        assert (found.round_epsilon * 10**places).denominator == 1
