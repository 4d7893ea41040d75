"""What estimators accept: numbers in rows, and classes or targets. Messages name columns and rules, never values."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dpmine.errors import BadData, BadParameter
from dpmine.models.contribution import EVERY_ROW, NO_UNIT, Bounding, Units
from dpmine.models.entries import (
    Entries,
    Floats,
    Labels,
    as_numbers,
    entry_by_entry,
    is_missing,
    is_same,
    require_names,
    require_numbers,
    shape_of,
)
from dpmine.models.private_estimator import PrivateEstimator, Settings
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags


_MOST_CLASSES = 1000
_PLAIN = (bool, int, float, np.number, np.bool_)
"""Types of labels for which numpy has one, too; as texts, the longest one would make all others as long."""
_NUMERIC = "biuf"
_NO_LABELS = "cmSV"
"""Kinds of numpy: complex numbers, time spans, bytes and records."""
_NO_LABEL_TYPES = ("binary", "large_binary", "fixed_size_binary", "duration", "list", "large_list", "struct")
"""Types of polars and Arrow, in lower case."""
_TEXTS = {"str", "string", "large_string", "string_view"}
"""Types of texts in pandas, polars and Arrow."""
_ONLY_TWO = "Only binary classification is supported without names of the classes, and y has more than two classes"
_NAME_ALL = "name them all with `classes=['A', 'B', 'C']`"
_NAME_TWO = (
    "name two with `classes=['A', 'B']`, or train PrivateLogisticRegression (dpmine classify), which learns several"
)
MISSING_NOTE = "a missing value counts as 0"
"""The guarantee's note on `checked_features`."""


class PrivateClassifier(ClassifierMixin, PrivateEstimator[Settings]):  # type: ignore[misc]
    """What private classifiers are to scikit-learn: of two classes, or of several that are named."""

    classes: Sequence[object] | None
    _several: ClassVar[bool] = False
    """Whether more than two classes may be named."""

    @property
    def labels_are_public(self) -> bool:
        """See `PrivateEstimator.labels_are_public`."""
        return self.classes is None

    def _require_shared_parameters(self) -> None:
        if self.classes is not None:
            known_classes(self.classes, several=self._several)

    def _require_data(self, X: Entries, y: Entries) -> None:
        require_table(X, self.least_rows)
        require_column(self, y, shape_of(X)[0])
        require_types_of_labels(y)
        if self.classes is not None:
            require_types_of_classes(y, known_classes(self.classes, several=self._several))

    def _require_public(self, X: Entries, y: Entries, units: Entries) -> None:
        if self.classes is None:
            bounding = EVERY_ROW if units is None else Bounding(units=Units.of(units, "unit"))
            with no_warnings:  # the fit itself says what it makes of a column
                checked_labels(self, y, shape_of(X)[0], known=bounding.known)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # noise beats tiny data sets
        tags.input_tags.sparse = True
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator[Settings]):  # type: ignore[misc]
    """What private regressors of one target are to scikit-learn."""

    def _require_data(self, X: Entries, y: Entries) -> None:
        require_table(X, self.least_rows)
        require_targets(self, y, shape_of(X)[0])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # noise beats tiny data sets
        tags.input_tags.sparse = True
        return tags


def checked_features(estimator: BaseEstimator, X: Entries, *, reset: bool, least: int = 1) -> Floats:
    """`checked_numbers`, all of them finite: a missing value counts as 0, an infinite one as the largest float.

    A row can therefore cause no error: whatever it holds is data.
    """
    return finite(checked_numbers(estimator, X, reset=reset, least=least))


def checked_numbers(estimator: BaseEstimator, X: Entries, *, reset: bool, least: int = 1) -> Floats:
    """X as a float64 array with at least `least` rows and one column, its columns as at the fit (`reset` when fitting).

    Sparse ones are filled up: rows are mapped to their bounds, and noise is dense. Missing values are NaN. Raises
    BadData as `require_table`, and for other columns.
    """
    require_table(X, least)
    _same_columns(estimator, X, reset=reset)
    return as_numbers(X)


