"""What estimators accept: numbers in rows, and classes or targets. Messages name columns and rules, never values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dpmine.errors import BadData, BadParameter
from dpmine.models.base import PrivateEstimator
from dpmine.models.contribution import entry_by_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray


Floats: TypeAlias = "NDArray[np.float64]"
"""Arrays of numbers, whatever their shape."""

_MOST_CLASSES = 1000
_PLAIN = (bool, int, float, str, np.number, np.bool_)
"""Types of labels for which numpy has one, too."""
_NUMERIC = "biufO"
"""Kinds of numpy types that may hold real numbers."""
_ONLY_TWO = "Only binary classification is supported without names of the classes, and y has more than two classes"
_NAME_ALL = "name them all with classes=[...] (--classes A,B,C)"
_NAME_TWO = (
    "name two with classes=[...] (--classes A,B), or train PrivateLogisticRegression (dpmine classify), "
    "which learns several"
)
MISSING_NOTE = "a missing value counts as 0"
"""The guarantee's note on `checked_features`."""
_ENCODE = "encode categories as numbers first, one 0/1 column a category (pandas.get_dummies with a public list)"


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What private classifiers are to scikit-learn: of two classes, or of several that are named."""

    classes: Sequence[Any] | None
    _several: ClassVar[bool] = False
    """Whether more than two classes may be named."""

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> Any:
        if self.classes is not None:
            known_classes(self.classes, several=self._several)
        return super()._settings(rows, features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # noise beats tiny data sets
        tags.input_tags.sparse = True
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What private regressors of one target are to scikit-learn."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # noise beats tiny data sets
        tags.input_tags.sparse = True
        return tags


def checked_features(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Floats:
    """`checked_numbers`, all of them finite: a missing value counts as 0, an infinite one as the largest float.

    A row can therefore cause no error: whatever it holds is data.
    """
    return finite(checked_numbers(estimator, X, reset=reset, least=least))


def checked_numbers(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Floats:
    """X as a float64 array with at least `least` rows and one column, its columns as at the fit (`reset` when fitting).

    Sparse ones are filled up: rows are mapped to their bounds, and noise is dense. Missing values are NaN. Raises
    BadData for what is not two-dimensional, not numeric, or has other columns: shape and types are public.
    """
    features = _as_numbers(X)
    if features.ndim != 2:
        raise BadData(
            f"Expected 2D array, got {features.ndim}D array instead. Reshape your data: one row an example, one column "
            "a feature, with array.reshape(-1, 1) for a single feature or array.reshape(1, -1) for a single sample."
        )
    if features.shape[1] == 0:
        raise BadData(f"Found array with 0 feature(s) (shape={features.shape}) while a minimum of 1 is required.")
    if features.shape[0] < least:
        raise BadData(f"Found array with 0 sample(s) (shape={features.shape}) while a minimum of 1 is required.")
    _same_columns(estimator, X, reset=reset)
    return features


def finite(numbers: Floats) -> Floats:
    """The numbers, NaN as 0 and infinities as the largest floats."""
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers)


def checked_labels(
    estimator: Any, y: Any, rows: int, classes: Any = None, known: NDArray[np.bool_] | None = None
) -> tuple[NDArray[Any], Floats]:
    """The two classes, and −1 or 1 for every label.

    `classes` are the two in the order that is wanted, public. Every label but the second then counts as the first,
    missing ones too, so that no row can cause an error. Without them the two that occur are taken, in sorted order.
    That exactly these occur is then treated as public; rows that are not `known` to have a privacy unit do not count.
    Raises BadData unless there is one label per row, of the type of the classes. Without `classes`, raises it unless
    each label is one of two. Raises BadParameter for unusable classes.
    """
    labels = checked_column(estimator, y, rows)
    if classes is not None:
        named = known_classes(classes)
        return named, np.where(_are(labels, named, 1), 1.0, -1.0)
    counted = labels if known is None else labels[known]
    _require_discrete(counted)
    found = np.unique(counted)
    if len(found) == 1:
        raise BadData("y has one class only, and a classifier needs examples of two.")
    if len(found) != 2:
        several = getattr(estimator, "_several", False)
        raise BadData(f"{_ONLY_TWO}: {_NAME_ALL if several else _NAME_TWO}.")
    return found, np.where(_are(labels, found, 1), 1.0, -1.0)


def checked_codes(estimator: Any, y: Any, rows: int, classes: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes, two or more, and the position of every label among them; any other label counts as the first.

    Raises as `checked_labels` with `classes`.
    """
    labels, known = checked_column(estimator, y, rows), known_classes(classes, several=True)
    codes = np.zeros(rows, dtype=np.intp)
    for code in range(1, len(known)):
        codes[_are(labels, known, code)] = code
    return known, codes


