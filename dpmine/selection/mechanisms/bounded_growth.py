"""The choosing mechanism: the exponential mechanism over the candidates that occur, for counts of bounded growth.

Proof: docs/proofs/selection/bounded_growth.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import expm1, inf, log, log1p
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import Ball, Formula, GumbelNoise, draw, exact_ball
from dpmine.later import flint
from dpmine.selection.draws import KnownRival, noisy_order
from dpmine.selection.mechanisms.mechanism import Mechanism
from dpmine.selection.universes.dense import Levels

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.distributions.profile import LevelDistribution, Profile
    from dpmine.selection.universes.protocol import C, Universe

_AUDITED_GROWTH = 10


@dataclass(frozen=True, slots=True)
class BoundedGrowth(Mechanism):
    """P(i) ∝ exp(r c_i) over the candidates with c_i ≥ 1, P(nothing) ∝ W; r = ε/2, or ε under add_remove.

    W = ℓ e^r max((1 − δ)/δ, 1/(e^r − 1)), where ℓ = `growth` is the most candidates that one unit supports.
    (ε, δ)-private under both relations for counts that start at 0, known or unknown universe.
    Requires: integer scores ≥ 0, and units truncated beforehand, so that `growth` holds whatever the data.
    Source: after Beimel, Nissim & Stemmer 2013 (the choosing mechanism).
    """

    growth: int = field(metadata={"option": "max_items_per_unit"})

    name: ClassVar[str] = "bounded_growth"
    needs_counts: ClassVar[bool] = True
    needs_bounded_units: ClassVar[bool] = True

    @property
    def candidates_per_unit(self) -> int:
        """`growth`."""
        return self.growth

    @classmethod
    def audit_variants(cls, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> list[Self]:
        """One growth: the claim has the same form for all."""
        return [cls(epsilon, delta, neighbors, _AUDITED_GROWTH)]

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner, or None."""
        levels = universe.head(1)
        if universe.least < 0 or any(level.score != int(level.score) for level in levels):
            raise BadParameter("bounded_growth needs counts: whole scores of at least 0, and sensitivity 1.")
        if not levels:
            return None
        noise = GumbelNoise(self.scale)
        nothing = Formula(lambda gumbel: self._score_of_nothing() + gumbel, draw(noise, bits=bits))
        winner = next(noisy_order(Levels.of(levels), noise, bits=bits, rival=KnownRival(nothing)), None)
        return None if winner is None else universe.member(levels[winner[0]], bits=bits)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """Softmax of the scores ≥ 1 and of "nothing"; dummies have score 0, hence weight 0."""
        rate, delta = float(1 / self.scale), float(self.delta)
        log_expm1 = rate + log(-expm1(-rate))
        log_nothing = log(self.growth) + rate + max(log1p(-delta) - log(delta), -log_expm1)
        ladder = profile.ladder(dummies=max(1, profile.dummies))
        logs = np.where(ladder.scores >= 1, ladder.log_weights(rate), -inf)
        return ladder.softmax(logs, log_nothing - rate * float(ladder.scores[0]))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """The count that beats "nothing"."""
        rate, delta = float(1 / self.scale), float(self.delta)
        weight = max(log((1 - delta) / delta), -log(expm1(rate)) if rate < 700 else -rate)
        return 1 + (log(self.growth) + weight + 3) / rate

    def _score_of_nothing(self) -> Ball:
        """(ln W)/r."""
        rate, delta = exact_ball(1 / self.scale), exact_ball(self.delta)
        odds = flint.arb.max((1 - delta) / delta, 1 / rate.expm1())
        return 1 + (self.growth * odds).log() / rate
