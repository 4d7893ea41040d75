"""The limited-domain mechanism: the exponential mechanism among the k̄ best of an unknown universe.

Proof: docs/proofs/selection/limited_domain.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any, ClassVar

from dpmine.exact.noise import GumbelNoise, draw
from dpmine.exact.reals import Ball, Formula, Real, exact_ball, logarithm
from dpmine.selection.draws import draws_from_best
from dpmine.selection.mechanisms.base import Mechanism
from dpmine.selection.universes.ranking import Padded, Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws.profile import LevelLaw, Profile
    from dpmine.selection.universes.base import C, Score, Universe

DEFAULT_KBAR = 2**20


@dataclass(frozen=True, slots=True)
class LimitedDomain(Mechanism):
    """P(i) ∝ exp(ε c_i/u) over the k̄ best candidates (dummies included) and "nothing", u = 2, or 1 under add_remove.

    "Nothing" has the score c(k̄+1) + u + (u/ε) ln(k̄/δ). (ε, δ)-private under both relations. The universe is always
    padded with dummies of score 0, more than k̄, first among zeros; a dummy drawn is nothing.
    Source: Durfee & Rogers 2019, Algorithm 1 with k = 1.
    """

    kbar: int = DEFAULT_KBAR

    name: ClassVar[str] = "limited_domain"
    bounded_range: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = True

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner, or None."""
        return next(self.draws(universe, 1, bits=bits), None)

    def draws(self, universe: Universe[C], places: int, *, bits: BitSource) -> Iterator[C | None]:
        """So many draws without replacement, None for a dummy, up to where "nothing" is drawn."""
        padded = Padded(universe, self.kbar + 1)
        ranking = Ranking(padded)
        noise = GumbelNoise(self.scale)
        above = Formula(lambda gumbel: self._slack() + gumbel, draw(noise, bits=bits))
        nothing = _Nothing(ranking, self.kbar + 1, above)
        return draws_from_best(padded, ranking, self.kbar, noise, places=places, bits=bits, rival=nothing)

    def law(self, profile: Profile) -> LevelLaw:
        """Softmax of the kept scores and of "nothing"."""
        slack = float(self.epsilon) + log(self.kbar) - log(float(self.delta))
        return profile.best_or_nothing(self.kbar, 1 / float(self.scale), slack)

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """Above the (k̄+1)-th score: what beats "nothing"."""
        unit, epsilon = float(self.unit), float(self.epsilon)
        return unit + unit / epsilon * (log(self.kbar / float(self.delta)) + 3)

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """(u/ε) ln((k̄/η)(1 + e^ε/δ)): k̄ others at most, and "nothing", at least so far below the winner."""
        nothing = float(self.epsilon) - log(float(self.delta))
        return float(self.scale) * (log(self.kbar / failure) + nothing + log(1 + exp(-nothing)))

    def lead_over(self) -> str:
        """The first candidate that is not kept."""
        return f"candidate number {self.kbar + 1:,}"

    def _slack(self) -> Ball:
        """How far "nothing" stands above the (k̄+1)-th score."""
        unit = exact_ball(self.unit)
        return unit + unit * logarithm(self.kbar / self.delta) / exact_ball(self.epsilon)


class _Nothing:
    """The outcome "nothing": it grows with c(k̄+1), which is looked up only as closely as the contest asks."""

    def __init__(self, ranking: Ranking[Any], rank: int, above: Real) -> None:
        """`above` is how far the noisy score lies above that of the rank."""
        self._ranking = ranking
        self._rank = rank
        self._above = above
        self._noisy: dict[Score, Real] = {}

    def bounds(self) -> tuple[Real, Real]:
        """The noisy score if c(k̄+1) is as small, and as large, as it can be."""
        low, high = map(self._noisy_score, self._ranking.score_bounds(self._rank))
        return low, high

    def sharpen(self) -> None:
        """Look one step deeper."""
        self._ranking.deepen()

    def _noisy_score(self, score: Score) -> Real:
        """The same real each time."""
        if score not in self._noisy:
            self._noisy[score] = Formula(lambda above: exact_ball(score) + above, self._above)
        return self._noisy[score]
