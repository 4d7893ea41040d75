"""The large margin mechanism. Proof: docs/proofs/selection/large_margin.md."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.exact.noise import LaplaceNoise, draw, laplace_cdf, laplace_log_survival
from dpmine.exact.reals import Ball, Formula, Real, exact_ball, logarithm
from dpmine.selection.mechanisms.base import DrawStage, EarlyStopStage, SearchStage
from dpmine.selection.mechanisms.margin import MarginMechanism

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws import LevelLaw, Profile
    from dpmine.selection.mechanisms.base import Stage
    from dpmine.selection.universes.base import Score

C = TypeVar("C", bound="Hashable")


class LargeMargin(MarginMechanism):
    """Find how many candidates stand clearly above the rest, then draw among those by the exponential mechanism.

    (ε, δ)-private under both relations, for known universes and, padded with dummies, for unknown ones.
    Law: m = c(1) + Lap(3/ε); the first ℓ with m − c(ℓ+1) > Lap(12/ε) + G + T(ℓ), G = Lap(6/ε) drawn once, where
    T(ℓ) = (3/ε) ln(3/(2δ)) + (6/ε) ln(3/δ) + (12/ε) ln(3ℓ(ℓ+1)/δ) + 6(1 + ln(3ℓ/δ)/ε); then P(i) ∝ exp(ε c_i/6) among
    the ℓ best. A universe with dummies that runs out of them, and a dummy drawn, are nothing.
    Source: Chaudhuri, Hsu & Song 2014, Algorithm 1 and Theorem 2.
    """

    name: ClassVar[str] = "large_margin"

    @property
    def draw_scale(self) -> Fraction:
        """6/ε."""
        return 6 / self.epsilon

    def law(self, profile: Profile) -> LevelLaw:
        """One quadrature over V = c(1) + Lap(3/ε) − Lap(6/ε)."""
        from dpmine.selection import laws

        return laws.large_margin(profile, epsilon=float(self.epsilon), delta=float(self.delta))

    def stages(self) -> tuple[Stage, ...]:
        """Two thirds of ε and δ are for the search, one third for the draw where q_ℓ > t(ℓ) = 6(1 + ln(3ℓ/δ)/ε)."""
        from dpmine.selection import laws

        epsilon, delta = float(self.epsilon), float(self.delta)
        search = laws.large_margin_search(epsilon=epsilon, delta=delta)

        def margin(rank: int) -> float:
            return 6 * (1 + log(3 * rank / delta) / epsilon)

        return (
            SearchStage(search, 2 * epsilon / 3),
            EarlyStopStage(search, 2 * delta / 3, margin),
            DrawStage(epsilon / 6, epsilon / 3, delta / 3, margin),
        )

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """T(1) + 36/ε: the winner stands out alone."""
        epsilon, delta = float(self.epsilon), float(self.delta)
        constant = 6 + (3 * log(1.5 / delta) + 24 * log(3 / delta)) / epsilon
        return constant + (12 * log(2) + 36) / epsilon

    def hazard(self, top: Score, *, bits: BitSource) -> _SearchStep:
        """V is drawn once: c(1) + Lap(3/ε) − Lap(6/ε)."""
        z = draw(LaplaceNoise(3 / self.epsilon), bits=bits)
        g = draw(LaplaceNoise(6 / self.epsilon), bits=bits)
        return _SearchStep(self.epsilon, self.delta, Formula(lambda a, b: exact_ball(top) + a - b, z, g))


class _SearchStep:
    """Pr[Z_ℓ < V − c(ℓ+1) − T(ℓ)], Z_ℓ ~ Lap(12/ε), given V."""

    def __init__(self, epsilon: Fraction, delta: Fraction, v: Real) -> None:
        self._epsilon = epsilon
        self._v = v
        self._constant = Formula(lambda: _threshold_constant(epsilon, delta))

    def probability(self, rank: int, score: Score) -> Real:
        """The Laplace distribution function."""
        return Formula(lambda v, t: laplace_cdf(self._argument(v, t, rank, score)), self._v, self._constant)

    def log_survival(self, rank: int, score: Score) -> Real:
        """The logarithm of its complement."""
        return Formula(lambda v, t: laplace_log_survival(self._argument(v, t, rank, score)), self._v, self._constant)

    def is_certain(self, rank: int, score: Score) -> bool:  # noqa: ARG002 - the protocol's signature
        """A Laplace tail is never empty."""
        return False

    def _argument(self, v: Ball, constant: Ball, rank: int, score: Score) -> Ball:
        """(V − c(ℓ+1) − T(ℓ)) ε/12, with T(ℓ) = constant + (18 ln ℓ + 12 ln(ℓ+1))/ε."""
        epsilon = exact_ball(self._epsilon)
        return ((v - exact_ball(score) - constant) * epsilon - 18 * logarithm(rank) - 12 * logarithm(rank + 1)) / 12


def _threshold_constant(epsilon: Fraction, delta: Fraction) -> Ball:
    """What does not depend on ℓ in T(ℓ): 6 + (3/ε) ln(3/(2δ)) + (24/ε) ln(3/δ)."""
    return 6 + (3 * logarithm(3 / (2 * delta)) + 24 * logarithm(3 / delta)) / exact_ball(epsilon)
