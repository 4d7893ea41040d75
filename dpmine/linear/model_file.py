"""A fitted classifier as a JSON object, and back. Files are untrusted input: every entry is checked."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpmine.errors import BadData
from dpmine.parameters import positive, probability
from dpmine.privacy import Guarantee, Neighbors
from dpmine.version import __version__

FORMAT = "dpmine linear classifier"


def write_model(classifier: Any) -> str:
    """One JSON object with all that predicts, and the guarantee. Raises BadData for classes that JSON cannot hold."""
    classes = classifier.classes_.tolist()
    if not _are_classes(classes):
        raise BadData("The classes of y must be text or numbers to be written to a model file.")
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None and len(set(names)) < len(names):
        raise BadData("A feature's name is there twice: give columns distinct names to write a model file.")
    document = {
        "format": FORMAT,
        "loss": classifier.kind,
        "features": None if names is None else [str(name) for name in names],
        "label": getattr(classifier, "label_", None),
        "classes": classes,
        "coef": classifier.coef_[0].tolist(),
        "intercept": float(classifier.intercept_[0]),
        "lambda": classifier.lambda_,
        "guarantee": classifier.guarantee_.to_dict(),
        "dpmine": __version__,
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def loss_of(text: str) -> str:
    """Which loss the model of a file was trained with. Raises BadData for any other text."""
    return str(_document(text)["loss"])


def read_model(text: str, *, kind: str) -> dict[str, Any]:
    """The fitted attributes by name. Raises BadData unless `write_model` could have written the text for that loss."""
    document = _document(text)
    if document["loss"] != kind:
        raise BadData(f"The model was trained with another loss than {kind}.")
    try:
        return _attributes(document)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise _unreadable() from None


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable() from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or "loss" not in document:
        raise _unreadable()
    return document


def _attributes(document: dict[str, Any]) -> dict[str, Any]:
    coefficients = np.array([_finite(value) for value in _listed(document["coef"])])
    if not coefficients.size or not _are_classes(document["classes"]):
        raise ValueError
    attributes = {
        "coef_": coefficients.reshape(1, -1),
        "intercept_": np.array([_finite(document["intercept"])]),
        "classes_": np.array(document["classes"]),
        "lambda_": float(positive("lambda", _finite(document["lambda"]))),
        "guarantee_": _guarantee(document["guarantee"]),
        "n_features_in_": len(coefficients),
    }
    if document["label"] is not None:
        attributes["label_"] = _text(document["label"])
    if document["features"] is not None:
        names = [_text(name) for name in _listed(document["features"])]
        if len(names) != len(coefficients) or len(set(names)) < len(names):
            raise ValueError
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _guarantee(entry: dict[str, Any]) -> Guarantee:
    return Guarantee(
        positive("epsilon", _text(entry["epsilon_exact"])),
        _delta(_text(entry["delta_exact"])),
        Neighbors(_text(entry["neighbors"])),
        _text(entry["unit"]),
        _truth(entry["private"]),
        tuple(_text(note) for note in _listed(entry["notes"])),
    )


def _delta(text: str) -> Fraction:
    return Fraction(0) if text == "0" else probability("delta", text)


def _are_classes(labels: Any) -> bool:
    """Two different texts, numbers or truth values, both of one type, that numpy keeps as they are."""
    if not isinstance(labels, list) or len(labels) != 2 or type(labels[0]) is not type(labels[1]):
        return False
    kinds = {str: "U", int: "i", float: "f", bool: "b"}
    kind = kinds.get(type(labels[0]))
    finite = kind != "f" or all(map(math.isfinite, labels))
    return kind is not None and finite and labels[0] != labels[1] and np.array(labels).dtype.kind in (kind, "u")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _unreadable() -> BadData:
    return BadData("This is not a model file of dpmine classify: train one with --model FILE.json.")
