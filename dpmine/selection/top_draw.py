"""Draws among the ℓ best candidates: the last step of the margin mechanisms, and the limited-domain mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpmine.selection.best_ranks import BestRanks
from dpmine.selection.noisy_order import noisy_order

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import GumbelNoise
    from dpmine.selection.noisy_order import Rival
    from dpmine.selection.ranking import Ranking
    from dpmine.selection.universe import Universe

C = TypeVar("C", bound="Hashable")


def draw_from_best(
    universe: Universe[C], ranking: Ranking[C], kept: int, noise: GumbelNoise, *, bits: BitSource
) -> C | None:
    """One of the `kept` best candidates, P(i) ∝ exp(c_i / noise.scale); None for a dummy."""
    draws = draws_from_best(universe, ranking, kept, noise, places=1, bits=bits)
    return next(draws, None)


def draws_from_best(
    universe: Universe[C],
    ranking: Ranking[C],
    kept: int,
    noise: GumbelNoise,
    *,
    places: int,
    bits: BitSource,
    rival: Rival | None = None,
) -> Iterator[C | None]:
    """At most `places` different ones of the `kept` best, by decreasing c_i + noise, None for a dummy.

    They end where the rival comes. A level of which only a part belongs to the `kept` best is drawn as uniform members
    of the whole level: ties are broken by a uniform permutation, so every member is in that part equally often.
    """
    taken: set[C] = set()
    for rank in noisy_order(BestRanks(ranking, kept), noise, count=places, bits=bits, rival=rival):
        level = None if rank is None else ranking.level(rank)
        if level is None:
            yield None
            continue
        while (candidate := universe.member(level, bits=bits)) in taken:
            pass  # a uniform one of those left, by rejection
        taken.add(candidate)
        yield candidate
