"""Report-noisy-max: the ε-private mechanisms that add independent noise to every score; the largest wins."""

from __future__ import annotations

from abc import abstractmethod
from math import log
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.exact.noise import ExponentialNoise, GumbelNoise, LaplaceNoise
from dpmine.selection.draws.noisy_order import noisy_order
from dpmine.selection.mechanisms.base import Mechanism, unit_reach

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import Noise
    from dpmine.selection.draws.noisy_order import Rival
    from dpmine.selection.laws import LevelLaw, Profile
    from dpmine.selection.universes.base import Score, Universe


C = TypeVar("C", bound="Hashable")


class NoisyMaxMechanism(Mechanism):
    """The candidate with the largest score + noise, noise of scale 2/ε (1/ε in the monotone form)."""

    approximate: ClassVar[bool] = False
    needs_catalogue: ClassVar[bool] = True

    @abstractmethod
    def noise(self) -> Noise:
        """The noise on every score."""

    @property
    def scale(self) -> Fraction:
        """The noise's scale, in units of the sensitivity."""
        return unit_reach(self.neighbors) / self.epsilon

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The winner; None when a dummy wins."""
        return noisy_max(universe, self.noise(), bits=bits)

    def lead(self, candidates: int) -> float:
        """Scale × (ln K + 3): the others' weights sum to K e^{−lead/b}."""
        return float(self.scale) * (log(candidates) + 3)


def noisy_max(
    universe: Universe[C], noise: Noise, *, bits: BitSource, floor: Score | None = None, rival: Rival | None = None
) -> C | None:
    """The candidate with the largest score + noise, or None when a dummy or the rival wins.

    Requires: at least one candidate or dummy; `universe.size` is known.
    Law: the first of `noisy_order`, whose `floor` and `rival` these are. Proof: docs/proofs/selection/noisy_max.md.
    """
    return next(noisy_order(universe, noise, bits=bits, floor=floor, rival=rival), None)


class Exponential(NoisyMaxMechanism):
    """P(i) ∝ exp(ε c_i / 2), or exp(ε c_i) under add_remove; ε-private.

    Drawn as the largest c_i + Gumbel(2/ε), which has the same law.
    Source: McSherry & Talwar 2007, Definition 2; the Gumbel form is Yellott 1977.
    """

    name: ClassVar[str] = "exponential"

    def noise(self) -> GumbelNoise:
        """Gumbel noise of the mechanism's scale."""
        return GumbelNoise(self.scale)

    def law(self, profile: Profile) -> LevelLaw:
        """Softmax of the scores."""
        from dpmine.selection import laws

        return laws.exponential(profile, rate=1 / float(self.scale))


class MaxOfLaplaces(NoisyMaxMechanism):
    """The largest c_i + Lap(2/ε), or Lap(1/ε) under add_remove; ε-private.

    Source: Dwork & Roth 2014, Claim 3.9.
    """

    name: ClassVar[str] = "max_of_laplaces"

    def noise(self) -> LaplaceNoise:
        """Laplace noise of the mechanism's scale."""
        return LaplaceNoise(self.scale)

    def law(self, profile: Profile) -> LevelLaw:
        """One quadrature over the winning value."""
        from dpmine.selection import laws

        return laws.max_of_laplaces(profile, scale=float(self.scale))


class MaxOfExponentials(NoisyMaxMechanism):
    """The largest c_i + Exp(2/ε), or Exp(1/ε) under add_remove; ε-private. The same law as permute-and-flip.

    Source: McKenna & Sheldon 2020, Theorem 1; Ding, Kifer et al. 2021 for the equality of laws.
    """

    name: ClassVar[str] = "max_of_exponentials"

    def noise(self) -> ExponentialNoise:
        """Exponential noise of the mechanism's scale."""
        return ExponentialNoise(self.scale)

    def law(self, profile: Profile) -> LevelLaw:
        """One quadrature over the winning value."""
        from dpmine.selection import laws

        return laws.max_of_exponentials(profile, scale=float(self.scale))
