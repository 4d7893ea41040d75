"""Python's own items, keys and baskets as Arrow arrays, and back.

Arrow gives a column one type. Among Python's values, one person's value could change that type for all others. So every
Python value becomes an item by itself. Integers and texts stay as they are, bytes are read as UTF-8, and anything else
becomes the text that `str` makes of it. Such items have the type `MIXED` until they are released.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.io.arrow import binary_array, integer_array, is_list, is_mixed, text_array
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INTEGER, _TEXT = b"\x00", b"\x01"
_SHIFT = 2**63  # makes every integer of 64 bits positive, so that digits are in the order of the integers
_SHIFTED_DIGITS = 20
_BYTES = (bytes, bytearray)
_MISSING = {"NAType", "NaTType"}  # of pandas, which need not be installed


def item_array(items: Sequence[object], owner: str) -> pa.Array:
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


def value_array(values: Iterable[object]) -> pa.Array:
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


def _coded(values: list[object]) -> tuple[pa.Array, list[bytes]]:
    """A code for each value, and the labels that the codes stand for, in the order of the first meeting."""
    keys = [_label(value) for value in values]
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    return integer_array(np.fromiter(map(codes.__getitem__, keys), np.int64, len(keys))), list(codes)


@no_warnings
def basket_lists(baskets: Iterable[object]) -> pa.Array:
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


@no_warnings
def object_array(values: list[object], kind: pa.DataType) -> pa.Array:
    """A column that is declared as Python objects, each value read by itself as the type that the caller asks for.

    As lists: see `basket_lists`. As integers, which are flags: 1 for True and for numbers above 0, else 0. As `MIXED`:
    see `value_array`; collections are missing, as the text of one is no item.
    """
    if is_list(kind):
        return basket_lists(values)
    if pa.types.is_integer(kind):
        return integer_array(np.fromiter((as_number(value) > 0 for value in values), np.int64, len(values)))
    collections = {kind for kind in set(map(type, values)) if _is_collection(kind)}
    return value_array(None if type(value) in collections else value for value in values)


def as_number(value: object) -> float:
    """A number as a float, infinite beyond the largest; NaN for a value that is not a number."""
    try:
        return _as_float(value) if _is(value, (Real, Decimal, np.bool_)) else math.nan
    except Exception:  # noqa: BLE001 - of classes that are converted as they like
        return math.nan


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of many digits
        return math.inf if value > 0 else -math.inf


def as_texts(labels: pa.Array) -> pa.Array:
    """Labels of any type as large_string: integers as digits."""
    return text_array(list(map(str, items_of(labels)))) if is_mixed(labels.type) else labels.cast(pa.large_string())


def plain_labels(labels: pa.Array) -> pa.Array:
    """Labels of Python values as int64 or string, in the same order, if all are integers or all are texts."""
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


def _present(values: list[object]) -> list[object]:
    """The values that are not missing."""
    if set(map(type, values)) <= {int, str, list, tuple, set, frozenset}:
        return values
    return [value for value in values if not _is_missing(value)]


def _is(value: object, kinds: type | tuple[type, ...]) -> bool:
    """As isinstance, by the type alone: `__class__` may be a property of the user's, which can fail."""
    return issubclass(type(value), kinds)


def _is_missing(value: Any) -> bool:
    if _is(value, (float, np.floating)):
        return math.isnan(value)
    return value is None or type(value).__name__ in _MISSING


def _spread(present: pa.Array, entries: list[object]) -> pa.Array:
    """The present ones among all entries, with null for each that is missing."""
    if len(present) == len(entries):
        return present
    missing = np.fromiter(map(_is_missing, entries), np.bool_, len(entries))
    return present.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _is_collection(kind: type) -> bool:
    return issubclass(kind, Iterable) and not issubclass(kind, (str, *_BYTES))


def _basket(basket: Any) -> list[object]:
    if not _is_collection(type(basket)):
        return [basket]
    try:
        return list(basket)
    except Exception as error:  # noqa: BLE001 - whatever an object of the user's raises, it concerns this basket alone
        require_memory(error)
        return [basket]


def _label(value: Any) -> bytes:
    """Different for different items; sorted as integers, then as texts by code points."""
    number = _integer(value)
    if number is not None:
        return _INTEGER + f"{number + _SHIFT:0{_SHIFTED_DIGITS}d}".encode()
    return _TEXT + valid_text(value if _is(value, str) else _text(value)).encode()


def _integer(value: Any) -> int | None:
    """The value as an integer of 64 bits, where it is one."""
    if _is(value, bool) or not _is(value, Integral):
        return None
    with suppress(Exception):  # whatever an object of the user's raises, it concerns this item alone
        number = int(value)
        return number if -_SHIFT <= number < _SHIFT else None
    return None


def valid_text(text: str) -> str:
    """A text with U+FFFD for the bytes of lone surrogates, which no Unicode text has."""
    return str.encode(text, errors="surrogatepass").decode(errors="replace")  # not a method of the user's


def _text(value: Any) -> str:
    """What `str` makes of a value; its type's name where that fails, as it does for integers of thousands of digits.

    Bytes are text in UTF-8.
    """
    try:
        return bytes(value).decode(errors="replace") if _is(value, _BYTES) else str(value)
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
