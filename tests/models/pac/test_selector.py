from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.pac.oracles import some_records
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine import BadData, BadParameter, HypothesisSelector, NotPrivate
from dpmine.models.pac.listed import Listed
from dpmine.models.pac.thresholds import PublicGrid, Thresholds

CANARY = 918273.5


def people(size: int = 4000, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Rich are those of 41 and more, but for a few."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": generator.integers(18, 90, size), "hours": generator.integers(0, 100, size)})
    return frame, np.where((frame["age"] >= 41) ^ (generator.random(size) < 0.02), "rich", "poor")


@pytest.mark.parametrize(
    ("parameters", "columns", "rule"),
    [
        ({"hypotheses": "thresholds", "lower": 0, "upper": 120, "grid": 121}, ["age"], "age >= 41"),
        ({"hypotheses": "intervals", "lower": 0, "upper": 120, "grid": 121}, ["age"], "age >= 41"),
        ({"lower": [0, 0], "upper": [120, 100], "grid": [121, 101]}, ["age", "hours"], "age >= 41"),
    ],
)
def test_the_rule_is_found(parameters: dict[str, Any], columns: list[str], rule: str) -> None:
    frame, labels = people()
    selector = HypothesisSelector(epsilon=5, **parameters)._fit(frame[columns], labels, bits=NumpyBits(1))
    assert selector.classes_.tolist() == ["poor", "rich"]
    assert selector.hypothesis_ is not None
    if "intervals" in parameters.values():
        told = selector.hypothesis_.parameters()
        assert told["lower"] == 41
        assert told["upper"] is None or told["upper"] >= 89
    else:
        assert str(selector.hypothesis_) == rule
    assert selector.score(frame[columns], labels) > 0.97
    assert (str(selector.guarantee_.epsilon), selector.guarantee_.unit) == ("5", "row")


def test_conjunctions_and_separators_and_predictors() -> None:
    generator = np.random.default_rng(3)
    bits = pd.DataFrame(generator.random((3000, 5)) < 0.7, columns=list("abcde"))
    chosen = HypothesisSelector("conjunctions", epsilon=5, width=2).fit(bits, bits["a"] & bits["c"])
    assert str(chosen.hypothesis_) == "a and c"
    points = generator.normal(size=(3000, 2))
    chosen = HypothesisSelector("separators", epsilon=5, lower=-5, upper=5).fit(points, points @ [2, -1] > 0)
    assert chosen.score(points, points @ [2, -1] > 0) > 0.95
    rules = [lambda x: x[:, 0] > 0, lambda x: x[:, 1] > 0]
    chosen = HypothesisSelector(rules, epsilon=5).fit(points, points[:, 1] > 0)
    assert chosen.score(points, points[:, 1] > 0) == 1
    words = np.where(points[:, 1] > 0, "yes", "no")
    stumps = [DecisionTreeClassifier(max_depth=1).fit(np.array([[-1.0, -1], [1, 1]])[:, [0, 1]], ["no", "yes"])]
    assert HypothesisSelector(stumps).fit(points, words).predict([[3.0, 3.0]]).tolist() == ["yes"]


def test_a_class_of_ones_own_and_the_planners_choice() -> None:
    frame, labels = people()
    own = Thresholds(PublicGrid.of(0, 120, 121), "age")
    selector = HypothesisSelector(own).fit(frame[["age"]], labels)
    assert selector.mechanism_ == "max_of_exponentials"
    assert selector.guarantee_.delta == 0
    with pytest.raises(BadData, match="class with a name"):
        selector.to_json()


def test_add_remove_is_possible_for_counts() -> None:
    frame, labels = people()
    selector = HypothesisSelector("thresholds", lower=0, upper=120, neighbors="add_remove")
    assert str(selector.fit(frame[["age"]], labels).guarantee_.neighbors) == "add_remove"


def test_nothing_may_stand_out() -> None:
    records = some_records(50, 1, 1)
    selector = HypothesisSelector("thresholds", lower=0, upper=1, mechanism="stable-maximiser", epsilon="0.01")
    selector.fit(records.features, records.positive)
    assert selector.hypothesis_ is None
    assert "stable_maximiser needs" in selector.advice_
    with pytest.raises(BadData, match="Nothing stood out"):
        selector.predict(records.features)
    assert json.loads(selector.to_json())["hypothesis"] is None
    assert HypothesisSelector.from_json(selector.to_json()).hypothesis_ is None


