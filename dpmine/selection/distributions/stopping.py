"""Output distributions of a private search for a cut, of the draw above it, and of both stages together.

Ranks count candidates from 1; q_ℓ = c(1) − c(ℓ+1) is the margin of the top ℓ. Given one conditioning variable X, the
search stops at each ℓ independently. The hazard depends on (X − (T(ℓ) − q_ℓ)) / scale alone, where rank 1 may have
another scale than all later ranks. So the distribution of the rank where it stops first takes one quadrature over X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.selection.distributions.profile import Nodes, Rule, Segment, every_rank, in_batches, panels, segments

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.distributions.profile import FloatArray, IntArray, Ladder, LevelDistribution, Profile

TAIL = 80.0  # probability e^-80 of the conditioning variable may be left out
_CERTAIN = 750.0  # e^-750 is 0 in float64; an infinity would make nan in products with 0
_NEGLIGIBLE = 92.0  # events of probability below e^-92 = 1e-40 are left out
_PANELS = 4000  # at most, so that extreme ratios of scales stay affordable
_ORDER = 10
_TILE = 32  # rows of one matrix product: small enough that BLAS starts no threads, which take more time than they save
_VISIBLE = math.log(1e-11)  # a kink under less mass than this does no harm inside a panel
_CROWD = 160  # more tests than this before a kink kill it under any hazard


class TrialNoise(Enum):
    """The fresh noise of every test, as the chance that the test passes `x` noise scales above its threshold."""

    LAPLACE = auto()
    """Two-sided noise: the Laplace distribution function."""
    EXPONENTIAL = auto()
    """One-sided noise in favour of stopping: e^min(x, 0)."""

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The hazard p and −ln(1 − p), elementwise; the latter is at least 700 where p = 1."""
        if self is TrialNoise.EXPONENTIAL:
            p = np.exp(np.minimum(x, -1e-15))
            return p, np.where(x < 0, -np.log1p(-p), _CERTAIN)
        tail = np.exp(-np.abs(x)) / 2
        below = x < 0
        return np.where(below, tail, 1 - tail), np.where(below, -np.log1p(-tail), math.log(2) + np.minimum(x, _CERTAIN))


@dataclass(frozen=True)
class LaplacePair:
    """The conditioning variable X = Z − G with Z ~ Lap(inner) and G ~ Lap(2 · inner), independent."""

    inner: float

    @property
    def scale(self) -> float:
        """The distance over which the density changes by a factor e: the wider of the two scales."""
        return 2 * self.inner

    @property
    def support(self) -> tuple[float, float]:
        """An interval that holds all but e^-TAIL of the mass, give or take a small factor: both tails."""
        return -TAIL * self.scale, TAIL * self.scale

    def density(self, x: FloatArray) -> FloatArray:
        """The convolution of the two Laplace densities."""
        y = np.abs(x) / self.inner
        return np.asarray((2 * np.exp(-y / 2) - np.exp(-y)) / (6 * self.inner))


@dataclass(frozen=True)
class NegativeExponential:
    """The conditioning variable X = −ρ with ρ ~ Exp(scale)."""

    scale: float

    @property
    def support(self) -> tuple[float, float]:
        """The lower tail, up to 0."""
        return -TAIL * self.scale, 0.0

    def density(self, x: FloatArray) -> FloatArray:
        """The density at x ≤ 0."""
        return np.asarray(np.exp(x / self.scale) / self.scale)


@dataclass(frozen=True)
class StoppingSearch:
    """A search that stops at ℓ with hazard((X − T(ℓ) + q_ℓ) / scale), independently for every ℓ given X.

    The scale is `first_scale` at ℓ = 1 and `scale` beyond. Requires: from ℓ = 2 on, `threshold` T increases, in units
    of `scale` at least as fast as ln(ℓ(ℓ+1)). The probability of a later stop in a run of equal scores is then at most
    (ℓ+1) times the hazard at ℓ.
    """

    threshold: Callable[[FloatArray], FloatArray]
    hazard: TrialNoise
    first_scale: float
    scale: float
    conditioning: LaplacePair | NegativeExponential

    def scales(self, ranks: FloatArray) -> FloatArray:
        """The scale at each rank."""
        return np.where(ranks < 2, self.first_scale, self.scale)


@dataclass(frozen=True, eq=False)
class StopDistribution:
    """The probability of stopping at rank ℓ = 1 … limit, shape (limit,), and of passing all of them."""

    masses: FloatArray
    beyond: float


