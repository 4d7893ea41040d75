"""Steps and weights on neighbours stay within their charge; searches with too little noise do not.

The charge belongs to the outcome: Pr[A(D) ∈ S] ≤ e^{ε_0 + ε_t} Pr[A(D') ∈ S] for events S of step t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.confidence import least_loss
from support.numpy_bits import NumpyBits

from dpmine.exact.reals import ExponentialNoise
from dpmine.models.accuracy_first import noisy_hypotheses as module
from dpmine.models.accuracy_first.noisy_hypotheses import Method, covariance_hypotheses, falling_noise
from dpmine.models.accuracy_first.objectives import RidgeBounds, RidgeObjective
from dpmine.models.accuracy_first.settings import SearchTerms
from dpmine.models.accuracy_first.threshold_search import ThresholdTest, search
from dpmine.models.accuracy_first.trust_region import minimise_over_ball

RUNS, FEWER = 3000, 1500
"""Of an honest search, and of one that is noticed sooner. Below 400 bounds a test: wrong with probability 4e-5."""
SIZE = 4
ONES: tuple[Any, Any] = np.ones((SIZE, 1)), np.ones(SIZE)
FLIPPED: tuple[Any, Any] = np.ones((SIZE, 1)), np.array([-1.0, 1.0, 1.0, 1.0])


def noise_for(charge: Fraction) -> ThresholdTest:
    half = charge / 2
    return ThresholdTest(Fraction(0), ExponentialNoise(1 / half), ExponentialNoise(2 / half), charge, half)


@dataclass(frozen=True)
class Audited:
    """A search of one weight on four rows, as an estimator would run it."""

    method: Method
    ridge: float
    target: Fraction
    epsilons: tuple[Fraction, ...]
    test: ThresholdTest
    runs: int = RUNS

    def outcomes(self, rows: Any, targets: Any, bits: NumpyBits) -> tuple[Any, Any]:
        """Steps, T for none, and weights; shape (runs,) each."""
        bounds = RidgeBounds(SIZE, 1, self.ridge)
        objective = RidgeObjective.of(bounds, rows, targets)
        queries = SearchTerms(self.target, self.test, self.epsilons, bounds.sensitivities).queries(objective)
        found = []
        for _ in range(self.runs):
            hypotheses = falling_noise(objective, self.method, self.epsilons, Fraction(0), bits=bits)
            outcome = search(hypotheses, self.epsilons, queries, self.test, bits=bits)
            found.append((len(self.epsilons) if outcome.step is None else outcome.step, outcome.weights[0]))
        steps, weights = zip(*found, strict=True)
        return np.array(steps), np.array(weights)

    def charges(self) -> list[float]:
        accepted = [float(self.test.charge + epsilon) for epsilon in self.epsilons]
        return [*accepted, float(self.test.charge_of_none + self.epsilons[-1])]

    def worst(self) -> float:
        """A lower confidence bound on the largest loss beyond its charge."""
        bits = NumpyBits(11)
        pair = [self.outcomes(*data, bits) for data in (ONES, FLIPPED)]
        edges = np.quantile(np.concatenate([weights for _, weights in pair]), np.linspace(0.02, 0.98, 13))
        found = []
        for step, charge in enumerate(self.charges()):
            one, other = (_counts(weights[steps == step], edges) for steps, weights in pair)
            both = [*zip(one, other, strict=True), *zip(other, one, strict=True)]
            found += [least_loss(hits, self.runs) - charge for hits in both]
        return max(found)


def _counts(weights: Any, edges: Any) -> list[int]:
    """How many of one step are anywhere, above an edge, below one."""
    return [len(weights), *(int((weights > edge).sum()) for edge in edges), *(int((weights < e).sum()) for e in edges)]


STEEP = Audited(
    Method.OUTPUT, 100.0, Fraction(1, 2), (Fraction(2), Fraction(5, 2), Fraction(3)), noise_for(Fraction(1, 10))
)
"""So much regularisation that a flipped target moves the minimiser nearly as far as its sensitivity; a blind test."""
WATCHFUL = Audited(
    Method.COVARIANCE, 0.1, Fraction(1, 10), (Fraction(1, 2), Fraction(3, 4), Fraction(1)), noise_for(Fraction(1))
)
"""Hypotheses whose risk on the two data sets is very different."""


@pytest.mark.statistical
@pytest.mark.parametrize("audited", [STEEP, WATCHFUL])
def test_no_outcome_tells_more_than_its_charge(audited: Audited) -> None:
    assert audited.worst() <= 0


@pytest.mark.statistical
def test_half_the_noise_on_the_minimiser_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RidgeBounds(SIZE, 1, STEEP.ridge).distance
    monkeypatch.setattr(RidgeBounds, "distance", honest / 2)
    assert replace(STEEP, runs=FEWER).worst() > 0


@pytest.mark.statistical
def test_an_eighth_of_the_noise_on_moments_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One weight hides half of it: of four entries that may change, there are two."""
    monkeypatch.setattr(RidgeBounds, "statistics", 0.5)
    quiet = replace(WATCHFUL, test=noise_for(Fraction(1, 10)), runs=FEWER)
    assert quiet.worst() > 0


