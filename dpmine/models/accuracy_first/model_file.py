"""A model that was fitted to a target as a JSON object, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dpmine.errors import BadData
from dpmine.models.model_file import (
    are_classes,
    document_of,
    finite,
    finite_row,
    fitted_attributes,
    fitted_entries,
    natural,
    reading,
    require_classes,
    text_of,
    truth_of,
)
from dpmine.parameters import positive
from dpmine.privacy import ExPostGuarantee

FORMAT = "dpmine accuracy-first model"
LOGISTIC = "logistic"
"""The kind that has classes."""
_COMMAND = "accuracy-first"


def write_model(estimator: Any) -> str:
    """One JSON object with all that predicts, and the guarantee. Raises BadData for classes that JSON cannot hold."""
    known = hasattr(estimator, "coef_")
    document = {
        "format": FORMAT,
        "model_kind": estimator.kind,
        "reached": estimator.reached_,
        "requested": estimator.requested_,
        "columns": estimator.n_features_in_,
        "coef": np.ravel(estimator.coef_).tolist() if known else None,
        "intercept": float(np.ravel(estimator.intercept_)[0]) if known else None,
        **fitted_entries(estimator),
    }
    if estimator.kind == LOGISTIC:
        document["classes"] = require_classes(estimator.classes_.tolist())
    return json.dumps(document, ensure_ascii=False, indent=2)


def _requested(kind: str) -> tuple[str, ...]:
    """Parameters that say what the model is, exact in a file."""
    shared = ("excess_risk", "regularization", "failure_probability", "epsilon_max", "x_bound")
    return shared if kind == LOGISTIC else (*shared, "y_bound")


def kind_of(text: str) -> str:
    """Which kind of model a file holds. Raises BadData for any other text."""
    with reading(_COMMAND):
        return str(document_of(text, FORMAT)["model_kind"])


def read_model(text: str, *, kind: str) -> dict[str, Any]:
    """The fitted attributes by name. Raises BadData unless `write_model` could have written the text for that kind."""
    with reading(_COMMAND):
        document = document_of(text, FORMAT)
        if document["model_kind"] != kind:
            raise BadData(f"The model is of another kind than {kind}.")
        return _attributes(document)


def _attributes(document: dict[str, Any]) -> dict[str, Any]:
    columns, reached = natural(document["columns"]), truth_of(document["reached"])
    asked = document["requested"]
    parameters = {name: positive(name, text_of(asked[name])) for name in _requested(document["model_kind"])}
    told = {name: str(value) for name, value in parameters.items()}
    attributes = {"reached_": reached, "requested_": told, **parameters, **fitted_attributes(document, columns)}
    if not isinstance(attributes["guarantee_"], ExPostGuarantee) or not columns:
        raise ValueError
    has_classes = document["model_kind"] == LOGISTIC
    if has_classes:
        if not are_classes(document["classes"]):
            raise ValueError
        attributes["classes_"] = np.array(document["classes"])
    if document["coef"] is None:
        if reached:
            raise ValueError
        return attributes
    coefficients, intercept = finite_row(document["coef"]), finite(document["intercept"])
    if len(coefficients) != columns:
        raise ValueError
    attributes["coef_"] = coefficients.reshape(1, -1) if has_classes else coefficients
    attributes["intercept_"] = np.array([intercept]) if has_classes else intercept
    return attributes
