"""How large supports must be for a list to be expected right: from public parameters, before any data are read."""

from __future__ import annotations

from math import ceil, exp, expm1, log, pi, sqrt
from typing import TYPE_CHECKING

from dpmine.itemsets.ways.discovery import Discover
from dpmine.itemsets.ways.items_first import ByItems
from dpmine.itemsets.ways.weighted_pairs import WeightedPairs
from dpmine.selection.mechanisms.report_noisy_max import NoisyMaxMechanism
from dpmine.selection.recommend import DECAY, Shape, least, stylised
from dpmine.selection.top_k import LimitedDomainTopK

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import Profile
    from dpmine.selection.top_k import TopK


HALF = 0.5
"""The share below which a list is mostly noise."""
BEST_SHARE = 20
"""One unit in this many is assumed to have the best itemset; in the benchmarks' data it is 1 in 3 to 31."""
USUAL_UNITS = 5_000
"""The assumed number of units where none is given."""
_OF_NORMAL = sqrt(6) / pi  # the scale of Gumbel noise with a standard deviation of 1
_HALVINGS = 60
_FARTHEST = 700.0  # beyond it, an exponential leaves float64


def support_needed(k: int, scale: float, candidates: int) -> int:
    """The least support of the best itemset at which half of the list is expected to be right.

    `scale` is the noise scale of one place, in units; there are `candidates` ≥ k.
    """
    return least(lambda support: share_right(k, scale, candidates, support) >= HALF, start=1)


def share_right(k: int, scale: float, candidates: int, best: float) -> float:
    """The expected share of the k largest noisy supports that is among the k largest supports; `best` is the largest.

    For Gumbel noise, with the k-th largest noisy support replaced by its mean.
    """
    profile = stylised(Shape.POWER_LAW, best / Shape.POWER_LAW.top, candidates)
    low, high = -_FARTHEST * scale, best + _FARTHEST * scale
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _above(profile, scale, middle, candidates) > k else (low, middle)
    return _above(profile, scale, low, k) / k


def _above(profile: Profile, scale: float, bound: float, ranks: int) -> float:
    """How many of the first `ranks` candidates are expected to have a noisy support above the bound."""
    expected = 0.0
    for score, count in zip(profile.scores, profile.counts, strict=True):
        distance = (score - bound) / scale
        certain = distance > _FARTHEST
        expected += min(count, ranks) * (1.0 if certain else -expm1(-exp(distance)))
        ranks -= min(count, ranks)
        if not ranks:
            break
    return expected


def right_from(way: TopK, candidates: int) -> int:
    """The least support of the best itemset at which half of the list is expected to be right; 0 if it is unknown.

    `candidates` is the number of public itemsets, 0 where there is no public list. Assumptions: supports fall off by a
    power law, as in `support_needed`; units have as many items as they may name in a discovery. `items_first` keeps the
    items of the best itemsets, and pairs with weights count in full.
    """
    kept = way.candidates if isinstance(way, ByItems) else candidates
    if isinstance(way, LimitedDomainTopK):
        return _standing_out(way)
    if not isinstance(way.mechanism, NoisyMaxMechanism) or not kept:
        return 0
    if not isinstance(way, Discover):
        return support_needed(way.count, float(way.mechanism.scale), max(kept, way.count))
    usual = way.usual
    scale = usual.noise * _OF_NORMAL if isinstance(usual, WeightedPairs) else float(usual.mechanism.scale)
    return max(support_needed(way.count, scale, max(kept, way.count)), _named(way))


def _standing_out(way: LimitedDomainTopK) -> int:
    """Where the middle of the list exceeds the best one that is not kept by what "nothing" has beside it."""
    mechanism = way.mechanism
    slack = float(mechanism.scale) * (float(mechanism.epsilon) + log(mechanism.kbar / mechanism.delta))
    return ceil(slack / (_share(way.count / 2) - _share(mechanism.kbar + 1)))


def _named(way: Discover) -> int:
    """Where the items of the itemset in the middle of the list are released as often as not, after all looks."""
    discovery = way.discovery
    weight = discovery.thresholds[-1] / sum(discovery.looks) / discovery.weight
    return ceil(weight * sqrt(discovery.items_per_unit) / _share(way.count / 2))


def _share(rank: float) -> float:
    """The support of the itemset of that rank, as a share of the best."""
    share: float = max(1.0, rank) ** -DECAY
    return share
