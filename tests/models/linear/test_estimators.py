"""The classifiers as users call them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from models.linear.data import loss_value
from scipy.sparse import csr_array
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.errors import BadData, BadParameter
from dpmine.ledger.ledger import Ledger
from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation
from dpmine.models.linear.preprocessing import FeatureBounds, UnitBall, within

if TYPE_CHECKING:
    from pathlib import Path

KINDS: list[Any] = [PrivateLogisticRegression, PrivateHuberSVC]


def two_clouds(size: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, size)
    features = generator.normal(size=(size, 3)) * 0.2
    features[:, 0] += np.where(labels == 1, 0.5, -0.3)
    return features, labels


@every("kind", KINDS)
@every("method", ["objective", "output"])
@every("intercept", [True, False])
def test_they_learn(kind: Any, method: str, intercept: bool) -> None:
    features, labels = two_clouds()
    classifier = kind(lambdas=[0.01, "0.1"], epsilon=20, method=method, fit_intercept=intercept)
    classifier._fit(features, labels, bits=NumpyBits(1))
    assert classifier.score(features, labels) > 0.85
    assert classifier.coef_.shape == (1, 3)
    assert classifier.intercept_.shape == (1,)
    assert (classifier.intercept_[0] != 0) == intercept
    assert classifier.lambda_ in {0.01, 0.1}
    inside = features / np.maximum(1, np.linalg.norm(features, axis=1))[:, np.newaxis]
    decisions = inside @ classifier.coef_[0] + classifier.intercept_[0]
    assert np.allclose(classifier.decision_function(features), decisions)
    assert (classifier.predict(features) == classifier.classes_[(decisions > 0).astype(int)]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_with_much_data_and_budget_it_is_the_minimiser(kind: Any) -> None:
    """Beside an independent minimisation of the scaled problem."""
    from scipy.optimize import minimize

    features, labels = two_clouds(20_000, seed=5)
    classifier = kind(lambdas="0.05", norm_bound=2, epsilon=10**7, fit_intercept=False)
    classifier._fit(features, labels, bits=NumpyBits(2))
    clipped = features / np.maximum(2, np.linalg.norm(features, axis=1))[:, np.newaxis]
    signed = clipped * np.where(labels == 1, 1, -1)[:, np.newaxis]
    loss = classifier._loss()
    best = minimize(lambda w: loss_value(loss, signed @ w).mean() + 0.025 * w @ w, np.zeros(3), tol=1e-14).x
    assert np.allclose(classifier.coef_[0], best / 2, atol=1e-5)


def test_the_guarantee_is_the_whole_budget() -> None:
    features, labels = two_clouds(200)
    for lambdas in (0.1, [0.1], [0.1, 0.2, 1]):
        found = PrivateLogisticRegression(lambdas=lambdas, epsilon=0.3).fit(features, labels).guarantee_
        assert (found.epsilon, found.delta, found.unit) == (Fraction(3, 10), Fraction(0), "row")
        assert str(found.neighbors) == "replace_one"
        assert any("tolerance" in note and "gradient descent" in note for note in found.notes)
        assert "how long it takes is not covered" in " ".join(found.notes)


def test_an_approximate_chooser_spends_delta() -> None:
    features, labels = two_clouds(200)
    parameters: dict[str, Any] = {"mechanism": "large-margin", "epsilon": 0.1, "delta": "1e-9"}
    classifier = PrivateLogisticRegression(lambdas=[0.01, 0.1], **parameters).fit(features, labels)
    assert classifier.guarantee_.delta == Fraction(1, 10**9)
    assert classifier.lambda_ in {0.01, 0.1}


def test_probabilities_are_those_of_the_model() -> None:
    features, labels = two_clouds(300)
    classifier = PrivateLogisticRegression(epsilon=5).fit(features, labels)
    chances = classifier.predict_proba(features)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.allclose(chances[:, 1], 1 / (1 + np.exp(-classifier.decision_function(features))))
    assert not hasattr(PrivateHuberSVC(), "predict_proba")


def test_rows_are_clipped_to_the_bound_and_each_by_itself() -> None:
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [1e300, 1e300], [np.nan, 2.0], [np.inf, 0.0], [1e-300, 0.0], [0.0, 0.0]])
    for intercept in (True, False):
        ball = UnitBall(1.0, intercept=intercept)
        scaled = ball.rows(rows)
        norms = [sum(Fraction(float(x)) ** 2 for x in row) for row in scaled]
        assert max(norms) <= 1
        assert norms[0] >= 1 - Fraction(1, 10**8)
        for one, row in zip(scaled, rows, strict=True):
            assert ball.rows(row[np.newaxis])[0].tolist() == one.tolist()


def test_weights_go_back_to_the_features() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3)) * 0.2
    for ball in (UnitBall(2.5, intercept=True), UnitBall(0.7, intercept=False)):
        inside = rows * min(1, ball.norm_bound)
        weights = np.arange(1.0, 4.0 + ball.intercept)
        coefficients, intercept = ball.split(weights)
        assert np.allclose(ball.rows(inside) @ weights, inside @ coefficients + intercept)


BOUNDS: list[Any] = [
    (-1, 1),
    (0, "1/2"),
    ([0, -3, 0.25], 100),
    ([1000, -1e6, 0], [1001, 1e6, 1e-30]),
    np.array([[-1, 0, 5], [1, 2, 6]]),
]


@every("bounds", BOUNDS)
@every("intercept", [True, False])
@every("norm_bound", [1.0, 0.1, 5.0])
def test_bounds_map_features_into_the_unit_ball(bounds: Any, intercept: bool, norm_bound: float) -> None:
    """Whatever a row holds; and weights on the way back give it the decision that they give the mapped row."""
    limits = FeatureBounds.of(bounds).for_columns(3)
    ball = UnitBall(norm_bound, intercept, limits)
    odd = [[np.nan] * 3, [np.inf, -np.inf, 0], [1e308, -1e308, 5e-324], limits.lower, limits.upper]
    rows = np.vstack([np.array(odd), np.random.default_rng(0).normal(size=(50, 3)) * 10])
    mapped = ball.rows(rows)
    assert max(sum(Fraction(float(x)) ** 2 for x in row) for row in mapped) <= 1
    for one, row in zip(mapped, rows, strict=True):
        assert ball.rows(row[np.newaxis])[0].tolist() == one.tolist()
    weights = np.arange(1.0, 4.0 + intercept)
    coefficients, constant = ball.split(weights)
    assert np.allclose(mapped @ weights, within(rows, limits, norm_bound) @ coefficients + constant, atol=1e-8)


def test_bounds_mean_the_same_as_scaling_by_hand() -> None:
    """The middle of the bounds is 0 and the bounds are ±1, before the norm is clipped."""
    rows = np.array([[0.0, 10.0], [100.0, 20.0], [50.0, 15.0], [1e9, np.nan], [-1e9, 12.5]])
    by_hand = np.array([[-1, -1], [1, 1], [0, 0], [1, 0], [-1, -0.5]])
    limits = FeatureBounds.of(([0, 10], [100, 20]))
    assert np.allclose(UnitBall(2.0, False, limits).rows(rows), by_hand / 2)
    shorter = by_hand / np.maximum(1, np.linalg.norm(by_hand, axis=1))[:, np.newaxis]
    assert np.allclose(UnitBall(1.0, False, limits).rows(rows), shorter)


@every("kind", KINDS)
@every("bounded", [True, False])
def test_predictions_clip_as_training_did_and_so_does_the_file(kind: Any, bounded: bool) -> None:
    features, labels = two_clouds(500)
    scale: tuple[Any, Any] = ([1000, 0.001, 1], [0, 7, -3]) if bounded else ([1] * 3, [0] * 3)
    raw = features * scale[0] + scale[1]
    bounds = ([-1000, 6.999, -4], [1000, 7.001, -2]) if bounded else None
    model = kind(feature_bounds=bounds, epsilon=100).fit(raw, labels)
    assert model.score(raw, labels) > 0.85
    inside = np.linalg.norm(features, axis=1) < 1
    decisions = raw[inside] @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(raw[inside]), decisions)
    far = np.vstack([features * 1e3 * scale[0] + scale[1], [[np.nan, np.inf, -np.inf]]])
    again = kind.from_json(model.to_json())
    assert again.decision_function(far).tolist() == model.decision_function(far).tolist()
    longest = np.abs(model.coef_[0] * scale[0])
    middle = (np.array(scale[1]) @ model.coef_[0] + model.intercept_)[0]
    assert np.abs(model.decision_function(far) - middle).max() <= np.linalg.norm(longest) * (1 + 1e-9)


def test_rows_longer_than_the_norm_bound_are_predicted_as_they_were_trained() -> None:
    """Unclipped, a long row outweighs the intercept that clipped rows gave, and predictions go astray."""
    generator = np.random.default_rng(3)
    angle, length = generator.uniform(0, 0.5 * np.pi, 4000), generator.uniform(5, 500, 4000)
    rows, labels = np.column_stack([np.cos(angle), np.sin(angle)]) * length[:, np.newaxis], angle > 1
    model = PrivateLogisticRegression(epsilon=100, norm_bound=1)
    model._fit(rows, labels, bits=NumpyBits(1))
    assert model.score(rows, labels) > 0.9
    assert (model.predict(rows) == model.predict(rows / length[:, np.newaxis])).all()


def test_bounds_are_checked_before_the_charge(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.grant("people", epsilon=1)
    for features in (np.ones((4, 3)), pd.DataFrame(np.ones((4, 3)), columns=["a", "b", "c"])):
        model = PrivateLogisticRegression(feature_bounds=([0, 0], [1, 1]), ledger=ledger, dataset="people")
        with pytest.raises(BadParameter, match="one for each of the 3 features"):
            model.fit(features, [0, 1, 0, 1])
    assert ledger.budget("people").spent.epsilon == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_is_no_lottery(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is chosen from the data by default: λ follows a rule of public numbers, and all of ε trains."""
    monkeypatch.setattr("dpmine.models.linear.training.select_parameter", lambda *_, **__: pytest.fail("chose"))
    for epsilon, seed in [(1, 0), (0.5, 1), (0.5, 2)]:
        found = kind(epsilon=epsilon).fit(*two_clouds(50, seed))
        assert found.lambda_ == 4 / (10 * 50 * epsilon)
        assert found.guarantee_.epsilon == Fraction(epsilon)


