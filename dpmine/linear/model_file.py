"""A fitted classifier as a JSON object, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dpmine.documents import (
    are_classes,
    distinct_texts,
    document_of,
    finite,
    list_of,
    read_guarantee,
    reading,
    require_classes,
    text_of,
)
from dpmine.errors import BadData
from dpmine.parameters import positive
from dpmine.version import __version__

FORMAT = "dpmine linear classifier"
_COMMAND = "classify"


def write_model(classifier: Any) -> str:
    """One JSON object with all that predicts, and the guarantee. Raises BadData for classes that JSON cannot hold."""
    classes = require_classes(classifier.classes_.tolist())
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
    with reading(_COMMAND):
        return str(document_of(text, FORMAT)["loss"])


def read_model(text: str, *, kind: str) -> dict[str, Any]:
    """The fitted attributes by name. Raises BadData unless `write_model` could have written the text for that loss."""
    with reading(_COMMAND):
        document = document_of(text, FORMAT)
        if document["loss"] != kind:
            raise BadData(f"The model was trained with another loss than {kind}.")
        return _attributes(document)


def _attributes(document: dict[str, Any]) -> dict[str, Any]:
    coefficients = np.array([finite(value) for value in list_of(document["coef"])])
    if not coefficients.size or not are_classes(document["classes"]):
        raise ValueError
    attributes = {
        "coef_": coefficients.reshape(1, -1),
        "intercept_": np.array([finite(document["intercept"])]),
        "classes_": np.array(document["classes"]),
        "lambda_": float(positive("lambda", finite(document["lambda"]))),
        "guarantee_": read_guarantee(document["guarantee"]),
        "n_features_in_": len(coefficients),
    }
    if document["label"] is not None:
        attributes["label_"] = text_of(document["label"])
    if document["features"] is not None:
        names = distinct_texts(document["features"])
        if len(names) != len(coefficients):
            raise ValueError
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes
