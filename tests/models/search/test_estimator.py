"""The search as users call it, around estimators of dpmine and declared ones."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.cases import every
from support.numpy_bits import NumpyBits
from support.sealed import spent

import dpmine
from dpmine import BadParameter, Declared, PrivateLogisticRegression, PrivateSearchCV
from dpmine.errors import BadData
from dpmine.models.contribution import Bounding, Units
from dpmine.models.search.runs import stopping_of
from dpmine.models.search.trial import require_terms
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, size=(1200, 2))
Y = X[:, 0] > 0.2
GRID = {"lambdas": [0.001, 0.1, 10]}
MODEL = PrivateLogisticRegression(classes=[False, True])
LEARNER: dict[str, Any] = {"lower": -1, "upper": 1, "classes": [False, True]}


class Recorded(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A private classifier as far as it says: it notes what it is given, and is as good as its parameter."""

    fits: list[Any]

    def __init__(self, epsilon: Any = 1, delta: Any = 0, share: float = 0.5, told: Any = ()) -> None:
        self.epsilon, self.delta, self.share, self.told = epsilon, delta, share, told

    def guarantee(self, units: Any = None, features: Any = None) -> Guarantee:
        return Guarantee(Fraction(self.epsilon), Fraction(self.delta), Neighbors.REPLACE_ONE, "row")

    def fit(self, X: Any, y: Any) -> Recorded:
        warnings.warn("something of the data", stacklevel=1)
        type(self).fits.append((self.epsilon, self.delta, self.share, len(X)))
        self.classes_, self.guarantee_ = np.array([False, True]), self.guarantee()
        return self

    def predict(self, X: Any) -> Any:
        right = np.asarray(X)[:, 0] > 0.2
        return right ^ (np.arange(len(right)) >= self.share * len(right))


@pytest.fixture(autouse=True)
def _nothing_recorded() -> None:
    Recorded.fits = []


def test_the_best_candidate_is_found() -> None:
    """Without noise to speak of, and with many runs."""
    grid = {"share": [0.2, 0.5, 0.9, 0.6]}
    search = PrivateSearchCV(Recorded(), grid, epsilon=1000, runs=60, shape=20)._fit(X, Y, bits=NumpyBits(1))
    assert search.best_params_ == {"share": 0.9}
    assert search.best_score_ == pytest.approx(0.9, abs=0.01)
    assert search.score(X, Y) == pytest.approx(0.9, abs=0.01)
    assert {fit[2] for fit in Recorded.fits} == {0.2, 0.5, 0.6, 0.9}
    assert {fit[3] for fit in Recorded.fits} == {900}
    assert search.classes_.tolist() == [False, True]


@every("stopping", ["negative_binomial", "poisson"])
def test_runs_get_their_budget(stopping: str) -> None:
    Recorded.fits = []
    search = PrivateSearchCV(Recorded(), {"share": [0.5]}, epsilon=2, delta="1e-6", stopping=stopping, runs=5, shape=1)
    search._fit(X, Y, bits=NumpyBits(2))
    found = stopping_of(stopping, 5, 1)
    epsilons, deltas = ({fit[place] for fit in Recorded.fits} for place in (0, 1))
    assert (len(epsilons), len(deltas)) == (1, 1)
    assert 0 < min(epsilons) < 1
    assert float(deltas.pop()) == pytest.approx(1e-6 / float(found.mean_above()))
    assert str(search.guarantee_).startswith("ε = 2, δ = 1e-06 per row")
    assert search.run_guarantee_.epsilon == epsilons.pop()
    assert search.best_estimator_.guarantee_ == search.guarantee_, "that of one run would be too small"


