"""Arrow types as dpmine names them, and the arrays it makes without pandas, also of Python's own items and baskets.

Arrow gives a column one type. Among Python's values, one person's value could change that type for all others. So every
Python value becomes an item by itself. Integers and texts stay as they are, bytes are read as UTF-8, and anything else
becomes the text that `str` makes of it. Such items have the type `MIXED` until they are released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadData, require_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


MIXED = pa.dictionary(pa.int64(), pa.large_binary())
"""Items or keys that were Python values: see above. Files' own columns of bytes are never accepted: see `foreign`."""
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


def is_integer(kind: pa.DataType) -> bool:
    """Whether values are integers of any width."""
    return bool(pa.types.is_integer(kind))


def is_mixed(kind: pa.DataType) -> bool:
    """Whether values are labels of Python values."""
    return bool(pa.types.is_large_binary(plain(kind)))


def foreign(kind: pa.DataType) -> pa.DataType:
    """The type that a producer of columns declares; bytes where it declares `MIXED`, which holds labels made here."""
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
    return bool(is_integer(values) or is_text(values) or pa.types.is_null(values) or kind == MIXED)


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


_BYTES_OF = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_LISTS_OF = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_view,
    pa.types.is_large_list_view: pa.large_list_view,
}


def without_texts(kind: pa.DataType) -> pa.DataType:
    """The type with bytes in place of texts, also of those in dictionaries and lists; columns can be viewed as it."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, without_texts(kind.value_type), kind.ordered)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(without_texts(kind.value_type), kind.list_size)
    for holds, of in _LISTS_OF.items():
        if holds(kind):
            return of(without_texts(kind.value_type))
    return _BYTES_OF.get(kind, kind)


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


def with_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its texts as dictionaries."""
    columns = [column.dictionary_encode() if is_text(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


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


_INTEGER, _TEXT = b"\x00", b"\x01"
_SHIFT = 2**63  # makes every integer of 64 bits positive, so that digits are in the order of the integers
_SHIFTED_DIGITS = 20
COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
"""What rows of a column of objects are if they are baskets."""
FLAGS = (bool, np.bool_)
_BYTES = (bytes, bytearray)
_MISSING = {"NAType", "NaTType"}  # of pandas, which need not be installed


def item_array(items: Sequence[Any], owner: str) -> pa.Array:
    """Public items (a catalogue, column labels) as int64 or large_string; null type where there is no item.

    Raises BadData, speaking of `owner` (plural), where items are not all integers of 64 bits or all texts.
    """
    kinds = set(map(type, items))
    integers = {kind for kind in kinds if issubclass(kind, Integral)} - {bool}
    texts = {kind for kind in kinds if issubclass(kind, str)}
    if kinds - integers - texts:
        wrong = min(kind.__name__ for kind in kinds - integers - texts)
        raise BadData(f"{owner} hold items of the type {wrong}: items must be integers or texts.")
    if integers and texts:
        raise BadData(f"{owner} mix integers and texts: make all items one or the other.")
    if integers:
        return _integers(items, owner)
    return _texts(items, owner) if texts else pa.nulls(0)


def value_array(values: Iterable[Any]) -> pa.Array:
    """Python values as `MIXED`; missing ones (None, NaN, and those of pandas) are null."""
    entries = list(values)
    present = _present(entries)
    codes, labels = _of_one_kind(present) or _coded(present)
    return _spread(pa.DictionaryArray.from_arrays(codes, binary_array(labels)), entries)


def _of_one_kind(values: list[Any]) -> tuple[pa.Array, list[bytes]] | None:
    """Codes and labels as `_coded`, found by Arrow: of texts, or of integers that fit. None for others."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or not kinds <= {int, str}:
        return None
    try:
        array = integer_array(np.fromiter(values, np.int64, len(values))) if int in kinds else text_array(values)
    except (OverflowError, UnicodeError):
        return None
    coded = array.dictionary_encode()
    return coded.indices.cast(pa.int64()), [_label(value) for value in coded.dictionary.to_pylist()]


def _coded(values: list[Any]) -> tuple[pa.Array, list[bytes]]:
    """A code for each value, and the labels that the codes stand for, in the order of the first meeting."""
    keys = [_label(value) for value in values]
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    return integer_array(np.fromiter(map(codes.__getitem__, keys), np.int64, len(keys))), list(codes)


def basket_lists(baskets: Iterable[Any]) -> pa.Array:
    """Python baskets as lists of `MIXED`, missing ones null; missing items are left out.

    A basket is a list, tuple, set or other iterable of items. Anything else is a basket of one: a text, bytes, what is
    no collection, and what fails while it is iterated.
    """
    rows = list(baskets)
    lists = [_basket(basket) for basket in _present(rows)]
    entries = list(chain.from_iterable(lists))
    if len(_present(entries)) < len(entries):
        lists = [_present(basket) for basket in lists]
        entries = list(chain.from_iterable(lists))
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(basket) for basket in lists], out=starts[1:])
    items = value_array(entries)
    return _spread(pa.LargeListArray.from_arrays(integer_array(starts), items), rows)


def object_array(values: list[Any], *, lists: bool) -> pa.Array:
    """A column that is declared as Python objects: as baskets where `lists`, or where most values are collections.

    As booleans, others null, where most are these; else as `value_array`. What most are decides, of those that are not
    missing: so no single value does.
    """
    kinds = Counter(map(type, _present(values)))
    if lists or _mostly(kinds, COLLECTIONS):
        return basket_lists(values)
    if _mostly(kinds, FLAGS):
        return pa.array([bool(value) if isinstance(value, FLAGS) else None for value in values], pa.bool_())
    return value_array(values)


def _mostly(counts: Counter[type], kinds: tuple[type, ...]) -> bool:
    return 2 * sum(count for kind, count in counts.items() if issubclass(kind, kinds)) > counts.total()


def as_texts(labels: pa.Array) -> pa.Array:
    """Labels of any type as large_string: integers as digits."""
    return text_array(list(map(str, items_of(labels)))) if is_mixed(labels.type) else labels.cast(pa.large_string())


def plain_labels(labels: pa.Array) -> pa.Array:
    """Labels of Python values as int64 or string, in the same order, where they are all the one or the other."""
    if not is_mixed(labels.type):
        return labels
    items = items_of(labels)
    if items and all(isinstance(item, int) for item in items):
        return integer_array(np.array(items, np.int64))
    return text_array(items) if all(isinstance(item, str) for item in items) else labels


def items_of(labels: pa.Array) -> list[Any]:
    """The items that labels stand for, as Python's integers and texts."""
    values: list[Any] = labels.to_pylist()
    return [_item(value) for value in values] if is_mixed(labels.type) else values


def items_at(labels: pa.Array, codes: Sequence[int] | NDArray[np.int64]) -> list[Any]:
    """The items of these codes, their places among the labels: as they are released."""
    return items_of(labels.take(integer_array(np.array(codes, np.int64))))


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _present(values: list[Any]) -> list[Any]:
    """The values that are not missing."""
    if set(map(type, values)) <= {int, str, list, tuple, set, frozenset}:
        return values
    return [value for value in values if not _is_missing(value)]


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in _MISSING


def _spread(present: pa.Array, entries: list[Any]) -> pa.Array:
    """The present ones among all entries, with null for each that is missing."""
    if len(present) == len(entries):
        return present
    missing = np.fromiter(map(_is_missing, entries), np.bool_, len(entries))
    return present.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _basket(basket: Any) -> list[Any]:
    if isinstance(basket, (str, *_BYTES)) or not isinstance(basket, Iterable):
        return [basket]
    try:
        return list(basket)
    except Exception as error:  # noqa: BLE001 - whatever an object of the user's raises, it concerns this basket alone
        require_memory(error)
        return [basket]


def _label(value: Any) -> bytes:
    """Different for different items; sorted as integers, then as texts by code points."""
    if not isinstance(value, bool) and isinstance(value, Integral) and -_SHIFT <= int(value) < _SHIFT:
        return _INTEGER + f"{int(value) + _SHIFT:0{_SHIFTED_DIGITS}d}".encode()
    text = value if isinstance(value, str) else _text(value)
    return _TEXT + valid_text(text).encode()


def valid_text(text: str) -> str:
    """A text with U+FFFD for the bytes of lone surrogates, which no Unicode text has."""
    return text.encode(errors="surrogatepass").decode(errors="replace")


def _text(value: Any) -> str:
    """What `str` makes of a value; its type's name where that fails, as it does for integers of thousands of digits.

    Bytes are text in UTF-8.
    """
    if isinstance(value, _BYTES):
        return value.decode(errors="replace")
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever an object of the user's raises, it concerns this item alone
        return type(value).__name__


def _item(label: bytes) -> Any:
    if label[:1] == _INTEGER:
        return int(label[1:]) - _SHIFT
    return label[1:].decode(errors="replace")


def _integers(items: Sequence[Any], owner: str) -> pa.Array:
    try:
        return integer_array(np.array([int(item) for item in items], np.int64))
    except OverflowError:
        raise BadData(f"{owner} hold integers beyond int64: make all items texts, in the data, too.") from None


def _texts(items: Sequence[Any], owner: str) -> pa.Array:
    try:
        return text_array(items)
    except UnicodeError:
        raise BadData(f"{owner} hold texts that are not valid Unicode: clean them first.") from None
