"""Gamma and Gaussian noise in linear classifiers: AUC and accuracy on a fifth of the rows, and the time of a fit.

Part 1: both kinds of noise and what "auto" takes, in the objective. Part 2: the same on the output. Part 3: λ as a
multiple of the mean length of Gaussian noise over n, on Adult and Magic, whose results set the rule. Mean and standard
error of random splits; all columns of a row share their splits. "Adult, by hand" has indicators of 0 and 1 and rows
divided by √12; the others have bounds of their features that are round numbers.
Usage: python experiments/noise.py [--splits 16] [--part N ...] [--data ../shared/data]
"""

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from dpmine import PrivateLogisticRegression
from dpmine.models.linear.losses import LogisticLoss
from dpmine.models.linear.noise import GaussianNoise
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation
from experiments.accuracy_first_data import kdd
from experiments.linear_data import adult as adult_by_hand
from experiments.regulariser import ROOT, SEED, adult, breast_cancer, digits, magic, rounded

EPSILONS = (0.3, 1, 3)
DELTA = Fraction(1, 10**6)
FACTORS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 1, 2)

Set = tuple[np.ndarray, np.ndarray, Any]
"""Features, labels, bounds of the features or None."""


def bounded(load: Callable[[Path], Any]) -> Callable[[Path], Set]:
    def loaded(folder: Path) -> Set:
        features, labels, *bounds = load(folder)
        return features, labels, bounds

    return loaded


def attacks(folder: Path) -> Any:
    """A column that is always 0 has the bounds 0 and 1."""
    numbers, attack = kdd(folder)
    features = numbers.to_numpy()
    top = np.maximum(features.max(axis=0), 1.0)
    return features, attack, *rounded(np.vstack([features, top]), attack)[2:]


SETS: dict[str, Callable[[Path], Set]] = {
    "Adult, by hand": lambda folder: (*adult_by_hand(folder), None),
    "Adult": bounded(adult),
    "Magic": bounded(magic),
    "KDD-99": bounded(attacks),
    "breast cancer": bounded(breast_cancer),
    "digits, odd": bounded(digits),
}
TUNED = ("Adult, by hand", "Adult", "Magic")


def measured(data: Set, splits: int, columns: list[dict[str, Any]]) -> list[str]:
    """One cell for each column: its models take turns on every split."""
    features, labels, bounds = data
    generator = np.random.default_rng(SEED)
    found: list[list[tuple[float, float, float]]] = [[] for _ in columns]
    for _ in range(splits):
        train, test = np.split(generator.permutation(len(labels)), [len(labels) * 4 // 5])
        for cell, parameters in zip(found, columns, strict=True):
            start = time.perf_counter()
            model = PrivateLogisticRegression(feature_bounds=bounds, delta="1e-6", loss="logistic", **parameters)
            model.fit(features[train], labels[train])
            taken = time.perf_counter() - start
            decisions = model.decision_function(features[test])
            cell.append((roc_auc_score(labels[test], decisions), model.score(features[test], labels[test]), taken))
    return [_cell(np.array(cell)) for cell in found]


def _cell(cell: np.ndarray) -> str:
    error = cell.std(axis=0, ddof=1) / len(cell) ** 0.5
    auc, accuracy = (f"{cell[:, j].mean():.4f} ±{error[j]:.4f}" for j in (0, 1))
    return f"{auc} | {accuracy} | {1000 * np.median(cell[:, 2]):.0f} ms"


def compare(folder: Path, splits: int, method: str) -> None:
    print(f"\nNoise in the {method}: AUC | accuracy | median time")
    for name, load in SETS.items():
        data = load(folder)
        for epsilon in EPSILONS:
            kinds = ("gamma", "gaussian", "auto")
            cells = measured(data, splits, [{"epsilon": epsilon, "noise": kind, "method": method} for kind in kinds])
            shape = f"{len(data[1])} x {data[0].shape[1]}"
            for kind, cell in zip(kinds, cells, strict=True):
                print(f"{name:<16}{shape:<14}{epsilon:<5}{kind:<10}{cell}", flush=True)


def multiples(folder: Path, splits: int) -> None:
    for method, kind in (("objective", ObjectivePerturbation), ("output", OutputPerturbation)):
        print(f"\nλ over the mean length of Gaussian noise in the {method}, over n: AUC | accuracy | median time")
        for name in TUNED:
            data = SETS[name](folder)
            training = kind(LogisticLoss(), data[0].shape[1] + 1, GaussianNoise(DELTA))
            for epsilon in EPSILONS:
                unit = training.length(Fraction(str(epsilon))) / (len(data[1]) * 4 // 5)
                common = {"epsilon": epsilon, "noise": "gaussian", "method": method}
                cells = measured(data, splits, [{"lambdas": factor * unit, **common} for factor in FACTORS])
                for factor, cell in zip(FACTORS, cells, strict=True):
                    print(f"{name:<16}{epsilon:<5}{factor:<6g}{cell}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=int, default=16)
    parser.add_argument("--part", type=int, nargs="+", choices=(1, 2, 3), default=(1, 2, 3))
    arguments = parser.parse_args()
    parts: dict[int, Callable[[Path, int], None]] = {
        1: lambda folder, splits: compare(folder, splits, "objective"),
        2: lambda folder, splits: compare(folder, splits, "output"),
        3: multiples,
    }
    for number in arguments.part:
        parts[number](arguments.data, arguments.splits)


if __name__ == "__main__":
    main()
