"""The baselines: the exact law of doubling by quadrature, its charge, its guarantee, and the inverted bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from support.cases import every
from support.conformance.above_threshold import CHECKS, VECTORS, attained, check_law
from support.numpy_bits import NumpyBits

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.estimators import AccuracyFirstRidge
from dpmine.models.accuracy_first.noisy_hypotheses import Method, falling_noise
from dpmine.models.accuracy_first.objectives import (
    LogisticBounds,
    LogisticObjective,
    Objective,
    RidgeBounds,
    RidgeObjective,
)
from dpmine.models.accuracy_first.threshold_search import exponential_test
from dpmine.models.linear.losses import Examples
from experiments.accuracy_first_baselines import (
    Doubling,
    PaperRidgeBounds,
    PaperSettings,
    Variant,
    doubled_levels,
    doubling,
    expected_excess,
    from_theory,
    laplace_test,
    one_hypothesis,
    theory_level,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.accuracy_first.settings import SearchTerms
    from dpmine.models.entries import Floats

FALSE_ALARM = 1e-7
TENTH = Fraction(1, 10)
SIZE, RIDGE = 400, 0.05


@cache
def ridge_objective(size: int = SIZE, ball: Variant = Variant.SHARP) -> RidgeObjective:
    bounds = RidgeBounds if ball is Variant.SHARP else PaperRidgeBounds
    generator = np.random.default_rng(1)
    rows = generator.uniform(-1, 1, (size, 3)) / 4
    return RidgeObjective.of(bounds(size, 3, RIDGE), rows, np.clip(rows @ [2.0, -1.0, 1.0], -1, 1))


@cache
def logistic_objective() -> LogisticObjective:
    generator = np.random.default_rng(2)
    rows = generator.uniform(-1, 1, (SIZE, 3)) / 4
    return LogisticObjective(LogisticBounds(SIZE, 3, RIDGE), Examples(rows * np.sign(rows[:, :1] + 0.1)))


@dataclass(frozen=True)
class Fixed(Objective):
    """An objective whose every hypothesis has the same excess risk."""

    excess: float

    @property
    def minimiser(self) -> Floats:
        return np.zeros(3)

    def values(self, hypotheses: Floats) -> Floats:
        raise NotImplementedError

    def excess_risks(self, hypotheses: Floats) -> Floats:
        return np.full(len(hypotheses), self.excess)


def fixed(excess: float) -> Fixed:
    return Fixed(ridge_objective().bounds, excess)


def search_for(target: Fraction, epsilon_max: int = 1) -> Doubling:
    return Doubling.of(ridge_objective().bounds, target=target, failure=TENTH, epsilon_max=epsilon_max)


def accepting(excess: float, target: Fraction, levels: int) -> float:
    """Pr[excess + Lap(b) ≤ α/2] by quadrature of the density, all constants from the formulas of the paper."""
    bounds = ridge_objective().bounds
    width = (bounds.radius + 1) ** 2 / bounds.size
    scale = width / (2 * width / float(target) * math.log(levels / 0.2))
    edge = float(target) / 2 - excess
    density = stats.laplace(scale=scale).pdf
    tail = integrate.quad(density, -60 * scale, min(edge, 0.0), limit=200)[0] if edge > -60 * scale else 0.0
    return float(tail + (integrate.quad(density, 0.0, edge, limit=200)[0] if edge > 0 else 0.0))


def test_levels_double_up_to_the_first_that_is_large_enough() -> None:
    assert doubled_levels(Fraction(1, 8), Fraction(1)) == (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1))
    assert doubled_levels(Fraction(1, 8), Fraction(11, 10))[-1] == 2
    assert doubled_levels(Fraction(1, 8), Fraction(1, 9)) == (Fraction(1, 8),)


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=1),
    st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2)),
    st.integers(1, 50),
)
def test_numbers_of_a_search(target: Fraction, failure: Fraction, epsilon_max: int) -> None:
    bounds = ridge_objective().bounds
    search = Doubling.of(bounds, target=target, failure=failure, epsilon_max=epsilon_max)
    assert search.epsilons[0] == Fraction(1, SIZE)
    assert search.epsilons[-2] < epsilon_max <= search.epsilons[-1]
    width = (bounds.radius + 1) ** 2 / SIZE
    charge = 2 * width / float(target) * math.log(len(search.epsilons) / (2 * float(failure)))
    assert charge <= float(search.charge) <= charge * (1 + 1e-5)
    assert search.allowed < target


@every("failure", ["1/2", "3/5", "9/10", "99/100"])
def test_one_test_that_may_often_fail_still_costs_something(failure: str) -> None:
    """K = 1 and γ ≥ 1/2: K/(2γ) ≤ 1, whose logarithm is no charge."""
    search = Doubling.of(ridge_objective().bounds, target=TENTH, failure=failure, epsilon_max=Fraction(1, SIZE))
    assert len(search.epsilons) == 1
    wanted = 2 * float(search.width) / 0.1 * math.log(2)
    assert wanted <= float(search.charge) <= wanted * (1 + 1e-5)
    wrong = float(stats.laplace.cdf(-float(search.allowed) / 2, scale=float(search.width / search.charge)))
    assert wrong <= float(Fraction(failure))
    outcome = doubling(fixed(5.0), Method.OUTPUT, search, bits=NumpyBits(0))
    assert outcome.charge == Fraction(1, SIZE) + search.charge > Fraction(1, SIZE)


@pytest.mark.statistical
@pytest.mark.parametrize("excess", [0.0, 0.03, 0.05, 0.07, 0.1, 0.2])
def test_law_of_one_test(excess: float) -> None:
    """A binomial test at a nominal 1e-7."""
    target = TENTH
    search = search_for(target)
    bits, trials = NumpyBits(int(1000 * excess)), 2000
    accepted = sum(search.accepts(Fraction(excess), bits=bits) for _ in range(trials))
    chance = accepting(excess, target, len(search.epsilons))
    assert stats.binomtest(accepted, trials, min(max(chance, 0.0), 1.0)).pvalue > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("excess", [0.02, 0.05, 0.1])
def test_law_of_the_search(excess: float) -> None:
    """All hypotheses equally good: the step is geometric, cut off after K. A binomial test at a nominal 1e-7."""
    target, trials = TENTH, 150
    search = search_for(target)
    levels = len(search.epsilons)
    chance = accepting(excess, target, levels)
    law = np.array([chance * (1 - chance) ** t for t in range(levels)] + [(1 - chance) ** levels])
    bits, counts = NumpyBits(7), np.zeros(levels + 1)
    for _ in range(trials):
        outcome = doubling(fixed(excess), Method.OUTPUT, search, bits=bits)
        counts[levels if outcome.step is None else outcome.step] += 1
    for seen, expected in zip(counts, law, strict=True):
        assert stats.binomtest(int(seen), trials, min(float(expected), 1.0)).pvalue > FALSE_ALARM / len(law)


@every("failure", [0.01, 0.1, 0.4])
@every("target", [0.02, 0.2])
def test_false_acceptance_within_failure(failure: float, target: float) -> None:
    """At an excess of α itself, the worst one that counts, in the numbers of the search: K tests, γ in all."""
    search = Doubling.of(ridge_objective().bounds, target=target, failure=failure, epsilon_max=3)
    scale = float(search.width / search.charge)
    each = float(stats.laplace.cdf((float(search.allowed) / 2 - float(search.allowed)) / scale))
    assert each == pytest.approx(failure / len(search.epsilons), rel=1e-4)
    assert 1 - (1 - each) ** len(search.epsilons) <= failure


@pytest.mark.statistical
def test_false_acceptance_is_measured() -> None:
    """A binomial test at a nominal 1e-7."""
    search = search_for(TENTH)
    bits, trials = NumpyBits(3), 1000
    bad = Fraction(1, 10) + Fraction(1, 10**6)
    wrong = sum(any(search.accepts(bad, bits=bits) for _ in search.epsilons) for _ in range(trials))
    assert stats.binomtest(wrong, trials, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert wrong > trials * 0.05  # the share of γ is used, not given away


@pytest.mark.parametrize("method", [Method.COVARIANCE, Method.OUTPUT])
def test_everything_seen_is_charged_for(method: Method) -> None:
    search = search_for(Fraction(1, 5), epsilon_max=40)
    steps = set()
    for seed in range(20):
        outcome = doubling(ridge_objective(), method, search, bits=NumpyBits(seed))
        taken = len(search.epsilons) if outcome.step is None else outcome.step + 1
        paid = Fraction(0)
        for level in range(taken):
            paid += Fraction(2**level, SIZE) + search.charge
        assert outcome.charge == paid
        assert np.linalg.norm(outcome.weights) <= ridge_objective().bounds.radius * (1 + 1e-12)
        steps.add(taken)
    assert len(steps) > 1


def test_failure_is_paid_in_full() -> None:
    search = search_for(TENTH)
    outcome = doubling(fixed(5.0), Method.OUTPUT, search, bits=NumpyBits(0))
    assert outcome.step is None
    assert outcome.charge == sum(search.epsilons) + len(search.epsilons) * search.charge


def test_hypotheses_are_fresh() -> None:
    """No value of one hypothesis's noise is in the next one: with noise reduction, most entries would stay."""
    bits = NumpyBits(5)
    first, second = (one_hypothesis(ridge_objective(), Method.OUTPUT, Fraction(100), bits=bits) for _ in range(2))
    assert np.all(first != second)


