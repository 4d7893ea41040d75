"""What private estimators make of any row and any label: data, never an error after the charge."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from support.cases import every
from support.command_line import CANARY
from support.numpy_bits import NumpyBits

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.models.supervised import checked_codes, checked_column, checked_features, checked_labels, checked_targets

if TYPE_CHECKING:
    from pathlib import Path

AGES, CLASSES = [20.0, 30.0, 40.0, 50.0] * 50, ["no", "yes"]
TARGET: dict[str, Any] = {"excess_risk": 1, "regularization": 1, "epsilon_max": 1000}
BOUNDS: dict[str, Any] = {"lower": 0, "upper": 100}
ESTIMATORS: dict[str, Any] = {
    "logistic": lambda: dpmine.PrivateLogisticRegression(classes=CLASSES),
    "bounded": lambda: dpmine.PrivateLogisticRegression(classes=CLASSES, feature_bounds=(0, 100)),
    "svc": lambda: dpmine.PrivateHuberSVC(classes=CLASSES, method="output"),
    "stumps": lambda: dpmine.HypothesisSelector(classes=CLASSES, **BOUNDS),
    "conjunctions": lambda: dpmine.HypothesisSelector("conjunctions", classes=CLASSES),
    "learner": lambda: dpmine.PrivateLearner(classes=CLASSES, accuracy=0.5, **BOUNDS),
    "accuracy first": lambda: dpmine.AccuracyFirstLogistic(classes=CLASSES, **TARGET),
    "search": lambda: dpmine.PrivateSearchCV(
        dpmine.PrivateLogisticRegression(classes=CLASSES), {"norm_bound": [1, 50]}, scoring="brier", runs=3
    ),
    "ridge": lambda: dpmine.AccuracyFirstRidge(**TARGET),
    "fixed ridge": lambda: dpmine.PrivateRidge(target_bounds=(0, 1)),
}
REGRESSORS = (dpmine.AccuracyFirstRidge, dpmine.PrivateRidge)
ODD_NUMBERS: list[Any] = [
    np.nan, np.inf, -np.inf, 1e308, 5e-324, None, pd.NA, pd.NaT, 10**400, -(10**400), Decimal("1e400"), True,
]  # fmt: skip
ODD_LABELS: list[Any] = ["maybe", "", None, np.nan, pd.NA, pd.NaT, 7, [1, 2], np.ones(2)]


def _column(odd: Any) -> np.ndarray[Any, np.dtype[Any]]:
    column = np.array([*AGES, None], dtype=object).reshape(-1, 1)
    column[-1, 0] = odd
    return column


def _answers(estimator: Any) -> list[Any]:
    values = [0.0, 1.0] if isinstance(estimator, REGRESSORS) else CLASSES
    return [values[age > 30] for age in [*AGES, 0.0]]


@every("name", ESTIMATORS)
def test_no_value_of_a_row_causes_an_error(name: str) -> None:
    """In training, and in scoring with what was trained."""
    estimator = ESTIMATORS[name]()
    for odd in ODD_NUMBERS:
        estimator.fit(_column(odd), _answers(estimator))
        if getattr(estimator, "reached_", True):
            assert len(estimator.predict(_column(odd))) == len(AGES) + 1


@every("name", sorted(set(ESTIMATORS) - {"ridge", "fixed ridge"}))
def test_no_label_of_a_row_causes_an_error_where_the_classes_are_named(name: str) -> None:
    for odd in ODD_LABELS:
        estimator = ESTIMATORS[name]()
        labels = np.empty(len(AGES) + 1, dtype=object)
        labels[:] = _answers(estimator)
        labels[-1] = odd
        estimator.fit(_column(1.0), labels)
        assert estimator.classes_.tolist() == CLASSES


ALONE = sorted(set(ESTIMATORS) - {"search"})  # which takes whatever its estimator does
LEARNING = {"logistic", "bounded", "svc", "stumps", "conjunctions", "accuracy first"}
"""Those that learn the classes of two rows."""
BAD_FEATURES: list[Any] = [
    (np.array([[CANARY], ["x"]]), [0, 1], "encode categories"),
    (pd.DataFrame({"price": [1.0, 2.0], "town": [CANARY, "b"]}), [0, 1], "encode categories"),
    (np.array([[1.0], [2j]]), [0, 1], "Complex data"),
    (np.array([["2026-01-01"], ["2026-01-02"]], dtype="datetime64[D]"), [0, 1], "must be numbers"),
    ([[1.0], [2.0]], [0, 1, 1], "inconsistent numbers of samples"),
    ([[1.0], [2.0]], None, "y is None"),
    ([1.0, 2.0], [0, 1], "Reshape your data"),
    (np.empty((0, 2)), [], "0 sample"),
    (np.empty((2, 0)), [0, 1], "0 feature"),
    ([[1.0], [2.0, 3.0]], [0, 1], "equal length"),
]
BAD_TARGETS: list[Any] = [
    ([[1.0], [2.0]], np.array([CANARY, "x"]), "1d array of numbers"),
    ([[1.0], [2.0]], np.array([[1, 2], [3, 4]]), "1d array"),
]
BAD_LABELS: list[Any] = [
    ([[1.0], [2.0]], [0.0, np.nan], "y contains NaN"),
    ([[1.0], [2.0]], np.array([0, pd.NA], dtype=object), "missing labels"),
    ([[1.0], [2.0]], np.array([pd.NaT, "a"], dtype=object), "missing labels"),
    ([[1.0], [2.0]], [CANARY, CANARY], "one class only"),
    ([[1.0], [2.0], [3.0]], [1, 2, 3], "more than two classes"),
    ([[1.0], [2.0]], [0.5, 0.7], "continuous"),
]


@every(
    ("name", "features", "answers", "hint"),
    [
        *[(name, *case) for name in ALONE for case in BAD_FEATURES],
        *[(name, *case) for name in ("ridge", "fixed ridge") for case in BAD_TARGETS],
        *[(name, *case) for name in LEARNING for case in BAD_LABELS],
    ],
)
def test_bad_data_are_rejected_without_a_value(name: str, features: Any, answers: Any, hint: str) -> None:
    estimator = ESTIMATORS[name]()
    if not isinstance(estimator, REGRESSORS):
        estimator.set_params(classes=None)
    with pytest.raises(BadData, match=hint) as caught:
        estimator.fit(features, answers)
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@every("name", sorted(LEARNING))
def test_a_fit_that_fails_leaves_nothing_behind(name: str) -> None:
    estimator = ESTIMATORS[name]()
    features, answers = _column(1.0), _answers(estimator)
    estimator.fit(features, answers)
    with pytest.raises(BadData):
        estimator.fit(features, answers[:-1])
    assert estimator.classes_.tolist() == CLASSES, "rejected before the charge, when the earlier fit stays"
    with pytest.raises(BadData, match="one class only"):
        estimator.set_params(classes=None).fit(features, ["no"] * len(features))
    assert estimator.classes_.tolist() == CLASSES, "the same"
    with pytest.raises(BadParameter, match="before the labels are read needs the classes"):
        estimator.charge()
    charge = estimator.set_params(classes=CLASSES).charge()
    with pytest.raises(BadParameter, match="before the labels are read needs the classes"):
        estimator.set_params(classes=None).fit_charged(features, answers, charge)
    with pytest.raises(BadData, match="inconsistent numbers of samples"):
        estimator.set_params(classes=CLASSES).fit_charged(features, answers[:-1], charge)
    assert not hasattr(estimator, "classes_")
    with pytest.raises(NotFittedError):
        estimator.predict(features)


def test_a_label_that_is_no_class_counts_as_the_first() -> None:
    for odd in ODD_LABELS:
        labels = np.empty(3, dtype=object)
        labels[:] = ["yes", "no", odd]
        assert checked_labels(None, labels, 3, CLASSES)[1].tolist() == [1, -1, -1]
    assert checked_labels(None, [1.0, 0.0, np.nan, 2.5], 4, [0.0, 1.0])[1].tolist() == [1, -1, -1, -1]
    assert checked_labels(None, ["a", "b", "c"], 3, ["b", "a"])[1].tolist() == [1, -1, -1]


LARGE = [2**53 + 1, 2**53, 2**53 + 1]


@every(
    "labels",
    [
        [*LARGE, None],
        [*LARGE, np.nan],
        [*LARGE, 0.5],
        pa.array([*LARGE, None]),
        pa.chunked_array([LARGE, [None]]),
        pl.Series([*LARGE, None]),
        pd.array([*LARGE, None], "Int64"),
        pd.Series([*LARGE, None], dtype="Int64"),
        pd.Series([*LARGE, None], dtype="Int64").astype("category"),
        np.ma.array([*LARGE, 5], mask=[False, False, False, True]),
    ],
)
def test_no_label_changes_what_another_label_is(labels: Any) -> None:
    """A missing one among large integers would round them, if one type were found for all."""
    assert checked_labels(None, labels, 4, [2**53, 2**53 + 1])[1].tolist() == [1, -1, 1, -1]
    assert checked_codes(None, labels, 4, [0, 2**53, 2**53 + 1])[1].tolist() == [2, 1, 2, 0]


@every(("labels", "kind"), [([0, 1], "i"), ([np.int8(0), np.int8(1)], "i"), (["a", "b"], "O"), ([True, False], "b")])
def test_lists_of_one_type_of_numbers_are_arrays_of_it(labels: Any, kind: str) -> None:
    assert checked_column(None, labels, 2).dtype.kind == kind
    assert checked_column(None, [*labels, None], 3).dtype.kind == "O"


def test_texts_that_numpy_would_shorten_stay() -> None:
    assert checked_labels(None, ["a\0", "a", "b"], 3, ["b", "a"])[1].tolist() == [-1, 1, -1]


def test_no_text_makes_the_others_as_long() -> None:
    """As in numpy's arrays of texts: a long one would take the memory of all."""
    labels = ["no", "yes"] * 50_000 + ["x" * 10**6]
    assert checked_labels(None, labels, len(labels), CLASSES)[1][:2].tolist() == [-1, 1]


