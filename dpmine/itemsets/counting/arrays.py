"""What the compiled search works on (rows, bitmaps), where the itemsets found go, and how these are put into order."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from numpy.typing import NDArray


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
    """int32[rows]: the unit that owns the row: 0, 1, … without gaps, never decreasing."""
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

    Those with lowest ≤ support ≤ highest count. The search ends when `stop` of them were found.
    """

    lowest: int
    highest: int
    skip: int
    """Number of the first itemset to write down."""
    stop: int
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

    A crowd is what goes on from one prefix in a single row: m of the n items behind it, in any way, all of support 1.
    There may be more of these than 64 bits can count. Where this array is given, crowds count here and nowhere else.
    """
    wanted: NDArray[np.int64]
    """int64[3]: [m, n, c] for the search of crowd number c = 0, 1, … of those counted at [m, n]; −2 is none."""
    crowd: NDArray[np.int32]
    """int32[size + longest row]: the crowd that was wanted: the codes of the prefix, then those of the n items."""


class Scratch(NamedTuple):
    """Working space of one search, one cell an item; between two prefixes it is as it was at the start."""

    counts: NDArray[np.int32]
    """Units counted for each later item: 0 at rest."""
    last: NDArray[np.int32]
    """The unit last counted for each later item: −1 at rest."""
    numbers: NDArray[np.int32]
    """The number of each item in the projection under construction: −1 at rest."""
    touched: NDArray[np.int32]
    """The later items met, in the order of their first meeting."""
    prefix: NDArray[np.int32]
    """int32[size]: the catalogue codes of the prefix."""


Part = TypeVar("Part")
Result = TypeVar("Result")

_MOST_THREADS = 8  # of one computation: the loops are bound by memory, and others use the machine too


def thread_count() -> int:
    """How many threads a large computation uses: the processors this process may run on, at most 8."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        usable = os.cpu_count() or 1
    return min(usable, _MOST_THREADS)


def in_parallel(work: Callable[[Part], Result], parts: Sequence[Part], threads: int | None = None) -> list[Result]:
    """work(part) for each part, in the order of the parts; by default on as many threads as are used at most."""
    return list(streamed(work, parts, thread_count() if threads is None else threads))


def streamed(work: Callable[[Part], Result], parts: Sequence[Part], threads: int) -> Generator[Result]:
    """As `in_parallel`, one result after the other.

    The threads live as long as the iterator: nothing is shared between calls, nor inherited by a forked process. When
    the caller stops early, or is interrupted, or a part fails, the parts not yet begun are dropped.
    """
    if threads == 1 or len(parts) <= 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(min(threads, len(parts)), thread_name_prefix="dpmine") as pool:
        pending = [pool.submit(work, part) for part in parts]
        try:
            for result in pending:
                yield result.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_KEY_BITS = 63
_DIGIT_BITS = 11  # 2048 counters fit into the innermost cache


def ordered(items: NDArray[np.int32], supports: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows of `items` (codes increasing in each) and their supports ≥ 0 in order.

    Where it fits, each itemset becomes one number and these are sorted: ten times faster than to find an order and to
    apply it.
    """
    if len(supports) == 0:  # of any width, even absurd ones
        return items, supports
    present, numbers = _numbered(items)
    largest, bits = int(supports.max()), max(1, (len(present) - 1).bit_length())
    key_bits = largest.bit_length() + items.shape[1] * bits
    if key_bits > _KEY_BITS:
        order = np.lexsort((*items.T[::-1], -supports))
        return items[order], supports[order]
    keys = _sorted(_packed(items, largest - supports, numbers, bits), key_bits)
    return _unpacked(keys, items.shape[1], present, bits), largest - (keys >> (items.shape[1] * bits))


@compiled
def _numbered(items: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The codes that occur, increasing, and for every code its place among them."""
    numbers = np.zeros(items.max() + 1, np.int64)
    for code in items.flat:
        numbers[code] = 1
    present = np.flatnonzero(numbers).astype(np.int32)
    for number in range(len(present)):
        numbers[present[number]] = number
    return present, numbers


@compiled
def _packed(
    items: NDArray[np.int32], first: NDArray[np.int64], numbers: NDArray[np.int64], bits: int
) -> NDArray[np.int64]:
    """The number `first` and the numbers of the codes, `bits` each, behind one another."""
    keys = first.copy()
    for row in range(len(keys)):
        for column in range(items.shape[1]):
            keys[row] = (keys[row] << bits) | numbers[items[row, column]]
    return keys


@compiled
def _sorted(keys: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """The keys, of `bits` bits, in increasing order: sorted by one digit after the other. `keys` is written over."""
    spare = np.empty_like(keys)
    free = np.empty(1 << _DIGIT_BITS, np.int64)
    for shift in range(0, bits, _DIGIT_BITS):
        free[:] = 0
        for key in keys:
            free[np.uint64((key >> shift) & (len(free) - 1))] += 1
        before = 0
        for digit in range(len(free)):
            count = free[digit]
            free[digit] = before
            before += count
        for key in keys:
            its_digit = np.uint64((key >> shift) & (len(free) - 1))
            spare[np.uint64(free[its_digit])] = key
            free[its_digit] += 1
        keys, spare = spare, keys
    return keys


@compiled
def _unpacked(keys: NDArray[np.int64], size: int, present: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """int32[k, size]: the codes whose numbers stand in the last size · bits bits of the keys."""
    items = np.empty((len(keys), size), np.int32)
    for row in range(len(keys)):
        key = keys[row]
        for column in range(size - 1, -1, -1):
            items[row, column] = present[key & ((1 << bits) - 1)]
            key >>= bits
    return items
