"""The search and its queries: what is looked at, what it costs, and which way risks point."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from models.accuracy_first.lines import least, logistic_risk, ridge_risk
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.exact.reals import ExponentialNoise
from dpmine.models.accuracy_first.objectives import LogisticBounds, LogisticObjective, RidgeBounds, RidgeObjective
from dpmine.models.accuracy_first.settings import SearchTerms
from dpmine.models.accuracy_first.threshold_search import ThresholdTest, exponential_test, search
from dpmine.models.linear.losses import Examples

if TYPE_CHECKING:
    from collections.abc import Iterator

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
