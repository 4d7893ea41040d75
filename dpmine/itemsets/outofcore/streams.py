"""Columns as a stream of lines: tables of keys and item codes, one line a basket and item, no nulls.

However the data hold baskets, their lines look the same: key columns u0, u1, … of the unit, b0, … of the basket inside
the unit, and `item` (int32), a code that is the same for equal items in all tables of the stream, or −1 for none: units
whose baskets are empty have lines, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.io.arrow import (
    integer_array,
    integers_or,
    is_boolean,
    is_list,
    is_mixed,
    is_plain_list,
    is_text,
    plain,
    without_long_texts,
)
from dpmine.io.parquet import FileSource
from dpmine.io.source import ArrowSource, collected
from dpmine.itemsets.ingest.catalogue import labelled
from dpmine.itemsets.ingest.cells import Entries, list_entries, one_hot_entries
from dpmine.itemsets.ingest.encode import coded, is_ascending
from dpmine.itemsets.ingest.layouts import Layout
from dpmine.itemsets.transactions.memory import LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.encode import Codes
    from dpmine.itemsets.ingest.layouts import Plan
    from dpmine.itemsets.outofcore.census import Coder

ITEM_COLUMN = "item"
_BATCH_ROWS = 2**18
_TEXT_COPIES = 5  # of different texts: hashed, cast, taken, sorted and looked up (measured)
_Rows: TypeAlias = "NDArray[np.int64]"


class DoesNotFit(Exception):
    """The data take more memory than allowed when they are read at once.

    Attributes:
        batches: all of them, those that were read already first.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        super().__init__()
        self.batches = batches


