"""The default classifier beside fixed regularisation strengths, a private choice, and other ways to scale features.

Accuracy on a fifth of the rows, mean and standard error of random splits. Part 1: λ. Part 2: multiples of the public
rule d/(nε). Part 3: the scale of features, and the norm bound. Part 4: as part 2, with noise on the output. The rules
for λ were set on Adult and Magic, above the line in each table. Bounds of the features are round numbers.
All with gamma noise; experiments/noise.py compares it with Gaussian noise.
Usage: python experiments/regulariser.py [--splits 12] [--part N ...] [--data ../shared/data]
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from dpmine import PrivateLogisticRegression
from experiments.linear_data import ADULT_RANGES, MAGIC_RANGES, adult_columns

ROOT = Path(__file__).resolve().parents[1]
SEED = 2013  # of the splits only; noise comes from the system
EPSILONS = (0.3, 1, 3)
FIXED = (0.0001, 0.001, 0.01, 0.1)
LIST = (0.001, 0.01, 0.1)  # far apart, as a first guess is
FACTORS = (0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3)

Set = tuple[np.ndarray, np.ndarray, Any, Any]
"""Features, labels, lower and upper bounds."""


def adult(folder: Path) -> Set:
    numbers, indicators, labels = adult_columns(folder)
    features = np.hstack([numbers.to_numpy(np.float64), indicators.to_numpy()])
    return features, labels, 0, [*ADULT_RANGES.values(), *[1] * indicators.shape[1]]


def magic(folder: Path) -> Set:
    table = pd.read_parquet(folder / "magic.parquet")
    signed = {"fAsym", "fM3Long", "fM3Trans"}
    lower = [-largest if name in signed else 0 for name, largest in MAGIC_RANGES.items()]
    features = table[list(MAGIC_RANGES)].to_numpy(np.float64)
    return features, (table["class"] == "g").to_numpy(), lower, list(MAGIC_RANGES.values())


def rounded(features: np.ndarray, labels: np.ndarray) -> Set:
    """Bounds: 0, or the upper one negative, and the next of 1, 2, 5, 10, 20, … above the largest value."""
    largest = np.abs(features).max(axis=0)
    power = 10.0 ** np.floor(np.log10(largest))
    upper = power * np.select([largest <= power, largest <= 2 * power, largest <= 5 * power], [1, 2, 5], 10)
    return features, labels, np.where(features.min(axis=0) < 0, -upper, 0), upper


def breast_cancer(_folder: Path) -> Set:
    return rounded(*load_breast_cancer(return_X_y=True))


def digits(_folder: Path) -> Set:
    features, digit = load_digits(return_X_y=True)
    return features, digit % 2, 0, 16


def wine(_folder: Path) -> Set:
    features, kind = load_wine(return_X_y=True)
    return rounded(features, kind == 1)


def diabetes(_folder: Path) -> Set:
    features, progress = load_diabetes(return_X_y=True, scaled=False)
    return rounded(features, progress > 140)


def mushroom(folder: Path) -> Set:
    """Item 1 is the class edible, item 2 the other."""
    table = pd.read_parquet(folder / "mushroom.parquet")
    rows = pd.crosstab(table.iloc[:, 0], table.iloc[:, 1]).astype(bool)
    return rows[[item for item in rows.columns if int(item) > 2]].to_numpy(np.float64), rows.iloc[:, 0].to_numpy(), 0, 1


def clouds(_folder: Path) -> Set:
    generator = np.random.default_rng(SEED)
    features, weights = generator.normal(size=(5000, 20)), generator.normal(size=20)
    return features, features @ weights + 3 * generator.normal(size=5000) > 0, -3, 3


def threshold(_folder: Path) -> Set:
    """One feature, and the classes apart far from the middle of its bounds."""
    generator = np.random.default_rng(SEED)
    features = generator.random((5000, 1))
    return features, (features[:, 0] > 0.8) ^ (generator.random(5000) < 0.1), 0, 1


def corner(_folder: Path) -> Set:
    generator = np.random.default_rng(SEED)
    features = generator.random((5000, 2))
    return features, (features.sum(axis=1) > 1.5) ^ (generator.random(5000) < 0.1), 0, 1


TUNED: dict[str, Callable[[Path], Set]] = {"Adult": adult, "Magic": magic}
OTHERS: dict[str, Callable[[Path], Set]] = {
    "breast cancer": breast_cancer, "digits, odd": digits, "wine, 2nd": wine,
    "diabetes": diabetes, "mushroom": mushroom, "normal": clouds, "threshold": threshold, "corner": corner,
}  # fmt: skip


def scaled(data: Set, *, least: int) -> np.ndarray:
    """Mapped to [least, 1] by hand."""
    features, _, lower, upper = data
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    return least + (1 - least) * (np.clip(features, low, high) - low) / (high - low)


def accuracies(features: np.ndarray, labels: np.ndarray, splits: int, **parameters: Any) -> np.ndarray:
    generator = np.random.default_rng(SEED)
    found = []
    for _ in range(splits):
        train, test = np.split(generator.permutation(len(labels)), [len(labels) * 4 // 5])
        model = PrivateLogisticRegression(noise="gamma", loss="logistic", **parameters)
        model.fit(features[train], labels[train])
        found.append(model.score(features[test], labels[test]))
    return np.array(found)


def by_lambda(data: Set, epsilon: float, run: Callable[..., np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    bounds = {"feature_bounds": data[2:], "epsilon": epsilon}
    yield "auto", run(*data[:2], **bounds)
    for value in FIXED:
        yield f"{value:g}", run(*data[:2], lambdas=value, **bounds)
    yield "chosen of 3", run(*data[:2], lambdas=LIST, **bounds)


def by_factor(
    data: Set, epsilon: float, run: Callable[..., np.ndarray], method: str = "objective"
) -> Iterator[tuple[str, np.ndarray]]:
    features, labels, *bounds = data
    rows, weights = len(labels) * 4 // 5, features.shape[1] + 1
    for factor in FACTORS:
        value = max(1e-9, factor * weights / (rows * epsilon))
        yield f"{factor:g}", run(features, labels, lambdas=value, feature_bounds=bounds, epsilon=epsilon, method=method)


def by_scale(data: Set, epsilon: float, run: Callable[..., np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    labels, root = data[1], data[0].shape[1] ** 0.5
    for least in (-1, 0):
        mapped = scaled(data, least=least)
        for name, bound in {"√d": root, "√d/2": max(1, root / 2), "√d/4": max(1, root / 4), "1": 1}.items():
            yield f"[{least}, 1], {name}", run(mapped, labels, norm_bound=bound, epsilon=epsilon)
    yield "raw, 1", run(data[0], labels, norm_bound=1, epsilon=epsilon)


def table(title: str, columns: Callable[..., Iterator[tuple[str, np.ndarray]]], folder: Path, splits: int) -> None:
    print(f"\n{title}; accuracy, mean ± standard error of {splits} splits")
    for number, (name, load) in enumerate({**TUNED, **OTHERS}.items()):
        data = load(folder)
        for epsilon in EPSILONS:
            cells = list(columns(data, epsilon, partial(accuracies, splits=splits)))
            if number == 0 and epsilon == EPSILONS[0]:
                print(f"{'':<16}{'ε':<5}" + "".join(f"{label:>15}" for label, _ in cells))
            if number == len(TUNED) and epsilon == EPSILONS[0]:
                print("-" * (21 + 15 * len(cells)))
            figures = (f"{found.mean():.3f} ±{found.std(ddof=1) / splits**0.5:.3f}" for _, found in cells)
            print(f"{name:<16}{epsilon:<5}" + "".join(f"{figure:>15}" for figure in figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--part", type=int, nargs="+", choices=(1, 2, 3, 4), default=(1, 2, 3, 4))
    arguments = parser.parse_args()
    parts: dict[int, tuple[str, Callable[..., Iterator[tuple[str, np.ndarray]]]]] = {
        1: ("1. Regularisation strength", by_lambda),
        2: ("2. λ as a multiple of d/(nε)", by_factor),
        4: ("4. The same with noise on the output", partial(by_factor, method="output")),
        3: ("3. Scale of features, norm bound (λ auto)", by_scale),
    }
    for number in arguments.part:
        table(*parts[number], arguments.data, arguments.splits)


if __name__ == "__main__":
    main()
