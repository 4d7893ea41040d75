"""The default classifiers beside their pure forms, diffprivlib's default and DP-SGD: AUC and accuracy, equal ε and δ.

Random splits, a fifth of the rows for tests; all methods see the same ones. A default is marked * where it is more than
two standard errors of the paired difference below the best with its guarantee. Bounds of the features are public round
numbers; diffprivlib and DP-SGD get the rows as our default scales them: mapped to [−1, 1], norm at most 1.
diffprivlib, which spends no δ, lives in .venv-peers (see the Makefile). DP-SGD is averaged noisy gradient descent from
0 on Poisson samples; its privacy loss is that of the exact discretised profile, under replace_one as all others, and
under add_remove, where it needs half of the noise or a little more. `--tune` shows how its steps were chosen, on Adult
and Magic alone, as our rules were. `--losses` compares the logistic loss with the others.
Usage: python experiments/defaults.py [--splits 16] [--only NAME ...] [--tune | --losses] [--data ../shared/data]
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from dpmine import PrivateHuberSVC, PrivateLogisticRegression
from dpmine.models.linear.preprocessing import FeatureBounds, UnitBall
from experiments.noise import SETS as BOUNDED
from experiments.noise import Set

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
WORKER = ROOT / "benchmarks" / "peers" / "linear_worker.py"
SEED = 20_131
EPSILONS = (0.3, 1, 3)
DELTA = 1e-6
MANY = 50
"""Features from which on the share of cells is counted in which a default is above all others."""

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Positions: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def forests(_folder: Path) -> Set:
    """Like covtype: 10 numbers, 4 and 40 indicators of two categories, half of the rows in the class; synthetic.

    A row has an altitude a and a moisture m, normal. The areas cut the altitude in four, blurred; soil k of 40 is
    drawn with a weight k^(−1/2)·exp(−(a − c_k)²), its centre c_k normal. The numbers are mixtures of a, m and noise, of
    which three are skewed. The class is a band of altitudes, which moisture moves, and a bonus of the soil; a linear
    rule can see a part of it only.
    """
    generator, rows, soils = np.random.default_rng(54), 60_000, 40
    altitude, moisture = generator.normal(size=(2, rows))
    area = np.digitize(altitude + 0.7 * generator.normal(size=rows), [-0.8, 0.1, 0.9])
    centres, bonus = generator.normal(size=(2, soils))
    pull = np.log(np.arange(1, soils + 1.0)) / -2 - (altitude[:, np.newaxis] - centres) ** 2
    soil = (pull + generator.gumbel(size=pull.shape)).argmax(axis=1)
    mixing = generator.normal(size=(2, 10))
    numbers = np.column_stack([altitude, moisture]) @ mixing + generator.normal(size=(rows, 10))
    numbers[:, :3] = np.exp(numbers[:, :3] / 2)
    score = 1 - (altitude - 0.3 - 0.4 * moisture) ** 2 + 0.8 * bonus[soil] + 0.5 * generator.normal(size=rows)
    features = np.hstack([numbers, np.eye(4)[area], np.eye(soils)[soil]])
    lower, upper = np.r_[np.zeros(3), np.full(7, -6), np.zeros(44)], np.r_[np.full(3, 10), np.full(7, 6), np.ones(44)]
    return features, (score > np.median(score)).astype(int), [lower, upper]


SETS: dict[str, Callable[[Path], Set]] = {
    **{name: load for name, load in BOUNDED.items() if name != "Adult, by hand"},
    "forests": forests,
}
TUNED = ("Adult", "Magic")

# Noisy gradient descent and its privacy


@dataclass(frozen=True)
class Descent:
    """Steps of noisy gradient descent; `share` is the probability of a row to be in a step, `clip` the norm."""

    share: float
    steps: int
    rate: float
    clip: float

    def weights(self, signed: Floats, sigma: float, generator: np.random.Generator) -> Floats:
        """Logistic regression without a ridge: the mean of the second half of the iterates.

        `signed` are rows times their signs, shape (n, d), `sigma` the noise over the clipping norm.
        """
        weights, found, norms = np.zeros(signed.shape[1]), [], np.linalg.norm(signed, axis=1)
        for _ in range(self.steps):
            places = slice(None) if self.share == 1 else self.sample(len(signed), generator)
            part = signed[places]
            slopes = expit(-(part @ weights))
            total = -np.minimum(slopes, self.clip / np.maximum(norms[places], 1e-300)) @ part
            noisy = total + sigma * self.clip * generator.normal(size=len(weights))
            weights = weights - self.rate / (self.share * len(signed) * self.clip) * noisy
            found.append(weights)
        return np.asarray(np.mean(found[self.steps // 2 :], axis=0))

    def sample(self, size: int, generator: np.random.Generator) -> Positions:
        """Each of 0 … size − 1 with the probability `share`, by the gaps between them, which are geometric."""
        most = int(size * self.share + 10 * (size * self.share) ** 0.5 + 100)
        places = np.cumsum(generator.geometric(self.share, most)) - 1
        return places[: np.searchsorted(places, size)]


DESCENT = Descent(share=0.1, steps=1500, rate=10, clip=0.5)
"""What --tune found best on Adult and Magic, after two coarser rounds: shares to 1, 20 steps, rates from 2 to 300."""


def least_noise(epsilon: float, share: float, steps: int, *, replaced: bool) -> float:
    """σ over the clipping norm for (ε, DELTA), by bisection to a thousandth."""
    low, high = 0.01, 1.0
    while failure(high, epsilon, share, steps, replaced=replaced) > DELTA:
        low, high = high, 2 * high
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        if failure(middle, epsilon, share, steps, replaced=replaced) > DELTA:
            low = middle
        else:
            high = middle
    return high


def failure(sigma: float, epsilon: float, share: float, steps: int, *, replaced: bool) -> float:
    """The least δ of `steps` sums of a Poisson sample with Gaussian noise, at ε.

    The pair that dominates: (1 − q)N(0, σ²) + qN(1, σ²) and the same with −1 for 1 under replace_one, with N(0, σ²)
    alone, in either order, under add_remove. Source: Zhu, Dong & Wang 2022, section 4; Lebeda et al. 2024.
    """
    if share == 1:
        moved = (2 if replaced else 1) * steps**0.5 / sigma
        tail = np.exp(epsilon + norm.logcdf(-epsilon / moved - moved / 2))
        return float(norm.cdf(moved / 2 - epsilon / moved) - tail)
    one = (share, 1.0)
    if replaced:
        return _composed(one, (share, -1.0), sigma, steps, epsilon)
    none = (0.0, 0.0)
    return max(_composed(one, none, sigma, steps, epsilon), _composed(none, one, sigma, steps, epsilon))


def _composed(p: tuple[float, float], q: tuple[float, float], sigma: float, steps: int, epsilon: float) -> float:
    """δ(ε) of `steps` copies of a pair: losses on a grid, each split between its two neighbours, composed by FFT."""
    cells, spacing, span = 2**16, 2.0**-11, 2**18
    edges = np.linspace(-14 * sigma - 1, 14 * sigma + 1, cells + 1)
    masses = [(1 - w) * _cells(edges / sigma) + w * _cells((edges - m) / sigma) for w, m in (p, q)]
    seen = (masses[0] > 1e-300) & (masses[1] > 1e-300)
    losses = (np.log(masses[0][seen]) - np.log(masses[1][seen])) / spacing
    below = np.floor(losses).astype(int)
    pieces = [(below, 1 - (losses - below)), (below + 1, losses - below)]
    grid = np.zeros(span)
    for place, part in pieces:
        np.add.at(grid, np.clip(place, -span // 2, span // 2 - 1) + span // 2, masses[0][seen] * part)
    law = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(grid)) ** steps, span)
    law = np.maximum(np.fft.fftshift(law), 0)
    values = spacing * (np.arange(span) - span // 2)
    above = values > epsilon
    return float((law[above] * -np.expm1(epsilon - values[above])).sum())


def _cells(edges: Floats) -> Floats:
    """Masses of the standard normal distribution between edges, precise in both tails."""
    upper = edges[:-1] > 0
    return np.asarray(
        np.where(upper, norm.sf(edges[:-1]) - norm.sf(edges[1:]), norm.cdf(edges[1:]) - norm.cdf(edges[:-1]))
    )


# The table


@cache
def sigma_of(epsilon: float, descent: Descent, *, replaced: bool) -> float:
    return least_noise(epsilon, descent.share, descent.steps, replaced=replaced)


Measure: TypeAlias = Floats
"""By split."""
Measures: TypeAlias = Floats
"""AUC and accuracy by split, shape (2, splits)."""
OURS: dict[str, Callable[..., Any]] = {"logistic": PrivateLogisticRegression, "Huber": PrivateHuberSVC}
RIVALS = ("logistic", "Huber", "logistic, pure", "Huber, pure", "diffprivlib", "DP-SGD")
"""Under replace_one, all of them."""
METHODS = (*RIVALS, "DP-SGD, add-remove")


def splits_of(labels: Floats, splits: int) -> Iterator[list[np.ndarray[Any, Any]]]:
    generator = np.random.default_rng(SEED)
    for _ in range(splits):
        yield np.split(generator.permutation(len(labels)), [len(labels) * 4 // 5])


def measured(decisions: Floats, labels: Floats) -> tuple[float, float]:
    return float(roc_auc_score(labels, decisions)), float(((decisions > 0) == labels).mean())


def ours(data: Set, epsilon: float, splits: int, kind: Callable[..., Any], **parameters: Any) -> Measures:
    features, labels, bounds = data
    found = []
    for train, test in splits_of(labels, splits):
        model = kind(feature_bounds=bounds, epsilon=epsilon, **parameters).fit(features[train], labels[train])
        found.append(measured(model.decision_function(features[test]), labels[test]))
    return np.array(found).T


def noisy_descent(data: Set, epsilon: float, splits: int, descent: Descent, *, replaced: bool) -> Measures:
    """Its noise is numpy's: this is a measurement, not a release."""
    labels, found = data[1], []
    rows, generator = ball(data, intercept=True), np.random.default_rng(SEED + 1)
    signed = rows * np.where(labels, 1.0, -1.0)[:, np.newaxis]
    sigma = sigma_of(epsilon, descent, replaced=replaced)
    for train, test in splits_of(labels, splits):
        weights = descent.weights(signed[train], sigma, generator)
        found.append(measured(rows[test] @ weights, labels[test]))
    return np.array(found).T


