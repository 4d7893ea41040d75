"""A statistical lower bound on ε for code whose output distribution is unknown: from samples of its outcomes alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from dpmine.parameters import Number, probability, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    Outcomes: TypeAlias = "Counter[Hashable]"

_STEPS = 60  # of bisection: more than the bits of a float64


def epsilon_lower_bound(
    run: Callable[[], Hashable],
    run_neighbor: Callable[[], Hashable],
    *,
    samples: int = 20_000,
    confidence: Number = 0.99,
    delta: Number | None = None,
) -> float:
    """A lower bound on the ε of code that is run on two neighbouring inputs; 0 when the samples show nothing.

    Each callable is run `samples` times. The first half of the outcomes chooses an event and a direction, the second
    half, which is independent of that choice, estimates its two probabilities.
    Law: if the code is (ε, δ)-differentially private and its runs are independent, the returned value is above ε with
    probability at most 1 − confidence, for every number of samples (no asymptotics): each of the two probabilities is
    outside its bound with probability at most (1 − confidence)/2.
    Requires: at least 4 samples; outcomes are hashable and few, compared with the samples; `delta` None means 0.
    Source: the bounds are Chernoff's in the form of Hoeffding 1963, Theorem 1.
    """
    half = whole("samples", samples, least=4) // 2
    miss = float(1 - probability("confidence", confidence)) / 2
    slack = 0.0 if delta is None else float(probability("delta", delta))
    seen, seen_neighbor = _sample(run, half), _sample(run_neighbor, half)
    event, swapped = _best_event(seen, seen_neighbor, half, miss, slack)
    first, second = (run_neighbor, run) if swapped else (run, run_neighbor)
    hits, hits_neighbor = (_hits(_sample(code, half), event) for code in (first, second))
    return _bound(hits, hits_neighbor, half, miss, slack)


def lower_probability(hits: int, trials: int, miss: float) -> float:
    """A bound that is above the success probability with probability at most `miss`, after `hits` of `trials`.

    Law: the least p ≤ hits/trials with trials · KL(hits/trials ‖ p) ≤ ln(1/miss), rounded down.
    """
    if hits == 0:
        return 0.0
    share = hits / trials
    low, high = 0.0, share
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if trials * _divergence(share, middle) <= -math.log(miss) else (middle, high)
    return low


def upper_probability(hits: int, trials: int, miss: float) -> float:
    """A bound that is below the success probability with probability at most `miss`; at least `hits`/`trials`."""
    return 1 - lower_probability(trials - hits, trials, miss)


def _divergence(share: float, p: float) -> float:
    """KL(share ‖ p) of two coins. Requires: 0 < share ≤ 1, 0 ≤ p ≤ share."""
    if p <= 0:
        return math.inf
    rest = (1 - share) * math.log((1 - share) / (1 - p)) if share < 1 else 0.0
    return share * math.log(share / p) + rest


def _bound(hits: int, hits_neighbor: int, trials: int, miss: float, slack: float) -> float:
    """ln((p − δ)/p'), p from below and p' from above, where that is positive."""
    above = lower_probability(hits, trials, miss) - slack
    below = upper_probability(hits_neighbor, trials, miss)
    return max(0.0, math.log(above / below)) if above > 0 else 0.0


def _best_event(
    left: Outcomes, right: Outcomes, trials: int, miss: float, slack: float
) -> tuple[frozenset[Hashable], bool]:
    """The event that shows most on these samples, and whether it is the neighbour that has it more often."""
    candidates = [(event, False) for event in _events(left, right)] + [(event, True) for event in _events(right, left)]

    def shown(candidate: tuple[frozenset[Hashable], bool]) -> float:
        event, swapped = candidate
        hits, others = (_hits(side, event) for side in ((right, left) if swapped else (left, right)))
        return _bound(hits, others, trials, miss, slack)

    return max(candidates, key=shown)


def _events(left: Outcomes, right: Outcomes) -> Iterable[frozenset[Hashable]]:
    """Single outcomes, and the sets of all outcomes up to each likelihood ratio (where the best event is)."""
    ranked = sorted(left, key=lambda outcome: left[outcome] / (right[outcome] + 1), reverse=True)[:_EVENTS]
    yield from (frozenset([outcome]) for outcome in ranked)
    yield from (frozenset(ranked[:size]) for size in range(2, len(ranked) + 1))


_EVENTS = 200  # considered, of each kind: those with the largest ratios


def _sample(code: Callable[[], Hashable], count: int) -> Outcomes:
    return Counter(code() for _ in range(count))


def _hits(seen: Outcomes, event: frozenset[Hashable]) -> int:
    return sum(seen[outcome] for outcome in event)
