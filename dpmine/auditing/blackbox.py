"""A statistical lower bound on ε for code whose output distribution is unknown: from samples of its outcomes alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpmine.auditing.binomial import joint_bounds, lower_bounds, upper_bounds
from dpmine.parameters import Number, probability, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    Outcomes: TypeAlias = "Counter[Hashable]"

_EVENTS = 200  # considered, of each kind: those with the largest ratios
_CHOOSING = 4  # one run in this number chooses the event
_LOOSE = 0.02  # the probability with which each bound fails that serves the choice


def epsilon_lower_bound(
    run: Callable[[], Hashable],
    run_neighbor: Callable[[], Hashable],
    *,
    samples: int = 20_000,
    confidence: Number = 0.99,
    delta: Number | None = None,
) -> float:
    """A lower bound on the ε of code that is run on two neighbouring inputs. It is 0 when the samples show nothing.

    Each callable is run `samples` times. The first quarter of the outcomes chooses an event and a direction. The rest,
    which is independent of that choice, measures its two probabilities.
    Law: let the code be (ε, δ)-differentially private and its runs independent. The returned value is then above ε with
    probability at most 1 − confidence, for every number of samples.
    Requires: at least 4 samples; outcomes are hashable and few, compared with the samples; `delta` None means 0.
    Source: `dpmine.auditing.binomial.joint_bounds`.
    """
    count = whole("samples", samples, least=4)
    miss = float(1 - probability("confidence", confidence))
    slack = 0.0 if delta is None else float(probability("delta", delta))
    codes, choosing = (run, run_neighbor), count // _CHOOSING
    seen = [_sample(code, choosing) for code in codes]
    event, way = _choice(seen, [(event, way) for way in (1, -1) for event in _events(*seen[::way])], slack)
    trials = count - choosing
    hits = [_hits(_sample(code, trials), event) for code in codes[::way]]
    above, below = joint_bounds(hits[0], hits[1], trials, miss)
    least = float(((above - slack) / below).min())
    return max(0.0, math.log(least)) if least > 0 else 0.0


def _choice(
    sides: Sequence[Outcomes], ways: Iterable[tuple[frozenset[Hashable], int]], slack: float
) -> tuple[frozenset[Hashable], int]:
    """The event and the direction that show most by loose bounds, one of each probability."""
    candidates, trials = list(ways), sides[0].total()
    hits = np.array([[_hits(side, event) for side in sides[::way]] for event, way in candidates], np.float64)
    above, below = lower_bounds(hits[:, 0], trials, _LOOSE), upper_bounds(hits[:, 1], trials, _LOOSE)
    return candidates[int(np.argmax((above - slack) / below))]


def _hits(side: Outcomes, event: frozenset[Hashable]) -> int:
    return sum(side[outcome] for outcome in event)


def _events(left: Outcomes, right: Outcomes) -> Iterable[frozenset[Hashable]]:
    """Single outcomes, and the sets of all outcomes up to each likelihood ratio (where the best event is)."""
    ranked = sorted(left, key=lambda outcome: left[outcome] / (right[outcome] + 1), reverse=True)[:_EVENTS]
    yield from (frozenset([outcome]) for outcome in ranked)
    yield from (frozenset(ranked[:size]) for size in range(2, len(ranked) + 1))


def _sample(code: Callable[[], Hashable], count: int) -> Outcomes:
    return Counter(code() for _ in range(count))
