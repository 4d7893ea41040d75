"""A fitted classifier as a JSON object, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dpmine.errors import BadData
from dpmine.models.linear.preprocessing import FeatureBounds
from dpmine.models.model_file import (
    are_classes,
    document_of,
    finite,
    finite_row,
    fitted_attributes,
    fitted_entries,
    reading,
    require_classes,
)
from dpmine.parameters import positive

FORMAT = "dpmine linear classifier"
_COMMAND = "classify"


def write_model(classifier: Any) -> str:
    """One JSON object with all that predicts, and the guarantee. Raises BadData for classes that JSON cannot hold."""
    document = {
        "format": FORMAT,
        "loss": classifier.kind,
        "classes": require_classes(classifier.classes_.tolist()),
        "coef": classifier.coef_[0].tolist(),
        "intercept": float(classifier.intercept_[0]),
        "lambda": classifier.lambda_,
        **_bounds_entries(classifier.feature_bounds_, classifier.norm_bound_),
        **fitted_entries(classifier),
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
    coefficients = finite_row(document["coef"])
    if not are_classes(document["classes"]):
        raise ValueError
    return {
        "coef_": coefficients.reshape(1, -1),
        "intercept_": np.array([finite(document["intercept"])]),
        "classes_": np.array(document["classes"]),
        "lambda_": float(positive("lambda", finite(document["lambda"]))),
        "feature_bounds_": _bounds_of(document, len(coefficients)),
        "norm_bound_": float(positive("norm_bound", document["norm_bound"])) if "norm_bound" in document else None,
        **fitted_attributes(document, len(coefficients)),
    }


def _bounds_entries(bounds: FeatureBounds | None, norm_bound: float | None) -> dict[str, Any]:
    """The bounds that rows are clipped to before the model decides; no entry for those that it does not have."""
    entries: dict[str, Any] = {}
    if norm_bound is not None:
        entries["norm_bound"] = norm_bound
    if bounds is not None:
        entries["feature_bounds"] = {"lower": bounds.lower.tolist(), "upper": bounds.upper.tolist()}
    return entries


def _bounds_of(document: dict[str, Any], columns: int) -> FeatureBounds | None:
    if "feature_bounds" not in document:
        return None
    lower, upper = (finite_row(document["feature_bounds"][name]) for name in ("lower", "upper"))
    if not len(lower) == len(upper) == columns:
        raise ValueError
    return FeatureBounds.of((lower, upper))
