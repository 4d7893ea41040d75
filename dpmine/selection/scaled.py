"""A universe whose scores are divided by their sensitivity: mechanisms then only know scores of sensitivity 1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from dpmine.selection.universe import Level, Score, Universe

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource

C = TypeVar("C", bound="Hashable")


class Scaled(Generic[C]):
    """`universe` with every score divided by `sensitivity` > 0, exactly."""

    def __init__(self, universe: Universe[C], sensitivity: Fraction) -> None:
        self._inner = universe
        self._sensitivity = sensitivity
        self.size = universe.size
        self.padding = universe.padding

    @property
    def least(self) -> Score:
        """The lowest score in units of the sensitivity."""
        return self._down(self._inner.least)

    def top(self) -> Score:
        """The best score in units of the sensitivity."""
        return self._down(self._inner.top())

    def head(self, floor: Score) -> Sequence[Level]:
        """The levels above `floor`."""
        return [Level(self._down(level.score), level.count) for level in self._inner.head(self._up(floor))]

    def below(self, floor: Score) -> Score:
        """What no candidate of the tail exceeds."""
        return self._down(self._inner.below(self._up(floor)))

    def lower(self, floor: Score) -> Score:
        """The next floor."""
        return self._down(self._inner.lower(self._up(floor)))

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform member of the level."""
        return self._inner.member(Level(self._up(level.score), level.count), bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate below `floor`."""
        candidate, score = self._inner.tail(self._up(floor), bits=bits)
        return candidate, self._down(score)

    def _down(self, score: Score) -> Score:
        return _plain(Fraction(score) / self._sensitivity)

    def _up(self, score: Score) -> Score:
        return _plain(score * self._sensitivity)


def _plain(score: Fraction) -> Score:
    """Integers as int, so that levels of integers compare and print as such."""
    return int(score) if score.denominator == 1 else score
