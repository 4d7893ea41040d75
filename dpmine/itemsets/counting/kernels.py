"""The compiled search for itemsets: pure functions over arrays, safe to call from several threads.

Itemsets are grown item by item, each one in exactly one way: the items of a row stand in one fixed order, rare items
first, and a prefix is extended by items that come later in the rows that contain it (occurrence delivery). Rare first
keeps the projections short, and makes thresholds free: all items after a frequent item are frequent. Rows that are
dense in their items are turned into bitmaps and intersected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled
from dpmine.itemsets.counting.arrays import Bitmaps, Rests, Rows, Scratch, Sink
from dpmine.itemsets.transactions.base import COUNT_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray


@compiled
def _new_scratch(items: int, size: int) -> Scratch:
    """Working space for itemsets of `size` among `items` items."""
    none, met = np.full(items, -1, np.int32), np.empty(items + 1, np.int32)
    return Scratch(np.zeros(items, np.int32), none, none.copy(), met, np.empty(size, np.int32))


@compiled
def _binomial(n: int, k: int) -> int:
    """C(n, k), or COUNT_LIMIT when that is smaller."""
    value = 1
    for j in range(min(k, n - k)):
        if value > COUNT_LIMIT // max(n, 1):
            return COUNT_LIMIT
        value = value * (n - j) // (j + 1)
    return value if k <= n else 0


@compiled
def _count_later(rows: Rows, item: int, scratch: Scratch) -> int:
    """Count, for every item behind `item` in some row, the units of such rows; the number of items met."""
    first, end = rows.item_starts[item], rows.item_starts[item + 1]
    if rows.units[-1] + 1 < len(rows.units):
        return _count_units_later(rows, first, end, scratch)
    return _count_rows_later(rows, first, end, scratch)


@compiled
def _count_units_later(rows: Rows, first: int, end: int, scratch: Scratch) -> int:
    """Units with several rows: each counts once."""
    counts, last, touched, items = scratch.counts, scratch.last, scratch.touched, rows.items
    met = 0
    for occurrence in range(first, end):
        row = rows.row_of[occurrence]
        unit = rows.units[row]
        for place in range(rows.place_of[occurrence] + 1, rows.starts[row + 1]):
            later = np.uint32(items[np.uint64(place)])
            if last[later] != unit:
                touched[met] = later
                met += last[later] < 0
                last[later] = unit
                counts[later] += 1
    return met


@compiled
def _count_rows_later(rows: Rows, first: int, end: int, scratch: Scratch) -> int:
    """Units with one row each."""
    counts, touched, items = scratch.counts, scratch.touched, rows.items
    met = 0
    for occurrence in range(first, end):
        for place in range(rows.place_of[occurrence] + 1, rows.starts[rows.row_of[occurrence] + 1]):
            later = np.uint32(items[np.uint64(place)])
            touched[np.uint64(met)] = later
            met += counts[later] == 0
            counts[later] += 1
    return met


@compiled
def _write(sink: Sink, slot: int, prefix: NDArray[np.int32], code: int, support: int) -> None:
    """Write the itemset prefix + code down, codes increasing."""
    sink.supports[slot] = support
    row = sink.itemsets[slot]
    for depth in range(len(row)):
        new = code if depth == len(row) - 1 else prefix[depth]
        place = depth
        while place > 0 and row[place - 1] > new:
            row[place] = row[place - 1]
            place -= 1
        row[place] = new


@compiled
def _take(rows: Rows, met: int, scratch: Scratch, sink: Sink) -> None:
    """Hand the itemsets prefix + later item to the sink, and bring the working space to rest."""
    found = sink.found[0]
    until = sink.skip + len(sink.supports)
    asked = len(sink.histogram) > 0
    for k in range(met):
        later = scratch.touched[k]
        support = scratch.counts[later]
        scratch.counts[later] = 0
        scratch.last[later] = -1
        if sink.lowest <= support <= sink.highest:
            if asked:
                sink.histogram[support] += 1
            if sink.skip <= found < until:
                _write(sink, found - sink.skip, scratch.prefix, rows.labels[later], support)
            found += 1
    sink.found[0] = found


@compiled
def _count_crowd(prefix: NDArray[np.int32], labels: NDArray[np.int32], more: int, sink: Sink) -> None:
    """Count a crowd; where it is the one wanted, write it down and end the search."""
    rest, known = len(labels) - 1, len(prefix) - more - 1
    sink.alone[more, rest] += 1
    sink.wanted[2] -= sink.wanted[0] == more and sink.wanted[1] == rest
    if sink.wanted[2] == -1:
        sink.crowd[: known + rest + 1] = np.append(prefix[:known], labels)
        sink.found[0], sink.wanted[2] = sink.stop, -2


@compiled
def _all_alone(rest: int, more: int, sink: Sink) -> bool:
    """Account for the C(rest, more) itemsets of one row, of support 1; False if some of them are to be written down."""
    total, found = _binomial(rest, more) if sink.highest >= 1 else 0, sink.found[0]
    if total == 0:
        return True
    if found + total > sink.skip and found < sink.skip + len(sink.supports):
        return False
    sink.found[0] = min(COUNT_LIMIT, found + total)
    if len(sink.histogram) > 0:
        sink.histogram[1] = min(COUNT_LIMIT, sink.histogram[1] + total)
    return True


@compiled
def _passed_over(rows: Rows, item: int, more: int, prefix: NDArray[np.int32], sink: Sink) -> bool:
    """Whether the itemsets that go on with `item`, and `more` others, need no search: too few rows hold it, or one."""
    first, end = rows.item_starts[item], rows.item_starts[item + 1]
    if end - first != 1 or sink.lowest > 1:
        return bool(end - first < max(1, sink.lowest))
    row = rows.items[rows.place_of[first] : rows.starts[rows.row_of[first] + 1]]
    if len(sink.alone) == 0 or len(row) <= more:
        return _all_alone(len(row) - 1, more, sink)
    _count_crowd(prefix, rows.labels[row], more, sink)
    return True


@compiled
def _number_frequent(rows: Rows, met: int, scratch: Scratch, lowest: int) -> NDArray[np.int32]:
    """Number the items met that reach the threshold, bring the counts to rest; the catalogue codes of the numbers."""
    labels = np.empty(met, np.int32)
    kept = 0
    for k in range(met):
        later = scratch.touched[k]
        if scratch.counts[later] >= lowest:
            scratch.numbers[later] = kept
            labels[kept] = rows.labels[later]
            kept += 1
        scratch.counts[later] = 0
        scratch.last[later] = -1
    return labels[:kept]


@compiled
def _project(rows: Rows, item: int, more: int, labels: NDArray[np.int32], numbers: NDArray[np.int32]) -> Rests:
    """The rests of the rows behind `item`: numbered items only, and only rests with at least `more` of them."""
    first, end = rows.item_starts[item], rows.item_starts[item + 1]
    span = 1
    for occurrence in range(first, end):
        span += rows.starts[rows.row_of[occurrence] + 1] - rows.place_of[occurrence] - 1
    items = np.empty(span, np.int32)
    starts = np.zeros(end - first + 1, np.int64)
    units = np.empty(end - first, np.int32)
    kept, owner, owners = 0, -1, 0
    for occurrence in range(first, end):
        row = rows.row_of[occurrence]
        filled = starts[kept]
        for place in range(rows.place_of[occurrence] + 1, rows.starts[row + 1]):
            number = numbers[np.uint32(rows.items[np.uint64(place)])]
            items[np.uint64(filled)] = number  # overwritten when it is none: faster than an unforeseeable branch
            filled += number >= 0
        if filled - starts[kept] >= more:
            owners += rows.units[row] != owner
            owner = rows.units[row]
            units[kept] = owners - 1
            kept += 1
            starts[kept] = filled
    return Rests(labels, items[: starts[kept]], starts[: kept + 1], units[:kept])


@compiled
def _indexed(rests: Rests) -> Rows:
    """Rests with the places of their items."""
    labels, items, starts, units = rests
    item_starts = np.zeros(len(labels) + 1, np.int64)
    item_starts[1:] = np.cumsum(np.bincount(items, minlength=len(labels)))
    free = item_starts.copy()
    row_of = np.empty(len(items), np.int32)
    place_of = np.empty(len(items), np.int64)
    for row in range(len(units)):
        for place in range(starts[row], starts[row + 1]):
            occurrence = free[items[place]]
            free[items[place]] += 1
            row_of[occurrence] = row
            place_of[occurrence] = place
    return Rows(labels, items, starts, units, item_starts, row_of, place_of)


@compiled
def _ones(word: np.uint64) -> int:
    """The number of ones in a word: compilers know this formula and use the processor's own instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@compiled
