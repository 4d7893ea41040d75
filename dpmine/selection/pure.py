"""What the three ε-private mechanisms share: independent noise on every score, the largest wins."""

from __future__ import annotations

from abc import abstractmethod
from math import log
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.selection.mechanism import Mechanism, unit_reach
from dpmine.selection.noisy_max import noisy_max

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import Noise
    from dpmine.selection.universe import Universe

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
