"""Candidates are drawn as they should be. Scores say what their names say, and one record moves them by a bound."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import loguniform
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score
from sklearn.model_selection import ParameterGrid
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits
from support.tapes import assert_law

import dpmine
from dpmine.errors import BadParameter
from dpmine.models.search.runs import RunBudget
from dpmine.models.search.trial import Candidates, Score, scorer_of

NAMES = ["accuracy", "brier", "roc_auc"]


class Known:
    """A classifier whose decisions are the rows themselves."""

    classes_ = np.array([0, 1])
    _estimator_type = "classifier"

    def decision_function(self, X: Any) -> Any:
        return np.asarray(X)[:, 0]

    def predict_proba(self, X: Any) -> Any:
        share = expit(self.decision_function(X))
        return np.column_stack([1 - share, share])

    def predict(self, X: Any) -> Any:
        return (self.decision_function(X) > 0).astype(int)


CLASSIFIER = LogisticRegression()
RNG = np.random.default_rng(3)


def rows(size: int) -> tuple[Any, Any]:
    return np.round(RNG.normal(size=(size, 1)), 1), RNG.integers(0, 2, size)  # rounded, so that some tie


def scored(name: Any, x: Any, y: Any) -> Score:
    return scorer_of(name, CLASSIFIER)(Known(), x, np.asarray(y))


@every("size", [2, 3, 50])
def test_scores_are_what_their_names_say(size: int) -> None:
    x, y = rows(size)
    y[:2] = 0, 1
    model, shares = Known(), np.array([np.mean(y == 0), np.mean(y == 1)])
    expected = {
        "accuracy": accuracy_score(y, model.predict(x)),
        "brier": 1 - brier_score_loss(y, model.predict_proba(x)[:, 1]),
        "roc_auc": roc_auc_score(y, model.decision_function(x)) * shares.prod(),
    }
    for name, value in expected.items():
        found = scored(name, x, y)
        assert float(found.value * found.unit) == pytest.approx(value, abs=1e-9)


@every("name", NAMES)
@every("size", [1, 2, 5, 9])
def test_one_record_moves_a_score_by_its_sensitivity(name: str, size: int) -> None:
    """All labels, some values: the largest move is within the bound, and close to it where that can be."""
    largest = 0
    for _ in range(30):
        x, y = rows(size)
        x *= 100
        base = scored(name, x, y)
        for value in (-1000.0, 0.0, 1000.0):
            for label in (0, 1):
                changed, labels = x.copy(), y.copy()
                changed[0], labels[0] = value, label
                largest = max(largest, abs(scored(name, changed, labels).value - base.value))
        assert largest <= base.sensitivity
    if size > 2:
        assert largest > base.sensitivity / 2


@every("labels", [["no", "yes", None], ["no", 7, "yes"], [float("nan"), "yes", pd.NA]])
def test_odd_labels_are_wrong_and_cause_no_error(labels: Any) -> None:
    column = np.empty(3, dtype=object)
    column[:] = labels
    model = SimpleNamespace(
        predict=lambda _x: np.array(["yes"] * 3),
        predict_proba=lambda _x: np.full((3, 2), 0.5),
        classes_=np.array(["no", "yes"]),
    )
    found = scorer_of("accuracy", CLASSIFIER)(model, np.ones((3, 1)), column)
    assert found.value * found.unit == Fraction(1, 3)
    for name in ("brier", "roc_auc"):
        scorer_of(name, CLASSIFIER)(model, np.ones((3, 1)), column)


def test_terms_of_a_function() -> None:
    x, y = rows(4)
    found = scored(lambda _model, _x, _y: [0.25, 2, -1, np.nan], x, y)
    assert found.value * found.unit == Fraction(5, 16)
    for bad in ([0.5] * 3, ["a"] * 4, [[0.5] * 2] * 4, None):
        assert scored(lambda _model, _x, _y, bad=bad: bad, x, y).value == 0
    assert scored(lambda model, x, y: accuracy_score(y, model.predict(x)), x, y) == scored("accuracy", x, y)


@every("name", NAMES)
def test_a_row_that_a_model_fails_for_leaves_the_others_their_last_bits(name: str) -> None:
    """Sums of floats depend on the size of a batch, and every row is on the edge here."""

    class Sum(Known):
        def decision_function(self, X: Any) -> Any:
            if np.isnan(X).any():
                raise ValueError
            return X @ np.full(7, 0.1) - 0.28

    generator = np.random.default_rng(2)
    x = generator.permuted(np.tile(np.arange(1, 8) * 0.1, (403, 1)), axis=1)
    labels = generator.integers(0, 2, 403)
    base = scorer_of(name, CLASSIFIER)(Sum(), x, labels)
    x[-1] = np.nan
    assert abs(base.value - scorer_of(name, CLASSIFIER)(Sum(), x, labels).value) <= base.sensitivity


@every("name", [*NAMES, lambda model, X, y: model.predict(X) == y])
def test_a_row_that_a_model_fails_for_moves_the_score_by_its_sensitivity(name: Any) -> None:
    """It causes no error, and the others count as they did."""

    class Fragile(Known):
        def decision_function(self, X: Any) -> Any:
            if (np.asarray(X) > 50).any():
                raise RuntimeError
            return super().decision_function(X)

    x, y = rows(9)
    y[:3] = 0, 1, 1
    base = scorer_of(name, CLASSIFIER)(Fragile(), x, y)
    x[1] = 99
    failing = scorer_of(name, CLASSIFIER)(Fragile(), x, y)
    assert abs(base.value - failing.value) <= base.sensitivity
    assert failing.value > 0
    assert (failing.sensitivity, failing.unit) == (base.sensitivity, base.unit)


@every("name", NAMES)
def test_no_result_and_another_number_of_classes_score_0_in_the_same_units(name: Any) -> None:
    x, y = rows(9)
    base = scored(name, x, y)
    one = SimpleNamespace(
        classes_=[0], predict=lambda x: -np.ones(len(x)), predict_proba=lambda x: np.ones((len(x), 1))
    )
    for model in (None, one):
        found = scorer_of(name, CLASSIFIER)(model, x, y)
        assert (found.value, found.sensitivity, found.unit) == (0, base.sensitivity, base.unit)


@every("name", NAMES)
@every("label", [0, 1])
def test_held_out_rows_of_one_class_have_a_score(name: Any, label: int) -> None:
    x, _ = rows(9)
    assert scored(name, x, np.full(9, label)).value >= 0


def test_names_are_for_classifiers() -> None:
    assert callable(scorer_of(lambda _model, _x, y: y, LinearRegression()))
    for name in ("auto", *NAMES):
        with pytest.raises(BadParameter, match="function"):
            scorer_of(name, LinearRegression())
    with pytest.raises(BadParameter, match="scoring"):
        scorer_of("f1", CLASSIFIER)


def test_what_a_score_needs_is_known_before_a_run() -> None:
    rule = dpmine.HypothesisSelector()
    assert callable(scorer_of("auto", rule))
    for name, needed in (("brier", "with predict_proba"), ("roc_auc", "decision_function or predict_proba")):
        with pytest.raises(BadParameter, match=needed):
            scorer_of(name, rule)
    for name in ("brier", "roc_auc"):
        with pytest.raises(BadParameter, match="two classes"):
            scorer_of(name, dpmine.PrivateLogisticRegression(classes=[0, 1, 2]))


@pytest.mark.statistical
@every("run", [RunBudget(Fraction(1, 2)), RunBudget(rho=Fraction(1, 8))])
def test_the_noise_of_a_score(run: RunBudget) -> None:
    """Pr[k] ∝ e^{−ε|k − q|/Δ}, or e^{−ρ(k − q)²/Δ²}. False alarms: 10^−6."""
    reach = range(-60, 67)
    masses = {k: np.exp(-0.5 * abs(k - 3) / 2) if run.rho is None else np.exp(-((k - 3) ** 2) / 8 / 4) for k in reach}
    total = sum(masses.values())
    score = Score(3, 2, Fraction(1))
    assert_sampled_law(
        lambda bits: score.noisy(run, bits=bits), {k: mass / total for k, mass in masses.items()}, draws=4000
    )


GRIDS: list[Any] = [{"a": [1, 2], "b": ["x"]}, {"a": [3, 4, 5, 6, 7, 8]}, {"b": np.array([1])}]


def test_lists_are_drawn_uniformly_over_all_combinations() -> None:
    listed = [*GRIDS[:2], {"b": [1]}]
    expected = {str(sorted(one.items())): 1 / 9 for one in ParameterGrid(listed)}
    assert len(expected) == 9
    candidates = Candidates.of(GRIDS)
    assert_law(lambda bits: str(sorted(candidates.draw(bits=bits).items())), expected, depth=12, undecided=0.1)
    assert sorted(str(sorted(one.items())) for one in candidates.checked(bits=NumpyBits(1))) == sorted(expected)


def test_with_a_distribution_mappings_are_drawn_first() -> None:
    class Coin:
        def rvs(self, random_state: int) -> int:
            assert 0 <= random_state < 2**32
            return random_state % 2

    candidates = Candidates.of([{"a": [1, 2]}, {"a": Coin()}])
    found = [candidates.draw(bits=NumpyBits(seed))["a"] for seed in range(200)]
    assert set(found) == {0, 1, 2}
    assert len(list(candidates.checked(bits=NumpyBits(1)))) == 1


def test_scipy_distributions() -> None:
    candidates = Candidates.of({"a": loguniform(0.01, 1)})
    found = [candidates.draw(bits=NumpyBits(seed))["a"] for seed in range(100)]
    assert len(set(found)) == 100
    assert 0.01 <= min(found) < 0.1 < max(found) <= 1


@every("grid", [None, 7, "a", [], {"a": []}, {"a": "xy"}, {"a": 1}, {1: [1]}, [{"a": [1]}, 2], {"a": np.ones((2, 2))}])
def test_unusable_grids(grid: Any) -> None:
    with pytest.raises(BadParameter, match="param_grid"):
        Candidates.of(grid)