def _common(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> int:
    """How many rows hold both items."""
    rows = 0
    for k in range(len(left)):
        rows += _ones(left[k] & right[k])
    return rows


@compiled
def _intersect(left: NDArray[np.uint64], right: NDArray[np.uint64], into: NDArray[np.uint64]) -> int:
    """The rows that hold both items, and how many they are."""
    rows = 0
    for k in range(len(left)):
        both = left[k] & right[k]
        into[k] = both
        rows += _ones(both)
    return rows


@compiled
def bitmaps(rests: Rests, items: NDArray[np.int32], pairs: NDArray[np.int32]) -> Bitmaps:
    """Some items as bitmaps, with the supports of their pairs, or none. Requires: one row a unit."""
    width = (len(rests.units) + 63) // 64
    words = np.zeros((len(items) + 1) * width, np.uint64)
    starts = np.full(len(rests.labels), len(items) * width, np.int64)  # the last bitmap is that of all other items
    starts[items] = np.arange(len(items)) * width
    for row in range(len(rests.units)):
        bit = np.uint64(1) << np.uint64(row & 63)
        for place in range(rests.starts[row], rests.starts[row + 1]):
            words[np.uint64(starts[rests.items[place]] + (row >> 6))] |= bit
    return Bitmaps(rests.labels[items], words, width, pairs)


@compiled
def _behind(maps: Bitmaps, item: int, lowest: int) -> Bitmaps:
    """The rows that hold `item`: the items behind it that are frequent there."""
    width, known = maps.width, len(maps.pairs) > 0
    mine = maps.words[item * width : (item + 1) * width]
    others = len(maps.labels) - item - 1
    labels = np.empty(others, np.int32)
    words = np.empty((int((maps.pairs[item, item + 1 :] >= lowest).sum()) if known else others) * width, np.uint64)
    kept = 0
    for later in range(item + 1, len(maps.labels)):
        if known and maps.pairs[item, later] < lowest:
            continue
        theirs = maps.words[later * width : (later + 1) * width]
        support = _intersect(mine, theirs, words[kept * width : (kept + 1) * width])
        labels[kept] = maps.labels[later]
        kept += support >= lowest
    return Bitmaps(labels[:kept], words[: kept * width], width, maps.pairs[:0])


@compiled
def _search_map_pairs(maps: Bitmaps, first: int, end: int, prefix: NDArray[np.int32], sink: Sink) -> None:
    """The last two items: as `_search_pairs`."""
    width = maps.width
    until = sink.skip + len(sink.supports)
    asked = len(sink.histogram) > 0
    for item in range(first, end):
        found = sink.found[0]
        if found >= sink.stop:
            return
        prefix[len(prefix) - 2] = maps.labels[item]
        mine = maps.words[item * width : (item + 1) * width]
        for later in range(item + 1, len(maps.labels)):
            support = _common(mine, maps.words[later * width : (later + 1) * width])
            if sink.lowest <= support <= sink.highest:
                if asked:
                    sink.histogram[support] += 1
                if sink.skip <= found < until:
                    _write(sink, found - sink.skip, prefix, maps.labels[later], support)
                found += 1
        sink.found[0] = found


@compiled
def search_maps(maps: Bitmaps, part: tuple[int, int], known: int, prefix: NDArray[np.int32], sink: Sink) -> None:
    """Hand to `sink`, in lexicographic order, what begins with `known` items of `prefix`, then one of a range."""
    stack = [maps]
    following = np.full(len(prefix), part[0], np.int64)
    while len(stack) > 0:
        depth = known + len(stack) - 1
        more = len(prefix) - depth
        maps = stack[len(stack) - 1]
        item = following[depth]
        last = part[1] if depth == known else len(maps.labels)
        if more == 2:
            _search_map_pairs(maps, item, last, prefix, sink)
        if more == 2 or item == last or sink.found[0] >= sink.stop:
            stack.pop()
            continue
        following[depth] += 1
        behind = _behind(maps, item, sink.lowest)
        others = len(behind.labels)
        mine = maps.words[item * maps.width : (item + 1) * maps.width]
        single = _common(mine, mine) == 1
        if others < more - 1:
            continue
        if single and len(sink.alone) > 0:
            _count_crowd(prefix, np.append(maps.labels[item : item + 1], behind.labels), more - 1, sink)
        elif not (single and _all_alone(others, more - 1, sink)):
            prefix[depth] = maps.labels[item]
            stack.append(behind)
            following[depth + 1] = 0


@compiled
def _dense(rests: Rests) -> bool:
    """Whether pairs are counted faster by intersecting bitmaps than by walking through the rows (measured, in ns)."""
    rows, items = len(rests.units), len(rests.labels)
    if rests.units[-1] + 1 < rows:
        return False
    lengths = np.diff(rests.starts)
    walked = 9 * len(rests.items) + 3 * (lengths * (lengths - 1) // 2).sum()
    return bool(items * (items - 1) // 2 * (2 + 0.15 * ((rows + 63) // 64)) < walked)


@compiled
def _search_pairs(rows: Rows, first: int, end: int, scratch: Scratch, sink: Sink) -> None:
    """The last two items: first items `first` … `end` − 1, and every item behind them."""
    for item in range(first, end):
        if sink.found[0] >= sink.stop:
            return
        if _passed_over(rows, item, 1, scratch.prefix, sink):
            continue
        scratch.prefix[len(scratch.prefix) - 2] = rows.labels[item]
        _take(rows, _count_later(rows, item, scratch), scratch, sink)


@compiled
def _rest(rows: Rows, item: int, more: int, scratch: Scratch, lowest: int) -> Rests:
    """What can follow `item`: the rests of its rows, with the items that are frequent there; none if too few are."""
    met = _count_later(rows, item, scratch)
    labels = _number_frequent(rows, met, scratch, lowest)
    rest = Rests(labels, rows.items[:0], rows.starts[:1], rows.units[:0])
    if len(labels) >= more:
        rest = _project(rows, item, more, labels, scratch.numbers)
    for k in range(met):
        scratch.numbers[scratch.touched[k]] = -1
    return rest


@compiled
def search(rows: Rows, first: int, end: int, sink: Sink) -> None:
    """Hand to `sink` every itemset of its size ≥ 2 whose first item in the order of the rows is in [`first`, `end`).

    Order: by first item; below, by first meeting; it depends on the rows and on `sink.lowest` alone.
    """
    size = sink.itemsets.shape[1]
    scratch = _new_scratch(len(rows.labels), size)
    stack = [rows]  # the projections of the prefix, longer and longer prefixes; see `compiled` on recursion
    following = np.full(size, first, np.int64)
    while len(stack) > 0:
        depth = len(stack) - 1
        more = size - depth
        rows = stack[depth]
        item = following[depth]
        last = end if depth == 0 else len(rows.labels)
        if more == 2:
            _search_pairs(rows, item, last, scratch, sink)
        if more == 2 or item == last or sink.found[0] >= sink.stop:
            stack.pop()
            continue
        following[depth] += 1
        if _passed_over(rows, item, more - 1, scratch.prefix, sink):
            continue
        scratch.prefix[depth] = rows.labels[item]
        rest = _rest(rows, item, more - 1, scratch, sink.lowest)
        if len(rest.units) < max(1, sink.lowest):
            continue
        if _dense(rest):
            maps = bitmaps(rest, np.arange(len(rest.labels)).astype(np.int32), np.empty((0, 0), np.int32))
            search_maps(maps, (0, len(rest.labels)), depth + 1, scratch.prefix, sink)
        else:
            stack.append(_indexed(rest))
            following[depth + 1] = 0
