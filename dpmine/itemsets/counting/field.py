"""Where one search takes place: rows, or bitmaps of them, cut into parts of about equal work; supports of all pairs.

A square of counters, one a pair, is the fastest way of all where items are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.itemsets.counting.arrays import Bitmaps, Rests, Rows, Sink, Watch, by_support, new_sink
from dpmine.itemsets.counting.rows import in_parallel, streamed, thread_count
from dpmine.itemsets.transactions.interface import COUNT_LIMIT
from dpmine.itemsets.transactions.memory import LARGEST_SQUARE, SQUARES, TooManyItemsets
from dpmine.kernels import INSTRUCTIONS, kernel

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from dpmine.itemsets.counting.rows import ItemRanking, Result
    from dpmine.itemsets.transactions.interface import Baskets


_MOST_PARTS = 32
_PART_STEPS = 500_000  # about a millisecond: a smaller part is not worth a call, nor two a second thread
_SHORT_STEPS = 1_000_000  # of a search that is not left to threads, if they are no forecast for triples alone
_WORDS_A_STEP = 13  # of bitmaps that are intersected
_RANKED_LINE, _RANKED_ROW = 20, 12  # bytes that a ranking takes: bitmaps instead of one must not take more
_FEWEST_ROWS = 64  # of bitmaps: a word
_DENSE = 8  # rows are searched as bitmaps when at least one of this number of (row, item) pairs occurs: measured


_search, _search_maps = kernel("search"), kernel("search_maps")


@dataclass(frozen=True, eq=False)
class Field:
    """The first items `first` … `end` − 1 of a search, and where what follows them is looked up.

    Attributes:
        where: rows or bitmaps.
        steps: a rough forecast of the work, about 2 ns each.
        is_short: whether a search takes some milliseconds at most, whatever it finds.
    """

    where: Rows | Bitmaps
    first: int
    end: int
    steps: int
    is_short: bool = False

    def search(self, part: tuple[int, int], sink: Sink, watch: Watch) -> Sink:
        """Hand the itemsets whose first item belongs to the part to the sink; the same sink."""
        search = _search_maps if isinstance(self.where, Bitmaps) else _search
        search(*self.where, *part, sink.itemsets.shape[1], *sink, *watch, INSTRUCTIONS)
        return sink

    @property
    def whole(self) -> float:
        """What `Watch.done` adds up to in the end."""
        if isinstance(self.where, Bitmaps):
            return 1.0
        starts = self.where.item_starts
        return float(starts[self.end] - starts[self.first]) / max(1, int(starts[-1]))

    def parts(self) -> list[tuple[int, int]]:
        """Ranges of first items, in order."""
        count = max(1, min(_MOST_PARTS, self.steps // _PART_STEPS))
        wanted = np.linspace(0, 1, count + 1)[1:-1]
        if isinstance(self.where, Bitmaps):
            bounds = self.first + wanted * (self.end - self.first)
        else:
            starts = self.where.item_starts[self.first : self.end + 1]
            bounds = self.first + np.searchsorted(starts, starts[0] + wanted * (starts[-1] - starts[0]))
        cuts = sorted(set(bounds.astype(np.int64).tolist()))
        return [part for part in pairwise([self.first, *cuts, self.end]) if part[0] < part[1]]


class FieldSearch:
    """One search of a field by threads of its own: the caller sees how far it is, and ends it when interrupted."""

    def __init__(self, field: Field, *, stop: int = COUNT_LIMIT) -> None:
        """A thread ends when its sink has found `stop` itemsets."""
        self._field = field
        self._parts = field.parts()
        self._watch = Watch(np.array([stop], np.int64), np.zeros(len(self._parts)))

    @property
    def parts(self) -> int:
        """How many."""
        return len(self._parts)

    def part(self, number: int, sink: Sink) -> Sink:
        """Hand the itemsets of a part to the sink; the same sink."""
        watch = Watch(self._watch.stop, self._watch.done[number : number + 1])
        return self._field.search(self._parts[number], sink, watch)

    def run(self, work: Callable[[int], Result], threads: int) -> Generator[Result]:
        """work(number) of every part, in order. All searches end where the caller stops early."""
        if self._field.is_short:  # sooner than a thread begins, and no interrupt waits for long
            return (work(part) for part in range(self.parts))
        return streamed(work, range(self.parts), threads, self)

    def fill(self, sinks: list[Sink]) -> None:
        """Hand all itemsets to the sinks, on a thread each."""
        idle = list(sinks)

        def count(part: int) -> None:
            sink = idle.pop()
            try:
                self.part(part, sink)
            finally:
                idle.append(sink)

        for _ in self.run(count, len(sinks)):
            pass

    def share(self) -> float:
        """See `Watched`."""
        return min(1.0, float(self._watch.done.sum()) / (self._field.whole or 1.0))

    def end(self) -> None:
        """See `Watched`."""
        self._watch.stop[0] = 0


_set_bits = kernel("set_bits")


def bitmaps(rests: Rests, items: NDArray[np.int32], pairs: NDArray[np.int32]) -> Bitmaps:
    """Some items as bitmaps, with the supports of their pairs, or none. Requires: one row a unit."""
    width = (len(rests.units) + 63) // 64
    words = np.zeros((len(items) + 1) * width, np.uint64)
    offsets = np.full(len(rests.labels), len(items) * width, np.int64)  # the last bitmap is that of all other items
    offsets[items] = np.arange(len(items)) * width
    _set_bits(rests.items, rests.starts, offsets, words)
    return Bitmaps(rests.labels[items], words, width, pairs)


def field_of(ranking: ItemRanking, size: int, first: int, end: int) -> Field:
    """The field of the itemsets of `size` whose first item is one of `first` … `end` − 1.

    Which way the search goes, and with it the order in which itemsets are found, is a function of the baskets and of
    the items from `first` on.
    """
    rows = ranking.rows
    items, occurrences = len(rows.labels) - first, int(ranking.supports[first:].sum())
    if ranking.one_basket_each and dense(items, occurrences, ranking.baskets):
        every = np.arange(first, len(rows.labels), dtype=np.int32)
        return _mapped(Rests(rows.labels, rows.items, rows.starts, rows.units), every, end - first, size)
    begun = int(rows.item_starts[end] - rows.item_starts[first])
    steps = begun * len(rows.items) // max(1, len(rows.units))
    return Field(rows, first, end, steps, size <= 3 and steps < _SHORT_STEPS)


def dense_field(baskets: Baskets, supports: NDArray[np.int64], size: int, threshold: int) -> Field | None:
    """The field of all itemsets above a threshold as bitmaps, without a ranking; None where they are not dense.

    Requires: one basket per unit. `supports`: those of the items.
    """
    frequent = np.flatnonzero(supports >= threshold)
    if not dense(len(frequent), int(supports[frequent].sum()), baskets.basket_count):
        return None
    ordered = frequent[np.argsort(supports[frequent], kind="stable")].astype(np.int32)
    every = np.arange(len(supports), dtype=np.int32)
    rests = Rests(every, baskets.items, baskets.basket_starts, baskets.unit_numbers())
    return _mapped(rests, ordered, len(ordered), size)


def _mapped(rests: Rests, items: NDArray[np.int32], end: int, size: int) -> Field:
    """Some items as bitmaps, in this order; the first `end` of them begin itemsets of `size`."""
    maps, count = bitmaps(rests, items, NO_PAIRS), len(items)
    most = comb(count, min(size, count)) * maps.width // 8
    return Field(maps, 0, end, steps_in_maps(count, size, maps.width), most < _SHORT_STEPS)


def steps_in_maps(items: int, size: int, width: int) -> int:
    """A forecast of `Field.steps` for bitmaps of some words."""
    return comb(items, min(size, 3)) * width // 8


def few_partners_field(rests: Rests, size: int, threshold: int) -> Field | None:
    """The field of the itemsets of `size` ≥ 3 among items of which few go together; None where a search is faster.

    Requires: one row per unit. All pairs are counted, and bitmaps kept of the items with enough partners only.
    """
    counts = pair_supports(rests)
    partners = partners_of(counts, threshold)
    kept = np.flatnonzero(partners >= size - 1).astype(np.int32)
    kept = kept[np.argsort(partners[kept], kind="stable")]  # those with few partners first: fewer pairs to extend
    pairs = np.maximum(counts[np.ix_(kept, kept)], counts.T[np.ix_(kept, kept)])
    later = np.triu(pairs >= threshold, 1).sum(axis=1)
    words = (len(rests.units) + 63) // 64
    if 8 * words * (len(kept) + 1) > _RANKED_LINE * len(rests.items) + _RANKED_ROW * len(rests.units):
        return None
    steps = words * int((2 * later + later * (later - 1) // 2).sum() + 2 * len(kept)) // _WORDS_A_STEP
    if steps > _walk(rests, counts):
        return None
    return Field(bitmaps(rests, kept, pairs), 0, len(kept), steps, size == 3 and steps < _SHORT_STEPS)


def _walk(rests: Rests, counts: NDArray[np.int32]) -> int:
    """Steps to rank the rows and to walk through them twice."""
    return 4 * len(rests.items) + 3 * int(counts.sum(dtype=np.int64))


def dense(items: int, occurrences: int, baskets: int) -> bool:
    """Whether bitmaps of all items are the fastest way, whatever is asked."""
    return baskets >= _FEWEST_ROWS and occurrences * _DENSE >= items * baskets


class Crowd(NamedTuple):
    """The itemsets of a prefix and `more` of the `rest` items behind it, for each of `prefixes` prefixes."""

    more: int
    rest: int
    prefixes: int

    @property
    def ways(self) -> int:
        """Itemsets of one prefix."""
        return comb(self.rest, self.more)

    @property
    def size(self) -> int:
        """Itemsets of all prefixes."""
        return self.prefixes * self.ways


def crowds_of(sink: Sink) -> list[Crowd]:
    """What a search counted apart."""
    return [Crowd(int(more), int(rest), int(sink.alone[more, rest])) for more, rest in np.argwhere(sink.alone)]


def searched(field: Field, sink: Sink, *, stop: int = COUNT_LIMIT) -> Sink:
    """The whole field until `stop` itemsets are found, part after part: numberings go through all of them."""
    search = FieldSearch(field, stop=stop)
    for _ in search.run(lambda part: search.part(part, sink), 1):
        pass
    return sink


def in_a_crowd(field: Field, counted: Sink, n: int) -> list[int] | None:
    """Itemset number n out of the crowds that a search of the field counted; None where there is none."""
    size = counted.itemsets.shape[1]
    for crowd in crowds_of(counted):
        if n < crowd.size:
            number, place = divmod(n, crowd.ways)
            sink = new_sink(size, 1, highest=1, longest=counted.alone.shape[1] - 1)
            sink.wanted[:] = crowd.more, crowd.rest, number
            found = searched(field, sink).crowd[: size - crowd.more + crowd.rest]
            prefix, rest = np.split(found, [size - crowd.more])
            chosen: list[int] = np.sort(np.append(prefix, rest[_combination(place, crowd.rest, crowd.more)])).tolist()
            return chosen
        n -= crowd.size
    return None


def _combination(n: int, items: int, size: int) -> list[int]:
    """Number n < C(items, size) of the ways to choose `size` out of 0 … items − 1, in lexicographic order."""
    chosen: list[int] = []
    for item in range(items):
        with_item = comb(items - item - 1, size - len(chosen) - 1) if len(chosen) < size else 0
        if n < with_item:
            chosen.append(item)
        else:
            n -= with_item
    return chosen


_CELLS_AN_OCCURRENCE = 4  # clearing and reading a larger square takes longer than the walk through the rows
_ONE_THREAD = 50_000  # occurrences above which a second thread is faster
_PAIRED_AT_ONCE = 2_000_000  # occurrences whose pairs are counted before an interrupt is served


NO_PAIRS = np.zeros((0, 0), np.int32)
"""Where pairs were not counted."""


def worthwhile(items: int, occurrences: int) -> bool:
    """Whether the supports of all pairs of some items, with some occurrences, should be counted at once."""
    return items * items <= min(LARGEST_SQUARE, _CELLS_AN_OCCURRENCE * occurrences)


def by_squares(items: int, occurrences: int, baskets: int) -> bool:
    """Whether all pairs of some items should be counted at once, and bitmaps are no faster way."""
    return worthwhile(items, occurrences) and not dense(items, occurrences, baskets)


_count_pairs, _count_unit_pairs = kernel("count_pairs"), kernel("count_unit_pairs")


def pair_supports(rests: Rests) -> NDArray[np.int32]:
    """int32[items, items]: at [earlier item, later item] the support of the pair. Items increase in the rows."""
    items = len(rests.labels)
    threads = min(thread_count(), SQUARES) if len(rests.items) > _ONE_THREAD else 1
    squares = [np.zeros((items, items), np.int32) for _ in range(threads)]
    last = [np.full_like(counts, -1) for counts in squares] if _has_large_units(rests) else []
    idle = list(range(threads))

    def count(part: tuple[int, int]) -> None:
        own = idle.pop()
        add_pairs(rests, part, squares[own], last[own] if last else None)
        idle.append(own)

    in_parallel(count, _parts(rests, max(threads, len(rests.items) // _PAIRED_AT_ONCE)), threads)
    total, *others = squares
    for counts in others:
        total += counts
    return total


def _has_large_units(rests: Rests) -> bool:
    """Whether a unit has several rows."""
    return len(rests.units) > 0 and int(rests.units[-1]) + 1 < len(rests.units)


def add_pairs(
    rests: Rests, part: tuple[int, int], counts: NDArray[np.int32], last: NDArray[np.int32] | None = None
) -> None:
    """Add the supports of the pairs in the rows part[0] … part[1] − 1 to a square of counts.

    Where units have several rows, `last` holds for each pair the unit that was counted last, at first −1.
    """
    if last is None:
        _count_pairs(rests.items, rests.starts, *part, len(rests.labels), counts)
    else:
        _count_unit_pairs(rests.items, rests.starts, rests.units, *part, len(rests.labels), last, counts)


def _parts(rests: Rests, count: int) -> list[tuple[int, int]]:
    """Ranges of rows with about as many occurrences each, no unit in two of them."""
    places = np.searchsorted(rests.starts[:-1], np.linspace(0, len(rests.items), count + 1)[1:-1], side="right")
    cuts = np.searchsorted(rests.units, rests.units[places - 1]) if len(rests.units) else places
    return list(pairwise([0, *cuts.tolist(), len(rests.units)]))


_partners_of, _frequent_pairs = kernel("partners_of"), kernel("frequent_pairs")
_listed_pairs, _levels_of_pairs = kernel("listed_pairs"), kernel("levels_of_pairs")


def partners_of(counts: NDArray[np.int32], lowest: int) -> NDArray[np.int64]:
    """int64[items]: how many pairs with support ≥ `lowest` each item is in."""
    partners = np.zeros(len(counts), np.int64)
    _partners_of(counts, lowest, partners)
    return partners


def listed_pairs(
    counts: NDArray[np.int32], labels: NDArray[np.int32], lowest: int, most: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The pairs with support ≥ `lowest` as codes, and their supports; TooManyItemsets where they are more than `most`.

    Requires: labels increase.
    """
    if (found := _frequent_pairs(counts, lowest)) > most:
        raise TooManyItemsets
    pairs, supports = np.empty((found, 2), np.int32), np.empty(found, np.int64)
    if found:
        _listed_pairs(counts, labels, lowest, pairs, supports)
    return pairs, supports


def levels_of_pairs(counts: NDArray[np.int32], lowest: int, highest: int) -> Counter[int]:
    """How many pairs have each support ≥ `lowest` ≥ 1. Requires: no support is above `highest`."""
    found = np.zeros(highest + 1, np.int64)
    _levels_of_pairs(counts, lowest, found)
    return by_support(found)