def ball(data: Set, *, intercept: bool) -> Floats:
    """The rows as the default of our classifiers scales them."""
    features, _, bounds = data
    return UnitBall(1.0, intercept, FeatureBounds.of(bounds).for_columns(features.shape[1])).rows(features)


def diffprivlib(data: Set, splits: int) -> list[Measures]:
    """With all its parameters at their defaults but the norm, which it needs; one entry for each ε."""
    rows, labels = ball(data, intercept=False), data[1]
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{number}.npz") for number in range(splits)]
        for path, (train, test) in zip(paths, splits_of(labels, splits), strict=True):
            np.savez(path, train=rows[train], labels=labels[train], test=rows[test], truth=labels[test])
        tasks = json.dumps([{"epsilon": epsilon, "C": 1.0, "runs": 1} for epsilon in EPSILONS])
        done = subprocess.run(
            [str(PEERS), str(WORKER), *paths], input=tasks, capture_output=True, text=True, check=True
        )
    return [np.array([found["auc"], found["accuracy"]]) for found in json.loads(done.stdout)]


def compared(data: Set, splits: int) -> list[dict[str, Measures]]:
    """For each ε, by method."""
    theirs = diffprivlib(data, splits)
    return [
        {
            **{name: ours(data, epsilon, splits, kind) for name, kind in OURS.items()},
            **{f"{name}, pure": ours(data, epsilon, splits, kind, noise="gamma") for name, kind in OURS.items()},
            "diffprivlib": other,
            "DP-SGD": noisy_descent(data, epsilon, splits, DESCENT, replaced=True),
            "DP-SGD, add-remove": noisy_descent(data, epsilon, splits, DESCENT, replaced=False),
        }
        for epsilon, other in zip(EPSILONS, theirs, strict=True)
    ]


