"""Whatever is wrong with a parameter is found before anything is charged, for every parameter of every call."""

from __future__ import annotations

import inspect
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

import dpmine
from dpmine.errors import BadLedger, BadParameter, NotPrivate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RNG = np.random.default_rng(6)
X = RNG.uniform(-1, 1, size=(3000, 2))
LABELS = X[:, 0] > 0
TARGETS = X @ np.array([0.5, -0.3])
SCORES = {"a": 900, "b": 1, "c": 0}
BASKETS = [["bread", "butter"]] * 400 + [["tea"]] * 3

NO_NUMBERS: list[Any] = [None, True, "x", "", float("nan"), float("inf"), [], [1], np.float32(1), object()]
NOT_POSITIVE = [*NO_NUMBERS, 0, -1, "0"]
NO_PROBABILITIES = [*NOT_POSITIVE, 1, 2]
NO_NAMES: list[Any] = [None, "", "nonsense", 7, []]
OF_DATA = ("data", "unit", "basket", "item", "items", "one_hot", "attributes", "missing", "cut", "progress", "notice")
"""Of calls on transactions: what they read, and how; tests of reading try these."""
NO_WHOLE: list[Any] = [0, -1, 1.5, "x", True, [], float("nan")]
NO_TRUTH: list[Any] = [None, 0, 1, "no", []]
NO_CLASSES: list[Any] = [[], ["a"], ["a", "a"], ["a", "b", "c"], "ab", 7, [["a"], ["b", "c"]], ["a", float("nan")]]
NO_LABELS: list[Any] = [
    [],
    ["a"],
    ["a", "b", "a"],
    "abc",
    7,
    [["a"], ["b", "c"]],
    ["a", "b", float("nan")],
    range(1001),
]
"""Where more than two classes may be named."""
NO_WEIGHTS: list[Any] = ["balanced", 7, [1, 2], {"x": 1}, {True: 0}, {True: "x"}, {False: -1}, {True: 1, False: 1e-10}]
NO_BOUNDS: list[Any] = [value for value in NO_NUMBERS if value != [1]]
NO_LAMBDAS: list[Any] = [None, True, "x", 0, -1, [], [0], [1, 1], ["x"], float("nan"), [float("inf")], object()]
RELATION = [*NO_NAMES, "add_remove"]

NO_UNITS: list[Any] = [None, "", 7, "a\nb", "x" * 201, [], True]
NO_ROWS: list[Any] = [*NO_WHOLE, 10_001, 2]
"""2 is for fits that are given units."""
PROTECTED: dict[str, Any] = {"unit": NO_UNITS, "rows_per_unit": NO_ROWS}
FIT: dict[str, Any] = {"classes": NO_CLASSES, **PROTECTED}
LINEAR: dict[str, Any] = {
    "lambdas": NO_LAMBDAS,
    "norm_bound": NOT_POSITIVE,
    "feature_bounds": [7, "ab", (1,), (0, 1, 2), (1, 0), (0, 0), (0, None), (0, float("nan")), ([0] * 9, [1] * 9)],
    "epsilon": NOT_POSITIVE,
    "method": NO_NAMES,
    "noise": NO_NAMES,
    "fit_intercept": NO_TRUTH,
    "validation_share": NO_PROBABILITIES,
    "selection_share": NO_PROBABILITIES,
    "mechanism": [*NO_NAMES, "exact", "limited_domain", "bounded_growth"],
    "neighbors": RELATION,
    "class_weight": NO_WEIGHTS,
    **FIT,
}
LOGISTIC = {**LINEAR, "classes": NO_LABELS, "loss": NO_NAMES}
SEARCH: dict[str, Any] = {
    "excess_risk": NOT_POSITIVE,
    "regularization": NOT_POSITIVE,
    "failure_probability": NO_PROBABILITIES,
    "epsilon_max": NOT_POSITIVE,
    "x_bound": NOT_POSITIVE,
    "steps": NO_WHOLE,
    "epsilons": [[], [0], [2, 1], [1, 1], "x", 7, [float("nan")]],
    "slack": NO_NUMBERS,
    "fit_intercept": NO_TRUTH,
    "keep_last": NO_TRUTH,
    "neighbors": RELATION,
    **PROTECTED,
}


