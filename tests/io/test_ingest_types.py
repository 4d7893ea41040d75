"""Every Arrow type that keys and items may have, however it is encoded, and those they may not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.cases import every
from support.oracles.ingest import CANARY, contents, refused
from support.reading import read_baskets

from dpmine.errors import BadData
from dpmine.io import python_values
from dpmine.io.input import Input
from dpmine.io.open import open_input
from dpmine.io.source import Columns

if TYPE_CHECKING:
    from pathlib import Path

LONG = Columns(unit=("u",), item="i")
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
TIMES = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Oslo")]
LISTS = [pa.list_, pa.large_list]
UNIT = [2, 1, 2, None, 2, 1]
ITEM = [3, 4, 3, 5, None, 7]
BASKETS: list[list[tuple[Any, ...]]] = [[(3,)], [(4, 7)]]


def as_text(values: list[int | None]) -> list[str | None]:
    return [None if value is None else f"t{value}" for value in values]


def as_texts(units: list[list[tuple[Any, ...]]]) -> list[list[tuple[str, ...]]]:
    return [[tuple(f"t{item}" for item in basket) for basket in baskets] for baskets in units]


def in_chunks(array: pa.Array) -> pa.ChunkedArray:
    """Several chunks, empty ones and ones with an offset among them."""
    return pa.chunked_array([array[:2], array[2:2], array[2:]])


def long_table(unit: pa.Array, item: pa.Array) -> pa.Table:
    return pa.table({"u": in_chunks(unit), "i": in_chunks(item)})


@every("kind", INTEGERS)
def test_integers(kind: pa.DataType) -> None:
    data = long_table(pa.array(UNIT, kind), pa.array(ITEM, kind))
    read = read_baskets(data, LONG)
    assert contents(read.baskets) == BASKETS
    assert read.baskets.labels.type == (pa.uint64() if kind == pa.uint64() else pa.int64())


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_texts(kind: pa.DataType) -> None:
    data = long_table(pa.array(as_text(UNIT), kind), pa.array(as_text(ITEM), kind))
    read = read_baskets(data, LONG)
    assert contents(read.baskets) == as_texts(BASKETS)
    assert read.baskets.labels.type == pa.string()


@every("kind", TIMES)
def test_dates_and_times_as_keys(kind: pa.DataType) -> None:
    days = [None if value is None else datetime(2024, 1, value, tzinfo=UTC) for value in UNIT]
    values: list[Any] = days if pa.types.is_timestamp(kind) else [None if day is None else day.date() for day in days]
    unit = pa.array(values, kind)
    assert contents(read_baskets(long_table(unit, pa.array(ITEM)), LONG).baskets) == BASKETS
    assert contents(read_baskets(long_table(unit.dictionary_encode(), pa.array(ITEM)), LONG).baskets) == BASKETS


def test_dates_without_nulls() -> None:
    data = pa.table({"u": [date(2024, 1, 2), date(1960, 1, 1), date(2024, 1, 2)], "i": [1, 2, 3]})
    assert contents(read_baskets(data, LONG).baskets) == [[(1, 3)], [(2,)]]


@every("index", INTEGERS)
def test_dictionaries(index: pa.DataType) -> None:
    unit = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None, 0, 1], index), pa.array([2, 1]))
    item = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, None, 3], index), pa.array(["t3", "t4", "t5", "t7"]))
    assert contents(read_baskets(long_table(unit, item), LONG).baskets) == as_texts(BASKETS)


def test_dictionaries_of_text_views() -> None:
    item = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(["a", "b"], pa.string_view()))
    data = pa.table({"u": [1, 1, 2], "i": item})
    assert contents(read_baskets(data, LONG).baskets) == [[("a", "b")], [("b",)]]


def test_chunks_with_different_dictionaries_nulls_and_repetitions_in_them() -> None:
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", None, "b"]))
    second = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", "b", "c"]))
    data = pa.table({"u": [1, 1, 1, 1, 2, 2, 2], "i": pa.chunked_array([first, second])})
    read = read_baskets(data, LONG)
    assert contents(read.baskets) == [[("a", "b")], [("b", "c")]]


def test_unused_dictionary_entries_are_no_labels() -> None:
    item = pa.DictionaryArray.from_arrays(pa.array([2, 2]), pa.array(["unused", "other", "used"]))
    assert read_baskets(pa.table({"u": [1, 2], "i": item}), LONG).baskets.labels.to_pylist() == ["used"]


@every("kind", LISTS)
@every("inner", [pa.int16(), pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_lists(kind: Any, inner: pa.DataType) -> None:
    texts = inner != pa.int16()
    rows: list[list[int | None] | None] = [[1, 2, 1], None, [], [None], [3, None]]
    values: list[Any] = [None if row is None else as_text(row) for row in rows] if texts else list(rows)
    plain = pa.array(values, pa.list_(pa.string() if texts else inner))
    flat = plain.values.dictionary_encode().cast(inner) if pa.types.is_dictionary(inner) else plain.values
    lists = pa.ListArray.from_arrays(plain.offsets, flat, mask=plain.is_null())
    column = in_chunks(lists.cast(kind(inner)) if kind is pa.large_list else lists)
    units: list[list[tuple[Any, ...]]] = [[(1, 2)], [(3,)]]
    read = read_baskets(pa.table({"l": column}), Columns())
    assert contents(read.baskets) == (as_texts(units) if texts else units)


@pytest.mark.parametrize("kind", [pa.list_view, pa.large_list_view])
def test_list_views(kind: Any) -> None:
    data = pa.table({"l": in_chunks(pa.array([[1, 2, 1], None, [], [None], [3, None]], kind(pa.int64())))})
    assert contents(read_baskets(data, Columns()).baskets) == [[(1, 2)], [(3,)]]


def test_lists_of_fixed_size() -> None:
    data = pa.table({"l": in_chunks(pa.array([[1, 2], None, [2, 2], [None, 5]], pa.list_(pa.int32(), 2)))})
    assert contents(read_baskets(data, Columns()).baskets) == [[(1, 2)], [(2,)], [(5,)]]


def test_values_below_null_lists_are_not_there() -> None:
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3]), mask=pa.array([True, False])
    )
    data = pa.table({"u": [1, 2], "l": hidden})
    assert contents(read_baskets(data, Columns.of(unit="u")).baskets) == [[(3,)]]


@every("kind", [pa.int64(), pa.string(), pa.null(), pa.dictionary(pa.int32(), pa.string())])
@every("chunks", [0, 1])
def test_no_rows(kind: pa.DataType, chunks: int) -> None:
    column = pa.chunked_array([pa.nulls(0, kind)] * chunks, kind)
    for data in (pa.table({"user": column, "i": column}), pa.table({"l": pa.chunked_array([], pa.list_(kind))})):
        baskets = read_baskets(data, Columns()).baskets
        assert contents(baskets) == []
        assert (baskets.catalogue_size, baskets.basket_count, baskets.unit_count) == (0, 0, 0)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8()], ids=str)
def test_no_rows_one_hot(kind: pa.DataType) -> None:
    column = pa.chunked_array([], kind)
    assert contents(read_baskets(pa.table({"x": column, "y": column}), Columns(one_hot=True)).baskets) == []


def test_only_nulls() -> None:
    data = pa.table({"user": pa.nulls(3), "i": pa.nulls(3)})
    assert contents(read_baskets(data, Columns()).baskets) == []


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: array.dictionary_encode()])
def test_unsigned_integers_beyond_int64(wrap: Any) -> None:
    large = wrap(pa.array([2**64 - 1, 2**63, 2**63, 1], pa.uint64()))
    assert contents(read_baskets(pa.table({"u": large, "i": [1, 2, 3, 4]}), LONG).baskets) == [[(1,)], [(2, 3)], [(4,)]]
    read = read_baskets(pa.table({"u": [1, 2, 3, 4], "i": large}), LONG)
    assert contents(read.baskets) == [[(1,)], [(2**63,)], [(2**63,)], [(2**64 - 1,)]]
    lists = pa.table({"i": pa.array([[2**63, None, 0]], pa.list_(pa.uint64()))})
    assert contents(read_baskets(lists, Columns()).baskets) == [[(0, 2**63)]]
    known = read_baskets(pa.table({"u": [1, 2, 3, 4], "i": large}), LONG, catalogue=pa.array([-1, 1])).baskets
    assert (known.labels.to_pylist(), known.unit_count) == ([-1, 1], 1)


@pytest.mark.parametrize("values", [[-(2**63), 2**63 - 1], list(range(0, 2**40, 2**30)), [5] * 3])
def test_extreme_integers(values: list[int]) -> None:
    data = pa.table({"u": values, "i": values})
    assert contents(read_baskets(data, LONG).baskets) == [[(value,)] for value in sorted(set(values))]


def test_labels_are_sorted_by_code_point() -> None:
    items = ["b", "a", "é", "Z", "\U0001f600", "￿", ""]
    data = pa.table({"u": range(len(items)), "i": items})
    assert read_baskets(data, LONG).baskets.labels.to_pylist() == sorted(items)


def test_text_that_is_not_utf8_is_an_item_of_its_own() -> None:
    """It does not stop the run, and changes no other item."""
    broken = pa.Array.from_buffers(
        pa.string(),
        1,
        [
            None,
            pa.py_buffer(np.array([0, 2 + len(CANARY)], np.int32)),
            pa.py_buffer(b"\xff" + CANARY.encode() + b"\xff"),
        ],
    )
    table = pa.table({"u": [1, 1], "i": pa.chunked_array([broken, pa.array(["a"])])})
    assert contents(read_baskets(table, LONG).baskets) == [[("a", f"\ufffd{CANARY}\ufffd")]]


NESTED = pa.struct([(CANARY, pa.int64())])
WRONG_KEYS = [
    (pa.float64(), "double"),
    (pa.duration("s"), "duration"),
    (pa.time32("s"), "time32"),
    (NESTED, "struct"),
    (pa.map_(pa.string(), pa.int64()), "map"),
    (pa.dictionary(pa.int8(), pa.float64()), "dictionary of double"),
    (pa.uuid(), "nested type"),
]


@every(("kind", "word"), WRONG_KEYS)
def test_wrong_keys(kind: pa.DataType, word: str) -> None:
    data = pa.schema([("u", kind), ("b", pa.int64()), ("i", pa.int64())]).empty_table()
    with refused(BadData, "'u'", word, "ast the column"):
        read_baskets(data, LONG)
    with refused(BadData, "'u'", word):
        read_baskets(data, Columns.of(unit="b", basket="u", item="i"))


@every("kind", [pa.binary(), pa.large_binary(), pa.binary(4), pa.dictionary(pa.int8(), pa.binary())])
def test_bytes_are_text_where_it_is_said(kind: pa.DataType) -> None:
    said = "`types='i=text'`"
    with refused(BadData, "'i'", "binary", said):
        read_baskets(pa.schema([("u", pa.int64()), ("i", kind)]).empty_table(), LONG)
    with refused(BadData, "'u'", "binary", said.replace("i=", "u=")):
        read_baskets(pa.schema([("u", kind), ("i", pa.int64())]).empty_table(), LONG)


@every(("kind", "word"), WRONG_KEYS)
def test_wrong_items(kind: pa.DataType, word: str) -> None:
    with refused(BadData, "'i'", word, "ast the column"):
        read_baskets(pa.schema([("u", pa.int64()), ("i", kind)]).empty_table(), LONG)
    if kind != pa.uuid():  # pyarrow makes no empty list of those
        with refused(BadData, "'i'", word):
            read_baskets(pa.schema([("i", pa.list_(kind))]).empty_table(), Columns())


def test_lists_of_lists() -> None:
    with refused(BadData, "'i'", "list of struct"):
        read_baskets(pa.schema([("i", pa.list_(pa.list_(pa.list_(NESTED))))]).empty_table(), Columns())


@every("values", [[3, -1, 3, 2], ["b", "a", "b", ""]])
@every("missing", [[], [None, float("nan")]])
def test_values_of_one_kind_are_coded_by_arrow_as_any_others_are(
    values: list[Any], missing: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a label for each of them, which takes several times as long."""
    made: list[Any] = []
    label = python_values._label

    def counted(value: Any) -> bytes:
        made.append(value)
        return label(value)

    monkeypatch.setattr(python_values, "_label", counted)
    quick = python_values.value_array([*missing, *values, *values])
    assert sorted(made) == sorted(set(values))
    monkeypatch.setattr(python_values, "_of_one_kind", lambda _values: None)
    assert quick.equals(python_values.value_array([*missing, *values, *values]))


@every(
    "kind",
    [
        pa.date64(),
        pa.dictionary(pa.int8(), pa.date64()),
        pa.list_(pa.time32("s")),
        pa.time64("us"),
        pa.decimal128(3, 0),
        pa.decimal256(3, 0),
    ],
)
def test_no_invalid_value_of_an_arrow_file_stops_the_run(kind: pa.DataType, tmp_path: Path) -> None:
    """Half a day, a time beyond the day, or a number of too many digits: Arrow's own check rejects the whole file."""
    entries = kind.value_type if hasattr(kind, "value_type") else kind
    content = [pa.py_buffer((1).to_bytes(entries.bit_width // 8, "little") + b"\x7e" * (entries.bit_width // 8))]
    column = pa.Array.from_buffers(entries, 2, [None, *content])
    if pa.types.is_dictionary(kind):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), column, safe=False)
    elif pa.types.is_list(kind):
        column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), column)
    table = pa.table({"column": column})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as out:
        out.write_table(table)
    read = list(open_input(Input(tmp_path / "x.arrow")).batches(["column"]))
    assert sum(batch.num_rows for batch in read) == 2
