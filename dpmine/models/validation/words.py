"""Arrays of random numbers for data that are many: exact in law, drawn by the block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource

_BYTES = 8
_BLOCK = 2**14  # words: one huge integer would be copied too often


def random_words(count: int, *, bits: BitSource, size: int = _BYTES) -> NDArray[np.uint64]:
    """Independent uniform integers of `size` ≤ 8 bytes."""
    words = np.zeros((count, _BYTES), np.uint8)
    for start in range(0, count, _BLOCK):
        block = words[start : start + _BLOCK]
        raw = bits.take(8 * size * len(block)).to_bytes(size * len(block), "big")
        block[:, :size] = np.frombuffer(raw, np.uint8).reshape(-1, size)
    return words.view("<u8").ravel().astype(np.uint64, copy=False)


def uniform_integers(count: int, below: int, *, bits: BitSource) -> NDArray[np.uint64]:
    """Independent uniform integers in [0, below), 1 ≤ below ≤ 2^63, by rejection."""
    usable = 2**64 // below * below - 1
    words = random_words(count, bits=bits)
    while (rejected := np.flatnonzero(words > np.uint64(usable))).size:
        words[rejected] = random_words(rejected.size, bits=bits)
    return words % np.uint64(below)


def random_order(count: int, *, bits: BitSource, size: int = _BYTES) -> NDArray[np.int64]:
    """A uniform permutation of 0 … count − 1, count ≤ 256^size / 2.

    The order of independent keys is uniform given that no two are equal: where two are, all are drawn again.
    """
    while True:
        keys = random_words(count, bits=bits, size=size)
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order
