"""The exponential mechanism. Proof: docs/proofs/exponential.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpmine.exact.noise import GumbelNoise
from dpmine.selection.pure import NoisyMaxMechanism

if TYPE_CHECKING:
    from dpmine.selection.laws import LevelLaw, Profile


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
