"""What files of models of a target say; that these come back as they were is tested for all models."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from models.accuracy_first.lines import noisy_line, two_classes
from support.numpy_bits import NumpyBits

from dpmine.errors import BadData
from dpmine.models.accuracy_first.estimators import AccuracyFirstLogistic, AccuracyFirstRidge, load_estimator
from dpmine.models.linear.estimators import PrivateLogisticRegression
from dpmine.privacy import ExPostGuarantee

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
