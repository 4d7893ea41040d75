"""Noisy moments and sums over rows: sensitivity, rounding, noise; and the user's units."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from models.accuracy_first.risks import BOUNDS, LOGISTIC, RIDGE, Array, Records, data, kinds, objective
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.accuracy_first import noisy_hypotheses as module
from dpmine.models.accuracy_first.noisy_hypotheses import covariance_hypotheses, output_hypotheses
from dpmine.models.accuracy_first.objectives import (
    BLOCK,
    LogisticBounds,
    LogisticObjective,
    Objective,
    RidgeBounds,
    RidgeObjective,
    RiskBounds,
    additions,
)
from dpmine.models.accuracy_first.settings import UnitBox
from dpmine.models.accuracy_first.trust_region import minimise_over_ball
from dpmine.models.linear.losses import Examples
from dpmine.privacy import float_above


@pytest.mark.parametrize(("size", "dimension"), [(5, 1), (40, 3), (BLOCK + 5, 2)])
def test_moments_are_right_up_to_rounding(size: int, dimension: int) -> None:
    """In exact rationals."""
    rows, targets = data(RIDGE, size, dimension)
    found = RidgeObjective.of(RidgeBounds(size, dimension, 0.1), rows, targets)
    whole, answers = [[Fraction(x) for x in row] for row in rows.tolist()], [Fraction(y) for y in targets.tolist()]
    error = Fraction(0)
    for i in range(dimension):
        error += abs(
            Fraction(float(found.correlations[i])) - sum(r[i] * y for r, y in zip(whole, answers, strict=True))
        )
        for j in range(dimension):
            error += abs(Fraction(float(found.gram[i, j])) - sum(r[i] * r[j] for r in whole))
    chain = min(size, BLOCK) + math.ceil(size / BLOCK)  # γ_chain ≥ chain·2⁻⁵³, of entries that sum to 2n, twice
    assert 4 + max(2 * error, Fraction(4 * size * chain, 2**53)) <= Fraction(found.bounds.statistics)
    assert np.array_equal(found.gram, found.gram.T)


def released(found: RidgeObjective, patch: pytest.MonkeyPatch) -> tuple[Array, Fraction, Array, Array]:
    """What covariance_hypotheses asks noise for and of which sensitivity, and what it makes of it without any noise."""
    asked: list[tuple[Array, Fraction]] = []
    made: list[tuple[Array, Array]] = []

    def no_noise(values: Array, sensitivity: Fraction, epsilons: list[Fraction], **_: object) -> list[Array]:
        asked.append((values, sensitivity))
        return [values for _ in epsilons]

    def spy(matrix: Array, vector: Array, radius: float) -> Any:
        made.append((matrix, vector))
        return minimise_over_ball(matrix, vector, radius)

    with patch.context() as patched:
        patched.setattr(module, "noise_reduction", no_noise)
        patched.setattr(module, "minimise_over_ball", spy)
        list(covariance_hypotheses(found, [Fraction(1)], bits=NumpyBits(0)))
    return *asked[0], *made[0]


def test_moments_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gets noise is as far apart in L1 as XᵀX and Xᵀy in full, at most its sensitivity; e_1 → −e_2 reaches it."""
    generator = np.random.default_rng(4)
    bounds = RidgeBounds(4, 3, 0.1)
    for place in range(100):
        rows, targets = data(RIDGE, 5, 3, seed=place)
        rows[:2] = generator.dirichlet([0.3] * 3, size=2) * generator.choice([-1, 1], size=(2, 3)) * (1 - 1e-9)
        if place == 0:
            rows[:2], targets[:2] = [[1, 0, 0], [0, -1, 0]], 1.0
        pair = [RidgeObjective.of(bounds, np.delete(rows, i, 0), np.delete(targets, i)) for i in (0, 1)]
        (one, width, matrix, vector), (other, same, _, _) = (released(found, monkeypatch) for found in pair)
        apart = np.abs(pair[0].gram - pair[1].gram).sum() + np.abs(pair[0].correlations - pair[1].correlations).sum()
        assert np.abs(one - other).sum() == pytest.approx(apart, rel=1e-12)
        assert apart <= width == same == Fraction(bounds.statistics)
        assert place or apart == pytest.approx(4, rel=1e-12)
        assert matrix == pytest.approx(pair[0].gram / 4 + 0.1 * np.eye(3), rel=1e-12)
        assert vector == pytest.approx(pair[0].correlations / 4, rel=1e-12)


class Recorded(np.ndarray[Any, Any]):
    """Rows that write down how many of them are taken at a time."""

    taken: ClassVar[list[int]] = []

    def __getitem__(self, key: Any) -> Any:
        part = np.asarray(self)[key]
        self.taken.append(len(part))
        return part


@kinds
@every("size", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 11])
def test_additions_are_no_fewer_than_those_of_the_loops(kind: str, size: int) -> None:
    """A sum of products of m rows rounds m times at most, each block is added once, and then there is a division."""
    rows, targets = data(kind, size, 1)
    Recorded.taken.clear()
    if kind == RIDGE:
        RidgeObjective.of(RidgeBounds(size, 1, 0.1), rows.view(Recorded), targets)
    else:
        examples = Examples(rows)
        examples.signed = rows.view(Recorded)
        LogisticObjective(LogisticBounds(size, 1, 0.1), examples).values(np.zeros((1, 1)))
    assert sum(Recorded.taken) == size
    assert max(Recorded.taken) + len(Recorded.taken) + 1 <= additions(size)


