"""Items and keys of further types as text, in one exact form each; and lists of lists as lists.

The type of a column decides, never a value. A value without a form, such as a date beyond the year 9999, is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import integer_array, integers_or, is_boolean, is_list, plain, text_array
from dpmine.io.source import WrappedSource
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.io.source import Columns, Source

_TEXTS = pa.dictionary(pa.int32(), pa.large_string())
_FIRST_DAY, _LAST_DAY = -719162, 2932896
"""1 January of the year 1 and 31 December 9999, in days from 1 January 1970."""
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS = 24 * 60 * 60


def has_form(kind: pa.DataType) -> bool:
    """Whether values of a type become texts: booleans, dates, timestamps and decimals."""
    values = plain(kind)
    return bool(is_boolean(values) or _is_temporal(values) or pa.types.is_decimal(values))


def _is_temporal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def written_values(values: pa.Array) -> pa.Array:
    """Values of a type that `has_form` as large_string; null for one without a form.

    Booleans are true and false, dates 2026-11-23, and decimals have the digits of their type, as in 12.50. Timestamps
    are 2026-11-23 18:30:00, with a fraction where it is not 0, and with Z for UTC where their type has a zone.
    """
    kind = values.type
    if pa.types.is_date(kind):
        day = 1 if pa.types.is_date32(kind) else _SECONDS * _TICKS["ms"]
        return _within(values, day).cast(pa.large_string())
    if not pa.types.is_timestamp(kind):
        return values.cast(pa.large_string())
    plain_times = values.view(pa.int64()).view(pa.timestamp(kind.unit))
    texts = _within(plain_times, _SECONDS * _TICKS[kind.unit]).cast(pa.large_string())
    short = pc.replace_substring_regex(texts, r"\.0+$", "")
    return short if kind.tz is None else pc.binary_join_element_wise(short, *text_array(["Z", ""]))


def _within(times: pa.Array, day: int) -> pa.Array:
    """The times of the years 1 to 9999, else null; `day` is the length of a day."""
    numbers = integers_or(0, times.view(pa.int32() if pa.types.is_date32(times.type) else pa.int64()))
    inside = (numbers >= _FIRST_DAY * day) & (numbers // day <= _LAST_DAY)
    keep = pc.equal(integer_array(inside.astype(np.int64)), 1)
    return pc.if_else(keep, times, pa.scalar(None, times.type))


def with_plain_values(source: Source, columns: Columns) -> Source:
    """The source with texts for items and keys of types that have a form, and with lists for lists of lists."""
    if columns.one_hot or columns.attributes is not None:
        return source
    used = {*source.names} if columns.named_item is None else {*source.names} & {*columns.named}
    kinds = {name: kind for name in sorted(used) if (kind := _new_type(source, name, columns)) is not None}
    return PlainValues(source, kinds) if kinds else source


def _new_type(source: Source, name: str, columns: Columns) -> pa.DataType | None:
    """The type that a column gets; None where it stays as it is."""
    try:
        kind = source.type_of(name)
    except BadData:  # it is said where the column is needed
        return None
    if is_list(kind):
        entries = kind.value_type.value_type if is_list(kind.value_type) else kind.value_type
        wanted = pa.large_list(_TEXTS if has_form(entries) else entries)
        return wanted if has_form(entries) or is_list(kind.value_type) else None
    is_key = name in columns.unit or name in columns.basket
    if not (is_key or name == columns.named_item) or not has_form(kind):
        return None
    return None if is_key and _is_temporal(plain(kind)) else _TEXTS  # which can be keys as they are


@dataclass(frozen=True, eq=False)
class PlainValues(WrappedSource):
    """Another source, some of whose columns are texts or lists.

    Attributes:
        kinds: their new types, by name.
    """

    kinds: dict[str, pa.DataType]

    def type_of(self, name: str) -> pa.DataType:
        """The new type of a column, or its own."""
        return self.kinds.get(name) or self.inner.type_of(name)

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns."""
        for batch in self.inner.batches(names, whole=whole):
            columns = [
                _changed(column, self.kinds[name]) if name in self.kinds else column
                for name, column in zip(names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _changed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if not is_list(kind):
        return _texts(column)
    entries, lengths = column.flatten(), integers_or(0, pc.list_value_length(column))
    if is_list(entries.type):
        ends = np.append(0, np.cumsum(integers_or(0, pc.list_value_length(entries))))
        places = np.append(0, np.cumsum(lengths))
        starts, entries = ends[places], entries.flatten()
    else:
        starts = np.append(0, np.cumsum(lengths))
    values = _texts(entries) if kind.value_type == _TEXTS else entries
    return pa.LargeListArray.from_arrays(integer_array(starts), values, mask=pc.is_null(column))


def _texts(column: pa.Array) -> pa.Array:
    """Values as a dictionary of texts: each of them is written once."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    indices = integer_array(integers_or(-1, coded.indices).astype(np.int32))
    known = pc.if_else(pc.less(indices, 0), pa.scalar(None, pa.int32()), indices)
    return pa.DictionaryArray.from_arrays(known, written_values(coded.dictionary))