@every(
    "parameters",
    [
        {"hypotheses": "thresholds", "lower": "1/3", "upper": 120, "grid": 2**64},
        {"hypotheses": "intervals", "lower": 0.1, "upper": 120},
        {"hypotheses": "stumps", "lower": [0], "upper": (120,)},
        {"hypotheses": "conjunctions"},
    ],
)
def test_model_files_predict_alike(parameters: dict[str, Any]) -> None:
    frame, labels = people(500)
    selector = HypothesisSelector(**parameters).fit(frame[["age"]], labels)
    text = selector.to_json()
    copy = HypothesisSelector.from_json(text)
    assert (copy.predict(frame[["age"]]) == selector.predict(frame[["age"]])).all()
    assert copy.to_json() == text
    document = json.loads(text)
    assert document["hypothesis"] == str(selector.hypothesis_)
    assert selector.hypothesis_ is not None
    assert document["parameters"] == selector.hypothesis_.parameters()
    assert document["guarantee"]["epsilon"] == 1.0


def test_types_of_frames_do_not_change_how_a_rule_is_written() -> None:
    """pandas finds them from the values, so that one row could change them."""
    frame, labels = people(500)
    whole = frame[["age"]].round().astype(int)
    selectors = [HypothesisSelector(lower=0, upper=120, grid=998).fit(part, labels) for part in (whole, whole * 1.0)]
    assert [selector.whole_ for selector in selectors] == [(), ()]


@every(
    ("hypotheses", "candidates"),
    [
        ("thresholds", [[0, 5, "<"], [0, 5, 7], [1, 5, ">="], [0, 10**30, ">="], [0], 5]),
        ("intervals", [[5, 5], [7, 3], [0, 10**4], [0, 1, 2], 3]),
        ("stumps", [[7, 3, ">="], [0, 3, ">"], [0, 3], [0, 10**6, ">="], [1, 3, ">="], [0, 3, 1]]),
        ("conjunctions", [[], [0, 0], [1], [-1], 10**30]),
        ("separators", [10**30, [0], -1]),
    ],
)
def test_candidates_that_the_class_does_not_have_are_rejected(hypotheses: str, candidates: list[Any]) -> None:
    frame, labels = people(200)
    columns = ["age", "hours"] if hypotheses == "separators" else ["age"]
    bounds: dict[str, Any] = {} if hypotheses == "conjunctions" else {"lower": 0, "upper": 120}
    document = json.loads(HypothesisSelector(hypotheses, **bounds).fit(frame[columns], labels).to_json())
    for candidate in candidates:
        with pytest.raises(BadData, match="not a model file of dpmine hypothesis"):
            HypothesisSelector.from_json(json.dumps({**document, "candidate": candidate}))


@pytest.mark.filterwarnings("error")
def test_a_copy_predicts_columns_without_names_and_keeps_its_parameters() -> None:
    frame, labels = people(200)
    rows = frame.to_numpy(np.float64)
    selector = HypothesisSelector(lower=0, upper=[120, 100], epsilon="0.1", mechanism="exponential")
    selector.set_params(neighbors="add-remove").fit(rows, labels)
    copy = HypothesisSelector.from_json(selector.to_json())
    assert (copy.predict(rows) == selector.predict(rows)).all()
    assert copy.guarantee_ == selector.guarantee_ == copy.fit(rows, labels).guarantee_


def test_named_classes_need_not_occur_and_turn_the_rule_round() -> None:
    frame, labels = people(400, seed=3)  # the best rule leads by six records
    options: dict[str, Any] = {"lower": 0, "upper": 120, "grid": 121, "epsilon": 50}
    chosen = HypothesisSelector(classes=["rich", "poor"], **options).fit(frame[["age"]], labels)
    assert str(chosen.hypothesis_) in {"age < 40", "age < 41", "age < 42"}
    alone = HypothesisSelector("thresholds", classes=["poor", "rich"], **options).fit(frame[["age"]], ["rich"] * 400)
    assert set(alone.predict(frame[["age"]])) == {"rich"}
    unusable: list[Any] = [["a"], ["a", "a"], "ab", 3]
    for classes in unusable:
        with pytest.raises(BadParameter, match="classes must be the two labels"):
            HypothesisSelector(classes=classes, **options).fit(frame[["age"]], labels)


