"""Where one search takes place: the rows, or bitmaps of them, cut into parts of about equal work."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.counting.arrays import COUNT_LIMIT, Bitmaps, Rests, Rows, Sink
from dpmine.itemsets.counting.kernels import bitmaps, search, search_maps
from dpmine.itemsets.counting.pairs import NO_PAIRS, pair_supports, partners_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.counting.rows import Ranking

_MOST_PARTS = 32
_PART_STEPS = 500_000  # about a millisecond: a smaller part is not worth a call, nor two a second thread
_WORDS_A_STEP = 13  # of bitmaps that are intersected
_RANKED_LINE, _RANKED_ROW = 20, 12  # bytes that a ranking takes: bitmaps instead of one must not take more
_FEWEST_ROWS = 64  # of bitmaps: a word
_DENSE = 8  # rows are searched as bitmaps when at least one of so many (row, item) pairs is an occurrence: measured
_LARGEST_WIDTH = 1 << 31  # more items than codes: of an empty result for an absurd size


@dataclass(frozen=True, eq=False)
class Field:
    """The first items `first` … `end` − 1 of a search, and where what follows them is looked up.

    Attributes:
        where: rows or bitmaps.
        steps: a rough forecast of the work, about 2 ns each.
    """

    where: Rows | Bitmaps
    first: int
    end: int
    steps: int

    def search(self, part: tuple[int, int], sink: Sink) -> Sink:
        """Hand the itemsets whose first item belongs to the part to the sink; the same sink."""
        if isinstance(self.where, Bitmaps):
            search_maps(self.where, part, 0, np.empty(sink.itemsets.shape[1], np.int32), sink)
        else:
            search(self.where, *part, sink)
        return sink

    def parts(self) -> list[tuple[int, int]]:
        """Ranges of first items, in order: between two of them an interrupt is served."""
        count = max(1, min(_MOST_PARTS, self.steps // _PART_STEPS))
        wanted = np.linspace(0, 1, count + 1)[1:-1]
        if isinstance(self.where, Bitmaps):
            bounds = self.first + wanted * (self.end - self.first)
        else:
            starts = self.where.item_starts[self.first : self.end + 1]
            bounds = self.first + np.searchsorted(starts, starts[0] + wanted * (starts[-1] - starts[0]))
        cuts = np.unique(bounds.astype(np.int64)).tolist()
        return [part for part in pairwise([self.first, *cuts, self.end]) if part[0] < part[1]]


def field_of(ranking: Ranking, size: int, first: int, end: int) -> Field:
    """The field of the itemsets of `size` whose first item is one of `first` … `end` − 1.

    Which way the search goes, and with it the order in which itemsets are found, is a function of the baskets and of
    the items from `first` on.
    """
    rows = ranking.rows
    items, occurrences = len(rows.labels) - first, int(ranking.supports[first:].sum())
    if ranking.one_basket_each and dense(items, occurrences, ranking.baskets):
        every = np.arange(first, len(rows.labels), dtype=np.int32)
        maps = bitmaps(Rests(rows.labels, rows.items, rows.starts, rows.units), every, NO_PAIRS)
        return Field(maps, 0, end - first, comb(items, min(size, 3)) * maps.width // 8)
    begun = int(rows.item_starts[end] - rows.item_starts[first])
    return Field(rows, first, end, begun * len(rows.items) // max(1, len(rows.units)))


def few_partners_field(rests: Rests, size: int, threshold: int) -> Field | None:
    """The field of the itemsets of `size` ≥ 3 among items of which few go together; None where a search costs less.

    Requires: one row a unit. All pairs are counted, and bitmaps kept of the items with enough partners only.
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
    return Field(bitmaps(rests, kept, pairs), 0, len(kept), steps)


def _walk(rests: Rests, counts: NDArray[np.int32]) -> int:
    """Steps to rank the rows and to walk through them twice."""
    return 4 * len(rests.items) + 3 * int(counts.sum(dtype=np.int64))


def dense(items: int, occurrences: int, baskets: int) -> bool:
    """Whether bitmaps of all items are the fastest way, whatever is asked."""
    return baskets >= _FEWEST_ROWS and occurrences * _DENSE >= items * baskets


def new_sink(
    size: int,
    lowest: int,
    *,
    highest: int = COUNT_LIMIT,
    skip: int = 0,
    stop: int = COUNT_LIMIT,
    levels: int = 0,
    capacity: int = 0,
    longest: int = 0,
) -> Sink:
    """An empty sink; what the parameters mean is said at `Sink`. With `longest` > 0, crowds are counted apart."""
    return Sink(
        min(lowest, COUNT_LIMIT),
        min(highest, COUNT_LIMIT),
        skip,
        stop,
        histogram=np.zeros(levels, np.int64),
        itemsets=np.empty((capacity, min(size, _LARGEST_WIDTH)), np.int32),
        supports=np.empty(capacity, np.int64),
        found=np.zeros(1, np.int64),
        alone=np.zeros((size, longest + 1) if longest else (0, 0), np.int64),
        wanted=np.full(3, -2, np.int64),
        crowd=np.empty(size + longest if longest else 0, np.int32),
    )