def best_of(cell: dict[str, Measure]) -> str:
    """Of the methods with the same relation."""
    return max(RIVALS, key=lambda method: cell[method].mean())


def behind(cell: dict[str, Measure], default: str) -> bool:
    """Is a default more than two standard errors of the paired difference below the best?"""
    gaps = cell[best_of(cell)] - cell[default]
    return bool(gaps.mean() > 2 * gaps.std(ddof=1) / len(gaps) ** 0.5)


def row(cell: dict[str, Measure]) -> str:
    stars = {method: " \\*" * behind(cell, method) for method in OURS}
    return " | ".join(_figure(cell[method]) + stars.get(method, "") for method in METHODS)


def table(folder: Path, splits: int, names: list[str]) -> None:
    """The rows, and how often a default is behind, and above all others on wide data."""
    print(f"Mean ± standard error of {splits} splits")
    print("| | ε | | " + " | ".join(METHODS) + " |\n" + "|---" * (3 + len(METHODS)) + "|")
    marked, wide = dict.fromkeys(OURS, 0), []
    for name in names:
        data = SETS[name](folder)
        shape = f"{len(data[1]):,} × {data[0].shape[1]}"
        for epsilon, found in zip(EPSILONS, compared(data, splits), strict=True):
            for number, measure in enumerate(("AUC", "accuracy")):
                cell = {method: found[method][number] for method in METHODS}
                print(f"| {name}, {shape} | {epsilon} | {measure} | {row(cell)} |", flush=True)
                for method in OURS:
                    marked[method] += behind(cell, method)
                if data[0].shape[1] >= MANY:
                    wide.append(best_of(cell) in OURS)
    print(f"Marked: {marked}; a default is above all in {sum(wide)} of {len(wide)} cells with d >= {MANY}")


