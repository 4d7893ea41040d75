"""Ridge and logistic regression to a target, as users call them, and what their files say."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.accuracy_first.lines import clipped_rows, least, logistic_risk, noisy_line, ridge_risk, two_classes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.errors import BadData
from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge, load_estimator
from dpmine.models.linear.estimators import PrivateLogisticRegression
from dpmine.privacy import ExPostGuarantee, Neighbors

RUNS = 30
EASY: dict[str, Any] = {
    "excess_risk": 1,
    "regularization": 1,
    "failure_probability": "1e-12",
    "epsilon_max": 10**6,
    "steps": 20,
}


def ridge(**parameters: Any) -> Any:
    return AccuracyFirstRidge(**{"excess_risk": 0.02, "regularization": 0.1, "steps": 50, **parameters})


def logistic(**parameters: Any) -> Any:
    return AccuracyFirstLogistic(**{"excess_risk": 0.02, "regularization": 0.1, "steps": 50, **parameters})


def out_of_reach(kind: Any, **parameters: Any) -> Any:
    """One whose hypotheses are noise: the levels end where they hardly begin."""
    return kind(epsilons=["1e-4", "2e-4"], excess_risk=0.01, **parameters)


CASES: list[Any] = [(ridge, noisy_line), (logistic, two_classes)]
METHODS = [(ridge, noisy_line, method) for method in ("covariance", "output", "brownian")] + [
    (logistic, two_classes, method) for method in ("output", "brownian")
]


@every(("kind", "data", "method"), METHODS)
def test_the_contract(kind: Any, data: Any, method: str) -> None:
    features, answers = data()
    fitted = kind(method=method)._fit(features, answers, bits=NumpyBits(1))
    guarantee = fitted.guarantee_
    assert fitted.reached_ is True
    assert isinstance(guarantee, ExPostGuarantee)
    assert 0 < guarantee.ex_post_epsilon < guarantee.epsilon == guarantee.epsilon_max == 10
    assert guarantee.delta == (Fraction(1, 10**6) if method == "brownian" else 0)
    assert (guarantee.neighbors, guarantee.unit, guarantee.private) == (Neighbors.REPLACE_ONE, "row", True)
    assert fitted.coef_.shape == ((3,) if kind is ridge else (1, 3))
    assert np.shape(fitted.intercept_) == (() if kind is ridge else (1,))
    assert np.ravel(fitted.intercept_).tolist() == [0.0]
    assert "excess risk, on the clipped rows, is above 0.02 was at most 0.1" in guarantee.notes[0]
    assert "public bound 1 on their L1 norm" in guarantee.notes[1]


def test_notes_tell_what_is_taken_as_public() -> None:
    of_ridge = ridge(y_bound=2, excess_risk=0.08).fit(*noisy_line()).guarantee_.notes
    of_logistic = logistic().fit(*two_classes()).guarantee_.notes
    assert "targets to ±2" in of_ridge[1]
    assert "targets" not in of_logistic[1]
    assert any("the two classes that occur" in note for note in of_logistic)
    assert any("gradient descent" in note for note in of_logistic)


@every(("kind", "data", "method"), METHODS)
def test_charges_stay_below_the_most_that_was_allowed(kind: Any, data: Any, method: str) -> None:
    """Whether the target is reached or not; a number of runs, most of them with too little."""
    found = set()
    for seed in range(6):
        estimator = kind(method=method, steps=8, epsilon_max="300", failure_probability="1/3")
        estimator._fit(*data(400, seed), bits=NumpyBits(seed))
        found.add(estimator.reached_)
        assert 0 < estimator.guarantee_.ex_post_epsilon <= estimator.guarantee_.epsilon == 300
        unreached = out_of_reach(kind, method=method, epsilon_max=100)._fit(*data(400, seed), bits=NumpyBits(seed))
        assert unreached.reached_ is False
        assert 0 < unreached.guarantee_.ex_post_epsilon <= 100
    assert True in found


def bad_runs(risk: Any, kind: Any, data: Any, **parameters: Any) -> int:
    """How many of the models are above their target, in the user's units and by an independent solver.

    Nearly all runs reach something.
    """
    bound = float(parameters.get("x_bound", 1))
    features, answers = data
    rows, ridge_of = clipped_rows(features, bound), float(parameters["regularization"])
    if parameters.get("fit_intercept"):
        rows = np.column_stack([rows, np.full(len(rows), bound)])
    least_risk = risk(rows, answers, ridge_of, least(risk, rows, answers, ridge_of))
    runs = [kind(**parameters)._fit(features, answers, bits=NumpyBits(seed)) for seed in range(RUNS)]
    reached = [fitted for fitted in runs if fitted.reached_]
    assert len(reached) > 0.9 * RUNS
    bad = 0
    for fitted in reached:
        weights = np.ravel(fitted.coef_)
        if parameters.get("fit_intercept"):
            weights = np.append(weights, np.ravel(fitted.intercept_) / bound)
        bad += risk(rows, answers, ridge_of, weights) - least_risk > float(parameters["excess_risk"])
    return bad


@pytest.mark.slow
@pytest.mark.parametrize("method", ["covariance", "output", "brownian"])
@pytest.mark.parametrize("intercept", [True, False])
def test_models_of_ridge_regression_reach_their_target(method: str, intercept: bool) -> None:
    """In units that are not those of the ball: rows to 20, targets to 5. The chance of each to fail is below 0.1."""
    features, targets = noisy_line(3000, 8, scale=20.0)
    parameters = {
        "regularization": 20,
        "excess_risk": "0.6",
        "x_bound": 20,
        "y_bound": 5,
        "steps": 25,
        "epsilon_max": 50,
    }
    data = (features, np.clip(5 * targets, -5, 5))
    bad = bad_runs(ridge_risk, ridge, data, method=method, fit_intercept=intercept, **parameters)
    assert bad <= 0.1 * RUNS


@pytest.mark.parametrize("method", ["output", "brownian"])
def test_models_of_logistic_regression_reach_their_target(method: str) -> None:
    features, labels = two_classes(3000, 9)
    data, parameters = (2 * features, 2 * labels - 1), {"regularization": 0.4, "excess_risk": 0.03, "x_bound": 2}
    assert bad_runs(logistic_risk, logistic, data, method=method, steps=25, **parameters) <= 0.1 * RUNS


def test_a_target_that_is_missed_would_be_seen() -> None:
    """Models of a hundredfold target are above this one: the checks above can fail."""
    features, targets = noisy_line(3000, 8)
    loose = [ridge(excess_risk=1, regularization="0.1")._fit(features, targets, bits=NumpyBits(s)) for s in range(RUNS)]
    rows, clipped = clipped_rows(features, 1.0), np.clip(targets, -1, 1)
    best = ridge_risk(rows, clipped, 0.1, least(ridge_risk, rows, clipped, 0.1))
    assert sum(ridge_risk(rows, clipped, 0.1, fit.coef_) - best > 0.01 for fit in loose) > 0.5 * RUNS


@every("scale", [1, 10])
@every("method", ["covariance", "output", "brownian"])
def test_regularization_is_that_of_scikit_learn(method: str, scale: int) -> None:
    """Ridge(alpha = nλ), where noise hardly matters: rows ten times as long take λ a hundred times as large."""
    features, targets = noisy_line(500, 3, scale=0.7)
    estimator = ridge(
        excess_risk="1e-8", regularization=0.05 * scale**2, epsilon_max="1e12", x_bound=scale, method=method
    )
    estimator._fit(scale * features, np.clip(targets, -1, 1), bits=NumpyBits(4))
    peer = Ridge(alpha=500 * 0.05 * scale**2, fit_intercept=False).fit(scale * features, np.clip(targets, -1, 1))
    assert np.allclose(estimator.coef_, peer.coef_, atol=1e-3 / scale)
    plain = Ridge(alpha=25, fit_intercept=False).fit(features, np.clip(targets, -1, 1))
    assert np.allclose(scale * estimator.coef_, plain.coef_, atol=1e-3)


@pytest.mark.parametrize("method", ["covariance", "output", "brownian"])
def test_one_unit_or_another(method: str) -> None:
    """Powers of two change no rounding: the same bits give the same model, in the other unit."""
    features, targets = noisy_line(400, 5)
    one = ridge(method=method, epsilon_max=80)
    other = clone(one).set_params(x_bound=8, y_bound=4, excess_risk="0.32", regularization="6.4")
    one._fit(features, targets, bits=NumpyBits(7))
    other._fit(8 * features, 4 * targets, bits=NumpyBits(7))
    assert one.reached_
    assert other.reached_
    assert np.allclose(other.coef_, one.coef_ / 2, rtol=1e-9)
    assert other.guarantee_.ex_post_epsilon == one.guarantee_.ex_post_epsilon


def test_the_intercept_is_a_column_of_the_bounds_value() -> None:
    """Regularised as any other: Ridge on rows with that column, and no intercept."""
    features, targets = noisy_line(500, 3, scale=2.0)
    shifted = np.clip(targets / 2 + 0.4, -1, 1)
    estimator = ridge(excess_risk="1e-8", epsilon_max="1e12", x_bound=3, regularization=0.5, fit_intercept=True)
    estimator._fit(features, shifted, bits=NumpyBits(4))
    peer = Ridge(alpha=250, fit_intercept=False).fit(np.column_stack([features, np.full(500, 3.0)]), shifted)
    assert np.allclose(estimator.coef_, peer.coef_[:3], atol=1e-3)
    assert estimator.intercept_ == pytest.approx(3 * peer.coef_[3], abs=1e-3)
    assert np.allclose(estimator.predict(features), features @ estimator.coef_ + estimator.intercept_)


@pytest.mark.parametrize(("kind", "data"), CASES)
def test_more_columns_than_rows(kind: Any, data: Any) -> None:
    features, answers = data(20)
    wide = np.tile(features, 10)
    fitted = kind(excess_risk=1, regularization=1, epsilon_max=10**6, failure_probability="1e-9").fit(wide, answers)
    assert np.ravel(fitted.coef_).shape == (30,)


@pytest.mark.parametrize(("kind", "data"), CASES)
def test_predictions(kind: Any, data: Any) -> None:
    features, answers = data()
    fitted = kind(fit_intercept=True, epsilon_max=50)._fit(features, answers, bits=NumpyBits(2))
    inside = features / np.maximum(1, np.abs(features).sum(axis=1))[:, np.newaxis]
    values = inside @ np.ravel(fitted.coef_) + np.ravel(fitted.intercept_)[0]
    if kind is ridge:
        assert np.allclose(fitted.predict(features), values)
    else:
        assert np.allclose(fitted.decision_function(features), values)
        assert (fitted.predict(features) == fitted.classes_[(values > 0).astype(int)]).all()
        assert np.allclose(fitted.predict_proba(features)[:, 1], 1 / (1 + np.exp(-values)))
        assert fitted.score(features, answers) > 0.7


def test_classes_may_be_given_in_any_order() -> None:
    features, labels = two_classes()
    names = np.array(["no", "yes"])[labels]
    for classes, share in (["no", "yes"], 0.7), (["yes", "no"], 0.7), (None, 0.7):
        fitted = logistic(classes=classes)._fit(features, names, bits=NumpyBits(3))
        assert fitted.classes_.tolist() == (classes or ["no", "yes"])
        assert fitted.score(features, names) > share


@pytest.mark.parametrize(("kind", "data"), CASES)
def test_nothing_reached(kind: Any, data: Any) -> None:
    """Its charge is that of accepting none and the last level, and there is no model."""
    features, answers = data(300)
    fitted = out_of_reach(kind, epsilon_max=10**4)._fit(features, answers, bits=NumpyBits(5))
    assert fitted.reached_ is False
    assert not hasattr(fitted, "coef_")
    assert not hasattr(fitted, "intercept_")
    with pytest.raises(BadData, match="larger epsilon_max or excess_risk, or a smaller slack; keep_last=True"):
        fitted.predict(features)
    with pytest.raises(BadData, match="keep_last=True"):
        fitted.score(features, answers)
    assert "nothing is known of the last one" in fitted.guarantee_.notes[0]
    kept = out_of_reach(kind, epsilon_max=10**4, keep_last=True)._fit(features, answers, bits=NumpyBits(5))
    assert kept.reached_ is False
    assert kept.guarantee_ == fitted.guarantee_
    assert np.isfinite(kept.predict(features) if kind is ridge else kept.decision_function(features)).all()
    assert "nothing is known of the last one" in kept.guarantee_.notes[0]


@every(("kind", "data", "method"), METHODS)
def test_only_bits_and_data_matter(kind: Any, data: Any, method: str) -> None:
    """The same bits give the same model, other bits another: nothing else is random."""
    features, answers = data(300)

    def weights(seed: int) -> list[float]:
        estimator = kind(method=method, steps=20, keep_last=True, epsilon_max=200)
        return list(np.ravel(estimator._fit(features, answers, bits=NumpyBits(seed)).coef_))

    assert weights(1) == weights(1)
    assert weights(1) != weights(2)


@pytest.mark.parametrize(("kind", "data"), CASES)
def test_as_scikit_learn_uses_them(kind: Any, data: Any) -> None:
    features, answers = data()
    estimator = kind(epsilon_max="25/2", x_bound=2)
    again = clone(estimator).set_params(excess_risk=0.05, regularization="0.4")
    assert again.get_params() == {**estimator.get_params(), "excess_risk": 0.05, "regularization": "0.4"}
    frame = pd.DataFrame(features, columns=["a", "b", "c"])
    halves = FunctionTransformer(lambda rows: rows / 2, feature_names_out="one-to-one")
    pipeline = make_pipeline(halves, again).fit(frame, answers)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    assert pipeline.predict(frame).shape == (len(frame),)
    with pytest.raises(BadData, match="feature names should match"):
        pipeline[-1].predict(frame[["c", "a", "b"]])
    with pytest.raises(BadData, match="3 features"):
        estimator._fit(features, answers, bits=NumpyBits(6)).predict(features[:, :2])


@pytest.mark.parametrize(("kind", "data"), CASES)
def test_a_fit_forgets_the_one_before(kind: Any, data: Any) -> None:
    features, answers = data()
    estimator = kind()._fit(features, answers, bits=NumpyBits(0))
    estimator.set_params(epsilons=["1e-4", "2e-4"], epsilon_max=100)._fit(features[:, :2], answers, bits=NumpyBits(0))
    assert estimator.n_features_in_ == 2
    assert not hasattr(estimator, "coef_")
    with pytest.raises(BadData):
        estimator.fit(features, answers[:-1])
    assert estimator.n_features_in_ == 2, "rejected before the charge, when the earlier fit stays"
    for use in (lambda: kind().predict(features), kind().to_json):
        with pytest.raises(NotFittedError):
            use()


@pytest.mark.parametrize("kind", [ridge, logistic])
def test_rows_longer_than_the_bound_are_predicted_as_they_were_trained(kind: Any) -> None:
    """Unshortened they would be extrapolated: no row of the training was that long."""
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(2000, 2))
    model = kind(**EASY, x_bound=1, fit_intercept=True).fit(rows, (rows[:, 0] > 0.2).astype(float))
    answer = model.predict if kind is ridge else model.decision_function
    again = type(model).from_json(model.to_json())
    inside = rows / np.maximum(1, np.abs(rows).sum(axis=1))[:, np.newaxis]
    assert np.allclose(answer(rows), inside @ np.ravel(model.coef_) + model.intercept_)
    assert again.predict(rows * 10).tolist() == model.predict(rows * 10).tolist()


def test_huge_numbers_are_no_trouble() -> None:
    """No warning, no overflow: rows and targets are clipped."""
    features, targets = np.array([[1e308, -1e308], [1e-308, 5e-324], [1.0, 2.0]] * 40), [1e308, -1e308, 0.0] * 40
    fitted = ridge(**EASY).fit(features, targets)
    assert fitted.reached_
    assert np.isfinite(fitted.coef_).all()
    logistic(**EASY).fit(features, [0, 1, 1] * 40)


GIVEN: dict[str, Any] = {"excess_risk": 0.1, "regularization": 0.1, "steps": 30, "epsilon_max": 50}
UNREACHED: dict[str, Any] = {"excess_risk": 0.02, "epsilons": ["1e-4", "2e-4"]}


def fitted(kind: Any, **given: Any) -> Any:
    features, answers = noisy_line() if kind is AccuracyFirstRidge else two_classes()
    rows = pd.DataFrame(features, columns=["a", "b", "ü"])
    return kind(**{**GIVEN, **given})._fit(rows, answers, bits=NumpyBits(1))


def test_what_a_file_says() -> None:
    model = fitted(AccuracyFirstRidge)
    document = json.loads(model.to_json())
    assert document["format"] == "dpmine accuracy-first model"
    assert (document["model_kind"], document["reached"], document["columns"]) == ("ridge", True, 3)
    assert (document["coef"], document["intercept"]) == (model.coef_.tolist(), 0.0)
    assert document["features"] == ["a", "b", "ü"]
    assert "classes" not in document
    assert document["guarantee"]["ex_post_epsilon_exact"] == str(model.guarantee_.ex_post_epsilon)
    assert document["guarantee"]["ex_post_epsilon"] >= model.guarantee_.ex_post_epsilon
    assert document["guarantee"]["epsilon_max"] == document["guarantee"]["epsilon"] == 50
    asked = {"excess_risk": "1/10", "regularization": "1/10", "failure_probability": "1/10", "epsilon_max": "50"}
    assert document["requested"] == model.requested_ == {**asked, "x_bound": "1", "y_bound": "1"}
    none = json.loads(fitted(AccuracyFirstLogistic, **UNREACHED).to_json())
    assert (none["reached"], none["coef"], none["intercept"], none["classes"]) == (False, None, None, [0, 1])
    assert none["requested"] == {**asked, "excess_risk": "1/50", "x_bound": "1"}


def test_what_was_asked_for_is_what_it_was_at_the_fit() -> None:
    """Not what the estimator is set to since; and a model out of a file has it as its parameters."""
    model = fitted(AccuracyFirstRidge).set_params(excess_risk=7, x_bound=9)
    again = AccuracyFirstRidge.from_json(model.to_json())
    assert json.loads(model.to_json())["requested"]["excess_risk"] == again.requested_["excess_risk"] == "1/10"
    assert (again.excess_risk, again.x_bound) == (Fraction(1, 10), 1)


def test_the_charge_is_part_of_the_file() -> None:
    """A model that reached its target has weights."""
    document = json.loads(fitted(AccuracyFirstRidge, **UNREACHED).to_json())
    with pytest.raises(BadData):
        load_estimator(json.dumps({**document, "reached": True}))
    plain = {name: value for name, value in document["guarantee"].items() if "ex_post" not in name}
    found = load_estimator(json.dumps({**document, "guarantee": plain})).guarantee_  # as of the best of a search
    assert not isinstance(found, ExPostGuarantee)


def test_other_commands_files() -> None:
    other = PrivateLogisticRegression(epsilon=5).fit(*two_classes(100)).to_json()
    with pytest.raises(BadData, match="dpmine accuracy-first"):
        load_estimator(other)
    with pytest.raises(BadData, match="dpmine classify"):
        PrivateLogisticRegression.from_json(fitted(AccuracyFirstLogistic).to_json())
    with pytest.raises(BadData, match="another kind than logistic"):
        AccuracyFirstLogistic.from_json(fitted(AccuracyFirstRidge).to_json())
