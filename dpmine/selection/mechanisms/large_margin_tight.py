"""The large margin mechanism with one-sided noise and a sharper account.

Proof: docs/proofs/selection/large_margin_tight.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.exact.decisions import less_than
from dpmine.exact.noise import ExponentialNoise, draw
from dpmine.exact.reals import Ball, Constant, Formula, Real, exact_ball, logarithm
from dpmine.selection.mechanisms.base import DrawStage, EarlyStopStage, SearchStage, unit_reach
from dpmine.selection.mechanisms.margin import MarginMechanism

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws import LevelLaw, Profile, Search
    from dpmine.selection.mechanisms.base import Stage
    from dpmine.selection.universes.base import Score

C = TypeVar("C", bound="Hashable")

SPLIT = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
"""Shares of ε for the threshold noise ρ, for the trial noises ν and for the draw."""
DELTA_SHARE = Fraction(1, 2)
"""Share of δ for stopping too early; the rest is for the draw."""


class LargeMarginTight(MarginMechanism):
    """`large_margin` with one-sided noise: the winner needs a smaller lead.

    (ε, δ)-private under both relations, for known universes and, padded with dummies, for unknown ones.
    Law: with ε = ε_a + ε_b + ε_e, δ = δ_1 + δ_2, u = 1 under add_remove and 2 under replace_one, q_ℓ = c(1) − c(ℓ+1):
    ρ ~ Exp(u/ε_a) once, ν_ℓ ~ Exp(u/ε_b); the first ℓ with q_ℓ + ν_ℓ ≥ t(ℓ) + (u/ε_b) ln(ℓ(ℓ+1)/δ_1) + ρ, where
    t(1) = u and t(ℓ) = u + (u/ε_e) ln((ℓ−1)/δ_2); then P(i) ∝ exp(ε_e c_i/u) among the ℓ best.
    Source: this project; the proof note has the argument.
    """

    name: ClassVar[str] = "large_margin_tight"

    @property
    def draw_scale(self) -> Fraction:
        """u/ε_e."""
        return self._unit / self._epsilons[2]

    def law(self, profile: Profile) -> LevelLaw:
        """One quadrature over ρ."""
        from dpmine.selection import laws

        rate = float(self._epsilons[2] / self._unit)
        return laws.search_and_draw(profile, search=self._search(), rate=rate)

    def stages(self) -> tuple[Stage, ...]:
        """(ε_a + ε_b, δ_1) is for the search, (ε_e, δ_2) for the draw where q_ℓ > t(ℓ)."""
        first, trial, final = (float(share) for share in self._epsilons)
        unit, early = float(self._unit), float(DELTA_SHARE * self.delta)
        late = float(self.delta) - early
        search = self._search()

        def margin(rank: int) -> float:
            return unit + (unit / final * log((rank - 1) / late) if rank > 1 else 0.0)

        return (
            SearchStage(search, first + trial),
            EarlyStopStage(search, early, margin),
            DrawStage(final / unit, final, late, margin),
        )

    def _search(self) -> Search:
        from dpmine.selection import laws

        return laws.large_margin_tight_search(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            neighbors=self.neighbors,
            split=(float(SPLIT[0]), float(SPLIT[1]), float(SPLIT[2])),
            delta_share=float(DELTA_SHARE),
        )

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """T(1) + 3 E[ρ]: the winner stands out alone."""
        unit, (first, trial, _) = float(self._unit), (float(share) for share in self._epsilons)
        return unit + unit / trial * log(2 / float(DELTA_SHARE * self.delta)) + 3 * unit / first

    @property
    def _unit(self) -> Fraction:
        return unit_reach(self.neighbors)

    @property
    def _epsilons(self) -> tuple[Fraction, Fraction, Fraction]:
        first, trial, final = SPLIT
        return first * self.epsilon, trial * self.epsilon, final * self.epsilon

    def hazard(self, top: Score, *, bits: BitSource) -> _SearchStep:
        """ρ is drawn once."""
        first, trial, final = self._epsilons
        rho = draw(ExponentialNoise(self._unit / first), bits=bits)
        return _SearchStep(_Budget(self._unit, trial, final, self.delta), top, rho, bits=bits)


@dataclass(frozen=True, slots=True)
class _Budget:
    """u, ε_b, ε_e and δ."""

    unit: Fraction
    trial: Fraction
    final: Fraction
    delta: Fraction


class _SearchStep:
    """Pr[ν_ℓ ≥ T(ℓ) + ρ − q_ℓ] = exp(−max(0, T(ℓ) + ρ − q_ℓ) ε_b/u), given ρ."""

    def __init__(self, budget: _Budget, top: Score, rho: Real, *, bits: BitSource) -> None:
        self._budget = budget
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
        """(T(ℓ) + ρ − q_ℓ) ε_b/u."""
        return Formula(lambda rho: self._scaled(rho, rank, score), self._rho)

    def _scaled(self, rho: Ball, rank: int, score: Score) -> Ball:
        budget = self._budget
        early = DELTA_SHARE * budget.delta
        unit = exact_ball(budget.unit)
        margin = unit + rho - exact_ball(self._top - score)
        if rank > 1:
            margin += unit * logarithm((rank - 1) / (budget.delta - early)) / exact_ball(budget.final)
        return margin * exact_ball(budget.trial) / unit + logarithm(rank * (rank + 1) / early)
