"""A mechanism with twice the noise that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpmine.exact.reals import GumbelNoise
from dpmine.selection.draws import noisy_order
from dpmine.selection.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import LevelDistribution, Profile
    from dpmine.selection.universes.protocol import C, Universe


class Toy(Mechanism):
    """P(i) ∝ exp(ε c_i / 4), or exp(ε c_i / 2) under add_remove; ε-private. Proof: docs/proofs/selection/toy.md."""

    name: ClassVar[str] = "toy"
    approximate: ClassVar[bool] = False
    needs_catalogue: ClassVar[bool] = True
    only_by_name: ClassVar[bool] = True

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The largest score + Gumbel noise; None when a dummy wins."""
        return next(noisy_order(universe, GumbelNoise(2 * self.scale), bits=bits), None)

    def distribution(self, profile: Profile) -> LevelDistribution:
        """Softmax of the scores."""
        return profile.ladder().draw(1 / float(2 * self.scale))

    def lead(self, candidates: int) -> float:
        """Scale × (candidates + 3): more than enough."""
        return float(2 * self.scale) * (candidates + 3)

    def proved_lead(self, candidates: int, failure: float) -> float:
        """The others weigh at most K e^(−lead/scale), and ln K < K."""
        return float(2 * self.scale) * (candidates + 1 / failure)
