"""A few items, chosen privately, and all their itemsets by noisy counts of cells: for `best_first`.

Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.itemsets.best_first.cells import bounds_of_cells
from dpmine.selection.top_k import OneShot
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.best_first.bounds import Bounds
    from dpmine.itemsets.best_first.holdings import Holdings
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.privacy import Neighbors

_CHOICE = Fraction(2, 5)
"""Of the budget, for the choice of items."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The l best items by their supports, then the counts of their 2^l cells.

    Attributes:
        size: l ≥ 1.
        neighbors: the relation.
        whole: noise by the budget of both.
        sensitivity: how far one unit moves all cells together.
    """

    size: int
    neighbors: Neighbors
    whole: SupportNoise
    sensitivity: int

    @property
    def noise(self) -> SupportNoise:
        """Of the cells."""
        return self.whole.part(1 - _CHOICE)

    @property
    def choice(self) -> OneShot:
        """Of the items."""
        once = self.whole.part(_CHOICE).exponential_rounds(self.size)
        return OneShot(self.size, self.size * once, Fraction(0), self.neighbors, once)

    def count(
        self, holdings: Holdings, items: int, *, largest: int, units: int, level: Fraction, bits: BitSource
    ) -> Bounds:
        """Supports of all itemsets of what is chosen.

        Args:
            holdings: of the items 0, 1, … up to `items`. Each unit has one basket.
            items: how many there are, l at least.
            largest: the largest size that is wanted.
            units: about how many there are.
            level: the probability with which all intervals hold.
            bits: where the noise comes from.
        """
        chosen, noisy = self.cells(holdings, items, bits=bits)
        each = 1 - (1 - level) / len(noisy)

        def half_width(terms: int) -> int:
            return self.noise.sum_half_width(self.sensitivity, terms, each)

        return bounds_of_cells(noisy, chosen, min(largest, self.size), units, half_width)

    def cells(self, holdings: Holdings, items: int, *, bits: BitSource) -> tuple[list[int], list[int]]:
        """All that is released: the chosen items, increasing, and the noisy counts of their cells."""
        supports = [holdings.support([item]) for item in range(items)]
        chosen = sorted(self.choice.choose(Dense(supports), bits=bits))
        counts = holdings.cells(chosen).tolist()
        return chosen, [count + self.noise.draw(self.sensitivity, bits=bits) for count in counts]
