"""Supports of all itemsets of a few items, out of noisy counts of their cells: post-processing.

A cell holds the units that have exactly some of the items. A unit with one basket is in one cell. So all cells together
are moved by 1 where a unit comes or goes, and by 2 where one is replaced, however many there are.
Source: Li, Qardaji, Su & Cao 2012 (bases of items).
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.best_first.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.best_first.counts import Itemset

    Values = NDArray[np.float64]


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


def _itemset(place: int, items: Sequence[int]) -> Itemset:
    return tuple(item for bit, item in enumerate(items) if place >> bit & 1)
