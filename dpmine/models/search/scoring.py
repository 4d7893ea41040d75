"""How good a trained model is on held-out records, in whole numbers that one record moves by a known amount."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from dpmine.errors import BadData, BadParameter
from dpmine.exact.noise import discrete_gaussian, discrete_laplace_of_scale
from dpmine.models.supervised import is_same
from dpmine.models.validation.terms import UNIT, fixed_point_mean
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.search.composition import RunBudget

_NO_TERMS = "scoring must return one number for each row that it is given, a real number in [0, 1]."


class ScoreName(StrEnum):
    """Scores by name, for classifiers."""

    ACCURACY = "accuracy"
    """The share of right predictions."""
    BRIER = "brier"
    """The mean of 1 − (p − [label is the second class])², p the predicted probability of the second of two classes."""
    ROC_AUC = "roc_auc"
    """The share of the m² ordered pairs of records that are of different classes and ranked right.

    It is AUC times the shares of both classes, which are the same for all models.
    """


@dataclass(frozen=True, slots=True)
class Score:
    """A score in whole numbers.

    Attributes:
        value: higher is better.
        sensitivity: what another record in the place of one moves `value` by at most, for a fixed model.
        unit: what 1 stands for in the score as it is released.
    """

    value: int
    sensitivity: int
    unit: Fraction

    def noisy(self, run: RunBudget, *, bits: BitSource) -> int:
        """The value with the noise that makes it private: discrete Laplace for ε, discrete Gaussian for ρ."""
        if run.rho is None:
            return self.value + discrete_laplace_of_scale(self.sensitivity / run.epsilon, bits=bits)
        return self.value + discrete_gaussian(self.sensitivity**2 / (2 * run.rho), bits=bits)


def scorer_of(scoring: Any, estimator: Any) -> Callable[[Any, Any, NDArray[Any]], Score]:
    """The score of that name, "auto" for accuracy, or of a function (model, X, y) → terms in [0, 1], shape (m,).

    Raises BadParameter for other values, and for names where the estimator is no classifier or lacks what they need.
    """
    if callable(scoring):
        return lambda model, X, y: _mean(scoring(model, X, y), len(y))
    name = ScoreName.ACCURACY if str(scoring) == "auto" else named(ScoreName, "scoring", scoring)
    if not is_classifier(estimator):
        raise BadParameter(
            "scoring must be a function (model, X, y) that gives each row a number in [0, 1] where the estimator is no "
            "classifier, such as lambda model, X, y: 1 - np.minimum(1, abs(model.predict(X) - y))."
        )
    if not any(hasattr(estimator, needed) for needed in _NEEDED[name]):
        raise BadParameter(f"scoring='{name}' needs an estimator with {' or '.join(_NEEDED[name])}.")
    return _SCORERS[name]


def no_score(size: int) -> Score:
    """That of a run without a result: 0 for each of `size` records."""
    return _mean(np.zeros(size), size)


def _mean(terms: Any, size: int) -> Score:
    """The sum of the terms in fixed point: one record moves it by at most 1/u."""
    try:
        numbers = np.asarray(terms, np.float64)
    except (TypeError, ValueError):
        raise BadData(_NO_TERMS) from None
    if numbers.shape != (size,):
        raise BadData(_NO_TERMS)
    total = fixed_point_mean(numbers, least=0, most=1) * size / UNIT
    return Score(int(total), int(1 / UNIT), UNIT / size)


def _accuracy(model: Any, X: Any, y: NDArray[Any]) -> Score:
    return _mean(_are(y, model.predict(X)), len(y))


def _brier(model: Any, X: Any, y: NDArray[Any]) -> Score:
    probabilities = np.asarray(model.predict_proba(X))[:, 1]
    return _mean(1 - (probabilities - _second(model, y)) ** 2, len(y))


def _roc_auc(model: Any, X: Any, y: NDArray[Any]) -> Score:
    """Pairs count twice where they are ranked right, once where they tie: one record is in at most m − 1 pairs."""
    decisions = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]
    values = np.nan_to_num(np.asarray(decisions, np.float64).ravel())
    second = _second(model, y)
    others = np.sort(values[~second])
    ranked = [int(np.searchsorted(others, values[second], side).sum()) for side in ("left", "right")]
    return Score(sum(ranked), max(1, 2 * (len(y) - 1)), Fraction(1, 2 * len(y) ** 2))


def _second(model: Any, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are the second class. Raises BadData unless the model knows two."""
    if len(model.classes_) != 2:
        raise BadData("This scoring is for two classes: give accuracy or a function.")
    return _are(y, np.full(len(y), model.classes_[1]))


def _are(labels: NDArray[Any], predictions: Any) -> NDArray[np.bool_]:
    """Which labels are as predicted; whatever a label is, it causes no error."""
    predicted = np.asarray(predictions)
    if labels.dtype.kind == "O" or (labels.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        return np.array([is_same(*pair) for pair in zip(labels, predicted, strict=True)], bool)
    return np.asarray(labels == predicted, bool)


_SCORERS = {ScoreName.ACCURACY: _accuracy, ScoreName.BRIER: _brier, ScoreName.ROC_AUC: _roc_auc}
_NEEDED = {
    ScoreName.ACCURACY: ("predict",),
    ScoreName.BRIER: ("predict_proba",),
    ScoreName.ROC_AUC: ("decision_function", "predict_proba"),
}
