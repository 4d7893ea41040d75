"""How many units have each public item, about, without a δ: each unit divides a weight among its items.

Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.noise import discrete_laplace
from dpmine.itemsets.ways.discovery import LARGEST_WEIGHT, Discovery
from dpmine.privacy import Neighbors, Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource

_LARGEST_SCALE = 1 << 61  # of `discrete_laplace`, with room for rounding


@dataclass(frozen=True)
class PureWeights(Discovery):
    """Noisy weights of public items, with discrete Laplace noise: ε-private for all looks together.

    A unit with n ≤ D items gives each the weight ⌊S/n⌋: they add up to S at most, whatever n is.

    Attributes:
        budget: ε > 0 of all looks, in the place of ρ.
    """

    @property
    def zcdp(self) -> Zcdp:
        """ε²/2."""
        return Zcdp.implied(self.budget, Fraction(0))

    @cached_property
    def weight(self) -> int:
        """S: 2^20, or less where the scale would not fit into 63 bits."""
        return min(LARGEST_WEIGHT, int(min(self.budgets) * _LARGEST_SCALE / self._times))

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """int64[D]: what each item gets of a unit that has 1, 2, … D items. Rounded down, or a unit could give more."""
        return self.weight // np.arange(1, self.items_per_unit + 1)

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """The least whole numbers that are at least the L1 sensitivity over ε."""
        return tuple(ceil(self._times * self.weight / epsilon) for epsilon in self.budgets)

    @property
    def _times(self) -> int:
        """Sums of neighbours are at most S apart in all, or 2 S where a unit is replaced."""
        return 2 if self.neighbors is Neighbors.REPLACE_ONE else 1

    def _noise(self, count: int, scale: int, *, bits: BitSource) -> NDArray[np.int64]:
        return discrete_laplace(np.full(count, scale), bits=bits)

    def _variance(self, scale: int) -> int:
        return 2 * scale**2
