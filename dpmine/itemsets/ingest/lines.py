"""Rows of each layout as lines, one per basket and item, and these grouped: of a whole table, or of a part of one."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.io.python_values import plain_labels
from dpmine.io.source import collected
from dpmine.itemsets.ingest.catalogue import matched
from dpmine.itemsets.ingest.encode import (
    Coded,
    Key,
    arranged,
    coded,
    combined,
    dense,
    in_order,
    is_ascending,
    labelled,
    narrow,
    run_starts,
)
from dpmine.itemsets.ingest.layouts import Layout, item_type
from dpmine.itemsets.transactions.interface import Baskets
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.io.source import Progress, Source
    from dpmine.itemsets.ingest.encode import Codes
    from dpmine.itemsets.ingest.layouts import LayoutPlan


_READING = 0.9  # share of the time that reading takes, for the progress
_TEXT_COPIES = 5  # of different texts: hashed, cast, taken, sorted and looked up (measured)


class DoesNotFit(Exception):
    """The data take more memory than allowed when they are read at once.

    Attributes:
        batches: all of them, those that were read already first.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        super().__init__()
        self.batches = batches


def declared(
    catalogue: pa.Array | None, source: Source, plan: LayoutPlan
) -> tuple[pa.Array | None, pa.DataType | None]:
    """The catalogue as items of the type that the columns have, and `declared_type`; before any items are read.

    Raises what `matched` raises, and BadData for labels of one-hot columns that are unusable.
    """
    kind = item_type(source, plan)
    known = None if catalogue is None else matched(catalogue, kind)
    return known, declared_type(known, kind)


def restricted(plan: LayoutPlan, source: Source, catalogue: pa.Array | None) -> LayoutPlan:
    """The plan with the one-hot columns that a catalogue, as `declared`, leaves; one stays, so that there are rows."""
    if plan.layout is not Layout.ONE_HOT or catalogue is None:
        return plan
    labels = source.labels(plan.items)
    wanted = pc.is_in(labels, value_set=catalogue.cast(labels.type)).to_pylist()
    items = tuple(name for name, keep in zip(plan.items, wanted, strict=True) if keep)
    return replace(plan, items=items or plan.items[:1])


def declared_type(catalogue: pa.Array | None, kind: pa.DataType) -> pa.DataType | None:
    """The type that released items have: the catalogue's, else that of the columns; None for Python values."""
    if catalogue is not None:
        return catalogue.type
    return kind if pa.types.is_integer(kind) or is_text(kind) else None


def read_whole(
    source: Source, plan: LayoutPlan, *, catalogue: pa.Array | None, limit: int, progress: Progress
) -> Baskets:
    """The baskets in a source, read at once; raises DoesNotFit once it is known to take more than `limit` bytes.

    A row with a null unit, basket or item is left out. Items outside `catalogue`, as `declared`, are left out; so are
    baskets without any item, and their units where they have no other: `Baskets.empty_units` counts those. Without a
    catalogue the items that occur are the labels.
    """
    progress(0.0)
    if (source.rows or 0) * plan.line_bytes > limit:
        raise DoesNotFit(source.batches(plan.columns))
    batches = _within(source.batches(plan.columns, whole=True), plan, limit)
    table = collected(batches, source, plan.columns, lambda share: progress(_READING * share))
    cells, labels = _table_cells(table, source, plan, catalogue)
    baskets = grouped(cells, narrow(plain_labels(labels)), plan.unit_name)
    progress(1.0)
    return baskets


def batch_cost(batch: pa.RecordBatch, plan: LayoutPlan) -> int:
    """Bytes that a batch takes while its lines are coded and grouped."""
    items, lines = batch.column(plan.items[0]), batch.num_rows
    if plan.layout is not Layout.LONG:
        items = items.flatten()
        lines += len(items)
    values = items.dictionary if pa.types.is_dictionary(items.type) else items
    texts = values.nbytes if is_text(values.type) else 0  # which may all be different
    return int(batch.nbytes) + _TEXT_COPIES * texts + plan.line_bytes * int(lines)


def _within(batches: Iterator[pa.RecordBatch], plan: LayoutPlan, limit: int) -> Iterator[pa.RecordBatch]:
    """The batches, as long as they take no more than `limit` bytes; raises DoesNotFit."""
    taken, cost = [], 0
    for batch in batches:
        taken.append(batch)
        cost += batch_cost(batch, plan)
        if cost > limit:
            taken.reverse()
            raise DoesNotFit(chain((taken.pop() for _ in range(len(taken))), batches))  # lets them go one by one
        yield batch


class Lines(NamedTuple):
    """What rows of a table hold, one line per basket and item; a basket without items may have a line, too."""

    rows: Any
    """Index of the rows: the row of each line. Of a long layout a mask or a slice, as each of its rows is one line."""
    items: NDArray[np.int32]
    """Each line's position among `labels`; −1 for none."""
    labels: pa.Array
    """The sorted catalogue."""


def lines_in(
    table: pa.Table, source: Source, plan: LayoutPlan, catalogue: pa.Array | None, keyed: NDArray[np.bool_]
) -> Lines:
    """The lines of the rows that are `keyed`: those that have all their keys."""
    rows, items, empty = _entries(table, source, plan)
    if plan.layout is Layout.LONG and not items.complete:
        keyed = keyed & (items.codes >= 0)
    if not keyed.all():
        keep, empty = keyed[rows], empty[keyed[empty]]
        rows = keep if isinstance(rows, slice) else rows[keep]
        items = replace(items, codes=items.codes[keep])
    labels, positions = labelled(items, catalogue)
    if len(empty):
        rows = np.concatenate([rows, empty])
        positions = np.concatenate([positions, np.full(len(empty), -1, np.int32)])
    return Lines(rows, positions, labels)


