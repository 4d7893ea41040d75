"""The solver's certificate is honest, and its fallback keeps its guarantee."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from models.linear.data import KINDS, LOSSES, random_examples
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.errors import BadParameter
from dpmine.models.linear import solver
from dpmine.models.linear.losses import Examples, HuberLoss, LogisticLoss
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation
from dpmine.models.linear.preprocessing import UnitBall
from dpmine.models.linear.sensitivities import norm_above, project, projection_rounding
from dpmine.models.linear.solver import Accuracy, Problem, certified, descend, descent_steps, gradient_bound, minimise


def problem_of(loss: Any, size: int, dimension: int, ridge: float, tilt: float = 0.3) -> tuple[Problem, Accuracy]:
    examples = random_examples(size, dimension, size)
    direction = np.ones(dimension) / dimension**0.5
    accuracy = Accuracy.of(loss, size=size, dimension=dimension, ridge=ridge, radius=(1 + abs(tilt)) / ridge)
    return Problem(examples, loss, np.full(dimension, ridge), tilt * direction), accuracy


def exact_gradient(problem: Problem, weights: Any) -> float:
    """‖∇J‖ of a logistic problem in 300-bit arithmetic, from the very floats."""
    before, ctx.prec = ctx.prec, 300
    try:
        rows = [[arb(float(entry)) for entry in row] for row in problem.examples.signed]
        point = [arb(float(entry)) for entry in weights]
        total = [
            arb(float(ridge)) * entry + arb(float(tilt))
            for ridge, entry, tilt in zip(problem.ridges, point, problem.tilt, strict=True)
        ]
        for row in rows:
            margin = sum((a * b for a, b in zip(row, point, strict=True)), arb(0))
            slope = -1 / (1 + margin.exp()) / len(rows)
            total = [entry + slope * value for entry, value in zip(total, row, strict=True)]
        return float(sum((entry * entry for entry in total), arb(0)).sqrt())
    finally:
        ctx.prec = before


@every("ridge", [1e-6, 1e-3, 1.0, 1e4])
@every("scale", [0.0, 1.0, 1e3])
def test_certificate_bounds_the_exact_gradient(ridge: float, scale: float) -> None:
    """At the minimiser and away from it, where rounding is larger."""
    problem, accuracy = problem_of(LogisticLoss(), 60, 5, ridge)
    found = problem.approached(accuracy.tolerance / 8)
    for weights in (found, found + scale * np.arange(5), scale * np.ones(5)):
        assert exact_gradient(problem, weights) <= gradient_bound(problem, weights, accuracy)


@every("loss", LOSSES)
@every("ridge", [1e-5, 1e-3, 0.1, 10.0])
@every("size", [1, 40, 9000])
def test_newton_is_certified(loss: Any, ridge: float, size: int) -> None:
    problem, accuracy = problem_of(loss, size, 4, ridge)
    assert certified(problem, problem.approached(accuracy.tolerance / 8), accuracy)


def test_a_point_elsewhere_is_not_certified() -> None:
    problem, accuracy = problem_of(LogisticLoss(), 40, 4, 0.1)
    found = problem.approached(accuracy.tolerance / 8)
    assert not certified(problem, found + 20 * accuracy.tolerance / accuracy.ridge, accuracy)
    assert not certified(problem, np.full(4, np.nan), accuracy)


def test_far_outside_the_ball_the_projection_counts() -> None:
    """A tilt that no budget expects: rounding grows with ‖w‖, the projected error does not."""
    problem, accuracy = problem_of(LogisticLoss(), 40, 4, 0.1)
    far = Problem(problem.examples, problem.loss, problem.ridges, problem.tilt * 1e12)
    assert certified(far, far.approached(accuracy.tolerance / 8), accuracy)


@every("loss", LOSSES)
@every("tilt", [0.0, 0.5, 50.0, 1e9])
def test_descent_reaches_the_tolerance_in_its_public_steps(loss: Any, tilt: float) -> None:
    problem, accuracy = problem_of(loss, 40, 4, 0.2)
    problem = Problem(problem.examples, loss, problem.ridges, tilt * np.array([0.6, 0.0, 0.0, 0.8]))
    steps = descent_steps(loss, accuracy)
    found = descend(problem, accuracy, steps=steps)
    best = problem.approached(1e-300)
    distance = np.linalg.norm(_projected(found, accuracy.radius) - _projected(best, accuracy.radius))
    assert distance <= accuracy.tolerance / accuracy.ridge
    halfway = descend(problem, accuracy, steps=steps // 5)
    if tilt < 1:
        assert np.linalg.norm(halfway - best) > accuracy.tolerance / accuracy.ridge  # the steps are needed


def _projected(weights: Any, radius: float) -> Any:
    return weights * min(1.0, radius / max(float(np.linalg.norm(weights)), 1e-300))


@pytest.mark.parametrize("kind", KINDS)
def test_fallback_gives_the_same_release_up_to_the_tolerance(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    training = kind(LogisticLoss(), 3)
    examples = random_examples(30, 3, 1)
    draw = training.draw(Fraction(1), Fraction(1), bits=NumpyBits(2))
    usual = training.fit(examples, Fraction(1), Fraction(1), draw)
    monkeypatch.setattr(solver, "certified", lambda *_: False)
    taken: list[int] = []

    def noted(problem: Problem, accuracy: Accuracy, *, steps: int) -> Any:
        taken.append(steps)
        return descend(problem, accuracy, steps=steps)

    monkeypatch.setattr(solver, "descend", noted)
    fallen = training.fit(examples, Fraction(1), Fraction(1), draw)
    terms = training.release(30, Fraction(1), Fraction(1))
    assert taken == [descent_steps(training.loss, terms.accuracy)]
    distance = float(np.linalg.norm(usual - fallen))
    assert distance <= 2 * terms.accuracy.tolerance / terms.accuracy.ridge + 2 * float(terms.grid)


def test_ridges_may_differ() -> None:
    training = ObjectivePerturbation(LogisticLoss(), 3, relieved=True)
    terms = training.release(5000, Fraction(1, 10), Fraction(1))
    ridges = np.array([terms.accuracy.stiffness] * 2 + [terms.accuracy.ridge])
    assert terms.accuracy.ridge < terms.accuracy.stiffness == 0.1
    problem = Problem(random_examples(5000, 3, 3), LogisticLoss(), ridges, np.array([0.1, 0.0, -0.1]))
    found = minimise(problem, terms.accuracy)
    slow = descend(problem, terms.accuracy, steps=descent_steps(problem.loss, terms.accuracy))
    assert np.linalg.norm(found - slow) <= 2 * terms.accuracy.tolerance / terms.accuracy.ridge


def test_blocked_mean_is_the_mean() -> None:
    for size in (1, 255, 256, 257, 5000):
        examples = Examples(np.random.default_rng(size).normal(size=(size, 3)))
        weights = np.random.default_rng(1).normal(size=size)
        assert np.allclose(examples.weighted_mean(weights), weights @ examples.signed / size, atol=1e-13)


def test_a_singular_hessian_is_no_error() -> None:
    """Equal columns, and a ridge that rounding swallows."""
    rows = np.repeat(np.arange(8)[:, np.newaxis] % 2, 2, axis=1) / 2.0
    problem = Problem(Examples(rows), HuberLoss(Fraction(1, 1000)), np.full(2, 1e-20), np.zeros(2))
    assert np.array_equal(problem.inverse_bound(), np.diag([1e20, 1e20]))
    assert np.isfinite(problem.approached(1e-9)).all()


@pytest.mark.parametrize(
    ("width", "ridge", "size", "dimension"),
    [("0.001", "1e-5", 300, 5), ("0.01", "1e-6", 40, 2), ("0.001", "1e-4", 3000, 10)],
)
def test_newton_is_certified_with_narrow_corners(width: str, ridge: str, size: int, dimension: int) -> None:
    loss, training = HuberLoss(Fraction(width)), OutputPerturbation(HuberLoss(Fraction(width)), dimension + 1)
    accuracy = training.release(size, Fraction(ridge), Fraction(1)).accuracy
    for seed in range(12):
        features = np.random.default_rng(seed).normal(size=(size, dimension))
        ball = UnitBall(float(np.linalg.norm(features, axis=1).max()), intercept=True)
        examples = Examples(ball.rows(features, np.where(features[:, 0] > 0, 1.0, -1.0)))
        problem = Problem(examples, loss, np.full(dimension + 1, float(ridge)), np.zeros(dimension + 1))
        assert certified(problem, problem.approached(accuracy.tolerance / 16), accuracy)


def test_where_rounding_may_hide_descent_is_rejected() -> None:
    """Before anything is solved, so that nobody learns whether it would have mattered."""
    with pytest.raises(BadParameter, match="lost in rounding"):
        problem_of(LogisticLoss(), 10, 2, 1e-14)


def test_weights_too_long_for_their_norm_are_projected() -> None:
    huge = project(np.array([3e200, -4e200]), 2.0)
    assert huge == pytest.approx([1.2, -1.6])


def test_norms_and_projections_of_many_columns() -> None:
    """Against exact rationals: many equal entries, then one that is larger."""
    vector = np.append(np.full(50_000, 0.1), 7.0)
    square = sum((Fraction(float(entry)) ** 2 for entry in vector), Fraction(0))
    assert Fraction(norm_above(vector)) ** 2 >= square
    inside = project(vector, 1.0)
    length = sum((Fraction(float(entry)) ** 2 for entry in inside), Fraction(0))
    assert length <= (1 + Fraction(projection_rounding(len(vector), 1.0))) ** 2