def search_and_draw(profile: Profile, *, search: StoppingSearch, rate: float) -> LevelDistribution:
    """The output distribution of a search for a cut, then a draw above it with P(i) ∝ exp(rate · score)."""
    ladder = profile.ladder()
    limit = _last_test(profile, ladder)
    stops = _first_stop(search, ladder, segments(ladder, limit))
    masses = _drawn(ladder, stops, rate)
    if profile.dummies:
        return ladder.distribution(masses, stops.never)
    return ladder.distribution(masses + stops.never * ladder.draw(rate).masses)


def stopping_distribution(profile: Profile, *, search: StoppingSearch, limit: int | None = None) -> StopDistribution:
    """The probability of a stop at each rank, up to `limit` (a few thousand at most, for speed).

    Requires: 0 ≤ limit ≤ the last rank that is tested (all candidates but one, or all dummies but one), which is the
    default. `beyond` is the mass of not stopping within the limit.
    """
    ladder = profile.ladder()
    last = _last_test(profile, ladder)
    limit = last if limit is None else limit
    if not 0 <= limit <= min(last, 10**6):
        raise BadParameter("limit must lie between 0 and the last tested rank, and be at most 1000000.")
    stops = _first_stop(search, ladder, every_rank(ladder, limit))
    masses = np.zeros(limit)
    firsts = np.concatenate(([0.0], np.cumsum(np.array(ladder.counts, dtype=np.float64))))
    masses[(firsts[stops.levels] + stops.offsets).astype(np.int64) - 1] = stops.masses
    return StopDistribution(masses, stops.never)


def draw_distribution(profile: Profile, *, rank: int, rate: float) -> LevelDistribution:
    """The output distribution of the draw after a stop at `rank`: P(i) ∝ exp(rate · score) among the top `rank`.

    A level that straddles the rank takes part with the number of its members inside. Requires: 1 ≤ rank ≤ the number
    of candidates, dummies included.
    """
    ladder = profile.ladder()
    if not 1 <= rank <= sum(ladder.counts):
        raise BadParameter("rank must lie between 1 and the number of candidates.")
    level, included = ladder.locate(rank)
    stop = _Stops(np.ones(1), np.array([float(included)]), np.array([level]), 0.0)
    return ladder.distribution(_drawn(ladder, stop, rate))


def _drawn(ladder: Ladder, stops: _Stops, rate: float) -> FloatArray:
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


def _last_test(profile: Profile, ladder: Ladder) -> int:
    """The last rank that is tested: below the number of dummies, or of candidates when the universe is known."""
    return (profile.dummies or sum(ladder.counts)) - 1


@dataclass(frozen=True, eq=False)
class _Stops:
    """The mass at nodes of ranks, and the mass of never stopping.

    `masses`, `offsets` (members of the level included) and `levels` (of c(ℓ+1)) have shape (nodes,).
    """

    masses: FloatArray
    offsets: FloatArray
    levels: IntArray
    never: float


def _first_stop(search: StoppingSearch, ladder: Ladder, parts: list[Segment]) -> _Stops:
    """The distribution of the first rank of `parts` where the search stops.

    Pr[stop at ℓ] = ∫ density(x) p_ℓ(x) ∏_{j<ℓ} (1 − p_j(x)) dx, summed over the ranks that a node stands for.
    """
    kept = _possible(search, ladder, parts)
    rule = _conditioning_rule(search, ladder, kept)
    passed = np.zeros(rule.nodes.size)  # −ln Pr[no stop so far | x], increasing in x
    nodes = in_batches(kept)
    ranks = np.concatenate([*(part.ranks for part in nodes), np.zeros(0)])
    offsets = np.concatenate([*(part.offsets for part in nodes), np.zeros(0)])
    levels = np.concatenate([*(part.levels for part in nodes), np.zeros(0, dtype=np.int64)])
    ends = np.cumsum([part.ranks.size for part in nodes])
    targets = np.split(_target(search, ladder, ranks, levels), ends[:-1])
    masses = [_advance(search, rule, passed, target, part) for target, part in zip(targets, nodes, strict=False)]
    return _Stops(np.concatenate([*masses, np.zeros(0)]), offsets, levels, float(rule.weights @ np.exp(-passed)))


def _target(search: StoppingSearch, ladder: Ladder, ranks: FloatArray, levels: IntArray) -> FloatArray:
    """T(ℓ) − q_ℓ: where the conditioning variable meets the threshold."""
    return np.asarray(search.threshold(ranks) - (ladder.scores[0] - ladder.scores[levels]))


