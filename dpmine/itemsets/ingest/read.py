"""A table that fits into memory -> baskets: rows of each layout as cells, one a basket and item, and these grouped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.io.arrow import (
    integer_array,
    integers,
    integers_or,
    is_boolean,
    is_integer,
    is_text,
    joined,
    plain_labels,
)
from dpmine.io.open import FileSource
from dpmine.io.source import collected
from dpmine.itemsets.ingest.catalogue import labelled, matched, narrow
from dpmine.itemsets.ingest.encode import Coded, Key, arranged, coded, combined, dense, is_ascending, strictly_ascending
from dpmine.itemsets.ingest.layouts import Layout, item_type
from dpmine.itemsets.transactions.base import Baskets

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


def declared(catalogue: pa.Array | None, source: Source, plan: LayoutPlan) -> pa.Array | None:
    """The catalogue as items of the type that the columns have, before any are read; raises what `matched` raises."""
    return None if catalogue is None else matched(catalogue, item_type(source, plan))


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
    return kind if is_integer(kind) or is_text(kind) else None


def read_whole(
    source: Source, plan: LayoutPlan, *, catalogue: pa.Array | None, limit: int, progress: Progress
) -> Baskets:
    """The baskets in a source, read at once; raises DoesNotFit once it is known to take more than `limit` bytes.

    A row with a null unit, basket or item is left out. Items outside `catalogue`, as `declared`, are left out; so are
    baskets without any item, and their units where they have no other: `Baskets.empty_units` counts those. Without a
    catalogue the items that occur are the labels.
    """
    progress(0.0)
    if isinstance(source, FileSource) and source.rows * plan.line_bytes > limit:
        raise DoesNotFit(source.batches(plan.columns))
    batches = _within(source.batches(plan.columns, whole=True), plan, limit)
    table = collected(batches, source, plan.columns, lambda share: progress(_READING * share))
    cells = _table_cells(table, source, plan, catalogue)
    baskets = grouped(replace(cells, labels=narrow(plain_labels(cells.labels))), plan.unit_name)
    progress(1.0)
    return baskets


def batch_cost(batch: pa.RecordBatch, plan: LayoutPlan) -> int:
    """Bytes that a batch takes while its lines are coded and grouped."""
    if plan.layout is Layout.ONE_HOT:
        columns = [batch.column(name) for name in plan.items if is_boolean(batch.schema.field(name).type)]
        lines, texts = batch.num_rows + sum(column.true_count for column in columns), 0
    else:
        items, lines = batch.column(plan.items[0]), batch.num_rows
        if plan.layout is Layout.LIST:
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


@dataclass(frozen=True, eq=False)
class Cells:
    """Baskets and items before they are sorted: one cell a basket and item, possibly repeated.

    Attributes:
        baskets: each cell's basket, as a key without nulls.
        items: positions among `labels`.
        labels: sorted Arrow array of the catalogue.
        owner: int64[baskets.count], each basket's unit, ≥ 0 wherever the basket has a cell; None where every basket is
            its own unit.
        empty_units: number of units that have baskets in the data but no cell.
    """

    baskets: Key
    items: NDArray[np.int32]
    labels: pa.Array
    owner: Codes | None
    empty_units: int


def long_cells(
    table: pa.Table, *, unit: Sequence[str], basket: Sequence[str], item: str, catalogue: pa.Array | None
) -> Cells:
    """Cells of a long layout: a row each, unless its unit, basket or item is null or the item outside the catalogue."""
    keys, items = _present([coded(table.column(name)) for name in (*unit, *basket)], coded(table.column(item)))
    units = combined(*keys[: len(unit)])
    if not basket:
        return _cells(units, items, None, catalogue)
    pairs = dense(combined(units, *keys[len(unit) :]).codes)
    owner = np.zeros(pairs.count, np.int64)
    owner[pairs.codes] = units.codes
    return _cells(pairs, items, owner, catalogue)


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of rows that are baskets.

    Attributes:
        rows: the row of each entry.
        items: the item of each.
        empty: the rows that have no entry, and are baskets all the same.
    """

    rows: Key
    items: Coded
    empty: Codes


def entries_of(table: pa.Table, source: Source, plan: LayoutPlan) -> Entries:
    """The entries of lists, or those of one-hot columns that are true, or numbers but 0."""
    if plan.layout is Layout.LIST:
        return _list_entries(table.column(plan.items[0]))
    return _one_hot_entries(table, plan.items, source.labels(plan.items))


def _list_entries(lists: pa.ChunkedArray) -> Entries:
    entries = pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
    lengths = integers_or(-1, pc.list_value_length(lists))
    rows = np.repeat(np.arange(len(lists)), np.maximum(lengths, 0))
    return Entries(Key(rows, len(lists)), coded(entries), np.flatnonzero(lengths == 0))


def _table_cells(table: pa.Table, source: Source, plan: LayoutPlan, catalogue: pa.Array | None) -> Cells:
    if plan.layout is Layout.LONG:
        return long_cells(table, unit=plan.unit, basket=plan.basket, item=plan.items[0], catalogue=catalogue)
    return _row_cells(table, entries_of(table, source, plan), plan.unit, catalogue)


