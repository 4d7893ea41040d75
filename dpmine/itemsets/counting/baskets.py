"""The compiled loops over whole baskets: pure functions over arrays, safe to call from several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.counting.arrays import Rows


@compiled
def count_items(items: NDArray[np.int32], catalogue: int) -> NDArray[np.int64]:
    """int64[catalogue]: the occurrences of every item."""
    counts = np.zeros(catalogue, np.int64)
    for item in items:
        counts[np.uint32(item)] += 1
    return counts


@compiled
def count_units(
    items: NDArray[np.int32], starts: NDArray[np.int64], units: NDArray[np.int32], catalogue: int
) -> NDArray[np.int64]:
    """int64[catalogue]: for every item the number of units with a row that holds it. `units` never decreases."""
    supports = np.zeros(catalogue, np.int64)
    last = np.full(catalogue, -1, np.int32)
    for row in range(len(units)):
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if last[item] != units[row]:
                last[item] = units[row]
                supports[item] += 1
    return supports


@compiled
def restrict_rows(
    items: NDArray[np.int32],
    starts: NDArray[np.int64],
    units: NDArray[np.int32],
    part: tuple[int, int],
    number_of: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The rows part[0] … part[1] − 1 in other numbers, without the items numbered −1: items, ends of rows, and units.

    Rows that keep fewer than two items are left out: they hold no itemset that is searched for.
    """
    first, end = part
    kept = np.empty(starts[end] - starts[first], np.int32)
    ends, owners = np.empty(end - first, np.int64), np.empty(end - first, np.int32)
    rows, filled = 0, 0
    for row in range(first, end):
        begun = filled
        for place in range(starts[row], starts[row + 1]):
            number = number_of[np.uint32(items[np.uint64(place)])]
            kept[np.uint64(filled)] = number  # overwritten when it is none: faster than an unforeseeable branch
            filled += number >= 0
        if filled - begun < 2:
            filled = begun
            continue
        ends[rows] = filled
        owners[rows] = units[row]
        rows += 1
    return kept[:filled], ends[:rows], owners[:rows]


@compiled
def rank_rows(
    items: NDArray[np.int32],
    rank_of: NDArray[np.int32],
    part: tuple[int, int],
    item_starts: NDArray[np.int64],
    into: Rows,
) -> None:
    """Rewrite the rows part[0] … part[1] − 1 as increasing ranks: `items`, `row_of` and `place_of` of `into`.

    Requires: the occurrences of the item of rank k in these rows are numbers item_starts[k], item_starts[k] + 1, …
    Linear time: the rows are transposed and transposed back, which sorts them.
    """
    starts = into.starts
    first, end = part
    free = item_starts.copy()
    for row in range(first, end):
        for place in range(starts[row], starts[row + 1]):
            rank = rank_of[items[place]]
            into.row_of[free[rank]] = row
            free[rank] += 1
    ends = starts[first:end].copy()
    for rank in range(len(item_starts)):
        for occurrence in range(item_starts[rank], free[rank]):
            row = into.row_of[occurrence] - first
            place = ends[row]
            ends[row] += 1
            into.items[place] = rank
            into.place_of[occurrence] = place


@compiled
def units_containing(
    items: NDArray[np.int32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    units: NDArray[np.int32],
    wanted: NDArray[np.int32],
) -> int:
    """How many units have a stretch items[begins[k] : ends[k]], k = 0, 1, …, with all of `wanted` in it.

    Requires: stretches and `wanted` strictly increasing; units[k], the owner, never decreasing.
    """
    support = 0
    last = -1
    for k in range(len(units)):
        if units[k] == last:
            continue
        place = begins[k]
        held = True
        for item in wanted:
            place += np.searchsorted(items[place : ends[k]], item)
            held = place < ends[k] and items[place] == item
            if not held:
                break
        if held:
            last = units[k]
            support += 1
    return support
