"""Any mechanism k times, each time on what is left. Proof: docs/proofs/selection/composition.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

from dpmine.privacy import short
from dpmine.selection.composition import approximate_rounds, pure_rounds
from dpmine.selection.top_k.base import TopK
from dpmine.selection.universes.views import Remaining

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.selection.mechanisms.base import Mechanism
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")


@dataclass(frozen=True, slots=True)
class Peeling(TopK):
    """k rounds of `once`, each on the candidates that the rounds before did not choose.

    A round in which nothing stands out is lost, and the next one is run all the same: all are paid for.
    """

    once: Mechanism

    @classmethod
    def of(cls, count: int, mechanism: Mechanism, delta: Fraction) -> Self:
        """`mechanism` holds the ε of the whole list; each round gets the most that is certified to add up to (ε, δ).

        A pure mechanism charges δ only where that buys more than basic composition does.
        """
        compose = approximate_rounds if mechanism.approximate else pure_rounds
        rounds = compose(count, mechanism.epsilon, delta)
        once = replace(mechanism, epsilon=rounds.round_epsilon, delta=rounds.round_delta)
        return cls(count, rounds.epsilon, rounds.delta, mechanism.neighbors, once)

    @property
    def mechanism(self) -> Mechanism:
        """The one that is peeled."""
        return self.once

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most `count` candidates."""
        left = Remaining(universe)
        chosen: list[C] = []
        for _ in range(self.count):
            if left.is_empty:
                break
            candidate = self.once.choose(left, bits=bits)
            if candidate is not None:
                left.take(candidate)
                chosen.append(candidate)
        return tuple(chosen)

    def lead(self, candidates: int) -> float:
        """The mechanism's at a round's budget."""
        return self.once.lead(candidates)

    def rounds(self) -> str:
        """One mechanism a place."""
        once = self.once
        if not once.private:
            return f"{self.count} rounds of {once.name}, which is not private"
        delta = f", δ = {short(once.delta)}" if once.delta else ""
        return f"{self.count} rounds of {once.name} at ε = {short(once.epsilon)}{delta}"
