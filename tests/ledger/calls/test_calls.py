"""Every call that takes a ledger charges what it guarantees, before it reads, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.sealed import SealedBaskets, Untouchable, spent

import dpmine
from dpmine.errors import BadLedger, BadParameter, BudgetExceeded, NotPrivate
from dpmine.ledger.charging import Account
from dpmine.markup import without_passwords
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, size=(400, 2))
Y = np.where(X[:, 0] + 0.1 * RNG.normal(size=400) > 0, "yes", "no")
TARGETS = X @ np.array([0.5, -0.3])
CLASSES = ["no", "yes"]
BASKETS = [["bread", "butter"]] * 40 + [["tea"]] * 3
URL = "postgresql://u:kanarienvogel@host/db"


class Sealed(Mapping[Any, Any]):
    """A mapping whose values may not be looked at."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[Any]:
        raise Untouchable

    def __getitem__(self, key: object) -> Any:
        raise Untouchable


class SealedArray:
    """Rows that may not be looked at, of a declared shape."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, *_arguments: object, **_options: object) -> Any:
        raise Untouchable

    def __len__(self) -> int:
        raise Untouchable


SCORES: dict[Any, int] = {"a": 900, "b": 1, "c": 0}
SELECTIONS = [
    "auto",
    "large_margin",
    "limited_domain",
    "limited_domain_permute_and_flip",
    "stable_maximiser",
    "exponential",
    "max_of_laplaces",
]


@pytest.mark.parametrize("mechanism", SELECTIONS)
@pytest.mark.parametrize("candidates", ["public", "unknown"])
def test_select(url: str, mechanism: str, candidates: str) -> None:
    if candidates == "unknown" and mechanism in {"exponential", "max_of_laplaces", "stable_maximiser"}:
        pytest.skip("needs a public list")
    found = dpmine.select(SCORES, mechanism=mechanism, candidates=candidates, ledger=url, dataset="shop")
    assert spent(url) == (found.guarantee.epsilon, found.guarantee.delta)
    assert dpmine.Ledger(url).budget("shop").unit == found.guarantee.unit


@pytest.mark.parametrize("mechanism", ["auto", "large_margin_tight"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_top_itemset(url: str, mechanism: str, unit: str | None) -> None:
    import pyarrow as pa

    data: Any = BASKETS if unit is None else pa.table({"who": range(len(BASKETS)), "item": ["a"] * len(BASKETS)})
    found = dpmine.top_itemset(data, size=1, unit=unit, mechanism=mechanism, ledger=url, dataset="shop")
    assert spent(url) == (found.guarantee.epsilon, found.guarantee.delta)
    assert dpmine.Ledger(url).budget("shop").unit == found.guarantee.unit


CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "one": lambda **k: dpmine.PrivateLogisticRegression(lambdas=0.1, classes=CLASSES, **k),
    "rule": lambda **k: dpmine.PrivateLogisticRegression(lambdas="auto", classes=CLASSES, **k),
    "softmax": lambda **k: dpmine.PrivateLogisticRegression(noise="gaussian", classes=[*CLASSES, 2], **k),
    "several": lambda **k: dpmine.PrivateLogisticRegression(lambdas=[0.1, 1], classes=CLASSES, **k),
    "auto": lambda **k: dpmine.PrivateLogisticRegression(lambdas=[0.1, 1], mechanism="auto", classes=CLASSES, **k),
    "margin": lambda **k: dpmine.PrivateHuberSVC(lambdas=[0.1, 1], mechanism="large_margin", classes=CLASSES, **k),
    "output": lambda **k: dpmine.PrivateHuberSVC(lambdas=[0.1, 1], method="output", classes=CLASSES, **k),
    "pure rule": lambda **k: _stumps(mechanism="exponential", **k),
    "auto rule": lambda **k: _stumps(mechanism="auto", **k),
    "margin rule": lambda **k: _stumps(mechanism="large_margin", **k),
    "learner": lambda **k: _learner("private", **k),
    "realizable": lambda **k: _learner("realizable", **k),
}


def _stumps(**options: Any) -> Any:
    return dpmine.HypothesisSelector(hypotheses="stumps", lower=-1, upper=1, classes=CLASSES, **options)


def _learner(learner: str, **options: Any) -> Any:
    return dpmine.PrivateLearner(
        hypotheses="stumps", learner=learner, accuracy=0.9, failure=0.5, epsilon=4, lower=-1, upper=1, **options
    )


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(url: str, name: str) -> None:
    model = CLASSIFIERS[name](ledger=url, dataset="shop").fit(X, Y)
    assert spent(url) == (model.guarantee_.epsilon, model.guarantee_.delta)
    assert dpmine.Ledger(url).budget("shop").unit == model.guarantee_.unit == "row"


NAMED: dict[str, Any] = {
    "histogram": lambda **account: dpmine.PrivateHistogram(bins=[4], lower=-1, upper=1, **account).fit(X[:, 0]),
    "classifier": lambda **account: dpmine.PrivateLogisticRegression(lambdas=1, **account).fit(X, Y),
    "ridge": lambda **account: dpmine.PrivateRidge(target_bounds=(-1, 1), **account).fit(X, TARGETS),
    "rule": lambda **account: dpmine.HypothesisSelector(
        mechanism="exponential", lower=-1, upper=1, classes=CLASSES, **account
    ).fit(X, Y),
    "search": lambda **account: dpmine.AccuracyFirstRidge(excess_risk=0.4, regularization=0.1, steps=5, **account).fit(
        X, TARGETS
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_asserted_unit_is_shown_as_one(url: str, name: str) -> None:
    """In the text, the JSON and the notes of the guarantee, and in the ledger's history."""
    guarantee = NAMED[name](unit="patient", ledger=url, dataset="shop").guarantee_
    assert guarantee.unit == dpmine.Ledger(url).budget("shop").unit == "patient"
    assert "per patient (asserted: one row each)" in str(guarantee)
    assert "asserted, not checked: one row each (patient)" in guarantee.notes
    assert guarantee.to_dict()["asserted"] == "one row each"
    assert [entry.job for entry in dpmine.Ledger(url).history("shop")][1].endswith("(asserted: one row each)")
    with pytest.raises(BadParameter, match="a budget for each 'patient', not for each 'row'"):
        NAMED[name](ledger=url, dataset="shop")
    assert NAMED[name]().guarantee_.unit == "row"
    assert not [note for note in NAMED[name]().guarantee_.notes if "asserted" in note]


