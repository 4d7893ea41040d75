"""Exact laws of the ordered list of k winners on small universes, list by list, and twins that are broken.

Candidates are their positions in a sequence of scores, in sensitivities; `rate` is 1/scale of the noise. A law maps
every possible list to its probability. Rounds are enumerated; one-shot noise is integrated, noisy score by noisy score.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import pairwise, permutations
from math import exp, inf, log
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Outcome: TypeAlias = tuple[int | None, ...]
"""The candidates in descending order; None is a place that a dummy took."""
Law: TypeAlias = dict[Outcome, float]

DUMMY = None
Candidate: TypeAlias = float | None

_NODES = 24  # of a panel
_STEP = 1.5  # the longest panel, in noise scales
_REACH = 42.0  # noise scales beyond the scores: e^-42 of a mass is left out


class Noise(NamedTuple):
    """A standard noise: its density and its distribution function, elementwise."""

    density: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]


def _laplace_below(x: Floats) -> Floats:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x > 0, 1 - tail, tail)


LAPLACE = Noise(lambda x: np.exp(-np.abs(x)) / 2, _laplace_below)
EXPONENTIAL = Noise(
    lambda x: np.where(x >= 0, np.exp(-np.maximum(x, 0)), 0.0),
    lambda x: np.where(x >= 0, -np.expm1(-np.maximum(x, 0)), 0.0),
)
GUMBEL = Noise(
    lambda x: np.exp(-x - np.exp(-np.maximum(x, -6.5))) * (x > -6.5),  # below it the mass is under 10^-280
    lambda x: np.exp(-np.exp(-np.maximum(x, -6.5))) * (x > -6.5),
)


def peeled_exponential(scores: Sequence[float], count: int, rate: float) -> Law:
    """`count` rounds of the exponential mechanism, each among the candidates that are left."""
    return peeled(scores, count, lambda left: _softmax(left, rate))


def peeled_noisy_max(scores: Sequence[float], count: int, rate: float, noise: Noise) -> Law:
    """`count` rounds of report-noisy-max, each with fresh noise, among the candidates that are left."""
    return peeled(scores, count, lambda left: _winner(tuple(left), rate, noise))


def peeled(scores: Sequence[float], count: int, draw: Callable[[Sequence[float]], Sequence[float]]) -> Law:
    """Rounds without replacement: `draw` gives the law of the winner among the scores left."""
    law: Law = {(): 1.0}
    for _ in range(count):
        after: Law = {}
        for chosen, mass in law.items():
            left = [i for i in range(len(scores)) if i not in chosen]
            for i, share in zip(left, draw([scores[i] for i in left]), strict=True):
                after[*chosen, i] = mass * share
        law = after
    return law


def one_shot(scores: Sequence[float], count: int, rate: float, noise: Noise) -> Law:
    """The `count` largest of scores that got noise once, in descending order.

    Pr[X_1 > … > X_k > all others] is integrated from the inside: the mass of a tail of the list with its largest
    noisy score below x is a function of x, which the next density multiplies.
    """
    grid = _Grid.over([rate * score for score in scores])
    density = [noise.density(grid.nodes - rate * score) for score in scores]
    below = [noise.below(grid.nodes - rate * score) for score in scores]
    law: Law = {}
    for chosen in permutations(range(len(scores)), count):
        inner = np.ones_like(grid.nodes)
        for i in set(range(len(scores))) - set(chosen):
            inner *= below[i]
        for i in reversed(chosen[1:]):
            inner = grid.up_to(density[i] * inner)
        law[chosen] = grid.total(density[chosen[0]] * inner)
    return law


class _Grid(NamedTuple):
    """Panels between the kinks, with Legendre nodes: shape (panels, nodes)."""

    nodes: Floats
    halves: Floats

    @classmethod
    def over(cls, kinks: Sequence[float]) -> _Grid:
        ends = sorted({min(kinks) - _REACH, *kinks, max(kinks) + _REACH})
        edges = np.unique(np.concatenate([np.linspace(a, b, int((b - a) / _STEP) + 2) for a, b in pairwise(ends)]))
        middles, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        return cls(middles[:, None] + halves[:, None] * _rule()[0], halves)

    def total(self, values: Floats) -> float:
        """∫ over everything."""
        return float((values @ _rule()[1]) @ self.halves)

    def up_to(self, values: Floats) -> Floats:
        """∫ up to each node."""
        panels = (values @ _rule()[1]) * self.halves
        before = np.concatenate(([0.0], np.cumsum(panels)[:-1]))
        return before[:, None] + self.halves[:, None] * (values @ _rule()[2])


@cache
def _rule() -> tuple[Floats, Floats, Floats]:
    """Nodes on [−1, 1], weights, and the matrix that integrates the interpolating polynomial up to each node."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    transform = np.linalg.inv(np.polynomial.legendre.legvander(nodes, _NODES - 1))
    columns = [np.polynomial.legendre.legint(column, lbnd=-1) for column in transform.T]
    return nodes, weights, np.array([np.polynomial.legendre.legval(nodes, column) for column in columns])


def _softmax(scores: Sequence[float], rate: float) -> list[float]:
    top = max(scores)
    weights = [exp(rate * (score - top)) for score in scores]
    return [weight / sum(weights) for weight in weights]


@cache
def _winner(scores: tuple[float, ...], rate: float, noise: Noise) -> list[float]:
    return list(one_shot(scores, 1, rate, noise).values())


