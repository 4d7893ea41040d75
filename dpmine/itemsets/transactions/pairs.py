"""Weighted counts of the pairs of a few items: each unit gives its pairs a weight that falls with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Whole = NDArray[np.signedinteger]

_AT_ONCE = 1 << 18  # pairs of baskets that are held at a time


def pair_weights(items: Whole, basket_starts: Whole, unit_starts: Whole, *, catalogue: int, weights: Whole) -> Whole:
    """int64[N, N], 0 but at [i, j] with i < j: the sum of weights[n − 1] over the units that support the pair.

    n is how many pairs a unit supports. The baskets are in compressed sparse rows, as in `Baskets`; N is `catalogue`.
    """
    sums = np.zeros(catalogue * catalogue, np.int64)
    sizes = np.diff(basket_starts)
    before = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])
    for first, end in _stretches(before[unit_starts]):
        baskets = unit_starts[first : end + 1]
        if before[baskets[-1]] - before[baskets[0]] > _AT_ONCE:
            pairs = _pairs_of_a_large_unit(items, basket_starts, before, baskets, catalogue)
            sums[pairs] += weights[len(pairs) - 1]
            continue
        units, pairs = _pairs(items, basket_starts, baskets, catalogue)
        given = weights[np.bincount(units)[units] - 1]
        sums += np.bincount(pairs, weights=given, minlength=len(sums)).astype(np.int64)
    return sums.reshape(catalogue, catalogue)


def _stretches(before: Whole) -> Iterator[tuple[int, int]]:
    """Stretches of groups with `_AT_ONCE` pairs at most, or of one group; `before` counts the pairs up to each."""
    first, last = 0, len(before) - 1
    while first < last:
        reach = int(np.searchsorted(before, before[first] + _AT_ONCE, side="right")) - 1
        end = min(max(reach, first + 1), last)
        yield first, end
        first = end


def _pairs_of_a_large_unit(items: Whole, basket_starts: Whole, before: Whole, baskets: Whole, catalogue: int) -> Whole:
    """The pairs that a unit supports, marked while a few of its baskets at a time are gone through."""
    marked = np.zeros(catalogue * catalogue, np.bool_)
    own = np.arange(baskets[0], baskets[1] + 1)
    for first, end in _stretches(before[own]):
        marked[_pairs(items, basket_starts, own[[first, end]], catalogue)[1]] = True
    return np.flatnonzero(marked)


def _pairs(items: Whole, basket_starts: Whole, unit_starts: Whole, catalogue: int) -> tuple[Whole, Whole]:
    """The units, counted from the first of these, and the pairs (i·N + j) that they support, each once a unit."""
    starts = basket_starts[unit_starts[0] : unit_starts[-1] + 1]
    owned = np.diff(unit_starts)
    owner = np.repeat(np.repeat(np.arange(len(owned)), owned), np.diff(starts))
    end = np.repeat(starts[1:], np.diff(starts))
    place = np.arange(starts[0], starts[-1])
    units, pairs = [], []
    step = 1
    while len(place):
        left = place + step < end
        place, end, owner = place[left], end[left], owner[left]
        units.append(owner)
        pairs.append(items[place].astype(np.int64) * catalogue + items[place + step])
        step += 1
    found = np.concatenate([np.zeros(0, np.int64), *units]), np.concatenate([np.zeros(0, np.int64), *pairs])
    if owned.max(initial=1) == 1:
        return found
    distinct = np.unique(found[0] * catalogue**2 + found[1])
    return distinct // catalogue**2, distinct % catalogue**2