def test_labels_have_no_other_unit(url: str) -> None:
    learner = _learner("label_private", unit="patient", ledger=url, dataset="shop")
    with pytest.raises(BadParameter, match="leave it out with label_private"):
        learner.fit(X, Y)


def test_label_privacy_has_a_unit_of_its_own(url: str) -> None:
    labels = _learner("label_private", ledger=url, dataset="shop").fit(X, Y)
    assert spent(url) == (labels.guarantee_.epsilon, 0)
    with pytest.raises(BadParameter, match="budget for each 'label of a row'"):
        CLASSIFIERS["one"](ledger=url, dataset="shop").fit(X, Y)


@pytest.mark.parametrize(("bins", "delta"), [([4], 0), ([4, 8], Fraction(1, 10**6))])
def test_histogram(url: str, bins: list[int], delta: Fraction) -> None:
    model = dpmine.PrivateHistogram(bins=bins, lower=-1, upper=1, epsilon=3, ledger=url, dataset="shop")
    found = model.fit(np.tile(X[:, 0], 5)).guarantee_
    assert spent(url) == (found.epsilon, found.delta)
    assert found.delta == delta


def _ridge(excess_risk: float, **options: Any) -> Any:
    bounds: dict[str, Any] = {"x_bound": 2, "y_bound": 1, "epsilon_max": 10, "steps": 10}
    return dpmine.AccuracyFirstRidge(excess_risk=excess_risk, regularization=0.1, **bounds, **options)


@pytest.mark.parametrize("method", ["covariance", "output", "brownian"])
@pytest.mark.parametrize("risk", [0.4, 0.2])
def test_accuracy_first_settles_what_it_cost(url: str, method: str, risk: float) -> None:
    rows, targets = np.tile(X, (20, 1)), np.tile(TARGETS, 20)
    model = _ridge(risk, method=method, ledger=url, dataset="shop").fit(rows, targets)
    assert spent(url) == (model.guarantee_.ex_post_epsilon, model.guarantee_.delta)
    assert [entry.kind for entry in dpmine.Ledger(url).history("shop")] == ["grant", "reserve", "settle"]


GUARANTEE = ExPostGuarantee(Fraction(5), Fraction(0), Neighbors.REPLACE_ONE, "row", ex_post_epsilon=Fraction(5))
OUTCOME = ExPostGuarantee(Fraction(5), Fraction(0), Neighbors.REPLACE_ONE, "row", ex_post_epsilon=Fraction(2))


