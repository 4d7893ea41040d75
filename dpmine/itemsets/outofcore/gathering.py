"""Baskets gathered in memory while their data stream by, as long as they fit there together with their miner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.itemsets.ingest.kernels import sort_rows
from dpmine.itemsets.transactions.baskets import Baskets, starts_of
from dpmine.itemsets.transactions.memory import ITEM, RESIDENT_BASKET, RESIDENT_LINE

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class _Part(NamedTuple):
    """The baskets of some units in as few bytes as they take."""

    items: NDArray[np.int32]
    basket_lengths: NDArray[np.int32]
    unit_lengths: NDArray[np.int32]


class Gathered:
    """The baskets of one part of the units after the other; none once they take more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[_Part] = []
        self._cost = 0
        self._empty_units = 0

    def add(self, part: Baskets) -> None:
        """Keep the baskets of some units, or give all of them up."""
        self._empty_units += part.empty_units
        self._cost += RESIDENT_LINE * len(part.items) + RESIDENT_BASKET * part.basket_count
        if self._cost > self._limit:
            self._parts.clear()
            return
        baskets, units = (np.diff(starts).astype(np.int32) for starts in (part.basket_starts, part.unit_starts))
        self._parts.append(_Part(part.items, baskets, units))

    def baskets(self, labels: pa.Array, places: NDArray[np.int32], unit: str) -> Baskets | None:
        """All of them, with item places[c] for code c; None where they take too much. Lets the parts go."""
        if self._cost + ITEM * len(labels) > self._limit:
            return None
        starts = starts_of(*(part.basket_lengths for part in self._parts))
        owned = starts_of(*(part.unit_lengths for part in self._parts))
        items = np.empty(int(starts[-1]), np.int32)
        filled = 0
        self._parts.reverse()
        while self._parts:
            part = self._parts.pop()
            items[filled : filled + len(part.items)] = places[part.items]
            filled += len(part.items)
        sort_rows(items, starts)
        return Baskets(labels, items, starts, owned, unit, self._empty_units)
