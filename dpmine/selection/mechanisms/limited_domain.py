"""The limited-domain mechanisms: a choice among the k̄ best of an unknown universe and "nothing".

Proofs: docs/proofs/selection/limited_domain.md and limited_domain_permute_and_flip.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import exp, log
from typing import TYPE_CHECKING, ClassVar, Generic, Self

import numpy as np

from dpmine.exact.reals import Ball, ExponentialNoise, Formula, GumbelNoise, Noise, Real, draw, exact_ball, logarithm
from dpmine.selection.draws import draws_from_best
from dpmine.selection.mechanisms.mechanism import ListWay, Mechanism
from dpmine.selection.mechanisms.report_noisy_max import StandardNoise, winner_masses
from dpmine.selection.universes.protocol import C
from dpmine.selection.universes.ranking import Padded, ranking_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.distributions.profile import LevelDistribution, Profile
    from dpmine.selection.universes.protocol import Score, Universe
    from dpmine.selection.universes.ranking import AnyRanking

DEFAULT_KBAR = 2**20
_AUDITED_KBAR = 4


@dataclass(frozen=True, slots=True)
class KeptDomain(Mechanism):
    """The largest c_i + noise among the k̄ best candidates (dummies included) and "nothing".

    The noise has the scale u/ε, where u = 2, or 1 under add_remove. "Nothing" has the score c(k̄+1) + u +
    (u/ε) ln(k̄/(mδ)). One noise exceeds another by g > 0 with probability at most e^(−gε/u)/m. The universe is always
    padded with dummies of score 0, more than k̄, first among zeros; a dummy drawn is nothing.
    """

    kbar: int = field(default=DEFAULT_KBAR, metadata={"option": "kbar"})

    needs_counts: ClassVar[bool] = True
    tail: ClassVar[int]
    """m."""

    @classmethod
    def audit_variants(cls, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> list[Self]:
        """A small k̄ and the default."""
        return [cls(epsilon, delta, neighbors, _AUDITED_KBAR), cls(epsilon, delta, neighbors)]

    @abstractmethod
    def noise(self) -> Noise:
        """The noise on every score, and on that of "nothing"."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner, or None."""
        return next(self.draws(universe, 1, bits=bits), None)

    def draws(self, universe: Universe[C], places: int, *, bits: BitSource) -> Iterator[C | None]:
        """The `places` largest in order, None for a dummy, up to where "nothing" comes."""
        padded = Padded(universe, self.kbar + 1)
        ranking = ranking_of(padded)
        above = Formula(lambda noise: self._lift() + noise, draw(self.noise(), bits=bits))
        nothing = _Nothing(ranking, self.kbar + 1, above)
        return draws_from_best(padded, ranking, self.kbar, self.noise(), places=places, bits=bits, rival=nothing)

    @property
    def log_weight(self) -> float:
        """How far "nothing" stands above the (k̄+1)-th score, in scales of the noise: ε + ln(k̄/(mδ))."""
        return float(self.epsilon) + log(self.kbar) - log(self.tail) - log(float(self.delta))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """Above the (k̄+1)-th score: what beats "nothing"."""
        u, epsilon = float(self.lead_sensitivity), float(self.epsilon)
        return u + u / epsilon * (log(self.kbar / float(self.delta)) + 3 - 2 * log(self.tail))

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """(u/ε) ln((k̄/(mη))(1 + e^ε/(mδ))): k̄ others at most, and "nothing", at least so far below the winner."""
        nothing = float(self.epsilon) - log(self.tail) - log(float(self.delta))
        return float(self.scale) * (log(self.kbar / failure) - log(self.tail) + nothing + log(1 + exp(-nothing)))

    def lead_over(self) -> str:
        """The first candidate that is not kept."""
        return f"the background (the best beyond the {self.kbar:,} that are kept)"

    def _lift(self) -> Ball:
        """How far "nothing" stands above the (k̄+1)-th score."""
        u = exact_ball(self.lead_sensitivity)
        return u + u * logarithm(self.kbar / (self.tail * self.delta)) / exact_ball(self.epsilon)


class LimitedDomain(KeptDomain):
    """P(i) ∝ exp(ε c_i/u) over the k̄ best candidates (dummies included) and "nothing", u = 2, or 1 under add_remove.

    "Nothing" has the score c(k̄+1) + u + (u/ε) ln(k̄/δ). (ε, δ)-private under both relations. The universe is always
    padded with dummies of score 0, more than k̄, first among zeros; a dummy drawn is nothing.
    Source: Durfee & Rogers 2019, Algorithm 1 with k = 1.
    """

    name: ClassVar[str] = "limited_domain"
    bounded_range: ClassVar[bool] = True
    list_way: ClassVar[ListWay] = ListWay.ONE_SHOT_OF_KEPT
    tail: ClassVar[int] = 1

    def noise(self) -> GumbelNoise:
        """Gumbel noise: the largest noisy score is a draw by the exponential mechanism."""
        return GumbelNoise(self.scale)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """Softmax of the kept scores and of "nothing"."""
        return profile.draw_from_best(self.kbar, 1 / float(self.scale), self.log_weight)


class LimitedDomainPermuteAndFlip(KeptDomain):
    """Permute-and-flip over the k̄ best candidates (dummies included) and "nothing": the largest c_i + Exp(u/ε).

    "Nothing" has the score c(k̄+1) + u + (u/ε) ln(k̄/(2δ)), u = 2, or 1 under add_remove. (ε, δ)-private under both
    relations, with a smaller lead than `limited_domain`. It is not bounded-range: under zCDP a run is charged ε²/2 and
    not ε²/8. Universe and dummies are as in `limited_domain`.
    Source: this project, after Durfee & Rogers 2019 and McKenna & Sheldon 2020.
    Proof: docs/proofs/selection/limited_domain_permute_and_flip.md.
    """

    name: ClassVar[str] = "limited_domain_permute_and_flip"
    only_by_name: ClassVar[bool] = True
    tail: ClassVar[int] = 2

    def noise(self) -> ExponentialNoise:
        """Exponential noise: the same output distribution as permute-and-flip."""
        return ExponentialNoise(self.scale)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """One quadrature over the winning value."""
        best, scale = profile.best(self.kbar), float(self.scale)
        kept = int(np.isfinite(best.log_counts).sum())
        scores = np.append(best.ladder.scores[:kept], best.next_score + scale * self.log_weight)
        logs = np.append(best.log_counts[:kept], 0.0)
        wins = winner_masses(scores, logs, scale=scale, noise=StandardNoise.EXPONENTIAL)
        masses = np.zeros(len(best.ladder.scores))
        masses[:kept] = wins[:-1]
        return best.ladder.distribution(masses, float(wins[-1]))


class _Nothing(Generic[C]):
    """The outcome "nothing": it grows with c(k̄+1), which is looked up only as closely as the contest asks."""

    def __init__(self, ranking: AnyRanking[C], rank: int, above: Real) -> None:
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
