"""Report-noisy-max: the ε-private mechanisms that add independent noise to every score; the largest wins.

Beside them the best candidate itself, for comparisons: no noise, and no privacy.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum, auto
from math import log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.reals import ExponentialNoise, GumbelNoise, LaplaceNoise, Noise
from dpmine.selection.distributions.profile import Rule, panels
from dpmine.selection.draws import noisy_order
from dpmine.selection.mechanisms.mechanism import ListWay, Mechanism

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import FloatArray, LevelDistribution, Profile
    from dpmine.selection.universes.protocol import C, Universe

_FLOOR = 80.0  # e^-80 is the mass that the integrals may leave out at either end
_ORDER = 16
_CELLS = 2**21  # nodes times levels at once: bounds the memory


class NoisyMaxMechanism(Mechanism):
    """The candidate with the largest score + noise, noise of scale 2/ε (1/ε in the monotone form).

    Proof: docs/proofs/selection/noisy_max.md.
    """

    approximate: ClassVar[bool] = False
    needs_catalogue: ClassVar[bool] = True

    @abstractmethod
    def noise(self) -> Noise:
        """The noise on every score."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner; None when a dummy wins."""
        return next(noisy_order(universe, self.noise(), bits=bits), None)

    def lead(self, candidates: int) -> float:
        """Scale × (ln K + 3): the others' weights sum to K e^{−lead/b}."""
        return float(self.scale) * (log(candidates) + 3)

    def proved_lead(self, candidates: int, failure: float) -> float:
        """(u/ε) ln(K/η): the others weigh at most K e^(−lead·ε/u). McSherry & Talwar 2007, Theorem 6."""
        return float(self.scale) * (log(candidates) - log(failure))


class Exponential(NoisyMaxMechanism):
    """P(i) ∝ exp(ε c_i / 2), or exp(ε c_i) under add_remove; ε-private.

    Drawn as the largest c_i + Gumbel(2/ε), which has the same output distribution.
    Source: McSherry & Talwar 2007, Definition 2; the Gumbel form is Yellott 1977.
    Proof: docs/proofs/selection/exponential.md.
    """

    name: ClassVar[str] = "exponential"
    bounded_range: ClassVar[bool] = True
    list_way: ClassVar[ListWay] = ListWay.ONE_SHOT

    def noise(self) -> GumbelNoise:
        """Gumbel noise of the mechanism's scale."""
        return GumbelNoise(self.scale)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """Softmax of the scores."""
        return profile.ladder().draw(1 / float(self.scale))


class MaxOfLaplaces(NoisyMaxMechanism):
    """The largest c_i + Lap(2/ε), or Lap(1/ε) under add_remove; ε-private.

    Source: Dwork & Roth 2014, Claim 3.9. Proof: docs/proofs/selection/max_of_laplaces.md.
    """

    name: ClassVar[str] = "max_of_laplaces"

    def noise(self) -> LaplaceNoise:
        """Laplace noise of the mechanism's scale."""
        return LaplaceNoise(self.scale)

    def proved_lead(self, candidates: int, failure: float) -> float:
        """(2u/ε) ln(K/η): no noise strays further than half of it. Dwork & Roth 2014, Theorem 3.8's argument."""
        return 2 * super().proved_lead(candidates, failure)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """One quadrature over the winning value."""
        return _distribution(profile, float(self.scale), StandardNoise.LAPLACE)


class MaxOfExponentials(NoisyMaxMechanism):
    """The largest c_i + Exp(2/ε), or Exp(1/ε) under add_remove; ε-private. Its other name is permute-and-flip.

    Source: McKenna & Sheldon 2020, Theorem 1; Ding, Kifer et al. 2021 for the equality of the output distributions.
    Proof: docs/proofs/selection/max_of_exponentials.md.
    """

    name: ClassVar[str] = "max_of_exponentials"

    def noise(self) -> ExponentialNoise:
        """Exponential noise of the mechanism's scale."""
        return ExponentialNoise(self.scale)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """One quadrature over the winning value."""
        return _distribution(profile, float(self.scale), StandardNoise.EXPONENTIAL)


