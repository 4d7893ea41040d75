"""Mechanisms that release what leads by a margin: the two large margin ones, and the stable maximiser for one alone.

Proofs: docs/proofs/selection/large_margin.md, large_margin_tight.md and stable_maximiser.md.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import exp, inf, log, log1p
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.reals import (
    Ball,
    Constant,
    ExponentialNoise,
    Formula,
    GumbelNoise,
    LaplaceNoise,
    Real,
    draw,
    exact_ball,
    laplace_cdf,
    laplace_log_survival,
    less_than,
    logarithm,
)
from dpmine.selection.distributions.stopping import (
    LaplacePair,
    NegativeExponential,
    StoppingSearch,
    TrialNoise,
    search_and_draw,
)
from dpmine.selection.draws import draws_from_best
from dpmine.selection.mechanisms.first_stop import first_stop
from dpmine.selection.mechanisms.mechanism import DrawStage, EarlyStopStage, Mechanism, SearchStage, Stage
from dpmine.selection.universes.ranking import Padded, ranking_of

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import FloatArray, Ladder, LevelDistribution, Profile
    from dpmine.selection.mechanisms.first_stop import Hazard
    from dpmine.selection.universes.protocol import C, Score, Universe
    from dpmine.selection.universes.ranking import AnyRanking


class MarginMechanism(Mechanism):
    """The first ℓ at which the search stops, then P(i) ∝ exp(c_i / draw_scale) among the ℓ best.

    Without a stop all candidates are drawn from; in a universe with dummies that, like a dummy drawn, is nothing.
    """

    @property
    def first_threshold(self) -> float:
        """T(1)."""
        return float(self.search().threshold(np.ones(1))[0])

    def lead_over(self) -> str:
        """A few may be close."""
        return "all others but a few"

    @property
    @abstractmethod
    def draw_scale(self) -> Fraction:
        """The scale of the Gumbel noise that the draw amounts to."""

    @property
    @abstractmethod
    def draw_budget(self) -> tuple[Fraction, Fraction]:
        """The draw's shares of ε and δ; the rest is for the search."""

    @property
    def first_budget(self) -> Fraction:
        """What the search may use of ε when it stops at rank 1; elsewhere it is all but the draw's share."""
        return self.epsilon - self.draw_budget[0]

    @abstractmethod
    def margin(self, rank: int) -> float:
        """t(ℓ): a search that stops at ℓ with q_ℓ ≤ t(ℓ) stops too early."""

    @abstractmethod
    def hazard(self, top: Score, *, bits: BitSource) -> Hazard:
        """The search's probabilities of stopping, its own noise drawn once; `top` is c(1)."""

    @abstractmethod
    def search(self) -> StoppingSearch:
        """The same search for the output distribution, in float64."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner among the candidates that stand out; None when nothing does."""
        ranking = ranking_of(universe)
        size = first_stop(self.hazard(universe.top(), bits=bits), ranking, bits=bits)
        if size is None and universe.padding:
            return None
        kept, noise = size or ranking.length, GumbelNoise(self.draw_scale)
        draws = draws_from_best(universe, ranking, kept, noise, places=1, bits=bits)
        return next(draws, None)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """One quadrature over the noise that the search draws once."""
        return search_and_draw(profile, search=self.search(), rate=float(1 / self.draw_scale))

    def stages(self) -> tuple[Stage, ...]:
        """The search; its stops where q_ℓ ≤ t(ℓ), which are too early; the draw where q_ℓ > t(ℓ)."""
        search, (epsilon, delta) = self.search(), self.draw_budget
        return (
            SearchStage(search, float(self.first_budget), float(self.epsilon - epsilon)),
            EarlyStopStage(search, float(self.delta - delta), self.margin),
            DrawStage(float(1 / self.draw_scale), float(epsilon), float(delta), self.margin),
        )


