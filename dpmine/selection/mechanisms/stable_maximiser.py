"""Release the maximiser if it is stable. Proof: docs/proofs/selection/stable_maximiser.md."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.exact.decisions import less_than
from dpmine.exact.noise import LaplaceNoise, draw
from dpmine.exact.reals import Formula, exact_ball, logarithm
from dpmine.selection.mechanisms.base import Mechanism, unit_reach
from dpmine.selection.universes.ranking import Ranking
from dpmine.selection.universes.views import Padded

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws import LevelLaw, Profile
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")


class StableMaximiser(Mechanism):
    """The maximiser if max(0, c(1) − c(2) − s) + Lap(s/ε) > (s/ε) ln(1/(2δ)), else nothing; s = 2 (add_remove: 1).

    (ε, δ)-private under both relations, for known universes and, padded with at least 2 dummies, for unknown ones.
    Source: after Smith & Thakurta 2013, section 3.
    """

    name: ClassVar[str] = "stable_maximiser"
    approximate: ClassVar[bool] = True
    needs_catalogue: ClassVar[bool] = False

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The maximiser, or None."""
        ranking = Ranking(Padded(universe, 2) if universe.padding else universe)
        if not self._is_stable(ranking, bits):
            return None
        best = ranking.level(1)
        return None if best is None else universe.member(best, bits=bits)

    def law(self, profile: Profile) -> LevelLaw:
        """A Laplace tail."""
        from dpmine.selection import laws

        return laws.stable_maximiser(
            profile, epsilon=float(self.epsilon), delta=float(self.delta), neighbors=self.neighbors
        )

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """Over the runner-up."""
        unit, epsilon = float(self._unit), float(self.epsilon)
        return unit + unit / epsilon * (log(1 / (2 * float(self.delta))) + log(10))

    def lead_over(self) -> str:
        """The second best."""
        return "the runner-up"

    @property
    def _unit(self) -> Fraction:
        return unit_reach(self.neighbors)

    def _is_stable(self, ranking: Ranking[C], bits: BitSource) -> bool:
        """A universe of one candidate has no runner-up: its maximiser is the same on every data set."""
        if ranking.length == 1:
            return True
        gap = max(Fraction(0), ranking.score(1) - ranking.score(2) - self._unit)
        noise = draw(LaplaceNoise(self._unit / self.epsilon), bits=bits)
        threshold = Formula(
            lambda: exact_ball(self._unit / self.epsilon) * logarithm(1 / (2 * self.delta)) - exact_ball(gap)
        )
        return less_than(threshold, noise, bits=bits)
