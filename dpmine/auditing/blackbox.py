"""Lower bounds on ε from samples alone: confidence bounds on the probabilities of an event, and the best event.

`lower_bounds` and `upper_bounds` are for one probability. `joint_bounds` is for the two probabilities of an event on
neighbouring inputs. All audits by sampling take their figures from it.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpmine.parameters import Number, probability, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    Outcomes: TypeAlias = "Counter[Hashable]"
    from dpmine.selection.distributions.profile import FloatArray

_ROUNDING = 1e-9  # relative: the error of scipy's inverses of incomplete gamma and beta functions
_CELLS = 400  # of the border of a joint region: their width loses less than 1 % of the distance to the estimate


def lower_bounds(hits: FloatArray, trials: int, miss: float | FloatArray) -> FloatArray:
    """Bounds that are above the success probabilities with probability at most `miss` each.

    Shapes: `hits` and `miss` are numbers or arrays that broadcast against each other.
    Source: Clopper & Pearson 1934, rounded down.
    """
    from scipy.special import betaincinv

    bounds = betaincinv(np.maximum(hits, 1), trials - hits + 1, miss)
    return np.where(hits == 0, 0.0, bounds * (1 - _ROUNDING))


def upper_bounds(hits: FloatArray, trials: int, miss: float | FloatArray) -> FloatArray:
    """Bounds that are below the success probabilities with probability at most `miss` each, rounded up."""
    from scipy.special import betainccinv

    bounds = betainccinv(hits + 1, np.maximum(trials - hits, 1), miss)
    return np.where(hits == trials, 1.0, np.minimum(1.0, bounds * (1 + _ROUNDING)))


def joint_bounds(hits: int, hits_neighbor: int, trials: int, miss: float) -> tuple[FloatArray, FloatArray]:
    """Corners (p from below, p' from above) of a region that holds both probabilities, except with probability `miss`.

    The true (p, p') has p ≥ above[i] and p' ≤ below[i] for at least one i. A figure that rises with p and falls with p'
    is therefore at least its smallest value over the corners. Shapes: (cells,) both; `trials` is of each side.

    Law: let U = Pr[Bin(trials, p) ≥ hits] and U' = Pr[Bin(trials, p') ≤ hits_neighbor]. For the true probabilities,
    both are independent and at most u with probability at most u. So U·U' ≤ c has probability at most c (1 − ln c),
    which is `miss`. The region is U·U' > c. A cell of its border is t < U ≤ t⁺; there, U' > c/t⁺.
    Source: Fisher 1932, section 21.1 (the product); Clopper & Pearson 1934 (the bounds at each t).
    """
    log_level = joint_level(miss)
    steps = np.linspace(log_level, 0.0, _CELLS + 1)
    above = lower_bounds(np.array(float(hits)), trials, np.exp(steps[:-1]))
    below = upper_bounds(np.array(float(hits_neighbor)), trials, np.minimum(1.0, np.exp(log_level - steps[1:])))
    return above, below


def joint_level(miss: float) -> float:
    """The logarithm of c, where c (1 − ln c) = `miss`; rounded down.

    Source: −2 ln(U·U') has at most a χ² distribution with 4 degrees of freedom (Fisher 1932).
    """
    from scipy.special import chdtri

    return float(-chdtri(4, miss) / 2 * (1 + _ROUNDING))


_EVENTS = 200  # considered, of each kind: those with the largest ratios
_RUNS_PER_CHOOSING_RUN = 4  # one run in this number chooses the event
_LOOSE_MISS = 0.02  # the probability with which each bound fails that serves the choice


def epsilon_lower_bound(
    run: Callable[[], Hashable],
    run_neighbor: Callable[[], Hashable],
    *,
    samples: int = 20_000,
    confidence: Number = 0.99,
    delta: Number | None = None,
) -> float:
    """A lower bound on the ε of code that is run on two neighbouring inputs. It is 0 when the samples show nothing.

    Args:
        run: makes one outcome on an input; it takes no argument.
        run_neighbor: the same on the neighbouring input.
        samples: how often each of them is run.
        confidence: with which the bound holds, below 1.
        delta: δ of the claim; None: 0.

    Each callable is run `samples` times. The first quarter of the outcomes chooses an event and a direction. The rest,
    which is independent of that choice, measures its two probabilities.
    Law: let the code be (ε, δ)-differentially private and its runs independent. The returned value is then above ε with
    probability at most 1 − confidence, for every number of samples.
    Requires: at least 4 samples; outcomes are hashable and few, compared with the samples; `delta` None means 0.
    Source: `dpmine.auditing.blackbox.joint_bounds`.
    """
    count = whole("samples", samples, least=4)
    miss = float(1 - probability("confidence", confidence))
    float_delta = 0.0 if delta is None else float(probability("delta", delta))
    runs, choosing_runs = (run, run_neighbor), count // _RUNS_PER_CHOOSING_RUN
    choosing_outcomes = [_sample(side, choosing_runs) for side in runs]
    directed_events = [
        (event, direction) for direction in (1, -1) for event in _events(*choosing_outcomes[::direction])
    ]
    event, direction = _most_telling(choosing_outcomes, directed_events, float_delta)
    trials = count - choosing_runs
    hits = [_hits(_sample(side, trials), event) for side in runs[::direction]]
    from_below, from_above = joint_bounds(hits[0], hits[1], trials, miss)
    smallest_ratio = float(((from_below - float_delta) / from_above).min())
    return max(0.0, math.log(smallest_ratio)) if smallest_ratio > 0 else 0.0


def _most_telling(
    outcomes: Sequence[Outcomes], directed_events: Iterable[tuple[frozenset[Hashable], int]], delta: float
) -> tuple[frozenset[Hashable], int]:
    """The event and the direction that show most by loose bounds, one of each probability."""
    candidates, trials = list(directed_events), outcomes[0].total()
    hits = np.array(
        [[_hits(side, event) for side in outcomes[::direction]] for event, direction in candidates], np.float64
    )
    from_below = lower_bounds(hits[:, 0], trials, _LOOSE_MISS)
    from_above = upper_bounds(hits[:, 1], trials, _LOOSE_MISS)
    return candidates[int(np.argmax((from_below - delta) / from_above))]


def _hits(outcomes: Outcomes, event: frozenset[Hashable]) -> int:
    return sum(outcomes[outcome] for outcome in event)


def _events(left: Outcomes, right: Outcomes) -> Iterable[frozenset[Hashable]]:
    """Single outcomes, and the sets of all outcomes up to each likelihood ratio (where the best event is)."""
    ranked = sorted(left, key=lambda outcome: left[outcome] / (right[outcome] + 1), reverse=True)[:_EVENTS]
    yield from (frozenset([outcome]) for outcome in ranked)
    yield from (frozenset(ranked[:size]) for size in range(2, len(ranked) + 1))


def _sample(run: Callable[[], Hashable], count: int) -> Outcomes:
    return Counter(run() for _ in range(count))
