"""The Gaussian mechanism's privacy profile: against an integral over the outcomes, and in the safe direction."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, sqrt

import pytest
from scipy.integrate import quad
from scipy.stats import norm
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.gaussian import profile, ratio_at

BUDGETS = [("0.01", "1e-3"), ("0.3", "1e-6"), ("1", "1e-6"), ("1", "0.01"), ("3", "1e-9"), ("40", "1e-6"), ("1", "0.6")]


def hockey_stick(epsilon: float, ratio: float) -> float:
    """∫ (φ(x) − e^ε φ(x − A))₊ dx, from the point where the densities' quotient is e^ε; neither tail is used."""
    start = ratio / 2 - epsilon / ratio  # φ(x)/φ(x − A) = e^{A²/2 − Ax} is above e^ε to the left of it
    found, error = quad(
        lambda x: norm.pdf(x) - exp(epsilon) * norm.pdf(x - ratio), start - 12, start, epsabs=0, epsrel=1e-9
    )
    assert error <= 1e-8 * found
    return float(found)


@every("epsilon", [0.05, 0.3, 1.0, 5.0])
@every("distance", [0.3, 2.0, 4.75])
def test_profile_is_the_hockey_stick_divergence(epsilon: float, distance: float) -> None:
    """At the A where ε lies so many standard deviations beyond the mean privacy loss."""
    ratio = sqrt(distance**2 + 2 * epsilon) - distance
    exact = hockey_stick(epsilon, ratio)
    found = float(profile(Fraction(epsilon), Fraction(ratio)))
    assert found == pytest.approx(exact, rel=1e-7)


def test_profile_at_its_ends() -> None:
    assert float(profile(Fraction(0), Fraction(2))) == pytest.approx(2 * norm.cdf(1) - 1)  # total variation
    for epsilon, ratio in ((Fraction(10**9), Fraction(1)), (Fraction(1, 10**9), Fraction(1, 10**12))):
        assert 0 < profile(epsilon, ratio) < Fraction(1, 10**300)


@every(("epsilon", "delta"), BUDGETS)
def test_ratio_is_the_largest(epsilon: str, delta: str) -> None:
    loss, slack = Fraction(epsilon), Fraction(delta)
    ratio = ratio_at(loss, slack)
    assert profile(loss, ratio) <= slack
    larger = ratio * (1 + Fraction(1, 2**22))
    assert profile(loss, larger) > slack or loss / larger < larger / 2


@every(("epsilon", "delta"), BUDGETS)
def test_the_distance_is_kept(epsilon: str, delta: str) -> None:
    loss, least = Fraction(epsilon), Fraction(3)
    ratio = ratio_at(loss, Fraction(delta), least)
    assert loss / ratio - ratio / 2 >= least
    assert ratio <= ratio_at(loss, Fraction(delta))


@every(("epsilon", "delta"), [("1e-9", "1e-100"), ("1e9", "1e-6"), ("1e-9", "0.999"), ("1000", "1e-100")])
def test_extreme_budgets(epsilon: str, delta: str) -> None:
    loss, slack = Fraction(epsilon), Fraction(delta)
    ratio = ratio_at(loss, slack)
    assert 0 < ratio < inf
    assert profile(loss, ratio) <= slack


@every("call", [lambda: ratio_at(Fraction(0), Fraction(1, 2)), lambda: ratio_at(Fraction(1), Fraction(0))])
def test_improper_numbers_are_rejected(call: object) -> None:
    with pytest.raises(BadParameter, match=r"epsilon|delta"):
        call()  # type: ignore[operator]
