"""The large margin mechanism with one-sided noise, and a first trial that has the draw's budget.

Proof: docs/proofs/selection/large_margin_tight.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, log1p
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.noise import ExponentialNoise, draw
from dpmine.exact.reals import Ball, Constant, Formula, Real, exact_ball, less_than, logarithm
from dpmine.selection.laws.stopping import NegativeExponential, StoppingSearch, TrialNoise
from dpmine.selection.mechanisms.base import SearchStage
from dpmine.selection.mechanisms.large_margin import MarginMechanism

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws.profile import FloatArray
    from dpmine.selection.universes.base import Score


class LargeMarginTight(MarginMechanism):
    """`large_margin` with one-sided noise: the winner needs a smaller lead.

    (ε, δ)-private under both relations, for known universes and, padded with dummies, for unknown ones.
    Law: with ε = ε_a + ε_b + ε_e, δ = δ_1 + δ_2, u = 1 under add_remove and 2 under replace_one, q_ℓ = c(1) − c(ℓ+1):
    ρ ~ Exp(u/ε_a) once, ν_ℓ ~ Exp(u/ε(ℓ)); the first ℓ with q_ℓ + ν_ℓ ≥ t(ℓ) + (u/ε(ℓ)) ln(ℓ(ℓ+1)/δ_1) + ρ, where
    t(1) = u and t(ℓ) = u + (u/ε_e) ln((ℓ−1)/δ_2); then P(i) ∝ exp(ε_e c_i/u) among the ℓ best. ε(ℓ) = ε_b, but
    ε(1) = ε_b + ε_e: one candidate is no draw.
    Source: this project. Proof: docs/proofs/selection/large_margin_tight.md.
    """

    name: ClassVar[str] = "large_margin_tight"
    split: ClassVar = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
    """Shares of ε for the threshold noise ρ, for the trial noises ν and for the draw. The first trial has both."""
    delta_share: ClassVar = Fraction(1, 2)
    """Share of δ for stopping too early; the rest is for the draw."""

    @property
    def draw_scale(self) -> Fraction:
        """u/ε_e."""
        return self.unit / self.shares[2]

    @property
    def draw_budget(self) -> tuple[Fraction, Fraction]:
        """(ε_e, δ_2)."""
        return self.shares[2], (1 - self.delta_share) * self.delta

    def margin(self, rank: int) -> float:
        """t(ℓ)."""
        unit, (epsilon, delta) = float(self.unit), map(float, self.draw_budget)
        return unit + (unit / epsilon * log((rank - 1) / delta) if rank > 1 else 0.0)

    def search(self) -> StoppingSearch:
        """X = −ρ, ρ ~ Exp(u/ε_a), tests with fresh Exp(u/ε(ℓ))."""
        unit, shares = float(self.unit), [*self.shares, self.first_share]
        for_threshold, for_tests, for_draw, for_first = (unit / float(share) for share in shares)
        log_early = -log(self.delta) - log(self.delta_share)
        log_leaving = -log(self.delta) - log1p(-float(self.delta_share))

        def threshold(ranks: FloatArray) -> FloatArray:
            leaving = np.where(ranks < 2, 0.0, np.log(np.maximum(ranks - 1, 1.0)) + log_leaving)
            tests = np.where(ranks < 2, for_first, for_tests)
            return np.asarray(unit + for_draw * leaving + tests * (np.log(ranks) + np.log1p(ranks) + log_early))

        return StoppingSearch(
            threshold, TrialNoise.EXPONENTIAL, for_tests, NegativeExponential(for_threshold), for_first
        )

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """T(1) + 3 E[ρ]: the winner stands out alone."""
        return self.first_threshold + 3 * float(self.unit / self.shares[0])

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """T(1) + (u/ε_a) ln(1/η): ρ stays below the lead, so the search stops with the winner alone, as ν ≥ 0."""
        return self.first_threshold + float(self.unit / self.shares[0]) * log(1 / failure)

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """ε_a, ε_b and ε_e."""
        first, trial, final = self.split
        return first * self.epsilon, trial * self.epsilon, final * self.epsilon

    @property
    def first_share(self) -> Fraction:
        """ε(1): what a draw from one candidate does not need."""
        return self.shares[1] + self.shares[2]

    def searches(self, search: StoppingSearch) -> tuple[SearchStage, ...]:
        """A stop at rank 1 costs all of ε, and is the last stage; others leave ε_e for the draw."""
        others = SearchStage(search, float(self.epsilon - self.shares[2]), slice(1, None))
        return others, SearchStage(search, float(self.epsilon), slice(1))

    def hazard(self, top: Score, *, bits: BitSource) -> _OneSidedTrials:
        """ρ is drawn once."""
        return _OneSidedTrials(self, top, draw(ExponentialNoise(self.unit / self.shares[0]), bits=bits), bits)


class _OneSidedTrials:
    """Pr[ν_ℓ ≥ T(ℓ) + ρ − q_ℓ] = exp(−max(0, T(ℓ) + ρ − q_ℓ) ε(ℓ)/u), given ρ."""

    def __init__(self, mechanism: LargeMarginTight, top: Score, rho: Real, bits: BitSource) -> None:
        self._unit = mechanism.unit
        self._trial = mechanism.shares[1]
        self._first = mechanism.first_share
        self._final, self._late = mechanism.draw_budget
        self._early = mechanism.delta - self._late
        self._top = top
        self._rho = rho
        self._bits = bits

    def probability(self, rank: int, score: Score) -> Real:
        """The survival of ν_ℓ."""
        return Formula(lambda y: (-y.nonnegative_part()).exp(), self._excess(rank, score))

    def log_survival(self, rank: int, score: Score) -> Real:
        """ln(1 − e^{−y})."""
        return Formula(lambda y: (-(-y).expm1()).log(), self._excess(rank, score))

    def is_certain(self, rank: int, score: Score) -> bool:
        """Whether the gap passes the threshold without any ν."""
        return less_than(self._excess(rank, score), Constant(0), bits=self._bits)

    def _excess(self, rank: int, score: Score) -> Real:
        """(T(ℓ) + ρ − q_ℓ) ε(ℓ)/u."""
        return Formula(lambda rho: self._scaled(rho, rank, score), self._rho)

    def _scaled(self, rho: Ball, rank: int, score: Score) -> Ball:
        unit = exact_ball(self._unit)
        margin = unit + rho - exact_ball(self._top - score)
        if rank > 1:
            margin += unit * logarithm((rank - 1) / self._late) / exact_ball(self._final)
        trial = self._trial if rank > 1 else self._first
        return margin * exact_ball(trial) / unit + logarithm(rank * (rank + 1) / self._early)