class Domain(NamedTuple):
    """The parameters of limited-domain top-k: k̄, k (`places`), the rounds' ε_0, δ_1 and u.

    `slack` is added to u in the score of ⊥, in units of u/ε_0; None stands for what it must be, ln(k̄/δ_1).
    """

    kbar: int
    places: int
    epsilon: float
    delta: float
    u: float
    slack: float | None = None

    @property
    def lift(self) -> float:
        """How far ⊥ is above the score number k̄ + 1."""
        slack = log(self.kbar / self.delta) if self.slack is None else self.slack
        return self.u * (1 + slack / self.epsilon)


def limited_domain(candidates: Sequence[Candidate], domain: Domain) -> Law:
    """Peeling among the k̄ best and ⊥ until ⊥ comes; a list shorter than k was ended by it.

    Ties are in a fixed order: dummies first, then by position.
    Requires: more than k̄ candidates, dummies included.
    """
    order = sorted(range(len(candidates)), key=lambda i: (-(candidates[i] or 0.0), candidates[i] is not DUMMY, i))
    kept = {i: candidates[i] or 0.0 for i in order[: domain.kbar]}
    end = (candidates[order[domain.kbar]] or 0.0) + domain.lift
    law: defaultdict[Outcome, float] = defaultdict(float)
    for chosen, mass in _until_end(kept, end, domain.places, domain.epsilon / domain.u).items():
        law[tuple(None if candidates[i] is DUMMY else i for i in chosen)] += mass
    return dict(law)


def separate_calls(candidates: Sequence[Candidate], domain: Domain) -> Law:
    """`places` calls for one winner each, among the candidates that are left, instead of one call for all.

    Requires: more than k̄ candidates in the last call, dummies included.
    """
    single = domain._replace(places=1)
    law: Law = {(): 1.0}
    for _ in range(domain.places):
        after: Law = {}
        for chosen, mass in law.items():
            left = [i for i in range(len(candidates)) if i not in chosen]
            for winner, share in limited_domain([candidates[i] for i in left], single).items():
                place = left[winner[0]] if winner and winner[0] is not None else None
                after[*chosen, place] = after.get((*chosen, place), 0.0) + mass * share
        law = after
    return law


def _until_end(kept: Mapping[int, float], end: float, count: int, rate: float) -> dict[tuple[int, ...], float]:
    finished: dict[tuple[int, ...], float] = {}
    running: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(count):
        after: dict[tuple[int, ...], float] = {}
        for chosen, mass in running.items():
            left = [i for i in kept if i not in chosen]
            *shares, last = _softmax([*(kept[i] for i in left), end], rate)
            finished[chosen] = mass * last
            after |= {(*chosen, i): mass * share for i, share in zip(left, shares, strict=True)}
        running = after
    return finished | running


def delta_between(left: Law, right: Law, epsilon: float) -> float:
    """δ(ε) from `left` to `right`: Σ max(0, P − e^ε P')."""
    return _excess(*_aligned(left, right), epsilon)


def worst_delta(left: Law, right: Law, epsilon: float) -> float:
    """δ(ε) in both directions."""
    return max(delta_between(left, right, epsilon), delta_between(right, left, epsilon))


def epsilon_between(left: Law, right: Law, delta: float, least: float = 0.0) -> float:
    """The least ε ≥ `least` at which δ(ε) is at most `delta`, in both directions. Infinite where there is none."""
    before, after = _aligned(left, right)
    return max(_least_epsilon(before, after, delta, least), _least_epsilon(after, before, delta, least))


def _aligned(left: Law, right: Law) -> tuple[Floats, Floats]:
    outcomes = left | right
    return np.array([left.get(key, 0.0) for key in outcomes]), np.array([right.get(key, 0.0) for key in outcomes])


def _excess(left: Floats, right: Floats, epsilon: float) -> float:
    return float(np.maximum(0.0, left - exp(epsilon) * right).sum())


def _least_epsilon(left: Floats, right: Floats, delta: float, least: float) -> float:
    """δ(ε) is piecewise A − e^ε B between the losses of the outcomes; the piece that holds it is solved for ε."""
    if _excess(left, right, least) <= delta:
        return least
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(left) - np.log(right)
    losses[(left == 0) & (right == 0)] = -inf
    order = np.argsort(-losses)
    heads, tails = np.cumsum(left[order]), np.cumsum(right[order])
    for head, tail, following in zip(heads, tails, [*losses[order][1:], -inf], strict=True):
        if head > delta:
            found = log((head - delta) / tail) if tail else inf
            if found >= following:
                return max(least, found)
    return least


def leaky_responses(count: int, epsilon: float, delta: float, truth: int) -> Law:
    """The most telling (ε, δ)-private rounds: the bit is revealed with probability δ, else randomised response answers.

    Answers 0 and 1 may be false, 2 and 3 reveal that the bit is 0 or 1. Source: Kairouz, Oh & Viswanath 2015.
    """
    likely, unlikely = (1 - delta) / (1 + exp(-epsilon)), (1 - delta) / (1 + exp(epsilon))
    answers = {truth: likely, 1 - truth: unlikely, 2 + truth: delta}
    law: Law = {(): 1.0}
    for _ in range(count):
        law = {(*given, answer): mass * share for given, mass in law.items() for answer, share in answers.items()}
    return law
