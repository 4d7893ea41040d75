"""Report-noisy-max: the ε-private mechanisms that add independent noise to every score; the largest wins.

Beside them the best candidate itself, for comparisons: no noise, and no privacy.
"""

from __future__ import annotations

from abc import abstractmethod
from math import log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.reals import ExponentialNoise, GumbelNoise, LaplaceNoise, Noise
from dpmine.selection.distributions.noisy_max import StandardNoise, winner_masses
from dpmine.selection.draws import noisy_order
from dpmine.selection.mechanisms.mechanism import ListWay, Mechanism

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import LevelDistribution, Profile
    from dpmine.selection.universes.protocol import C, Universe


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