def classes_note(classes: Any) -> str:
    """The guarantee's note on the classes, given `classes` of `checked_labels` or `checked_codes`."""
    if classes is None:
        return (
            "the classes of y, and that exactly two occur, are taken as public: anything else is rejected with an error"
        )
    if len(classes) > 2:
        return "the classes are public; a label that is none of them, or missing, counts as the first"
    return "the two classes are public; a label that is neither, or missing, counts as the first"


def checked_targets(estimator: Any, y: Any, rows: int, *, missing: float = 0.0) -> Floats:
    """One finite number a row, shape (n,), as `finite` has them, but `missing` for a missing one.

    Raises BadData for other shapes and types.
    """
    targets = checked_column(estimator, y, rows)
    numbers = _floats(targets) if targets.dtype.kind in _NUMERIC else None
    if numbers is None:
        raise BadData("Unknown label type: y must hold numbers, one per row, in a 1d array of numbers.")
    return finite(np.where(np.isnan(numbers), missing, numbers))


def checked_column(estimator: Any, y: Any, rows: int) -> NDArray[Any]:
    """Y as an array, shape (n,), of whatever type. Raises BadData unless there is one entry for each of n `rows`."""
    if y is None:
        raise BadData(f"requires y to be passed, but the target y is None: {type(estimator).__name__} needs it.")
    column = _column(y) if _has_type(y) else _entries(y)
    if len(column) != rows:
        raise BadData(f"X and y have inconsistent numbers of samples: {rows} and {len(column)}.")
    return column


def known_classes(classes: Any, *, several: bool = False) -> NDArray[Any]:
    """The two labels, or two and more if `several`, as an array. Raises BadParameter for anything else."""
    hint = "classes must be the two labels, such as ['no', 'yes'] (--classes no,yes): the model is about the second."
    if several:
        example = "['no', 'maybe', 'yes'] (--classes no,maybe,yes)"
        hint = f"classes must be the labels, two or more different ones of one type, such as {example}."
    try:
        known = np.asarray(classes)
        fitting = known.ndim == 1 and (len(known) == 2 or (several and 2 < len(known) <= _MOST_CLASSES))
        usable = fitting and known.dtype.kind in "biufUO" and len(set(known.tolist())) == len(known)
        missing = any(is_missing(label) for label in classes)
    except (TypeError, ValueError):  # lists of several lengths, objects that compare as they like
        raise BadParameter(hint) from None
    if not usable or missing:
        raise BadParameter(hint)
    return known


def _are(labels: NDArray[Any], classes: NDArray[Any], code: int) -> NDArray[np.bool_]:
    """Whether labels are the class in that position. Raises BadData for types that have no class."""
    if labels.dtype.kind == "O":
        return np.array([is_same(label, classes[code]) for label in labels], dtype=np.bool_)
    if (labels.dtype.kind == "U") == (classes.dtype.kind == "U") or classes.dtype.kind == "O":
        return np.asarray(labels == classes[code])
    raise BadData("The labels of y and the classes are of different types: give the classes as y holds them.")


def is_same(label: object, wanted: object) -> bool:
    """Whether two labels are equal; those that cannot say so are not."""
    try:
        return bool(label == wanted)
    except (TypeError, ValueError):  # pandas' NA, arrays
        return False


def _has_type(y: Any) -> bool:
    """Whether a type was found for all entries of y before, or y has other than one dimension."""
    if isinstance(getattr(y, "dtype", None), np.dtype):
        return not isinstance(y, np.ma.MaskedArray)
    dimensions = len(getattr(y, "shape", ())) or 1
    nested = isinstance(y, list | tuple) and bool(y) and isinstance(y[0], list | tuple)
    return dimensions != 1 or nested or not hasattr(y, "__len__") or isinstance(y, str)


def _entries(y: Any) -> NDArray[Any]:
    """The entries as Python has them, where no common type holds all of them exactly.

    numpy turns integers next to a missing one into floats, so that one row would change how others are read.
    """
    entries = entry_by_entry(y)
    kinds = set(map(type, entries))
    if len(kinds) != 1 or not issubclass(kinds.pop(), _PLAIN):
        return entries
    found = np.array(entries.tolist())
    kept = found.dtype.kind == np.array(entries[0]).dtype.kind and found.tolist() == entries.tolist()
    return found if kept else entries


def _column(y: Any) -> NDArray[Any]:
    try:
        column: NDArray[Any] = column_or_1d(y, warn=True)
    except (ValueError, TypeError):
        raise BadData("bad input shape: y should be a 1d array, with one label or number for each row.") from None
    return column


