"""What estimators accept: numbers in rows, and classes or targets. Messages name columns and rules, never values."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from dpmine.charged import ChargedEstimator, name_of_units
from dpmine.contribution import EVERY_ROW, Bounding, Units
from dpmine.errors import BadData, BadParameter
from dpmine.exact.bits import SystemBits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dpmine.accounting.accounts import Charge
    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Guarantee

Floats: TypeAlias = "NDArray[np.float64]"
"""Arrays of numbers, whatever their shape."""

_ENCODE = "encode categories as numbers first, one 0/1 column a category (pandas.get_dummies with a public list)"


class PrivateEstimator(ChargedEstimator):
    """What private estimators are to scikit-learn.

    Attributes:
        guarantee_: what the release of the fitted attributes promises; the last one that a fit sets.
    """

    guarantee_: Guarantee

    def fit(self, X: ArrayLike, y: ArrayLike, units: ArrayLike | None = None) -> Self:
        """Learn privately from rows X, shape (n, d), with labels or targets y, shape (n,), by the system's randomness.

        `units`, shape (n,), names the privacy unit of every row: each keeps at most `rows_per_unit` rows, drawn at
        random from its own, and the guarantee is for each unit; rows whose unit is None or NaN are dropped. Without
        `units` each row is protected by itself.
        Where a ledger is given, what the fit may cost is charged first, and stays charged if the fit fails.
        Raises BadParameter for unusable parameters, BadData for data that do not fit them; BudgetExceeded where the
        budget does not allow the fit, BadLedger where the ledger cannot be used.
        """
        name = name_of_units(units)
        charge = self.pay(self._features_of(X), units=name)
        return self.fit_paid(X, y, charge, None if name is None else Units.of(units, name))

    def fit_paid(self, X: ArrayLike, y: ArrayLike, charge: Charge, units: Units | None = None) -> Self:
        """`fit`, for what `pay` returned, once, and with the parameters that were paid for; BadParameter otherwise."""
        name = None if units is None else units.name
        charge.use(self.promise(name))
        unit = self.privacy_unit(name)
        self._fit(X, y, bounding=Bounding(unit.rows, units), bits=SystemBits())
        self.guarantee_ = charge.settled(unit.protecting(self.guarantee_))
        return self

    def _features_of(self, X: Any) -> list[str] | None:  # noqa: ARG002 - some classes look
        """Names of X's columns, for parameters that name some; found without a look at any value. None: not needed."""
        return None

    def _require_usable(self, features: Sequence[str] | None) -> None:  # noqa: ARG002 - some classes look at them
        if getattr(self, "classes", None) is not None:
            _known_classes(self.classes)

    @abstractmethod
    def _fit(self, X: Any, y: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        """Set the fitted attributes, `guarantee_` among them: for each record, or what `bounding` makes one."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What private classifiers of two classes are to scikit-learn."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # noise beats tiny data sets
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What private regressors of one target are to scikit-learn."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # noise beats tiny data sets
        return tags


def checked_features(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """X as a float64 array with at least one row and one column, its columns as at the fit (`reset` when fitting).

    Raises BadData for what is not two-dimensional, not numeric, not finite, or has other columns.
    """
    features = _as_numbers(X)
    if features.ndim != 2:
        raise BadData(
            f"Expected 2D array, got {features.ndim}D array instead. Reshape your data: one row an example, one column "
            "a feature, with array.reshape(-1, 1) for a single feature or array.reshape(1, -1) for a single sample."
        )
    if features.shape[1] == 0:
        raise BadData(f"Found array with 0 feature(s) (shape={features.shape}) while a minimum of 1 is required.")
    if features.shape[0] == 0:
        raise BadData(f"Found array with 0 sample(s) (shape={features.shape}) while a minimum of 1 is required.")
    _same_columns(estimator, X, reset=reset)
    _require_finite(estimator, features)
    return features


def checked_labels(estimator: Any, y: Any, rows: int, classes: Any = None) -> tuple[NDArray[Any], Floats]:
    """The two classes, and −1 or 1 for every label.

    `classes` are the two in the order that is wanted, public; without them the two that occur are taken, in sorted
    order, and that both occur is treated as public.
    Raises BadData unless there is one label a row, and each is one of two classes; BadParameter for unusable classes.
    """
    _require_given(estimator, y)
    labels = _as_labels(y)
    _require_same_length(labels, rows)
    if classes is not None:
        known = _known_classes(classes)
        return known, _signs_of(labels, known)
    found, positions = np.unique(labels, return_inverse=True)
    if len(found) == 1:
        raise BadData("y has one class only, and a classifier needs examples of two.")
    if len(found) != 2:
        raise BadData(
            "Only binary classification is supported, and y has more than two classes. "
            "Train one class against the rest, each with a budget of its own."
        )
    return found, np.where(positions == 1, 1.0, -1.0)


def checked_targets(estimator: Any, y: Any, rows: int) -> Floats:
    """One finite number a row, shape (n,). Raises BadData for anything else."""
    _require_given(estimator, y)
    try:
        targets = np.asarray(column_or_1d(y, warn=True))
        numbers = targets.astype(np.float64) if targets.dtype.kind in "biufO" else None
    except (ValueError, TypeError, OverflowError):
        raise BadData("bad input shape: y should be a 1d array of numbers, one a row.") from None
    if numbers is None:
        raise BadData("Unknown label type: y must hold numbers, one a row.")
    _require_same_length(numbers, rows)
    if not np.isfinite(numbers).all():
        raise BadData("Input y contains NaN or infinity: drop those rows, independently of who is in them.")
    return numbers


def _require_given(estimator: Any, y: Any) -> None:
    if y is None:
        raise BadData(f"requires y to be passed, but the target y is None: {type(estimator).__name__} needs it.")


def _require_same_length(y: NDArray[Any], rows: int) -> None:
    if len(y) != rows:
        raise BadData(f"X and y have inconsistent numbers of samples: {rows} and {len(y)}.")


def _known_classes(classes: Any) -> NDArray[Any]:
    hint = "classes must be the two labels, such as ['no', 'yes']: rules describe the second."
    try:
        known = np.asarray(classes)
        usable = known.shape == (2,) and known.dtype.kind in "biufUO" and bool(known[0] != known[1])
        missing = any(is_missing(label) for label in classes)
    except (TypeError, ValueError):  # lists of several lengths, objects that compare as they like
        raise BadParameter(hint) from None
    if not usable or missing:
        raise BadParameter(hint)
    return known


def _signs_of(labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    first, second = labels == classes[0], labels == classes[1]
    if not np.all(first | second):
        raise BadData("y has labels that are not among the classes that were given.")
    return np.where(second, 1.0, -1.0)


def _as_labels(y: Any) -> NDArray[Any]:
    try:
        labels: NDArray[Any] = column_or_1d(y, warn=True)
    except (ValueError, TypeError):
        raise BadData("bad input shape: y should be a 1d array, one label a row.") from None
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise BadData("Input y contains NaN or infinity: drop those rows, independently of who is in them.")
    if labels.dtype.kind in "biu":  # discrete, so there is nothing to check
        return labels
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
        raise BadData("Input y contains NaN or missing labels: drop those rows.")
    try:
        with warnings.catch_warnings():  # they tell shares of unique labels
            warnings.simplefilter("ignore")
            check_classification_targets(labels)
    except (ValueError, TypeError):
        raise BadData(
            "Unknown label type: y is continuous or mixed, and a classifier expects two discrete classes."
        ) from None
    return labels


def is_missing(label: object) -> bool:
    """Whether a label is none: None, NaN, NaT, or pandas' NA, which cannot say whether it is itself."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return True


def unnamed_features(columns: int) -> list[str]:
    """What features without names are called."""
    return [f"x{column}" for column in range(columns)]


def _as_numbers(X: Any) -> NDArray[Any]:
    """A float64 array of whatever shape X has."""
    schema = getattr(X, "schema", None)  # polars makes numbers of dates
    if isinstance(schema, Mapping) and any(kind.is_temporal() for kind in schema.values()):
        raise BadData(f"Features must be numbers, and dates are none: {_ENCODE}.")
    if hasattr(X, "toarray"):
        raise BadData("X is a sparse matrix, and noise is dense: pass X.toarray().")
    try:
        array = np.asarray(X)
        kind = array.dtype.kind
        numbers = array.astype(np.float64, copy=False) if kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        raise BadData(f"Features must be numbers, in rows of equal length: {_ENCODE}.") from None
    if kind == "c":
        raise BadData("Complex data not supported: features must be real numbers.")
    if numbers is None:
        raise BadData(f"Features must be numbers: {_ENCODE}.")
    return numbers


def _same_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Names and number of columns, by scikit-learn's own rules; its messages name columns only."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (ValueError, TypeError) as error:
        raise BadData(str(error)) from None


def row_norms(features: Floats) -> Floats:
    """Euclidean norms of the rows, not finite where an entry is not; rows of extreme entries are scaled first."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", features, features))
        odd = ~((norms > 1e-140) & (norms < 1e150))
        if odd.any():
            largest = np.abs(features[odd]).max(axis=1, initial=0.0)
            part = features[odd] / np.maximum(largest, np.finfo(np.float64).tiny)[:, np.newaxis]
            norms[odd] = largest * np.sqrt(np.einsum("ij,ij->i", part, part))
    return np.asarray(norms)


def _require_finite(estimator: Any, features: Floats) -> None:
    if np.isfinite(row_norms(features)).all() or np.isfinite(features).all():
        return
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    names = getattr(estimator, "feature_names_in_", None)
    column = f"column {bad[0]}" if names is None else f"column '{names[bad[0]]}'"
    raise BadData(f"Input X contains NaN or infinity ({column}): fill in a public value, such as 0, first.")
