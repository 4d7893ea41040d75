"""Hashes of lines by their unit, which deal lines out: to files on disk, and to tasks of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.io.arrow import integers, is_text
from dpmine.itemsets.transactions.hashes import xxhash64
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


def line_hashes(unit: Sequence[pa.ChunkedArray], depth: int = 0) -> NDArray[np.uint64]:
    """A hash of each line's unit, by its columns of whole numbers, times or large texts; another for each depth."""
    lines = len(unit[0])
    return xxhash64(np.full(lines, depth), *map(_column_hashes, unit)).view(np.uint64)


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