class Exact(Mechanism):
    """A uniform candidate among those with the best score. No privacy whatsoever."""

    name: ClassVar[str] = "exact"
    approximate: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The best candidate; None when a dummy is as good."""
        best = universe.head(universe.top())
        if not best or (universe.padding and best[0].score <= 0):
            return None
        return universe.member(best[0], bits=bits)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """All mass on the best level, on nothing where dummies are as good."""
        ladder = profile.ladder()
        return ladder.distribution(np.eye(1, len(ladder.scores))[0])

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """No lead is needed."""
        return 0.0


def _distribution(profile: Profile, scale: float, noise: StandardNoise) -> LevelDistribution:
    ladder = profile.ladder()
    return ladder.distribution(winner_masses(ladder.scores, ladder.log_counts, scale=scale, noise=noise))


# The distribution of the largest of many scores with independent noise: one quadrature over the winning value.


class StandardNoise(Enum):
    """A standard noise: its log CDF, its reversed hazard density/CDF, and its quantiles."""

    LAPLACE = auto()
    EXPONENTIAL = auto()

    def log_cdf_and_rate(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ln F(y) and f(y)/F(y), elementwise; for exponential noise only at y > 0."""
        if self is StandardNoise.EXPONENTIAL:
            tail = np.exp(-y)
            log_cdf = np.where(tail < 0.5, np.log1p(-np.minimum(tail, 0.5)), np.log(-np.expm1(-y)))
            return log_cdf, tail / -np.expm1(-y)
        tail = np.exp(-np.abs(y)) / 2
        above = y > 0
        return np.where(above, np.log1p(-tail), y - np.log(2)), np.where(above, tail / (1 - tail), 1.0)

    def quantile(self, minus_log: FloatArray) -> FloatArray:
        """The y where F(y) = e^-minus_log, elementwise."""
        above = -np.expm1(-minus_log)  # 1 − F, to full relative accuracy
        if self is StandardNoise.EXPONENTIAL:
            return np.asarray(-np.log(above))
        return np.asarray(np.where(minus_log > np.log(2), np.log(2) - minus_log, -np.log(2 * above)))


def winner_masses(scores: FloatArray, log_counts: FloatArray, *, scale: float, noise: StandardNoise) -> FloatArray:
    """The probability that a member of each level has the largest score + scale · noise, shape (levels,).

    `scores` and `log_counts`, the logarithms of how many members a level has, have shape (levels,), in any order.
    Law: with L(x) = Σ n_j ln F(x − s_j), level j wins with probability ∫ n_j (f/F)(x − s_j) e^L(x) dx.
    """
    behind = (scores.max() - scores) / scale
    rule = _winner_rule(log_counts, behind, noise)
    counts = np.exp(log_counts)
    masses = np.zeros(counts.size)
    rows = max(1, _CELLS // counts.size)
    for start in range(0, rule.nodes.size, rows):
        part = slice(start, start + rows)
        log_cdf, rate = noise.log_cdf_and_rate(rule.nodes[part, None] + behind)
        masses += counts * ((np.exp(log_cdf @ counts) * rule.weights[part]) @ rate)
    return masses


def _winner_rule(log_counts: FloatArray, behind: FloatArray, noise: StandardNoise) -> Rule:
    """Where the largest noisy score lies, in noise scales above the top score, cut at the kinks of the densities."""
    low = float(np.max(noise.quantile(_FLOOR / np.exp(log_counts)) - behind))
    high = max(low, float(np.max(log_counts - behind))) + _FLOOR / 2
    kinks = -behind[(-behind > low) & (-behind < high)]
    cuts = np.concatenate(([low, high], kinks))
    return panels(cuts, step=1.5, order=_ORDER)
