"""Report-noisy-max with exponential noise. Proof: docs/proofs/max_of_exponentials.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpmine.exact.noise import ExponentialNoise
from dpmine.selection.pure import NoisyMaxMechanism

if TYPE_CHECKING:
    from dpmine.selection.laws import LevelLaw, Profile


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