def test_lists_survive_clones_as_listed() -> None:
    points = np.random.default_rng(3).normal(size=(300, 2))
    tree = DecisionTreeClassifier(max_depth=1).fit(points, points[:, 0] > 0)
    selector = clone(HypothesisSelector(Listed([tree])))
    assert selector.fit(points, points[:, 0] > 0).score(points, points[:, 0] > 0) == 1
    with pytest.raises(BadParameter, match="not fitted"):
        clone(HypothesisSelector([tree])).fit(points, points[:, 0] > 0)
    with pytest.raises(BadParameter, match="have no width"):
        HypothesisSelector([tree], width=2).fit(points, points[:, 0] > 0)


@pytest.mark.parametrize("hypotheses", [5, None, np.array([1, 2])])
def test_what_is_no_class_is_rejected(hypotheses: Any) -> None:
    frame, labels = people(50)
    with pytest.raises(BadParameter, match="hypotheses must be"):
        HypothesisSelector(hypotheses).fit(frame, labels)


def test_classes_for_other_numbers_of_features_are_rejected() -> None:
    frame, labels = people(50)
    with pytest.raises(BadParameter, match="about 1 features"):
        HypothesisSelector(Thresholds(PublicGrid.of(0, 120, 121), "age")).fit(frame, labels)


@every(
    ("parameters", "hint"),
    [
        ({"hypotheses": "trees"}, "hypotheses must be one of: thresholds"),
        ({"hypotheses": [], "lower": None, "upper": None}, "predictor"),
        ({"hypotheses": "thresholds"}, "one feature"),
        ({"upper": None}, "Give lower and upper"),
        ({"lower": 5, "upper": 1}, "lower must be less"),
        ({"lower": [0, 0, 0]}, "lower must be one value, or one for each of the 2"),
        ({"grid": 0}, "grid must be"),
        ({"width": 2}, "stumps have no width"),
        ({"hypotheses": "conjunctions"}, "conjunctions have no lower or upper"),
        ({"epsilon": 0}, "epsilon"),
        ({"mechanism": "best"}, "mechanism must be one of"),
        ({"neighbors": "twins"}, "neighbors must be"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], hint: str) -> None:
    frame, labels = people(50)
    selector = HypothesisSelector(**{"lower": 0, "upper": 120, **parameters})
    with pytest.raises(BadParameter, match=hint):
        selector.fit(frame, labels)
    with pytest.raises(BadParameter, match=hint):
        selector.require_parameters(["age", "hours"])


def test_the_exact_maximum_needs_an_opt_in() -> None:
    frame, labels = people(300)
    with pytest.raises(NotPrivate):
        HypothesisSelector(lower=0, upper=120, mechanism="exact").fit(frame, labels)
    selector = HypothesisSelector(lower=0, upper=120, grid=121, mechanism="exact", not_private=True).fit(frame, labels)
    assert not selector.guarantee_.private


def test_values_outside_the_bounds_count_as_the_bounds() -> None:
    selector = HypothesisSelector("thresholds", lower=0, upper=1, grid=2, epsilon=10**6)
    selector._fit([[-CANARY], [-1.0], [CANARY], [2.0]] * 20, [0, 0, 1, 1] * 20, bits=NumpyBits(1))
    assert str(selector.hypothesis_) == "x0 >= 1"
    assert selector.predict([[-5.0], [0.5], [7.0]]).tolist() == [0, 0, 1]
    assert "918273" not in selector.to_json()


@every("hypotheses", ["thresholds", "intervals", "stumps", "conjunctions", "separators"])
def test_under_add_remove_no_rows_are_no_error(hypotheses: str) -> None:
    """Else the first unit would show: with it a rule, without it an error."""
    bounds: dict[str, Any] = {} if hypotheses == "conjunctions" else {"lower": 0, "upper": 8}
    columns = 1 if hypotheses in {"thresholds", "intervals"} else 2
    nothing = np.zeros((0, columns)), np.zeros(0, bool)
    selector = HypothesisSelector(hypotheses, neighbors="add_remove", classes=[False, True], **bounds)
    assert selector.fit(*nothing).hypothesis_ is not None
    rows = np.zeros((3, columns)), np.zeros(3, bool)
    assert selector.fit(*rows, units=[None] * 3).hypothesis_ is not None
    for named in ({"neighbors": "replace_one"}, {"classes": None}):
        with pytest.raises(BadData, match="while a minimum of 1 is required"):
            selector.set_params(**{"neighbors": "add_remove", "classes": [False, True], **named}).fit(*nothing)
