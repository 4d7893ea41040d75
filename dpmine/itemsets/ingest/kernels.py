"""The compiled loops between columns and baskets: passes over codes, one cell a basket and item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHORT = 32  # so many items are sorted fastest by insertion


@compiled
def extent(numbers: NDArray[np.int64]) -> tuple[int, int, bool]:
    """The least and the largest number, and whether none is below the one before it. Requires: not empty."""
    low, high, ascending, before = numbers[0], numbers[0], True, numbers[0]
    for number in numbers:
        low = min(low, number)
        high = max(high, number)
        ascending &= number >= before
        before = number
    return low, high, ascending


@compiled
def occurring(codes: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """bool[count]: whether each code occurs; −1 stands for none."""
    seen = np.zeros(count + 1, np.bool_)
    for code in codes:
        seen[code + 1] = True
    return seen[1:]


@compiled
def recoded(codes: NDArray[np.int64], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """numbers[code + 1] for each code ≥ −1."""
    new = np.empty(len(codes), np.int32)
    for place in range(len(codes)):
        new[place] = numbers[codes[place] + 1]
    return new


@compiled
def strictly_ascending(baskets: NDArray[np.int64], items: NDArray[np.int32]) -> bool:
    """Whether the cells come by basket, then by item, none twice."""
    for place in range(1, len(items)):
        before = baskets[place - 1]
        if baskets[place] < before or (baskets[place] == before and items[place] <= items[place - 1]):
            return False
    return True


@compiled
def arranged(
    baskets: NDArray[np.int64], items: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The names of the baskets that have cells, ascending, the starts of their items, and these, sorted, each once.

    Names lie in [0, count). Takes one pass to place the cells, and then sorts only baskets that are out of order.
    """
    ends = np.zeros(count + 1, np.int64)
    for basket in baskets:
        ends[basket + 1] += 1
    for basket in range(count):
        ends[basket + 1] += ends[basket]
    placed = np.empty(len(items), np.int32)
    for place in range(len(items)):
        basket = baskets[place]
        placed[ends[basket]] = items[place]
        ends[basket] += 1  # in the end, the end of the basket
    names = np.empty(min(count, len(items)), np.int64)
    starts = np.zeros(len(names) + 1, np.int64)
    found, kept, first = 0, 0, 0
    for basket in range(count):
        end = ends[basket]
        if end > first:
            kept = _tidied(placed, first, end, kept)
            names[found] = basket
            found += 1
            starts[found] = kept
        first = end
    return names[:found], starts[: found + 1], placed[:kept]


@compiled
def sort_rows(items: NDArray[np.int32], starts: NDArray[np.int64]) -> None:
    """Sort the items of each row, none of which is there twice, in place."""
    for row in range(len(starts) - 1):
        _tidied(items, starts[row], starts[row + 1], starts[row])


@compiled
def _tidied(items: NDArray[np.int32], first: int, end: int, to: int) -> int:
    """Sort the items `first` … `end` − 1 and move them to `to` ≤ `first`, each once; returns the end there.

    Requires: first < end.
    """
    if end - first > _SHORT:
        items[first:end].sort()
    else:
        for place in range(first + 1, end):
            item, hole = items[place], place
            while hole > first and items[hole - 1] > item:
                items[hole] = items[hole - 1]
                hole -= 1
            items[hole] = item
    items[to] = items[first]
    to += 1
    for place in range(first + 1, end):
        if items[place] != items[to - 1]:
            items[to] = items[place]
            to += 1
    return to