def _possible(search: StoppingSearch, ladder: Ladder, parts: list[Segment]) -> list[Segment]:
    """The segments where a stop is not negligible, under any conditioning variable times the density there.

    That product of exponentials is largest where the density has its peak, unless the hazard rises faster than the
    density falls: then at the end of the support.
    """
    ranks = np.array([float(part.rank) for part in parts])
    levels = np.array([part.level for part in parts], dtype=np.int64)
    scales = search.scales(ranks)
    peaks = np.where(search.conditioning.scale <= scales, 0.0, search.conditioning.support[1])
    best = (peaks - _target(search, ladder, ranks, levels)) / scales
    kept = np.minimum(best, 0) + np.log1p(ranks) > -_NEGLIGIBLE
    return [part for part, keep in zip(parts, kept, strict=True) if keep]


def _advance(search: StoppingSearch, rule: Rule, passed: FloatArray, targets: FloatArray, nodes: Nodes) -> FloatArray:
    """The stop mass of each node; adds the nodes' hazards to `passed` in place.

    Rows where everything is decided already, or nothing can happen here, are left out: hazards increase in x.
    """
    scales = search.scales(nodes.ranks)
    reach = float(targets.min()) - float(scales.max()) * (_NEGLIGIBLE + math.log(nodes.weights.sum()))
    first, last = np.searchsorted(rule.nodes, reach), np.searchsorted(passed, _NEGLIGIBLE)
    alive = slice(int(first) // _TILE * _TILE, -(-int(last) // _TILE) * _TILE)
    hazard, decay = search.hazard.at((rule.nodes[alive, None] - targets) / scales)
    sums = np.matmul(decay.reshape(-1, _TILE, targets.size), nodes.sums).reshape(-1, targets.size + 1)
    sums += passed[alive, None]
    passed[alive] = sums[:, -1]
    hazard *= np.exp(-sums[:, :-1])
    return np.asarray(np.einsum("x,xn->n", rule.weights[alive], hazard) * nodes.weights)


def _conditioning_rule(search: StoppingSearch, ladder: Ladder, parts: list[Segment]) -> Rule:
    """Quadrature for the conditioning variable with its density in the weights, cut where a hazard has a kink."""
    low, high = search.conditioning.support
    kinks = _visible_kinks(search, ladder, parts)
    inside = kinks[(kinks > low) & (kinks < high)]
    cuts = np.concatenate(([low, 0.0, high], inside))
    step = min(2 * search.first_scale, 2 * search.scale, 4 * search.conditioning.scale)
    rule = panels(cuts, step=max(step, (high - low) / _PANELS), order=_ORDER)
    filling = (0, -rule.nodes.size % _TILE)  # nodes without weight, up to whole tiles
    weights = rule.weights * search.conditioning.density(rule.nodes)
    return Rule(np.pad(rule.nodes, filling, mode="edge"), np.pad(weights, filling))


def _visible_kinks(search: StoppingSearch, ladder: Ladder, parts: list[Segment]) -> FloatArray:
    """Where a hazard has its kink while enough mass is still undecided to see it."""
    each = [part for part in parts if not part.is_block]
    if not each:
        return np.zeros(0)
    sizes = [part.size for part in each]
    ranks = np.concatenate([float(part.rank) + np.arange(part.size) for part in each])
    kinks = _target(search, ladder, ranks, np.repeat([part.level for part in each], sizes))
    decay = search.hazard.at(np.array([0.0, -1.0]))[1]
    lost = np.maximum(decay[0] * _crowd(kinks, 0.0), decay[1] * _crowd(kinks, min(search.first_scale, search.scale)))
    far = np.abs(kinks) / (1.5 * search.conditioning.scale)
    return np.asarray(kinks[-lost - far > _VISIBLE])


def _crowd(kinks: FloatArray, slack: float) -> IntArray:
    """For every kink, how many earlier ones lie below it or at most `slack` above (counted up to about _CROWD)."""
    counts = []
    lowest = np.zeros(0)
    for start in range(0, kinks.size, 64):
        part = kinks[start : start + 64]
        reach = part[:, None] + slack
        counts.append((lowest <= reach).sum(axis=1) + np.tril(part <= reach, -1).sum(axis=1))
        lowest = np.sort(np.concatenate((lowest, part)))[:_CROWD]
    return np.concatenate(counts)
