"""Slow, independent laws of small universes: candidate by candidate, adaptive quadrature, explicit tie-breaks.

Candidates are listed one by one as scores; a dummy is `DUMMY`, of score 0.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from math import exp, log, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import integrate, stats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

DUMMY = None
Candidate = float | None


class Margin(NamedTuple):
    """A margin mechanism as plain functions: T(ℓ), Pr[test at ℓ passes | its slack], density of X and its support."""

    threshold: Callable[[int], float]
    passes: Callable[[int, float], float]
    density: Callable[[float], float]
    support: tuple[float, float]
    rate: float


def large_margin(epsilon: float, delta: float) -> Margin:
    """Algorithm 1 with its constants as printed."""

    def threshold(rank: int) -> float:
        t = 6 * (1 + log(3 * rank / delta) / epsilon)
        tails = 3 / epsilon * log(3 / (2 * delta)) + 6 / epsilon * log(3 / delta)
        return tails + 12 / epsilon * log(3 * rank * (rank + 1) / delta) + t

    def passes(_: int, slack: float) -> float:
        return float(stats.laplace(scale=12 / epsilon).cdf(slack))

    return Margin(threshold, passes, _laplace_difference(epsilon), (-240 / epsilon, 240 / epsilon), epsilon / 6)


def _laplace_difference(epsilon: float) -> Callable[[float], float]:
    """The density of Lap(3/ε) − Lap(6/ε): exponentials integrated beyond and between the kinks at 0 and at x."""
    a, b = epsilon / 3, epsilon / 6

    def density(x: float) -> float:
        near, far = exp(-a * abs(x)), exp(-b * abs(x))
        return a * b / 4 * ((near + far) / (a + b) + (far - near) / (a - b))

    return density


def large_margin_tight(
    epsilon: float, delta: float, unit: float, split: tuple[float, float, float] = (0.2, 0.4, 0.4), share: float = 0.5
) -> Margin:
    """Exponential noise with X = −ρ; unit is 1 under add_remove, 2 under replace_one.

    The test at rank 1 has all of ε: no test comes before it, and nothing is drawn after a stop there.
    """
    for_threshold, for_tests, for_draw = (part * epsilon for part in split)

    def for_test(rank: int) -> float:
        return epsilon if rank == 1 else for_tests

    def threshold(rank: int) -> float:
        leaving = 0.0 if rank == 1 else unit / for_draw * log((rank - 1) / (delta * (1 - share)))
        return unit + leaving + unit / for_test(rank) * log(rank * (rank + 1) / (delta * share))

    def passes(rank: int, slack: float) -> float:
        return exp(min(0.0, slack * for_test(rank) / unit))

    density = stats.expon(scale=unit / for_threshold).pdf
    return Margin(threshold, passes, lambda x: density(-x), (-45 * unit / for_threshold, 0.0), for_draw / unit)


def stop_law(scores: Sequence[float], margin: Margin, limit: int) -> list[float]:
    """Pr[stop at ℓ] for ℓ = 1 … limit and Pr[no stop], for sorted scores: one adaptive integral per outcome."""
    targets = [margin.threshold(rank) - (scores[0] - scores[rank]) for rank in range(1, limit + 1)]
    low, high = margin.support
    cuts = sorted({low, high, *(cut for cut in (0.0, *targets) if low < cut < high)})

    def outcome(stop: int) -> Callable[[float], float]:
        def at(x: float) -> float:
            missed = prod(1 - margin.passes(rank, x - target) for rank, target in enumerate(targets[:stop], start=1))
            return margin.density(x) * missed * (margin.passes(stop + 1, x - targets[stop]) if stop < limit else 1.0)

        return at

    return [_integral(outcome(stop), cuts) for stop in range(limit + 1)]


def margin_law(candidates: Sequence[Candidate], margin: Margin) -> tuple[list[float], float]:
    """The mass of each candidate and of *nothing*, averaged over every order of tied candidates.

    Dummies rank first among zeros, tests end below their number; without dummies all candidates may be drawn.
    """
    orders = _orders(candidates)
    ranked = [candidates[i] or 0.0 for i in orders[0]]
    dummies = sum(candidate is DUMMY for candidate in candidates)
    limit = (dummies or len(candidates)) - 1
    stops = stop_law(ranked, margin, limit)
    masses = np.zeros(len(candidates))
    for order in orders:
        for rank, mass in enumerate(stops[:limit], start=1):
            masses += mass / len(orders) * _draw(candidates, order[:rank], margin.rate)
        if not dummies:
            masses += stops[-1] / len(orders) * _draw(candidates, order, margin.rate)
    real = [float(mass) for mass, candidate in zip(masses, candidates, strict=True) if candidate is not DUMMY]
    return real, 1 - sum(real)


def _orders(candidates: Sequence[Candidate]) -> list[tuple[int, ...]]:
    """Every ranking of the candidates that agrees with their scores."""

    keys = [_rank_key(candidate) for candidate in candidates]
    return [order for order in permutations(range(len(keys))) if [keys[i] for i in order] == sorted(keys)]


def _draw(candidates: Sequence[Candidate], chosen: Sequence[int], rate: float) -> NDArray[np.float64]:
    weights = np.zeros(len(candidates))
    for i in chosen:
        weights[i] = exp(rate * ((candidates[i] or 0.0) - max(candidate or 0.0 for candidate in candidates)))
    return np.asarray(weights / weights.sum())


def permute_and_flip_law(scores: Sequence[float], scale: float) -> list[float]:
    """By definition: each candidate tosses a coin of bias e^(−(best − score)/scale), a uniform one of the heads wins.

    Candidate i wins with probability p_i E[1/(1 + N)], N the number of heads among the others.
    """
    biases = [exp((score - max(scores)) / scale) for score in scores]
    masses = []
    for i, bias in enumerate(biases):
        heads = np.ones(1)  # the law of N, one coin after the other
        for other in biases[:i] + biases[i + 1 :]:
            heads = np.convolve(heads, [1 - other, other])
        masses.append(bias * sum(mass / (1 + number) for number, mass in enumerate(heads.tolist())))
    return masses


def limited_domain_permute_and_flip(
    candidates: Sequence[Candidate], epsilon: float, delta: float, unit: float, kbar: int
) -> tuple[list[float], float]:
    """The mass of each candidate and of *nothing*, averaged over every order of tied candidates."""
    padded = [*candidates, *[DUMMY] * (kbar + 1 - sum(candidate is DUMMY for candidate in candidates))]
    orders = _orders_of_the_best(padded, kbar)
    masses = np.zeros(len(padded))
    for order in orders:
        scores = [padded[i] or 0.0 for i in order]
        nothing = scores[kbar] + unit + unit / epsilon * log(kbar / (2 * delta))
        for i, mass in zip(order, permute_and_flip_law([*scores[:kbar], nothing], unit / epsilon)[:-1], strict=False):
            masses[i] += mass / len(orders)
    real = [float(mass) for mass, candidate in zip(masses, padded, strict=True) if candidate is not DUMMY]
    return real, 1 - sum(real)


def _orders_of_the_best(candidates: Sequence[Candidate], kept: int) -> list[tuple[int, ...]]:
    """One ranking, turned within each run of ties so that every member of it stands at each of its places once."""
    ranked = sorted(range(len(candidates)), key=lambda i: _rank_key(candidates[i]))
    edge = _rank_key(candidates[ranked[kept]])
    tied = [place for place, i in enumerate(ranked) if _rank_key(candidates[i]) == edge]
    run = ranked[tied[0] : tied[-1] + 1]
    turns = [run[shift:] + run[:shift] for shift in range(len(run))]
    return [tuple(ranked[: tied[0]] + turn + ranked[tied[-1] + 1 :]) for turn in turns]


def _rank_key(candidate: Candidate) -> tuple[float, bool]:
    return -(candidate or 0.0), candidate is not DUMMY


def winner_law(scores: Sequence[float], noise: stats.rv_continuous) -> list[float]:
    """Pr[i has the largest noisy score]: its density times everybody else's distribution function."""
    reach = 45 * noise.std()
    cuts = sorted({min(scores) - reach, *scores, max(scores) + reach})

    def wins(i: int) -> Callable[[float], float]:
        others = [score for j, score in enumerate(scores) if j != i]
        return lambda x: float(noise.pdf(x - scores[i]) * np.prod(noise.cdf(x - np.array(others))))

    return [_integral(wins(i), cuts) for i in range(len(scores))]


def _integral(density: Callable[[float], float], cuts: Sequence[float]) -> float:
    pieces = [integrate.quad(density, *ends, epsabs=1e-13, epsrel=1e-11, limit=400) for ends in pairwise(cuts)]
    return float(sum(piece[0] for piece in pieces))
