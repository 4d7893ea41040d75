"""Data that do not fit into memory -> partitions of whole units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.io.source import followed
from dpmine.itemsets.ingest.read import line_bytes
from dpmine.itemsets.outofcore.census import Census, Gathered, ItemCodes, same_codes
from dpmine.itemsets.outofcore.miner import PartitionedBaskets
from dpmine.itemsets.outofcore.spill import MOST_WAYS, CompactFile, SpillFile, scattered, settled
from dpmine.itemsets.outofcore.streams import NotSorted, chunks, group, lines_of, recoded, whole_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.transactions.base import Transactions
    from dpmine.itemsets.transactions.baskets import Baskets
    from dpmine.itemsets.transactions.memory import MemoryBudget

_PROBE = 2**20  # bytes
_WAYS_WHEN_UNKNOWN = 64
_SPARE_WAYS = 2  # hashes do not divide evenly, and a list holds more lines than rows


@dataclass(frozen=True, eq=False)
class Stream:
    """Data that are read chunk by chunk."""

    source: Source
    plan: LayoutPlan
    catalogue: pa.Array | None
    budget: MemoryBudget
    progress: Progress

    def in_order(self) -> Transactions:
        """The transactions of units in ascending order; raises NotSorted.

        In memory where they fit there once they are coded, else read again whenever they are needed.
        """
        codes, census, gathered = self._codes(), Census(), Gathered(self.budget.gathered)
        for lines in self._whole_units(self._followed(self.batches()), codes):
            part = group(lines, self.plan)
            census.add(part)
            gathered.add(part)
        labels, places = codes.final()
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        if (baskets := gathered.baskets(labels, places, self.plan.unit_name)) is not None:
            return baskets

        def parts() -> Iterator[Baskets]:
            known = ItemCodes(labels, self.budget.labels)
            again = self._whole_units(self.batches(), known) if len(labels) else ()
            return (group(lines, self.plan, labels) for lines in again)

        return PartitionedBaskets(labels, self.plan.unit_name, parts, census.recoded(places), self.budget)

    def in_any_order(self, batches: Iterable[pa.RecordBatch]) -> PartitionedBaskets:
        """The transactions, in temporary files."""
        codes, census, units = self._codes(), Census(), self.plan.unit_columns
        parts = scattered(self._lines(self._followed(batches), codes), units, self._ways())
        labels, places = codes.final()
        compact, name = CompactFile(), self.plan.unit_name
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        for lines in settled(parts, units, self.budget.chunk):
            baskets = group(recoded(lines, places), self.plan, labels)
            census.add(baskets)
            compact.append(baskets)
        counted = census.recoded(same_codes(len(labels)))
        return PartitionedBaskets(labels, name, lambda: compact.parts(labels, name), counted, self.budget)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The columns, from the beginning."""
        return self.source.batches(self.plan.columns)

    def _codes(self) -> ItemCodes:
        return ItemCodes(self.catalogue, self.budget.labels)

    def _lines(self, batches: Iterable[pa.RecordBatch], codes: ItemCodes) -> Iterator[pa.Table]:
        return lines_of(chunks(batches, self.plan, self.budget.chunk // 2), self.source, self.plan, codes)

    def _whole_units(self, batches: Iterable[pa.RecordBatch], codes: ItemCodes) -> Iterator[pa.Table]:
        return whole_units(self._lines(batches, codes), self.plan, self.budget.chunk // 2)

    def _followed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return followed(batches, self.source.rows, self.progress)

    def _ways(self) -> int:
        rows = self.source.rows
        if rows is None:
            return _WAYS_WHEN_UNKNOWN
        return min(MOST_WAYS, max(2, _SPARE_WAYS * line_bytes(self.plan) * rows // self.budget.chunk))


def read_stream(stream: Stream, batches: Iterator[pa.RecordBatch] | None) -> Transactions:
    """The transactions of a stream; `batches` are all that it has, where it cannot be read again.

    Raises BadParameter where the items, or the data of one unit, do not fit by themselves; UnreadableFile also where
    the disk for temporary files is full.
    """
    if batches is not None:
        return stream.in_any_order(batches)
    try:
        return stream.in_order()
    except NotSorted:
        return stream.in_any_order(stream.batches())


def require_disk() -> None:
    """UnreadableFile where temporary files would find no room."""
    file = SpillFile()
    file.append(bytes(_PROBE))
    file.close()
