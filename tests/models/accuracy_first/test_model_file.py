"""Models of a target in files: they come back as they were, and other files are refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.accuracy_first.lines import noisy_line, two_classes
from support.cases import every
from support.command_line import CANARY
from support.numpy_bits import NumpyBits

from dpmine.errors import BadData
from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge, load_estimator
from dpmine.models.linear.estimators import PrivateLogisticRegression
from dpmine.privacy import ExPostGuarantee

GIVEN: dict[str, Any] = {"excess_risk": 0.1, "regularization": 0.1, "steps": 30, "epsilon_max": 50}
UNREACHED: dict[str, Any] = {**GIVEN, "excess_risk": 0.02, "epsilons": ["1e-4", "2e-4"]}
FORMS: dict[str, dict[str, Any]] = {
    "plain": GIVEN,
    "intercept": {**GIVEN, "fit_intercept": True, "x_bound": 2, "regularization": 0.4},
    "brownian": {**GIVEN, "method": "brownian"},
    "unreached": UNREACHED,
    "kept": {**UNREACHED, "keep_last": True},
}


def fitted(kind: Any, form: str = "plain", *, named: bool = True) -> Any:
    features, answers = noisy_line() if kind is AccuracyFirstRidge else two_classes()
    rows = pd.DataFrame(features, columns=["a", "b", "ü"]) if named else features
    return kind(**FORMS[form])._fit(rows, answers, bits=NumpyBits(1))


@every("kind", [AccuracyFirstRidge, AccuracyFirstLogistic])
@every("form", FORMS)
@every("named", [True, False])
def test_a_model_survives_its_file(kind: Any, form: str, named: bool) -> None:
    model = fitted(kind, form, named=named)
    again = load_estimator(model.to_json())
    assert type(again) is kind
    assert again.to_json() == kind.from_json(model.to_json()).to_json() == model.to_json()
    assert again.guarantee_ == model.guarantee_
    assert isinstance(again.guarantee_, ExPostGuarantee)
    assert again.reached_ is model.reached_ is ("un" not in form and form != "kept")
    features = noisy_line()[0]
    rows = pd.DataFrame(features, columns=["a", "b", "ü"]) if named else features
    if form == "unreached":
        assert not hasattr(again, "coef_")
        with pytest.raises(BadData, match="No hypothesis reached the target"):
            again.predict(rows)
    else:
        assert again.coef_.shape == model.coef_.shape
        assert np.shape(again.intercept_) == np.shape(model.intercept_)
        assert (again.predict(rows) == model.predict(rows)).all()
        with pytest.raises(BadData, match=r"features|feature names"):
            again.predict(rows[["a", "b"]] if named else rows[:, :2])


@every("labels", [["no", "yes"], [False, True], [-1.0, 2.0], [3, 7]])
def test_classes_of_every_type(labels: list[Any]) -> None:
    features, positions = two_classes()
    model = AccuracyFirstLogistic(**GIVEN)._fit(features, np.array(labels)[positions], bits=NumpyBits(0))
    again = AccuracyFirstLogistic.from_json(model.to_json())
    assert again.classes_.tolist() == labels
    assert (again.predict(features) == model.predict(features)).all()


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
    none = json.loads(fitted(AccuracyFirstLogistic, "unreached").to_json())
    assert (none["reached"], none["coef"], none["intercept"], none["classes"]) == (False, None, None, [0, 1])
    assert none["requested"] == {**asked, "excess_risk": "1/50", "x_bound": "1"}


def test_what_was_asked_for_is_what_it_was_at_the_fit() -> None:
    """Not what the estimator is set to since; and a model out of a file has it as its parameters."""
    model = fitted(AccuracyFirstRidge).set_params(excess_risk=7, x_bound=9)
    again = AccuracyFirstRidge.from_json(model.to_json())
    assert json.loads(model.to_json())["requested"]["excess_risk"] == again.requested_["excess_risk"] == "1/10"
    assert (again.excess_risk, again.x_bound) == (Fraction(1, 10), 1)


BAD_GUARANTEE: dict[str, list[Any]] = {
    "epsilon_exact": ["1e30000000", "-1", "0", 0.1, None, "nan", "1e-9"],
    "ex_post_epsilon_exact": ["51", "0", "-1", "1/0", 1, None, "inf"],
    "delta_exact": ["7", "-1", 0],
    "private": ["false", 1],
    "notes": ["abc", [1]],
    "neighbors": ["x", None],
    "unit": [1],
}
ASKED = dict.fromkeys(["excess_risk", "regularization", "failure_probability", "epsilon_max", "x_bound"], "1")
BAD_ENTRIES: dict[str, list[Any]] = {
    "format": [None, "dpmine linear classifier", ["dpmine accuracy-first model"]],
    "model_kind": ["logistic", "lasso", ["ridge"], None],
    "reached": [None, 1, "true"],
    "requested": [None, [], "1", {}, ASKED, dict.fromkeys([*ASKED, "y_bound"], 1), {**ASKED, "y_bound": "-1"}],
    "columns": [0, -3, 2, 4, 3.0, "3", True, None, 10**400],
    "coef": [None, [], CANARY, ["x"] * 3, [0.1] * 2, [True, 1, 2], [10**400, 1, 1], [float("nan")] * 3, {"a": 1}, 1.0],
    "intercept": [None, "0", float("inf"), [0.0], False],
    "features": [CANARY, ["a"], ["a", "a", "b"], [None, 1, {}]],
    "guarantee": [None, [], "ε = 1"],
    "label": [["x"], 3],
}
NEEDED = sorted(BAD_ENTRIES)
BAD_CLASSES: list[Any] = [
    [1, 1],
    [None, None],
    [1, "a"],
    [[1], [2]],
    [10**30, 1],
    CANARY,
    [0.5, float("inf")],
    [1, 2, 3],
]


def _without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}


def bad_documents() -> list[Any]:
    document = json.loads(fitted(AccuracyFirstRidge).to_json())
    guarantee = document["guarantee"]
    return [
        *[_without(document, key) for key in NEEDED],
        *[{**document, name: value} for name, values in BAD_ENTRIES.items() for value in values],
        *[{**document, "guarantee": _without(guarantee, key)} for key in ("epsilon_exact",)],
        *[
            {**document, "guarantee": {**guarantee, name: value}}
            for name, values in BAD_GUARANTEE.items()
            for value in values
        ],
        [document],
        None,
        CANARY,
    ]


def test_other_files_are_refused() -> None:
    """By both ways to read, and without a word of what they hold."""
    for entry in bad_documents():
        with pytest.raises(BadData, match="model") as caught:
            AccuracyFirstRidge.from_json(json.dumps(entry))
        assert CANARY not in str(caught.value)
        with pytest.raises(BadData, match="model"):
            load_estimator(json.dumps(entry))
    for text in ("", "{" * 5000, CANARY, "\ud800"):
        with pytest.raises(BadData, match="This is not a model file of dpmine accuracy-first") as caught:
            load_estimator(text)
        assert CANARY not in str(caught.value)


def test_classes_that_are_none() -> None:
    document = json.loads(fitted(AccuracyFirstLogistic).to_json())
    for entry in [_without(document, "classes"), *[{**document, "classes": value} for value in BAD_CLASSES]]:
        with pytest.raises(BadData, match="model"):
            load_estimator(json.dumps(entry))


def test_the_charge_is_part_of_the_file() -> None:
    """A model that reached its target has weights."""
    document = json.loads(fitted(AccuracyFirstRidge, "unreached").to_json())
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
