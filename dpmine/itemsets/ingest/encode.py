"""Columns as integer codes, equal ones for equal values, without a Python object a row; the labels of their items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import (
    integer_array,
    integers,
    integers_or,
    is_mixed,
    is_text,
    valid_texts,
    without_long_texts,
)
from dpmine.io.python_values import as_texts
from dpmine.kernels import kernel
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.int64]


_LARGEST = 2**62  # products of code counts stay below it, far from int64's end
_SPARE = 2**16  # integers are their own codes while their span exceeds the rows by no more than this


@dataclass(frozen=True, eq=False)
class Key:
    """A key as codes.

    Attributes:
        codes: int64[rows], −1 where the value is null; otherwise in [0, count).
        count: upper end of the codes; not every code below it needs to occur.
    """

    codes: Codes
    count: int


@dataclass(frozen=True, eq=False)
class Coded(Key):
    """A column's values as codes that can be decoded.

    Attributes:
        decode: the values of given codes (int64[k], none negative, only ones that occur), as an Arrow array.
        complete: whether it is known that no value is null.
        ordered: whether it is known that larger codes stand for larger values.
    """

    decode: Callable[[Codes], pa.Array]
    complete: bool = False
    ordered: bool = False


def coded(column: pa.ChunkedArray) -> Coded:
    """Codes of a column of integers, texts, dates, timestamps, dictionaries of those, or nulls.

    Texts of more than LONGEST_TEXT bytes are nulls.
    """
    if pa.types.is_dictionary(column.type):
        return _coded_dictionary(column)
    column = without_long_texts(column)
    if pa.types.is_null(column.type):
        return Coded(np.full(len(column), -1, np.int64), 0, lambda codes: pa.nulls(len(codes)))
    if is_text(column.type) or is_mixed(column.type) or column.null_count:
        return _coded_by_hash(column)
    if column.type == pa.uint64():
        wrapped = _coded_numbers(column)
        return replace(wrapped, decode=lambda codes: wrapped.decode(codes).view(pa.uint64()), ordered=False)
    return _coded_numbers(column)


def dense(codes: Codes) -> Key:
    """Codes renumbered from 0, with none left out; in ascending order where they came in order."""
    if not codes.size:
        return Key(codes, 0)
    runs = _run_numbers(codes)
    if is_ascending(codes):
        return Key(runs, int(runs[-1]) + 1)
    heads = np.empty(int(runs[-1]) + 1, np.int64)
    heads[runs] = codes
    hashed = integer_array(heads).dictionary_encode()
    return Key(_indices(pa.chunked_array([hashed]))[runs], len(hashed.dictionary))


def combined(first: Key, *others: Key) -> Key:
    """One code for each tuple of codes, none of them negative; ordered as the tuples are."""
    whole = first
    for other in others:
        left, right = _multipliable(whole, other)
        whole = Key(left.codes * right.count + right.codes, left.count * right.count)
    return whole


def is_ascending(codes: Codes) -> bool:
    """Whether no code is below the one before it."""
    return bool(np.all(codes[1:] >= codes[:-1]))


def _multipliable(left: Key, right: Key) -> tuple[Key, Key]:
    """Both keys, renumbered where the product of their counts would not fit."""
    if left.count * right.count < _LARGEST:
        return left, right
    left, right = _renumbered(left.codes), _renumbered(right.codes)
    if left.count * right.count >= _LARGEST:
        raise BadData("The data hold too many different units, baskets and items to number their combinations.")
    return left, right


def _renumbered(codes: Codes) -> Key:
    """Codes with none left out, their order kept."""
    if is_ascending(codes):
        return dense(codes)
    values, ranks = np.unique(codes, return_inverse=True)
    return Key(ranks.astype(np.int64), len(values))


def _coded_numbers(column: pa.ChunkedArray) -> Coded:
    """Codes of integers or times without nulls, by their span or their order where that saves hashing."""
    numbers = integers(column)
    if not numbers.size:
        return Coded(numbers, 0, integer_array)
    low, high, ascending = extent(numbers)
    first = 0 if low >= 0 and high < numbers.size + _SPARE else low
    if high - first < numbers.size + _SPARE:
        codes = numbers - first if first else numbers
        return Coded(codes, high - first + 1, lambda some: integer_array(some + first), complete=True, ordered=True)
    if ascending:
        codes = _run_numbers(numbers)

        def decode(some: Codes) -> pa.Array:
            return integer_array(numbers[np.searchsorted(codes, some)])

        return Coded(codes, int(codes[-1]) + 1, decode, complete=True, ordered=True)
    return _coded_by_hash(pa.chunked_array([integer_array(numbers)]))


def _coded_by_hash(column: pa.ChunkedArray) -> Coded:
    hashed = column.dictionary_encode()
    values = hashed.chunk(0).dictionary if hashed.num_chunks else pa.nulls(0, column.type)
    if is_text(values.type):
        values = values.cast(pa.large_string())  # string views cannot be taken from
    return Coded(
        _indices(hashed),
        len(values),
        lambda codes: values.take(integer_array(codes)),
        complete=not column.null_count,
    )


def _coded_dictionary(column: pa.ChunkedArray) -> Coded:
    """Codes of the dictionaries' values: chunks may bring different dictionaries, with nulls and repetitions."""
    dictionaries, starts = _distinct_dictionaries(column)
    slots = coded(pa.chunked_array(dictionaries, column.type.value_type))
    code_of_slot = np.append(slots.codes, np.int64(-1))  # the last slot, −1, is for nulls
    indices = _indices(column)
    shifted = np.repeat(np.array(starts, np.int64), [len(chunk) for chunk in column.chunks]) + indices
    shifted[indices < 0] = -1
    complete = slots.complete and not column.null_count
    return Coded(code_of_slot[shifted], slots.count, slots.decode, complete)


