"""PrivateRidge beside output perturbation of the same ridge regression, at the same (ε, δ), on scikit-learn's data.

    python benchmarks/utility/ridge.py

Prints the table of docs/explanation/measured/ridge.md. Output perturbation is given its
best λ of seven afterwards, which costs privacy that is not counted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from dpmine import PrivateRidge
from dpmine.gaussian import ratio_at

SPLITS = 20
LAMBDAS = (0.03, 0.1, 0.3, 1, 3, 10, 30)
MEASURES = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 22, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03]
WORST = [40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.21]
"""Round numbers above any measure of a cell nucleus: means and errors, then the largest."""


def mapped(values: Any, lower: Any, upper: Any) -> Any:
    """In [−1, 1]."""
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    return np.clip((values - low) / (high - low) * 2 - 1, -1, 1)


def data_sets() -> dict[str, tuple[Any, Any]]:
    """Features and targets, mapped to [−1, 1] by round numbers."""
    found, target = load_diabetes(return_X_y=True, scaled=False)
    lower, upper = [18, 1, 15, 60, 90, 40, 20, 2, 3, 58], [80, 2, 45, 140, 310, 250, 100, 9.2, 6.2, 125]
    images, digits = load_digits(return_X_y=True)
    cells = mapped(load_breast_cancer().data, 0, [*MEASURES, *WORST])
    return {
        "diabetes": (mapped(found, lower, upper), mapped(target, 25, 350)),
        "digits": (mapped(images, 0, 16), mapped(digits, 0, 9)),
        "area of cells": (np.delete(cells, [3, 23], axis=1), cells[:, 3]),
    }


def perturbed(features: Any, targets: Any, epsilon: Fraction, ridge: float, generator: Any) -> Any:
    """The minimiser, which one row moves by 2(1 + 1/√λ)/(nλ), with Gaussian noise in floats."""
    rows = in_ball(features)
    size, columns = rows.shape
    best = np.linalg.solve(rows.T @ rows / size + ridge * np.eye(columns), rows.T @ targets / size)
    scale = 2 * (1 + ridge**-0.5) / (size * ridge) / float(ratio_at(epsilon, Fraction(1, 10**6)))
    return best + scale * generator.normal(size=columns)


def in_ball(features: Any) -> Any:
    """Rows shortened to norm 1, with a constant column, times √(1/2)."""
    shortened = features / np.maximum(1, np.linalg.norm(features, axis=1))[:, np.newaxis]
    return np.column_stack([shortened, np.ones(len(shortened))]) * 0.5**0.5


def measured(features: Any, targets: Any, epsilon: str, seed: int) -> dict[str, float]:
    """R² on a fifth of the rows, by the way that it was reached."""
    order = np.random.default_rng(seed).permutation(len(targets))
    train, test = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
    found = {}
    for noise in ("gaussian", "gamma"):
        model = PrivateRidge(target_bounds=(-1, 1), feature_bounds=(-1, 1), epsilon=epsilon, noise=noise)
        found[noise] = model.fit(features[train], targets[train]).score(features[test], targets[test])
    for ridge in LAMBDAS:
        generator = np.random.default_rng(seed)
        weights = perturbed(features[train], targets[train], Fraction(epsilon), ridge, generator)
        found[f"output, λ = {ridge}"] = r2_score(targets[test], in_ball(features[test]) @ weights)
    plain = LinearRegression().fit(features[train], targets[train])
    return {**found, "not private": plain.score(features[test], targets[test])}


def main() -> None:
    """One line a data set and ε."""
    for name, (features, targets) in data_sets().items():
        for epsilon in ("0.3", "1", "3", "10"):
            runs = [measured(features, targets, epsilon, seed) for seed in range(SPLITS)]
            found = {way: np.array([run[way] for run in runs]) for way in runs[0]}
            best = max((way for way in found if way.startswith("output")), key=lambda way: found[way].mean())
            cells = [
                f"{way} {found[way].mean():.3f} ± {found[way].std(ddof=1) / SPLITS**0.5:.3f}"
                for way in ("gaussian", "gamma", best, "not private")
            ]
            print(name, epsilon, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