def require_table(X: Entries, least: int = 1) -> None:
    """Raises BadData for what is not two-dimensional or not numeric, by shape and types alone, which are public."""
    require_numbers(X)
    shape = shape_of(X)
    if len(shape) != 2:
        raise BadData(
            f"Expected 2D array, got {len(shape)}D array instead. Reshape your data: one row an example, one column "
            "a feature, with array.reshape(-1, 1) for a single feature or array.reshape(1, -1) for a single sample."
        )
    if shape[1] == 0:
        raise BadData(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[0] < least:
        raise BadData(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    require_names(X)


def finite(numbers: Floats) -> Floats:
    """The numbers, NaN as 0 and infinities as the largest floats."""
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers)


def checked_labels(
    estimator: BaseEstimator,
    y: Entries,
    rows: int,
    classes: Sequence[object] | None = None,
    known: NDArray[np.bool_] | None = None,
) -> tuple[Labels, Floats]:
    """The two classes, and −1 or 1 for every label.

    `classes` are the two in the order that is wanted, public. Every label but the second then counts as the first,
    missing ones too, so that no row can cause an error. Without them the two that occur are taken, in sorted order.
    That exactly these occur is then treated as public; labels of rows that are not `known` are not looked at.
    Raises BadData unless there is one label per row. Without `classes`, raises it unless each label is one of two.
    Raises BadParameter for unusable classes.
    """
    if classes is not None:
        labels, named = checked_column(estimator, y, rows), known_classes(classes)
        return named, np.where(_are(labels, named, 1), 1.0, -1.0)
    labels = checked_column(estimator, y, rows, known)
    _require_discrete(labels)
    present = np.unique(labels)
    if len(present) == 1:
        raise BadData("y has one class only, and a classifier needs examples of two.")
    if len(present) != 2:
        several = getattr(estimator, "_several", False)
        raise BadData(f"{_ONLY_TWO}: {_NAME_ALL if several else _NAME_TWO}.")
    texts = np.array(present.tolist()) if all(type(label) is str for label in present.tolist()) else present
    present = texts if texts.tolist() == present.tolist() else present  # numpy drops NUL at the end of a text
    return present, np.where(_are(labels, present, 1), 1.0, -1.0)


def checked_codes(
    estimator: BaseEstimator, y: Entries, rows: int, classes: Sequence[object]
) -> tuple[Labels, NDArray[np.intp]]:
    """The classes, two or more, and the position of every label among them; any other label counts as the first.

    Raises as `checked_labels` with `classes`.
    """
    labels, known = checked_column(estimator, y, rows), known_classes(classes, several=True)
    codes = np.zeros(rows, dtype=np.intp)
    for code in range(1, len(known)):
        codes[_are(labels, known, code)] = code
    return known, codes


def classes_note(classes: Sequence[object] | Labels | None) -> str:
    """The guarantee's note on the classes, given `classes` of `checked_labels` or `checked_codes`."""
    if classes is None:
        return "the two classes that occur are taken as public: data with other classes are rejected"
    if len(classes) > 2:
        return "the classes are public; a label that is none of them, or missing, counts as the first"
    return "the two classes are public; a label that is neither, or missing, counts as the first"


def checked_targets(estimator: BaseEstimator, y: Entries, rows: int, *, missing: float = 0.0) -> Floats:
    """One finite number per row, shape (n,), as `finite` has them, but `missing` for what is missing or no number.

    Raises BadData as `require_targets`.
    """
    require_targets(estimator, y, rows)
    numbers = as_numbers(checked_column(estimator, y, rows))
    return finite(np.where(np.isnan(numbers), missing, numbers))


def require_targets(estimator: BaseEstimator, y: Entries, rows: int) -> None:
    """Raises BadData for other shapes than one entry a row, and for types that are not of numbers."""
    require_column(estimator, y, rows)
    try:
        require_numbers(y)
    except BadData:
        raise BadData("Unknown label type: y must hold numbers, one per row, in a 1d array of numbers.") from None


def require_column(estimator: BaseEstimator, y: Entries, rows: int) -> None:
    """Raises BadData unless y has one entry for each of n `rows`, by its shape alone."""
    if y is None:
        raise BadData(f"requires y to be passed, but the target y is None: {type(estimator).__name__} needs it.")
    shape = (len(y),) if isinstance(y, Sized) and not _has_type(y) else shape_of(y)
    if len(shape) != 1 and (len(shape) != 2 or shape[1] != 1):
        raise BadData("bad input shape: y should be a 1d array, with one label or number for each row.")
    if shape[0] != rows:
        raise BadData(f"X and y have inconsistent numbers of samples: {rows} and {shape[0]}.")


def checked_column(estimator: BaseEstimator, y: Entries, rows: int, known: NDArray[np.bool_] | None = None) -> Labels:
    """Y as an array, shape (n,), of whatever type.

    Rows that are not `known` to have a privacy unit get the entry of one that is: what they hold can change nothing.
    Raises BadData as `require_column`, and where no row is known.
    """
    require_column(estimator, y, rows)
    typed = _has_type(y)
    column: Labels = column_or_1d(y, warn=True) if typed else entry_by_entry(y)
    if known is not None:
        if not known.any():
            raise BadData(NO_UNIT)
        column = np.where(known, column, column[known][:1])
    return column if typed else _entries(column)


def known_classes(classes: Any, *, several: bool = False) -> Labels:
    """The two labels, or two and more if `several`, as an array. Raises BadParameter for anything else."""
    hint = "classes must be the two labels, such as `classes=['no', 'yes']`: the model is about the second."
    if several:
        example = "`classes=['no', 'maybe', 'yes']`"
        hint = f"classes must be the labels, two or more different ones of one type, such as {example}."
    try:
        labels = np.asarray(classes)
        fitting = labels.ndim == 1 and (len(labels) == 2 or (several and 2 < len(labels) <= _MOST_CLASSES))
        usable = fitting and labels.dtype.kind in "biufUMO" and len(set(labels.tolist())) == len(labels)
        missing = any(is_missing(label) for label in classes)
    except (TypeError, ValueError):  # lists of several lengths, objects that compare as they like
        raise BadParameter(hint) from None
    if not usable or missing:
        raise BadParameter(hint)
    return labels


def _are(labels: Labels, classes: Labels, code: int) -> NDArray[np.bool_]:
    """Whether labels are the class in that position: no label causes an error, and none changes what another is."""
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if kinds <= set(_NUMERIC) or kinds == {"U"}:
        return np.asarray(labels == classes[code])
    with no_warnings:  # of classes that compare as they like
        return np.array([is_same(label, classes[code]) for label in labels], dtype=np.bool_)


def require_types_of_labels(y: Entries) -> None:
    """Raises BadData where y declares a type whose values are no classes. Lists and columns of objects declare none."""
    declared = getattr(y, "dtype", getattr(y, "type", None))
    if getattr(declared, "kind", "O") in _NO_LABELS or str(declared).lower().startswith(_NO_LABEL_TYPES):
        raise BadData("Unknown label type: y holds no numbers, texts or dates. Convert it, such as by y.astype(str).")


def require_types_of_classes(y: Entries, classes: Labels) -> None:
    """Raises BadData where y declares a type that no class has. Lists and columns of objects declare none."""
    declared = getattr(y, "dtype", None)
    texts = str(declared).lower() in _TEXTS or getattr(declared, "kind", "") == "U"
    numbers = getattr(declared, "kind", "O") in _NUMERIC
    if (texts or numbers) and classes.dtype.kind != "O" and texts != (classes.dtype.kind == "U"):
        raise BadData("The labels of y and the classes are of different types: give the classes as y holds them.")


def _has_type(y: Entries) -> bool:
    """Whether a type was found for all entries of y before, or y has other than one dimension."""
    declared = getattr(y, "dtype", None)
    if isinstance(declared, np.dtype) and (declared.kind != "O" or getattr(y, "ndim", 1) != 1):
        return not isinstance(y, np.ma.MaskedArray)
    return len(getattr(y, "shape", ())) > 1 or not hasattr(y, "__len__") or isinstance(y, str)


def _entries(y: Entries) -> Labels:
    """The entries as Python has them, but numbers where one type of them holds all entries exactly.

    numpy turns integers next to a missing one into floats, so that one row would change how others are read.
    """
    entries = entry_by_entry(y)
    kinds = set(map(type, entries))
    if len(kinds) != 1 or not issubclass(kinds.pop(), _PLAIN):
        return entries
    numbers = np.array(entries.tolist())
    kept = numbers.dtype.kind == np.array(entries[0]).dtype.kind and numbers.tolist() == entries.tolist()
    return numbers if kept else entries


def _require_discrete(labels: Labels) -> None:
    """Raises BadData for labels that are missing or no classes; only where the classes that occur are public."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise BadData("Input y contains NaN or infinity: name the two classes, or drop those rows.")
    if labels.dtype.kind in "biu":  # discrete, so there is nothing to check
        return
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
        raise BadData("Input y contains NaN or missing labels: name the two classes, or drop those rows.")
    try:
        with no_warnings:  # they show shares of unique labels
            check_classification_targets(_entries(labels) if labels.dtype.kind == "O" else labels)
    except (ValueError, TypeError):
        raise BadData(
            "Unknown label type: y is continuous or mixed, and a classifier expects two discrete classes."
        ) from None


def _same_columns(estimator: BaseEstimator, X: Entries, *, reset: bool) -> None:
    """Names and number of columns, by scikit-learn's own rules; its messages name columns only."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (ValueError, TypeError) as error:
        raise BadData(str(error)) from None


class LinearClassifier(PrivateClassifier[Settings]):
    """Predicts by the sign of wᵀx + b; of more than two classes the one whose wᵀx + b is largest.

    Attributes:
        coef_: shape (1, d), of K > 2 classes (K, d).
        intercept_: shape (1,) or (K,).
        classes_: the classes; positive decisions mean the second of two.
    """

    coef_: Floats
    intercept_: Any
    classes_: Labels

    def decision_function(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row of X, shape (n,): above 0 is `classes_[1]`. Of K > 2 classes shape (n, K).

        Raises BadData as `fit`.
        """
        check_is_fitted(self)
        return linear_values(self, X, self._inside)

    def _inside(self, features: Floats) -> Floats:
        return finite(features)

    def predict(self, X: ArrayLike) -> Labels:
        """The class of every row of X, shape (n,). Raises BadData as `fit`."""
        decisions = self.decision_function(X)
        codes = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
        predictions: Labels = self.classes_[codes]
        return predictions


class LogisticClassifier(LinearClassifier[Settings]):
    """One whose decisions are log-odds."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The model's probability of each class for every row of X, shape (n, K). Raises BadData as `fit`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """The logarithms of `predict_proba(X)`, exact where those round to 0; shape (n, K). Raises BadData as `fit`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        below = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def linear_values(estimator: BaseEstimator, X: ArrayLike, inside: Callable[[Floats], Floats] = finite) -> Floats:
    """wᵀx + b for every row, of a fitted estimator with `coef_` and `intercept_`: shape (n,), or (n, K) of K weights.

    `inside` clips rows as in training, and makes them finite.
    """
    features = inside(checked_numbers(estimator, X, reset=False))
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.asarray(estimator.coef_)
        each = np.ravel(weights) if weights.size == features.shape[1] else weights.T
        return finite(features @ each + estimator.intercept_)
