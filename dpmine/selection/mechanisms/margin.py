"""What the two margin mechanisms share: search for how many candidates stand out, then draw among those."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.exact.noise import GumbelNoise
from dpmine.selection.draws.first_stop import first_stop
from dpmine.selection.draws.top_draw import draw_from_best
from dpmine.selection.mechanisms.base import Mechanism
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.selection.draws.first_stop import Hazard
    from dpmine.selection.universes.base import Score, Universe

C = TypeVar("C", bound="Hashable")


class MarginMechanism(Mechanism):
    """The first ℓ at which the search stops, then P(i) ∝ exp(c_i / draw_scale) among the ℓ best.

    Without a stop all candidates are drawn from; in a universe with dummies that, like a dummy drawn, is nothing.
    """

    approximate: ClassVar[bool] = True
    needs_catalogue: ClassVar[bool] = False

    def lead_over(self) -> str:
        """A few may be close."""
        return "all others but a few"

    @property
    @abstractmethod
    def draw_scale(self) -> Fraction:
        """The scale of the Gumbel noise that the draw amounts to."""

    @abstractmethod
    def hazard(self, top: Score, *, bits: BitSource) -> Hazard:
        """The search's probabilities of stopping, its own noise drawn once; `top` is c(1)."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner among the candidates that stand out; None when nothing does."""
        ranking = Ranking(universe)
        size = first_stop(self.hazard(universe.top(), bits=bits), ranking, bits=bits)
        if size is None and universe.padding:
            return None
        return draw_from_best(universe, ranking, size or ranking.length, GumbelNoise(self.draw_scale), bits=bits)
