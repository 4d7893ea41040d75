"""What classifiers that choose one hypothesis share, in scikit-learn's style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData
from dpmine.models.base import forget_fit
from dpmine.models.pac.hypothesis import Records
from dpmine.models.supervised import (
    MISSING_NOTE,
    PrivateClassifier,
    checked_features,
    checked_labels,
    classes_note,
    known_features,
    unnamed_features,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import Bounding
    from dpmine.models.pac.hypothesis import Hypothesis


class HypothesisClassifier(PrivateClassifier):
    """Predicts by one hypothesis, which describes the second of the two classes.

    Attributes:
        hypothesis_: the chosen one, readable with `str`; None when the mechanism returned none.
        classes_: the two classes: as given, or those that occur, sorted.
        names_: names of the features: of the columns, or x0, x1, …
    """

    classes: Any
    hypothesis_: Hypothesis | None

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row. Raises BadData as `fit`, and where the mechanism returned no hypothesis."""
        check_is_fitted(self)
        features = checked_features(self, X, reset=False)
        if self.hypothesis_ is None:
            raise BadData("Nothing stood out when this was fitted, so there is no hypothesis to predict with.")
        predictions: NDArray[Any] = self.classes_[self.hypothesis_.predict(features).astype(np.intp)]
        return predictions

    def _features_of(self, X: Any) -> list[str] | None:
        return known_features(X)

    def _data_notes(self) -> tuple[str, str]:
        """The guarantee's notes on labels and missing values."""
        return classes_note(self.classes), MISSING_NOTE

    def _records(self, X: Any, y: Any, bounding: Bounding, *, bits: BitSource) -> Records:
        """The checked and bounded data; also learns the classes and the features' names. Forgets any earlier fit."""
        forget_fit(self)
        features = checked_features(self, X, reset=True)
        self.classes_, signs = checked_labels(self, y, len(features), self.classes, bounding.known)
        names = getattr(self, "feature_names_in_", None)
        self.names_ = unnamed_features(features.shape[1]) if names is None else [str(name) for name in names]
        if bounding.units is None:
            return Records(features, signs > 0)
        kept = bounding.places(len(features), bits=bits).rows()
        return Records(features[kept], signs[kept] > 0)