def test_all_runs_are_charged_before_the_first(tmp_path: Path) -> None:
    url, spent_at_fits = f"sqlite:///{tmp_path / 'budget.db'}", []
    dpmine.Ledger(url).grant("people", epsilon=3)

    class Watching(Recorded):
        def fit(self, X: Any, y: Any) -> Any:
            spent_at_fits.append(spent(url, "people"))
            return super().fit(X, y)

    search = PrivateSearchCV(Watching(), {"share": [0.5]}, epsilon=2, delta=0, ledger=url, dataset="people")
    search.fit(X, Y)
    assert set(spent_at_fits) == {(2, 0)}
    with pytest.raises(dpmine.BudgetExceeded):
        search.fit(X, Y)
    assert hasattr(search, "best_estimator_"), "nothing was charged, so the earlier fit stays"


RARE = np.arange(400) == 7


@every("units", [None, np.arange(400)])
@every(
    "model",
    [
        PrivateLogisticRegression(feature_bounds=(-1, 1), lambdas=[0.1]),
        dpmine.HypothesisSelector("stumps", lower=-1, upper=1, grid=3),
        Declared(PrivateLogisticRegression(lambdas=[0.1]), epsilon=1, parameter="epsilon"),
        PrivateSearchCV(PrivateLogisticRegression(lambdas=[0.1]), {}, runs=2),
    ],
)
def test_no_split_leaves_a_run_without_a_class(model: Any, units: Any) -> None:
    """One row of a class is on the other side in a quarter of the runs; whether it is there must not show."""
    search = PrivateSearchCV(model, {}, runs=2)
    for seed in range(6):
        bounding = Bounding(1, None if units is None else Units.of(units, "unit"))
        search._fit(X[:400], RARE, bounding=bounding, bits=NumpyBits(seed))
        assert search.classes_.tolist() == [False, True]
        assert search.has_result
        assert any("the two classes that occur are taken as public" in note for note in search.guarantee_.notes)
        assert not any("the two classes are public" in note for note in search.guarantee_.notes)


@every("kind", ["M8[D]", bool, float, str])
def test_classes_that_are_found_are_classes_that_may_be_named(kind: Any) -> None:
    """Of every type that the estimator learns by itself."""
    rows = np.linspace(0, 1, 40).reshape(-1, 1)
    search = PrivateSearchCV(PrivateLogisticRegression(feature_bounds=(0, 1)), {"lambdas": [0.1, 1]}, runs=2)
    labels = np.resize([0, 1], 40).astype(kind)
    assert search.fit(rows, labels).classes_.tolist() == np.unique(labels).tolist()


def test_rows_without_a_unit_are_no_class() -> None:
    labels = np.array([*["no", "yes"] * 100, "maybe"])
    found = PrivateSearchCV(PrivateLogisticRegression(), {}, runs=2).fit(X[:201], labels, units=[*range(200), None])
    assert found.classes_.tolist() == ["no", "yes"]


class Unlucky(LogisticRegression):  # type: ignore[misc]
    """Fails as classifiers of other libraries do where the rows that train have one class."""

    def fit(self, X: Any, y: Any) -> Any:
        self.secret_ = y
        raise ValueError(f"This solver needs samples of two classes: {y}")


@every("scoring", ["accuracy", "brier", "roc_auc", lambda model, X, y: model.predict(X) == y])
def test_runs_that_fail_do_not_stop_a_search(scoring: Any) -> None:
    """They are runs without a result, of which nothing stays but the parameters."""
    search = PrivateSearchCV(Declared(Unlucky(), epsilon="0.1"), {}, scoring=scoring, epsilon=1, runs=2).fit(X, Y)
    assert not search.has_result
    assert not hasattr(search.best_estimator_, "estimator_")
    assert not hasattr(search.best_estimator_.estimator, "secret_")
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_a_run_without_a_result_scores_0() -> None:
    """In the units of the other runs, so that its noise does not make it the best one."""

    class Lucky(LogisticRegression):  # type: ignore[misc]
        def __init__(self, lucky: bool = True) -> None:
            super().__init__()
            self.lucky = lucky

        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y) if self.lucky else Unlucky.fit(self, X, y)

    grid = {"estimator__lucky": [True, False]}
    for scoring in ("accuracy", "brier", "roc_auc"):
        search = PrivateSearchCV(Declared(Lucky(), epsilon=1), grid, scoring=scoring, epsilon=60, runs=12, shape=20)
        assert search._fit(X, Y, bits=NumpyBits(4)).best_params_ == {"estimator__lucky": True}


