"""Laws in closed form: masses proportional to exponential weights, the stable maximiser, and the true maximum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpmine.selection.laws.parameters import margin_sensitivity, require_positive, require_probability

if TYPE_CHECKING:
    from dpmine.privacy import Neighbors
    from dpmine.selection.laws.profile import FloatArray, Ladder, LevelLaw, Profile


def exponential(profile: Profile, *, rate: float) -> LevelLaw:
    """The law P(i) ∝ exp(rate · score).

    Requires: rate > 0, in 1/sensitivity: ε/2 in general, ε in the monotone form.
    Source: McSherry & Talwar 2007, Definition 2.
    """
    require_positive(rate=rate)
    ladder = profile.ladder()
    return ladder.law(_shares(ladder.log_counts + rate * (ladder.scores - ladder.scores[0])))


def limited_domain(profile: Profile, *, epsilon: float, delta: float, kbar: int, neighbors: Neighbors) -> LevelLaw:
    """The exponential mechanism on the `kbar` best candidates and one more outcome, *nothing*, set above the rest.

    Requires: scores ≥ 0, kbar ≥ 1. The universe is always padded with kbar + 1 dummies, which stand for *nothing* too;
    the profile's own are among them. A level that straddles rank kbar takes part with the number of members inside.
    Source: Durfee & Rogers 2019, k = 1.
    """
    require_positive(epsilon=epsilon, kbar=kbar)
    require_probability(delta=delta)
    ladder = profile.ladder(dummies=max(kbar + 1, profile.dummies))
    unit = margin_sensitivity(neighbors)
    inside = np.array(_included(ladder.counts, kbar), dtype=np.float64)
    next_score = float(ladder.scores[ladder.locate(kbar + 1)[0]])
    bottom = epsilon / unit * (next_score - ladder.scores[0]) + epsilon + math.log(kbar) - math.log(delta)
    with np.errstate(divide="ignore"):  # levels outside the domain: log 0 is their weight 0
        logs = np.log(inside) + epsilon / unit * (ladder.scores - ladder.scores[0])
    shares = _shares(np.append(logs, bottom))
    return ladder.law(shares[:-1], float(shares[-1]))


def bounded_growth(profile: Profile, *, epsilon: float, delta: float, growth: int, neighbors: Neighbors) -> LevelLaw:
    """The law P(i) ∝ exp(r · score) over scores ≥ 1, against a constant weight W for *nothing*.

    Requires: the scores are counts that start at 0, and one privacy unit supports at most `growth` ≥ 1 candidates.
    r = ε under add_remove, ε/2 under replace_one; W = growth · e^r · max((1 − δ)/δ, 1/(e^r − 1)).
    Source: after Beimel, Nissim & Stemmer 2013.
    """
    require_positive(epsilon=epsilon, growth=growth)
    require_probability(delta=delta)
    rate = epsilon / margin_sensitivity(neighbors)
    log_expm1 = rate + math.log(-math.expm1(-rate))
    log_nothing = math.log(growth) + rate + max(math.log1p(-delta) - math.log(delta), -log_expm1)
    ladder = profile.ladder(dummies=max(1, profile.dummies))  # dummies have score 0, hence weight 0
    top = ladder.scores[0]
    logs = np.where(ladder.scores >= 1, ladder.log_counts + rate * (ladder.scores - top), -np.inf)
    shares = _shares(np.append(logs, log_nothing - rate * top))
    return ladder.law(shares[:-1], float(shares[-1]))


def stable_maximiser(profile: Profile, *, epsilon: float, delta: float, neighbors: Neighbors) -> LevelLaw:
    """The maximiser if its noisy lead is large enough, else *nothing*.

    With lead g over the second candidate and s = 1 (add_remove) or 2 (replace_one) the maximiser is output iff
    max(0, g − s) + Lap(s/ε) > (s/ε) ln(1/(2δ)). An unknown universe is a profile with dummies; it gets at least two.
    Source: after Smith & Thakurta 2013.
    """
    require_positive(epsilon=epsilon)
    require_probability(delta=delta)
    ladder = profile.ladder(dummies=max(2, profile.dummies) if profile.dummies else 0)
    unit = margin_sensitivity(neighbors)
    excess = -math.log(2 * delta) - max(0.0, _lead(ladder) - unit) * epsilon / unit
    tail = math.exp(-abs(excess)) / 2
    masses = np.zeros(len(ladder.scores))
    masses[0], nothing = (tail, 1 - tail) if excess > 0 else (1 - tail, tail)
    return ladder.law(masses, nothing)


def exact(profile: Profile) -> LevelLaw:
    """All mass on the best level, on *nothing* where dummies are as good: the true maximum, which is not private."""
    ladder = profile.ladder()
    masses = np.zeros(len(ladder.scores))
    masses[0] = 1
    return ladder.law(masses)


def _shares(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _included(counts: tuple[int, ...], rank: int) -> list[int]:
    """How many members of each level are among the first `rank` candidates."""
    included = []
    for count in counts:
        included.append(min(count, rank))
        rank -= included[-1]
    return included


def _lead(ladder: Ladder) -> float:
    """c(1) − c(2), infinite for a single candidate."""
    if ladder.counts[0] > 1:
        return 0.0
    return float(ladder.scores[0] - ladder.scores[1]) if len(ladder.scores) > 1 else math.inf