def _distinct_dictionaries(column: pa.ChunkedArray) -> tuple[list[pa.Array], list[int]]:
    """The dictionaries of the chunks, one where neighbours share it, and the position where each chunk's starts."""
    dictionaries: list[pa.Array] = []
    starts, end = [], 0
    for chunk in column.chunks:
        if not dictionaries or not dictionaries[-1].equals(chunk.dictionary):
            dictionaries.append(chunk.dictionary)
            end += len(chunk.dictionary)
        starts.append(end - len(dictionaries[-1]))
    return dictionaries, starts


def _indices(column: pa.ChunkedArray) -> Codes:
    """Indices of dictionary arrays, −1 for null."""
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks], column.type.index_type)
    return integers_or(-1, indices) if indices.null_count else integers(indices)


def _run_numbers(ascending: Codes) -> Codes:
    """Number of the run of equal codes that each entry is in."""
    runs = np.zeros(ascending.size, np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=runs[1:])
    return runs


def run_starts(ascending: NDArray[np.signedinteger[Any]]) -> Codes:
    """Where each run of equal entries starts, and where the last one ends."""
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    first = [0] if ascending.size else []
    return np.concatenate([first, changes, [ascending.size]]).astype(np.int64)


_LONGEST_STRING_ARRAY = 2**31 - 1  # bytes of text that pa.string() can address
MOST_ITEMS = 2**31 - 1
"""Codes of items are int32."""


def labelled(items: Coded, catalogue: pa.Array | None) -> tuple[pa.Array, NDArray[np.int32]]:
    """The labels, and each row's position among them: −1 where the item is null or not one of them.

    They are those of a catalogue that was `matched`; without one, the items that occur, sorted, texts as large_string
    (see `narrow`). Bytes of a text that are not UTF-8 count as U+FFFD, so that no single text makes the others
    unreadable.
    """
    present = np.flatnonzero(occurring(items.codes, items.count))
    values = plain_items(items.decode(present))
    values = valid_texts(values) if values.type == pa.large_string() else values
    if catalogue is not None:
        labels = catalogue
    elif items.ordered:
        labels = values
    else:
        labels = sorted_items(values.unique())
    if len(labels) > MOST_ITEMS:
        raise BadData(
            "The data hold more different items than 32 bits can number: give a catalogue of those that matter."
        )
    position = np.full(items.count + 1, -1, np.int32)  # the first entry is the position of code −1, null
    position[present + 1] = np.arange(len(values)) if labels is values else _positions(values, labels)
    return labels, recoded(items.codes, position)


