"""Supports of all pairs at once, in a square of counters: where items are few, the fastest way of all."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled
from dpmine.itemsets.counting.arrays import in_parallel, thread_count
from dpmine.itemsets.transactions.memory import LARGEST_SQUARE, SQUARES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.counting.arrays import Rests

_CELLS_AN_OCCURRENCE = 4  # clearing and reading a larger square takes longer than the walk through the rows
_ONE_THREAD = 50_000  # occurrences: a second thread pays only above


NO_PAIRS = np.zeros((0, 0), np.int32)
"""Where pairs were not counted."""


def worthwhile(items: int, occurrences: int) -> bool:
    """Whether the supports of all pairs of so many items, with so many occurrences, should be counted at once."""
    return items * items <= min(LARGEST_SQUARE, _CELLS_AN_OCCURRENCE * occurrences)


def pair_supports(rests: Rests) -> NDArray[np.int32]:
    """int32[items, items]: at [earlier item, later item] the support of the pair. Items increase in the rows."""
    items = len(rests.labels)
    one_each = len(rests.units) == 0 or rests.units[-1] + 1 == len(rests.units)
    threads = min(thread_count(), SQUARES) if len(rests.items) > _ONE_THREAD else 1

    def count(part: tuple[int, int]) -> NDArray[np.int32]:
        counts = np.zeros((items, items), np.int32)
        if one_each:
            _count_rows(rests.items, rests.starts, part, counts)
        else:
            _count_units(rests.items, rests.starts, rests.units, part, counts)
        return counts

    total, *others = in_parallel(count, _parts(rests, threads), threads)
    for counts in others:
        total += counts
    return total


def _parts(rests: Rests, count: int) -> list[tuple[int, int]]:
    """Ranges of rows with about as many occurrences each, no unit in two of them."""
    places = np.searchsorted(rests.starts[:-1], np.linspace(0, len(rests.items), count + 1)[1:-1], side="right")
    cuts = np.searchsorted(rests.units, rests.units[places - 1]) if len(rests.units) else places
    return list(pairwise([0, *cuts.tolist(), len(rests.units)]))


@compiled
def _count_rows(
    items: NDArray[np.int32], starts: NDArray[np.int64], part: tuple[int, int], counts: NDArray[np.int32]
) -> None:
    """Units with one row each."""
    for row in range(part[0], part[1]):
        end = starts[row + 1]
        for place in range(starts[row], end):
            counts_here = counts[items[place]]
            for later in range(place + 1, end):
                counts_here[np.uint32(items[np.uint64(later)])] += 1


@compiled
def _count_units(
    items: NDArray[np.int32],
    starts: NDArray[np.int64],
    units: NDArray[np.int32],
    part: tuple[int, int],
    counts: NDArray[np.int32],
) -> None:
    """Units with several rows: each counts once."""
    last = np.full(counts.shape, -1, np.int32)
    for row in range(part[0], part[1]):
        end, unit = starts[row + 1], units[row]
        for place in range(starts[row], end):
            counts_here, last_here = counts[items[place]], last[items[place]]
            for later in range(place + 1, end):
                item = np.uint32(items[np.uint64(later)])
                counts_here[item] += last_here[item] != unit
                last_here[item] = unit


@compiled
def partners_of(counts: NDArray[np.int32], lowest: int) -> NDArray[np.int64]:
    """int64[items]: how many pairs with support ≥ `lowest` each item is in."""
    partners = np.zeros(len(counts), np.int64)
    for item in range(len(counts)):
        for later in range(item + 1, len(counts)):
            if counts[item, later] >= lowest:
                partners[item] += 1
                partners[later] += 1
    return partners


@compiled
def listed_pairs(
    counts: NDArray[np.int32], labels: NDArray[np.int32], lowest: int, most: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """The pairs with support ≥ `lowest` as codes, their supports, and how many they are; none if more than `most`.

    Requires: labels increase.
    """
    found = int((counts >= lowest).sum())
    room = found if found <= most else 0
    pairs, supports = np.empty((room, 2), np.int32), np.empty(room, np.int64)
    filled = 0
    for item in range(len(counts) if room else 0):
        for later in range(item + 1, len(counts)):
            if counts[item, later] >= lowest:
                pairs[filled, 0], pairs[filled, 1] = labels[item], labels[later]
                supports[filled] = counts[item, later]
                filled += 1
    return pairs, supports, found


@compiled
def levels_of_pairs(counts: NDArray[np.int32], lowest: int, levels: int) -> NDArray[np.int64]:
    """int64[levels]: how many pairs have each support ≥ `lowest` ≥ 1. Requires: no support is `levels` or more."""
    found = np.zeros(levels, np.int64)
    for count in counts.flat:
        if count >= lowest:
            found[count] += 1
    return found