def _entries(table: pa.Table, source: Source, plan: LayoutPlan) -> tuple[Any, Coded, Codes]:
    """The row and the item of each entry; and the rows without entries that are still baskets.

    Entries are the items of a long layout, those in lists, or one-hot columns, which come `as_lists`.
    """
    column = table.column(plan.items[0])
    if plan.layout is Layout.LONG:
        return slice(None), coded(column), np.zeros(0, np.int64)
    entries = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    lengths = integers_or(-1, pc.list_value_length(column))
    rows = np.repeat(np.arange(len(column)), np.maximum(lengths, 0))
    items = coded(entries) if plan.layout is Layout.LIST else _numbered(entries, source.labels(plan.items))
    return rows, items, np.flatnonzero(lengths == 0)


def _numbered(entries: pa.ChunkedArray, labels: pa.Array) -> Coded:
    """The columns of a one-hot table that lists name by number."""
    return Coded(integers(entries), len(labels), lambda codes: labels.take(integer_array(codes)), complete=True)


class Cells(NamedTuple):
    """Lines whose baskets are numbered, not sorted yet."""

    baskets: Key
    """Each line's basket, without nulls."""
    items: NDArray[np.int32]
    """Of each line; −1 for none."""
    owner: Codes | None
    """int64[baskets.count], the unit of each basket that has a line; None where every basket is its own unit."""

    @classmethod
    def of(cls, keys: Sequence[Key], items: NDArray[np.int32], plan: LayoutPlan) -> Cells:
        """Lines with their keys, none of them null: of the unit, then of the basket inside it."""
        units, own = keys[: len(plan.unit_columns)], keys[len(plan.unit_columns) :]
        return cls.of_units(units, own, items, numbered=plan.layout is not Layout.LONG)

    @classmethod
    def of_units(cls, unit: Sequence[Key], own: Sequence[Key], items: NDArray[np.int32], *, numbered: bool) -> Cells:
        """Lines with the keys of the unit and those of the basket; numbered baskets have one, and no two share it."""
        units = combined(*unit)
        if not own:
            return cls(units, items, None)
        baskets = own[0] if numbered else dense(combined(units, *own).codes)
        owner = np.zeros(baskets.count, np.int64)
        owner[baskets.codes] = units.codes
        return cls(baskets, items, owner)

    def units(self) -> Codes:
        """The unit of each line."""
        return self.baskets.codes if self.owner is None else self.owner[self.baskets.codes]

    def where(self, keep: NDArray[np.bool_] | slice) -> Cells:
        """Some of the lines."""
        return self._replace(baskets=Key(self.baskets.codes[keep], self.baskets.count), items=self.items[keep])


def _table_cells(
    table: pa.Table, source: Source, plan: LayoutPlan, catalogue: pa.Array | None
) -> tuple[Cells, pa.Array]:
    """The lines of a whole table, and the labels of their items."""
    coded_keys = [coded(table.column(name)) for name in plan.keys]
    keyed = np.ones(table.num_rows, np.bool_)
    for key in coded_keys:
        if not key.complete:
            keyed &= key.codes >= 0
    rows, items, labels = lines_in(table, source, plan, catalogue, keyed)
    keys = [Key(key.codes[rows], key.count) for key in coded_keys]
    if plan.layout is not Layout.LONG:
        keys.append(Key(rows, table.num_rows))
    return Cells.of(keys, items, plan), labels


_SPARSE = 8  # counters a cell up to which one for each possible basket is cheap


def grouped(cells: Cells, labels: pa.Array, unit: str) -> Baskets:
    """The baskets of the lines, each item once a basket, by unit; sorts only what is not in order.

    `unit` is what the privacy unit is called.
    """
    empty_units = 0
    if cells.items.min(initial=0) < 0:
        keep = cells.items >= 0
        count = np.count_nonzero(keep)
        first = slice(count) if keep[:count].all() else keep  # not copied where those without come last
        without, cells = np.unique(cells.where(~keep).units()), cells.where(first)
        empty_units = int(np.count_nonzero(np.isin(without, cells.units(), invert=True)))
    names, starts, items = _arranged(cells)
    unit_starts = np.arange(len(starts), dtype=np.int64)
    if cells.owner is not None:
        owners = cells.owner[names]
        if not is_ascending(owners):
            order = np.argsort(owners, kind="stable")
            owners, (items, starts) = owners[order], _reordered(items, starts, order)
        unit_starts = run_starts(owners)
    return Baskets(labels, items, starts, unit_starts, unit, empty_units)


def _arranged(cells: Cells) -> tuple[Codes, Codes, NDArray[np.int32]]:
    """The baskets with items, where these start, and these, sorted and without repetitions."""
    baskets = cells.baskets
    if ready := in_order(baskets.codes, cells.items, baskets.count):
        return *ready, cells.items
    if baskets.count <= _SPARSE * len(cells.items):
        return arranged(baskets.codes, cells.items, baskets.count)
    few = dense(baskets.codes)
    names = np.empty(few.count, np.int64)
    names[few.codes] = baskets.codes
    numbers, starts, items = arranged(few.codes, cells.items, few.count)
    return names[numbers], starts, items


def _reordered(items: NDArray[np.int32], starts: Codes, order: Codes) -> tuple[NDArray[np.int32], Codes]:
    """The same baskets in another order."""
    lengths = np.diff(starts)[order]
    moved = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sources = np.repeat(starts[order] - moved[:-1], lengths) + np.arange(len(items))
    return items[sources], moved