@every(
    ("labels", "classes"),
    [
        (np.array([0, 1]), ["0", "1"]),
        (np.array(["0", "1"]), [0, 1]),
        (np.array([0.0, 1.0]), CLASSES),
        (pd.Series(["0", "1"], dtype="string"), [0, 1]),
        (pd.Series([0, 1]), CLASSES),
        (pl.Series(["0", "1"]), [0, 1]),
    ],
)
def test_labels_of_another_type_than_the_classes_are_rejected_before_the_charge(
    labels: Any, classes: Any, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=5)
    model = dpmine.PrivateLogisticRegression(classes=classes, ledger=url, dataset="shop")
    with pytest.raises(BadData, match="different types"):
        model.fit([[1.0], [2.0]], labels)
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


@every(
    "labels",
    [
        np.array([b"a", b"b"]),
        np.array([1j, 2j]),
        np.array([(1,), (2,)], dtype="i4,"),
        np.array([1, 2], dtype="m8[s]"),
        pa.array([b"a", b"b"]),
        pl.Series([b"a", b"b"]),
    ],
)
def test_labels_of_a_type_without_classes_are_rejected_before_the_charge(labels: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=5, delta=0.5)
    model = dpmine.PrivateLogisticRegression(ledger=url, dataset="shop")
    with pytest.raises(BadData, match="y holds no numbers, texts or dates"):
        model.fit([[1.0], [2.0]], labels)
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


