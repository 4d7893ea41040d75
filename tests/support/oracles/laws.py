"""Slow, independent laws of small universes: candidate by candidate, adaptive quadrature, explicit tie-breaks.

Candidates are listed one by one as scores; a dummy is `DUMMY`, of score 0.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from math import exp, log, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import integrate, stats

from support.oracles.mechanisms import softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.selection.mechanisms.mechanism import Mechanism

DUMMY = None
Candidate = float | None
Outcomes = tuple[list[float], float]
"""The mass of each candidate and of *nothing*."""


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
    epsilon: float, delta: float, u: float, split: tuple[float, float, float] = (0.2, 0.4, 0.4), share: float = 0.5
) -> Margin:
    """Exponential noise with X = −ρ; u is 1 under add_remove, 2 under replace_one.

    The test at rank 1 has all of ε: no test comes before it, and nothing is drawn after a stop there.
    """
    for_threshold, for_tests, for_draw = (part * epsilon for part in split)

    def for_test(rank: int) -> float:
        return epsilon if rank == 1 else for_tests

    def threshold(rank: int) -> float:
        leaving = 0.0 if rank == 1 else u / for_draw * log((rank - 1) / (delta * (1 - share)))
        return u + leaving + u / for_test(rank) * log(rank * (rank + 1) / (delta * share))

    def passes(rank: int, slack: float) -> float:
        return exp(min(0.0, slack * for_test(rank) / u))

    density = stats.expon(scale=u / for_threshold).pdf
    return Margin(threshold, passes, lambda x: density(-x), (-45 * u / for_threshold, 0.0), for_draw / u)


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


def margin_law(candidates: Sequence[Candidate], margin: Margin) -> Outcomes:
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
    return _outcomes(candidates, masses.tolist())


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
    candidates: Sequence[Candidate], epsilon: float, delta: float, u: float, kbar: int
) -> Outcomes:
    """Permute-and-flip among the k̄ best candidates and *nothing*."""
    nothing = u + u / epsilon * log(kbar / (2 * delta))
    return _kept_domain(candidates, kbar, nothing, lambda scores: permute_and_flip_law(scores, u / epsilon))


def limited_domain(candidates: Sequence[Candidate], epsilon: float, delta: float, u: float, kbar: int) -> Outcomes:
    """The exponential mechanism among the k̄ best candidates and *nothing*."""
    nothing = u + u / epsilon * log(kbar / delta)
    return _kept_domain(candidates, kbar, nothing, lambda scores: softmax(scores, epsilon / u))


def _kept_domain(
    candidates: Sequence[Candidate], kbar: int, slack: float, winners: Callable[[list[float]], list[float]]
) -> Outcomes:
    """*Nothing* stands `slack` above the first candidate that is not kept; over every order of tied candidates."""
    padded = [*candidates, *[DUMMY] * (kbar + 1 - sum(candidate is DUMMY for candidate in candidates))]
    orders = _orders_of_the_best(padded, kbar)
    masses = np.zeros(len(padded))
    for order in orders:
        scores = [padded[i] or 0.0 for i in order]
        for i, mass in zip(order, winners([*scores[:kbar], scores[kbar] + slack])[:-1], strict=False):
            masses[i] += mass / len(orders)
    return _outcomes(padded, masses.tolist())


def stable_maximiser(candidates: Sequence[Candidate], epsilon: float, delta: float, u: float) -> Outcomes:
    """One of the best, if its lead less `u` exceeds the threshold with Laplace noise; unknown lists are padded."""
    padded = [*candidates, *[DUMMY] * 2] if DUMMY in candidates else list(candidates)
    order = sorted(range(len(padded)), key=lambda i: _rank_key(padded[i]))
    best = [i for i in order if _rank_key(padded[i]) == _rank_key(padded[order[0]])]
    lead = (padded[order[0]] or 0.0) - (padded[order[1]] or 0.0)
    noise = stats.laplace(scale=u / epsilon)
    mass = float(noise.sf(u / epsilon * log(1 / (2 * delta)) - max(0.0, lead - u)))
    return _outcomes(padded, [mass / len(best) if i in best else 0.0 for i in range(len(padded))])


def bounded_growth(candidates: Sequence[Candidate], epsilon: float, delta: float, u: float, growth: int) -> Outcomes:
    """The exponential mechanism over the candidates that occur, with *nothing* of weight W."""
    rate = epsilon / u
    nothing = growth * exp(rate) * max((1 - delta) / delta, 1 / (exp(rate) - 1))
    weights = [exp(rate * candidate) if candidate else 0.0 for candidate in candidates]
    return _outcomes(candidates, [weight / (sum(weights) + nothing) for weight in weights])


def _outcomes(candidates: Sequence[Candidate], masses: Sequence[float]) -> Outcomes:
    """The mass of each real candidate, and of *nothing*, which dummies are."""
    real = [mass for mass, candidate in zip(masses, candidates, strict=True) if candidate is not DUMMY]
    return real, 1 - sum(real)


def _of_all(candidates: Sequence[Candidate], winners: Callable[[list[float]], list[float]]) -> Outcomes:
    """Where a dummy is a candidate like others."""
    return _outcomes(candidates, winners([candidate or 0.0 for candidate in candidates]))


def _best(scores: Sequence[float]) -> list[float]:
    return [(score == max(scores)) / scores.count(max(scores)) for score in scores]


OF_MECHANISMS: dict[str, Callable[[Sequence[Candidate], Mechanism], Outcomes]] = {
    "large_margin": lambda candidates, m: margin_law(candidates, large_margin(float(m.epsilon), float(m.delta))),
    "large_margin_tight": lambda candidates, m: margin_law(candidates, large_margin_tight(*_numbers(m))),
    "limited_domain": lambda candidates, m: limited_domain(candidates, *_numbers(m, "kbar")),
    "limited_domain_permute_and_flip": lambda candidates, m: limited_domain_permute_and_flip(
        candidates, *_numbers(m, "kbar")
    ),
    "stable_maximiser": lambda candidates, m: stable_maximiser(candidates, *_numbers(m)),
    "bounded_growth": lambda candidates, m: bounded_growth(candidates, *_numbers(m, "growth")),
    "exponential": lambda candidates, m: _of_all(candidates, lambda scores: softmax(scores, 1 / float(m.scale))),
    "max_of_exponentials": lambda candidates, m: _of_all(
        candidates, lambda scores: permute_and_flip_law(scores, float(m.scale))
    ),
    "max_of_laplaces": lambda candidates, m: _of_all(
        candidates, lambda scores: winner_law(scores, stats.laplace(scale=float(m.scale)))
    ),
    "exact": lambda candidates, _: _of_all(candidates, _best),
}
"""The output distribution of every registered mechanism, by its name."""


def _numbers(mechanism: Mechanism, *options: str) -> tuple[Any, ...]:
    """ε, δ and u as floats, and whole numbers of its own."""
    own = (getattr(mechanism, option) for option in options)
    return float(mechanism.epsilon), float(mechanism.delta), float(mechanism.lead_sensitivity), *own


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
