"""The test with exponential noise, and the search with it: its law, what is looked at, and what it costs."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.accuracy_first.lines import least, logistic_risk, ridge_risk
from support.cases import every
from support.conformance.above_threshold import (
    ACCURACY,
    CHECKS,
    COUNTS,
    FAILURES,
    TENTH,
    VECTORS,
    attained,
    check_law,
    false_acceptance,
    stops,
)
from support.numpy_bits import NumpyBits

from dpmine.exact.reals import ExponentialNoise
from dpmine.models.accuracy_first.objectives import LogisticBounds, LogisticObjective, RidgeBounds, RidgeObjective
from dpmine.models.accuracy_first.settings import SearchTerms
from dpmine.models.accuracy_first.threshold_search import ThresholdTest, exponential_test, search
from dpmine.models.linear.losses import Examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


SILENT = ExponentialNoise(Fraction(1, 10**30))
SHARP_EYED = ThresholdTest(Fraction(1, 10**6), SILENT, SILENT, Fraction(5), Fraction(2))
"""Accepts what is above 0, for all practical purposes."""
LEVELS = tuple(Fraction(step + 1) for step in range(300))


class Watched:
    """Hypotheses 0, 1, 2, … in one dimension, of which those from `good` on pass; counts what is asked for."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.made = 0
        self.batches: list[int] = []

    def hypotheses(self) -> Iterator[Any]:
        for place in range(len(LEVELS)):
            self.made += 1
            yield np.array([float(place)])

    def queries(self, hypotheses: Any) -> list[Fraction]:
        self.batches.append(len(hypotheses))
        return [Fraction(1) if place >= self.good else Fraction(-1) for place in hypotheses[:, 0]]

    def search(self) -> Any:
        return search(self.hypotheses(), LEVELS, self.queries, SHARP_EYED, bits=NumpyBits(0))


@every("good", [0, 1, 2, 3, 6, 7, 62, 63, 64, 100, 299])
def test_the_first_good_one_at_its_own_charge(good: int) -> None:
    watched = Watched(good)
    outcome = watched.search()
    assert (outcome.step, outcome.weights.tolist(), outcome.charge) == (good, [good], 5 + good + 1)
    assert good < watched.made <= min(300, good + 32)
    assert watched.made <= 2 * good + 1
    assert sum(watched.batches) == watched.made
    assert watched.batches[:5] == [1, 2, 4, 8, 16][: len(watched.batches)]
    assert max(watched.batches) <= 32


def test_none_is_good() -> None:
    watched = Watched(1000)
    outcome = watched.search()
    assert (outcome.step, outcome.weights.tolist(), outcome.charge) == (None, [299], 2 + 300)
    assert watched.made == 300


def ridge_problem(size: int = 50) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(3)
    rows, targets = generator.uniform(-0.3, 0.3, (size, 3)), generator.uniform(-1, 1, size)
    return RidgeObjective.of(RidgeBounds(size, 3, 0.2), rows, targets), rows, targets


def logistic_problem(size: int = 50) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(4)
    rows, signs = generator.uniform(-0.3, 0.3, (size, 3)), generator.choice([-1.0, 1.0], size)
    bounds = LogisticBounds(size, 3, 0.2)
    return LogisticObjective(bounds, Examples(rows * signs[:, np.newaxis])), rows, signs


@pytest.mark.parametrize(("problem", "risk"), [(ridge_problem, ridge_risk), (logistic_problem, logistic_risk)])
def test_queries_are_the_target_less_the_excess_in_units_of_sensitivity(problem: Any, risk: Any) -> None:
    objective, rows, answers = problem()
    best = least(risk, rows, answers, 0.2)
    hypotheses = np.vstack([best, np.zeros(3), best + 0.5, -best, [1.0, 0.0, 0.0]])
    test = exponential_test(Fraction(1), tests=5, failure=Fraction(1, 10))
    terms = SearchTerms(Fraction(1, 20), test, LEVELS[:5], objective.bounds.sensitivities)
    found = terms.queries(objective)(hypotheses)
    for query, weights in zip(found, hypotheses, strict=True):
        excess = risk(rows, answers, 0.2, weights) - risk(rows, answers, 0.2, best)
        unit = float(objective.bounds.sensitivities(np.array([np.linalg.norm(weights)]))[0])
        assert float(query) == pytest.approx((0.05 - excess) / unit, abs=1e-6)
        if excess > 0.05:
            assert query < 0
    assert found[0] > 0
    assert min(found) < 0


