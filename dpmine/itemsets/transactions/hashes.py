"""Public hashes of numbers, labels and lines: by them units are cut, and rows dealt out to files and to tasks.

They are equal on every machine and in every engine; Spark has the same `xxhash64`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.io.arrow import integers, is_text
from dpmine.io.python_values import items_of
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_SEED = 42  # Spark's


def xxhash64(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """A hash of rows of whole numbers, the one that Spark has by this name: every engine must cut units alike.

    Source: Collet, xxHash (XXH64 of eight bytes; each column's hash is the seed of the next one).
    """
    found = np.full(1, _SEED, np.uint64)
    for column in columns:
        word = rotated(column.astype(np.uint64) * _PRIME_2, 31) * _PRIME_1
        found = rotated((found + _PRIME_5 + np.uint64(8)) ^ word, 27) * _PRIME_1 + _PRIME_4
        for shift, factor in ((33, _PRIME_2), (29, _PRIME_3)):
            found = (found ^ (found >> np.uint64(shift))) * factor
        found ^= found >> np.uint64(32)
    return found.view(np.int64)


def rotated(words: NDArray[Any], bits: int) -> NDArray[Any]:
    """The words, turned by some of their bits."""
    kind = words.dtype.type
    turned: NDArray[Any] = (words << kind(bits)) | (words >> kind(8 * words.itemsize - bits))
    return turned


def label_hashes(labels: pa.Array) -> NDArray[np.int64]:
    """A public 64-bit hash of every item: of its text alone, whatever type the other items give the labels."""
    from hashlib import blake2b

    digests = (blake2b(str(item).encode(), digest_size=8).digest() for item in items_of(labels))
    return np.frombuffer(b"".join(digests), np.int64)


def kept_items(
    units: NDArray[np.int64],
    items: NDArray[np.int32],
    hashes: NDArray[np.int64],
    limit: int,
) -> NDArray[np.bool_]:
    """Which occurrences survive: those whose item is among the unit's `limit` most frequent ones."""
    catalogue = max(1, len(hashes))
    pairs, pair_of, frequency = np.unique(units * catalogue + items, return_inverse=True, return_counts=True)
    owners = pairs // catalogue
    order = np.lexsort((_lots(owners, hashes[pairs % catalogue]), -frequency, owners))
    first = np.searchsorted(owners, owners[order])  # owners are sorted, and so is owners[order]
    place = np.empty(len(pairs), np.int64)
    place[order] = np.arange(len(pairs)) - first
    return (place < limit)[pair_of]


def _lots(owners: NDArray[np.int64], hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for every item of every unit, scrambled by all hashes of the unit; `owners` are sorted."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    units = np.bitwise_xor.reduceat(hashes, starts) if len(starts) else hashes
    return xxhash64(np.repeat(units, np.diff(starts, append=len(owners))), hashes)


def line_hashes(unit: Sequence[pa.ChunkedArray], depth: int = 0) -> NDArray[np.uint64]:
    """A hash of each line's unit, by its columns of whole numbers, times or large texts; another for each depth."""
    return xxhash64(np.full(1, depth), *map(_column_hashes, unit)).view(np.uint64)


def _column_hashes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    if not is_text(column.type):
        found: NDArray[np.int64] = integers(column).view(np.int64)
        return found
    hashes = [_text_hashes(chunk) for chunk in column.chunks]
    return np.concatenate([*hashes, np.zeros(0, np.uint64)]).view(np.int64)  # a table without lines may have no chunks


_hash_texts = kernel("text_hashes")


def _text_hashes(chunk: pa.Array) -> NDArray[np.uint64]:
    """Hashes of large_string entries."""
    _, ends, content = chunk.buffers()
    starts = np.frombuffer(ends, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    letters = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    hashes = np.empty(len(chunk), np.uint64)
    _hash_texts(letters, starts, hashes)
    return hashes
