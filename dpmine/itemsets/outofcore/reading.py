"""Data that are read chunk by chunk -> transactions: in memory once they are coded, or in partitions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.io.source import followed
from dpmine.itemsets.outofcore.partitions import PartitionedBaskets
from dpmine.itemsets.outofcore.spill import CompactFile, SpillFile, scattered, settled, ways_for
from dpmine.itemsets.outofcore.streams import (
    Census,
    Gathered,
    ItemCodes,
    NotSorted,
    PackedBaskets,
    baskets_in,
    chunks,
    lines_of,
    recoded,
    same_codes,
    whole_units,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.transactions.memory import MemoryBudget


_LARGEST_CHUNK = 1 << 26
"""Bytes of lines that are coded at a time, however much memory there is: larger arrays would take new pages each time."""
_PROBE = 2**20  # bytes
_WAYS_WHEN_UNKNOWN = 64


@dataclass(frozen=True, eq=False)
class Stream:
    """Data that are read chunk by chunk."""

    source: Source
    plan: LayoutPlan
    catalogue: pa.Array | None
    budget: MemoryBudget
    progress: Progress

    def transactions(self, batches: Iterator[pa.RecordBatch] | None) -> Transactions:
        """The transactions; `batches` are all that there is, where the data cannot be read again.

        Raises BadParameter where the items, or the data of one unit, do not fit by themselves. Raises UnreadableFile
        also where the disk for temporary files is full.
        """
        if batches is not None:
            return self.in_any_order(batches)
        with suppress(NotSorted):  # left before the next pass: an error being handled holds the first one's reader
            return self.in_order()
        return self.in_any_order(self.batches())

    def in_order(self) -> Transactions:
        """The transactions of units in ascending order; raises NotSorted.

        In memory where they fit there once they are coded, else in parts.
        """
        codes, census, gathered = self._codes(), Census(), Gathered(self.budget.gathered)
        compact = CompactFile(self.budget.packed)
        for lines in whole_units(self._lines(self._followed(self.batches()), codes), self.plan, self.budget.chunk // 2):
            part = baskets_in(lines, self.plan)
            census.add(part)
            for packed in gathered.add(part):
                compact.append(packed)
        labels, places = codes.final()
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        if gathered.fit(labels):
            return gathered.baskets(labels, places, self.plan.unit_name)
        for packed in gathered.given_up():
            compact.append(packed)
        final = None if self.catalogue is not None else places
        return self._partitioned(compact, labels, census.recoded(places), final)

    def in_any_order(self, batches: Iterable[pa.RecordBatch]) -> PartitionedBaskets:
        """The transactions, in temporary files."""
        codes, census, units = self._codes(), Census(), self.plan.unit_columns
        parts = scattered(self._lines(self._followed(batches), codes), units, self._ways())
        labels, places = codes.final()
        compact = CompactFile(self.budget.packed)
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        for lines in settled(parts, units, self.budget.chunk):
            baskets = baskets_in(recoded(lines, places), self.plan, labels)
            census.add(baskets)
            compact.append(PackedBaskets.of(baskets))
        return self._partitioned(compact, labels, census.recoded(same_codes(len(labels))))

    def _partitioned(
        self, compact: CompactFile, labels: pa.Array, census: Census, places: NDArray[np.int32] | None = None
    ) -> PartitionedBaskets:
        name = self.plan.unit_name
        return PartitionedBaskets(labels, name, lambda: compact.parts(labels, name, places), census, self.budget)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The columns, from the beginning."""
        return self.source.batches(self.plan.columns)

    def _codes(self) -> ItemCodes:
        return ItemCodes(self.catalogue, self.budget.labels)

    def _lines(self, batches: Iterable[pa.RecordBatch], codes: ItemCodes) -> Iterator[pa.Table]:
        size = min(self.budget.chunk // 2, _LARGEST_CHUNK)
        return lines_of(chunks(batches, self.plan, size), self.source, self.plan, codes)

    def _followed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return followed(batches, self.source, self.progress)

    def _ways(self) -> int:
        rows = self.source.rows
        if rows is None:
            return _WAYS_WHEN_UNKNOWN
        return ways_for(self.plan.line_bytes * rows, self.budget.chunk)


def require_disk() -> None:
    """UnreadableFile where temporary files would find no room."""
    file = SpillFile()
    file.append(bytes(_PROBE))
    file.close()