NO_CLASSES = [b"a", ("a",), ["a"], {}, 1j, 2**70, np.datetime64("2026"), object()]
"""Entries that lists and columns of objects may hold, which declare no type."""


@every("form", [list, np.asarray, partial(pd.Series, dtype=object)])
@every("share", [0.25, 1])
def test_entries_that_are_no_classes_stop_no_fit_that_was_charged(form: Any, share: float, tmp_path: Path) -> None:
    """They are no class where the classes are named. Else the labels are taken as public, and looked at before."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=100)
    for odd in NO_CLASSES:
        labels = np.empty(8, dtype=object)
        labels[:] = CLASSES * 4
        for place in range(int(share * 8)):
            labels[place] = odd
        model = dpmine.PrivateLogisticRegression(ledger=ledger, dataset="shop")
        spent = ledger.budget("shop").spent.epsilon
        with pytest.raises(BadData, match="Unknown label type"):
            model.fit([[1.0]] * 8, form(labels))
        assert ledger.budget("shop").spent.epsilon == spent
        model.set_params(classes=CLASSES).fit([[1.0]] * 8, form(labels))
        assert model.classes_.tolist() == CLASSES


@every("labels", [np.array("yes", dtype=object), np.array(None), np.array("yes"), 5, "yes"])
@every("kind", [dpmine.PrivateLogisticRegression, partial(dpmine.PrivateRidge, target_bounds=(0, 1))])
def test_one_label_is_no_column(labels: Any, kind: Any) -> None:
    with pytest.raises(BadData, match="y should be a 1d array"):
        kind().fit([[1.0]], labels)


def test_integers_in_columns_of_objects_are_classes() -> None:
    labels = np.array([0, 1, 1], dtype=object)
    assert checked_labels(None, labels, 3)[1].tolist() == [-1, 1, 1]
    assert checked_labels(None, pd.Series(labels), 3)[1].tolist() == [-1, 1, 1]


def test_a_missing_number_among_labels_is_called_missing_and_may_be_without_a_unit() -> None:
    for missing in (np.nan, None, pd.NA):
        labels: Any = [0.0, 1.0, missing]
        with pytest.raises(BadData, match="NaN or missing labels"):
            dpmine.PrivateLogisticRegression().fit([[1.0]] * 3, labels)
        model = dpmine.PrivateLogisticRegression().fit([[1.0]] * 3, labels, units=[1, 2, None])
        assert model.classes_.tolist() == [0, 1]


def test_a_missing_target_counts_as_0() -> None:
    targets = [np.nan, np.inf, -np.inf, 2.0]
    largest = np.finfo(np.float64).max
    assert checked_targets(None, targets, 4).tolist() == [0, largest, -largest, 2]
    assert checked_targets(None, [None, 10**400, 1, 2], 4).tolist() == [0, largest, 1, 2]
    assert checked_targets(None, [None, 1], 2, missing=0.5).tolist() == [0.5, 1]


@every("name", ESTIMATORS)
def test_guarantees_say_how_missing_values_and_classes_are_treated(name: str) -> None:
    estimator = ESTIMATORS[name]()
    notes = " ".join(estimator.fit(_column(1.0), _answers(estimator)).guarantee_.notes)
    assert "a missing value counts as" in notes
    assert ("a label that is neither, or missing, counts as the first" in notes) == (
        not isinstance(estimator, REGRESSORS)
    )
    if not isinstance(estimator, REGRESSORS):
        estimator.set_params(**{"estimator__classes" if name == "search" else "classes": None})
        notes = " ".join(estimator.fit(_column(1.0), _answers(estimator)).guarantee_.notes)
        assert "the two classes that occur are taken as public" in notes


@every("kind", ["float16", "float32", "longdouble", "uint8", "int64", "bool", "object"])
def test_numbers_of_every_type_are_read_as_float64(kind: str) -> None:
    rows = np.array([[0, 1], [1, 0]]).astype(kind)
    read = checked_features(dpmine.PrivateLogisticRegression(), rows, reset=True)
    assert read.dtype == np.float64
    assert read.tolist() == [[0, 1], [1, 0]]


def test_numbers_beyond_float64_count_as_the_largest(recwarn: pytest.WarningsRecorder) -> None:
    huge = np.array([[np.longdouble("1e4000")], [-np.longdouble("1e4000")]])
    read = checked_features(dpmine.PrivateLogisticRegression(), huge, reset=True)
    assert read.ravel().tolist() == [np.finfo(np.float64).max, np.finfo(np.float64).min]
    assert not recwarn.list


def test_missing_values_of_pandas_are_read() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([None, 0.5], dtype="Float64")})
    read = checked_features(dpmine.PrivateLogisticRegression(), frame, reset=True)
    assert read.tolist() == [[1, 0], [0, 0.5]]


def test_rows_are_read_one_by_one() -> None:
    """A row means the same whatever the others hold: an odd neighbour changes none of them."""
    rows = np.array([[1, 2.5], [3, -4]], dtype=object)
    for odd in ODD_NUMBERS:
        both = np.vstack([rows, np.array([[odd, 0]], dtype=object)])
        read = checked_features(dpmine.PrivateLogisticRegression(), both, reset=True)
        assert read[:2].tolist() == [[1, 2.5], [3, -4]]


def test_unknown_labels_alone_train_a_constant() -> None:
    model = dpmine.PrivateLogisticRegression(classes=["no", "yes"], epsilon=1000)
    model._fit([[1.0], [2.0]] * 50, ["idle"] * 100, bits=NumpyBits(1))
    assert set(model.predict([[1.0], [2.0]])) == {"no"}
