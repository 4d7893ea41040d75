"""Data of any kind, layout and size -> transactions within a limit of memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.open import is_table, open_source
from dpmine.io.pandas import PandasSource
from dpmine.io.parquet import FileSource
from dpmine.io.source import share_of
from dpmine.itemsets.ingest.layouts import BASKETS, Layout, item_type, plan_layout
from dpmine.itemsets.ingest.read import declared, declared_type, read_plan, restricted
from dpmine.itemsets.outofcore.census import (
    Counter,
    GrowingItems,
    KnownItems,
    require_catalogue_room,
    same_codes,
)
from dpmine.itemsets.outofcore.gathering import Gathered
from dpmine.itemsets.outofcore.sorted_units import NotSorted, group, recoded, whole_units
from dpmine.itemsets.outofcore.spill import MOST_WAYS, CompactFile, SpillFile, scattered, settled
from dpmine.itemsets.outofcore.streams import (
    BoundedSource,
    DoesNotFit,
    batches_of,
    chunks,
    line_bytes,
    lines_of,
    row_count,
    unit_columns,
)
from dpmine.itemsets.outofcore.transactions import PartitionedBaskets
from dpmine.itemsets.spark.baskets import SparkBaskets, read_spark
from dpmine.itemsets.spark.engine import Engine, engine_of
from dpmine.itemsets.transactions.memory import Budget, parse_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpmine.io.columns import Columns
    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.layouts import Plan
    from dpmine.itemsets.outofcore.census import Coder
    from dpmine.itemsets.outofcore.transactions import Transactions
    from dpmine.itemsets.transactions.baskets import Baskets

_PROBE = 2**20  # bytes
_WAYS_WHEN_UNKNOWN = 64
_SPARE_WAYS = 2  # hashes do not divide evenly, and a list holds more lines than rows


@dataclass(frozen=True, eq=False)
class Read:
    """What was read.

    Attributes:
        transactions: in memory or in partitions.
        item_type: Arrow type of the items as the catalogue or the columns declare it; None where Python values have
            none.
    """

    transactions: Transactions
    item_type: pa.DataType | None

    def close(self) -> None:
        """A cluster need not keep anything for these transactions any more."""
        if isinstance(self.transactions, SparkBaskets):
            self.transactions.kept.release_all()


def read_transactions(
    data: object,
    columns: Columns,
    *,
    catalogue: pa.Array | None = None,
    progress: Progress | None = None,
    memory: int | str | Budget | None = None,
    planned: Callable[[Plan], None] | None = None,
    engine: str | Engine = Engine.LOCAL,
) -> Read:
    """As `read_baskets`, within a limit of memory: what the process takes on top of what it held before.

    Frames of Spark, and with the engine "spark" paths too, stay on the cluster: close what was read in the end.

    `planned` gets the layout once it is known from the columns, before any data are read (columns of Python objects
    in pandas frames are looked at for their kind).
    Raises what `read_baskets` raises; BadParameter also where `memory` is no size, or where the items, or the data of
    one unit, do not fit by themselves; UnreadableFile also where the disk for temporary files is full.
    """
    if engine_of(engine, data) is Engine.SPARK:
        there = read_spark(data, columns, memory=_heap(memory), catalogue=catalogue, planned=planned)
        return Read(there.transactions, there.item_type)
    budget = memory if isinstance(memory, Budget) else Budget.of(memory)
    require_catalogue_room(catalogue, budget.indivisible)
    tell = progress or _ignore
    early = planned is not None and _are_baskets(data)
    if planned is not None and early:
        planned(BASKETS)
    source = open_source(data, columns)
    plan = plan_layout(source, columns)
    _require_room(source, plan, budget)
    known = declared(catalogue, source, plan)
    kind = declared_type(known, item_type(source, plan))
    if planned is not None and not early:
        _require_disk(source, plan, budget)
        planned(plan)
    elif early and (plan.layout, plan.items) != (BASKETS.layout, BASKETS.items):
        raise BadParameter("A list of paths must be a list or a tuple: other iterables are taken for baskets.")
    plan = restricted(plan, source, known)
    try:
        found = read_plan(BoundedSource(source, plan, budget.whole), plan, catalogue=known, progress=tell)
    except DoesNotFit as large:
        batches = large.batches
    else:
        return Read(found.baskets, kind)
    stream = _Stream(source, plan, known, budget, tell)
    if not _can_be_read_again(data, source):
        return Read(stream.in_any_order(batches), kind)
    del batches  # and with them what was read already
    try:
        return Read(stream.in_order(), kind)
    except NotSorted:
        return Read(stream.in_any_order(stream.batches()), kind)


@dataclass(frozen=True, eq=False)
class _Stream:
    """Data that are read chunk by chunk."""

    source: Source
    plan: Plan
    catalogue: pa.Array | None
    budget: Budget
    tell: Progress

    def in_order(self) -> Transactions:
        """The transactions of units in ascending order; raises NotSorted.

        In memory where they fit there once they are coded, else read again whenever they are needed.
        """
        coder, counter, gathered = self._coder(), Counter(), Gathered(self.budget.gathered)
        for lines in self._whole_units(self._told(self.batches()), coder):
            part = group(lines, self.plan)
            counter.add(part)
            gathered.add(part)
        labels, places = coder.final()
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        if (baskets := gathered.baskets(labels, places, self.plan.unit_name)) is not None:
            return baskets

        def parts() -> Iterator[Baskets]:
            again = self._whole_units(self.batches(), KnownItems(labels)) if len(labels) else ()
            return (group(lines, self.plan, labels) for lines in again)

        return PartitionedBaskets(labels, self.plan.unit_name, parts, counter.census(places), self.budget)

    def in_any_order(self, batches: Iterable[pa.RecordBatch]) -> PartitionedBaskets:
        """The transactions, in temporary files."""
        coder, counter, units = self._coder(), Counter(), unit_columns(self.plan)
        parts = scattered(self._lines(self._told(batches), coder), units, self._ways())
        labels, places = coder.final()
        compact = CompactFile()
        pa.default_memory_pool().release_unused()  # what Arrow keeps after reading would count twice
        for lines in settled(parts, units, self.budget.chunk):
            baskets = group(recoded(lines, places), self.plan, labels)
            counter.add(baskets)
            compact.append(baskets)
        name = self.plan.unit_name
        return PartitionedBaskets(
            labels, name, lambda: compact.parts(labels, name), counter.census(same_codes(len(labels))), self.budget
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The columns, from the beginning."""
        return batches_of(self.source, (*self.plan.keys, *self.plan.items))

    def _coder(self) -> GrowingItems | KnownItems:
        return GrowingItems(self.budget) if self.catalogue is None else KnownItems(self.catalogue)

    def _lines(self, batches: Iterable[pa.RecordBatch], coder: Coder) -> Iterator[pa.Table]:
        return lines_of(chunks(batches, self.plan, self.budget.chunk // 2), self.source, self.plan, coder)

    def _whole_units(self, batches: Iterable[pa.RecordBatch], coder: Coder) -> Iterator[pa.Table]:
        return whole_units(self._lines(batches, coder), self.plan, self.budget.chunk // 2)

    def _ways(self) -> int:
        rows = row_count(self.source)
        if rows is None:
            return _WAYS_WHEN_UNKNOWN
        return min(MOST_WAYS, max(2, _SPARE_WAYS * line_bytes(self.plan) * rows // self.budget.chunk))

    def _told(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, with progress told where the number of rows is known."""
        rows, done = row_count(self.source), 0
        for batch in batches:
            yield batch
            done += batch.num_rows
            if rows:
                self.tell(share_of(done, rows))


def _require_room(source: Source, plan: Plan, budget: Budget) -> None:
    """UnreadableFile where a column of keys or items, which one value may fill, has a row group beyond the budget."""
    if isinstance(source, FileSource):
        source.require_room(
            plan.keys if plan.layout is Layout.ONE_HOT else (*plan.keys, *plan.items), budget.indivisible
        )


def _require_disk(source: Source, plan: Plan, budget: Budget) -> None:
    """UnreadableFile, before anything is charged, where data that may need temporary files would find no room."""
    rows = row_count(source)
    needed = rows is not None and rows * line_bytes(plan) > budget.whole
    if needed or os.environ.get("TMPDIR"):
        file = SpillFile()
        file.append(bytes(_PROBE))
        file.close()


def _are_baskets(data: Any) -> bool:
    """Whether data are baskets in Python, which cannot be opened without being read: each is its own unit.

    Other iterables than lists and tuples cannot be looked at without being used up, so they count as baskets.
    """
    if is_table(data) or isinstance(data, str | PathLike | bytes | Mapping) or not isinstance(data, Iterable):
        return False
    return not (isinstance(data, list | tuple) and data and all(isinstance(entry, str | PathLike) for entry in data))


def _can_be_read_again(data: Any, source: Source) -> bool:
    """Whether the batches can be had a second time: not those of readers and other streams."""
    if isinstance(source, FileSource | PandasSource) or row_count(source) is not None:
        return True
    datasets = sys.modules.get("pyarrow.dataset")
    return datasets is not None and isinstance(data, datasets.FileSystemDataset)


def _heap(memory: int | str | Budget | None) -> int:
    """Bytes for a session of Spark that is started here."""
    return memory.whole if isinstance(memory, Budget) else parse_memory(memory)


def _ignore(_share: float) -> None:
    """Progress that nobody follows."""