@every(
    ("parameters", "hint"),
    [
        ({"feature_bounds": 3}, "a lower and an upper bound"),
        ({"feature_bounds": "01"}, "a lower and an upper bound"),
        ({"feature_bounds": (0, 1, 2)}, "a lower and an upper bound"),
        ({"feature_bounds": (1, 0)}, "every lower bound below"),
        ({"feature_bounds": ([], [])}, "every lower bound below"),
        ({"feature_bounds": ([0, 0], [1, 0])}, "every lower bound below"),
        ({"feature_bounds": ([0, 0], [1, 1, 1])}, "as many lower bounds"),
        ({"feature_bounds": ([0, 0], [1, 1])}, "one for each of the 3 features"),
        ({"feature_bounds": (0, float("inf"))}, "finite number"),
        ({"feature_bounds": (0, 10**101)}, "between 1e-100 and 1e100"),
        ({"feature_bounds": (10**9, 10**9 + 1)}, "subtract a public number"),
        ({"lambdas": []}, "lambdas is empty"),
        ({"lambdas": [0.1, 0]}, "greater than 0"),
        ({"lambdas": -1}, "greater than 0"),
        ({"lambdas": 1e-30}, "between 1e-9 and 1e9"),
        ({"lambdas": "many"}, "lambdas must be a finite number"),
        ({"lambdas": None}, "lambdas is None"),
        ({"lambdas": [0.1, "0.1"]}, "twice"),
        ({"lambdas": np.array([[0.1, 0.2]])}, "lambdas must be an exact number"),
        ({"norm_bound": 0}, "norm_bound must be greater than 0"),
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"epsilon": np.float32(1)}, "epsilon must be an exact number"),
        ({"delta": 0}, "delta must lie"),
        ({"method": "input"}, "objective, output"),
        ({"fit_intercept": "yes"}, "fit_intercept must be True or False"),
        ({"validation_share": 1}, "validation_share must lie"),
        ({"selection_share": 0}, "selection_share must lie"),
        ({"mechanism": "limited_domain"}, "dummies"),
        ({"neighbors": "add_remove"}, "numbers of training"),
    ],
)
@every("kind", KINDS)
def test_bad_parameters(kind: Any, parameters: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        kind(**parameters).fit(*two_clouds(50))


def test_the_rule_follows_the_noise_of_the_method() -> None:
    """Noise on the output needs ten times the regularisation that noise in the objective does."""
    found = [
        PrivateLogisticRegression(method=method).fit(*two_clouds(50)).lambda_ for method in ("objective", "output")
    ]
    assert found == [4 / (10 * 50), 4 / 50]


@pytest.mark.parametrize("share", ["0.1", "0.5"])
def test_the_shares_of_training_and_choice_and_the_last_training_sees_every_row(
    share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[Fraction] = []
    sizes: list[int] = []
    honest = ObjectivePerturbation.fit

    def noted(self: Any, data: Any, parameter: Fraction, alpha: Fraction, draw: Any) -> Any:
        spent.append(alpha)
        sizes.append(data.size)
        return honest(self, data, parameter, alpha, draw)

    monkeypatch.setattr(ObjectivePerturbation, "fit", noted)
    model = PrivateLogisticRegression(lambdas=[0.1, 1], epsilon=2, selection_share=share).fit(*two_clouds(50))
    assert spent == [2 * (1 - Fraction(share))] * 3
    assert sizes == [45, 45, 50]
    assert model.guarantee_.epsilon == 2


def test_one_lambda_may_be_an_array_without_axes() -> None:
    assert PrivateLogisticRegression(lambdas=np.array(0.1)).fit(*two_clouds(50)).lambda_ == 0.1


def test_narrow_huber_corners_are_rejected() -> None:
    for huber, hint in (("0.0009", r"huber must be at least 0\.001"), (0, "huber must be greater than 0")):
        with pytest.raises(BadParameter, match=hint):
            PrivateHuberSVC(huber=huber).fit(*two_clouds(50))
    PrivateHuberSVC(huber="0.001").fit(*two_clouds(50))


@pytest.mark.parametrize("lambdas", ["1e-9", ["1e-9", 1]])
def test_long_fallbacks_are_rejected_before_training(lambdas: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By public numbers: whatever the data are, and although Newton's method would do."""
    monkeypatch.setattr(OutputPerturbation, "fit", lambda *_: pytest.fail("trained"))
    for seed in range(3):
        with pytest.raises(BadParameter, match=r"λ = 1e-09 is too small for (20000|18000) rows of 4 columns"):
            PrivateHuberSVC(lambdas=lambdas, huber="0.001", method="output").fit(*two_clouds(20_000, seed))


def test_the_number_of_classes_is_not_told(recwarn: pytest.WarningsRecorder) -> None:
    for kind, advice in (
        (PrivateLogisticRegression, r"classes=\['A', 'B', 'C'\]"),
        (PrivateHuberSVC, r"classes=\['A', 'B'\]`, or"),
    ):
        with pytest.raises(BadData, match=f"more than two classes: name .*{advice}") as caught:
            kind().fit(np.ones((400, 1)), np.arange(400))
        assert "400" not in str(caught.value)
    assert not recwarn.list


@every("kind", KINDS)
def test_sparse_rows_are_dense_ones_in_fewer_bytes(kind: Any) -> None:
    features, labels = two_clouds(200)
    features[np.abs(features) < 0.2] = 0
    dense, sparse = kind(), kind()
    dense._fit(features, labels, bits=NumpyBits(4))
    sparse._fit(csr_array(features), labels, bits=NumpyBits(4))
    assert (sparse.coef_ == dense.coef_).all()
    assert (sparse.decision_function(csr_array(features)) == dense.decision_function(features)).all()
