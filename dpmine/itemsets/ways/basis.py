"""A few items, chosen privately, and all their itemsets by noisy counts of cells: for `best_first`.

A cell holds the units that have exactly some of the items. A unit with one basket is in one cell. So all cells together
are moved by 1 where a unit comes or goes, and by 2 where one is replaced, however many there are.
Proof: docs/proofs/best_first.md. Source: Li, Qardaji, Su & Cao 2012 (bases of items).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.best_first.bounds import Bounds
from dpmine.selection.top_k import OneShot
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.best_first.holdings import Holdings
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.privacy import Neighbors

    Values = NDArray[np.float64]

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
        return OneShot.of_rounds(self.size, self.whole.part(_CHOICE).exponential_rounds(self.size), self.neighbors)

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


def bounds_of_cells(
    noisy: Sequence[int], items: Sequence[int], most: int, units: float, half_width: Callable[[int], int]
) -> Bounds:
    """Supports of all itemsets of at most `most` of the items, and intervals that hold together.

    Args:
        noisy: the counts of the 2^l cells.
        items: their numbers, increasing: bit i of a cell is for items[i].
        most: the largest size.
        units: about how many there are.
        half_width: what the sum of a number of noises exceeds with the probability that one itemset may.
    """
    cells = np.array(noisy, np.float64)
    raw, agreeing = supports_of(cells), supports_of(nearest(cells, max(0.0, units)))
    by_size = sorted(range(1, len(cells)), key=int.bit_count)
    places = {_itemset(place, items): place for place in by_size if place.bit_count() <= most}
    reach = [half_width(1 << (len(items) - size)) for size in range(most + 1)]
    return Bounds.around(
        {itemset: float(agreeing[place]) for itemset, place in places.items()},
        {itemset: ceil(raw[place] - reach[len(itemset)]) for itemset, place in places.items()},
        {itemset: floor(raw[place] + reach[len(itemset)]) for itemset, place in places.items()},
    )


def supports_of(cells: Values) -> Values:
    """For each set of items, the sum of the cells that have them all."""
    sums = cells.copy()
    for item in range(len(cells).bit_length() - 1):
        halves = sums.reshape(-1, 2, 1 << item)
        halves[:, 0] += halves[:, 1]
    return sums


def nearest(cells: Values, total: float) -> Values:
    """The closest numbers, none below 0, with that sum.

    Source: Duchi et al. 2008 (projection onto the simplex); Wang et al. 2020 (for noisy counts).
    """
    falling = np.sort(cells)[::-1]
    surplus = (np.cumsum(falling) - total) / np.arange(1, len(cells) + 1)
    last = int(np.flatnonzero(falling >= surplus)[-1])
    projected: Values = np.maximum(cells - surplus[last], 0.0)
    return projected


def _itemset(place: int, items: Sequence[int]) -> CodedItemset:
    return tuple(item for bit, item in enumerate(items) if place >> bit & 1)
