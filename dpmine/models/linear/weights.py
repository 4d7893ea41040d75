"""Public weights of classes: a row's loss is multiplied by ω ≤ 1, which changes none of the bounds on what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.entries import is_same
from dpmine.parameters import positive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpmine.models.entries import Floats

_LEAST = 1e-9


def class_weights(given: Any, classes: Sequence[Any] | None, candidates: int) -> Floats | None:
    """ω of each class, shape (K,): its weight over the largest one; None where none are given.

    Requires: `classes`, where given, are usable. Raises BadParameter for weights that are no public ones of these
    classes, and where several `candidates` for λ would have to be compared by a score that knows no weights.
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        raise BadParameter(
            "class_weight='balanced' would read the labels, which no part of the budget covers: give public weights, "
            "such as {'no': 1, 'yes': 10}."
        )
    if not isinstance(given, Mapping):
        raise BadParameter("class_weight must map labels to public weights, such as {'no': 1, 'yes': 10}.")
    if classes is None:
        raise BadParameter("class_weight needs classes=[...]: which labels occur is not public.")
    if candidates > 1:
        raise BadParameter("class_weight needs one λ, or lambdas='auto': the choice among several weighs rows alike.")
    if any(not any(is_same(label, known) for known in classes) for label in given):
        raise BadParameter("class_weight names a label that is not among the classes.")
    weights = [_weight_of(label, given) for label in classes]
    shares = np.array([float(weight / max(weights)) for weight in weights])
    if shares.min() < _LEAST:
        raise BadParameter("class_weight: no weight may be less than 1e-9 times the largest.")
    return shares


def _weight_of(label: Any, given: Mapping[Any, Any]) -> Fraction:
    found = [weight for named, weight in given.items() if is_same(named, label)]
    return positive("class_weight", found[0] if found else 1)
