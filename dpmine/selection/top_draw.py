"""The last step of the margin mechanisms: the exponential mechanism among the ℓ best candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpmine.selection.best_ranks import BestRanks
from dpmine.selection.noisy_max import noisy_max

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import GumbelNoise
    from dpmine.selection.noisy_max import Rival
    from dpmine.selection.ranking import Ranking
    from dpmine.selection.universe import Universe

C = TypeVar("C", bound="Hashable")


def draw_from_best(
    universe: Universe[C],
    ranking: Ranking[C],
    count: int,
    noise: GumbelNoise,
    *,
    bits: BitSource,
    rival: Rival | None = None,
) -> C | None:
    """One of the `count` best candidates, P(i) ∝ exp(c_i / noise.scale); None for a dummy, or when the rival wins.

    A level of which only a part belongs to the `count` best is drawn as a uniform member of the whole level: ties are
    broken by a uniform permutation, so every member is in that part equally often.
    """
    rank = noisy_max(BestRanks(ranking, count), noise, bits=bits, rival=rival)
    level = None if rank is None else ranking.level(rank)
    return None if level is None else universe.member(level, bits=bits)
