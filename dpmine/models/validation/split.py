"""Random orders of records, exact in law and drawn by the block, and the public random split that is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.parameters import Number, exact_share, whole

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


def train_size_of(records: int, train_share: Number) -> int:
    """How many of the records train: the share, rounded down, and at least one record on each side.

    Raises BadParameter unless 0 < share < 1 and there are at least 2 records (the number of records is public).
    """
    share = exact_share("train_share", train_share)
    if whole("records", records, least=0) < 2:
        raise BadParameter("Validation needs at least 2 records: one to train, one to validate.")
    return min(max(1, int(records * share)), records - 1)


def random_split(records: int, train_size: int, *, bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the training and of the validation records: disjoint, together all, each in increasing order.

    Requires: 0 ≤ train_size ≤ records; each record belongs to a unit of its own.
    Law: a uniform subset of that size, whatever the records contain: a neighbour has the same record replaced on the
    same side, so the parts may lose their budgets side by side.
    """
    order = random_order(records, bits=bits)
    return np.sort(order[:train_size]), np.sort(order[train_size:])


def rows_of_units(units: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Positions of the records of these units, where each unit has `each` consecutive ones."""
    return np.asarray((units[:, np.newaxis] * each + np.arange(each)).ravel())
