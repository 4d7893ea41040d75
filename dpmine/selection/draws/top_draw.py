"""Draws among the ℓ best candidates: the last step of the margin mechanisms, and the limited-domain mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dpmine.exact.decisions import uniform_below
from dpmine.selection.draws.noisy_order import noisy_order
from dpmine.selection.universes.base import Level

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import GumbelNoise
    from dpmine.selection.draws.noisy_order import Rival
    from dpmine.selection.universes.base import Score, Universe
    from dpmine.selection.universes.ranking import Ranking


class BestRanks:
    """Ranks 1 … `count` of a ranking; a candidate is its rank. Dummies among them are ordinary candidates here."""

    padding = 0

    def __init__(self, ranking: Ranking[Any], count: int) -> None:
        self._ranking = ranking
        self.size = count

    @property
    def least(self) -> Score:
        """The ranking's lower bound."""
        return self._ranking.bottom

    def top(self) -> Score:
        """The score of rank 1."""
        return self._ranking.score(1)

    def head(self, floor: Score) -> Sequence[Level]:
        """The levels with score ≥ `floor`, the last one cut at `count`."""
        levels, left = [], self.size
        for level in self._ranking.head(floor):
            if left:
                levels.append(Level(level.score, min(level.count, left)))
                left -= levels[-1].count
        return levels

    def below(self, floor: Score) -> Score:
        """What no rank behind the head exceeds."""
        return self._ranking.below(floor)

    def lower(self, floor: Score) -> Score:
        """The universe's next floor."""
        return self._ranking.lower(floor)

    def member(self, level: Level, *, bits: BitSource) -> int:
        """A uniform rank of the level."""
        before = sum(better.count for better in self._ranking.head(level.score) if better.score > level.score)
        return before + 1 + uniform_below(level.count, bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[int, Score]:
        """A uniform rank behind the head, and its score: this may look deeper into the universe."""
        before = sum(level.count for level in self.head(floor))
        rank = before + 1 + uniform_below(self.size - before, bits=bits)
        return rank, self._ranking.score(rank)


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
