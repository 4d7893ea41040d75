"""Mechanisms that are provably broken: each claims a guarantee that it does not have, and an audit must see it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

import numpy as np

from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import LevelDistribution
from dpmine.selection.distributions.stopping import (
    NegativeExponential,
    StoppingSearch,
    draw_distribution,
    search_and_draw,
)
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight, StableMaximiser
from dpmine.selection.mechanisms.limited_domain import KeptDomain, LimitedDomain, LimitedDomainPermuteAndFlip
from dpmine.selection.mechanisms.mechanism import DrawStage, lead_sensitivity
from dpmine.selection.mechanisms.report_noisy_max import Exponential, MaxOfExponentials, MaxOfLaplaces

if TYPE_CHECKING:
    from dpmine.selection.distributions.profile import FloatArray, Profile
    from dpmine.selection.mechanisms.mechanism import Mechanism, Stage


class MonotoneExponential(Exponential):
    """The form for counts that move together, whatever the relation: 2ε under replace_one."""

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon


class MonotoneMaxOfLaplaces(MaxOfLaplaces):
    """As above."""

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon


class MonotoneMaxOfExponentials(MaxOfExponentials):
    """As above."""

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon


class ExponentialOfBands(Exponential):
    """Takes the bound of a band below the best score for the scores in it: a band is crossed in one step."""

    width = 4

    def distribution(self, profile: Profile) -> LevelDistribution:
        bounds = [-((profile.scores[0] - score) // self.width) * self.width for score in profile.scores]
        weights = np.array(profile.counts) * np.exp(np.array(bounds) / float(self.scale))
        return LevelDistribution(weights / weights.sum(), 0.0)


class LargeMarginWithoutThreshold(LargeMargin):
    """T(ℓ) = 2 for every ℓ: one candidate among many that tie is singled out."""

    def search(self) -> StoppingSearch:
        return replace(super().search(), threshold=_two)


class LargeMarginEagerDraw(LargeMargin):
    """The draw has twice its exponent."""

    def distribution(self, profile: Profile) -> LevelDistribution:
        return search_and_draw(profile, search=self.search(), rate=float(self.epsilon) / 3)

    def stages(self) -> tuple[Stage, ...]:
        return _with_rate(super().stages(), 2)


class TightEagerDraw(LargeMarginTight):
    """The draw has twice its exponent."""

    def distribution(self, profile: Profile) -> LevelDistribution:
        stage = next(stage for stage in self.stages() if isinstance(stage, DrawStage))
        return search_and_draw(profile, search=self.search(), rate=stage.rate)

    def stages(self) -> tuple[Stage, ...]:
        return _with_rate(super().stages(), 2)


class TightHalvedRho(LargeMarginTight):
    """The noise on the threshold is half as large: the search costs 2ε_a + ε_b."""

    def search(self) -> StoppingSearch:
        search = super().search()
        return replace(search, conditioning=NegativeExponential(search.conditioning.scale / 2))


class TightHalvedNu(LargeMarginTight):
    """The noise on the tests from rank 2 on is half as large: the search costs ε_a + 2ε_b."""

    def search(self) -> StoppingSearch:
        search = super().search()
        return replace(search, scale=search.scale / 2)


class TightFirstShareEverywhere(LargeMarginTight):
    """Every test has all of ε, as the first one may: the search costs ε_a + ε beyond rank 1."""

    def trial_share(self, rank: int) -> Fraction:
        return self.epsilon


class TightGenerousFirst(LargeMarginTight):
    """The test at rank 1 has ε_a on top of ε: a stop there costs 1.2 ε."""

    def trial_share(self, rank: int) -> Fraction:
        share = super().trial_share(rank)
        return share + self.shares[0] if rank == 1 else share


class TightEarlyStop(LargeMarginTight):
    """The threshold lacks (u/ε_b) ln(1/δ_1): stops inside the margin have a mass of about 1/3."""

    def search(self) -> StoppingSearch:
        search = super().search()
        excess = log(2 / float(self.delta))
        return replace(search, threshold=lambda ranks: search.threshold(ranks) - excess * search.scales(ranks))


class LimitedDomainWithoutSlack(LimitedDomain):
    """ "Nothing" has only the score c(k̄+1) + u: a candidate that leaves the k̄ best has a mass of up to 1/2."""

    def distribution(self, profile: Profile) -> LevelDistribution:
        u = float(lead_sensitivity(self.neighbors))
        ladder = profile.ladder(dummies=max(self.kbar + 1, profile.dummies))
        best = draw_distribution(
            replace(profile, dummies=max(self.kbar + 1, profile.dummies)),
            rank=self.kbar,
            rate=float(self.epsilon) / u,
        )
        level, included = ladder.locate(self.kbar)
        counts = np.array([*ladder.counts[:level], included], dtype=np.float64)
        gaps = ladder.scores - ladder.scores[0]
        below = gaps[ladder.locate(self.kbar + 1)[0]]
        log_kept = np.logaddexp.reduce(np.log(counts) + float(self.epsilon) / u * gaps[: level + 1])
        log_nothing = float(self.epsilon) / u * (below + u)
        kept = float(np.exp(log_kept - np.logaddexp(log_kept, log_nothing)))
        return LevelDistribution(kept * best.masses, 1 - kept * (1 - best.nothing))


class PermuteAndFlipHalfSlack(LimitedDomainPermuteAndFlip):
    """The slack has k̄/(4δ): k̄ candidates that leave have a mass of almost 2δ together."""

    @property
    def log_weight(self) -> float:
        return super().log_weight - log(2)


class PermuteAndFlipWithoutUnit(LimitedDomainPermuteAndFlip):
    """The slack lacks u: the candidates that leave have e^ε times the mass that δ covers."""

    @property
    def log_weight(self) -> float:
        return super().log_weight - float(self.epsilon)


class StableMaximiserWithoutThreshold(StableMaximiser):
    """The threshold is 0: half of the time a maximiser without any lead is released."""

    def distribution(self, profile: Profile) -> LevelDistribution:
        return StableMaximiser(self.epsilon, Fraction(1, 2), self.neighbors).distribution(profile)


class BoundedGrowthTenth(BoundedGrowth):
    """W is a tenth of what it must be, so that newborn candidates have ten times δ. Requires: growth = 10."""

    def distribution(self, profile: Profile) -> LevelDistribution:
        return BoundedGrowth(self.epsilon, self.delta, self.neighbors, 1).distribution(profile)


REPLACE_ONLY = (MonotoneExponential, MonotoneMaxOfLaplaces, MonotoneMaxOfExponentials, LargeMarginEagerDraw)
"""Private under add_remove after all: the first three are its forms; the last then uses all of its draw's share."""

