"""Lists of predictors: scores against counting, how answers are read, and what errors say."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from support.cases import every
from support.conformance.protocol import check_universe
from support.goodness import assert_sampled_law

import dpmine
from dpmine import BadParameter
from dpmine.models.pac.conjunctions import Conjunction
from dpmine.models.pac.hypothesis import HypothesisClass, Records
from dpmine.models.pac.listed import Listed
from dpmine.models.pac.thresholds import PublicGrid, Threshold
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import law

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


CANARY = "4711.8125"
ROWS = np.array([[1.0], [2.0], [3.0], [4711.8125]])
RECORDS = Records(ROWS, np.array([False, True, True, False]))


def over(limit: float) -> Callable[[Any], Any]:
    return lambda x: x[:, 0] > limit


def saying(answer: Any) -> Callable[[Any], Any]:
    return lambda _: answer


def scores_of(listed: Listed, records: Records = RECORDS) -> dict[int, Any]:
    """The score of every position."""
    return dict(enumerate(listed.universe(records)._scores.tolist()))


@given(
    st.integers(1, 8).flatmap(
        lambda m: st.tuples(
            st.lists(st.lists(st.booleans(), min_size=m, max_size=m), min_size=1, max_size=6),
            st.lists(st.booleans(), min_size=m, max_size=m),
        )
    )
)
def test_scores_are_counted_records(case: tuple[list[list[bool]], list[bool]]) -> None:
    tables, labels = case
    records = Records(np.arange(len(labels), dtype=np.float64)[:, np.newaxis], np.array(labels))
    listed = Listed([lambda x, t=table: np.array(t)[x[:, 0].astype(int)] for table in tables])
    expected = [sum(a == b for a, b in zip(table, labels, strict=True)) for table in tables]
    assert list(scores_of(listed, records).values()) == expected
    universe = listed.universe(records)
    assert universe.top() == max(expected)
    assert universe.size == listed.size == len(tables)


def test_the_universe_keeps_its_guarantees() -> None:
    listed = Listed([over(limit) for limit in (0.5, 1.5, 2.5, 3.5, 9999)])
    check_universe(listed.universe(RECORDS), {0: 2, 1: 3, 2: 2, 3: 1, 4: 2})


def test_laws_are_those_of_the_scores() -> None:
    universe = Listed([over(limit) for limit in (0.5, 1.5, 2.5, 3.5, 9999)]).universe(RECORDS)
    weights = np.exp(np.array([2, 3, 2, 1, 2]) / 2)
    assert law(universe, epsilon=1, mechanism="exponential").pmf == pytest.approx(weights / weights.sum())


@pytest.mark.statistical
def test_choices_follow_the_law() -> None:
    """False alarms: 1e-6; the seed is fixed."""
    universe = Listed([over(limit) for limit in (0.5, 1.5, 2.5, 3.5, 9999)]).universe(RECORDS)
    weights = np.exp(np.array([2, 3, 2, 1, 2]) / 2)
    mechanism = build_mechanism("exponential", epsilon=1, delta=1e-6, neighbors="replace_one")
    expected: dict[int | None, float] = dict(enumerate((weights / weights.sum()).tolist()))
    assert_sampled_law(lambda bits: mechanism.choose(universe, bits=bits), expected, draws=3000)


def public_estimators(labels: Any) -> list[Any]:
    features = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    return [model.fit(features, labels) for model in (LogisticRegression(), DecisionTreeClassifier(max_depth=1))]


def test_fitted_estimators() -> None:
    estimators = public_estimators(np.array([0, 0, 1, 1, 1, 1]))
    listed = Listed(estimators)
    expected = [int(((model.predict(ROWS) == 1) == RECORDS.positive).sum()) for model in estimators]
    assert list(scores_of(listed).values()) == expected
    names = [str(listed.hypothesis(position)) for position in (0, 1)]
    assert names == ["predictors[0]: LogisticRegression", "predictors[1]: DecisionTreeClassifier"]


def test_estimators_that_answer_with_texts() -> None:
    estimators = public_estimators(np.array(["<=50K", "<=50K", ">50K", ">50K", ">50K", ">50K"]))
    listed = Listed([*estimators, over(2.5)], classes=("<=50K", ">50K"))
    assert list(scores_of(listed).values())[1:] == [3, 2]
    assert listed.hypothesis(1).predict(ROWS).tolist() == [False, True, True, True]
    with pytest.raises(BadParameter, match=r"predictors\[0\] must answer"):
        Listed(estimators).universe(RECORDS)


def test_hypotheses_of_other_classes_and_of_other_lists() -> None:
    threshold = Threshold(PublicGrid.of(0, 10, 11), 2, feature="age")
    conjunction = Conjunction((0,), ("old",))
    inner = Listed([over(2.5)]).hypothesis(0)
    listed = Listed([threshold, conjunction, inner])
    assert list(scores_of(listed).values()) == [3, 2, 2]
    assert str(listed.hypothesis(0)) == "predictors[0]: age >= 2"
    assert listed.hypothesis(0).parameters()["threshold_exact"] == "2"
    for position in range(3):
        rule = listed.hypothesis(position)
        assert json.loads(json.dumps(rule.parameters()))["feature" if position == 0 else "predictor"]


@every(
    "answer",
    [
        np.array([True, False, True, True]),
        np.array([1, 0, 1, 1]),
        np.array([1, 0, 1, 1], np.uint8),
        np.array([1.0, 0.0, 1.0, 1.0], np.float32),
        np.array([1, -1, 1, 1]),
        np.array([1.0, -1.0, 1.0, 1.0]),
        np.array([True, False, True, True], object),
        np.array([Fraction(1), 0, 1.0, True], object),
        [1, 0, 1, 1],
        (True, False, True, True),
    ],
)
def test_ways_to_say_it(answer: Any) -> None:
    assert Listed([saying(answer)]).hypothesis(0).predict(ROWS).tolist() == [True, False, True, True]


@every("classes", [("no", "yes"), (1, 2), (0, 1), (-1, 1), (False, True), (2.5, 1), (b"n", b"y")])
def test_answers_by_the_names_of_the_classes(classes: tuple[Any, Any]) -> None:
    wanted = [True, False, True, True]
    rule = Listed([saying([classes[int(each)] for each in wanted]), saying(np.array(wanted))], classes=classes)
    assert rule.hypothesis(0).predict(ROWS).tolist() == wanted
    assert rule.hypothesis(1).predict(ROWS).tolist() == wanted


@every("classes", [None, ("no", "yes"), (0, 1), (-1, 1)])
@every(("label", "meaning"), [(1, True), (0, False), (-1, False), (True, True), (False, False)])
def test_a_label_means_the_same_beside_any_others(classes: Any, label: Any, meaning: bool) -> None:
    """One record changed must not change how the others are read."""
    for other in (-1, 0, 1):
        rule = Listed([lambda x, other=other: [label if row < 5 else other for row in x[:, 0]]], classes=classes)
        assert rule.hypothesis(0).predict(ROWS)[:3].tolist() == [meaning] * 3


@every("odd", [7, None, "x", [1], KeyError])
def test_a_row_that_a_predictor_cannot_answer_changes_no_other_row(odd: Any) -> None:
    """Neither by an error nor by another type of all answers: it counts as one of the first class."""

    def fragile(x: Any) -> Any:
        if odd is KeyError and (x > 5).any():
            raise KeyError(x)
        return [odd if row > 5 else int(row > 1.5) for row in x[:, 0]]

    listed = Listed([fragile])
    assert listed.hypothesis(0).predict(ROWS).tolist() == [False, True, True, False]
    assert list(scores_of(listed).values()) == [4]


def test_a_predictor_that_cannot_answer_is_rejected_before_the_charge(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=5)
    predictors: list[Any] = [over(1), _Quoting(ValueError)]
    selector = dpmine.HypothesisSelector(predictors, classes=[0, 1], ledger=url, dataset="shop")
    with pytest.raises(BadParameter, match=r"^predictors\[1\] failed"):
        selector.fit(ROWS, [0, 1, 1, 0])
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


def test_numbers_are_no_classes_where_other_numbers_are() -> None:
    with pytest.raises(BadParameter, match="must answer"):
        Listed([saying([0, 1, 0, 1])], classes=(1, 2)).universe(RECORDS)


@every(
    "answer",
    [
        np.array([[1], [0], [1], [1]]),
        np.array([1, 0, 1]),
        np.array([1, 0, 1, 1, 0]),
        np.array([1, 0, 2, 1]),
        np.array([1, 0, -1, 1]),
        np.array([1, 0, 0.5, 1]),
        np.array([1, 0, np.nan, 1]),
        np.array([4711.8125] * 4),
        np.array([CANARY] * 4),
        ["no", "yes", "no", "no"],
        [1, 0, None, 1],
        [1, [0], 1, 1],
        np.True_,
        None,
        "text",
        {1, 2},
        np.array([1, 0, 1, 1], "datetime64[s]"),
    ],
)
def test_other_answers_are_rejected_without_being_told(answer: Any) -> None:
    with pytest.raises(BadParameter, match=r"^predictors\[1\] ") as caught:
        Listed([over(1.5), saying(answer)]).universe(RECORDS)
    _require_silence(caught.value)


class _Quoting:
    """Fails in a way that quotes a row, wherever it is asked."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def predict(self, features: Any) -> Any:
        raise self._error(f"bad row {features[-1]}")