def _figure(values: Measure, form: str = ".3f") -> str:
    return f"{values.mean():{form}} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"


def losses(folder: Path, splits: int, names: list[str]) -> None:
    """AUC and accuracy with the logistic loss, and what the capped one and Huber's gain."""
    for name in names:
        data = SETS[name](folder)
        for epsilon in EPSILONS:
            logistic = ours(data, epsilon, splits, PrivateLogisticRegression, loss="logistic")
            cells = [_figure(values) for values in logistic]
            for kind in (PrivateLogisticRegression, PrivateHuberSVC):
                gains = ours(data, epsilon, splits, kind) - logistic
                cells += [f"{_figure(values, '+.3f')}" for values in gains]
            print(f"| {name} | {epsilon} | " + " | ".join(cells) + " |", flush=True)


def tune(folder: Path, splits: int) -> None:
    """The mean AUC of every choice of steps over Adult and Magic at all ε; under replace_one."""
    data, found = [SETS[name](folder) for name in TUNED], []
    for share, steps, rate, clip in product((0.1,), (150, 500, 1500), (10, 30), (0.1, 0.25, 0.5, 1)):
        descent = Descent(share, steps, rate, clip)
        cells = [noisy_descent(part, epsilon, splits, descent, replaced=True) for part in data for epsilon in EPSILONS]
        found.append((np.mean(cells), descent))
        means = " ".join(f"{cell[0].mean():.4f} {cell[1].mean():.4f}" for cell in cells)
        print(f"{descent}: {np.mean(cells):.4f}; {means}", flush=True)
    print("best:", *max(found, key=lambda pair: pair[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--splits", type=int, default=16)
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--tune", action="store_true", help="the steps of DP-SGD instead of the table")
    parser.add_argument("--losses", action="store_true", help="other losses beside the logistic one instead")
    arguments = parser.parse_args()
    if arguments.tune:
        tune(arguments.data, arguments.splits)
    elif arguments.losses:
        losses(arguments.data, arguments.splits, arguments.only)
    else:
        table(arguments.data, arguments.splits, arguments.only)


if __name__ == "__main__":
    main()
