"""Itemsets of several sizes from one search, and their order; before a long one, how many there are at least."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.counting.arrays import Bitmaps, Lists, Watch
from dpmine.itemsets.counting.rows import in_parallel, streamed, thread_count
from dpmine.itemsets.transactions.lists import ItemsetLists
from dpmine.kernels import INSTRUCTIONS, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpmine.itemsets.counting.arrays import Rows
    from dpmine.itemsets.counting.field import Field
    from dpmine.itemsets.transactions.lists import Itemsets, ListRoom

_CHUNK = 1 << 21  # item codes that a thread writes down before it makes room for more
_THREAD_STEPS = 20_000  # of a forecast for triples: fewer are not worth a second thread
_SMALL_STEPS = 1_000_000  # of such a forecast: a first small chunk is filled at once, sooner than a thread begins
_SMALL_CHUNK = 1 << 12
_MOST_TOGETHER = 64  # items, with more than 10^19 subsets
_LONG_STEPS = 10_000_000  # of such a forecast: before it is worth a look whether the itemsets will fit
_FEW_WORDS = 1 << 22  # of bitmaps of all subsets of the items: with fewer, any search is short
_CODE = 4  # bytes of an item code
_DONE, _FULL = 0, 1  # what the kernels return

_list_rows, _list_maps = kernel("list_rows"), kernel("list_maps")
_list_closed_rows, _list_closed_maps = kernel("list_closed_rows"), kernel("list_closed_maps")


class ListSearch:
    """One search of a field for the itemsets of several sizes, by threads that share its first items."""

    def __init__(self, field: Field, sizes: tuple[int, int], threshold: int, room: ListRoom) -> None:
        """Of 2 items and more. Requires: no itemset of the field has more than sizes[1]."""
        self._field = field
        self._sizes = sizes
        self._threshold = threshold
        self._room = room
        self._deepest = self._most_items()
        self._next = np.array([field.first], np.int64)
        threads = min(thread_count(), 1 + field.steps // _THREAD_STEPS)
        self._stop, self._done = np.ones(1, np.int64), np.zeros(threads)
        self._used = np.zeros(threads, np.int64)
        self._paths = [np.zeros(self._deepest + 1, np.int64) for _ in range(threads)]
        self._is_small = sizes[0] == 2 and field.steps < _SMALL_STEPS  # so every step finds an itemset, or ends soon

    def _require_room(self) -> None:
        """Raises BadParameter where the subsets of one frequent itemset take more than there is."""
        if self._field.steps < _LONG_STEPS:
            return
        items = items_together(self._field, self._threshold, _MOST_TOGETHER)
        if self._room.subsets(items, self._sizes[0]) > self._room.left:
            raise self._room.too_many(self._room.counted_subsets(items, self._sizes[0]))

    def _most_items(self) -> int:
        """Of an itemset whose subsets may fit: one with more ends the search. It is at least 2.

        With 64 items more than the least there are 2^64 subsets.
        """
        smallest, largest = self._sizes
        larger = range(smallest + 1, min(largest, smallest + 64) + 1)
        return smallest + bisect_right(larger, self._room.left, key=lambda items: self._room.subsets(items, smallest))

    def lists(self, known: list[Itemsets]) -> ItemsetLists:
        """What is known and what is found; raises BadParameter before it takes more than there is room for."""
        chunks = [self._known(part) for part in known]
        is_done = False
        if self._is_small:
            chunk, is_done = self._fill(0, _SMALL_CHUNK)
            chunks.append(chunk)
        if not is_done:
            self._require_room()
            with closing(streamed(self._found, range(len(self._done)), len(self._done), self)) as parts:
                for part in parts:
                    chunks += part
        self._room.left -= int(self._used.sum())
        return _joined(chunks)

    def _found(self, thread: int) -> list[Lists]:
        """What one thread finds, in chunks."""
        room, chunks, is_done = _CHUNK, [], False
        while not is_done:
            chunk, is_done = self._fill(thread, room)
            chunks.append(chunk)
            if not chunk.used[0] and not is_done:  # not even the itemsets that go on from one prefix fit
                if _CODE * room > self._room.left:
                    self.end()
                    raise self._room.too_many()
                room *= 2
        return chunks

    def _fill(self, thread: int, room: int) -> tuple[Lists, bool]:
        """A chunk of what one thread finds, and whether nothing is left."""
        chunk = self._chunk(room, self._paths[thread])
        state = self._search(chunk, Watch(self._stop, self._done[thread : thread + 1]))
        self._used[thread] += self._bytes(chunk)
        if state not in {_DONE, _FULL} or self._used.sum() > self._room.left:
            self.end()
            raise self._room.too_many()
        return chunk, state == _DONE

    def _search(self, chunk: Lists, watch: Watch) -> int:
        search = _list_maps if isinstance(self._field.where, Bitmaps) else _list_rows
        return search(*self._field.where, *chunk, *watch, self._next, self._field.end, INSTRUCTIONS)

    def _known(self, part: Itemsets) -> Lists:
        """Itemsets of one size as a chunk."""
        chunk = self._chunk(0, np.zeros(0, np.int64))
        size, codes = part.items.shape[1], part.items.ravel()
        ends, used = size * np.arange(1, len(part) + 1), np.array([len(part), len(codes)])
        return chunk._replace(codes=codes, ends=ends, supports=part.supports, used=used)

    def _chunk(self, room: int, path: NDArray[np.int64]) -> Lists:
        """Room for a number of item codes."""
        itemsets = room // self._sizes[0] + 1
        return Lists(
            self._threshold,
            *self._sizes,
            self._deepest,
            codes=np.empty(room, np.int32),
            ends=np.empty(itemsets, np.int64),
            supports=np.empty(itemsets, np.int64),
            used=np.zeros(2, np.int64),
            path=path,
        )

    def _bytes(self, chunk: Lists) -> int:
        ends = chunk.ends[: chunk.used[0]]
        counts = np.bincount(np.diff(ends, prepend=0))
        return sum(int(counts[size]) * self._room.cost(size) for size in np.flatnonzero(counts).tolist())

    def share(self) -> float:
        """See `Watched`."""
        return min(1.0, float(self._done.sum()) / (self._field.whole or 1.0))

    def end(self) -> None:
        """See `Watched`."""
        self._stop[0] = 0


class ClosedSearch(ListSearch):
    """One search for the closed itemsets of a field, or the maximal ones, of 1 item and more."""

    def __init__(
        self,
        field: Field,
        supports: NDArray[np.int64],
        sizes: tuple[int, int],
        threshold: int,
        room: ListRoom,
        *,
        maximal: bool,
    ) -> None:
        """`supports`: those of the items of the field. Requires: one basket per unit."""
        super().__init__(field, sizes, threshold, room)
        self._supports = supports
        self._maximal = maximal
        finds = sizes[0] <= 2 and not maximal  # so every step finds an itemset, or ends soon
        width = field.where.width if isinstance(field.where, Bitmaps) else len(field.where.units) // 64 + 1
        is_bounded = len(supports) < _FEW_WORDS.bit_length() and width << len(supports) <= _FEW_WORDS
        self._is_small = field.steps < _SMALL_STEPS and (finds or is_bounded)

    def _require_room(self) -> None:
        """Of closed itemsets there may be one, whatever its subsets are."""

    def _most_items(self) -> int:
        """There is no such number: subsets are not listed."""
        return max(2, self._sizes[0])

    def _search(self, chunk: Lists, watch: Watch) -> int:
        search = _list_closed_maps if isinstance(self._field.where, Bitmaps) else _list_closed_rows
        where, end = self._field.where, self._field.end
        return search(*where, self._supports, *chunk, *watch, self._next, end, self._maximal, INSTRUCTIONS)


def _joined(chunks: list[Lists]) -> ItemsetLists:
    """The chunks one after the other; what a chunk held is given back as soon as it was copied."""
    itemsets, codes = (int(sum(chunk.used[which] for chunk in chunks)) for which in (0, 1))
    lists = ItemsetLists(np.empty(codes, np.int32), np.zeros(itemsets + 1, np.int64), np.empty(itemsets, np.int64))
    first = begin = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        more, length = chunk.used.tolist()
        lists.codes[begin : begin + length] = chunk.codes[:length]
        np.add(chunk.ends[:more], begin, out=lists.starts[first + 1 : first + more + 1])
        lists.supports[first : first + more] = chunk.supports[:more]
        first, begin = first + more, begin + length
    return lists


_number_codes, _group_rows, _sort_groups = kernel("number_codes"), kernel("group_rows"), kernel("sort_groups")
_ONE_THREAD = 20_000  # itemsets: fewer are sorted faster than a thread begins
_MOST_LEVELS = 1 << 20  # ranks and sizes that are counted as they are


def order_of(lists: ItemsetLists, ranks: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """int64[k]: the itemsets by decreasing rank ≥ 0 (by default the support), then by size, then by items."""
    sizes, ranks = lists.sizes, lists.supports if ranks is None else ranks
    largest = int(sizes.max(initial=0))
    levels = (int(ranks.max(initial=0)) + 1) * (largest + 1)
    ranks = ranks * (largest + 1)
    ranks += largest
    ranks -= sizes  # in place: each array of millions takes as long to get as to fill
    if levels > _MOST_LEVELS:
        present, ranks = np.unique(ranks, return_inverse=True)
        levels = len(present)
    numbers = np.zeros(int(lists.codes.max(initial=-1)) + 1, np.int64)
    items = _number_codes(lists.codes, np.empty(len(numbers), np.int32), numbers)
    ends, entries = np.empty(levels, np.int64), np.empty(2 * len(ranks), np.int64)
    _group_rows(lists.codes, lists.starts, ranks, numbers, items, ends, entries)

    def sort(part: tuple[int, int]) -> None:
        _sort_groups(lists.codes, lists.starts, numbers, items, ends, *part, entries)

    parts = 2 * thread_count() if len(ranks) >= _ONE_THREAD else 1
    cuts = np.searchsorted(ends, np.linspace(0, len(ranks), 1 + parts)[1:-1])
    in_parallel(sort, list(pairwise([0, *cuts.tolist(), levels])))
    return entries[1::2].copy()


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