class _Incomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError(CANARY)

    def __hash__(self) -> int:
        return 0


@every("error", [ValueError, KeyError, BadParameter, MemoryError, StopIteration])
def test_errors_of_predictors_are_replaced(error: type[Exception]) -> None:
    with pytest.raises(BadParameter, match=r"^predictors\[2\] failed") as caught:
        Listed([over(1), over(2), _Quoting(error)]).universe(RECORDS)
    _require_silence(caught.value)


def test_answers_that_cannot_be_compared() -> None:
    with pytest.raises(BadParameter, match=r"^predictors\[0\] must answer") as caught:
        Listed([saying(np.array([_Incomparable()] * 4, object))]).universe(RECORDS)
    _require_silence(caught.value)


def _require_silence(error: BaseException) -> None:
    """Nothing of the row, in the error or in anything that hangs on it."""
    assert "4711" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_unfitted_estimators_and_wrong_features() -> None:
    with pytest.raises(BadParameter, match=r"^predictors\[1\] is not fitted: .*wrap a list .* in Listed") as caught:
        Listed([over(1), LogisticRegression()]).universe(RECORDS)
    _require_silence(caught.value)
    with pytest.raises(BadParameter, match=r"predictors\[0\] failed"):
        Listed(public_estimators([0, 0, 0, 1, 1, 1])).universe(Records(np.ones((4, 3)), RECORDS.positive))


