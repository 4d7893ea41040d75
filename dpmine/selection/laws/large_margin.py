"""Laws of the margin mechanisms: a private search for a cut, then a private draw above it; and of both stages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.selection.laws.first_stop import Stops, first_stop
from dpmine.selection.laws.parameters import margin_sensitivity, require_positive, require_probability
from dpmine.selection.laws.ranks import every_rank, segments
from dpmine.selection.laws.search import Hazard, LaplacePair, NegativeExponential, Search

if TYPE_CHECKING:
    from dpmine.privacy import Neighbors
    from dpmine.selection.laws.profile import FloatArray, IntArray, Ladder, LevelLaw, Profile

TIGHT_SPLIT = (0.2, 0.4, 0.4)


@dataclass(frozen=True, eq=False)
class StopLaw:
    """The probability of stopping at rank ℓ = 1 … limit, shape (limit,), and of passing all of them."""

    masses: FloatArray
    beyond: float


def large_margin(profile: Profile, *, epsilon: float, delta: float) -> LevelLaw:
    """The law of the large margin mechanism.

    Without dummies the universe is known: the search may end with all candidates. With M dummies it tests the ranks
    below M and then gives up; giving up and drawing a dummy are *nothing*.
    Source: the large-margin paper, Algorithm 1, with its constants.
    """
    return search_and_draw(profile, search=large_margin_search(epsilon=epsilon, delta=delta), rate=epsilon / 6)


def large_margin_tight(
    profile: Profile,
    *,
    epsilon: float,
    delta: float,
    neighbors: Neighbors,
    split: tuple[float, float, float] = TIGHT_SPLIT,
    delta_share: float = 0.5,
) -> LevelLaw:
    """The law of the margin mechanism with one-sided noise; dummies as in `large_margin`.

    `split` shares ε between the search's threshold, its tests and the draw; `delta_share` of δ pays for stopping early.
    """
    search = large_margin_tight_search(
        epsilon=epsilon, delta=delta, neighbors=neighbors, split=split, delta_share=delta_share
    )
    return search_and_draw(profile, search=search, rate=_shares(split)[2] * epsilon / margin_sensitivity(neighbors))


def large_margin_search(*, epsilon: float, delta: float) -> Search:
    """The search of the large margin mechanism: X = Z − G, tests with fresh Lap(12/ε).

    Law: T(ℓ) = (3/ε) ln(3/2δ) + (6/ε) ln(3/δ) + (12/ε) ln(3ℓ(ℓ+1)/δ) + 6(1 + ln(3ℓ/δ)/ε).
    """
    require_positive(epsilon=epsilon)
    require_probability(delta=delta)
    log_inverse = math.log(3) - math.log(delta)
    constant = (3 * (log_inverse - math.log(2)) + 24 * log_inverse) / epsilon + 6

    def threshold(ranks: FloatArray) -> FloatArray:
        return np.asarray(constant + (18 * np.log(ranks) + 12 * np.log1p(ranks)) / epsilon)

    return Search(threshold, Hazard.LAPLACE, 12 / epsilon, LaplacePair(3 / epsilon))


def large_margin_tight_search(
    *,
    epsilon: float,
    delta: float,
    neighbors: Neighbors,
    split: tuple[float, float, float] = TIGHT_SPLIT,
    delta_share: float = 0.5,
) -> Search:
    """The search with one-sided noise: X = −ρ, ρ ~ Exp(u/ε_a), tests with fresh Exp(u/ε_b).

    Law: T(ℓ) = u + (u/ε_e) ln((ℓ−1)/δ_2) [ℓ ≥ 2] + (u/ε_b) ln(ℓ(ℓ+1)/δ_1); u = 1 (add_remove) or 2 (replace_one).
    """
    require_positive(epsilon=epsilon)
    require_probability(delta=delta, delta_share=delta_share)
    unit = margin_sensitivity(neighbors)
    for_threshold, for_tests, for_draw = (unit / (share * epsilon) for share in _shares(split))
    log_early = -math.log(delta) - math.log(delta_share)
    log_leaving = -math.log(delta) - math.log1p(-delta_share)

    def threshold(ranks: FloatArray) -> FloatArray:
        leaving = np.where(ranks < 2, 0.0, np.log(np.maximum(ranks - 1, 1.0)) + log_leaving)
        return np.asarray(unit + for_draw * leaving + for_tests * (np.log(ranks) + np.log1p(ranks) + log_early))

    return Search(threshold, Hazard.EXPONENTIAL, for_tests, NegativeExponential(for_threshold))


def search_and_draw(profile: Profile, *, search: Search, rate: float) -> LevelLaw:
    """The law of any search for a cut followed by a draw above it with P(i) ∝ exp(rate · score)."""
    require_positive(rate=rate)
    ladder = profile.ladder()
    limit = _last_test(profile, ladder)
    stops = first_stop(search, ladder, segments(ladder, limit))
    masses = _drawn(ladder, stops, rate)
    if profile.dummies:
        return ladder.law(masses, stops.never)
    return ladder.law(masses + stops.never * _all_drawn(ladder, rate))


def stopping_law(profile: Profile, *, search: Search, limit: int | None = None) -> StopLaw:
    """The law of the rank at which the search stops, rank by rank up to `limit` (a few thousand at most, for speed).

    Requires: 0 ≤ limit ≤ the last rank that is tested (all candidates but one, or all dummies but one), which is the
    default. `beyond` is the mass of not stopping within the limit.
    """
    ladder = profile.ladder()
    last = _last_test(profile, ladder)
    limit = last if limit is None else limit
    if not 0 <= limit <= min(last, 10**6):
        raise BadParameter("limit must lie between 0 and the last tested rank, and be at most 1000000.")
    stops = first_stop(search, ladder, every_rank(ladder, limit))
    masses = np.zeros(limit)
    firsts = np.concatenate(([0.0], np.cumsum(np.array(ladder.counts, dtype=np.float64))))
    masses[(firsts[stops.levels] + stops.offsets).astype(np.int64) - 1] = stops.masses
    return StopLaw(masses, stops.never)


def draw_law(profile: Profile, *, rank: int, rate: float) -> LevelLaw:
    """The law of the draw once the search has stopped at `rank`: P(i) ∝ exp(rate · score) among the top `rank`.

    A level that straddles the rank takes part with the number of its members inside. Requires: 1 ≤ rank ≤ the number
    of candidates, dummies included.
    """
    require_positive(rate=rate)
    ladder = profile.ladder()
    if not 1 <= rank <= sum(ladder.counts):
        raise BadParameter("rank must lie between 1 and the number of candidates.")
    level, included = ladder.locate(rank)
    stop = Stops(np.ones(1), np.array([float(included)]), np.array([level]), 0.0)
    return ladder.law(_drawn(ladder, stop, rate))


def _drawn(ladder: Ladder, stops: Stops, rate: float) -> FloatArray:
    """The mass of each level, shape (levels,), when stops are followed by the draw."""
    log_weights = rate * (ladder.scores - ladder.scores[0])
    log_levels = ladder.log_counts + log_weights
    log_above = np.concatenate(([-np.inf], np.logaddexp.accumulate(log_levels)[:-1]))
    with np.errstate(divide="ignore"):  # no member included: log 0 is its weight 0
        log_inside = np.log(stops.offsets) + log_weights[stops.levels]
    log_all = np.logaddexp(log_inside, log_above[stops.levels])
    inside = _by_level(ladder, stops.levels, stops.masses * np.exp(log_inside - log_all))
    per_weight = _by_level(ladder, stops.levels, stops.masses * np.exp(-log_all))
    below = np.concatenate((np.cumsum(per_weight[::-1])[::-1][1:], [0.0]))
    return np.asarray(inside + np.exp(log_levels) * below)


def _by_level(ladder: Ladder, levels: IntArray, masses: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(levels, weights=masses, minlength=len(ladder.scores)), dtype=np.float64)


def _all_drawn(ladder: Ladder, rate: float) -> FloatArray:
    """The draw among all candidates, shape (levels,)."""
    logs = ladder.log_counts + rate * (ladder.scores - ladder.scores[0])
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))


def _last_test(profile: Profile, ladder: Ladder) -> int:
    """The last rank that is tested: below the number of dummies, or of candidates when the universe is known."""
    return (profile.dummies or sum(ladder.counts)) - 1


def _shares(split: tuple[float, float, float]) -> tuple[float, float, float]:
    """The split, scaled to a sum of 1; BadParameter unless its three parts are positive."""
    if len(split) != 3:
        raise BadParameter("split needs three parts: threshold, tests and draw.")
    for part in split:
        require_positive(split=part)
    total = sum(split)
    return split[0] / total, split[1] / total, split[2] / total
