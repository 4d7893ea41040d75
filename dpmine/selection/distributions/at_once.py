"""How much of a list is expected to be right where all places are chosen at once, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.selection.distributions.profile import Profile
    from dpmine.selection.shortfall import Outcomes

_ROUNDING = 1e-12  # relative, of differences of scores
_CELLS = 2**21  # values times leaders at once: bounds the memory


def share_of_best_chosen(profile: Profile, outcomes: Outcomes, rate: float) -> float:
    """The expected share of the k best candidates in an outcome s of k places, P(s) ∝ exp(−rate · g(s)).

    Requires: at least k candidates, and no dummies. One fixed order of ties says which are the best.
    Given that g(s) ≤ v, s is uniform among those within the bounds of v.
    """
    scores, ends = np.array(profile.scores), np.cumsum(np.array(profile.counts, dtype=np.float64))
    ranks = np.searchsorted(ends, np.arange(outcomes.leaders), side="right")
    best = scores[np.minimum(ranks, len(scores) - 1)]
    slack = _ROUNDING * max(1.0, float(np.abs(scores).max()))
    values = np.unique(np.maximum(0.0, best[:, None] - scores))
    decay = np.append(-np.expm1(-rate * np.diff(values)), 1.0)
    with np.errstate(divide="ignore"):  # of values that are equal but for rounding
        logs = np.log(decay) - rate * values
    shares = np.empty(len(values))
    step = max(1, _CELLS // outcomes.leaders)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        bounds = ends[np.searchsorted(-scores, values[part, None] - best + slack, side="right") - 1]
        logs[part] += outcomes.log_count(bounds)
        shares[part] = outcomes.right(bounds) / outcomes.places
    weights = np.exp(logs - logs.max())
    return float(weights @ shares / weights.sum())
