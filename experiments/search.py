"""PrivateSearchCV beside other ways to tune at the same total ε: AUC on a fifth of the rows.

Mean and standard error of random splits. Part 1 sets the defaults (η, runs, share) on Magic and Adult; part 2 compares
them with half of the budget, or half of the rows, for tuning, and with no tuning at all. Candidates: four λ
and three norm bounds of PrivateLogisticRegression. Bounds of the features are round numbers, as in regulariser.py.
Usage: python experiments/search.py [--quick] [--part 1 2] [--splits 12] [--data ../shared/data]
"""

import argparse
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from dpmine import PrivateLogisticRegression, PrivateSearchCV
from dpmine.exact.bits import SystemBits
from dpmine.models.search.runs import RunBudget
from dpmine.models.search.trial import scorer_of
from experiments.regulariser import Set, adult, breast_cancer, digits, magic

ROOT = Path(__file__).resolve().parents[1]
SEED = 2022  # of the splits only; noise comes from the system
EPSILONS = ("0.3", "1", "3")
GRID = {"lambdas": [0.0001, 0.001, 0.01, 0.1], "norm_bound": [1, 2, 4]}
CANDIDATES = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
SHARE = 0.1  # of the rows that score where a half of something tunes

Way = Callable[[PrivateLogisticRegression, np.ndarray, np.ndarray, Fraction], Any]
"""A model with bounds, training rows and labels, and ε in total → a fitted model."""


def untuned(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> Any:
    """The default: λ by the public rule, all of ε trains."""
    return model.set_params(epsilon=epsilon).fit(x, y)


def stability(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> Any:
    """Half of ε chooses λ by stability-based validation."""
    return model.set_params(epsilon=epsilon, lambdas=GRID["lambdas"], selection_share="1/2").fit(x, y)


def half_budget(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> Any:
    """Half of ε trains and scores all candidates, in equal parts; the other half trains the best one on all rows."""
    best = _best_of_all(model, x, y, epsilon / 2)
    return model.set_params(**best, epsilon=epsilon / 2).fit(x, y)


def half_rows(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> Any:
    """All of ε on either half of the rows: one for the candidates, in equal parts, one to train the best."""
    half = len(y) // 2
    best = _best_of_all(model, x[:half], y[:half], epsilon)
    return model.set_params(**best, epsilon=epsilon).fit(x[half:], y[half:])


def searched(**parameters: Any) -> Way:
    def way(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> Any:
        return PrivateSearchCV(model, GRID, epsilon=epsilon, **parameters).fit(x, y)

    return way


def _best_of_all(model: PrivateLogisticRegression, x: np.ndarray, y: np.ndarray, epsilon: Fraction) -> dict[str, Any]:
    """Every candidate trained and scored once, as in a run of the search, at an equal part of ε."""
    run, score = RunBudget(epsilon / len(CANDIDATES)), scorer_of("roc_auc", model)
    train = round(len(y) * (1 - SHARE))
    found = []
    for candidate in CANDIDATES:
        model.set_params(**candidate, epsilon=run.epsilon).fit(x[:train], y[:train])
        found.append(score(model, x[train:], y[train:]).noisy(run, bits=SystemBits()))
    return CANDIDATES[int(np.argmax(found))]


def aucs(data: Set, way: Way, epsilon: str, splits: int) -> np.ndarray:
    """The data come in a random order, so positions are a random split."""
    features, labels, *bounds = data
    generator, found = np.random.default_rng(SEED), []
    for _ in range(splits):
        train, test = np.split(generator.permutation(len(labels)), [len(labels) * 4 // 5])
        model = PrivateLogisticRegression(feature_bounds=bounds, classes=np.unique(labels).tolist())
        fitted = way(model, features[train], labels[train], Fraction(epsilon))
        found.append(roc_auc_score(labels[test], fitted.decision_function(features[test])))
    return np.array(found)


def table(data: dict[str, Set], ways: dict[str, Way], splits: int) -> None:
    if data:
        print(f"{'':<15}{'ε':<5}" + "".join(f"{name:>15}" for name in ways))
    for name, found in data.items():
        for epsilon in EPSILONS:
            print(f"{name:<15}{epsilon:<5}" + "".join(_cells(found, ways, epsilon, splits)), flush=True)


def _cells(data: Set, ways: dict[str, Way], epsilon: str, splits: int) -> Iterator[str]:
    for way in ways.values():
        values = aucs(data, way, epsilon, splits)
        yield f"{values.mean():.3f} ±{values.std(ddof=1) / splits**0.5:.3f}".rjust(15)


SETTINGS: dict[str, Way] = {
    f"{shape}, {runs}": searched(shape=shape, runs=runs, scoring="roc_auc")
    for shape, runs in product(("-1/2", "0", "1"), (10, 30))
} | {"poisson, 10": searched(stopping="poisson", runs=10, scoring="roc_auc")}
SHARES: dict[str, Way] = {f"share {share}": searched(scoring="roc_auc", validation_share=share) for share in (0.1, 0.5)}
SCORES: dict[str, Way] = {name: searched(scoring=name) for name in ("accuracy", "brier")}
WAYS: dict[str, Way] = {
    "search": searched(scoring="roc_auc"),
    "half of ε": half_budget,
    "half of rows": half_rows,
    "stability": stability,
    "untuned": untuned,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--part", type=int, nargs="+", choices=(1, 2), default=(1, 2))
    parser.add_argument("--quick", action="store_true", help="three splits, without Adult")
    arguments = parser.parse_args()
    splits, started = 3 if arguments.quick else arguments.splits, time.monotonic()
    on_magic = {"Magic": magic(arguments.data)}
    on_adult = {} if arguments.quick else {"Adult": adult(arguments.data)}
    if 1 in arguments.part:
        print(f"Defaults: columns are η and the mean of K, then scores; AUC, mean ± standard error of {splits} splits")
        table(on_magic, SETTINGS | SHARES | SCORES, splits)
        table(on_adult, SETTINGS, splits)
    if 2 in arguments.part:
        print(f"\nThe same total ε; AUC, mean ± standard error of {splits} splits")
        others = {"breast cancer": breast_cancer(arguments.data), "digits, odd": digits(arguments.data)}
        table(on_magic | on_adult | others, WAYS, splits)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