EVERYWHERE = (
    ExponentialOfBands,
    LargeMarginWithoutThreshold,
    TightEagerDraw,
    TightHalvedRho,
    TightHalvedNu,
    TightFirstShareEverywhere,
    TightGenerousFirst,
    TightEarlyStop,
    LimitedDomainWithoutSlack,
    PermuteAndFlipHalfSlack,
    PermuteAndFlipWithoutUnit,
    StableMaximiserWithoutThreshold,
    BoundedGrowthTenth,
)

CASES = [(kind, relation) for kind in EVERYWHERE for relation in Neighbors] + [
    (kind, Neighbors.REPLACE_ONE) for kind in REPLACE_ONLY
]
"""Every broken mechanism with every relation under which it is broken."""


def build(kind: type[Mechanism], neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> Mechanism:
    """The broken mechanism, claiming (ε, δ), or ε where it is a pure one."""
    if issubclass(kind, BoundedGrowth):
        return kind(epsilon, delta, neighbors, 10)
    if issubclass(kind, KeptDomain):
        return kind(epsilon, delta, neighbors, 4)
    return kind(epsilon, delta if kind.approximate else Fraction(0), neighbors)


def _two(ranks: FloatArray) -> FloatArray:
    return np.full(np.shape(ranks), 2.0)


def _with_rate(stages: tuple[Stage, ...], factor: float) -> tuple[Stage, ...]:
    return tuple(
        replace(stage, rate=factor * stage.rate) if isinstance(stage, DrawStage) else stage for stage in stages
    )
