"""Claims: how they are written, and the figures that laws and events show of them."""

from __future__ import annotations

from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from support.cases import every

from dpmine.auditing import Claim
from dpmine.auditing.targets.claims import GRID, largest_visible
from dpmine.errors import BadParameter

KEPT, FLIPPED = np.array([0.75, 0.25]), np.array([0.25, 0.75])
"""Randomised response: ε = ln 3."""


def renyi(left: np.ndarray, right: np.ndarray, order: float) -> float:
    """The divergence of that order, straight from its definition."""
    return float(log(sum(left**order * right ** (1 - order))) / (order - 1))


@every(
    ("text", "shown"),
    [("epsilon=1", "ε = 1, δ = 0"), (" epsilon = 1/2 , delta=1e-6", "ε = 0.5, δ = 1e-06"), ("rho=1/8", "ρ = 0.125")],
)
def test_texts(text: str, shown: str) -> None:
    assert str(Claim.parse(text)) == shown


@every(
    "text", ["", "1", "epsilon", "epsilon=", "epsilon=0", "epsilon=1,epsilon=2", "rho=1,delta=0.1", "epsilon=1,rho=1"]
)
def test_texts_that_are_no_claims(text: str) -> None:
    with pytest.raises(BadParameter):
        Claim.parse(text)


@every(
    "terms",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": -1},
        {"epsilon": 1e9},
        {"epsilon": 1, "delta": 1},
        {"profile": 3},
        {"delta": 0.1},
    ],
)
def test_terms_that_are_no_claims(terms: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        Claim(**terms)


def test_laws_show_epsilon() -> None:
    assert Claim(1).of_laws(KEPT, FLIPPED).measured == pytest.approx(log(3), rel=1e-6)
    with_delta = Claim(1, "0.25").of_laws(KEPT, FLIPPED)
    assert with_delta.measured == pytest.approx(log((0.75 - 0.25) / 0.25), rel=1e-6)
    assert not with_delta.refutes
    assert Claim("1.09").of_laws(KEPT, FLIPPED).refutes


def test_laws_show_rho() -> None:
    """The figure is the largest D_α/α, and never above it."""
    true = max(renyi(KEPT, FLIPPED, order) / order for order in np.geomspace(1.001, 200, 2000))
    assert true * 0.99 < Claim(rho=1).of_laws(KEPT, FLIPPED).measured <= true


def test_a_gaussian_shows_its_rho() -> None:
    """A normal distribution in cells, moved by one standard deviation: ρ = 1/2."""
    cells = np.arange(-9, 10, 0.01)
    left, right = (np.exp(-((cells - mean) ** 2) / 2) for mean in (0, 1))
    shown = Claim(rho="0.5").of_laws(left / left.sum(), right / right.sum())
    assert 0.49 < shown.measured <= 0.5


def test_laws_show_a_profile() -> None:
    claim = Claim(profile=lambda epsilon: max(0.0, 0.4 - epsilon))
    shown = claim.of_laws(KEPT, FLIPPED)
    excess = {epsilon: max(0, 0.75 - exp(epsilon) * 0.25) - max(0, 0.4 - epsilon) for epsilon in GRID.tolist()}
    worst = max(excess, key=lambda epsilon: excess[epsilon])
    assert shown.measured - shown.claimed == pytest.approx(excess[worst])
    assert shown.figure == f"δ at ε = {worst:g}"


def test_runs_show_a_profile_at_one_epsilon() -> None:
    """Corners miss most at different ε. What is printed at an ε is the least δ of all corners there."""
    above, below = np.array([0.75, 0.6]), np.array([0.25, 0.0])
    shown = Claim(profile=lambda epsilon: max(0.0, 0.3 - epsilon)).least(above, below)
    at = float(shown.figure.removeprefix("δ at ε = "))
    deltas = np.maximum(0, above - exp(at) * below)
    assert shown.measured == pytest.approx(deltas.min())
    assert shown.measured > shown.claimed
    worst = Claim(profile=lambda epsilon: max(0.0, 0.3 - epsilon)).worst_event(above, below)[1]
    assert worst.measured > shown.measured


@every("claim", [Claim(1), Claim(1, "0.1"), Claim(rho="0.3"), Claim(profile=lambda epsilon: 0.1 / (1 + epsilon))])
def test_an_event_shows_no_more_than_its_two_outcomes(claim: Claim) -> None:
    """Probabilities that bound the true ones show at most what the laws "in the event" and "not in it" show."""
    for p, q, slack in product((0.2, 0.5, 0.9, 1.0), (0.001, 0.1, 0.6), (0.0, 0.05)):
        _, shown = claim.worst_event(np.array([max(0.0, p - slack)]), np.array([min(1.0, q + slack)]))
        laws = claim.of_laws(np.array([p, 1 - p]), np.array([q, 1 - q]))
        assert shown.measured - shown.claimed <= laws.measured - laws.claimed + 1e-4


def test_an_event_that_never_occurs_on_one_side() -> None:
    assert Claim(1).worst_event(np.array([0.5]), np.array([0.0]))[1].measured == inf
    assert Claim(1, "0.5").worst_event(np.array([0.5]), np.array([0.0]))[1].measured == 0


@every("claim", [Claim(1, "0.01"), Claim(rho="0.5")])
def test_the_claimed_profile_falls(claim: Claim) -> None:
    deltas = [claim.form.delta(epsilon) for epsilon in GRID.tolist()]
    assert deltas == sorted(deltas, reverse=True)


def test_the_claimed_profile_is_that_of_the_worst_mechanism() -> None:
    """Randomised response with ε = 1: outcomes e/(1 + e) and 1/(1 + e)."""
    kept, flipped = exp(1) / (1 + exp(1)), 1 / (1 + exp(1))
    for epsilon in (0.0, 0.4, 1.0, 2.0):
        assert Claim(1).form.delta(epsilon) == pytest.approx(max(0, kept - exp(epsilon) * flipped))


def test_a_profile_must_give_numbers() -> None:
    with pytest.raises(BadParameter, match="ε = 0"):
        Claim(profile=lambda _: -1.0).form.delta(0)


def test_what_a_number_of_draws_can_show() -> None:
    """An event that occurs in all of n runs, and in none, has bounds m^(1/n) and 1 − m^(1/n). Joint ones show less."""
    least = 0.001 ** (1 / 5000)
    alone = log(least / (1 - least))
    assert 0.93 * alone < largest_visible(0.001, 5000) < alone
