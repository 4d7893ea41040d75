"""Arrow types as dpmine names them, and the arrays it makes without pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


VERIFIED = {"page_checksum_verification": True}
"""How Parquet files are read: a page whose checksum is wrong is an error, where the file has checksums."""
MIXED = pa.dictionary(pa.int64(), pa.large_binary())
"""Items or keys that were Python values: see `python_values`. Bytes of files are never accepted: see `first_types`."""
_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


# Numbers of types: tables may have 100,000 columns, and pyarrow's own questions take several times as long.
_TEXTS = {pa.string().id, pa.large_string().id, pa.string_view().id}
_BOOLEAN = pa.bool_().id


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds one list a row."""
    return any(check(kind) for check in _LISTS)


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts, in any of Arrow's three encodings."""
    return kind.id in _TEXTS


def is_boolean(kind: pa.DataType) -> bool:
    """Whether values are true or false."""
    return bool(kind.id == _BOOLEAN)


def is_mixed(kind: pa.DataType) -> bool:
    """Whether values are labels of Python values."""
    return bool(pa.types.is_large_binary(plain(kind)))


def first_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The type of each column that a producer declares, by name; of the first one where several have the name."""
    return dict(zip(reversed(schema.names), map(_foreign, reversed(schema.types)), strict=True))


def _foreign(kind: pa.DataType) -> pa.DataType:
    """Bytes where a producer declares `MIXED`, which holds labels made here; else the type itself."""
    if kind.id == MIXED.id and kind == MIXED:
        return pa.large_binary()
    if kind.num_fields == 1 and is_list(kind) and kind.value_type == MIXED:
        return pa.large_list(pa.large_binary())
    return kind


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values behind a dictionary, or the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def can_be_item(kind: pa.DataType) -> bool:
    """Whether items may have this type: integer, text, a dictionary of those, or no value at all."""
    values = plain(kind)
    return bool(pa.types.is_integer(values) or is_text(values) or pa.types.is_null(values) or kind == MIXED)


def can_be_key(kind: pa.DataType) -> bool:
    """Whether units and baskets may have this type: what items may have, dates and timestamps."""
    values = plain(kind)
    return bool(can_be_item(kind) or pa.types.is_date(values) or pa.types.is_timestamp(values))


def type_name(kind: pa.DataType) -> str:
    """The type's name for a message, without the field names of nested types: they may come from values."""
    if kind == MIXED:
        return "object"
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
    whole = {plain(kind) for kind in distinct if pa.types.is_integer(plain(kind))}
    if pa.uint64() in whole and any(pa.types.is_signed_integer(kind) for kind in whole):
        return None  # neither holds the other's values
    wide = [pa.large_string() if is_text(plain(kind)) else plain(kind) for kind in distinct]
    schemas = [pa.schema([("column", kind)]) for kind in wide]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


_BYTES_OF = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_TEXT_OF = {held: text for text, held in _BYTES_OF.items()}
_NUMBERS = (pa.types.is_date, pa.types.is_time, pa.types.is_decimal)  # of whose values not all are valid
_LISTS_OF = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_view,
    pa.types.is_large_list_view: pa.large_list_view,
}


def as_bytes(kind: pa.DataType) -> pa.DataType:
    """The type with bytes in place of values that may be invalid, also in dictionaries and lists.

    Columns can be viewed as it: lengths and codes alone can then be wrong.
    """
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, as_bytes(kind.value_type), kind.ordered)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(as_bytes(kind.value_type), kind.list_size)
    for holds, of in _LISTS_OF.items():
        if holds(kind):
            return of(as_bytes(kind.value_type))
    if any(holds(kind) for holds in _NUMBERS):
        return pa.binary(kind.bit_width // 8)
    return _BYTES_OF.get(kind, kind)


def without_views(kind: pa.DataType) -> pa.DataType:
    """The type with texts and bytes of their own in place of views, also in lists: Arrow filters no views."""
    if is_list(kind) and without_views(kind.value_type) != kind.value_type:
        return pa.large_list(without_views(kind.value_type))
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def as_text_type(kind: pa.DataType) -> pa.DataType:
    """The type with text in place of bytes, also in dictionaries and lists; other types as they are."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, as_text_type(kind.value_type), kind.ordered)
    for holds, of in _LISTS_OF.items():
        if holds(kind):
            return of(as_text_type(kind.value_type))
    return pa.string() if pa.types.is_fixed_size_binary(kind) else _TEXT_OF.get(kind, kind)


LONGEST_TEXT = 4096
"""Bytes of a key or an item; longer ones count as null."""


def integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Integers, dates or timestamps without nulls as int64; integers beyond it wrap around."""
    chunks = [_chunk_integers(chunk) for chunk in column.chunks]
    if len(chunks) == 1:
        return chunks[0].astype(np.int64, copy=False)
    return np.concatenate([*chunks, np.zeros(0, np.int64)], dtype=np.int64, casting="unsafe")


def truths(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Booleans without nulls; Arrow's own way loads pandas."""
    return integers(column.cast(pa.int8())).astype(np.bool_)


def integers_or(missing: int, numbers: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Integers of an Arrow array or chunked array as int64, with `missing` for null."""
    filled = pc.coalesce(numbers.cast(pa.int64()), integer_array(np.array([missing]))[0])
    return integers(filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled]))


def with_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its texts as dictionaries; views of texts are copied, as Arrow lacks functions for them."""
    columns = [
        column.cast(without_views(column.type)).dictionary_encode() if is_text(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def with_used_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; a dictionary that is longer than its column keeps only the values that occur in these.

    A slice would keep all of them, however few rows it has. Views stay, as Arrow cannot take some of them.
    """
    for place, column in enumerate(batch.columns):
        if not pa.types.is_dictionary(column.type) or column.type.value_type != without_views(column.type.value_type):
            continue
        if len(column.dictionary) > len(column):
            used = pc.unique(column.indices.drop_null())
            indices = pc.index_in(column.indices, value_set=used).cast(column.type.index_type)
            kept = pa.DictionaryArray.from_arrays(
                indices, column.dictionary.take(used), ordered=column.type.ordered, safe=False
            )
            batch = batch.set_column(place, batch.schema.field(place), kept)
    return batch


def joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The parts as one array, not copied if there is one."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def integer_array(numbers: NDArray[np.int64 | np.int32]) -> pa.Array:
    """Arrow's view of int64 or int32 numbers; `pa.array` would load pandas."""
    kind = pa.int64() if numbers.dtype == np.int64 else pa.int32()
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def text_array(texts: Sequence[str]) -> pa.Array:
    """Texts as large_string; UnicodeEncodeError for surrogates."""
    return binary_array([text.encode() for text in texts], pa.large_string())


def valid_texts(texts: pa.Array) -> pa.Array:
    """Texts, large_string, with bytes that are not UTF-8 replaced by U+FFFD; different ones may become equal."""
    try:
        texts.validate(full=True)
    except pa.ArrowException:
        contents = texts.cast(pa.large_binary()).to_pylist()
        decoded = [None if content is None else content.decode(errors="replace") for content in contents]
        return pa.array(decoded, pa.large_string())
    return texts


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


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())
