"""A statistical lower bound on ε for code whose output distribution is unknown: from samples of its outcomes alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from dpmine.parameters import Number, probability, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    Outcomes: TypeAlias = "Counter[Hashable]"

_EVENTS = 200  # considered, of each kind: those with the largest ratios
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
    codes = (run, run_neighbor)
    seen = [_sample(code, half) for code in codes]
    candidates = [(event, way) for way in (1, -1) for event in _events(*seen[::way])]
    event, way = max(candidates, key=lambda candidate: _shown(seen[:: candidate[1]], candidate[0], miss, slack))
    return _shown([_sample(code, half) for code in codes[::way]], event, miss, slack)


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


def _shown(sides: Sequence[Outcomes], event: frozenset[Hashable], miss: float, slack: float) -> float:
    """ln((p − δ)/p'), p from below and p' from above, where that is positive; p and p' are the event's on the sides."""
    hits, hits_neighbor = (sum(side[outcome] for outcome in event) for side in sides)
    trials = sides[0].total()
    above = lower_probability(hits, trials, miss) - slack
    below = upper_probability(hits_neighbor, trials, miss)
    return max(0.0, math.log(above / below)) if above > 0 else 0.0


def _events(left: Outcomes, right: Outcomes) -> Iterable[frozenset[Hashable]]:
    """Single outcomes, and the sets of all outcomes up to each likelihood ratio (where the best event is)."""
    ranked = sorted(left, key=lambda outcome: left[outcome] / (right[outcome] + 1), reverse=True)[:_EVENTS]
    yield from (frozenset([outcome]) for outcome in ranked)
    yield from (frozenset(ranked[:size]) for size in range(2, len(ranked) + 1))


def _sample(code: Callable[[], Hashable], count: int) -> Outcomes:
    return Counter(code() for _ in range(count))
