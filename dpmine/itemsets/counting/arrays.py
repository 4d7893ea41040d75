"""What the compiled search works on (rows, bitmaps), and where the itemsets found go: records of dpmine/kernels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.itemsets.transactions.interface import COUNT_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LARGEST_WIDTH = 1 << 31  # more items than codes: of an empty result for an absurd size


class Rows(NamedTuple):
    """Baskets, or the rests of baskets behind a prefix, with the places of every item.

    Items are numbered 0 … items − 1 here; the order of the items in a row is the same in all rows.
    """

    labels: NDArray[np.int32]
    """int32[items]: the catalogue code of each item number."""
    items: NDArray[np.int32]
    """Item numbers row after row."""
    starts: NDArray[np.int64]
    """int64[rows + 1]: row r holds items[starts[r] : starts[r + 1]]."""
    units: NDArray[np.int32]
    """int32[rows]: the unit that owns the row: 0, 1, … with none left out, never decreasing."""
    item_starts: NDArray[np.int64]
    """int64[items + 1]: occurrences item_starts[i] … item_starts[i + 1] − 1 are those of item i."""
    row_of: NDArray[np.int32]
    """The row of each occurrence, increasing within an item."""
    place_of: NDArray[np.int64]
    """The place of each occurrence in `items`."""


class Rests(NamedTuple):
    """The rests of the rows behind a prefix, as in `Rows` but without the places of the items."""

    labels: NDArray[np.int32]
    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    units: NDArray[np.int32]


class Bitmaps(NamedTuple):
    """Rows of as many units as there are rows, turned on their side: for each item a bit a row.

    Items are numbered as in `Rows`; an intersection of two items is 64 rows in one instruction.
    """

    labels: NDArray[np.int32]
    """int32[items]: the catalogue code of each item number."""
    words: NDArray[np.uint64]
    """uint64[items · width]: item i holds words[i · width : (i + 1) · width]."""
    width: int
    """Words of an item."""
    pairs: NDArray[np.int32]
    """int32[items, items]: the supports of the pairs; of shape (0, 0) where they were not counted."""


class Sink(NamedTuple):
    """What becomes of the itemsets found, which are numbered 0, 1, … in the order of the search.

    Those with lowest ≤ support ≤ highest count.
    """

    lowest: int
    highest: int
    skip: int
    """Number of the first itemset to write down."""
    histogram: NDArray[np.int64]
    """int64[largest support + 1]: how many itemsets had each support; of length 0 where it is not asked for."""
    itemsets: NDArray[np.int32]
    """int32[capacity, size]: itemsets skip … skip + capacity − 1, codes increasing in a row."""
    supports: NDArray[np.int64]
    """int64[capacity]: their supports."""
    found: NDArray[np.int64]
    """int64[1]: how many were found so far, written down or not."""
    alone: NDArray[np.int64]
    """int64[size, longest row + 1], or of shape (0, 0): at [m, n] the number of crowds of C(n, m) itemsets.

    A crowd is all that continues one prefix in a single row: any m of the n items behind it, all of support 1. Their
    number may exceed 64 bits. Where this array is given, crowds count here and nowhere else.
    """
    wanted: NDArray[np.int64]
    """int64[3]: [m, n, c] for the search of crowd number c = 0, 1, … of those counted at [m, n]; −2 is none."""
    crowd: NDArray[np.int32]
    """int32[size + longest row]: the crowd that was wanted: the codes of the prefix, then those of the n items."""


def new_sink(
    size: int,
    lowest: int,
    *,
    highest: int = COUNT_LIMIT,
    skip: int = 0,
    levels: int = 0,
    capacity: int = 0,
    longest: int = 0,
) -> Sink:
    """An empty sink; what the parameters mean is said at `Sink`. With `longest` > 0, crowds are counted apart."""
    return Sink(
        min(lowest, COUNT_LIMIT),
        min(highest, COUNT_LIMIT),
        skip,
        histogram=np.zeros(levels, np.int64),
        itemsets=np.empty((capacity, min(size, _LARGEST_WIDTH)), np.int32),
        supports=np.empty(capacity, np.int64),
        found=np.zeros(1, np.int64),
        alone=np.zeros((size, longest + 1) if longest else (0, 0), np.int64),
        wanted=np.full(3, -2, np.int64),
        crowd=np.empty(size + longest if longest else 0, np.int32),
    )


class Lists(NamedTuple):
    """Where the itemsets of several sizes go, those with support ≥ lowest; and from where the search goes on."""

    lowest: int
    smallest: int
    """The least items of an itemset that is written down, at least 2."""
    largest: int
    deepest: int
    """An itemset of more items ends the search."""
    codes: NDArray[np.int32]
    """The codes of the itemsets, one behind the other, increasing in each."""
    ends: NDArray[np.int64]
    """int64[capacity]: where each ends."""
    supports: NDArray[np.int64]
    """int64[capacity]."""
    used: NDArray[np.int64]
    """int64[2]: itemsets and codes that were written down."""
    path: NDArray[np.int64]
    """int64[deepest + 1]: 0, or the number of items that follow, one in the rows of the other."""


class Watch(NamedTuple):
    """What is seen of a search while it runs, and how it is ended from outside."""

    stop: NDArray[np.int64]
    """int64[1]: a search ends when it has found this number of itemsets: at once where another thread writes 0."""
    done: NDArray[np.float64]
    """float64[1]: a rough share of the work that is done."""


def by_support(counts: NDArray[np.int64]) -> Counter[int]:
    """The numbers counts[s] > 0 of itemsets with support s."""
    return Counter({support: int(counts[support]) for support in np.flatnonzero(counts).tolist()})
