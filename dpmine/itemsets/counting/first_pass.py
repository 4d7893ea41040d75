"""Before a long search: how many itemsets there are at least, from one frequent itemset that is quickly found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.counting.arrays import Bitmaps

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.itemsets.counting.arrays import Rows
    from dpmine.itemsets.counting.field import Field

_MOST_MISSES = 8  # items that do not go with the others: then few more will


def items_together(field: Field, threshold: int, most: int) -> int:
    """The items of one frequent itemset: up to `most` of the most frequent items, as long as they go together."""
    joined = _in_maps(field.where) if isinstance(field.where, Bitmaps) else _in_rows(field.where)
    together = misses = 0
    for item in reversed(range(len(field.where.labels))):
        if joined(item, threshold):
            together += 1
        else:
            misses += 1
        if together == most or misses == _MOST_MISSES:
            break
    return together


def _in_maps(maps: Bitmaps) -> Callable[[int, int], bool]:
    """Whether an item goes with all those before it that did, as bitmaps tell."""
    held = np.full(maps.width, ~np.uint64(0))

    def joined(item: int, threshold: int) -> bool:
        both = held & maps.words[item * maps.width : (item + 1) * maps.width]
        if is_frequent := int(np.bitwise_count(both).sum()) >= threshold:
            held[:] = both
        return is_frequent

    return joined


def _in_rows(rows: Rows) -> Callable[[int, int], bool]:
    """The same in rows, of which a unit may have several."""
    held = np.ones(len(rows.units), np.bool_)

    def joined(item: int, threshold: int) -> bool:
        holders = rows.row_of[rows.item_starts[item] : rows.item_starts[item + 1]]
        both = holders[held[holders]]
        units = rows.units[both]
        if is_frequent := int(np.count_nonzero(np.diff(units, prepend=-1))) >= threshold:
            held[:] = False
            held[both] = True
        return is_frequent

    return joined