def test_covariances_with_hardly_any_noise_give_the_minimiser() -> None:
    rows, targets = data(RIDGE, 500, 4)
    found = RidgeObjective.of(RidgeBounds(500, 4, 0.01), rows, targets)
    levels = [Fraction(10**9), Fraction(10**11)]
    first, last = covariance_hypotheses(found, levels, bits=NumpyBits(3))
    assert np.abs(last - found.minimiser).max() < 1e-6
    assert np.abs(first - found.minimiser).max() < 1e-6


@pytest.mark.statistical
def test_variance_of_the_noise_on_covariances(monkeypatch: pytest.MonkeyPatch) -> None:
    """32/ε² on the diagonal and on Xᵀy, 8/ε² off it; six standard errors: one false alarm in 10⁷ or fewer."""
    rows, targets = data(RIDGE, 50, 3)
    found = RidgeObjective.of(RidgeBounds(50, 3, 0.1), rows, targets)
    seen: list[tuple[Array, Array]] = []

    def spy(matrix: Array, vector: Array, radius: float) -> Any:
        seen.append((matrix.copy(), vector.copy()))
        return minimise_over_ball(matrix, vector, radius)

    monkeypatch.setattr(module, "minimise_over_ball", spy)
    bits = NumpyBits(11)
    for _ in range(800):
        list(covariance_hypotheses(found, [Fraction(1, 2)], bits=bits))
    matrices = np.array([matrix for matrix, _ in seen]) * 50 - found.gram - 50 * 0.1 * np.eye(3)
    vectors = np.array([vector for _, vector in seen]) * 50 - found.correlations
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    upper = matrices[:, [0, 0, 1], [1, 2, 2]]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    tolerance = 6 * math.sqrt(5 / (3 * 800))  # a Laplace variance has the relative standard error √(5/N)
    for noise, wanted in ((upper, 8.0), (diagonal, 32.0), (vectors, 32.0)):
        assert float((noise**2).mean()) / 4 == pytest.approx(wanted, rel=tolerance)
    assert tolerance < 0.5


def expected_excess(kind: str, method: str, bounds: RiskBounds, epsilon: float) -> float:
    """The bounds on the mean that docs/proofs/models/excess_risk.md proves."""
    n, p, ridge = bounds.size, bounds.dimension, bounds.ridge
    if method == "covariance":
        return 4 * math.sqrt(2) / (n * epsilon) * (math.sqrt(p / ridge) / 2 + math.sqrt(p * (p + 3)) / (16 * ridge))
    smooth = (1.0 if kind == RIDGE else 0.25) + ridge
    return smooth * p * (math.sqrt(p) * bounds.distance / epsilon) ** 2


@pytest.mark.statistical
@pytest.mark.parametrize(("kind", "method"), [(RIDGE, "covariance"), (RIDGE, "output"), (LOGISTIC, "output")])
def test_mean_excess_is_below_what_theory_says(kind: str, method: str) -> None:
    """Far below, so that no draw decides; excess risk is at most a few times its mean bound."""
    rows, targets = data(kind, 2000, 3)
    found = objective(kind, rows, targets, 0.05)
    epsilon, bits = Fraction(2), NumpyBits(6)
    draws = []
    for _ in range(100):
        if isinstance(found, RidgeObjective) and method == "covariance":
            draws += list(covariance_hypotheses(found, [epsilon], bits=bits))
        else:
            draws += list(output_hypotheses(found, [epsilon], bits=bits))
    mean = float(found.excess_risks(np.array(draws)).mean())
    assert 0.0 < mean <= expected_excess(kind, method, found.bounds, float(epsilon))


@kinds
@every("intercept", [False, True])
def test_users_units(kind: str, intercept: bool) -> None:
    """The search's gap is the user's excess risk: of the user's weights, in the user's units, with the user's λ."""
    units = UnitBox(Fraction(5), Fraction(3) if kind == RIDGE else None, intercept)
    rows, targets = data(kind, 60, 3)
    features, y, ridge = rows * 5, targets * float(units.y_bound or 1), Fraction(3, 10)
    bounds = BOUNDS[kind](60, 3 + intercept, float_above(units.regularization(ridge)))
    found: Objective
    if isinstance(bounds, RidgeBounds):
        found = RidgeObjective.of(bounds, units.rows(features), units.targets(y))
    else:
        assert isinstance(bounds, LogisticBounds)
        found = LogisticObjective(bounds, Examples(units.rows(features, y)))
    theta = np.array([0.4, -0.2, 0.7, 0.5])[: 3 + intercept]
    coefficients, constant = units.split(theta)
    weights, table = coefficients, features
    if intercept:  # a constant column of value x_bound
        weights, table = np.append(coefficients, constant / 5), np.column_stack([features, np.full(60, 5.0)])
    excess = -Records(kind, table, y, np.ones(60), float(ridge)).gap(weights)
    assert excess > 0.01
    assert float(units.risk(Fraction(1))) * excess == pytest.approx(
        float(found.excess_risks(theta[np.newaxis])[0]), rel=1e-6
    )
