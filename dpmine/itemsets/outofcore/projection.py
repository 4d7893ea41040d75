"""Conditional databases: what follows an item in the baskets that hold it, for many items in one set of baskets.

Items are ranked, rare ones first (ties by code). Every itemset has one first item, and is an itemset of one item less
in what follows that item (Han, Pei & Yin 2000). Here the databases of different first items share no unit and no item
code. So one miner serves many of them, and their itemsets never mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, integers
from dpmine.itemsets.transactions.interface import Baskets
from dpmine.itemsets.transactions.memory import PROJECTED_ENTRY, PROJECTED_ROW
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


_TOO_LARGE = "What was bought together with a single item does not fit into the memory limit: raise `memory`."


@dataclass(frozen=True, eq=False)
class Projected:
    """The conditional databases of some items.

    Attributes:
        baskets: theirs; a label is the first item's place among `firsts` times the catalogue's size, plus the rank.
        firsts: the ranks of the first items.
        code_of: int32[N], the catalogue's code of each rank.
    """

    baskets: Baskets
    firsts: range
    code_of: NDArray[np.int32]

    def itemsets(self, found: NDArray[np.int32]) -> NDArray[np.int32]:
        """int32[k, r + 1]: the catalogue's itemsets for int32[k, r] itemsets of `baskets`; codes increase."""
        labels: NDArray[np.int64] = integers(pa.chunked_array([self.baskets.labels]))
        own, ranks = labels[found] // len(self.code_of), labels[found] % len(self.code_of)
        whole = np.column_stack([own[:, 0] + self.firsts.start, ranks])
        return np.sort(self.code_of[whole], axis=1)


class Projector:
    """Cuts the ranks into ranges whose conditional databases fit into memory, and makes these."""

    def __init__(
        self, parts: Callable[[], Iterator[Baskets]], code_of: NDArray[np.int32], limit: int, largest: int = 0
    ) -> None:
        """Requires: `code_of` holds the codes by rank. Takes one pass over the parts.

        Databases take `limit` bytes together; that of a single rank may take `largest`.
        """
        self._all_parts = parts
        self._limit = limit
        self._largest = max(limit, largest)
        self._code_of = code_of
        self._rank_of = np.empty(len(code_of), np.int32)
        self._rank_of[code_of] = np.arange(len(code_of), dtype=np.int32)
        self._rows = np.zeros(len(code_of), np.int64)
        self._entries = np.zeros(len(code_of), np.int64)
        for part in self._parts():
            measure(part, self._rank_of, self._rows, self._entries)

    def ranges(self, first: int, end: int) -> Iterator[range]:
        """Ranges that cover the ranks `first` … `end` − 1; BadParameter where one rank's database does not fit."""
        costs = PROJECTED_ENTRY * self._entries[first:end] + PROJECTED_ROW * self._rows[first:end]
        if costs.max(initial=0) > self._largest:
            raise BadParameter(_TOO_LARGE)
        totals = np.concatenate([[0], np.cumsum(costs)])
        start = 0
        while start < len(costs):
            stop = int(np.searchsorted(totals, totals[start] + self._limit, side="right")) - 1
            stop = max(stop, start + 1)
            yield range(first + start, first + stop)
            start = stop

    def projected(self, firsts: range) -> Projected:
        """The conditional databases of these ranks. Takes one pass over the partitions."""
        row_ends = np.cumsum(self._rows[firsts.start : firsts.stop])
        entry_ends = np.cumsum(self._entries[firsts.start : firsts.stop])
        to = _room(row_ends, entry_ends)
        for part in self._parts():
            deliver(part, self._rank_of, firsts.start, to)
        labels = integer_array(renumber(to.entries, np.concatenate([[0], entry_ends]), len(self._code_of)))
        unit_starts = _unit_starts(to.row_units, row_ends)
        baskets = Baskets(labels, to.entries, to.row_starts, unit_starts, unit="row")
        return Projected(baskets, firsts, self._code_of)

    def _parts(self) -> Iterator[Part]:
        """The partitions, their units numbered on."""
        seen = 0
        for part in self._all_parts():
            owners = np.repeat(np.arange(seen, seen + part.unit_count), np.diff(part.unit_starts))
            yield Part(part.items, part.basket_starts, owners)
            seen += part.unit_count


def _room(row_ends: NDArray[np.int64], entry_ends: NDArray[np.int64]) -> Stretches:
    """Stretches that end there, nothing written yet."""
    starts = np.full(int(row_ends[-1]) + 1, entry_ends[-1], np.int64)
    units = np.zeros(int(row_ends[-1]), np.int64)
    return Stretches(_before(row_ends), _before(entry_ends), starts, units, np.zeros(int(entry_ends[-1]), np.int32))


def _before(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The starts of stretches that end there."""
    return np.concatenate([[0], ends[:-1]]).astype(np.int64)


def _unit_starts(units: NDArray[np.int64], row_ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the units' rows start: at another unit, and at another first item."""
    new = np.ones(len(units) + 1, np.bool_)
    new[1:-1] = units[1:] != units[:-1]
    new[row_ends] = True
    return np.flatnonzero(new)


class Part(NamedTuple):
    """Baskets of some units."""

    items: NDArray[np.int32]
    """Item codes basket after basket."""
    starts: NDArray[np.int64]
    """int64[baskets + 1]: basket b holds items[starts[b] : starts[b + 1]]."""
    units: NDArray[np.int64]
    """int64[baskets]: the owner of each, never decreasing."""


class Stretches(NamedTuple):
    """What follows each of some ranks in its baskets: a stretch of rows and of entries for every rank.

    The next free places move on as rows are written.
    """

    free_row: NDArray[np.int64]
    """int64[stretches]: the next row of each."""
    free_entry: NDArray[np.int64]
    """int64[stretches]: the next entry of each."""
    row_starts: NDArray[np.int64]
    """int64[rows + 1]: row r holds entries[row_starts[r] : row_starts[r + 1]]."""
    row_units: NDArray[np.int64]
    """int64[rows]: the unit of each row."""
    entries: NDArray[np.int32]
    """The ranks that follow, increasing in a row."""


_measure, _deliver, _renumber = kernel("measure"), kernel("deliver"), kernel("renumber")


def measure(part: Part, rank_of: NDArray[np.int32], rows: NDArray[np.int64], entries: NDArray[np.int64]) -> None:
    """Add, for every rank, the baskets in which a higher rank follows, and how many follow in all of them."""
    _measure(*part, rank_of, rows, entries)


def deliver(part: Part, rank_of: NDArray[np.int32], first: int, to: Stretches) -> None:
    """Write what follows the rank first + k in the baskets into stretch k, for every stretch."""
    _deliver(*part, rank_of, first, *to)


def renumber(entries: NDArray[np.int32], bounds: NDArray[np.int64], catalogue: int) -> NDArray[np.int64]:
    """Number the pairs (stretch, rank) from 0, in order, and put the numbers in the place of the ranks.

    Stretch k is entries[bounds[k] : bounds[k + 1]]. The result holds k * catalogue + rank for every number.
    """
    pairs = np.empty(len(entries), np.int64)
    known = _renumber(entries, bounds, np.full(catalogue, -1, np.int32), np.empty(catalogue, np.int32), pairs)
    return pairs[:known].copy()