class LargeMargin(MarginMechanism):
    """Find how many candidates stand clearly above the rest, then draw among those by the exponential mechanism.

    (ε, δ)-private under both relations, for known universes and, padded with dummies, for unknown ones.
    Output distribution:

    - m = c(1) + Lap(3/ε), and G = Lap(6/ε) is drawn once
    - ℓ is the first with m − c(ℓ+1) > Lap(12/ε) + G + T(ℓ)
    - T(ℓ) = (3/ε) ln(3/(2δ)) + (6/ε) ln(3/δ) + (12/ε) ln(3ℓ(ℓ+1)/δ) + 6(1 + ln(3ℓ/δ)/ε)
    - then P(i) ∝ exp(ε c_i/6) among the ℓ best

    A universe with dummies that runs out of them, and a dummy drawn, are nothing.
    Source: Chaudhuri, Hsu & Song 2014, Algorithm 1 and Theorem 2.
    """

    name: ClassVar[str] = "large_margin"

    @property
    def draw_scale(self) -> Fraction:
        """6/ε."""
        return 6 / self.epsilon

    @property
    def draw_budget(self) -> tuple[Fraction, Fraction]:
        """One third of both."""
        return self.epsilon / 3, self.delta / 3

    def margin(self, rank: int) -> float:
        """6(1 + ln(3ℓ/δ)/ε)."""
        return 6 * (1 + log(3 * rank / float(self.delta)) / float(self.epsilon))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """T(1) + 36/ε: the winner stands out alone."""
        epsilon, delta = float(self.epsilon), float(self.delta)
        constant = 6 + (3 * log(1.5 / delta) + 24 * log(3 / delta)) / epsilon
        return constant + (12 * log(2) + 36) / epsilon

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """γ* = (21/ε) ln(3/η) + T(1): the winner is drawn alone. The large-margin paper, Theorem 3 with ℓ* = 1."""
        return 21 / float(self.epsilon) * log(3 / failure) + self.first_threshold

    def search(self) -> StoppingSearch:
        """X = Lap(3/ε) − Lap(6/ε), tests with fresh Lap(12/ε)."""
        epsilon, log_inverse = float(self.epsilon), log(3) - log(self.delta)
        constant = (3 * (log_inverse - log(2)) + 24 * log_inverse) / epsilon + 6

        def threshold(ranks: FloatArray) -> FloatArray:
            return np.asarray(constant + (18 * np.log(ranks) + 12 * np.log1p(ranks)) / epsilon)

        return StoppingSearch(threshold, TrialNoise.LAPLACE, 12 / epsilon, 12 / epsilon, LaplacePair(3 / epsilon))

    def hazard(self, top: Score, *, bits: BitSource) -> _LaplaceTrials:
        """V is drawn once: c(1) + Lap(3/ε) − Lap(6/ε)."""
        z = draw(LaplaceNoise(3 / self.epsilon), bits=bits)
        g = draw(LaplaceNoise(6 / self.epsilon), bits=bits)
        return _LaplaceTrials(self.epsilon, self.delta, Formula(lambda a, b: exact_ball(top) + a - b, z, g))


class _LaplaceTrials:
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


class LargeMarginTight(MarginMechanism):
    """`large_margin` with one-sided noise: the winner needs a smaller lead.

    (ε, δ)-private under both relations, for known universes and, padded with dummies, for unknown ones.
    Output distribution, with ε = ε_a + ε_b + ε_e, δ = δ_1 + δ_2, and u = 1 under add_remove, 2 under replace_one:

    - ρ ~ Exp(u/ε_a) once, and ν_ℓ ~ Exp(u/β_ℓ), where β_1 = ε and β_ℓ = ε_b for ℓ ≥ 2
    - t(1) = u and t(ℓ) = u + (u/ε_e) ln((ℓ−1)/δ_2)
    - ℓ is the first with c(1) − c(ℓ+1) + ν_ℓ ≥ t(ℓ) + (u/β_ℓ) ln(ℓ(ℓ+1)/δ_1) + ρ
    - then P(i) ∝ exp(ε_e c_i/u) among the ℓ best

    A stop at rank 1 has no earlier test that ρ must protect, and nothing is left to draw.
    Source: this project. Proof: docs/proofs/selection/large_margin_tight.md.
    """

    name: ClassVar[str] = "large_margin_tight"
    split: ClassVar = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
    """Shares of ε for the threshold noise ρ, for the trial noises ν_ℓ, ℓ ≥ 2, and for the draw."""
    delta_share: ClassVar = Fraction(1, 2)
    """Share of δ for stopping too early; the rest is for the draw."""

    @property
    def threshold_scale(self) -> Fraction:
        """u/ε_a."""
        return self.lead_sensitivity / self.shares[0]

    @property
    def draw_scale(self) -> Fraction:
        """u/ε_e."""
        return self.lead_sensitivity / self.shares[2]

    @property
    def draw_budget(self) -> tuple[Fraction, Fraction]:
        """(ε_e, δ_2)."""
        return self.shares[2], (1 - self.delta_share) * self.delta

    @property
    def first_budget(self) -> Fraction:
        """All of ε, which ν_1 spends alone."""
        return self.epsilon

    def margin(self, rank: int) -> float:
        """t(ℓ)."""
        u, (epsilon, delta) = float(self.lead_sensitivity), map(float, self.draw_budget)
        return u + (u / epsilon * log((rank - 1) / delta) if rank > 1 else 0.0)

    def search(self) -> StoppingSearch:
        """X = −ρ, ρ ~ Exp(u/ε_a), tests with fresh Exp(u/β_ℓ)."""
        u = float(self.lead_sensitivity)
        for_first, for_tests = (u / float(self.trial_share(rank)) for rank in (1, 2))
        log_early = -log(self.delta) - log(self.delta_share)
        log_leaving = -log(self.delta) - log1p(-float(self.delta_share))

        def threshold(ranks: FloatArray) -> FloatArray:
            is_first = ranks < 2
            leaving = np.where(is_first, 0.0, np.log(np.maximum(ranks - 1, 1.0)) + log_leaving)
            early = np.where(is_first, for_first, for_tests) * (np.log(ranks) + np.log1p(ranks) + log_early)
            return np.asarray(u + float(self.draw_scale) * leaving + early)

        conditioning = NegativeExponential(float(self.threshold_scale))
        return StoppingSearch(threshold, TrialNoise.EXPONENTIAL, for_first, for_tests, conditioning)

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """T(1) + 3 E[ρ]: the winner stands out alone."""
        return self.first_threshold + 3 * float(self.threshold_scale)

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """T(1) + (u/ε_a) ln(1/η): ρ stays below the lead, so the search stops with the winner alone, as ν ≥ 0."""
        return self.first_threshold + float(self.threshold_scale) * log(1 / failure)

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """ε_a, ε_b and ε_e."""
        first, trial, final = self.split
        return first * self.epsilon, trial * self.epsilon, final * self.epsilon

    def trial_share(self, rank: int) -> Fraction:
        """β_ℓ: ε at rank 1, ε_b beyond."""
        return self.epsilon if rank == 1 else self.shares[1]

    def hazard(self, top: Score, *, bits: BitSource) -> _OneSidedTrials:
        """ρ is drawn once."""
        return _OneSidedTrials(self, top, draw(ExponentialNoise(self.threshold_scale), bits=bits), bits)


