"""A universe with public dummies of score 0 added, first among zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.selection.universe import Score, Universe

C = TypeVar("C", bound="Hashable")


class Padded(Generic[C]):
    """`universe` with at least `dummies` dummies; scores must be at least 0."""

    def __init__(self, universe: Universe[C], dummies: int) -> None:
        """Raises BadParameter for scores below 0."""
        if universe.least < 0:
            raise BadParameter("This mechanism adds dummies of score 0, so scores must be at least 0.")
        self._inner = universe
        self.size = universe.size
        self.padding = max(universe.padding, dummies)
        self.top = universe.top
        self.head = universe.head
        self.below = universe.below
        self.lower = universe.lower
        self.member = universe.member
        self.tail = universe.tail

    @property
    def least(self) -> Score:
        """The lowest score."""
        return self._inner.least