def test_warnings_of_predictors_are_not_passed_on() -> None:
    def loud(x: Any) -> Any:
        warnings.warn(f"row {x[-1]}", stacklevel=1)
        return np.log(-x[:, 0]) > 0  # numpy warns of invalid values too

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        Listed([loud]).universe(RECORDS)
    assert heard == []


def test_predictors_cannot_spoil_the_records() -> None:
    def spoiling(x: Any) -> Any:
        x[:] = 0
        return x[:, 0] > 0

    records = Records(ROWS.copy(), RECORDS.positive)
    assert list(scores_of(Listed([spoiling, over(1.5)]), records).values()) == [2, 3]
    assert records.features.tolist() == ROWS.tolist()


def test_no_records_need_no_answers() -> None:
    nobody = Records(np.zeros((0, 1)), np.zeros(0, np.bool_))
    universe = Listed([_Quoting(ValueError), *public_estimators([0, 0, 0, 1, 1, 1])]).universe(nobody)
    assert [(level.score, level.count) for level in universe.head(0)] == [(0, 3)]


@every("candidate", [2, -1, 10**30, True, 0.0, "0", (0,), None])
def test_positions_that_the_list_does_not_have_are_rejected(candidate: Any) -> None:
    listed = Listed([over(1), over(2)])
    assert listed.columns is None
    with pytest.raises((LookupError, TypeError)):
        listed.hypothesis(candidate)


def test_names() -> None:
    def rule(x: Any) -> Any:
        return x[:, 0] > 1.5

    listed: HypothesisClass[int] = Listed([rule, over(2)])
    names = ["predictors[0]: rule", "predictors[1]: <lambda>"]
    assert [str(listed.hypothesis(position)) for position in (0, 1)] == names
    assert listed.hypothesis(1).parameters() == {"predictor": names[1], "position": 1}


@every(
    ("predictors", "message"),
    [
        ([], "at least one predictor"),
        (7, "must be a list"),
        (LogisticRegression(), "must be a list"),
        ([over(1), 7], r"predictors\[1\] must be a callable"),
        ([LogisticRegression], r"predictors\[0\] must be a callable"),
        ([None], r"predictors\[0\] must be a callable"),
    ],
)
def test_unusable_predictors(predictors: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        Listed(predictors)


@every(
    "classes", [("a",), ("a", "b", "c"), ("a", "a"), (float("nan"), 1), (1, float("nan")), 7, (np.zeros(2), np.ones(2))]
)
def test_unusable_classes(classes: Any) -> None:
    with pytest.raises(BadParameter, match="classes must be the two labels"):
        Listed([over(1)], classes=classes)
