"""Cells sorted into baskets, and baskets into units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.ingest.encode import dense, is_ascending
from dpmine.itemsets.ingest.kernels import arranged, strictly_ascending
from dpmine.itemsets.transactions.baskets import Baskets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.cells import Cells
    from dpmine.itemsets.ingest.encode import Codes

_SPARSE = 8  # a counter for each possible basket is cheap up to so many a cell


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
