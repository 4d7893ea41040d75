"""What every way of choosing k candidates offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpmine.privacy import Guarantee

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.mechanisms.base import Mechanism
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")


@dataclass(frozen=True, slots=True)
class TopK(ABC):
    """A private choice of at most `count` different candidates, best first, for scores of sensitivity 1.

    `epsilon` and `delta` are those of the whole list. Under `add_remove`, scores must move together: a unit more moves
    every score by 0 to +1 (counts do).
    """

    count: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism that one round runs, with a round's budget."""

    @property
    def name(self) -> str:
        """The mechanism's."""
        return self.mechanism.name

    @property
    def needs_catalogue(self) -> bool:
        """Whether every candidate must be public, so that it is of no use where the universe is unknown."""
        return self.mechanism.needs_catalogue

    @abstractmethod
    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """The chosen candidates: fewer than `count` where nothing stands out."""

    @abstractmethod
    def lead(self, candidates: int) -> float:
        """How far the k best must lead the others, in sensitivities, to be the ones chosen with probability about 0.95.

        `candidates` is how many others there are, where the mechanism cares. For advice only.
        """

    def lead_over(self) -> str:
        """Whom the best candidates have to lead: what `lead` is measured against."""
        return self.mechanism.lead_over()

    @abstractmethod
    def rounds(self) -> str:
        """How the budget is spent, in one phrase: facts of the parameters."""

    def guarantee(self) -> Guarantee:
        """What one run promises."""
        promise = Guarantee(self.epsilon, self.delta, self.neighbors)
        return promise if self.mechanism.private else promise.without_privacy("the exact maximum was asked for")
