"""Each layout's rows as cells: one a basket and item, in codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.io.arrow import integer_array, integers, integers_or, joined
from dpmine.itemsets.ingest.catalogue import labelled
from dpmine.itemsets.ingest.encode import Coded, Key, coded, combined, dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.encode import Codes


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


def list_cells(table: pa.Table, *, unit: Sequence[str], item: str, catalogue: pa.Array | None) -> Cells:
    """Cells of a list layout: each row is a basket, unless its unit or list is null; null items are left out."""
    return _row_cells(table, list_entries(table, item), unit, catalogue)


def one_hot_cells(
    table: pa.Table, *, unit: Sequence[str], items: Sequence[str], labels: pa.Array, catalogue: pa.Array | None
) -> Cells:
    """Cells of a one-hot layout: each row is a basket, unless its unit is null; true entries are cells.

    So are numbers but 0. `labels` are the items that the columns `items` stand for.
    """
    return _row_cells(table, one_hot_entries(table, items, labels), unit, catalogue)


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


def list_entries(table: pa.Table, item: str) -> Entries:
    """The entries of lists."""
    lists = table.column(item)
    entries = pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
    lengths = integers_or(-1, pc.list_value_length(lists))
    rows = np.repeat(np.arange(table.num_rows), np.maximum(lengths, 0))
    return Entries(Key(rows, table.num_rows), coded(entries), np.flatnonzero(lengths == 0))


def one_hot_entries(table: pa.Table, items: Sequence[str], labels: pa.Array) -> Entries:
    """The entries of one-hot columns that are true, or numbers but 0."""
    bought = [integers(pa.chunked_array([pc.indices_nonzero(table.column(name))])) for name in items]
    columns = np.repeat(np.arange(len(items)), [len(rows) for rows in bought])
    rows, empty = joined(bought), np.ones(table.num_rows, np.bool_)
    empty[rows] = False
    values = Coded(columns, len(items), lambda codes: labels.take(integer_array(codes)), complete=True)
    return Entries(Key(rows, table.num_rows), values, np.flatnonzero(empty))


def _row_cells(table: pa.Table, entries: Entries, unit: Sequence[str], catalogue: pa.Array | None) -> Cells:
    """Cells of baskets that are rows, owned by the units of their rows."""
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