@pytest.mark.statistical
def test_a_test_without_noise_is_noticed() -> None:
    silent = ExponentialNoise(Fraction(1, 10**9))
    unguarded = replace(WATCHFUL.test, once=silent, each=silent)
    assert replace(WATCHFUL, test=unguarded).worst() > 0


@pytest.mark.statistical
def test_a_charge_that_leaves_out_the_levels_is_noticed() -> None:
    class Forgetful(Audited):
        def charges(self) -> list[float]:
            return [float(self.test.charge)] * (len(self.epsilons) + 1)

    assert Forgetful(STEEP.method, STEEP.ridge, STEEP.target, STEEP.epsilons, STEEP.test, FEWER).worst() > 0


AXES = ([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0]), ([[0.0, 1.0], [0.0, 0.0]], [1.0, 0.0])
"""All that (XᵀX, Xᵀy) may change: entries by 1 on the diagonal, and of Xᵀy."""
SIGNS = ([[0.5, 0.5], [0.0, 0.0]], [1.0, 0.0]), ([[0.5, -0.5], [0.0, 0.0]], [-1.0, 0.0])
"""Half of it: off the diagonal, and of Xᵀy."""
LEVEL = Fraction(2)


@dataclass(frozen=True)
class Moments:
    """The noisy XᵀX and Xᵀy, p = 2, that hypotheses are made of: all of them, where weights hide some."""

    pair: tuple[Any, Any]
    runs: int

    def worst(self, patch: pytest.MonkeyPatch) -> float:
        """A lower confidence bound on the largest loss beyond ε: events are those of the likelihood ratio."""
        objectives = [RidgeObjective.of(RidgeBounds(2, 2, 0.1), *map(np.array, data)) for data in self.pair]
        first, second = (_entries(one.gram, one.correlations) for one in objectives)
        seen = [self._noisy(one, NumpyBits(place), patch) for place, one in enumerate(objectives)]
        ratios = [np.abs(noisy - second).sum(axis=1) - np.abs(noisy - first).sum(axis=1) for noisy in seen]
        edges = np.quantile(np.concatenate(ratios), np.linspace(0.5, 0.98, 13))
        counts = [[int((ratio > edge).sum()) for edge in edges] for ratio in ratios]
        return max(least_loss(hits, self.runs) for hits in zip(*counts, strict=True)) - float(LEVEL)

    def _noisy(self, objective: RidgeObjective, bits: NumpyBits, patch: pytest.MonkeyPatch) -> Any:
        found = []

        def spy(matrix: Any, vector: Any, radius: float) -> Any:
            found.append(_entries(2 * (matrix - 0.1 * np.eye(2)), 2 * vector))
            return minimise_over_ball(matrix, vector, radius)

        patch.setattr(module, "minimise_over_ball", spy)
        for _ in range(self.runs):
            list(covariance_hypotheses(objective, [LEVEL], bits=bits))
        return np.array(found)


def _entries(matrix: Any, vector: Any) -> Any:
    """Both of those off the diagonal, which are one number."""
    return np.concatenate([matrix.ravel(), vector])


@pytest.mark.statistical
@pytest.mark.parametrize("pair", [AXES, SIGNS])
def test_noisy_moments_tell_no_more_than_their_level(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Moments(pair, 800).worst(monkeypatch) <= 0


@pytest.mark.statistical
@pytest.mark.parametrize(("pair", "share", "runs"), [(AXES, 0.5, 3000), (SIGNS, 0.25, 1500)])
def test_too_little_noise_on_two_moments_is_noticed(
    pair: tuple[Any, Any], share: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half as much as it takes; a quarter, where records only differ by half of what they may."""
    monkeypatch.setattr(RidgeBounds, "statistics", 4.0 * share)
    assert Moments(pair, runs).worst(monkeypatch) > 0
