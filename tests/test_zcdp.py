"""What ρ and (ε, δ) say about each other: against reference values, and against decimals of 60 digits."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from support.cases import every
from support.datasets import shared_path

from dpmine.errors import BadParameter
from dpmine.zcdp import delta_at, epsilon_at, rho_at

if TYPE_CHECKING:
    from collections.abc import Callable

CLOSE = Fraction(1, 10**12)
DELTAS = [("0.01", "1", "1.664113977387994537e-13"), ("0.1", "1", "0.00893324577181836183")]
EPSILONS = [("0.01", "1e-6", "0.62169265455960249502"), ("1", "1e-9", "9.5214636717922322495")]
RHOS = [("1", "1e-6", "0.024355970359538372894"), ("3", "1e-5", "0.22424916824634534107")]
SLACKS = [Fraction(1, 10**n) for n in (1, 6, 30)]
LOSSES = [Fraction(n) for n in ("1e-4", "0.1", "1", "10", "100")]


def close(found: Fraction, wanted: str) -> bool:
    return abs(found - Fraction(wanted)) <= CLOSE * Fraction(wanted)


def least(cost: Callable[[Decimal], Decimal]) -> Fraction:
    """The least cost(α) over ln(α − 1) in [−40, 60], by thirds from the best of a grid; 60 digits."""
    with localcontext() as context:
        context.prec = 60

        def of(t: Decimal) -> Decimal:
            return cost(1 + t.exp())

        best = min((Decimal(n) / 4 for n in range(-160, 241)), key=of)
        low, high = best - 1, best + 1
        for _ in range(150):
            third = (high - low) / 3
            low, high = (low, high - third) if of(low + third) < of(high - third) else (low + third, high)
        return Fraction(of(low))


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@every(("rho", "epsilon", "delta"), DELTAS)
def test_delta(rho: str, epsilon: str, delta: str) -> None:
    assert close(delta_at(Fraction(rho), Fraction(epsilon)), delta)


@every(("rho", "delta", "epsilon"), EPSILONS)
def test_epsilon(rho: str, delta: str, epsilon: str) -> None:
    assert close(epsilon_at(Fraction(rho), Fraction(delta)), epsilon)


@every(("epsilon", "delta", "rho"), RHOS)
def test_rho(epsilon: str, delta: str, rho: str) -> None:
    assert close(rho_at(Fraction(epsilon), Fraction(delta)), rho)


def test_all_reference_values() -> None:
    known = json.loads(shared_path("vectors/zcdp.json").read_text())
    for name, convert, first, second in [
        ("delta", delta_at, "rho", "epsilon"),
        ("epsilon", epsilon_at, "rho", "delta"),
        ("rho", rho_at, "epsilon", "delta"),
    ]:
        assert known[name]
        for row in known[name]:
            assert close(convert(Fraction(row[first]), Fraction(row[second])), row[name]), row


@every("rho", LOSSES[:3])
@every("delta", SLACKS)
def test_epsilon_is_on_the_safe_side(rho: Fraction, delta: Fraction) -> None:
    def cost(a: Decimal) -> Decimal:
        return a * decimal(rho) - (a * decimal(delta)).ln() / (a - 1) + (1 - 1 / a).ln()

    true = max(Fraction(0), least(cost))
    assert true * (1 - CLOSE**3) <= epsilon_at(rho, delta) <= true * (1 + CLOSE)


@every("epsilon", LOSSES)
@every("delta", SLACKS)
def test_rho_is_on_the_safe_side(epsilon: Fraction, delta: Fraction) -> None:
    def cost(a: Decimal) -> Decimal:
        return -(decimal(epsilon) + (a * decimal(delta)).ln() / (a - 1) - (1 - 1 / a).ln()) / a

    true = -least(cost)
    assert true * (1 - CLOSE) <= rho_at(epsilon, delta) <= true * (1 + CLOSE**3)


@every("epsilon", LOSSES)
@every("delta", SLACKS)
def test_there_and_back(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_at(epsilon, delta)
    assert rho > 0
    assert delta * (1 - CLOSE) <= delta_at(rho, epsilon) <= delta * (1 + CLOSE)
    assert epsilon_at(rho, delta) <= epsilon * (1 + CLOSE)


def test_more_noise_is_more_private() -> None:
    rhos = [Fraction(n, 50) for n in range(1, 30)]
    assert all(a < b for a, b in pairwise(delta_at(rho, Fraction(1)) for rho in rhos))
    assert all(a < b for a, b in pairwise(epsilon_at(rho, Fraction(1, 10**6)) for rho in rhos))
    assert all(a < b for a, b in pairwise(rho_at(rho, Fraction(1, 10**6)) for rho in rhos))


def test_nothing_costs_nothing() -> None:
    assert delta_at(Fraction(0), Fraction(1)) == epsilon_at(Fraction(0), Fraction(1, 2)) == 0


@every("rho", [Fraction(1, 10**9), Fraction(1), Fraction(10**6)])
@every("other", [Fraction(1, 10**9), Fraction(1), Fraction(10**6)])
def test_extremes(rho: Fraction, other: Fraction) -> None:
    delta = delta_at(rho, other)
    assert 0 < delta <= 1
    assert delta.denominator.bit_length() < 10**5
    for slack in (Fraction(1, 10**300), Fraction(999, 1000)):
        assert epsilon_at(rho, slack) >= 0
        assert rho_at(other, slack) >= 0


@every("delta", [Fraction(0), Fraction(1), Fraction(-1)])
def test_bad_deltas(delta: Fraction) -> None:
    with pytest.raises(BadParameter, match="delta"):
        epsilon_at(Fraction(1), delta)
    with pytest.raises(BadParameter, match="delta"):
        rho_at(Fraction(1), delta)


def test_bad_losses() -> None:
    with pytest.raises(BadParameter, match="rho"):
        delta_at(Fraction(-1), Fraction(1))
    with pytest.raises(BadParameter, match="epsilon"):
        delta_at(Fraction(1), Fraction(0))
    with pytest.raises(BadParameter, match="epsilon"):
        rho_at(Fraction(0), Fraction(1, 2))
