"""Arrow types as dpmine names them, and the arrays that it makes without pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


MIXED = pa.dictionary(pa.int64(), pa.large_binary())
"""Items or keys that were Python values: see `python_values`. Files' own columns of bytes are never accepted."""
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_LIST_VIEWS = (pa.types.is_list_view, pa.types.is_large_list_view)


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds one list a row."""
    return is_plain_list(kind) or any(check(kind) for check in _LIST_VIEWS)


def is_plain_list(kind: pa.DataType) -> bool:
    """Whether a column's lists are its own, one after the other, and not views of a list."""
    return any(check(kind) for check in _LISTS)


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts, in any of Arrow's three encodings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_boolean(kind: pa.DataType) -> bool:
    """Whether values are true or false."""
    return bool(pa.types.is_boolean(kind))


def is_integer(kind: pa.DataType) -> bool:
    """Whether values are integers of any width."""
    return bool(pa.types.is_integer(kind))


def is_mixed(kind: pa.DataType) -> bool:
    """Whether values are labels of Python values."""
    return bool(pa.types.is_large_binary(plain(kind)))


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values behind a dictionary, or the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def can_be_item(kind: pa.DataType) -> bool:
    """Whether items may have this type: integer, text, a dictionary of those, or no value at all."""
    values = plain(kind)
    return bool(is_integer(values) or is_text(values) or pa.types.is_null(values) or kind == MIXED)


def can_be_key(kind: pa.DataType) -> bool:
    """Whether units and baskets may have this type: what items may have, dates and timestamps."""
    values = plain(kind)
    return bool(can_be_item(kind) or pa.types.is_date(values) or pa.types.is_timestamp(values))


def type_name(kind: pa.DataType) -> str:
    """The type's name for a message, without the field names of nested types: they may come from values."""
    if is_list(kind):
        return f"list of {type_name(kind.value_type)}"
    if pa.types.is_dictionary(kind):
        return f"dictionary of {type_name(kind.value_type)}"
    for nested in ("struct", "map", "union"):
        if getattr(pa.types, f"is_{nested}")(kind):
            return nested
    return "nested type" if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) else str(kind)


def common_type(kinds: Iterable[pa.DataType]) -> pa.DataType | None:
    """The type that holds the values of all `kinds` without loss of meaning; None where there is none."""
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return distinct[0]
    whole = {plain(kind) for kind in distinct if is_integer(plain(kind))}
    if pa.uint64() in whole and any(pa.types.is_signed_integer(kind) for kind in whole):
        return None  # neither holds the other's values
    schemas = [pa.schema([("column", _widened(kind))]) for kind in distinct]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _widened(kind: pa.DataType) -> pa.DataType:
    values = plain(kind)
    return pa.large_string() if is_text(values) else values


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