class Given:
    """A call, parameters that it accepts, and what it must refuse for each of its parameters."""

    def __init__(self, call: Callable[..., Any], good: dict[str, Any], bad: dict[str, Any], *ignored: str) -> None:
        self.call, self.good, self.bad, self.ignored = call, good, bad, ignored


def fitting(kind: Any, y: Any, x: Any = X) -> Callable[..., Any]:
    def fit(**parameters: Any) -> Any:
        return kind(**parameters).fit(x, y) if y is not None else kind(**parameters).fit(x)

    fit.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return fit


def rules(hypotheses: Any, **bad: Any) -> Given:
    """One class of rules: what it has no use for is refused as well."""
    bounds: dict[str, Any] = {"lower": -1, "upper": 1} if hypotheses != "conjunctions" else {}
    unused = {"lower": [0], "upper": [1], "grid": [5], "width": [1], "resolution": [3]}
    common = {
        "hypotheses": [*NO_NAMES, [int], [None], object()],
        "epsilon": NOT_POSITIVE,
        "mechanism": [*NO_NAMES, "bounded_growth", "limited_domain?"],
        "neighbors": NO_NAMES,
        "not_private": NO_TRUTH,
    }
    x = X[:, :1] if hypotheses in {"thresholds", "intervals"} else X
    good = {"hypotheses": hypotheses, "mechanism": "exponential", **bounds}
    own = {**unused, **{name: values for name, values in bad.items() if name != "delta"}}
    return Given(fitting(dpmine.HypothesisSelector, LABELS, x), good, {**common, **FIT, **own}, "delta")