def test_settling_gives_back(url: str) -> None:
    charge = Account.of(url, "shop").charge(GUARANTEE, job="test")
    assert spent(url)[0] == 5
    assert charge.settled(OUTCOME) == OUTCOME
    assert spent(url)[0] == 2


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_ledger_that_is_gone_costs_no_result(url: str, *, forgotten: bool) -> None:
    """Deleted, or put back to a copy that does not know the charge."""
    charge = Account.of(url, "shop").charge(GUARANTEE, job="test")
    for file in Path(url.removeprefix("sqlite:///")).parent.glob("budget.db*"):
        file.unlink()
    if forgotten:
        dpmine.Ledger(url).grant("shop", epsilon=9)
        charge = type(charge)(dpmine.Ledger(url), charge.receipt, charge.guarantee)
    assert "stays charged" in charge.settled(OUTCOME).notes[-1]


SEALED: dict[str, Callable[..., Any]] = {
    "select": lambda **k: dpmine.select(Sealed(), mechanism="exponential", **k),
    "select auto": lambda **k: dpmine.select(Sealed(), **k),
    "itemsets": lambda **k: dpmine.top_itemset(SealedBaskets(), **k),
    "classifier": lambda **k: CLASSIFIERS["one"](**k).fit(SealedArray(400, 2), Y),
    "rule": lambda **k: CLASSIFIERS["auto rule"](**k).fit(SealedArray(400, 2), Y),
    "learner": lambda **k: CLASSIFIERS["learner"](**k).fit(SealedArray(400, 2), Y),
    "histogram": lambda **k: dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, **k).fit(SealedArray(400)),
    "accuracy first": lambda **k: _ridge(0.2, **k).fit(SealedArray(400, 2), TARGETS),
}


@pytest.mark.parametrize("name", SEALED)
def test_nothing_is_read_before_the_charge_which_stands(url: str, name: str) -> None:
    with pytest.raises((Untouchable, dpmine.DpmineError)) as failure:  # numpy words may be replaced
        SEALED[name](ledger=url, dataset="shop")
    assert not isinstance(failure.value, BadLedger | BudgetExceeded)
    assert spent(url)[0] > 0


@pytest.mark.parametrize("name", SEALED)
def test_nothing_is_read_where_the_budget_says_no(url: str, name: str) -> None:
    dpmine.Ledger(url).grant("poor", epsilon="1/1000", delta="1/2")
    with pytest.raises(BudgetExceeded, match=r"requested ε = .*; remaining ε = 1/1000, .*; short by ε = "):
        SEALED[name](ledger=url, dataset="poor")
    assert spent(url, "poor") == (0, 0)


@pytest.mark.parametrize("name", SEALED)
def test_one_of_the_two_options_is_refused(url: str, name: str) -> None:
    for alone in ({"ledger": url}, {"dataset": "shop"}):
        with pytest.raises(BadParameter, match="ledger and dataset belong together"):
            SEALED[name](**alone)
    assert spent(url) == (0, 0)


@pytest.mark.parametrize("name", SEALED)
def test_unknown_data_sets_and_ledgers_stop_the_run(url: str, name: str) -> None:
    with pytest.raises(BadParameter, match="knows no data set 'bazaar'"):
        SEALED[name](ledger=url, dataset="bazaar")
    with pytest.raises(BadLedger, match="There is no ledger"):
        SEALED[name](ledger="sqlite:////nowhere/b.db", dataset="shop")
    with pytest.raises(BadLedger, match="must be a URL"):
        SEALED[name](ledger="budget.db", dataset="shop")


