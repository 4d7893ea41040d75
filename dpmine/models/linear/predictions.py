"""How linear classifiers predict, whoever trained them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.models.supervised import PrivateClassifier, checked_numbers, finite

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from dpmine.models.supervised import Floats


class LinearClassifier(PrivateClassifier):
    """Predicts by the sign of wᵀx + b.

    Attributes:
        coef_: shape (1, d).
        intercept_: shape (1,).
        classes_: the two classes; positive decisions mean the second.
    """

    coef_: Any
    intercept_: Any
    classes_: Any

    def decision_function(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row, shape (n,); above 0 is `classes_[1]`. Raises BadData as `fit`."""
        check_is_fitted(self)
        return linear_values(self, X, self._inside)

    def _inside(self, features: Floats) -> Floats:
        return finite(features)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row, shape (n,). Raises BadData as `fit`."""
        decisions = self.decision_function(X)
        predictions: NDArray[Any] = self.classes_[(decisions > 0).astype(np.intp)]
        return predictions


class LogisticClassifier(LinearClassifier):
    """One whose decisions are log-odds."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of either class, shape (n, 2), as the trained model has it. Raises BadData as `fit`."""
        decisions = self.decision_function(X)
        later = 0.5 * (1.0 + np.tanh(decisions / 2.0))
        return np.column_stack([1.0 - later, later])


def linear_values(estimator: Any, X: ArrayLike, inside: Callable[[Floats], Floats] = finite) -> Floats:
    """wᵀx + b for every row, shape (n,), of a fitted estimator with `coef_` and `intercept_`.

    `inside` clips rows as in training, and makes them finite.
    """
    features = inside(checked_numbers(estimator, X, reset=False))
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(features @ np.ravel(estimator.coef_) + estimator.intercept_)
