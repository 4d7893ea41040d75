"""Independent laws to test against: naive loops and textbook integrals in float64, and the chi^2 test."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import integrate, stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

LEAST_EXPECTED = 20.0
"""Outcomes expected less often than this are pooled."""
IMPOSSIBLE = 1e-12
"""An outcome of a smaller probability must not be seen at all."""


def softmax(scores: Sequence[float], rate: float) -> list[float]:
    weights = np.exp(rate * (np.array(scores, dtype=float) - max(scores)))
    return [float(weight) for weight in weights / weights.sum()]


def laplace_max(scores: Sequence[float], scale: float) -> list[float]:
    """Pr[i wins], i's density times everybody else's distribution function, integrated."""
    return _noisy_max(tuple(scores), stats.laplace(scale=scale), min(scores) - 60 * scale)


def exponential_max(scores: Sequence[float], scale: float) -> list[float]:
    return _noisy_max(tuple(scores), stats.expon(scale=scale), max(scores))


def _noisy_max(scores: tuple[float, ...], noise: Any, low: float) -> list[float]:
    """The trapezoidal rule on a fine grid: Pr[i wins] = ∫ f(x − c_i) Π_{j ≠ i} F(x − c_j) dx."""
    grid = np.linspace(low, max(scores) + 60 * float(noise.std()), 400_001)
    counts = Counter(scores)
    with np.errstate(divide="ignore"):
        logs = {score: noise.logcdf(grid - score) for score in counts}
    wins = {}
    for score in counts:
        others = sum(
            (count - (other == score)) * logs[other] for other, count in counts.items() if count > (other == score)
        )
        wins[score] = float(integrate.trapezoid(noise.pdf(grid - score) * np.exp(others), grid))
    return [wins[score] for score in scores]


def first_stop_law(hazards: Iterable[float]) -> dict[int | None, float]:
    """Trial ℓ = 1, 2, … stops with the given probability: Pr[first stop = ℓ], None for no stop."""
    law: dict[int | None, float] = {}
    left = 1.0
    for rank, hazard in enumerate(hazards, start=1):
        law[rank] = left * hazard
        left *= 1 - hazard
    law[None] = left
    return law


def naive_large_margin(
    scores: Sequence[int], epsilon: float, delta: float, *, draws: int, dummies: int = 0, seed: int = 1
) -> Counter[int | None]:
    """Algorithm 1 as it is printed, one trial after the other, `draws` times: how often each score's value was chosen.

    `scores` are non-increasing; dummies stand behind the positive scores. They are None, as is the lack of a stop.
    """
    generator = np.random.default_rng(seed)
    ranked = np.array([*(s for s in scores if s > 0), *[0] * dummies] if dummies else scores, dtype=float)
    real = sum(s > 0 for s in scores) if dummies else len(scores)
    length = dummies or len(scores)
    return Counter(
        _naive_run(ranked, real, length, epsilon, delta, generator, padded=dummies > 0) for _ in range(draws)
    )


def _naive_run(
    ranked: NDArray[np.float64],
    real: int,
    length: int,
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
    *,
    padded: bool,
) -> int | None:
    m = ranked[0] + generator.laplace(scale=3 / epsilon)
    g = generator.laplace(scale=6 / epsilon)
    rank = 1
    while rank < length:
        if m - ranked[rank] > generator.laplace(scale=12 / epsilon) + g + threshold(rank, epsilon, delta):
            break
        rank += 1
    if rank == length and padded:
        return None
    weights = np.exp(epsilon * (ranked[:rank] - ranked[0]) / 6)
    winner = int(generator.choice(rank, p=weights / weights.sum()))
    return int(ranked[winner]) if winner < real else None


def threshold(rank: int, epsilon: float, delta: float) -> float:
    """T(ℓ) as Algorithm 1 writes it."""
    t = 6 * (1 + np.log(3 * rank / delta) / epsilon)
    return float(
        3 / epsilon * np.log(3 / (2 * delta))
        + 6 / epsilon * np.log(3 / delta)
        + 12 / epsilon * np.log(3 * rank * (rank + 1) / delta)
        + t
    )


def chi_square_p(observed: Mapping[Any, int], expected: Mapping[Any, float]) -> float:
    """The p-value of Pearson's test, outcomes of small expectation pooled; 0 when an impossible outcome was seen."""
    draws = sum(observed.values())
    if any(expected.get(outcome, 0.0) < IMPOSSIBLE for outcome in observed):
        return 0.0
    small = [outcome for outcome, mass in expected.items() if mass * draws < LEAST_EXPECTED]
    cells = [(observed.get(o, 0), mass * draws) for o, mass in expected.items() if mass * draws >= LEAST_EXPECTED]
    pool = (sum(observed.get(o, 0) for o in small), sum(expected[o] for o in small) * draws)
    rare = float(stats.poisson.sf(pool[0] - 1, pool[1])) if pool[0] else 1.0
    if pool[1] >= LEAST_EXPECTED:
        cells, rare = [*cells, pool], 1.0
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    spread = float(stats.chi2.sf(statistic, len(cells) - 1)) if len(cells) > 1 else 1.0
    return min(1.0, 2 * min(rare, spread))


def two_sample_p(left: Counter[Any], right: Counter[Any]) -> float:
    """The p-value of the test that both samples come from one law; outcomes seen rarely in both are pooled."""
    rare = {outcome for outcome in {*left, *right} if left[outcome] + right[outcome] < 2 * LEAST_EXPECTED}
    table = [[counts[o] for o in {*left, *right} - rare] + [sum(counts[o] for o in rare)] for counts in (left, right)]
    columns = [column for column in zip(*table, strict=True) if sum(column)]
    return float(stats.chi2_contingency(np.array(columns).T)[1]) if len(columns) > 1 else 1.0


def tally(sampler: Callable[[], Any], draws: int) -> Counter[Any]:
    return Counter(sampler() for _ in range(draws))