def _one_hot_entries(table: pa.Table, items: Sequence[str], labels: pa.Array) -> Entries:
    bought = [integers(pa.chunked_array([pc.indices_nonzero(table.column(name))])) for name in items]
    columns = np.repeat(np.arange(len(items)), [len(rows) for rows in bought])
    rows, empty = joined(bought), np.ones(table.num_rows, np.bool_)
    empty[rows] = False
    values = Coded(columns, len(items), lambda codes: labels.take(integer_array(codes)), complete=True)
    return Entries(Key(rows, table.num_rows), values, np.flatnonzero(empty))


def _row_cells(table: pa.Table, entries: Entries, unit: Sequence[str], catalogue: pa.Array | None) -> Cells:
    """Cells of rows that are baskets, owned by the rows' units; a row without its unit has none."""
    rows, items, empty = entries.rows, entries.items, entries.empty
    if not unit:
        cells = _cells(rows, items, None, catalogue)
        return replace(cells, empty_units=cells.empty_units + len(empty))
    owner = _nullable([coded(table.column(name)) for name in unit])
    keep = owner[rows.codes] >= 0
    rows, items = Key(_kept(rows.codes, keep), rows.count), _kept_items(items, keep)
    cells = _cells(rows, items, owner, catalogue)
    if not len(empty):
        return cells
    everybody = np.concatenate([owner[rows.codes], owner[empty][owner[empty] >= 0]])
    return replace(cells, empty_units=dense(everybody).count - _units(cells.baskets.codes, owner))


def _cells(baskets: Key, items: Coded, owner: Codes | None, catalogue: pa.Array | None) -> Cells:
    labels, positions = labelled(items, catalogue)
    if catalogue is None and items.complete:
        return Cells(baskets, positions, labels, owner, 0)
    keep = positions >= 0
    left = _kept(baskets.codes, keep)
    lost = _units(baskets.codes, owner) - _units(left, owner) if len(left) < len(keep) else 0
    return Cells(Key(left, baskets.count), positions[keep], labels, owner, lost)


def _units(baskets: Codes, owner: Codes | None) -> int:
    """How many units the baskets have."""
    return dense(baskets if owner is None else owner[baskets]).count


def _present(keys: list[Coded], items: Coded) -> tuple[Sequence[Key], Coded]:
    """Keys and items of the rows that have them all."""
    columns = [*keys, items]
    if all(column.complete for column in columns):
        return keys, items
    keep = np.logical_and.reduce([column.codes >= 0 for column in columns])
    return [Key(_kept(key.codes, keep), key.count) for key in keys], replace(_kept_items(items, keep), complete=True)


def _nullable(keys: list[Coded]) -> Codes:
    """Codes of composite keys, −1 where a part is null."""
    keep = np.logical_and.reduce([key.codes >= 0 for key in keys])
    whole = np.full(keep.size, -1, np.int64)
    whole[keep] = combined(*(Key(key.codes[keep], key.count) for key in keys)).codes
    return whole


def _kept_items(items: Coded, keep: NDArray[np.bool_]) -> Coded:
    return Coded(_kept(items.codes, keep), items.count, items.decode, items.complete)


def _kept(codes: Codes, keep: NDArray[np.bool_]) -> Codes:
    return codes if keep.all() else codes[keep]


_SPARSE = 8  # counters a cell up to which one for each possible basket is cheap


def grouped(cells: Cells, unit: str) -> Baskets:
    """The baskets of the cells, each item once a basket, by unit; sorts only what is not in order.

    `unit` is what the privacy unit is called.
    """
    names, starts, items = _arranged(cells)
    if cells.owner is None:
        return Baskets(cells.labels, items, starts, np.arange(len(starts), dtype=np.int64), unit, cells.empty_units)
    owners = cells.owner[names]
    if not is_ascending(owners):
        order = np.argsort(owners, kind="stable")
        owners, (items, starts) = owners[order], _reordered(items, starts, order)
    return Baskets(cells.labels, items, starts, _starts(owners), unit, cells.empty_units)


def _arranged(cells: Cells) -> tuple[Codes, Codes, NDArray[np.int32]]:
    """The baskets with cells, where their items start, and these, sorted and without repetitions."""
    baskets = cells.baskets
    if strictly_ascending(baskets.codes, cells.items):
        starts = _starts(baskets.codes)
        return baskets.codes[starts[:-1]], starts, cells.items
    if baskets.count <= _SPARSE * len(cells.items):
        return arranged(baskets.codes, cells.items, baskets.count)
    few = dense(baskets.codes)
    names = np.empty(few.count, np.int64)
    names[few.codes] = baskets.codes
    numbers, starts, items = arranged(few.codes, cells.items, few.count)
    return names[numbers], starts, items


def _starts(ascending: Codes) -> Codes:
    """Where each run of equal entries starts, and where the last one ends."""
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    first = [0] if ascending.size else []
    return np.concatenate([first, changes, [ascending.size]]).astype(np.int64)


def _reordered(items: NDArray[np.int32], starts: Codes, order: Codes) -> tuple[NDArray[np.int32], Codes]:
    """The same baskets in another order."""
    lengths = np.diff(starts)[order]
    moved = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sources = np.repeat(starts[order] - moved[:-1], lengths) + np.arange(len(items))
    return items[sources], moved
