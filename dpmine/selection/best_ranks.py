"""The best ranks of a universe as a universe of their own: what the draws of the margin mechanisms choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpmine.exact.decisions import uniform_below
from dpmine.selection.universe import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.ranking import Ranking
    from dpmine.selection.universe import Score


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