@pytest.mark.parametrize("problem", [ridge_problem, logistic_problem])
def test_batches_do_not_change_answers_much(problem: Any) -> None:
    """Products of matrices round in other ways; by far less than the bound."""
    objective, _, _ = problem()
    hypotheses = np.random.default_rng(5).uniform(-0.5, 0.5, (40, 3))
    single = np.concatenate([objective.excess_risks(row[np.newaxis]) for row in hypotheses])
    assert np.abs(objective.excess_risks(hypotheses) - single).max() <= objective.bounds.rounding
    assert (single >= -objective.bounds.rounding).all()


@pytest.mark.parametrize("check", CHECKS)
def test_it_is_an_above_threshold(check: Callable[..., None]) -> None:
    check(exponential_test)


@pytest.mark.statistical
@pytest.mark.parametrize("queries", VECTORS[1:])
def test_the_law_of_the_place(queries: list[float]) -> None:
    check_law(exponential_test, queries)


def test_one_query_in_closed_form() -> None:
    """Pr[ν > c + ρ] for c ≥ 0."""
    test = exponential_test(Fraction(20), tests=5, failure=TENTH)
    scale, mean = float(test.each.scale), float(test.once.scale)
    wanted = math.exp(-float(test.threshold) / scale) / (1 + mean / scale)
    assert stops(test, [0.0])[0] == pytest.approx(wanted, abs=ACCURACY)


def test_some_pair_loses_nearly_the_charge() -> None:
    test = exponential_test(Fraction(20), tests=5, failure=TENTH)
    high = float(test.threshold) + 1.0
    queries, rejected = [high] * 4 + [float(test.threshold)], [high] * 5
    assert attained(test, queries, [high + 1] * 4 + [queries[-1] - 1])[0] >= 0.9999
    assert attained(test, rejected, [high + 1] * 5)[1] >= 0.9999


def test_not_much_of_the_failure_probability_is_given_away() -> None:
    for count, failure in product(COUNTS, FAILURES):
        assert false_acceptance(exponential_test, count, failure) >= float(failure) * (0.999 if count == 1 else 0.6)


@given(
    slack=st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**9),
    tests=st.integers(1, 10**6),
    failure=st.fractions(Fraction(1, 10**12), 1 - Fraction(1, 10**9), max_denominator=10**12),
)
def test_rounded_numbers_keep_both_guarantees(slack: Fraction, tests: int, failure: Fraction) -> None:
    """In 60 digits: T·Pr[ν > W + ρ] ≤ γ and Pr[ρ > slack − W] ≤ γ."""
    test = exponential_test(slack, tests=tests, failure=failure)
    with localcontext(prec=60):
        bar, first = number(test.threshold), 1 / number(test.once.scale)
        rate = 1 / number(test.each.scale)
        assert tests * (-rate * bar).exp() / (1 + rate / first) <= number(failure)
        assert (-first * (number(slack) - bar)).exp() <= number(failure)
    assert test.charge == 1 / test.once.scale + 2 / test.each.scale
    assert test.charge_of_none == 1 / test.once.scale
    assert decimals(test.charge_of_none)
    assert decimals(test.charge - test.charge_of_none)


def number(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def decimals(value: Fraction) -> bool:
    """Whether six significant digits write it out."""
    return Fraction(f"{float(value):.5e}") == value


@every("failure", [*FAILURES, 1 - Fraction(1, 10**30), Fraction(1, 10**400)])
def test_any_failure_probability_can_be_asked_for(failure: Fraction) -> None:
    assert exponential_test(Fraction(1), tests=10, failure=failure).charge > 0


@every(("tests", "failure"), [(1, TENTH), (10, TENTH), (1000, TENTH), (1000, Fraction(1, 10**6))])
def test_no_other_split_is_much_cheaper(tests: int, failure: Fraction) -> None:
    """For every ratio r = ε_b/ε_a the least charge in closed form; the best of a grid saves less than 2 %."""
    found = float(exponential_test(Fraction(1), tests=tests, failure=failure).charge)
    miss = -math.log(failure)
    ratios = np.geomspace(0.01, 100, 4001)
    bars = np.maximum(0.0, math.log(tests) + miss - np.log1p(ratios / 2))
    least = float(((1 + ratios) * (miss + 2 / ratios * bars)).min())
    assert least * (1 - 1e-6) <= found <= 1.02 * least
