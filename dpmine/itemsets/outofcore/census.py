"""Item codes that stay the same from table to table, and the supports counted under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.io.python_values import plain_labels
from dpmine.itemsets.counting.miner import item_supports
from dpmine.itemsets.ingest.catalogue import narrow
from dpmine.itemsets.transactions.memory import ITEM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.encode import Codes
    from dpmine.itemsets.transactions.baskets import Baskets
    from dpmine.itemsets.transactions.memory import Budget

_MOST_ITEMS = 2**31 - 1  # codes are int32


class Coder(Protocol):
    """Gives items their codes."""

    @property
    def catalogue(self) -> pa.Array | None:
        """The items to keep; None for all."""

    def recoded(self, items: Codes, labels: pa.Array) -> Codes:
        """The codes of items given as positions among labels."""


class KnownItems:
    """Codes are positions in a catalogue."""

    def __init__(self, catalogue: pa.Array) -> None:
        self.catalogue: pa.Array | None = catalogue
        self.labels = catalogue

    def recoded(self, items: Codes, labels: pa.Array) -> Codes:  # noqa: ARG002 - labels are those of the catalogue
        """The positions, which are those in the catalogue already."""
        return items

    def final(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The labels, and the position among them of every code."""
        return self.labels, same_codes(len(self.labels))


class GrowingItems:
    """Codes in the order of the first meeting, as long as the items fit into the budget."""

    catalogue: pa.Array | None = None

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._labels: pa.Array | None = None

    def recoded(self, items: Codes, labels: pa.Array) -> Codes:
        """The codes, new ones for labels that were not met before. BadParameter where there are too many."""
        wide = labels.cast(pa.large_string()) if is_text(labels.type) else labels
        if self._labels is None:
            self._labels = wide[:0]
        if not len(labels):
            return items
        codes = integers_or(-1, pc.index_in(wide, value_set=self._labels)).copy()
        new = np.flatnonzero(codes < 0)
        codes[new] = np.arange(len(self._labels), len(self._labels) + len(new))
        if len(new):
            self._labels = pa.concat_arrays([self._labels, wide.take(integer_array(new))])
            self._require_room(self._labels)
        return codes[items]

    def final(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The labels sorted, and the position among them of every code."""
        if self._labels is None:
            return pa.nulls(0, pa.string()), np.zeros(0, np.int32)
        order = pc.sort_indices(self._labels)
        places = np.empty(len(order), np.int32)
        places[integers(pa.chunked_array([order]))] = np.arange(len(order), dtype=np.int32)
        return narrow(plain_labels(self._labels.take(order))), places

    def _require_room(self, labels: pa.Array) -> None:
        if _cost_of(labels) > self._budget.labels or len(labels) > _MOST_ITEMS:
            raise BadParameter(
                "The different items alone do not fit into the memory limit: raise memory (--memory), or give a "
                "catalogue of the items that matter."
            )


def require_catalogue_room(catalogue: pa.Array | None, limit: int) -> None:
    """BadParameter where what is counted for each item of a public catalogue takes more than `limit` bytes."""
    if catalogue is not None and _cost_of(catalogue) > limit:
        raise BadParameter(
            "The catalogue does not fit into the memory limit: raise memory (--memory), or give a shorter catalogue."
        )


def _cost_of(labels: pa.Array) -> int:
    return int(4 * labels.nbytes + ITEM * len(labels))


@dataclass(frozen=True, eq=False)
class Census:
    """What one look at all baskets tells. Private.

    Attributes:
        supports: int64[N], the units that hold each item.
        occurrences: int64[N], the baskets that hold each item.
        units: number of units, those whose baskets are all empty included.
        baskets: number of baskets.
    """

    supports: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    units: int
    baskets: int


class Counter:
    """Adds up the census of partitions, under codes that may still grow in number."""

    def __init__(self) -> None:
        self._supports = np.zeros(0, np.int64)
        self._occurrences = np.zeros(0, np.int64)
        self._units = 0
        self._baskets = 0

    def add(self, part: Baskets) -> None:
        """Count the units of a partition, which has none of the others'."""
        self._supports = _sum(self._supports, item_supports(part))
        self._occurrences = _sum(self._occurrences, np.bincount(part.items, minlength=part.catalogue_size))
        self._units += part.total_units
        self._baskets += part.basket_count

    def census(self, places: NDArray[np.int32]) -> Census:
        """The census, with the item of code c at places[c]."""
        supports, occurrences = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        supports[places[: len(self._supports)]] = self._supports
        occurrences[places[: len(self._occurrences)]] = self._occurrences
        return Census(supports, occurrences, self._units, self._baskets)


def same_codes(count: int) -> NDArray[np.int32]:
    """The places of codes that are final already."""
    return np.arange(count, dtype=np.int32)


def _sum(before: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of counts, the shorter ones continued by 0."""
    if len(before) < len(more):
        before, more = more.astype(np.int64), before
    before[: len(more)] += more
    return before
