"""Every estimator of this project on two neighbouring data sets, and one number of what a fit releases.

The data are chosen so that nothing hides the record in which they differ. What is claimed is what a fit would be
charged. Used by the tests, and by benchmarks/audit_learning.py with more runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import dpmine
from dpmine.auditing import epsilon_lower_bound
from dpmine.zcdp import RenyiBounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

TAIL = np.array([0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.35])
"""Shares of a pilot between which the numbers are sorted into bins, from below and from above."""
EPSILON, DELTA = 3, "0.01"
LOGISTIC, HUBER, RIDGE = dpmine.PrivateLogisticRegression, dpmine.PrivateHuberSVC, dpmine.PrivateRidge
GAUSSIAN: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "noise": "gaussian"}
GAMMA: dict[str, Any] = {"epsilon": EPSILON, "noise": "gamma"}
LINEAR: dict[str, Any] = {"fit_intercept": False, "classes": [0, 1], "lambdas": "40"}
BOUNDS = RenyiBounds(Fraction(1, 10), Fraction(1, 2), (Fraction(5, 2), Fraction(4)))
Data = tuple["NDArray[np.float64]", "NDArray[Any]"]


@dataclass(frozen=True)
class Form:
    """A form of training, two neighbours, and the number that is looked at."""

    make: Callable[[], Any]
    pair: tuple[Any, ...]
    look: Callable[[Any], float]
    units: tuple[str, ...] = ()
    """Of the rows; none where each is its own."""

    @property
    def estimator(self) -> str:
        """The public name of its class."""
        return type(self.make()).__name__

    @property
    def claim(self) -> tuple[float, float]:
        """(ε, δ) that a fit is charged."""
        charged = self.make().guarantee("unit" if self.units else None)
        return float(charged.epsilon), float(charged.delta)

    def run(self, side: int) -> float:
        """The number that is looked at, of one fit."""
        return self.look(self.make().fit(*self.pair[side], units=list(self.units) or None))


def weight(fitted: Any) -> float:
    """The first one."""
    return float(np.ravel(fitted.coef_)[0])


def rows(*given: tuple[float, ...]) -> NDArray[np.float64]:
    return np.array(given)


ONE = rows((1.0,))
OPPOSITE = (ONE, np.array([1])), (ONE, np.array([0]))
"""One row of norm 1, of either class."""
CROWD = np.tile([[0.0, 1.0], [0.0, -1.0]], (3000, 1))


def pushed(side: int) -> Data:
    """A row on whose wrong side a crowd holds the weights: only there do records of both sides pull with full force."""
    return np.vstack([CROWD, [[side * 0.92, -0.39]]]), np.array([0, 1] * 3000 + [0])


def line(row: float, target: float) -> Data:
    """A row of the norm bound, and a target at an end of its bounds: what moves both moments most."""
    return rows((row,)), np.array([target])


def bounded(kind: Any, **parameters: Any) -> Any:
    """As in a run of a search: it stays within bounds at two Rényi orders, which imply its claim."""
    return kind(**LINEAR, **{**GAUSSIAN, **parameters}).keep_to(BOUNDS)


def forms() -> Mapping[str, Form]:
    """By name."""
    return {**linear_forms(), **other_forms()}


def linear_forms() -> Mapping[str, Form]:
    """Classifiers and ridge regression, by name."""
    weighted: dict[str, Any] = {**LINEAR, "class_weight": {0: 1, 1: 10}}
    mirrored = (ONE, np.array([1])), (-ONE, np.array([1]))
    two_rows = tuple((np.repeat(x, 2, axis=0), np.repeat(y, 2)) for x, y in OPPOSITE)
    crowded: dict[str, Any] = {**LINEAR, "lambdas": "0.0007", "loss": "logistic"}
    several: dict[str, Any] = {**crowded, "classes": [0, 1, 2]}
    aside = pushed(1), pushed(-1)
    ridge: dict[str, Any] = {"fit_intercept": False, "target_bounds": (-1, 1), "regularization": 100}

    def margin(fitted: Any) -> float:
        return float(fitted.coef_[1, 0] - fitted.coef_[0, 0])

    return {
        "capped, objective, Gaussian": Form(lambda: LOGISTIC(**LINEAR, **GAUSSIAN), OPPOSITE, weight),
        "capped, objective, gamma": Form(lambda: LOGISTIC(**LINEAR, **GAMMA), OPPOSITE, weight),
        "capped, output, Gaussian": Form(lambda: LOGISTIC(**LINEAR, **GAUSSIAN, method="output"), OPPOSITE, weight),
        "capped, weights of classes": Form(lambda: LOGISTIC(**weighted, **GAUSSIAN), mirrored, weight),
        "capped, two rows a unit": Form(
            lambda: LOGISTIC(**LINEAR, **GAUSSIAN, rows_per_unit=2), two_rows, weight, units=("a", "a")
        ),
        "Huber, objective, Rényi bounds": Form(lambda: bounded(HUBER), OPPOSITE, weight),
        "Huber, output, Rényi bounds": Form(lambda: bounded(HUBER, method="output"), OPPOSITE, weight),
        "logistic, objective, Gaussian": Form(lambda: LOGISTIC(**crowded, **GAUSSIAN), aside, weight),
        "logistic, output, Gaussian": Form(lambda: LOGISTIC(**crowded, **GAUSSIAN, method="output"), aside, weight),
        "Huber, objective, Gaussian": Form(lambda: HUBER(**LINEAR, **GAUSSIAN), OPPOSITE, weight),
        "Huber, output, Gaussian": Form(lambda: HUBER(**LINEAR, **GAUSSIAN, method="output"), OPPOSITE, weight),
        "three classes, objective, Gaussian": Form(lambda: LOGISTIC(**several, **GAUSSIAN), aside, margin),
        "three classes, output, Gaussian": Form(
            lambda: LOGISTIC(**several, **GAUSSIAN, method="output"), aside, margin
        ),
        "ridge, Gaussian": Form(lambda: RIDGE(**ridge, **GAUSSIAN), (line(1, 1), line(1, -1)), weight),
        "ridge, gamma": Form(lambda: RIDGE(**ridge, **GAMMA), (line(1, 1), line(1, -1)), weight),
    }


def other_forms() -> Mapping[str, Form]:
    """All other estimators, by name."""
    moved = tuple((np.array([value, *[0.9] * 39]), None) for value in (0.1, 0.9))
    one_of_two = tuple((np.array([[0.5], [0.5]]), np.array([label, 1])) for label in (0, 1))
    crowd = np.repeat([[0.25], [0.75]], 100, axis=0)
    labels = tuple((crowd, np.array([label, *[0] * 99, *[1] * 100])) for label in (0, 1))
    signs = tuple((np.ones((400, 1)), np.array([label, 1, *[0, 1] * 199])) for label in (0, 1))
    targets = tuple((np.ones((400, 1)), np.array([target, 1, *[-1, 1] * 199])) for target in (-1.0, 1.0))
    histogram: dict[str, Any] = {"lower": 0, "upper": 1, "epsilon": EPSILON}
    thresholds: dict[str, Any] = {"lower": 0, "upper": 1, "classes": [0, 1], "epsilon": EPSILON}
    accurate: dict[str, Any] = {"excess_risk": "0.1", "regularization": 1, "epsilon_max": 15, "steps": 20}
    searched = {"lambdas": ["1", "40"]}

    def search() -> Any:
        inner = LOGISTIC(fit_intercept=False, classes=[0, 1])
        return dpmine.PrivateSearchCV(inner, searched, epsilon=EPSILON, delta=DELTA, runs=2)

    return {
        "histogram": Form(lambda: dpmine.PrivateHistogram(bins=[2], delta=0, **histogram), moved, first_count),
        "histogram, number of bins": Form(
            lambda: dpmine.PrivateHistogram(bins=[2, 4], delta=DELTA, **histogram), moved, lambda f: len(f.counts_)
        ),
        "histogram, chosen bins": Form(
            lambda: dpmine.PrivateHistogram(bins=[2, 4], delta=DELTA, **histogram), moved, first_count
        ),
        "hypothesis": Form(
            lambda: dpmine.HypothesisSelector("thresholds", grid=3, **thresholds),
            one_of_two,
            kept_rule,
        ),
        "private learner": Form(
            lambda: dpmine.PrivateLearner("thresholds", accuracy="0.9", failure="0.9", **thresholds), labels, kept_rule
        ),
        "label-private learner": Form(
            lambda: dpmine.PrivateLearner(
                "thresholds", accuracy="0.9", failure="0.9", learner="label_private", **thresholds
            ),
            labels,
            kept_rule,
        ),
        "search, weight": Form(search, signs, lambda f: weight(f.best_estimator_)),
        "search, score": Form(search, signs, lambda f: float(f.best_score_)),
        "accuracy first, ridge": Form(
            lambda: dpmine.AccuracyFirstRidge(y_bound=1, **accurate), targets, reached_weight
        ),
        "accuracy first, ridge, covariances": Form(
            lambda: dpmine.AccuracyFirstRidge(y_bound=1, method="covariance", **accurate), targets, reached_weight
        ),
        "accuracy first, ridge, Brownian": Form(
            lambda: dpmine.AccuracyFirstRidge(y_bound=1, method="brownian", **accurate), targets, reached_weight
        ),
        "accuracy first, logistic": Form(lambda: dpmine.AccuracyFirstLogistic(**accurate), signs, reached_weight),
    }


def first_count(fitted: Any) -> float:
    """Of the bin that one record leaves, less that of the bin that it enters."""
    return float(fitted.counts_[0] - fitted.counts_[-1])


def kept_rule(fitted: Any) -> float:
    """A number for each rule: how it classifies a grid."""
    return float(fitted.predict(np.linspace(0, 1, 9)[:, None]) @ 2 ** np.arange(9))


def reached_weight(fitted: Any) -> float:
    """The weight; −9 where no target was reached."""
    return weight(fitted) if hasattr(fitted, "coef_") else -9.0


def shown(form: Form, runs: int, *, pilot: int = 1000, confidence: str = "0.999999") -> float:
    """A lower bound on ε at the claimed δ, from this number of runs a side, after a pilot that places the bins."""
    first = [form.run(side) for side in (0, 1) for _ in range(pilot)]
    edges = np.unique(np.quantile(first, [*TAIL, 0.5, *(1 - TAIL[::-1])]))
    sides = [lambda side=side: int(np.searchsorted(edges, form.run(side))) for side in (0, 1)]
    return epsilon_lower_bound(*sides, samples=runs, confidence=confidence, delta=form.claim[1] or None)
