"""Release the maximiser if it is stable. Proof: docs/proofs/selection/stable_maximiser.md."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.noise import LaplaceNoise, draw
from dpmine.exact.reals import Formula, exact_ball, less_than, logarithm
from dpmine.selection.mechanisms.base import Mechanism
from dpmine.selection.universes.ranking import Padded, Ranking

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws.profile import Ladder, LevelLaw, Profile
    from dpmine.selection.universes.base import C, Universe


class StableMaximiser(Mechanism):
    """The maximiser if max(0, c(1) − c(2) − s) + Lap(s/ε) > (s/ε) ln(1/(2δ)), else nothing; s = 2 (add_remove: 1).

    (ε, δ)-private under both relations, for known universes and, padded with at least 2 dummies, for unknown ones.
    Source: after Smith & Thakurta 2013, section 3.
    """

    name: ClassVar[str] = "stable_maximiser"

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The maximiser, or None."""
        ranking = Ranking(Padded(universe, 2) if universe.padding else universe)
        if not self._is_stable(ranking, bits):
            return None
        best = ranking.level(1)
        return None if best is None else universe.member(best, bits=bits)

    def law(self, profile: Profile) -> LevelLaw:
        """A Laplace tail. An unknown universe is a profile with dummies; it gets at least two."""
        ladder = profile.ladder(dummies=max(2, profile.dummies) if profile.dummies else 0)
        unit = float(self.unit)
        excess = -log(2 * float(self.delta)) - max(0.0, _lead(ladder) - unit) * float(self.epsilon) / unit
        tail = exp(-abs(excess)) / 2
        masses = np.zeros(len(ladder.scores))
        masses[0], nothing = (tail, 1 - tail) if excess > 0 else (1 - tail, tail)
        return ladder.law(masses, nothing)

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """Over the runner-up."""
        unit, epsilon = float(self.unit), float(self.epsilon)
        return unit + unit / epsilon * (log(1 / (2 * float(self.delta))) + log(10))

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """The lead s + (s/ε)(ln(1/2δ) + ln(1/2η)): a Laplace tail, exact for η ≤ 1/2 (larger η gain nothing)."""
        tails = log(1 / (2 * float(self.delta))) + log(1 / (2 * min(failure, 0.5)))
        return float(self.unit) + float(self.scale) * tails

    def lead_over(self) -> str:
        """The second best."""
        return "the runner-up"

    def _is_stable(self, ranking: Ranking[C], bits: BitSource) -> bool:
        """A universe of one candidate has no runner-up: its maximiser is the same on every data set."""
        if ranking.length == 1:
            return True
        gap = max(Fraction(0), ranking.score(1) - ranking.score(2) - self.unit)
        noise = draw(LaplaceNoise(self.scale), bits=bits)
        threshold = Formula(lambda: exact_ball(self.scale) * logarithm(1 / (2 * self.delta)) - exact_ball(gap))
        return less_than(threshold, noise, bits=bits)


def _lead(ladder: Ladder) -> float:
    """c(1) − c(2), infinite for a single candidate."""
    if ladder.counts[0] > 1:
        return 0.0
    return float(ladder.scores[0] - ladder.scores[1]) if len(ladder.scores) > 1 else inf
