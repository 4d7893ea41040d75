"""A universe from which chosen candidates are taken out, one by one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from dpmine.selection.universe import Level

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universe import Score, Universe

C = TypeVar("C", bound="Hashable")


class Remaining(Generic[C]):
    """What is left of `universe`. Nothing is counted again: the score of a candidate is noted when it is handed out."""

    def __init__(self, universe: Universe[C]) -> None:
        self._inner = universe
        self._scores: dict[C, Score] = {}
        self._taken: dict[C, Score] = {}
        self._gone: Counter[Score] = Counter()
        self.padding = universe.padding

    def take(self, candidate: C) -> None:
        """Take out a candidate that `member` or `tail` handed out."""
        self._taken[candidate] = self._scores[candidate]
        self._gone[self._scores[candidate]] += 1

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to choose, not even a dummy."""
        return self.size == 0 and not self.padding

    @property
    def size(self) -> int | None:
        """How many are left."""
        return None if self._inner.size is None else self._inner.size - len(self._taken)

    @property
    def least(self) -> Score:
        """The universe's."""
        return self._inner.least

    def top(self) -> Score:
        """The best score that is left."""
        floor = self._inner.top()
        while not (levels := self.head(floor)) and floor > self.least:
            floor = self._inner.lower(floor)
        return levels[0].score if levels else self.least

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ floor, without those taken."""
        levels = (Level(level.score, level.count - self._gone[level.score]) for level in self._inner.head(floor))
        return [level for level in levels if level.count]

    def below(self, floor: Score) -> Score:
        """What no candidate of the tail exceeds: the universe's bound."""
        return self._inner.below(floor)

    def lower(self, floor: Score) -> Score:
        """The universe's next floor."""
        return self._inner.lower(floor)

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform member of the level that is left."""
        whole = Level(level.score, level.count + self._gone[level.score])
        while True:
            candidate = self._inner.member(whole, bits=bits)
            if candidate not in self._taken:
                self._scores[candidate] = level.score
                return candidate

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate that is left, among those with score < floor."""
        while True:
            candidate, score = self._inner.tail(floor, bits=bits)
            if candidate not in self._taken:
                self._scores[candidate] = score
                return candidate, score
