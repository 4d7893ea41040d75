"""Model files are untrusted: one is rejected, or read as what it says, whatever entry is changed."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from support.cases import every
from support.command_line import CANARY

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.models.accuracy_first.estimators import load_estimator
from dpmine.models.linear.estimators import load_classifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

FRAME = pd.DataFrame(np.random.default_rng(1).uniform(-1, 1, (300, 3)), columns=["a", "b", "ü"])
THREE = np.digitize(FRAME["a"], [-0.3, 0.3])
TARGET: dict[str, Any] = {"regularization": 0.1, "steps": 20, "epsilon_max": 500}
NONE_REACHED: dict[str, Any] = {"excess_risk": 0.02, "epsilons": ["1e-4", "2e-4"]}
BOX = ([-1] * 3, [1, 2, 1])
MODELS: dict[str, Any] = {
    "logistic": (dpmine.PrivateLogisticRegression(), FRAME["a"] > 0),
    "bounded": (dpmine.PrivateLogisticRegression(feature_bounds=BOX), np.where(FRAME["a"] > 0, "yes", "no")),
    "three classes": (dpmine.PrivateLogisticRegression(classes=[0, 1, 2]), THREE),
    "svc": (dpmine.PrivateHuberSVC(), (FRAME["a"] > 0) * 3.0 - 1),
    "ridge": (dpmine.PrivateRidge(target_bounds=(-1, 1), feature_bounds=BOX), FRAME["a"]),
    "plain ridge": (dpmine.PrivateRidge(target_bounds=(-1, 1), norm_bound=2, fit_intercept=False), FRAME["a"]),
    "accuracy first": (dpmine.AccuracyFirstRidge(excess_risk=0.3, **TARGET), FRAME["a"]),
    "none reached": (dpmine.AccuracyFirstRidge(**NONE_REACHED, **TARGET), FRAME["a"]),
    "accurate classes": (dpmine.AccuracyFirstLogistic(excess_risk=0.3, **TARGET), (FRAME["a"] > 0).astype(int)),
    "stumps": (dpmine.HypothesisSelector(lower=-1, upper=[1, 2, 1], grid=21), FRAME["a"] > 0),
    "conjunctions": (dpmine.HypothesisSelector("conjunctions"), np.where(FRAME["a"] > 0, "yes", "no")),
}
FURTHER: dict[str, Any] = {
    "intercept": (dpmine.AccuracyFirstRidge(excess_risk=0.3, fit_intercept=True, x_bound=2, **TARGET), FRAME["a"]),
    "brownian": (dpmine.AccuracyFirstLogistic(excess_risk=0.3, method="brownian", **TARGET), FRAME["a"] > 0),
    "kept": (dpmine.AccuracyFirstLogistic(**NONE_REACHED, keep_last=True, **TARGET), FRAME["a"] > 0),
}
"""Models whose files have no entries of their own."""
ODD: list[Any] = [
    None, True, -1, 0, 3.5, 10**400, float("nan"), float("inf"), CANARY, "1/0", "nan", "-1", "7", "1e30000000",
    "\ud800", [], {}, [1], ["x"], [[1]], [True, 1, 2], [10**400, 1, 1], ["a", "a", "b"], [0.1, 0.2], {"a": 1},
]  # fmt: skip
"""Values in the place of every entry."""
FOR_ONE: dict[str, list[Any]] = {
    "classes": [
        [1, 1],
        [None, None],
        [1, "a"],
        [[1], [2]],
        [1, 1.5],
        [10**30, 1],
        "ab",
        [0.5, float("inf")],
        [1, 2],
        [1, 2, 3],
        ["a\0", "a"],
    ],
    "coef": [[[1.0], [1.0, 2.0], [1.0, 2.0]], [[1.0] * 3] * 2],
    "intercept": [[1.0, 2.0]],
    "feature_bounds": [{"lower": [0], "upper": [1]}, {"lower": [1] * 3, "upper": [0] * 3}],
    "requested": [dict.fromkeys(["excess_risk", "regularization", "failure_probability", "epsilon_max", "x_bound"], 1)],
    "format": ["dpmine linear classifier", "dpmine accuracy-first model", "dpmine hypothesis"],
    "loss": ["huber", "logistic"],
    "model_kind": ["ridge", "logistic", "lasso"],
    "trained_with": ["nonsense", ["capped"]],
    "ex_post_epsilon_exact": ["501", "0"],
    "columns": [2, 4, 3.0, 10**400],
}
"""Values in the place of entries of one name."""
SHOWN = {"epsilon", "delta", "rho", "ex_post_epsilon", "epsilon_max", "dpmine"}
"""Entries for people: rounded from exact ones, which are read. Those of `requested` are exact."""


def fitted(name: str) -> Any:
    model, answers = {**MODELS, **FURTHER}[name]
    return model.fit(FRAME, answers)


def paths(entry: Any, start: Path = ()) -> Iterator[Path]:
    """To every entry of a document; of a list to the first one."""
    inner = entry.items() if isinstance(entry, dict) else enumerate(entry[:1]) if isinstance(entry, list) else ()
    for name, value in inner:
        yield (*start, name)
        yield from paths(value, (*start, name))


def changed(document: Any) -> Iterator[Any]:
    """The document without each of its entries, and with another value in its place."""
    for *start, last in paths(document):
        for value in [*ODD, *FOR_ONE.get(str(last), []), KeyError]:
            other = deepcopy(document)
            holder = other
            for name in start:
                holder = holder[name]
            if value is KeyError:
                del holder[last]
            else:
                holder[last] = value
            yield other


def said(document: dict[str, Any]) -> Any:
    """What is read of a document."""
    guarantee = {name: value for name, value in document["guarantee"].items() if name not in SHOWN}
    about = {name: value or 3 if name == "width" else value for name, value in document.get("class", {}).items()}
    rest = {name: value for name, value in document.items() if name not in SHOWN}
    return {**rest, "guarantee": guarantee, "class": about}  # a width that is not given is 3


@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_rejected_or_read_as_what_it_says(name: str) -> None:
    model = fitted(name)
    document, messages, accepted = json.loads(model.to_json()), [], 0
    for other in [*changed(document), [document], None, CANARY]:
        try:
            again = type(model).from_json(json.dumps(other))
        except BadData as error:
            messages.append(str(error))
        else:
            assert said(json.loads(again.to_json())) == said(other)
            accepted += 1
    assert all("model" in message and CANARY not in message for message in messages)
    assert len(messages) > 2 * accepted > 0


@every("name", MODELS)
def test_texts_that_are_no_documents_are_rejected(name: str) -> None:
    for text in ("", "{" * 5000, CANARY, "\ud800"):
        with pytest.raises(BadData, match="This is not a model file of dpmine") as caught:
            type(MODELS[name][0]).from_json(text)
        assert CANARY not in str(caught.value)


@every("name", [*MODELS, *FURTHER])
def test_a_model_survives_its_file(name: str) -> None:
    model = fitted(name)
    again = type(model).from_json(model.to_json())
    assert again.to_json() == model.to_json()
    assert again.guarantee_ == model.guarantee_
    assert again.feature_names_in_.tolist() == ["a", "b", "ü"]
    if model.has_result:
        assert (again.predict(FRAME) == model.predict(FRAME)).all()
        with pytest.raises(BadData, match=r"features|feature names"):
            again.predict(FRAME[["a", "b"]])
    else:
        with pytest.raises(BadData, match="No hypothesis reached the target"):
            again.predict(FRAME)
    for attribute in ("classes_", "loss_", "reached_", "requested_", "coef_", "intercept_", "hypothesis_"):
        assert str(getattr(again, attribute, None)) == str(getattr(model, attribute, None))


@every("name", sorted(set(MODELS) - {"stumps", "conjunctions"}))
def test_what_a_model_file_does_not_keep_is_not_made_up(name: str) -> None:
    model, answers = MODELS[name]
    again = type(model).from_json(fitted(name).to_json()).set_params(**model.get_params(deep=False))
    with pytest.raises(BadParameter, match="make a new estimator"):
        again.fit(FRAME, answers)
    assert again.guarantee_ == model.guarantee_


@every("load", [load_classifier, load_estimator])
def test_kinds_of_one_format_are_told_apart_by_the_file(load: Any) -> None:
    names = ("svc", "three classes") if load is load_classifier else ("accuracy first", "accurate classes")
    for name in names:
        text = fitted(name).to_json()
        assert load(text).to_json() == text
        assert type(load(text)) is type(MODELS[name][0])
        for kind in ("lasso", None, ["ridge"]):
            with pytest.raises(BadData, match=r"kind of (classifier|model) that this version does not know"):
                load(json.dumps({**json.loads(text), load.__globals__["_FORMAT"].kind: kind}))
    for text in ("", "{" * 5000, CANARY, fitted("ridge").to_json()):
        with pytest.raises(BadData, match="This is not a model file of dpmine") as caught:
            load(text)
        assert CANARY not in str(caught.value)
