"""Softmax regression of several classes: its loss, its solver, and the classifier as users call it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models.linear.data import LOSSES
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_digits
from support.cases import every
from support.numpy_bits import NumpyBits

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.gaussian import ratio_at
from dpmine.models.linear.multinomial import ClassExamples, MultinomialLoss, MultinomialProblem, basis
from dpmine.models.linear.sensitivities import project
from dpmine.models.linear.solver import Accuracy, certified, descend, descent_steps

SCALE = 0.5**0.5
LOSS = MultinomialLoss(3)


def examples_of(size: int, columns: int, classes: int, seed: int = 0) -> ClassExamples:
    """Random rows of all norms below 1."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(size, columns))
    rows *= generator.uniform(0.2, 1 - 1e-12, size=(size, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    codes = (softmax(8 * rows @ generator.normal(size=(columns, classes)), axis=1).cumsum(axis=1) < 0.5).sum(axis=1)
    return ClassExamples(rows, codes.astype(np.intp), classes)


def risk(weights: Any, data: ClassExamples, ridges: Any, tilt: Any) -> float:
    """The tilted objective by its own formula."""
    scores = data.signed @ weights.reshape(-1, data.classes - 1) @ basis(data.classes).T
    losses = -log_softmax(scores, axis=1)[np.arange(data.size), data.codes]
    return float(SCALE * losses.mean() + ridges @ weights**2 / 2 + tilt @ weights)


@every("classes", [2, 3, 10, 100])
def test_the_basis_is_orthonormal_and_adds_up_to_nothing(classes: int) -> None:
    assert np.allclose(basis(classes).T @ basis(classes), np.eye(classes - 1), atol=1e-14)
    assert np.allclose(basis(classes).sum(axis=0), 0, atol=1e-13)


@every("classes", [3, 4, 30])
def test_the_bounds_of_the_loss(classes: int) -> None:
    """Of one row: a gradient no longer than 1, and a Hessian of the stated norm, trace and rank; reached up to 1e-4."""
    generator, loss = np.random.default_rng(1), MultinomialLoss(classes)
    middles = [np.eye(classes)[0] * 0.5 + np.eye(classes)[1] * 0.5, np.full(classes, 1 / classes)]
    chances = [*middles, *generator.dirichlet(np.full(classes, 0.3), size=200)]
    pulls = [SCALE * basis(classes).T @ (p - e) for p in [*chances, *np.eye(classes)] for e in np.eye(classes)]
    bends = [SCALE * basis(classes).T @ (np.diag(p) - np.outer(p, p)) @ basis(classes) for p in chances]
    for found, bound in [
        (max(np.linalg.norm(pull) for pull in pulls), 1.0),
        (max(np.linalg.norm(bend, 2) for bend in bends), float(loss.smoothness)),
        (max(np.trace(bend) for bend in bends), float(loss.bend)),
    ]:
        assert found <= bound + 1e-12
        assert found >= bound * (1 - 2e-4)
    assert loss.columns == classes - 1


@every("binary", LOSSES)
def test_losses_of_one_margin_are_as_they_were(binary: Any) -> None:
    assert (binary.columns, binary.chain, binary.bend) == (1, 0, binary.smoothness)


@every(("size", "columns", "classes"), [(1, 1, 3), (60, 4, 3), (900, 3, 7), (9000, 2, 3)])
@every("ridge", [1e-4, 0.1], quick=4)
def test_the_solver_finds_the_minimiser(size: int, columns: int, classes: int, ridge: float) -> None:
    data = examples_of(size, columns, classes)
    ridges = np.full(data.dimension, ridge)
    ridges[-(classes - 1) :] /= 2
    tilt = np.random.default_rng(2).normal(size=data.dimension) * 0.01
    problem = MultinomialProblem(data, MultinomialLoss(classes), ridges, tilt)
    found = problem.approached(1e-13)
    best = minimize(risk, np.zeros(data.dimension), (data, ridges, tilt), tol=1e-13).x
    assert np.linalg.norm(problem.gradient(found)) <= 1e-12
    assert risk(found, data, ridges, tilt) <= risk(best, data, ridges, tilt) + 1e-12
    assert np.allclose(found, best, atol=1e-3 * (1 + np.linalg.norm(best)))


@every("ridge", [0.01, 0.3])
def test_both_methods_keep_the_guarantee(ridge: float) -> None:
    """The certificate accepts what Newton's method found, and the public number of steps of descent ends close by."""
    data, loss = examples_of(400, 3, 4), MultinomialLoss(4)
    tilt = np.random.default_rng(3).normal(size=data.dimension) * 0.02
    radius = (1 + float(np.linalg.norm(tilt))) / ridge
    accuracy = Accuracy.of(loss, size=400, dimension=data.dimension, ridge=ridge, radius=radius)
    problem = MultinomialProblem(data, loss, np.full(data.dimension, ridge), tilt)
    found = problem.approached(accuracy.tolerance / 16)
    assert certified(problem, found, accuracy)
    other = descend(problem, accuracy, steps=descent_steps(loss, accuracy))
    apart = np.linalg.norm(project(found, radius) - project(other, radius))
    assert apart <= 2 * accuracy.tolerance / ridge


def test_empty_places_pull_on_nothing() -> None:
    data = examples_of(50, 2, 3)
    padded = ClassExamples(np.vstack([data.signed, np.zeros((50, 2))]), np.resize(data.codes, 100), 3)
    weights = np.arange(4.0)
    whole, half = (
        MultinomialProblem(each, LOSS, np.ones(4), np.zeros(4)).gradient(weights) - weights for each in (data, padded)
    )
    assert np.allclose(whole, 2 * half, atol=1e-12)


def test_margins_are_lipschitz() -> None:
    """As the ramp score of a search for λ needs them, and 0 for an empty place."""
    data, generator = examples_of(200, 3, 5), np.random.default_rng(4)
    for _ in range(50):
        one, other = generator.normal(size=(2, data.dimension)) * 3
        moved = np.abs(data.margins(one) - data.margins(other)).max()
        assert moved <= np.linalg.norm(one - other) * (1 + 1e-12)
    assert ClassExamples(np.zeros((1, 3)), np.zeros(1, np.intp), 5).margins(one).tolist() == [0.0]


def three_clouds(size: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, size)
    return generator.normal(size=(size, 2)) * 0.15 + np.array([[0.5, 0], [-0.5, 0.3], [0, -0.5]])[codes], codes


@every("method", ["objective", "output"])
@every("noise", ["gamma", "gaussian"])
@every("intercept", [True, False])
def test_it_learns(method: str, noise: str, intercept: bool) -> None:
    features, codes = three_clouds()
    names: Any = np.array(["left", "right", "below"])
    model = dpmine.PrivateLogisticRegression(
        classes=names, epsilon=20, method=method, noise=noise, fit_intercept=intercept
    )
    model._fit(features, names[codes], bits=NumpyBits(1))
    assert model.score(features, names[codes]) > 0.9
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    assert np.allclose(model.coef_.sum(axis=0), 0, atol=1e-9)
    assert (model.intercept_ != 0).all() == intercept
    inside = features / np.maximum(1, np.linalg.norm(features, axis=1))[:, np.newaxis]
    scores = inside @ model.coef_.T + model.intercept_
    assert np.allclose(model.decision_function(features), scores)
    assert np.allclose(model.predict_proba(features), softmax(scores, axis=1))
    assert np.allclose(model.predict_log_proba(features), log_softmax(scores, axis=1))
    assert (model.predict(features) == names[scores.argmax(axis=1)]).all()


def test_with_much_budget_it_is_the_minimiser() -> None:
    features, codes = three_clouds(5000)
    model = dpmine.PrivateLogisticRegression(0.05, 2, 10**7, classes=[0, 1, 2], fit_intercept=False)
    model._fit(features, codes, bits=NumpyBits(2))
    data = ClassExamples(features / 2, codes, 3)
    best = minimize(risk, np.zeros(4), (data, np.full(4, 0.05), np.zeros(4)), tol=1e-14).x.reshape(2, 2)
    assert np.allclose(model.coef_, basis(3) @ best.T / 2, atol=1e-4)


def test_one_of_several_regularisers_is_chosen() -> None:
    features, codes = three_clouds(3000)
    model = dpmine.PrivateLogisticRegression([0.001, 0.03, 100], epsilon=8, classes=[0, 1, 2])
    model._fit(features, codes, bits=NumpyBits(3))
    assert model.lambda_ in {0.001, 0.03}
    assert model.score(features, codes) > 0.9
    assert model.guarantee_.epsilon == 8


@every(("noise", "method", "delta", "rho"), [
    ("gamma", "objective", 0, Fraction(1, 2)),
    ("gaussian", "objective", Fraction(1, 10**6), Fraction(1, 2)),
    ("gaussian", "output", Fraction(1, 10**6), ratio_at(Fraction(1), Fraction(1, 10**6)) ** 2 / 2),
])  # fmt: skip
def test_the_guarantee_is_one_budget_for_all_classes(noise: str, method: str, delta: Any, rho: Any) -> None:
    model = dpmine.PrivateLogisticRegression(classes=list(range(7)), noise=noise, method=method)
    before = model.guarantee(features=["a", "b"])
    found = model.fit(*three_clouds(200)).guarantee_
    for guarantee in (before, found):
        assert [guarantee.epsilon, guarantee.delta, guarantee.rho] == [1, delta, rho]
    assert any("a label that is none of them, or missing, counts as the first" in note for note in found.notes)


def test_the_noise_is_chosen_by_the_number_of_all_weights() -> None:
    """Three columns, the intercept one of them: 6 weights for three classes, 57 for twenty."""
    for classes, delta in [(3, 0), (20, Fraction(1, 10**6))]:
        model = dpmine.PrivateLogisticRegression(classes=list(range(classes)))
        assert model.guarantee(features=["a", "b"]).delta == delta
        assert model.fit(*three_clouds(200)).guarantee_.delta == delta


def test_units_keep_their_rows() -> None:
    features, codes = three_clouds(400)
    model = dpmine.PrivateLogisticRegression(classes=[0, 1, 2], rows_per_unit=3, noise="gamma")
    guarantee = model.fit(features, codes, units=np.arange(400) // 4).guarantee_
    assert str(guarantee) == "ε = 1, δ = 0 per unit, neighbours replace-one"


def test_labels_that_are_no_class_count_as_the_first() -> None:
    features, codes = three_clouds(300)
    odd = codes.astype(object)
    odd[codes == 0] = np.resize(np.array([None, "x", 7, np.nan], dtype=object), (codes == 0).sum())
    one, other = (
        dpmine.PrivateLogisticRegression(classes=[0, 1, 2])._fit(features, labels, bits=NumpyBits(5))
        for labels in (codes, odd)
    )
    assert (one.coef_ == other.coef_).all()


def test_more_than_two_classes_must_be_named_and_only_for_probabilities() -> None:
    features, codes = three_clouds(90)
    with pytest.raises(BadData, match="name them all with `classes="):
        dpmine.PrivateLogisticRegression().fit(features, codes)
    with pytest.raises(BadParameter, match="the two labels"):
        dpmine.PrivateHuberSVC(classes=[0, 1, 2]).fit(features, codes)


@pytest.mark.statistical
def test_digits_are_told_apart() -> None:
    """Accuracy of ten classes at ε = 3 was 0.83 on average over splits, with a standard error of 0.011; one against
    the rest with ε/10 each reached 0.18. A mean of three below 0.7 is six standard errors away."""
    features, digits = load_digits(return_X_y=True)
    scores = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(digits))
        train, test = np.split(order, [1437])
        model = dpmine.PrivateLogisticRegression(classes=range(10), feature_bounds=(0, 16), epsilon=3)
        model._fit(features[train], digits[train], bits=NumpyBits(seed))
        scores.append(model.score(features[test], digits[test]))
    assert np.mean(scores) > 0.7
    assert all(low != high for low, high in pairwise(scores))
