"""Every kind of data that is accepted: files, Arrow objects, frames of other libraries and sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from support.cases import every
from support.datasets import shared_path
from support.oracles.ingest import CANARY, contents, refused
from support.reading import read_baskets

from dpmine.errors import BadData, BadParameter
from dpmine.io.python_values import items_of, value_array
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.layouts import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = Columns(unit=("u",), item="i")
TABLE = pa.table({"other": [0.5] * 4, "u": [1, 1, 2, 2], "i": ["a", "b", "b", "b"]})
UNITS: list[list[tuple[Any, ...]]] = [[("a", "b")], [("b",)]]

KINDS: dict[str, Callable[[], object]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=1)),
    "dataset": lambda: ds.dataset(TABLE),
    "pandas": TABLE.to_pandas,
    "pandas indexed": lambda: TABLE.to_pandas().set_index("other"),
    "pandas repeated index": lambda: TABLE.to_pandas().set_index("u", drop=False),
    "pandas nullable": lambda: TABLE.to_pandas().convert_dtypes(),
    "pandas objects": lambda: TABLE.to_pandas().astype({"i": object}),
    "pandas categories": lambda: TABLE.to_pandas().astype({"i": "category", "u": "category"}),
    "pandas on arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(TABLE),
    "polars categories": lambda: pl.DataFrame(TABLE).with_columns(pl.col("i").cast(pl.Categorical)),
    "duckdb": lambda: duckdb.from_arrow(TABLE),
}


@every("kind", KINDS)
def test_kinds_of_tables(kind: str) -> None:
    assert contents(read_baskets(KINDS[kind](), LONG).baskets) == UNITS


@pytest.mark.parametrize("columns", [Columns(item="i"), LONG])
def test_streams_without_options(columns: Columns) -> None:
    data = TABLE.select(["u", "i"]).to_reader()
    assert contents(read_baskets(data, columns).baskets) == UNITS


def test_pandas_dates_and_missing_values() -> None:
    days = pd.to_datetime(pd.Index(["2024-01-01", None, "2024-01-02", "2024-01-01"]))
    data = pd.DataFrame({"u": days, "i": pd.array([1, 2, None, 3], "Int64")})
    assert contents(read_baskets(data, LONG).baskets) == [[(1, 3)]]


def test_pandas_lists_and_sets() -> None:
    for basket in (list, tuple, set, frozenset, np.array):
        data = pd.DataFrame({"u": [1, 1, 2], "items": [basket(["a", "b"]), None, basket(["b"])]})
        if basket in {set, frozenset}:
            data["items"] = data["items"].astype(object)
        assert contents(read_baskets(data, Columns(unit=("u",), items="items")).baskets) == UNITS


@every("dtype", ["bool", "boolean", pd.SparseDtype(bool, fill_value=False), object])
def test_pandas_one_hot(dtype: Any) -> None:
    frame = pd.DataFrame({"b": [1, 0, 1], "a": [0, 0, 1]}).astype(bool).astype(dtype)
    read = read_baskets(frame, Columns(one_hot=dtype is object))
    assert read.layout is Layout.ONE_HOT
    assert contents(read.baskets) == [[("a", "b")], [("b",)]]


@every("dtype", [np.uint8, np.int64, pd.SparseDtype(np.int64, 0), "Int8"])
def test_pandas_zeros_and_ones(dtype: Any) -> None:
    frame = pd.DataFrame({"u": [7, 7], "x": [1, 0], "y": [1, 1]}).astype({"x": dtype, "y": dtype})
    read = read_baskets(frame, Columns.of(unit="u", one_hot=True))
    assert contents(read.baskets) == [[("x", "y"), ("y",)]]


def test_integer_column_labels_are_integer_items() -> None:
    frame = pd.DataFrame([[True, False], [True, True]], columns=[10, 9])
    read = read_baskets(frame, Columns())
    assert contents(read.baskets) == [[(9, 10)], [(10,)]]
    assert contents(read_baskets(frame, Columns(), catalogue=pa.array(["9", "11"])).baskets) == [[(9,)]]


def test_mlxtend_frames() -> None:
    encoder = pytest.importorskip("mlxtend.preprocessing").TransactionEncoder()
    rows = encoder.fit_transform([["milk", "bread"], ["milk"]])
    frame = pd.DataFrame(rows, columns=encoder.columns_)
    assert contents(read_baskets(frame, Columns()).baskets) == [[("bread", "milk")], [("milk",)]]


def test_wide_pandas_frames() -> None:
    flags = np.random.default_rng(1).random((200, 3000)) < 0.01
    read = read_baskets(pd.DataFrame(flags), Columns())
    assert contents(read.baskets) == sorted([tuple(np.flatnonzero(row).tolist())] for row in flags if row.any())


def test_pandas_frames_that_are_no_tables() -> None:
    several = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    with refused(BadData, "levels"):
        read_baskets(several, Columns())
    with refused(BadData, "'x'", "Several columns"):
        read_baskets(pd.DataFrame([[True, True]], columns=["x", "x"]), Columns())
    with refused(BadData, "column labels", "mix"):
        read_baskets(pd.DataFrame([[True, True]], columns=["x", 1]), Columns())
    with refused(BadData, "'u'", "double"):
        read_baskets(pd.DataFrame({"u": [1.0, None], "i": [1, 2]}), LONG)


def test_pandas_objects_are_units_and_items_one_by_one() -> None:
    """No value decides on the type, or the acceptance, of the others. The text of a collection is no item."""
    frame = pd.DataFrame(
        {"u": [1, "1", 1, 2.5, None], "i": pd.Series([3, "3", {"k": 1}, 3, 4], dtype=object)}, dtype=object
    )
    read = read_baskets(frame, LONG)
    assert read.baskets.total_units == 3
    assert items_of(read.baskets.labels) == [3, "3"]


@every("kind", [pa.int16(), pa.int64(), pa.uint64()])
@every("numbers", [[3, 1, 2], [1, 5, 5, 2**14], [2**63 + 1, 0, 5], [-5, -7, 0], [0, -(2**62), 2**62]])
def test_labels_of_numbers_increase(numbers: list[int], kind: pa.DataType) -> None:
    try:
        items = pa.array(numbers, kind)
    except (pa.ArrowInvalid, OverflowError):
        pytest.skip("the type does not hold these numbers")
    baskets = read_baskets(pa.table({"u": range(len(numbers)), "i": items}), LONG).baskets
    labels = baskets.labels.to_pylist()
    assert labels == sorted(set(numbers))
    assert [labels[code] for code in baskets.items.tolist()] == numbers


def test_python_items_keep_their_own_types() -> None:
    """As labels of one basket, whatever the others hold."""
    baskets = [[1, "1", True, 1.5, ("a", 2)], [2**63, -(2**63), float("nan"), None], "bread", 7, {"x": 9}, None]
    read = read_baskets(baskets, Columns())
    labels = items_of(read.baskets.labels)
    assert labels == [-(2**63), 1, 7, "('a', 2)", "1", "1.5", str(2**63), "True", "bread", "x"]
    assert read.baskets.total_units == 5
    assert items_of(value_array([10**5000]).dictionary) == ["int"]  # Python makes no text of it


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_python_texts_that_are_no_unicode(text: str) -> None:
    labels = items_of(read_baskets([[text], ["a"]], Columns()).baskets.labels)
    assert all("\ufffd" in label for label in labels if label != "a")
    assert len(labels) == 2


@every(
    "data",
    [
        [["b", "a", "b"], ["b"]],
        (("b", "a"), {"b"}),
        [frozenset("ab"), iter(["b", None]), [], None],
        (basket for basket in (["a", "b"], ["b"])),
        {frozenset("ab"), frozenset("b")},
        np.array([["a", "b"], ["b"]], dtype=object),
    ],
)
def test_sequences(data: object) -> None:
    read = read_baskets(data, Columns())
    assert contents(read.baskets) == UNITS
    assert read.layout is Layout.LIST


def test_sequences_of_numbers() -> None:
    read = read_baskets([[np.int64(3), 1], np.array([2, 3], np.uint8)], Columns())
    assert contents(read.baskets) == [[(1, 3)], [(2, 3)]]


@pytest.mark.parametrize("data", [[], [[]], [None, [None]]])
def test_sequences_without_items(data: list[Any]) -> None:
    assert contents(read_baskets(data, Columns()).baskets) == []


@pytest.mark.parametrize("columns", [LONG, Columns(items="items"), Columns(one_hot=True)])
def test_sequences_have_no_columns(columns: Columns) -> None:
    with refused(BadParameter, "sequence of baskets", "leave out"):
        read_baskets([["a"]], columns)


@every("data", [None, 3, b"x", {CANARY: ["a"]}, object()])
def test_what_is_no_data(data: object) -> None:
    with refused(BadParameter, type(data).__name__, "give a path"):
        read_baskets(data, Columns())


@pytest.mark.parametrize("data", [pl.Series([CANARY]), pd.Series([CANARY]), pa.chunked_array([[CANARY]])])
def test_a_single_column_is_no_table(data: object) -> None:
    with refused(BadData, "not a table", "data frame"):
        read_baskets(data, Columns())


def test_streams_that_fail() -> None:
    def batches() -> Any:
        yield from TABLE.to_batches()
        raise ValueError(CANARY)

    with refused(BadData, "producer"):
        read_baskets(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), LONG)


@pytest.mark.parametrize(
    ("name", "columns", "counts"),
    [
        ("retail", Columns(), (88_162, 88_162, 16_470, 908_576)),
        ("groceries", Columns(), (9_835, 9_835, 169, 43_367)),
        (
            "online_retail",
            Columns.of(unit="CustomerID", basket="InvoiceNo", item="StockCode"),
            (4_372, 22_190, 3_684, 396_681),
        ),
    ],
)
def test_known_data(name: str, columns: Columns, counts: tuple[int, ...]) -> None:
    baskets = read_baskets(shared_path(f"data/{name}.parquet"), columns).baskets
    assert (baskets.unit_count, baskets.basket_count, baskets.catalogue_size, len(baskets.items)) == counts
