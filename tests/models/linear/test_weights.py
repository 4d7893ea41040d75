"""Weights of classes: rows count as often as they say, and no row does more than one of weight 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from models.linear.data import LOSSES, random_examples
from models.linear.test_gaussian_privacy import slope_and_bend, split
from sklearn.metrics import balanced_accuracy_score
from support.cases import every
from support.confidence import least_loss
from support.numpy_bits import NumpyBits

import dpmine
from dpmine.errors import BadParameter
from dpmine.models.linear.losses import Examples, HuberLoss, Loss
from dpmine.models.linear.multinomial import ClassExamples, MultinomialLoss, problem_of
from dpmine.models.linear.perturbations import OutputPerturbation
from dpmine.models.linear.training import class_weights

HALF = np.array([0.5, 1.0])
DRAWS = 2500


def minimiser(examples: Examples, loss: Loss, ridge: float) -> Any:
    ridges = np.full(examples.dimension, ridge)
    return problem_of(examples, loss, ridges, np.zeros(examples.dimension)).approached(1e-13)


@every("loss", LOSSES)
@every("size", [40, 9000])
def test_a_row_of_half_the_weight_counts_half(loss: Loss, size: int) -> None:
    """Beside the same rows, those of weight 1 twice."""
    rows = random_examples(size, 3, 1).signed
    heavy = np.arange(size) % 3 == 0
    weighted = Examples(rows, weights=HALF[heavy.astype(int)])
    twice = Examples(np.vstack([rows, rows[heavy]]))
    found = minimiser(weighted, loss, 0.01)
    assert np.allclose(found, minimiser(twice, loss, 0.01 * 2 * size / twice.size), atol=1e-8)


def test_so_it_does_with_more_classes() -> None:
    rows, codes = random_examples(9000, 2, 2).signed, np.arange(9000) % 3
    codes = np.where(rows[:, 0] > 0.2, 0, codes)
    weighted = ClassExamples(rows, codes, 3, weights=np.array([0.5, 1.0, 0.5])[codes])
    again = codes == 1
    twice = ClassExamples(np.vstack([rows, rows[again]]), np.concatenate([codes, codes[again]]), 3)
    loss = MultinomialLoss(3)
    found = minimiser(weighted, loss, 0.01)
    assert np.allclose(found, minimiser(twice, loss, 0.01 * 18_000 / twice.size), atol=1e-8)


def test_parts_keep_the_weights_of_their_rows() -> None:
    weights = np.linspace(0.1, 1, 64)
    examples = Examples(np.eye(64), weights=weights)
    assert examples.take(slice(3, 5)).weights == pytest.approx(weights[3:5])
    assert examples.thinned.weights == pytest.approx(weights[::16])
    assert ClassExamples(np.eye(64), np.zeros(64, int), 3, weights=weights).thinned.weights == pytest.approx(
        weights[::16]
    )


@every("loss", LOSSES)
def test_no_row_moves_more_than_one_of_weight_1(loss: Loss) -> None:
    """Whatever the weights of the old and the new row; the bound is reached where both have weight 1 and pull fully."""
    generator, ridge = np.random.default_rng(3), 0.5
    most = 0.0
    for _ in range(100):
        rows, weights = (
            random_examples(6, 2, int(generator.integers(1000))).signed,
            generator.choice([0.1, 0.6, 1.0], 6),
        )
        other, changed = rows.copy(), weights.copy()
        other[0], changed[0] = generator.choice([-1.0, 1.0]) * rows[0], generator.choice([0.1, 0.6, 1.0])
        found = [minimiser(Examples(r, weights=w), loss, ridge) for r, w in ((rows, weights), (other, changed))]
        most = max(most, float(np.linalg.norm(found[0] - found[1])))
    assert most <= 2 / (6 * ridge)
    opposite = [
        minimiser(Examples(np.array([[row]]), weights=np.ones(1)), HuberLoss(Fraction(1, 2)), 4.0) for row in (1, -1)
    ]
    assert abs(opposite[0] - opposite[1]) == pytest.approx(2 / 4)


def least_delta(loss: Loss, pair: Any, ridge: float, deviation: float, epsilon: float) -> float:
    """∫ (p − e^ε p')₊ for the tilted minimisers on one weighted row each."""
    end = (13 * deviation + 1) / ridge
    grid = end * np.sinh(np.linspace(-10, 10, 40_001)) / np.sinh(10)
    densities = []
    for row, weight in pair:
        first, second = slope_and_bend(loss, row * grid)
        pull, bend = ridge * grid + weight * first * row, ridge + weight * second * row * row
        densities.append(np.exp(-((pull / deviation) ** 2) / 2) * bend / (deviation * np.sqrt(2 * np.pi)))
    assert np.trapezoid(densities[0], grid) == pytest.approx(1, abs=1e-3)
    return float(np.trapezoid(np.maximum(0, densities[0] - np.exp(epsilon) * densities[1]), grid))


@every("loss", LOSSES)
@every("ridge", ["0.01", "1", "40"])
@every("weights", [(1.0, 0.2), (0.2, 1.0), (0.5, 0.5)])
@every(("epsilon", "delta"), [("1", "1e-6"), ("4", "0.001")])
def test_the_exact_law_keeps_the_claim(loss: Loss, ridge: str, weights: Any, epsilon: str, delta: str) -> None:
    budget = split(loss, 1, ridge, epsilon, delta)
    pair = list(zip((1.0, -1.0), weights, strict=True))
    assert least_delta(loss, pair, budget.ridge, 2 / float(budget.rate), float(epsilon)) <= float(delta) * (1 + 1e-3)


def test_weights_above_1_break_the_claim() -> None:
    """What dividing by the largest is for."""
    budget = split(HuberLoss(Fraction(1, 2)), 1, "40", "4", "0.001")
    pair = [(1.0, 3.0), (-1.0, 3.0)]
    assert least_delta(HuberLoss(Fraction(1, 2)), pair, budget.ridge, 2 / float(budget.rate), 4.0) > 0.01


def audited(weights: Any) -> float:
    """A lower confidence bound on ε, of solutions at ±1/(2λ) where rows have weight 1; beside an empty place."""
    training, bits, hits = OutputPerturbation(HuberLoss(Fraction(1, 2)), 1), NumpyBits(4), []
    for row in (1.0, -1.0):
        data = Examples(np.array([[row], [0.0]]), weights=weights)
        draws = (training.draw(Fraction(4), Fraction(1), bits=bits) for _ in range(DRAWS))
        hits.append(sum(training.fit(data, Fraction(4), Fraction(1), draw)[0] > 0.2 for draw in draws))
    return least_loss(hits, DRAWS)


@pytest.mark.statistical
@pytest.mark.usefixtures("fresh_terms")
def test_an_audit_tells_weights_of_10_from_weights_of_1() -> None:
    assert audited(np.ones(2)) <= 1
    assert audited(np.full(2, 10.0)) > 1


def test_weights_are_those_of_the_classes_over_the_largest() -> None:
    assert class_weights(None, None, 3) is None
    found = class_weights({"yes": 10, "maybe": "2.5"}, ["no", "maybe", "yes"], 1)
    assert found is not None
    assert found.tolist() == [0.1, 0.25, 1]


@every(
    ("given", "classes", "candidates", "hint"),
    [
        ("balanced", ["a", "b"], 1, "would read the labels"),
        ({"a": 2}, None, 1, "needs classes"),
        ({"a": 2}, ["a", "b"], 2, "needs one λ"),
        ({"c": 2}, ["a", "b"], 1, "not among the classes"),
        ({"a": 0}, ["a", "b"], 1, "greater than 0"),
        ({"a": 1e10}, ["a", "b"], 1, "1e-9 times the largest"),
        ([1, 2], ["a", "b"], 1, "must map labels"),
    ],
)
def test_unusable_weights(given: Any, classes: Any, candidates: int, hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        class_weights(given, classes, candidates)


@every("classes", [[0, 1], [0, 1, 2]])
@every("kind", [dpmine.PrivateLogisticRegression, dpmine.PrivateHuberSVC])
def test_a_rare_class_is_found(classes: Any, kind: Any) -> None:
    if len(classes) > 2 and kind is dpmine.PrivateHuberSVC:
        pytest.skip("learns two classes")
    generator = np.random.default_rng(5)
    labels = (generator.uniform(size=8000) < 0.05).astype(int)
    features = np.clip(generator.normal(size=(8000, 2)) * 0.4 + 0.6 * labels[:, np.newaxis], -1, 1)
    found = []
    for weights in (None, {1: 19}):
        model = kind(classes=classes, class_weight=weights, feature_bounds=(-1, 1), epsilon=3)
        model._fit(features, labels, bits=NumpyBits(6))
        found.append(balanced_accuracy_score(labels, np.minimum(model.predict(features), 1)))
        assert ("the weights of the classes are public" in model.guarantee_.notes) == (weights is not None)
        assert model.guarantee_.epsilon == 3
    assert found[0] + 0.1 < found[1]
