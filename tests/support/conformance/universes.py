"""A wrapper that holds a universe to its protocol: for tests, and for whoever writes a universe of their own."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Generic, TypeVar

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Level, Score, Universe

C = TypeVar("C", bound="Hashable")


class Checked(Generic[C]):
    """`universe`, every answer checked. Raises BadParameter, naming the rule, at the first answer that breaks one.

    >>> from dpmine.selection.universes.dense import Levels
    >>> Checked(Levels([(3, 1), (0, 5)])).top()
    3
    """

    def __init__(self, universe: Universe[C]) -> None:
        self._inner = universe
        self.size = universe.size
        self.padding = universe.padding
        _require(universe.padding >= 0, "padding must not be negative")
        _require(universe.size is None or universe.size >= 0, "size must not be negative")
        _require(universe.size is not None or universe.padding > 0, "an unknown size needs padding")

    @property
    def least(self) -> Score:
        """The universe's floor."""
        least = self._inner.least
        _require(not self.padding or least >= 0, "with padding, scores must be at least 0")
        return least

    def top(self) -> Score:
        """The best score, checked against the head."""
        top = self._inner.top()
        head = self.head(top)
        _require(not head or head[0].score == top, "top must be the score of the first level")
        return top

    def head(self, floor: Score) -> Sequence[Level]:
        """The levels above `floor`, checked for order, counts and size."""
        head = self._inner.head(floor)
        total = sum(level.count for level in head)
        _require(all(level.count >= 1 for level in head), "multiplicities must be at least 1")
        _require(
            all(upper.score > lower.score for upper, lower in pairwise(head)), "levels must be strictly decreasing"
        )
        _require(not head or head[-1].score >= floor, "the head must not go below its floor")
        if self.size is not None:
            _require(total <= self.size, "levels must not hold more candidates than the size")
            everything = floor <= self._inner.least and not self.padding
            _require(
                not everything or total == self.size, "all levels together must hold as many candidates as the size"
            )
        return head

    def below(self, floor: Score) -> Score:
        """The bound on the tail."""
        below = self._inner.below(floor)
        _require(below <= floor, "the bound on the tail must not exceed the floor")
        return below

    def lower(self, floor: Score) -> Score:
        """The next floor."""
        lower = self._inner.lower(floor)
        _require(lower < floor or floor <= self._inner.least, "the next floor must be lower")
        return lower

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A member of the level."""
        return self._inner.member(level, bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A candidate of the tail."""
        candidate, score = self._inner.tail(floor, bits=bits)
        _require(score < floor, "a candidate of the tail must score below the floor")
        _require(score <= self._inner.below(floor), "a candidate of the tail must not exceed the bound on the tail")
        return candidate, score


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise BadParameter(f"The universe breaks its protocol: {rule}.")
