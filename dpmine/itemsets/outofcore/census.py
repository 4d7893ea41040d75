"""What one pass over all baskets yields: item codes that stay the same from table to table, and supports under them.

And the baskets themselves, as long as they fit into memory together with their miner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.io.python_values import plain_labels
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.counting.rows import item_supports
from dpmine.itemsets.ingest.catalogue import MOST_ITEMS, narrow
from dpmine.itemsets.ingest.encode import sort_rows
from dpmine.itemsets.transactions.baskets import starts_of
from dpmine.itemsets.transactions.memory import ITEM, RESIDENT_BASKET, RESIDENT_LINE, catalogue_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.encode import Codes
    from dpmine.itemsets.transactions.baskets import Baskets


class ItemCodes:
    """Codes of items: positions in a catalogue; without one in the order of the first meeting."""

    def __init__(self, catalogue: pa.Array | None, limit: int) -> None:
        """Items that were met may take `limit` bytes."""
        self.catalogue = catalogue
        self._limit = limit
        self._met: pa.Array | None = None

    def recoded(self, items: Codes, labels: pa.Array) -> Codes:
        """The codes of items given as positions among labels, new ones for labels that were not met before.

        With a catalogue, labels are those of the catalogue. BadParameter where there are too many.
        """
        if self.catalogue is not None:
            return items
        wide = labels.cast(pa.large_string()) if is_text(labels.type) else labels
        met = wide[:0] if self._met is None else self._met
        codes = integers_or(-1, pc.index_in(wide, value_set=met)).copy()
        new = np.flatnonzero(codes < 0)
        codes[new] = np.arange(len(met), len(met) + len(new))
        self._met = pa.concat_arrays([met, wide.take(integer_array(new))]) if len(new) else met
        if catalogue_cost(self._met) > self._limit or len(self._met) > MOST_ITEMS:
            raise BadParameter(
                "The different items alone do not fit into the memory limit: raise memory (--memory), or give a "
                "catalogue of the items that matter."
            )
        return codes[items]

    def final(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The labels sorted, and the position among them of every code."""
        if self.catalogue is not None:
            return self.catalogue, same_codes(len(self.catalogue))
        if self._met is None:
            return pa.nulls(0, pa.string()), same_codes(0)
        order = pc.sort_indices(self._met)
        places = np.empty(len(order), np.int32)
        places[integers(pa.chunked_array([order]))] = same_codes(len(order))
        return narrow(plain_labels(self._met.take(order))), places


def same_codes(count: int) -> NDArray[np.int32]:
    """The places of codes that are final already."""
    return np.arange(count, dtype=np.int32)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class Census:
    """What is counted of partitions, under codes that may still grow in number. Private.

    Attributes:
        supports: int64[N], the units that hold each item.
        occurrences: int64[N], the baskets that hold each item.
        units: number of units, those whose baskets are all empty included.
        baskets: number of baskets.
    """

    supports: NDArray[np.int64] = field(default_factory=_none)
    occurrences: NDArray[np.int64] = field(default_factory=_none)
    units: int = 0
    baskets: int = 0

    def add(self, part: Baskets) -> None:
        """Count the units of a partition, which has none of the others'."""
        self.supports = _sum(self.supports, item_supports(part))
        self.occurrences = _sum(self.occurrences, np.bincount(part.items, minlength=part.catalogue_size))
        self.units += part.total_units
        self.baskets += part.basket_count

    def recoded(self, places: NDArray[np.int32]) -> Census:
        """The census with the item of code c at places[c]."""
        supports, occurrences = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        supports[places[: len(self.supports)]] = self.supports
        occurrences[places[: len(self.occurrences)]] = self.occurrences
        return Census(supports, occurrences, self.units, self.baskets)


def _sum(before: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of counts, the shorter ones continued by 0."""
    if len(before) < len(more):
        before, more = more.astype(np.int64), before
    before[: len(more)] += more
    return before


class PackedBaskets(NamedTuple):
    """The baskets of some units in as few bytes as they take: items, and the lengths of baskets and of units."""

    items: NDArray[np.int32]
    basket_lengths: NDArray[np.int32]
    unit_lengths: NDArray[np.int32]

    @classmethod
    def of(cls, part: Baskets) -> PackedBaskets:
        """Those of a partition."""
        baskets, units = (np.diff(starts).astype(np.int32) for starts in (part.basket_starts, part.unit_starts))
        return cls(part.items, baskets, units)


class Gathered:
    """The baskets of one part of the units after the other; none once they take more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[PackedBaskets] = []
        self._cost = 0
        self._empty_units = 0

    def add(self, part: Baskets) -> None:
        """Keep the baskets of some units, or give all of them up."""
        self._empty_units += part.empty_units
        self._cost += RESIDENT_LINE * len(part.items) + RESIDENT_BASKET * part.basket_count
        if self._cost > self._limit:
            self._parts.clear()
        else:
            self._parts.append(PackedBaskets.of(part))

    def baskets(self, labels: pa.Array, places: NDArray[np.int32], unit: str) -> BasketsInMemory | None:
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
        return BasketsInMemory(labels, items, starts, owned, unit, self._empty_units)
