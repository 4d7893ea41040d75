"""Items and keys of further types: each has one exact form, whatever other values there are."""

# ruff: noqa: DTZ001 - times without a zone are what is tested

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.io.input import Input
from dpmine.itemsets.ingest.plain_values import written_values

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::dpmine.errors.LayoutWarning")
BERLIN = dt.timezone(dt.timedelta(hours=1))
FORMS: dict[str, tuple[pa.DataType, list[Any], list[str | None]]] = {
    "booleans": (pa.bool_(), [True, False, None], ["true", "false", None]),
    "days": (pa.date32(), [dt.date(2026, 11, 3), dt.date(1, 1, 1), None], ["2026-11-03", "0001-01-01", None]),
    "days in milliseconds": (pa.date64(), [dt.date(2026, 11, 3), dt.date(9999, 12, 31)], ["2026-11-03", "9999-12-31"]),
    "moments": (
        pa.timestamp("us"),
        [dt.datetime(2026, 11, 3, 18, 30), dt.datetime(2026, 11, 3, 18, 30, 0, 500_000), None],
        ["2026-11-03 18:30:00", "2026-11-03 18:30:00.500000", None],
    ),
    "moments of a zone": (
        pa.timestamp("s", "Europe/Berlin"),
        [dt.datetime(2026, 11, 3, 18, 30, tzinfo=BERLIN)],
        ["2026-11-03 17:30:00Z"],
    ),
    "an unknown zone": (pa.timestamp("s", "Mars/Phobos"), [0], ["1970-01-01 00:00:00Z"]),
    "decimals": (pa.decimal128(5, 2), [Decimal("12.5"), Decimal("-0.01"), None], ["12.50", "-0.01", None]),
    "long decimals": (pa.decimal256(50, 3), [Decimal(10) ** 40], [f"1{'0' * 40}.000"]),
}


@every("what", FORMS)
def test_one_form_in_every_place(what: str) -> None:
    kind, values, texts = FORMS[what]
    column = pa.array(values, pa.int64()).view(kind) if what == "an unknown zone" else pa.array(values, kind)
    assert written_values(column).to_pylist() == texts
    expected = {text: 1 for text in texts if text is not None}
    for item in column, column.dictionary_encode():
        assert supports({"unit": range(len(values)), "item": item}, unit="unit", item="item") == expected
    lists = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), column)
    assert supports({"items": lists}, items="items") == expected
    nested = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), lists)
    assert supports({"items": nested}, items="items") == expected
    named = {f"x={text}": 1 for text in expected}
    assert supports({"x": column}, attributes=["x"]) == named
    whole = supports({"unit": column, "item": ["a"] * len(values)}, unit="unit", item="item")
    assert whole == {"a": len(expected)}


def supports(columns: dict[str, Any], **options: Any) -> dict[Any, int]:
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    whole = counted(table, **options)
    assert counted(table, memory="64MB", **options) == whole
    return whole


def counted(data: Any, **options: Any) -> dict[Any, int]:
    found = dpmine.itemset_supports(data, size=1, min_support=1, **options)
    return {next(iter(items)): int(count) for items, count in zip(found["itemsets"], found["support"], strict=True)}


def test_days_beyond_the_calendar_are_missing() -> None:
    days = pa.array([2**31 - 1, -(2**31), 2932897, -719163, 0], pa.int32()).view(pa.date32())
    assert written_values(days).to_pylist() == [None, None, None, None, "1970-01-01"]
    moments = pa.array([2**63 - 1, -(2**63), 0], pa.int64())
    for unit in ("s", "ms", "us"):
        assert written_values(moments.view(pa.timestamp(unit))).to_pylist() == [None, None, "1970-01-01 00:00:00"]
    assert None not in written_values(moments.view(pa.timestamp("ns"))).to_pylist()


def test_a_catalogue_names_them_as_results_do() -> None:
    data = pa.table({"unit": [1, 2], "item": pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2)])})
    chosen = dpmine.top_itemset(
        data, unit="unit", item="item", size=1, epsilon=1000, catalogue=["2026-01-01", "2026-01-03"]
    )
    assert chosen.itemset == frozenset({"2026-01-01"})


def test_lists_of_lists_are_one_basket() -> None:
    kind = pa.list_(pa.list_(pa.int64()))
    rows = pa.array([[[1, 2], [3]], [[1], None, [None]], None, [], [[]], [[2, 2]]], kind)
    for column in rows, rows.slice(1), pa.chunked_array([rows, rows]):
        table = pa.table({"items": column})
        plain = [[item for part in row for item in part or [] if item is not None] for row in column.to_pylist() if row]
        expected = {item: sum(item in row for row in plain) for item in {*chain.from_iterable(plain)}}
        assert counted(table) == expected


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_bytes_that_are_declared_as_text(kind: pa.DataType, form: str, tmp_path: Path) -> None:
    """As text with a mark is: also where bytes are no UTF-8, which spoils no other item."""
    items = [b"ab", b"\xff\xfe", b"ab", None]
    table = pa.table({"unit": pa.array([b"u1", b"u2", b"u3", b"u4"], kind), "item": pa.array(items, kind)})
    path = str(tmp_path / f"impala.{form}")
    if form == "parquet":
        pq.write_table(table, path, store_schema=False)
    else:
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    declared = Input(path, types="unit=text,item=text")
    assert counted(declared, unit="unit", item="item") == {"ab": 2, "\ufffd\ufffd": 1}
    assert counted(declared, unit="unit", item="item", memory="64MB") == {"ab": 2, "\ufffd\ufffd": 1}
    with pytest.raises(BadData, match=r"`types='item=text'`"):
        counted(Input(path, types="unit=text"), unit="unit", item="item")
    with pytest.raises(BadData, match="do not exist"):
        counted(Input(path, types="other=text"), unit="unit", item="item")
    with pytest.raises(BadParameter, match="columns of text"):
        Input(path, types="item=int64")


def test_other_types_are_not_declared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"unit": [1], "item": [1]}), tmp_path / "a.parquet")
    with pytest.raises(BadData, match="its type is int64"):
        counted(Input(str(tmp_path / "a.parquet"), types="item=text"), unit="unit", item="item")


def test_an_attribute_may_have_as_many_values_as_there_are_rows() -> None:
    """No bound on their number depends on the data."""
    rows = 10**5
    table = pa.table({"id": pa.array(map(str, range(rows))), "sex": ["f", "m"] * (rows // 2)})
    found = dpmine.itemset_supports(table, attributes=True, size=1, min_support=2)
    assert dict(zip(found["itemsets"], found["support"], strict=True)) == {
        frozenset({"sex=f"}): rows // 2,
        frozenset({"sex=m"}): rows // 2,
    }
    best = dpmine.top_itemsets(table, k=2, attributes=True, size=1, epsilon=10)
    assert {*best.itemsets} == {frozenset({"sex=f"}), frozenset({"sex=m"})}
