"""Itemsets brought into their order: by decreasing support, then lexicographically."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
