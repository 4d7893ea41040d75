"""How much of a list the joint exponential mechanism is expected to get right, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.selection.distributions.profile import FloatArray, Profile

_ROUNDING = 1e-12  # relative, of differences of scores
_CELLS = 2**21  # values times places at once: bounds the memory


def share_of_best_chosen(profile: Profile, count: int, rate: float) -> float:
    """The expected share of the `count` best candidates in a sequence s, P(s) ∝ exp(−rate · g(s)).

    Requires: at least `count` candidates, and no dummies. One fixed order of ties says which are the best.
    Given that g(s) ≤ v, s is uniform. Then place i is one of the t_i ranks that it may take, without those of places
    before it. So the expected number of right ones is found place by place.
    """
    scores, ends = np.array(profile.scores), np.cumsum(np.array(profile.counts, dtype=np.float64))
    best = scores[np.searchsorted(ends, np.arange(count), side="right")]
    slack = _ROUNDING * max(1.0, float(np.abs(scores).max()))
    values = np.unique(np.maximum(0.0, best[:, None] - scores))
    decay = np.append(-np.expm1(-rate * np.diff(values)), 1.0)
    with np.errstate(divide="ignore"):  # of values that are equal but for rounding
        logs = np.log(decay) - rate * values
    shares = np.empty(len(values))
    step = max(1, _CELLS // count)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        ranks = ends[np.searchsorted(-scores, values[part, None] - best + slack, side="right") - 1]
        logs[part] += np.log(ranks - np.arange(count)).sum(axis=1)
        shares[part] = _right(ranks) / count
    weights = np.exp(logs - logs.max())
    return float(weights @ shares / weights.sum())


def _right(ranks: FloatArray) -> FloatArray:
    """How many of k uniform different ranks, place i below ranks[:, i], are expected to be below k."""
    count, right = ranks.shape[1], np.zeros(len(ranks))
    for place in range(count):
        bound = ranks[:, place]
        right += np.where(bound <= count, 1.0, (count - right) / (bound - place))
    return right
