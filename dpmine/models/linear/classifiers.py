"""Linear classifiers by the names of their losses."""

from __future__ import annotations

from typing import TypeAlias

from dpmine.errors import BadData
from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
from dpmine.models.linear.model_file import loss_of

Classifier: TypeAlias = PrivateLogisticRegression | PrivateHuberSVC

CLASSIFIERS: dict[str, type[Classifier]] = {kind.kind: kind for kind in (PrivateLogisticRegression, PrivateHuberSVC)}


def load_classifier(text: str) -> Classifier:
    """The classifier of a model file, whatever its loss. Raises BadData for any other text."""
    kind = CLASSIFIERS.get(loss_of(text))
    if kind is None:
        raise BadData("The model file holds a kind of classifier that this version does not know.")
    return kind.from_json(text)