@dataclass(frozen=True, eq=False)
class BoundedSource:
    """A source that gives up reading at once, with DoesNotFit, where that would take more than `limit` bytes."""

    source: Source
    plan: Plan
    limit: int

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.source.names

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column."""
        return self.source.type_of(name)

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The items that these columns stand for in a one-hot layout."""
        return self.source.labels(names)

    def read(self, names: Sequence[str], progress: Progress) -> pa.Table:
        """The named columns; raises DoesNotFit as soon as they are known to be too large."""
        schema, batches = pa.schema([(name, self.type_of(name)) for name in names]), batches_of(self.source, names)
        if isinstance(self.source, FileSource):
            if self.source.rows * line_bytes(self.plan) > self.limit:
                raise DoesNotFit(batches)
            schema = self.source.schema(names, dictionaries=True)
            batches = self.source.batches(schema)
        return collected(self._within(batches), schema, row_count(self.source), progress)

    def _within(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken, cost = [], 0
        for batch in batches:
            taken.append(batch)
            cost += batch_cost(batch, self.plan)
            if cost > self.limit:
                raise DoesNotFit(_chained(taken, batches))
            yield batch


def batches_of(source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The named columns batch by batch. BadData where the producer of the batches fails, UnreadableFile for files."""
    if isinstance(source, FileSource):
        return source.batches(source.schema(names, dictionaries=False))
    if isinstance(source, ArrowSource):
        return (part for batch in source.checked(list(names)) for part in _split_rows(batch, _BATCH_ROWS))
    return iter(source.read(names, lambda _share: None).to_batches(max_chunksize=_BATCH_ROWS))


def row_count(source: Source) -> int | None:
    """How many rows there are, where that is known before they are read."""
    if isinstance(source, FileSource):
        return source.rows
    return source.rows if isinstance(source, ArrowSource) else None


def batch_cost(batch: pa.RecordBatch, plan: Plan) -> int:
    """Bytes that a batch takes while its lines are coded and grouped."""
    texts = sum(_text_bytes(batch.column(name)) for name in plan.items if name in batch.schema.names)
    return int(batch.nbytes) + _TEXT_COPIES * texts + line_bytes(plan) * _lines_in(batch)


def line_bytes(plan: Plan) -> int:
    """Bytes that a line takes while it is coded and grouped, on top of what was read."""
    return LINE * (len(unit_columns(plan)) + len(basket_columns(plan)) + 1)


def chunks(batches: Iterable[pa.RecordBatch], plan: Plan, limit: int) -> Iterator[pa.Table]:
    """The rows in tables that take about `limit` bytes while they are coded and grouped, or are a single row."""
    taken: list[pa.RecordBatch] = []
    cost = 0
    for batch in batches:
        for part in _split(batch, plan, limit):
            if taken and cost + batch_cost(part, plan) > limit:
                yield pa.Table.from_batches(taken)
                taken, cost = [], 0
                pa.default_memory_pool().release_unused()  # Arrow would keep it
            taken.append(part)
            cost += batch_cost(part, plan)
    if taken:
        yield pa.Table.from_batches(taken)


def lines_of(tables: Iterable[pa.Table], source: Source, plan: Plan, coder: Coder) -> Iterator[pa.Table]:
    """The lines of tables of the plan's columns. Rows are numbered on, where each is a basket."""
    first = 0
    for table in tables:
        keyed, rows = _with_keys(table, plan)
        yield _lines(keyed, rows + first, source, plan, coder)
        first += table.num_rows


def unit_columns(plan: Plan) -> tuple[str, ...]:
    """The line columns that hold the unit: those of its key, or the row number."""
    return tuple(f"u{place}" for place in range(max(1, len(plan.unit))))


def basket_columns(plan: Plan) -> tuple[str, ...]:
    """The line columns that tell the baskets of a unit apart: a key, the row number, or none."""
    if plan.layout is Layout.LONG:
        return tuple(f"b{place}" for place in range(len(plan.basket)))
    return ("b0",) if plan.unit else ()


def _split_rows(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)


def _chained(taken: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All batches, those taken already let go one by one."""
    taken.reverse()
    while taken:
        yield taken.pop()
    yield from rest


def _text_bytes(items: pa.Array) -> int:
    """Bytes of the items' texts, which may all be different."""
    if is_list(items.type):
        return _text_bytes(items.flatten())
    if pa.types.is_dictionary(items.type):
        return _text_bytes(items.dictionary)
    return int(items.nbytes) if is_text(items.type) else 0


def _lines_in(batch: pa.RecordBatch) -> int:
    for column in batch.columns:
        if is_list(column.type):
            return int(batch.num_rows) + int(pc.sum(pc.list_value_length(column)).as_py() or 0)
    return int(batch.num_rows) + sum(int(column.true_count) for column in batch.columns if is_boolean(column.type))


def _split(batch: pa.RecordBatch, plan: Plan, limit: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= 1 or batch_cost(batch, plan) <= limit:
        if batch.num_rows:
            yield batch
        return
    half = batch.num_rows // 2
    yield from _split(batch.slice(0, half), plan, limit)
    yield from _split(batch.slice(half), plan, limit)


def _with_keys(table: pa.Table, plan: Plan) -> tuple[pa.Table, _Rows]:
    """The rows whose keys are all there, keys as integers, times or large_string; and which rows these are."""
    for name in plan.keys:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, _plain_key(table.column(name)))
    valid = [pc.is_valid(table.column(name)) for name in plan.keys]
    if not valid or all(not table.column(name).null_count for name in plan.keys):
        return table, np.arange(table.num_rows)
    keep = reduce(pc.and_, valid)
    columns = [_without_views(column) for column in table.columns]
    return pa.table(columns, names=table.column_names).filter(keep), np.flatnonzero(integers_or(0, keep))


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, with texts that Arrow can filter: it has no filter for views of texts, nor for lists of these."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if is_plain_list(column.type) and pa.types.is_string_view(column.type.value_type):
        return column.cast(pa.large_list(pa.large_string()))
    return column


def _plain_key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = plain(column.type)
    column = column.cast(kind)
    return without_long_texts(column.cast(pa.large_string())) if is_text(kind) or is_mixed(kind) else column


def _lines(table: pa.Table, numbers: _Rows, source: Source, plan: Plan, coder: Coder) -> pa.Table:
    rows, items, labels = _items(table, source, plan, coder.catalogue)
    keys = _keys(table, numbers, plan)
    if len(rows) < table.num_rows or plan.layout is not Layout.LONG:
        keys = keys.take(integer_array(rows))
    codes = np.full(len(items), -1)
    codes[items >= 0] = coder.recoded(items[items >= 0], labels)
    return keys.append_column(ITEM_COLUMN, pa.chunked_array([integer_array(codes).cast(pa.int32())]))


def _keys(table: pa.Table, numbers: _Rows, plan: Plan) -> pa.Table:
    """The keys of the rows under their names in lines."""
    row = pa.chunked_array([integer_array(numbers)])
    units = [table.column(name) for name in plan.unit] or [row]
    baskets = [table.column(name) for name in plan.basket]
    if plan.unit and plan.layout is not Layout.LONG:
        baskets = [row]
    return pa.table([*units, *baskets], names=[*unit_columns(plan), *basket_columns(plan)])


def _items(table: pa.Table, source: Source, plan: Plan, catalogue: pa.Array | None) -> tuple[_Rows, Codes, pa.Array]:
    """The row of each line, its item's position among labels, and the labels; −1 where a basket holds none of them."""
    if plan.layout is Layout.LONG:
        column = table.column(plan.items[0])
        items = coded(column)
        labels, positions = labelled(items, catalogue)
        rows = np.flatnonzero(items.codes >= 0)
        return rows, positions[rows].astype(np.int64), labels
    if plan.layout is Layout.LIST:
        entries = list_entries(table, plan.items[0])
    else:
        entries = one_hot_entries(table, plan.items, source.labels(plan.items))
    labels, positions = labelled(entries.items, catalogue)
    return *_one_each(entries, positions.astype(np.int64)), labels


def _one_each(entries: Entries, positions: Codes) -> tuple[_Rows, Codes]:
    """The lines that have an item, and one for each row that has none in any of its lines; in the order of the rows."""
    rows, keep = entries.rows.codes, positions >= 0
    if keep.all() and not len(entries.empty) and is_ascending(rows):
        return rows, positions
    empty = np.union1d(entries.empty, np.setdiff1d(rows, rows[keep]))
    lines = np.concatenate([rows[keep], empty]).astype(np.int64)
    found = np.concatenate([positions[keep], np.full(len(empty), -1)]).astype(np.int64)
    order = np.argsort(lines, kind="stable")
    return lines[order], found[order]
