"""What private learning shows of one record, measured from outside, beside what it claims.

Each form of training runs on two neighbouring data sets, chosen so that nothing hides the record, and nothing but its
weights is looked at. A bound above the claim would be a fault, with an error of 10^−6; one far below it, a weak test or
noise that nobody needs.
Usage: python benchmarks/audit_learning.py [--runs 40000] [--only capped]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import dpmine
from dpmine.auditing.blackbox import epsilon_lower_bound
from dpmine.zcdp import RenyiBounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

CONFIDENCE = "0.999999"
PILOT = 1000
TAIL = np.array([0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.35])
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
    pair: tuple[Data, Data]
    look: Callable[[Any], float]
    units: tuple[str, ...] = ()
    """Of the rows; none where each is its own."""

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
    """A run of a search: it keeps to bounds at two Rényi orders, which imply its claim."""
    return kind(**LINEAR, **{**GAUSSIAN, **parameters}).keep_to(BOUNDS)


def forms() -> Mapping[str, Form]:
    """By name."""
    weighted = {**LINEAR, "class_weight": {0: 1, 1: 10}}
    mirrored = (ONE, np.array([1])), (-ONE, np.array([1]))
    two_rows = tuple((np.repeat(x, 2, axis=0), np.repeat(y, 2)) for x, y in OPPOSITE)
    crowded = {**LINEAR, "lambdas": "0.0007", "loss": "logistic"}
    several = {**crowded, "classes": [0, 1, 2]}
    aside = pushed(1), pushed(-1)
    ridge = {"fit_intercept": False, "target_bounds": (-1, 1), "regularization": 100}

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


def shown(form: Form, runs: int, delta: float) -> float:
    """A lower bound on ε at `delta`, from so many runs a side."""
    pilot = [form.run(side) for side in (0, 1) for _ in range(PILOT)]
    edges = np.quantile(pilot, [*TAIL, 0.5, *(1 - TAIL[::-1])])
    sides = [lambda side=side: int(np.searchsorted(edges, form.run(side))) for side in (0, 1)]
    return epsilon_lower_bound(*sides, samples=runs, confidence=CONFIDENCE, delta=delta or None)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40_000, help="runs on each side, after the pilot")
    parser.add_argument("--only", default="", help="forms whose name contains this")
    options = parser.parse_args()
    print(f"{'form':36} claim ε, δ       shown ε  share   runs a side: {options.runs}")
    for name, form in forms().items():
        if options.only not in name:
            continue
        promise = form.make().promise("unit" if form.units else None)
        delta = float(promise.delta)
        found, claim = shown(form, options.runs, delta), float(promise.epsilon)
        verdict = "ABOVE THE CLAIM" if found > claim else ""
        print(f"{name:36} {claim:g}, {delta:<12g} {found:7.2f}  {found / claim:5.2f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