PUBLIC: dict[str, Callable[..., Any]] = {
    "select": lambda **k: dpmine.select(SCORES, mechanism="exact", not_private=True, **k),
    "rule": lambda **k: _stumps(mechanism="exact", not_private=True, **k).fit(X, Y),
    "itemsets": lambda **k: dpmine.top_itemset(BASKETS, mechanism="exact", not_private=True, **k),
    "catalogue": lambda **k: dpmine.top_itemset(BASKETS, catalogue="from-data", **k),
    "rules": lambda **k: dpmine.top_itemsets(BASKETS, 3, release_support=1, rules=True, catalogue="from-data", **k),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_runs_that_guarantee_nothing_are_refused(url: str, name: str) -> None:
    with pytest.raises(NotPrivate, match="private runs only"):
        PUBLIC[name](ledger=url, dataset="shop")
    assert spent(url) == (0, 0)


def test_one_relation_and_one_unit_a_data_set(url: str) -> None:
    with pytest.raises(BadParameter, match="name the same relation"):
        dpmine.select(SCORES, neighbors="add_remove", ledger=url, dataset="shop")
    dpmine.top_itemset(BASKETS, ledger=url, dataset="shop")
    with pytest.raises(BadParameter, match="budget for each 'row', not for each 'unit'"):
        dpmine.select(SCORES, ledger=url, dataset="shop")


@pytest.mark.parametrize("mechanism", ["auto", "exponential", "large_margin"])
def test_select_names_its_unit(url: str, mechanism: str) -> None:
    """So it can share a budget with the calls that name rows and columns."""
    CLASSIFIERS["one"](ledger=url, dataset="shop").fit(X, Y)
    found = dpmine.select(SCORES, unit="row", mechanism=mechanism, ledger=url, dataset="shop")
    assert found.guarantee.unit == "row"
    assert spent(url)[0] == 2
    with pytest.raises(BadParameter, match="budget for each 'row', not for each 'customer'"):
        dpmine.select(Sealed(), unit="customer", mechanism=mechanism, ledger=url, dataset="shop")
    assert spent(url)[0] == 2


@pytest.mark.parametrize("unit", ["", "a\nb", "x" * 201, None, 7, b"row"])
def test_a_unit_needs_a_name(url: str, unit: Any) -> None:
    for ledger in ({}, {"ledger": url, "dataset": "shop"}):
        with pytest.raises(BadParameter, match="unit must be a printable name"):
            dpmine.select(Sealed(), unit=unit, mechanism="exponential", **ledger)
    assert spent(url) == (0, 0)


def test_ledgers_may_be_objects(url: str) -> None:
    dpmine.select(SCORES, mechanism="exponential", ledger=dpmine.Ledger(url), dataset="shop")
    CLASSIFIERS["one"](ledger=dpmine.Ledger(url), dataset="shop").get_params()
    assert spent(url) == (1, 0)


def test_every_fit_of_a_search_is_charged(url: str) -> None:
    from sklearn.model_selection import GridSearchCV

    model = dpmine.PrivateLogisticRegression(lambdas=0.1, classes=CLASSES, ledger=url, dataset="shop")
    GridSearchCV(model, {"norm_bound": [1, 2]}, cv=2).fit(X, Y)
    assert spent(url) == (5, 0)


FILES: dict[str, Callable[..., Any]] = {
    "several": lambda **k: CLASSIFIERS["several"](**k).fit(X, Y),
    "auto rule": lambda **k: CLASSIFIERS["auto rule"](**k).fit(X, Y),
    "search": lambda **k: _ridge(0.2, keep_last=True, **k).fit(np.tile(X, (20, 1)), np.tile(TARGETS, 20)),
}


@pytest.mark.parametrize("name", FILES)
def test_model_files_do_not_hold_the_ledger(url: str, name: str) -> None:
    text = FILES[name](ledger=url, dataset="shop").to_json()
    assert "ledger" not in text
    assert "budget.db" not in text


@pytest.mark.parametrize("kind", [dpmine.PrivateLogisticRegression, dpmine.HypothesisSelector, dpmine.PrivateHuberSVC])
def test_passwords_are_not_shown(kind: Any) -> None:
    assert "kanarienvogel" not in repr(kind(ledger=URL, dataset="shop"))
    histogram = dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, ledger=URL, dataset="shop")
    assert "kanarienvogel" not in repr(histogram)
    assert "u:***@host/db" in repr(histogram)


@every(
    ("text", "shown"),
    [
        (URL, "postgresql://u:***@host/db"),
        ("postgresql://h/d?password=secret&user=u", "postgresql://h/d?password=***&user=u"),
        ("postgresql://u:sec@ret/x@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u@firm:secret@host/db", "postgresql://u@firm:***@host/db"),
        ("postgresql://u@host:5432/db", "postgresql://u@host:5432/db"),
        ("sqlite:///a.db", "sqlite:///a.db"),
    ],
)
def test_without_passwords(text: str, shown: str) -> None:
    assert without_passwords(text) == shown


def test_without_a_ledger_nothing_is_charged() -> None:
    guarantee = Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE)
    charge = Account.of(None, None).charge(guarantee, job="test")
    assert charge.settled(guarantee) is guarantee
