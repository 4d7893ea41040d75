"""Targets: model files, changed in their entries or in their bytes."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine import AccuracyFirstLogistic, AccuracyFirstRidge, HypothesisSelector, PrivateRidge
from dpmine import PrivateLogisticRegression as Logistic
from dpmine.models.accuracy_first.estimators import load_estimator
from dpmine.models.linear.estimators import load_classifier
from fuzz.choices import Choices
from fuzz.oracle import CANARY, ask, require

if TYPE_CHECKING:
    from collections.abc import Callable

_DEPTHS = (10, 900, 100_000)
_BYTES = bytes(range(256))


@cache
def _documents(name: str) -> tuple[str, ...]:
    """Files as the estimators write them."""
    records = np.linspace(-1, 1, 400).reshape(-1, 2)
    labels = (records[:, 0] > 0).astype(int)
    if name == "classifier":
        return (Logistic(epsilon=5, lambdas=(0.1,)).fit(records, labels).to_json(),)
    if name == "regression":
        return (PrivateRidge(feature_bounds=(-1, 1), target_bounds=(-1, 1)).fit(records, records[:, 0]).to_json(),)
    if name == "hypothesis":
        bounds: dict[str, Any] = {"lower": -1, "upper": 1, "epsilon": 5}
        kinds = ({"hypotheses": "stumps", **bounds}, {"hypotheses": "conjunctions", "epsilon": 5})
        return tuple(HypothesisSelector(**kind).fit(records > 0, labels).to_json() for kind in kinds)
    asked: dict[str, Any] = {"excess_risk": 0.5, "regularization": 0.5}
    ridge = AccuracyFirstRidge(**asked).fit(records, records[:, 0])
    return (ridge.to_json(), AccuracyFirstLogistic(**asked).fit(records, labels).to_json())


def classifier(data: bytes) -> None:
    """Files of private linear classifiers."""
    _model("classifier", load_classifier, data)


def regression(data: bytes) -> None:
    """Files of private ridge regressions."""
    _model("regression", PrivateRidge.from_json, data)


def hypothesis(data: bytes) -> None:
    """Files of chosen hypotheses."""
    _model("hypothesis", HypothesisSelector.from_json, data)


def accuracy_first(data: bytes) -> None:
    """Files of models that were fitted to a target."""
    _model("accuracy_first", load_estimator, data)


def _model(name: str, load: Callable[[str], Any], data: bytes) -> None:
    """What is loaded predicts one value a row, and is written and read again as the same."""
    choices = Choices(data)
    text = changed(choices.one(_documents(name)), choices)
    model = ask(lambda: load(text))
    features = int(model.n_features_in_)
    require(0 < features <= len(text), "A small file makes a large model.")
    columns = np.zeros((3, features))
    if getattr(model, "reached_", True) and getattr(model, "hypothesis_", True) is not None:
        answers = ask(lambda: model.predict(columns))
        require(len(answers) == len(columns), "There is not one prediction a row.")
    again = ask(model.to_json)
    require(load(again).to_json() == again, "The file does not survive being read and written.")


def changed(text: str, choices: Choices) -> str:
    """A JSON file with some entries or bytes changed; or only bytes."""
    kind = choices.byte() % 4
    if kind == 0:  # bytes of the text
        raw = bytearray(text.encode())
        for _ in range(choices.byte() % 4 + 1):
            place = choices.whole() % len(raw)
            raw[place : place + choices.byte() % 4] = choices.take(choices.byte() % 4)
        return raw.decode("utf-8", "replace")
    if kind == 1:  # only bytes
        return choices.rest().decode("utf-8", "replace")
    document = json.loads(text)
    for _ in range(choices.byte() % 3 + 1):
        _change(document, choices)
    return _dumped(document)


def _change(document: Any, choices: Choices) -> None:
    """One entry, wherever it is, becomes another, goes, or is nested deeply."""
    entry = document
    while True:
        places: Any = list(entry) if isinstance(entry, dict) else range(len(entry))
        if not len(places):
            return
        key = choices.one(places)
        if not isinstance(entry[key], dict | list) or choices.byte() % 3 == 0:
            break
        entry = entry[key]
    kind = choices.byte() % 4
    if kind == 0:
        del entry[key]
    elif kind == 1:
        entry[key] = _Nested(choices.one(_DEPTHS))
    else:
        entry[key] = choices.one((choices.value(), CANARY, 10**9, 10**12, [CANARY], [0] * 1000, 1e308))


class _Nested:
    """A list in a list, and so on, which json itself would not write."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


def _dumped(document: Any) -> str:
    """JSON of whatever there is, as far as JSON goes."""
    mark = "@nested@"
    depths: list[int] = []

    def other(value: Any) -> Any:
        if isinstance(value, _Nested):
            depths.append(value.depth)
            return f"{mark}{len(depths) - 1}"
        return repr(value)

    try:
        text = json.dumps(document, default=other)
    except ValueError:  # an integer of more digits than Python writes
        return "[" + "9" * 5000 + "]"
    for place, depth in enumerate(depths):
        text = text.replace(f'"{mark}{place}"', "[" * depth + "]" * depth)
    return text
