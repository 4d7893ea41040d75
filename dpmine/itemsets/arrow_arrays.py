"""Arrow arrays from and to numpy and Python values.

pyarrow's own `array`, `scalar` and `to_numpy` import pandas, which takes longer than reading most files; these do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.itemsets.types import is_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


LONGEST_TEXT = 4096
"""Bytes of a key or an item; longer ones count as null."""


def integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Integers, dates or timestamps without nulls as int64; integers beyond it wrap around."""
    chunks = [_chunk_integers(chunk) for chunk in column.chunks]
    if len(chunks) == 1:
        return chunks[0].astype(np.int64, copy=False)
    return np.concatenate([*chunks, np.zeros(0, np.int64)], dtype=np.int64, casting="unsafe")


def integers_or(missing: int, numbers: Any) -> NDArray[np.int64]:
    """Integers of an Arrow array or chunked array as int64, with `missing` for null."""
    filled = pc.coalesce(numbers.cast(pa.int64()), integer_array(np.array([missing]))[0])
    return integers(filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled]))


def joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The parts as one array, not copied if there is one."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def integer_array(numbers: NDArray[np.int64]) -> pa.Array:
    """Arrow's view of int64 numbers."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def float_array(numbers: NDArray[np.float64]) -> pa.Array:
    """Arrow's view of float64 numbers."""
    return pa.Array.from_buffers(pa.float64(), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def text_array(texts: Sequence[str]) -> pa.Array:
    """Texts as large_string; UnicodeEncodeError for surrogates."""
    return binary_array([text.encode() for text in texts], pa.large_string())


def binary_array(values: Sequence[bytes], kind: pa.DataType | None = None) -> pa.Array:
    """Bytes as large_binary, or as `kind` of the same form."""
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind or pa.large_binary(), len(values), buffers)


def without_long_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, with null for texts of more than LONGEST_TEXT bytes: a public rule, so that one value cannot show."""
    mixed = bool(pa.types.is_large_binary(column.type))  # labels of Python values, with a byte before the text
    if not (is_text(column.type) or mixed) or column.nbytes <= LONGEST_TEXT:
        return column
    wide = column if mixed else column.cast(pa.large_string())
    longest = LONGEST_TEXT + mixed
    is_long = pc.greater(pc.binary_length(wide), integer_array(np.array([longest]))[0])
    if not pc.any(is_long).as_py():
        return column
    return pc.if_else(is_long, pa.nulls(1, wide.type)[0], wide)


def _chunk_integers(chunk: pa.Array) -> NDArray[Any]:
    if not len(chunk):
        return np.zeros(0, np.int64)
    width = pa.int32() if pa.types.is_date32(chunk.type) else pa.int64()
    plain = chunk if pa.types.is_integer(chunk.type) else chunk.view(width)
    return np.from_dlpack(plain)