@every("keep_last", [False, True])
def test_a_run_that_misses_its_target_does_not_fail_the_search(keep_last: bool) -> None:
    """A target that is out of reach for this ε, or almost."""
    target = dpmine.AccuracyFirstLogistic(
        excess_risk=0.12, regularization=0.5, slack=3, steps=2, classes=[False, True], keep_last=keep_last
    )
    grid = {"x_bound": [1, 2]}
    found = {
        PrivateSearchCV(target, grid, epsilon=12, budget="epsilon_max", runs=3).fit(X, Y).has_result for _ in range(25)
    }
    assert found == ({True} if keep_last else {False, True})


def test_a_target_out_of_reach_is_rejected_before_the_charge(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(url).grant("people", epsilon=30)
    target = dpmine.AccuracyFirstLogistic(excess_risk=0.001, regularization=0.5, classes=[False, True])
    search = PrivateSearchCV(
        target, {"x_bound": [1, 2]}, epsilon=10, budget="epsilon_max", ledger=url, dataset="people"
    )
    with pytest.raises(BadParameter, match="out of reach"):
        search.fit(X, Y)
    with pytest.raises(BadParameter, match="out of reach"):
        target.set_params(ledger=url, dataset="people").fit(X, Y)
    assert spent(url, "people") == (0, 0)


def test_only_the_best_run_shows() -> None:
    """Neither the number of runs nor the other candidates; no warning of a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = PrivateSearchCV(Recorded(), {"share": [0.2, 0.9]}, epsilon=50).fit(X, Y)
    learnt = {name for name in vars(search) if name.endswith("_") and not name.startswith("_")}
    assert learnt == {"best_estimator_", "best_params_", "best_score_", "run_guarantee_", "guarantee_"}


def test_units_keep_one_row_each() -> None:
    units = np.resize(np.arange(100), 1200)
    search = PrivateSearchCV(Recorded(), {"share": [0.5]}).fit(X, Y, units=pd.Series(units, name="customer"))
    assert {fit[3] for fit in Recorded.fits} == {75}
    assert search.guarantee_.unit == "customer"
    assert "every customer keeps one row" in search.guarantee_.notes[-1]
    assert search.best_estimator_.guarantee_ == search.guarantee_


def test_scikit_learns_interface() -> None:
    search = PrivateSearchCV(MODEL, GRID, epsilon=5, scoring="roc_auc")
    assert is_classifier(search)
    assert clone(search).get_params()["estimator__epsilon"] == 1
    with pytest.raises(NotFittedError):
        search.predict(X)
    pipeline = make_pipeline(FunctionTransformer(np.abs), search.set_params(runs=3)).fit(X, Y)
    fitted = pipeline[-1]
    assert fitted.n_features_in_ == 2
    assert (pipeline.predict(X) == fitted.predict(np.abs(X))).all()
    assert fitted.predict_proba(X).shape == (1200, 2)
    assert fitted.decision_function(X).shape == (1200,)
    assert not hasattr(PrivateSearchCV(Recorded(), {}), "predict_proba")
    table = pd.DataFrame(X, columns=["a", "b"])
    assert PrivateSearchCV(MODEL, GRID).fit(table, Y.tolist()).best_estimator_.feature_names_in_.tolist() == ["a", "b"]


def test_every_estimator_of_dpmine_that_predicts() -> None:
    rule = dpmine.HypothesisSelector("stumps", lower=-1, upper=1, classes=[False, True])
    PrivateSearchCV(rule, {"grid": [5, 9]}).fit(X, Y)
    target = dpmine.AccuracyFirstLogistic(excess_risk=0.4, regularization=0.5, steps=5, classes=[False, True])
    found = PrivateSearchCV(target, {"x_bound": [1, 2]}, epsilon=100, budget="epsilon_max", runs=2).fit(X, Y)
    assert found.guarantee_.epsilon == 100
    margin = PrivateLogisticRegression(lambdas=[0.1, 1], mechanism="large_margin", classes=[False, True])
    with pytest.raises(BadParameter, match="delta"):
        PrivateSearchCV(margin, {"norm_bound": [1, 2]}, delta=0).fit(X, Y)
    assert PrivateSearchCV(margin, {"norm_bound": [1, 2]}).fit(X, Y).guarantee_.delta == Fraction(1, 10**6)


class Blurred(LogisticRegression):  # type: ignore[misc]
    """An estimator of another library: the guarantee is not its own to say."""

    seen: list[Any]

    def __init__(self, noise: float = 1.0, slack: float = 0.0, C: float = 1.0) -> None:
        super().__init__(C=C)
        self.noise, self.slack = noise, slack

    def fit(self, X: Any, y: Any) -> Any:
        type(self).seen.append((self.noise, self.slack))
        return super().fit(X, y)


def test_declared_estimators() -> None:
    Blurred.seen = []
    declared = Declared(Blurred(), epsilon=1, parameter="noise", delta_parameter="slack")
    search = PrivateSearchCV(declared, {"estimator__C": [0.1, 1]}, epsilon=1, delta=1e-6).fit(X, Y)
    assert search.guarantee_.assertion == "the guarantee of Blurred"
    assert "asserted" in str(search.guarantee_)
    run = search.run_guarantee_
    assert {Fraction(noise) <= run.epsilon for noise, _ in Blurred.seen} == {True}
    assert Blurred.seen[0] == pytest.approx((float(run.epsilon), float(run.delta)))
    assert search.predict_proba(X).shape == (1200, 2)
    units = search.fit(X, Y, units=np.arange(1200)).guarantee_
    assert units.assertion == "the guarantee of Blurred"
    customers = search.set_params(unit="customer").fit(X, Y).guarantee_
    assert customers.assertion == "the guarantee of Blurred; one row each"


def test_an_estimator_declared_by_rho() -> None:
    Blurred.seen = []
    declared = Declared(Blurred(), rho=1, delta=1e-6, parameter="noise")
    search = PrivateSearchCV(declared, {"estimator__C": [0.1, 1]}, epsilon=1, delta=1e-6).fit(X, Y)
    rho = search.run_guarantee_.zcdp.rho
    assert 0.002 < rho < 0.02
    assert Blurred.seen[0][0] == pytest.approx(float(rho))
    assert search.guarantee_.epsilon == 1
    with pytest.raises(BadParameter, match="delta"):
        PrivateSearchCV(declared, {}, epsilon=1, delta=0).fit(X, Y)


def test_a_form_for_some_candidates_is_not_taken_unseen() -> None:
    """A distribution is not looked at whole: a candidate of the other noise must not fail after the charge."""
    mixed = {"lambdas": uniform(0.01, 1), "noise": ["gamma", "gaussian"]}
    for _ in range(5):
        found = PrivateSearchCV(MODEL, mixed, runs=3).fit(X, Y)
        assert found.guarantee_.delta == Fraction(1, 10**6)
        assert found.run_guarantee_.delta > 0
    assert PrivateSearchCV(MODEL, {"lambdas": [0.1], "noise": ["gamma"]}).fit(X, Y).guarantee_.delta == 0


def test_a_fixed_guarantee_must_fit_into_a_run() -> None:
    fixed = Declared(LogisticRegression(), epsilon="0.3")
    assert (
        Fraction(3, 10) < PrivateSearchCV(fixed, {}, epsilon="0.7").fit(X, Y).run_guarantee_.epsilon < Fraction(4, 10)
    )
    with pytest.raises(BadParameter, match=r"epsilon is 0\.150993 for each run"):
        PrivateSearchCV(fixed, {}, epsilon="0.3").fit(X, Y)
    with pytest.raises(BadParameter, match="delta"):
        PrivateSearchCV(Declared(LogisticRegression(), epsilon="0.1", delta=1e-6), {}, epsilon=1).fit(X, Y)
    with pytest.raises(BadParameter, match="rho is"):
        PrivateSearchCV(Declared(LogisticRegression(), rho=1, delta=1e-6), {}, epsilon=1, delta=1e-6).fit(X, Y)


def test_too_large_a_guarantee_is_rejected_before_the_charge_and_after_a_fit(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(url).grant("people", epsilon=3)
    fixed = Declared(LogisticRegression(), epsilon=2)
    with pytest.raises(BadParameter, match="more than a run may"):
        PrivateSearchCV(fixed, {}, epsilon=2, ledger=url, dataset="people").fit(X, Y)
    assert spent(url, "people") == (0, 0)

    class Greedy(Recorded):
        def fit(self, X: Any, y: Any) -> Any:
            super().fit(X, y).guarantee_ = Guarantee(Fraction(9), Fraction(0), Neighbors.REPLACE_ONE, "row")
            return self

    with pytest.raises(BadParameter, match="more than a run may"):
        PrivateSearchCV(Greedy(), {"share": [0.5]}, epsilon=2).fit(X, Y)


def test_a_regressor_needs_terms_of_its_own() -> None:
    declared = Declared(LinearRegression(), epsilon="0.1")
    with pytest.raises(BadParameter, match="function"):
        PrivateSearchCV(declared, {}).fit(X, X[:, 0])
    search = PrivateSearchCV(declared, {}, scoring=lambda model, X, y: 1 - np.minimum(1, abs(model.predict(X) - y)))
    assert is_regressor(search)
    assert search.fit(X, X[:, 0]).best_score_ > 0.7


@every(
    "given",
    [
        {"estimator": LogisticRegression()},
        {"estimator": PrivateLogisticRegression},
        {"estimator": PrivateLogisticRegression(unit="customer")},
        {"estimator": PrivateLogisticRegression(rows_per_unit=2)},
        {"estimator": dpmine.HypothesisSelector("stumps", lower=-1, upper=1, neighbors="add_remove")},
        {"estimator": Declared(LogisticRegression())},
        {"estimator": Declared(LogisticRegression(), epsilon=1, rho=1)},
        {"estimator": dpmine.PrivateLearner(**LEARNER, learner="label_private")},
        {"estimator": dpmine.PrivateLearner(**LEARNER), "param_grid": {"learner": ["private", "label_private"]}},
        {"estimator": Declared(PrivateLogisticRegression(), epsilon=1), "param_grid": {"estimator__epsilon": [9]}},
        {"estimator": Declared(Blurred(), epsilon=1, parameter="noise"), "param_grid": {"estimator__noise": [9]}},
        {"param_grid": {"epsilon": [1, 2]}},
        {"param_grid": {"neighbors": ["replace_one"]}},
        {"param_grid": {"classes": [[False, True]]}},
        {"param_grid": {"nonsense": [1, 2]}},
        {"param_grid": {"lambdas": [1, 0]}},
        {"budget": "nonsense"},
    ],
)
def test_what_is_no_search(given: dict[str, Any]) -> None:
    search = PrivateSearchCV(**{"estimator": MODEL, "param_grid": {}, **given})
    with pytest.raises(BadParameter):
        search.guarantee()
    with pytest.raises(BadParameter):
        search.fit(X, Y)


@every(("x", "y"), [(X, None), (X[:5], Y), (X[:1], Y[:1]), (7, Y), (X, Y[:, np.newaxis, np.newaxis])])
def test_unusable_data(x: Any, y: Any) -> None:
    with pytest.raises(BadData):
        PrivateSearchCV(MODEL, GRID).fit(x, y)


def test_a_search_around_a_search_keeps_what_is_asserted() -> None:
    inner = PrivateSearchCV(Declared(Recorded(), epsilon=1, parameter="epsilon"), {}, runs=2)
    found = PrivateSearchCV(inner, {"validation_share": [0.2, 0.3]}, runs=2).fit(X, Y)
    assert found.guarantee_.assertion == "the guarantee of Recorded"
    assert found.run_guarantee_.epsilon < 1


def test_the_noise_of_the_best_has_another_law() -> None:
    model = PrivateLogisticRegression(classes=[False, True], method="output")
    best = PrivateSearchCV(model, GRID, epsilon=5, runs=2).fit(X, Y).best_estimator_
    with pytest.raises(BadParameter, match="without a search"):
        best.coefficient_intervals()


def test_runs_that_find_nothing_do_not_fail() -> None:
    """A mechanism may return none: to fail then would disclose it, and lose the other runs."""
    rule = dpmine.HypothesisSelector("stumps", lower=-1, upper=1, mechanism="stable_maximiser", classes=[False, True])
    search = PrivateSearchCV(rule, {"grid": [5, 9]}, epsilon="0.01", delta="1e-4", runs=2).fit(X, Y)
    assert search.best_estimator_.hypothesis_ is None
    with pytest.raises(BadData, match="Nothing stood out"):
        search.predict(X)


def test_it_has_the_attributes_of_its_best() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    search = PrivateSearchCV(MODEL, GRID, epsilon=5, runs=2).fit(frame, Y)
    assert search.feature_names_in_.tolist() == ["a", "b"]
    assert np.allclose(np.exp(search.predict_log_proba(frame)), search.predict_proba(frame))
    assert not hasattr(search.fit(X, Y), "feature_names_in_")


def test_a_search_of_accuracy_first_models_has_model_files() -> None:
    target = dpmine.AccuracyFirstLogistic(excess_risk=0.4, regularization=0.5, steps=5, classes=[False, True])
    found = PrivateSearchCV(target, {"x_bound": [1, 2]}, epsilon=100, budget="epsilon_max", runs=2).fit(X, Y)
    again = type(target).from_json(found.best_estimator_.to_json())
    assert again.guarantee_ == found.guarantee_


def test_a_search_without_delta_takes_noise_without_one() -> None:
    wide = np.random.default_rng(5).normal(size=(400, 30))
    labels = np.arange(400) % 2
    search = PrivateSearchCV(
        PrivateLogisticRegression(lambdas=[0.1]), {"norm_bound": [8.0]}, epsilon=3, delta=0, runs=2
    )
    assert search.fit(wide, labels).guarantee_.delta == 0
    assert search.set_params(delta="1e-5").fit(wide, labels).guarantee_.delta == Fraction(1, 10**5)


@every(
    "shape", [lambda rows: np.zeros((rows, 2)), lambda rows: np.zeros(rows + 1), lambda rows: ["right"] * rows, None]
)
def test_functions_that_give_no_number_for_each_row_are_rejected_before_the_charge(shape: Any, tmp_path: Path) -> None:
    def scoring(_model: Any, _rows: Any, y: Any) -> Any:
        return None if shape is None else shape(len(y))

    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=5, delta=0.5)
    search = PrivateSearchCV(MODEL, GRID, scoring=scoring, ledger=ledger, dataset="shop")
    with pytest.raises(BadParameter, match="no number for each row"):
        search.fit(X, Y)
    assert ledger.budget("shop").spent.epsilon == 0


@every("form", [np.asarray, lambda rows: pd.DataFrame(rows, columns=["age", "hours"])])
def test_functions_are_tried_on_rows_of_zeros_alone(form: Any) -> None:
    seen: list[Any] = []

    def scoring(model: Any, rows: Any, y: Any) -> Any:
        seen.append((type(rows), np.asarray(rows), model.predict(rows)))
        return model.predict(rows) == y

    rows = form(X)
    require_terms(scoring, rows, MODEL)
    ((kind, tried, predicted),) = seen
    assert kind is type(rows)
    assert not tried.any()
    assert predicted.tolist() == [False, False]
