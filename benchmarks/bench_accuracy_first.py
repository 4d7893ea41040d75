"""A whole fit of AccuracyFirstRidge beside a plain numpy loop over hypotheses, in one run.

100,000 rows, 77 columns, 1,000 levels, from raw arrays to weights: once where nothing is accepted, so that all steps
are walked, and once to a target of 0.05. The loop is Algorithm 3 of Ligett et al. 2017 as it stands: Laplace noise from
numpy on all p² + p entries at every level, the ball's minimiser by one eigendecomposition and bisection, the risk by a
pass over the rows, a Laplace test. It takes as many steps as the fit did, whatever its own tests say.
Usage: python benchmarks/bench_accuracy_first.py [--repeats 3]
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from dpmine.models.accuracy_first.estimators import AccuracyFirstRidge
from dpmine.models.accuracy_first.objectives import RidgeBounds
from dpmine.models.accuracy_first.settings import SearchTerms
from experiments.accuracy_first_data import RECORDS, SEED, WEEK_X_BOUND, WEEK_Y_BOUND, week_of_counts

STEPS = 1000
RIDGE = 0.005  # on scaled rows
FAILURE = 0.1


def scaled(features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    norms = np.maximum(np.abs(features).sum(axis=1), WEEK_X_BOUND)
    return features / norms[:, np.newaxis], np.clip(targets / WEEK_Y_BOUND, -1, 1)


def falling_noise(values: np.ndarray, epsilons: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Algorithm 1: from the last level back to the first, noise is kept with probability (ε_t/ε_{t+1})²."""
    path = np.empty((len(epsilons), len(values)))
    path[-1] = values + generator.laplace(scale=4 / epsilons[-1], size=len(values))
    for t in range(len(epsilons) - 2, -1, -1):
        changed = generator.random(len(values)) >= (epsilons[t] / epsilons[t + 1]) ** 2
        path[t] = path[t + 1]
        path[t, changed] += generator.laplace(scale=4 / epsilons[t], size=int(changed.sum()))
    return path


def minimum_over_ball(matrix: np.ndarray, vector: np.ndarray, radius: float) -> np.ndarray:
    """Eigenvalues, then 60 halvings of the bracket of the multiplier; the hard case has probability 0."""
    values, vectors = np.linalg.eigh(matrix)
    entries = vectors.T @ vector
    if values[0] > 0 and np.linalg.norm(entries / values) <= radius:
        return vectors @ (entries / values)
    low = max(0.0, -values[0])
    high = low + np.linalg.norm(entries) / radius
    for _ in range(60):
        middle = (low + high) / 2
        if np.linalg.norm(entries / (values + middle)) > radius:
            low = middle
        else:
            high = middle
    return vectors @ (entries / (values + high))


def plain(features: np.ndarray, targets: np.ndarray, epsilons: np.ndarray, target: float, steps: int) -> np.ndarray:
    """The loop; returns its last hypothesis."""
    generator = np.random.default_rng(SEED)
    rows, y = scaled(features, targets)
    n, p = rows.shape
    radius = 0.5 / np.sqrt(RIDGE)
    gram, moments = rows.T @ rows, rows.T @ y

    def risk(weights: np.ndarray) -> float:
        residuals = rows @ weights - y
        return float(residuals @ residuals / (2 * n) + RIDGE / 2 * weights @ weights)

    least = risk(np.linalg.solve(gram / n + RIDGE * np.eye(p), moments / n))
    charge = 16 * (radius + 1) ** 2 / n * np.log(2 * len(epsilons) / FAILURE) / target
    scale = (radius + 1) ** 2 / n / charge
    bar = -target / 2 + generator.laplace(scale=2 * scale)
    path = falling_noise(np.concatenate([gram.ravel(), moments]), epsilons, generator)
    weights, accepted = np.zeros(p), 0
    for noisy in path[:steps]:
        matrix = noisy[: p * p].reshape(p, p)
        weights = minimum_over_ball((matrix + matrix.T) / (2 * n) + RIDGE * np.eye(p), noisy[p * p :] / n, radius)
        accepted += least - risk(weights) + generator.laplace(scale=4 * scale) >= bar
    return weights


def estimator(target: float, epsilon_max: float) -> AccuracyFirstRidge:
    return AccuracyFirstRidge(
        excess_risk=target * WEEK_Y_BOUND**2,
        regularization=RIDGE * WEEK_X_BOUND**2,
        failure_probability=FAILURE,
        epsilon_max=epsilon_max,
        x_bound=WEEK_X_BOUND,
        y_bound=WEEK_Y_BOUND,
        steps=STEPS,
    )


def terms_of(model: AccuracyFirstRidge, columns: int) -> SearchTerms:
    settings = model._settings()  # noqa: SLF001 - the levels, for the loop
    return settings.terms(RidgeBounds(RECORDS, columns, settings.ridge))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def steps_of(model: AccuracyFirstRidge, terms: SearchTerms) -> int:
    """How many hypotheses a fit looked at, from what it cost."""
    charged = model.guarantee_.ex_post_epsilon
    return terms.epsilons.index(charged - terms.test.charge) + 1 if model.reached_ else len(terms.epsilons)


def compare(name: str, data: tuple[np.ndarray, np.ndarray], model: AccuracyFirstRidge, repeats: int) -> None:
    terms = terms_of(model, data[0].shape[1])
    levels, target = np.array([float(epsilon) for epsilon in terms.epsilons]), float(terms.target)
    fits, loops, steps = [], [], []
    for _ in range(repeats):
        fits.append(timed(partial(model.fit, *data)))
        steps.append(steps_of(model, terms))
        loops.append(timed(partial(plain, *data, levels, target, steps[-1])))
    fit, loop = statistics.median(fits), statistics.median(loops)
    print(
        f"{name:<18}{len(levels)} levels up to {levels[-1]:.2g}, {'/'.join(map(str, steps))} steps: fit {fit:.2f} s "
        f"({min(fits):.2f} to {max(fits):.2f}), plain loop {loop:.1f} s, {loop / fit:.1f} times as long",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    data = week_of_counts(RECORDS, np.random.default_rng(SEED))
    estimator(10, 1000).fit(data[0][:1000], data[1][:1000])  # imports
    print(f"{data[0].shape[0]:,} × {data[0].shape[1]}; load before: {os.getloadavg()[0]:.2f}; median of {repeats}")
    compare("nothing reached", data, estimator(0.0005, 41), repeats)
    compare("target 0.05", data, estimator(0.05, 10), repeats)
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
