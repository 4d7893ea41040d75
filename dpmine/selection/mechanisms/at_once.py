"""What mechanisms that choose k candidates at once have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from dpmine.selection.mechanisms.mechanism import lead_sensitivity
from dpmine.selection.shortfall import Draws

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.shortfall import Outcomes
    from dpmine.selection.universes.protocol import C, Universe


@dataclass(frozen=True)
class AtOnce:
    """P(s) ∝ exp(−r g(s)) over all outcomes s of `count` different candidates, where g moves by u at most.

    u = 2, or 1 under add_remove, and r = ε/(2u). For k = 1 it is ε/u, and the mechanism is the exponential one.
    ε-private, and ε-bounded-range. Where there are fewer candidates than places, k is their number, which is public.
    Requires: scores are counts, whole numbers of sensitivity 1 that move together under add_remove.
    """

    count: int
    epsilon: Fraction
    neighbors: Neighbors

    outcomes: ClassVar[type[Outcomes]]

    @cached_property
    def rate(self) -> Fraction:
        """How far the logarithm of a probability falls with each unit by which an outcome falls short."""
        return self.epsilon / (lead_sensitivity(self.neighbors) * min(2, self.count))

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """An outcome. Requires: the universe has no dummies, and `size` is known."""
        places = min(self.count, universe.size or 0)
        return Draws(universe, self.outcomes(places), self.rate).draw(bits) if places else ()
