"""Each layout's rows as cells: one a basket and item, in codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadData
from dpmine.itemsets.arrow_arrays import integer_array, integers, integers_or, joined
from dpmine.itemsets.catalogue import labelled
from dpmine.itemsets.encode import Coded, Key, coded, combined, dense, require_int64
from dpmine.itemsets.types import is_boolean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.encode import Codes


@dataclass(frozen=True, eq=False)
class Cells:
    """Baskets and items before they are sorted: one cell a basket and item, possibly repeated.

    Attributes:
        baskets: each cell's basket, as a key without nulls.
        items: positions among `labels`.
        labels: sorted Arrow array of the catalogue.
        owner: int64[baskets.count], each basket's unit, ≥ 0 wherever the basket has a cell; None where every basket is
            its own unit.
    """

    baskets: Key
    items: NDArray[np.int32]
    labels: pa.Array
    owner: Codes | None


def long_cells(
    table: pa.Table, *, unit: Sequence[str], basket: Sequence[str], item: str, catalogue: pa.Array | None
) -> Cells:
    """Cells of a long layout: a row each, unless its unit, basket or item is null or the item outside the catalogue."""
    require_int64(table.column(item), item)
    keys, items = _present([coded(table.column(name)) for name in (*unit, *basket)], coded(table.column(item)))
    units = combined(*keys[: len(unit)])
    if not basket:
        return _cells(units, items, None, catalogue)
    pairs = dense(combined(units, *keys[len(unit) :]).codes)
    owner = np.zeros(pairs.count, np.int64)
    owner[pairs.codes] = units.codes
    return _cells(pairs, items, owner, catalogue)


def list_cells(table: pa.Table, *, unit: Sequence[str], item: str, catalogue: pa.Array | None) -> Cells:
    """Cells of a list layout: each row is a basket, unless its unit is null; null items and lists are left out."""
    lists = table.column(item)
    entries = pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
    require_int64(entries, item)
    rows = np.repeat(np.arange(table.num_rows), integers_or(0, pc.list_value_length(lists)))
    return _row_cells(table, Key(rows, table.num_rows), coded(entries), unit, catalogue)


def one_hot_cells(
    table: pa.Table, *, unit: Sequence[str], items: Sequence[str], labels: pa.Array, catalogue: pa.Array | None
) -> Cells:
    """Cells of a one-hot layout: each row is a basket, unless its unit is null, and each true entry or 1 a cell.

    `labels` are the items that the columns `items` stand for. Raises BadData for a number other than 0 and 1.
    """
    bought = [_bought(table.column(name), name) for name in items]
    columns = np.repeat(np.arange(len(items)), [len(rows) for rows in bought])
    rows = joined(bought)
    values = Coded(columns, len(items), lambda codes: labels.take(integer_array(codes)))
    return _row_cells(table, Key(rows, table.num_rows), values, unit, catalogue)


def _row_cells(table: pa.Table, rows: Key, items: Coded, unit: Sequence[str], catalogue: pa.Array | None) -> Cells:
    """Cells of baskets that are rows, owned by the units of their rows."""
    if not unit:
        return _cells(rows, items, None, catalogue)
    owner = _nullable([coded(table.column(name)) for name in unit])
    keep = owner[rows.codes] >= 0
    return _cells(Key(_kept(rows.codes, keep), rows.count), _kept_items(items, keep), owner, catalogue)


def _cells(baskets: Key, items: Coded, owner: Codes | None, catalogue: pa.Array | None) -> Cells:
    labels, positions = labelled(items, catalogue)
    if catalogue is None and items.complete:
        return Cells(baskets, positions, labels, owner)
    keep = positions >= 0
    return Cells(Key(_kept(baskets.codes, keep), baskets.count), positions[keep], labels, owner)


def _present(keys: list[Coded], items: Coded) -> tuple[Sequence[Key], Coded]:
    """Keys and items of the rows whose keys are all there."""
    if all(key.complete for key in keys):
        return keys, items
    keep = np.logical_and.reduce([key.codes >= 0 for key in keys])
    return [Key(_kept(key.codes, keep), key.count) for key in keys], _kept_items(items, keep)


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


def _bought(column: pa.ChunkedArray, name: str) -> Codes:
    """The rows of a one-hot column that hold its item."""
    if not is_boolean(column.type):
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] <= 1:
            raise BadData(f"Column {name!r} holds integers other than 0 and 1: a one-hot column holds nothing else.")
    return integers(pa.chunked_array([pc.indices_nonzero(column)]))