def narrow(labels: pa.Array) -> pa.Array:
    """Texts as string, or as large_string where they need it; other labels as they are."""
    if pa.types.is_integer(labels.type) or is_mixed(labels.type):
        return labels
    labels = labels.cast(pa.large_string())
    return labels.cast(pa.string()) if labels.nbytes < _LONGEST_STRING_ARRAY else labels


def _positions(values: pa.Array, labels: pa.Array) -> Codes:
    """The place of each value among labels, −1 for none; labels of another type are compared as texts."""
    if pa.types.is_null(values.type):
        return np.zeros(0, np.int64)
    if is_text(labels.type):
        labels = labels.cast(pa.large_string())
    if values.type != labels.type:
        values, labels = as_texts(values), as_texts(labels)
    return integers_or(-1, pc.index_in(values, value_set=labels))


def plain_items(items: pa.Array) -> pa.Array:
    """Items as int64, uint64, large_string, labels of Python values or null."""
    if pa.types.is_integer(items.type):
        return items if items.type == pa.uint64() else items.cast(pa.int64())
    return items.cast(pa.large_string()) if is_text(items.type) else items


def sorted_items(items: pa.Array) -> pa.Array:
    """Items in ascending order, texts by code points; no items become no texts."""
    if pa.types.is_null(items.type):
        return pa.nulls(0, pa.large_string())
    return items.take(pc.sort_indices(items))


_extent, _occurring, _recoded = kernel("extent"), kernel("occurring"), kernel("recoded")
_in_order, _arranged, _sort_rows = kernel("in_order"), kernel("arranged"), kernel("sort_rows")


def extent(numbers: Codes) -> tuple[int, int, bool]:
    """The least and the largest number, and whether none is below the one before it. Requires: not empty."""
    ends = np.empty(2, np.int64)
    ascending = bool(_extent(numbers, ends))
    return int(ends[0]), int(ends[1]), ascending


def occurring(codes: Codes, count: int) -> NDArray[np.bool_]:
    """bool[count]: whether each code occurs; −1 stands for none."""
    seen = np.zeros(count, np.uint8)
    _occurring(codes, seen)
    return seen.view(np.bool_)


def recoded(codes: Codes, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """numbers[code + 1] for each code ≥ −1."""
    new = np.empty(len(codes), np.int32)
    _recoded(codes, numbers, new)
    return new


def in_order(baskets: Codes, items: NDArray[np.int32], count: int) -> tuple[Codes, Codes] | None:
    """Names and starts as of `arranged`, where the cells come by basket, then by item, none twice; else None."""
    names, starts = np.empty((2, min(count, len(items)) + 1), np.int64)
    found = _in_order(baskets, items, names, starts)
    return (names[:found], starts[: found + 1]) if found or not len(items) else None


def arranged(baskets: Codes, items: NDArray[np.int32], count: int) -> tuple[Codes, Codes, NDArray[np.int32]]:
    """The names of the baskets that have cells, ascending, the starts of their items, and these, sorted, each once.

    Names lie in [0, count). Takes one pass to place the cells, and then sorts only baskets that are out of order.
    """
    names, placed = np.empty(min(count, len(items)), np.int64), np.empty(len(items), np.int32)
    starts = np.empty(len(names) + 1, np.int64)
    found = _arranged(baskets, items, np.empty(count + 1, np.int64), names, starts, placed)
    return names[:found], starts[: found + 1], placed[: starts[found]]


def sort_rows(items: NDArray[np.int32], starts: Codes) -> None:
    """Sort the items of each row in place."""
    _sort_rows(items, starts)
