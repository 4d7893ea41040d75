"""Which Arrow types can be items and keys, and how types are named in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

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