def _require_discrete(labels: NDArray[Any]) -> None:
    """Raises BadData for labels that are missing or no classes; only where the classes that occur are public."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise BadData("Input y contains NaN or infinity: name the two classes, or drop those rows.")
    if labels.dtype.kind in "biu":  # discrete, so there is nothing to check
        return
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
        raise BadData("Input y contains NaN or missing labels: name the two classes, or drop those rows.")
    try:
        with warnings.catch_warnings():  # they show shares of unique labels
            warnings.simplefilter("ignore")
            check_classification_targets(labels)
    except (ValueError, TypeError):
        raise BadData(
            "Unknown label type: y is continuous or mixed, and a classifier expects two discrete classes."
        ) from None


def is_missing(label: object) -> bool:
    """Whether a label is none: None, NaN, NaT, or pandas' NA, which cannot say whether it is itself."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return True


def known_features(X: Any) -> list[str] | None:
    """Names of the columns, as far as X has them without a look at any value; None where it does not."""
    shape = getattr(X, "shape", None)
    if isinstance(X, list) and X and isinstance(X[0], list | tuple):
        shape = len(X), len(X[0])
    if not isinstance(shape, tuple) or len(shape) != 2 or not isinstance(shape[1], int) or not shape[1]:
        return None
    names = getattr(X, "columns", ())
    return list(names) if all(isinstance(name, str) for name in names) and len(names) else unnamed_features(shape[1])


def unnamed_features(columns: int) -> list[str]:
    """What features without names are called."""
    return [f"x{column}" for column in range(columns)]


def _as_numbers(X: Any) -> NDArray[Any]:
    """A float64 array of whatever shape X has."""
    schema = getattr(X, "schema", None)  # polars makes numbers of dates
    if isinstance(schema, Mapping) and any(kind.is_temporal() for kind in schema.values()):
        raise BadData(f"Features must be numbers, and dates are none: {_ENCODE}.")
    try:
        array = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    except (TypeError, ValueError, OverflowError):
        raise BadData(f"Features must be numbers, in rows of equal length: {_ENCODE}.") from None
    if array.dtype.kind == "c":
        raise BadData("Complex data not supported: features must be real numbers.")
    numbers = _floats(array) if array.dtype.kind in _NUMERIC else None
    if numbers is None:
        raise BadData(f"Features must be numbers, in rows of equal length: {_ENCODE}.")
    return numbers


def _floats(array: NDArray[Any]) -> Floats | None:
    """As float64; missing entries are NaN, and numbers beyond the largest float infinite. None where some is none."""
    try:
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.array([_float(entry) for entry in array.flat]).reshape(array.shape)
    except (TypeError, ValueError):
        return None


def _float(entry: Any) -> float:
    """Raises TypeError or ValueError for what is no number and not missing."""
    if is_missing(entry):
        return math.nan
    try:
        return float(entry)
    except OverflowError:  # an integer of many digits
        return math.inf if entry > 0 else -math.inf


def _same_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Names and number of columns, by scikit-learn's own rules; its messages name columns only."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (ValueError, TypeError) as error:
        raise BadData(str(error)) from None


class LinearClassifier(PrivateClassifier):
    """Predicts by the sign of wᵀx + b; of more than two classes the one whose wᵀx + b is largest.

    Attributes:
        coef_: shape (1, d), of K > 2 classes (K, d).
        intercept_: shape (1,) or (K,).
        classes_: the classes; positive decisions mean the second of two.
    """

    coef_: Any
    intercept_: Any
    classes_: Any

    def decision_function(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row, shape (n,): above 0 is `classes_[1]`. Of K > 2 classes shape (n, K).

        Raises BadData as `fit`.
        """
        check_is_fitted(self)
        return linear_values(self, X, self._inside)

    def _inside(self, features: Floats) -> Floats:
        return finite(features)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row, shape (n,). Raises BadData as `fit`."""
        decisions = self.decision_function(X)
        codes = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
        predictions: NDArray[Any] = self.classes_[codes]
        return predictions


class LogisticClassifier(LinearClassifier):
    """One whose decisions are log-odds."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class, shape (n, K), as the trained model has it. Raises BadData as `fit`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """The logarithms of `predict_proba`, exact where those round to 0; shape (n, K). Raises BadData as `fit`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        below = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def linear_values(estimator: Any, X: ArrayLike, inside: Callable[[Floats], Floats] = finite) -> Floats:
    """wᵀx + b for every row, of a fitted estimator with `coef_` and `intercept_`: shape (n,), or (n, K) of K weights.

    `inside` clips rows as in training, and makes them finite.
    """
    features = inside(checked_numbers(estimator, X, reset=False))
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.asarray(estimator.coef_)
        each = np.ravel(weights) if weights.size == features.shape[1] else weights.T
        return finite(features @ each + estimator.intercept_)
