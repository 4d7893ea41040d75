"""Every layout against baskets built row by row in Python."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.oracles.ingest import bought, contents, expected
from support.reading import read_baskets

from dpmine.errors import BadData
from dpmine.io.open import open_source
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.itemsets.ingest.encode import arranged, in_order
from dpmine.itemsets.ingest.layouts import Layout, plan_layout

INTEGERS = st.one_of(st.none(), st.integers(0, 4), st.sampled_from([-(2**62), 2**62]))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "é", "zz"]))
VALUES = st.sampled_from([INTEGERS, TEXTS])


@st.composite
def tables(draw: st.DrawFn, width: int) -> list[tuple[Any, ...]]:
    """Rows of `width` columns, each of integers or of texts, nulls among them."""
    columns = [draw(VALUES) for _ in range(width)]
    return draw(st.lists(st.tuples(*columns), max_size=25))


def table(rows: list[tuple[Any, ...]], names: str, chunks: int = 1) -> pa.Table:
    """The rows as a table of columns with one-letter names, in up to `chunks` chunks."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    kinds = [pa.array(column).type for column in columns]
    ends = np.linspace(0, len(rows), chunks + 1).astype(int)
    parts = [
        [pa.array(column[start:end], kind) for start, end in pairwise(ends)]
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return pa.table({name: pa.chunked_array(part) for name, part in zip(names, parts, strict=True)})


@given(tables(2), st.integers(1, 3))
def test_long(rows: list[tuple[Any, ...]], chunks: int) -> None:
    read = read_baskets(table(rows, "ui", chunks), Columns(item="i"))
    units = expected((unit, 0, item) for unit, item in rows)
    assert read.layout is Layout.LONG
    assert contents(read.baskets) == units
    assert read.baskets.labels.to_pylist() == bought(units)
    assert read.baskets.unit == "u"


@given(tables(3), st.integers(1, 3))
def test_long_with_baskets(rows: list[tuple[Any, ...]], chunks: int) -> None:
    read = read_baskets(table(rows, "ubi", chunks), Columns.of(unit="u", basket="b", item="i"))
    units = expected(rows)
    assert contents(read.baskets) == units
    assert read.baskets.labels.to_pylist() == bought(units)


@given(tables(5))
def test_long_with_composite_keys(rows: list[tuple[Any, ...]]) -> None:
    read = read_baskets(table(rows, "uvbci"), Columns.of(unit=["u", "v"], basket=("b", "c"), item="i"))
    assert contents(read.baskets) == expected(((u, v), (b, c), item) for u, v, b, c, item in rows)
    assert read.baskets.unit == "u, v"


@given(tables(3), st.sets(st.integers(0, 6), min_size=1))
def test_long_with_a_catalogue(rows: list[tuple[Any, ...]], catalogue: set[int]) -> None:
    rows = [(u, b, i if isinstance(i, int) else None) for u, b, i in rows]
    read = read_baskets(table(rows, "ubi"), Columns.of(unit="u", basket="b"), catalogue=read_catalogue(catalogue))
    assert contents(read.baskets) == expected(rows, catalogue)
    assert read.baskets.labels.to_pylist() == sorted(catalogue)


@given(st.lists(st.tuples(INTEGERS, st.one_of(st.none(), st.lists(TEXTS, max_size=4))), max_size=12), st.booleans())
def test_list(rows: list[tuple[Any, Any]], named: bool) -> None:
    kinds = {"u": pa.int64(), "i": pa.list_(pa.string())}
    data = pa.table({name: pa.array(values, kinds[name]) for name, values in zip("ui", _columns(rows), strict=True)})
    cells = [(unit if named else row, row, item) for row, (unit, items) in enumerate(rows) for item in items or []]
    read = read_baskets(data, Columns.of(unit="u" if named else None, items="i"))
    assert read.layout is Layout.LIST
    assert contents(read.baskets) == expected(cells)
    assert read.baskets.unit == ("u" if named else "row")


@given(
    st.lists(st.tuples(TEXTS, *[st.sampled_from([True, False, None])] * 3), max_size=12), st.booleans(), st.booleans()
)
def test_one_hot(rows: list[tuple[Any, ...]], named: bool, numbers: bool) -> None:
    keys, *flags = _columns(rows, 4)
    kind = pa.int8() if numbers else pa.bool_()
    columns = {name: pa.array(flag, pa.bool_()).cast(kind) for name, flag in zip("zxy", flags, strict=True)}
    data = pa.table(columns | ({"u": pa.array(keys, pa.string())} if named else {}))
    read = read_baskets(data, Columns.of(unit="u" if named else None, one_hot=numbers))
    entries = [(key if named else row, row, zip("zxy", flag, strict=True)) for row, (key, *flag) in enumerate(rows)]
    units = expected((unit, row, item) for unit, row, cells in entries for item, present in cells if present)
    assert read.layout is Layout.ONE_HOT
    assert contents(read.baskets) == units
    assert read.baskets.labels.to_pylist() == bought(units)


@given(st.lists(st.one_of(st.none(), st.frozensets(INTEGERS, max_size=4), st.lists(INTEGERS, max_size=4)), max_size=9))
def test_sequence(data: list[Any]) -> None:
    read = read_baskets(data, Columns())
    assert contents(read.baskets) == expected(
        (row, 0, item) for row, basket in enumerate(data) for item in basket or ()
    )
    assert read.baskets.unit == "row"


@given(st.integers(0, 2**32))
def test_larger_tables(seed: int) -> None:
    """Enough rows for every way of coding: by span, by order, by hash; sorted and not."""
    draw = np.random.default_rng(seed)
    spread = int(draw.choice([1, 10**6, 2**50]))
    unit, basket, item = (draw.integers(0, high, 400) for high in (40, 5, 30))
    unit = np.sort(unit) if draw.random() < 0.5 else unit
    data = pa.table({"u": unit * spread - 7, "b": basket * spread, "i": item * spread})
    read = read_baskets(data, Columns.of(unit="u", basket="b"))
    assert contents(read.baskets) == expected(
        (int(u), int(b), int(i) * spread) for u, b, i in zip(unit, basket, item, strict=True)
    )


def test_composite_keys_whose_codes_would_overflow() -> None:
    rows = 200_000
    draw = np.random.default_rng(5)
    keys = {name: draw.integers(0, rows, rows) for name in "uvwb"}
    data = pa.table(keys | {"i": np.arange(rows)})
    read = read_baskets(data, Columns.of(unit=["u", "v", "w"], basket="b", item="i"))
    assert read.baskets.unit_count == len(set(zip(keys["u"], keys["v"], keys["w"], strict=True)))
    assert read.baskets.basket_count == rows


def test_overflow_keeps_rows_apart_and_together() -> None:
    rows = 100_000
    draw = np.random.default_rng(6)
    wide = [draw.integers(0, rows, rows) for _ in range(4)]
    keys = {name: np.concatenate([column, column]) for name, column in zip("uvwx", wide, strict=True)}
    data = pa.table(keys | {"i": np.repeat([1, 2], rows)})
    read = read_baskets(data, Columns.of(unit=["u", "v", "w", "x"]))
    assert read.baskets.unit_count == rows
    assert np.array_equal(read.baskets.items, np.tile([0, 1], rows))


def test_a_basket_key_under_two_units_is_two_baskets() -> None:
    data = pa.table({"u": [1, 2, 1], "b": [9, 9, 9], "i": ["x", "x", "y"]})
    assert contents(read_baskets(data, Columns.of(unit="u", basket="b", item="i")).baskets) == [[("x",)], [("x", "y")]]


def test_items_of_dropped_rows_are_no_labels() -> None:
    data = pa.table({"u": [1, None], "i": ["x", "y"]})
    assert read_baskets(data, Columns(item="i")).baskets.labels.to_pylist() == ["x"]


def test_one_hot_columns_outside_the_catalogue_are_not_read() -> None:
    data = pa.table({"x": [0, 1], "y": [5, 7], "z": [1, 1]})
    read = read_baskets(data, Columns(one_hot=True), catalogue=pa.array(["x", "z", "w"]))
    assert read.baskets.labels.to_pylist() == ["w", "x", "z"]
    assert contents(read.baskets) == [[("x", "z")], [("z",)]]


def test_one_hot_without_any_column_of_the_catalogue() -> None:
    read = read_baskets(pa.table({"x": [True]}), Columns(), catalogue=pa.array(["y"]))
    assert (read.baskets.unit_count, read.baskets.catalogue_size) == (0, 1)


@every(
    ("columns", "line"),
    [
        (Columns(unit=("u",), item="i"), "long layout: item = i, unit = u (from the options)"),
        (
            Columns(unit=("u",), basket=("b",), item="i"),
            "long layout: item = i, unit = u, basket = b (from the options)",
        ),
        (Columns(items="l"), "list layout: item = l, unit = row (from the options)"),
        (Columns(item="l", unit=("u",)), "list layout: item = l, unit = u (from the options)"),
        (Columns(), "list layout: item = l, unit = row (found in the schema)"),
    ],
)
def test_the_description_names_columns_only(columns: Columns, line: str) -> None:
    data = pa.table({"u": [1], "b": [1], "i": ["x"], "l": [["x"]]})
    assert read_baskets(data, columns).description == line


@every(
    ("names", "kinds", "layout", "unit"),
    [
        ("fi", [pa.float64(), pa.list_(pa.string())], Layout.LIST, "row"),
        ("i", [pa.list_(pa.int32())], Layout.LIST, "row"),
        ("x", [pa.bool_()], Layout.ONE_HOT, "row"),
        ("xy", [pa.bool_(), pa.bool_()], Layout.ONE_HOT, "row"),
        ("xyz", [pa.bool_()] * 3, Layout.ONE_HOT, "row"),
    ],
)
def test_layouts_found_in_the_schema(names: str, kinds: list[pa.DataType], layout: Layout, unit: str) -> None:
    read = read_baskets(pa.schema(zip(names, kinds, strict=True)).empty_table(), Columns())
    assert (read.layout, read.baskets.unit, read.baskets.unit_count) == (layout, unit, 0)


UNITS = ["patient_id", "CustomerID", "InvoiceNo", "transaction-id", "customer code", "id", "userID", "Visits"]
UNITS += ["customerid", "CUSTOMERID", "invoiceno", "unit"]
ITEMS = ["drug", "StockCode", "item_id", "product_code_id", "Items", "code", "SKU", "pages", "productid", "ITEMCODE"]


@every("unit", UNITS)
@every("item", ITEMS)
@every("kind", [pa.string(), pa.list_(pa.string())])
def test_names_decide_on_the_unit_in_any_order(unit: str, item: str, kind: pa.DataType) -> None:
    data = pa.schema([(unit, pa.int64()), (item, kind)]).empty_table()
    for names in ([unit, item], [item, unit]):
        read = read_baskets(data.select(names), Columns())
        assert read.baskets.unit == unit
        assert f"item = {item}" in read.description


UNCLEAR = [("u", "i"), ("order_id", "customer"), ("drug", "page"), ("date", "product"), ("orderid", "customerid")]
UNCLEAR += [("paid", "product"), ("orderitemid", "valid"), ("postcode", "idno"), ("unit_price", "units_sold")]


@every("names", UNCLEAR)
def test_a_unit_that_no_name_tells_is_an_error_with_both_choices(names: tuple[str, str]) -> None:
    for order in (names, names[::-1]):
        with pytest.raises(BadData, match="not clear") as error:
            read_baskets(pa.schema([(name, pa.int64()) for name in order]).empty_table(), Columns())
        for unit, item in (names, names[::-1]):
            assert f"`unit={unit!r}` `item={item!r}`" in str(error.value)


@every("order", [["drug", "l"], ["l", "drug"], ["k", "l"], ["l", "k"]])
def test_a_key_beside_lists_is_no_unit_unless_its_name_says_so(order: list[str]) -> None:
    table = pa.schema([(name, pa.list_(pa.string()) if name == "l" else pa.int64()) for name in order]).empty_table()
    with pytest.raises(BadData, match=r"`unit='\w+'` `item='l'` or `item='l'`"):
        read_baskets(table, Columns())


def test_beside_lists_among_several_columns_names_decide() -> None:
    kinds = {
        "patient_id": pa.int64(),
        "session_id": pa.int64(),
        "at": pa.timestamp("s"),
        "pages": pa.list_(pa.string()),
    }

    def planned(*names: str, **columns: Any) -> Any:
        wanted = Columns(**columns)
        table = pa.schema([(name, kinds[name]) for name in names]).empty_table()
        return plan_layout(open_source(table, wanted), wanted)

    assert planned("at", "pages", "patient_id").unit == ("patient_id",)
    with pytest.raises(BadData, match="`unit='patient_id'` `item='pages'` or `unit='session_id'` `item='pages'`"):
        planned("patient_id", "session_id", "pages")
    assert planned("patient_id", "session_id", "pages", unit=("session_id",)).unit == ("session_id",)
    named = planned("patient_id", "at", "pages", item="pages")
    assert named.unit == ()
    assert named.cautions == (
        "each row is a unit of its own: `unit='patient_id'` protects each 'patient_id' as a whole",
    )


def test_the_other_one_of_two_columns_is_no_unit_where_it_is_named_like_an_item() -> None:
    table = pa.schema([("drug", pa.string()), ("patient_id", pa.int64())]).empty_table()
    assert read_baskets(table, Columns(item="drug")).baskets.unit == "patient_id"
    with pytest.raises(BadData, match="`unit='patient_id'` `item='drug'`"):
        read_baskets(table, Columns(item="patient_id"))


@every(
    ("columns", "unit"),
    [(Columns(item="i"), "u"), (Columns(unit=("u",)), "u"), (Columns(item="u"), "i"), (Columns(unit=("i",)), "i")],
)
def test_one_of_two_columns_named(columns: Columns, unit: str) -> None:
    read = read_baskets(pa.table({"u": [1, 1], "i": [2, 3]}), columns)
    assert (read.layout, read.baskets.unit) == (Layout.LONG, unit)


def _columns(rows: list[tuple[Any, ...]], width: int = 2) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) or [()] * width


CELLS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=12)


@given(CELLS | CELLS.map(lambda cells: sorted(set(cells))))
def test_cells_in_order_make_the_baskets_that_arranging_makes(cells: list[tuple[int, int]]) -> None:
    baskets = np.array([basket for basket, _ in cells], np.int64)
    items = np.array([item for _, item in cells], np.int32)
    ready, expected = in_order(baskets, items, 6), arranged(baskets, items, 6)
    assert (ready is None) == (cells != sorted(set(cells)))
    if ready is not None:
        assert [part.tolist() for part in (*ready, items)] == [part.tolist() for part in expected]