def test_numbers_out_of_range_are_rejected() -> None:
    bounds = ridge_objective().bounds
    for changed in ({"target": 0}, {"failure": 1}, {"failure": 0}, {"epsilon_max": 0}, {"target": 1e-13}):
        numbers: dict[str, Any] = {"target": 0.1, "failure": 0.1, "epsilon_max": 1, **changed}
        with pytest.raises(BadParameter):
            Doubling.of(bounds, **numbers)
    with pytest.raises(BadParameter, match="method"):
        doubling(ridge_objective(), Method.BROWNIAN, search_for(TENTH), bits=NumpyBits(0))
    with pytest.raises(BadParameter, match="method"):
        theory_level(bounds, Method.BROWNIAN, TENTH)


@pytest.mark.parametrize("constants", list(Variant))
def test_covariances_are_for_ridge_regression(constants: Variant) -> None:
    classes = logistic_objective()
    with pytest.raises(BadParameter, match="ridge"):
        theory_level(classes.bounds, Method.COVARIANCE, TENTH, constants)
    with pytest.raises(BadParameter, match="ridge"):
        from_theory(classes, Method.COVARIANCE, TENTH, constants=constants, bits=NumpyBits(0))
    with pytest.raises(BadParameter, match="ridge"):
        falling_noise(classes, Method.COVARIANCE, [TENTH], Fraction(0), bits=NumpyBits(0))


