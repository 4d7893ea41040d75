"""How large counts must be for a list of the best to be expected right: from public parameters alone."""

from __future__ import annotations

from math import exp, expm1
from typing import TYPE_CHECKING

from dpmine.selection.recommend import DECAY, Shape, least, stylised

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import Profile


HALF = 0.5
"""The share below which a list is mostly noise."""
_HALVINGS = 60
_FARTHEST = 700.0  # beyond it, an exponential leaves float64


def support_needed(k: int, scale: float, candidates: int) -> int:
    """The least support of the best candidate at which half of the list is expected to be right.

    `scale` is the noise scale of one place, in units; there are `candidates` ≥ k. Supports fall off by a power law.
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


def share_of_best(rank: float) -> float:
    """The score of the candidate of that rank, as a share of the best."""
    share: float = max(1.0, rank) ** -DECAY
    return share
