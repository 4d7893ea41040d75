"""Report-noisy-max with Laplace noise. Proof: docs/proofs/max_of_laplaces.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpmine.exact.noise import LaplaceNoise
from dpmine.selection.pure import NoisyMaxMechanism

if TYPE_CHECKING:
    from dpmine.selection.laws import LevelLaw, Profile


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