@given(st.integers(50, 10**6), st.integers(1, 200), st.floats(0.001, 1), st.floats(0.001, 0.5))
def test_published_bounds_are_inverted(size: int, dimension: int, ridge: float, target: float) -> None:
    """The bound at the level is the target, and the level is the least of six digits."""
    n, p, lam = size, dimension, ridge
    ridge_level = theory_level(RidgeBounds(n, p, lam), Method.COVARIANCE, target)
    logistic_level = theory_level(LogisticBounds(n, p, lam), Method.OUTPUT, target)

    def covariance(e: float) -> float:
        return 4 * math.sqrt(2) * (2 * math.sqrt(p / lam) + p / lam) / (n * e)

    def output(e: float) -> float:
        return 2 * math.sqrt(2) * p / (n * lam * e) + 4 * p**2 / (n**2 * lam**2 * e**2)

    for level, bound in ((ridge_level, covariance), (logistic_level, output)):
        assert bound(float(level)) <= target <= bound(float(level) * (1 - 2e-5))


@pytest.mark.parametrize("ball", list(Variant))
@pytest.mark.parametrize("constants", list(Variant))
@pytest.mark.parametrize("method", [Method.COVARIANCE, Method.OUTPUT])
def test_bounds_hold_on_average(method: Method, constants: Variant, ball: Variant) -> None:
    target = 0.05
    objectives: list[Objective] = [ridge_objective(ball=ball)]
    if method is Method.OUTPUT:
        objectives.append(logistic_objective())
    for objective in objectives:
        bits = NumpyBits(11)
        runs = [from_theory(objective, method, target, constants=constants, bits=bits) for _ in range(60)]
        excess = objective.excess_risks(np.array([run.weights for run in runs]))
        assert excess.mean() + 4 * excess.std() / math.sqrt(60) <= target
        assert {run.charge for run in runs} == {theory_level(objective.bounds, method, target, constants)}