BOUNDS: dict[str, Any] = {
    "lower": [*NO_BOUNDS, 1, [-1, -1, -1], [0, "x"]],
    "upper": [*NO_BOUNDS, -1, [1, 1, 1], [1, 0, 1]],
}
GRID: dict[str, Any] = {"grid": [*NO_WHOLE, 2**64 + 1, [3, 3, 3], [0, 1]]}
LEARNER: dict[str, Any] = {
    "hypotheses": [*NO_NAMES, "conjunctions"],
    "epsilon": NOT_POSITIVE,
    "accuracy": NO_PROBABILITIES,
    "failure": NO_PROBABILITIES,
    "learner": NO_NAMES,
    "neighbors": RELATION,
    **BOUNDS,
    "classes": NO_CLASSES,
    "unit": NO_UNITS,
}
WIDE: dict[str, Any] = {"accuracy": 0.9, "failure": 0.5, "epsilon": 4, "lower": -1, "upper": 1}
HISTOGRAM: dict[str, Any] = {
    "bins": [None, 4, [], [1], [4, 4], ["x"], [10**9], "48"],
    "lower": [*NO_NUMBERS, 1],
    "upper": [*NO_NUMBERS, -1],
    "epsilon": NOT_POSITIVE,
    "delta": NO_PROBABILITIES,
    "train_share": NO_PROBABILITIES,
    "selection_share": NO_PROBABILITIES,
    "mechanism": [*NO_NAMES, "exact", "limited_domain", "bounded_growth"],
    "neighbors": RELATION,
    **PROTECTED,
}
CALLS = {
    "select": Given(
        dpmine.select,
        {"scores": SCORES, "mechanism": "large_margin"},
        {
            "scores": [None, 7, "abc", b"abc", {1, 2}.__iter__(), np.zeros((2, 2)), np.float64(3)],
            "epsilon": NOT_POSITIVE,
            "delta": NO_PROBABILITIES,
            "mechanism": [*NO_NAMES, "bounded_growth", "exact"],
            "sensitivity": NOT_POSITIVE,
            "neighbors": NO_NAMES,
            "candidates": NO_NAMES,
            "unit": NO_UNITS,
            "options": [{"kbar": 3}, {"nonsense": 1}, {"max_items_per_unit": 2}],
        },
    ),
    "select auto": Given(
        dpmine.select,
        {"scores": SCORES, "mechanism": "auto"},
        {"scores": [None, 7, "abc"], "epsilon": NOT_POSITIVE, "delta": [*NO_NUMBERS, -1, 1], "neighbors": NO_NAMES},
        *("mechanism", "sensitivity", "candidates", "unit", "options"),
    ),
    "select unknown": Given(
        dpmine.select,
        {"scores": SCORES, "mechanism": "limited_domain", "candidates": "unknown", "kbar": 5},
        {
            "mechanism": ["exponential", "max_of_laplaces", "stable_maximiser", "max_of_exponentials"],
            "options": [{"kbar": value} for value in NO_WHOLE],
        },
        *("scores", "epsilon", "delta", "sensitivity", "neighbors", "candidates", "unit"),
    ),
    "select growth": Given(
        dpmine.select,
        {"scores": SCORES, "mechanism": "bounded_growth", "max_items_per_unit": 2},
        {"sensitivity": [2, "1/2"], "options": [{"max_items_per_unit": value} for value in [None, *NO_WHOLE]]},
        *("scores", "epsilon", "delta", "mechanism", "neighbors", "candidates", "unit"),
    ),
    "select exact": Given(
        dpmine.select,
        {"scores": SCORES, "mechanism": "exponential"},
        {"options": [{"mechanism": "exact", "not_private": value} for value in NO_TRUTH]},
        *("scores", "epsilon", "delta", "mechanism", "sensitivity", "neighbors", "candidates", "unit"),
    ),
    "top_itemset": Given(
        dpmine.top_itemset,
        {"data": BASKETS, "size": 1, "mechanism": "large_margin"},
        {
            "size": [*NO_WHOLE, "3-2", None],
            "epsilon": NOT_POSITIVE,
            "delta": NO_PROBABILITIES,
            "mechanism": [*NO_NAMES, "exact", "exponential", "bounded_growth"],
            "neighbors": NO_NAMES,
            "kbar": [3, 0, "x"],
            "max_items_per_unit": [3, 0, "x"],
            "release_support": [*NOT_POSITIVE[1:], "half"],
            "rules": NO_TRUTH,
            "lift_of": ["", "unions", 7, "units"],
            "min_support": [-1, 0, 5, "x", True],
            "units": [*NO_WHOLE, 2**63],
            "memory": ["x", 1, -1, True, [], "1 apple"],
            "engine": NO_NAMES,
        },
        *OF_DATA,
        *("catalogue", "not_private"),
    ),
    "top_itemsets": Given(
        dpmine.top_itemsets,
        {"data": BASKETS, "k": 3, "size": 1, "mechanism": "limited_domain", "kbar": 5},
        {"k": [*NO_WHOLE, 6], "kbar": [2, *NO_WHOLE], "rules": [True]},
        *OF_DATA,
        *("size", "epsilon", "delta", "mechanism", "neighbors", "catalogue", "release_support", "lift_of"),
        *("min_support", "units", "max_items_per_unit", "not_private", "memory", "engine"),
    ),
    "frequent_itemsets": Given(
        dpmine.frequent_itemsets,
        {"data": BASKETS, "k": 2},
        {
            "min_support": [-1, 0, 1.5, "x", True, 600],
            "k": [*NO_WHOLE[1:], 10_000],
            "max_size": [*NO_WHOLE[1:], 13],
            "epsilon": NOT_POSITIVE,
            "delta": NO_PROBABILITIES,
            "neighbors": NO_NAMES,
            "units": [*NO_WHOLE[1:], 2**63],
            "max_items_per_unit": [*NO_WHOLE[1:], 10_001],
            "memory": ["x", 1, -1, True, [], "1 apple"],
            "engine": NO_NAMES,
        },
        *OF_DATA,
        "catalogue",
    ),
    "discover_items": Given(
        dpmine.discover_items,
        {"data": BASKETS},
        {
            "epsilon": NOT_POSITIVE,
            "delta": NO_PROBABILITIES,
            "neighbors": NO_NAMES,
            "max_items_per_unit": [*NO_WHOLE, 10_001],
            "memory": ["x", 1, -1, True, [], "1 apple"],
            "engine": NO_NAMES,
        },
        *OF_DATA,
    ),
    "logistic": Given(fitting(dpmine.PrivateLogisticRegression, LABELS), {"lambdas": [0.1]}, LOGISTIC, "delta"),
    "softmax": Given(
        fitting(dpmine.PrivateLogisticRegression, LABELS),
        {"classes": [False, True, 2], "noise": "gaussian"},
        {**LOGISTIC, "delta": NO_PROBABILITIES},
    ),
    "logistic margin": Given(
        fitting(dpmine.PrivateLogisticRegression, LABELS),
        {"lambdas": [0.1, 1], "mechanism": "large_margin"},
        {**LOGISTIC, "delta": NO_PROBABILITIES},
    ),
    "svc": Given(fitting(dpmine.PrivateHuberSVC, LABELS), {"lambdas": 1}, {**LINEAR, "huber": NOT_POSITIVE}, "delta"),
    "thresholds": rules("thresholds", **BOUNDS, **GRID),
    "intervals": rules("intervals", **BOUNDS, **GRID),
    "stumps": rules("stumps", **BOUNDS, **GRID),
    "conjunctions": rules("conjunctions", width=[*NO_WHOLE, 3, 10**9, 2**70]),
    "separators": rules("separators", **BOUNDS, resolution=[*NO_WHOLE, 10**9]),
    "margin of rules": Given(
        fitting(dpmine.HypothesisSelector, LABELS),
        {"mechanism": "large_margin", "lower": -1, "upper": 1},
        {"delta": NO_PROBABILITIES},
        *("hypotheses", "epsilon", "mechanism", "neighbors", "lower", "upper", "grid", "width", "resolution"),
        *("classes", "not_private", "unit", "rows_per_unit"),
    ),
    "learner": Given(
        fitting(dpmine.PrivateLearner, LABELS),
        {"hypotheses": "stumps", **WIDE},
        {**LEARNER, "best_error": [0, 0.1, "x"]},
    ),
    "realizable": Given(
        fitting(dpmine.PrivateLearner, LABELS),
        {"hypotheses": "separators", "learner": "realizable", **WIDE},
        {**LEARNER, "accuracy": [*NO_PROBABILITIES, 1e-9], "best_error": [0, 0.1, "x"]},
    ),
    "labels": Given(
        fitting(dpmine.PrivateLearner, LABELS, X[:, :1]),
        {"learner": "label_private", **WIDE},
        {**LEARNER, "best_error": [value for value in [*NO_NUMBERS, 1, -1] if value is not None]},
    ),
    "histogram": Given(
        fitting(dpmine.PrivateHistogram, None, X[:, 0]),
        {"bins": [4, 8], "lower": -1, "upper": 1, "epsilon": 3},
        HISTOGRAM,
    ),
    "fixed ridge": Given(
        fitting(dpmine.PrivateRidge, TARGETS),
        {"target_bounds": (-1, 1), "noise": "gaussian"},
        {
            "target_bounds": [None, 7, "ab", (1,), (0, 1, 2), (1, 0), (0, 0), (0, None), ([0, 0], [1, 1])],
            "regularization": [*NOT_POSITIVE, "1e-10", "1e400"],
            "delta": NO_PROBABILITIES,
            **{name: LINEAR[name] for name in ("norm_bound", "feature_bounds", "epsilon", "noise", "fit_intercept")},
            "neighbors": RELATION,
            **PROTECTED,
        },
    ),
    "ridge": Given(
        fitting(dpmine.AccuracyFirstRidge, TARGETS),
        {"excess_risk": 0.4, "regularization": 0.1, "steps": 5},
        {**SEARCH, "method": NO_NAMES, "y_bound": NOT_POSITIVE},
        "delta",
    ),
    "brownian": Given(
        fitting(dpmine.AccuracyFirstRidge, TARGETS),
        {"excess_risk": 0.4, "regularization": 0.1, "steps": 5, "method": "brownian"},
        {**SEARCH, "method": NO_NAMES, "y_bound": NOT_POSITIVE, "delta": NO_PROBABILITIES},
    ),
    "private search": Given(
        fitting(dpmine.PrivateSearchCV, LABELS),
        {"estimator": dpmine.PrivateLogisticRegression(), "param_grid": {"lambdas": [0.1, 1]}, "runs": 2},
        {
            "estimator": [
                None,
                7,
                "logistic",
                dpmine.PrivateLogisticRegression,
                dpmine.PrivateLogisticRegression(unit="a"),
            ],
            "param_grid": [*NO_NAMES, {"lambdas": []}, {"lambdas": [0]}, {"epsilon": [1]}, {"nonsense": [1]}],
            "epsilon": NOT_POSITIVE,
            "delta": [*NO_NUMBERS, -1, 1],
            "stopping": NO_NAMES,
            "runs": [*NOT_POSITIVE, 1, 10_001],
            "shape": [*NO_NUMBERS, -1, 1001],
            "scoring": NO_NAMES,
            "validation_share": NO_PROBABILITIES,
            "budget": [None, "", "nonsense", 7, []],
            "neighbors": RELATION,
            "unit": NO_UNITS,
        },
    ),
    "search of a classifier": Given(
        fitting(dpmine.AccuracyFirstLogistic, LABELS),
        {"excess_risk": 0.4, "regularization": 0.5, "steps": 5},
        {**SEARCH, "method": [*NO_NAMES, "covariance"], **FIT},
        "delta",
    ),
}
CASES = [
    (call, name, place) for call, given in CALLS.items() for name in given.bad for place in range(len(given.bad[name]))
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One ledger for all: nothing may be charged to it."""
    made = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'budget.db'}"
    dpmine.Ledger(made).grant("shop", epsilon=1000, delta="1/2")
    return made


@pytest.fixture(scope="module")
def history(url: str) -> Iterator[sqlite3.Connection]:
    """Open beside the ledger: to ask the ledger itself takes longer than all else here."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        yield connection


@every(("call", "name", "place"), CASES)
def test_a_bad_parameter_costs_nothing(url: str, history: sqlite3.Connection, call: str, name: str, place: int) -> None:
    given = CALLS[call]
    value = given.bad[name][place]
    changed = value if name == "options" else {name: value}
    with pytest.raises((BadParameter, NotPrivate)) as caught:
        given.call(**{**given.good, **changed, "ledger": url, "dataset": "shop"})
    assert len(str(caught.value).splitlines()) == 1
    assert_nothing_charged(history)


def assert_nothing_charged(history: sqlite3.Connection) -> None:
    assert history.execute("SELECT kind FROM dpmine_history").fetchall() == [("grant",)]


@every("call", CALLS)
def test_every_parameter_is_tried(call: str) -> None:
    given = CALLS[call]
    known = set(inspect.signature(given.call).parameters) - {"ledger", "dataset"}
    assert known == {*given.bad, *given.ignored}


@pytest.mark.parametrize("call", CALLS)
def test_good_parameters_are_charged(tmp_path: Path, call: str) -> None:
    """So that what is refused above is refused for the one bad parameter."""
    made = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(made).grant("shop", epsilon=1000, delta="1/2")
    CALLS[call].call(**CALLS[call].good, ledger=made, dataset="shop")
    assert dpmine.Ledger(made).budget("shop").spent.epsilon > 0


@every("call", CALLS)
@every("changed", [{"ledger": "nonsense"}, {"dataset": None}, {"dataset": ""}, {"dataset": 7}])
def test_a_bad_ledger_or_data_set_costs_nothing(
    url: str, history: sqlite3.Connection, call: str, changed: dict[str, Any]
) -> None:
    with pytest.raises((BadParameter, BadLedger)):
        CALLS[call].call(**{**CALLS[call].good, "ledger": url, "dataset": "shop", **changed})
    assert_nothing_charged(history)