class _OneSidedTrials:
    """Pr[ν_ℓ ≥ T(ℓ) + ρ − q_ℓ] = exp(−max(0, T(ℓ) + ρ − q_ℓ) β_ℓ/u), given ρ."""

    def __init__(self, mechanism: LargeMarginTight, top: Score, rho: Real, bits: BitSource) -> None:
        self._u = mechanism.lead_sensitivity
        self._first, self._trial = mechanism.trial_share(1), mechanism.trial_share(2)
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
        """Whether the margin passes the threshold without any ν."""
        return less_than(self._excess(rank, score), Constant(0), bits=self._bits)

    def _excess(self, rank: int, score: Score) -> Real:
        """(T(ℓ) + ρ − q_ℓ) β_ℓ/u."""
        return Formula(lambda rho: self._scaled(rho, rank, score), self._rho)

    def _scaled(self, rho: Ball, rank: int, score: Score) -> Ball:
        u = exact_ball(self._u)
        margin = u + rho - exact_ball(self._top - score)
        share = self._first
        if rank > 1:
            margin += u * logarithm((rank - 1) / self._late) / exact_ball(self._final)
            share = self._trial
        return margin * exact_ball(share) / u + logarithm(rank * (rank + 1) / self._early)


class StableMaximiser(Mechanism):
    """The maximiser if max(0, c(1) − c(2) − u) + Lap(u/ε) > (u/ε) ln(1/(2δ)), else nothing; u = 2 (add_remove: 1).

    (ε, δ)-private under both relations, for known universes and, padded with at least 2 dummies, for unknown ones.
    Source: after Smith & Thakurta 2013, section 3. Proof: docs/proofs/selection/stable_maximiser.md.
    """

    name: ClassVar[str] = "stable_maximiser"

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The maximiser, or None."""
        ranking = ranking_of(Padded(universe, 2) if universe.padding else universe)
        if not self._is_stable(ranking, bits):
            return None
        best = ranking.level(1)
        return None if best is None else universe.member(best, bits=bits)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """A Laplace tail. An unknown universe is a profile with dummies; it gets at least two."""
        ladder = profile.ladder(dummies=max(2, profile.dummies) if profile.dummies else 0)
        u = float(self.lead_sensitivity)
        excess = -log(2 * float(self.delta)) - max(0.0, _lead(ladder) - u) * float(self.epsilon) / u
        tail = exp(-abs(excess)) / 2
        masses = np.zeros(len(ladder.scores))
        masses[0], nothing = (tail, 1 - tail) if excess > 0 else (1 - tail, tail)
        return ladder.distribution(masses, nothing)

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """Over the runner-up."""
        u, epsilon = float(self.lead_sensitivity), float(self.epsilon)
        return u + u / epsilon * (log(1 / (2 * float(self.delta))) + log(10))

    def proved_lead(self, candidates: int, failure: float) -> float:  # noqa: ARG002 - as above
        """The lead u + (u/ε)(ln(1/2δ) + ln(1/2η)): a Laplace tail, exact for η ≤ 1/2 (larger η gain nothing)."""
        tails = log(1 / (2 * float(self.delta))) + log(1 / (2 * min(failure, 0.5)))
        return float(self.lead_sensitivity) + float(self.scale) * tails

    def lead_over(self) -> str:
        """The second best."""
        return "the runner-up"

    def _is_stable(self, ranking: AnyRanking[C], bits: BitSource) -> bool:
        """A universe of one candidate has no runner-up: its maximiser is the same on every data set."""
        if ranking.length == 1:
            return True
        lead = max(Fraction(0), ranking.score(1) - ranking.score(2) - self.lead_sensitivity)
        noise = draw(LaplaceNoise(self.scale), bits=bits)
        threshold = Formula(lambda: exact_ball(self.scale) * logarithm(1 / (2 * self.delta)) - exact_ball(lead))
        return less_than(threshold, noise, bits=bits)


def _lead(ladder: Ladder) -> float:
    """c(1) − c(2), infinite for a single candidate."""
    if ladder.counts[0] > 1:
        return 0.0
    return float(ladder.scores[0] - ladder.scores[1]) if len(ladder.scores) > 1 else inf