def test_sharp_bound_of_covariances_follows_the_noise() -> None:
    """E of the bound's own terms, by simulation of noise written down differently: N = (M + Mᵀ)/2 off the diagonal."""
    generator, bounds, columns = np.random.default_rng(9), ridge_objective().bounds, 3
    totals = []
    for _ in range(20_000):
        upper = np.triu(generator.laplace(scale=4.0, size=(columns, columns)), 1) / 2
        noise = upper + upper.T + np.diag(generator.laplace(scale=4.0, size=columns))
        vector = generator.laplace(scale=4.0, size=columns)
        totals.append(bounds.radius**2 * np.sum(noise**2) ** 0.5 / 2 + bounds.radius * np.sum(vector**2) ** 0.5)
    found, square = expected_excess(bounds, Method.COVARIANCE, Variant.SHARP)
    assert square == 0.0
    mean = float(np.mean(totals)) / bounds.size
    assert 0.8 * found < mean < found  # the roots are taken outside of the mean


@pytest.mark.parametrize("kind", [RidgeBounds, LogisticBounds])
def test_sharp_bound_of_outputs_is_attained(kind: Any) -> None:
    """Where every row is the same unit vector and the curvature is largest, the bound is the mean itself."""
    bounds, curvature = kind(SIZE, 3, RIDGE), 1.0 if kind is RidgeBounds else 0.25
    hessian = RIDGE * np.eye(3)
    hessian[0, 0] += curvature
    spread = math.sqrt(3) * bounds.distance
    noise = np.random.default_rng(4).laplace(scale=spread, size=(200_000, 3))
    mean = float(np.einsum("ij,jk,ik->i", noise, hessian, noise).mean()) / 2
    assert expected_excess(bounds, Method.OUTPUT, Variant.SHARP)[1] == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("check", CHECKS)
def test_the_papers_test_is_an_above_threshold(check: Callable[..., None]) -> None:
    check(laplace_test)


@pytest.mark.statistical
@pytest.mark.parametrize("queries", VECTORS[1:])
def test_the_law_of_the_place_in_the_papers_test(queries: list[float]) -> None:
    check_law(laplace_test, queries)


def test_some_pair_loses_nearly_the_charge_of_the_papers_test() -> None:
    test = laplace_test(Fraction(20), tests=5, failure=TENTH)
    high = float(test.threshold) + 40.0
    queries, rejected = [high] * 4 + [float(test.threshold) - 40.0], [high] * 5
    assert attained(test, queries, [high + 1] * 4 + [queries[-1] - 1])[0] >= 0.999
    assert attained(test, rejected, [high + 1] * 5)[1] >= 0.999


def test_the_published_constants() -> None:
    """T = 1000, γ = 0.1."""
    paper = laplace_test(Fraction(1), tests=1000, failure=TENTH)
    assert paper.charge == Fraction("158.456")
    assert 16 * math.log(20000) <= float(paper.charge) <= 16 * math.log(20000) * (1 + 1e-5)
    assert (paper.threshold, paper.charge_of_none) == (Fraction(1, 2), paper.charge / 2)
    assert paper.once.scale == 2 / paper.charge
    assert paper.each.scale == 4 / paper.charge
    assert float(exponential_test(Fraction(1), tests=1000, failure=TENTH).charge) == pytest.approx(31.424, abs=0.001)


GIVEN: dict[str, Any] = {"excess_risk": 0.05, "regularization": 0.1, "epsilon_max": 100}


def terms_of(kind: type[RidgeBounds] = RidgeBounds, *, paper: bool = False, **parameters: Any) -> SearchTerms:
    """Those of 2000 records of three features."""
    settings = AccuracyFirstRidge(**GIVEN, **parameters)._settings()
    settings = PaperSettings.like(settings) if paper else settings
    return settings.terms(kind(2000, 3, settings.ridge))


def test_the_papers_ball_and_test_are_charged_more() -> None:
    assert terms_of(PaperRidgeBounds).test.charge > 1.5 * terms_of().test.charge
    assert terms_of(paper=True).test.charge > 3 * terms_of().test.charge


def test_the_papers_charge_is_that_of_the_largest_sensitivity() -> None:
    """Δ = (B + 1)²/n for a ball of radius B = 1/(2√λ): 16Δ ln(2T/γ)/α, and one sensitivity for all hypotheses."""
    terms, radius = terms_of(paper=True, steps=50), RidgeBounds(2000, 3, 0.1).radius
    unit = (0.5 / 0.1**0.5 + 1) ** 2 / 2000
    assert float(terms.test.charge) == pytest.approx(16 * unit / 0.05 * math.log(2 * 50 / 0.1), rel=1e-4)
    short, long = terms.sensitivities(np.array([0.0, radius]))
    assert short == long == pytest.approx(unit, rel=1e-6)
