"""Requests and layouts that are refused: what the message says, and what it must not say."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cases import every
from support.oracles.ingest import CANARY, refused
from support.reading import read_baskets

import dpmine
from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.source import Columns
from dpmine.io.sources import databases, query
from dpmine.itemsets.read import read_local
from dpmine.options.names import Registered

if TYPE_CHECKING:
    from pathlib import Path

LONG = Columns(unit=("u",), item="i")
TABLE = pa.table({"u": [1], "b": [2], "i": [CANARY], "l": [[CANARY]]})
HOT = pa.table({"u": [1], CANARY: [True], f"{CANARY}2": [False]})


@every(
    ("options", "words"),
    [
        ({"item": "i", "items": "l"}, ["item and items", "exclude"]),
        ({"item": "i", "one_hot": True}, ["one_hot", "excludes item"]),
        ({"items": "i", "one_hot": True}, ["one_hot", "excludes item"]),
        ({"unit": "u", "basket": "b", "one_hot": True}, ["one_hot", "excludes basket"]),
        ({"basket": "b", "item": "i"}, ["basket needs unit"]),
        ({"unit": "u", "item": "u"}, ["'u'", "named twice"]),
        ({"unit": "u", "basket": ["b", "u"]}, ["'u'", "named twice"]),
        ({"unit": ["u", "u"]}, ["'u'", "named twice"]),
        ({"unit": ""}, ["unit", "not empty"]),
        ({"unit": 3}, ["unit", "column name"]),
        ({"unit": ["u", 3]}, ["unit", "column name"]),
        ({"basket": [None]}, ["basket", "column name"]),
        ({"item": ["i"]}, ["item", "column name"]),
        ({"items": 3}, ["items", "column name"]),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], words: list[str]) -> None:
    with refused(BadParameter, *words):
        Columns.of(**options)


def test_options_are_normalised() -> None:
    assert Columns.of() == Columns.of(unit=(), basket=[]) == Columns()
    assert Columns.of(unit="u", basket=["b", "c"]) == Columns(unit=("u",), basket=("b", "c"))


@every("options", [{"unit": "x"}, {"unit": "u", "basket": "x"}, {"item": "x"}, {"items": "x"}])
def test_missing_columns(options: dict[str, Any]) -> None:
    with refused(BadData, "no column 'x'", "'u', 'b', 'i', 'l'"):
        read_baskets(TABLE, Columns.of(**options))


def test_missing_columns_beside_items_do_not_list_the_items() -> None:
    with refused(BadData, "no column 'x'", "'u'"):
        read_baskets(HOT, Columns.of(unit="x"))
    with refused(BadData, "no column 'x'"):
        read_baskets(HOT.drop(["u"]), Columns.of(unit="x"))
    with refused(BadData, "no column 'x'"):
        read_baskets(pa.table({CANARY: [1]}), Columns.of(unit="x", one_hot=True))
    with refused(BadData, "no column 'x'", "'u'"):
        read_baskets(pd.DataFrame({"u": [1], CANARY: [True]}), Columns.of(unit="x"))


def test_many_columns_are_not_all_listed() -> None:
    data = pa.table({f"c{number}": [1] for number in range(500)})
    with refused(BadData, "'c0', 'c1'", "480 more"):
        read_baskets(data, Columns.of(unit="x"))


def test_column_names_cannot_break_the_line() -> None:
    data = pa.table({"a\nb": [1], "c\r\nd": ["x"], "e": [1.5]})
    with refused(BadData, r"a\nb"):
        read_baskets(data, Columns())
    assert "\n" not in read_baskets(data, Columns(unit=("a\nb",), item="c\r\nd")).description


@every(
    ("data", "columns"),
    [
        (TABLE.drop(["l"]), Columns()),
        (TABLE.drop(["l"]), Columns(unit=("u",))),
        (TABLE.append_column("m", TABLE.column("l")), Columns()),
        (pa.table({"i": ["x"]}), Columns()),
        (pa.table({"u": [1], "x": [0], "y": [1]}), Columns(unit=("u",))),
        (HOT, Columns()),
        (pa.table({}), Columns()),
        (pa.table({"u": [1]}), Columns(unit=("u",))),
    ],
)
def test_layouts_that_are_not_clear(data: pa.Table, columns: Columns) -> None:
    shown = [repr(name) for name in data.column_names if CANARY not in name]
    with refused(BadData, "not clear", "`item=COL`", "`unit=COL`", "`one_hot=True`", *shown):
        read_baskets(data, columns)


@pytest.mark.parametrize(
    ("columns", "likely"),
    [
        (
            {"order_id": pa.int64(), "qty": pa.int64(), "product": pa.string(), "price": pa.float64()},
            ("`unit='order_id'` `item='product'` (one row per item)", "`unit='order_id'` `attributes=True`"),
        ),
        ({"id": pa.int64(), "tea": pa.int8(), "rice": pa.int8()}, ("`unit='id'` `one_hot=True`",)),
        ({"sex": pa.string(), "ward": pa.string(), "smoker": pa.bool_()}, ("or `attributes=True`",)),
    ],
)
def test_the_two_likeliest_commands_are_shown(columns: dict[str, pa.DataType], likely: tuple[str, ...]) -> None:
    with refused(BadData, "Two commands are likely", *likely):
        read_baskets(pa.schema(list(columns.items())).empty_table(), Columns())


def test_a_long_layout_needs_a_unit() -> None:
    with refused(BadData, "privacy unit is not clear", "`unit=COL`", "'u', 'b', 'i'"):
        read_baskets(TABLE, Columns(item="i"))
    with refused(BadData, "privacy unit is not clear"):
        read_baskets(TABLE.select(["i"]), Columns(item="i"))


def test_one_hot_needs_items() -> None:
    with refused(BadData, "no column left"):
        read_baskets(TABLE.select(["u"]), Columns(unit=("u",), one_hot=True))


def test_items_must_be_lists() -> None:
    with refused(BadData, "'i'", "string", "use the option item"):
        read_baskets(TABLE, Columns(unit=("u",), items="i"))


@pytest.mark.parametrize(
    ("data", "item"), [(TABLE.select(["u", "b", "l"]), "l"), (TABLE.select(["u", "b", "l"]), None)]
)
def test_a_list_layout_has_no_basket_column(data: pa.Table, item: str | None) -> None:
    with refused(BadData, "list layout", "leave out the option basket"):
        read_baskets(data, Columns(unit=("u",), basket=("b",), item=item))


def test_a_one_hot_layout_has_no_basket_column() -> None:
    data = pa.table({"u": [1], "b": [1], CANARY: [True]})
    with refused(BadData, "one-hot layout", "leave out the option basket"):
        read_baskets(data, Columns(unit=("u",), basket=("b",)))


@every(
    "column",
    [pa.array([0, 2]), pa.array([-1, 1], pa.int8()), pa.array([0, 2**64 - 1], pa.uint64()), pa.array([None, 7])],
)
def test_one_hot_numbers_above_zero_are_items(column: pa.Array) -> None:
    """A number that is neither 0 nor 1 in one row is no reason to fail, and a negative one is none."""
    read = read_baskets(pa.table({"x": [0, 1], "y": column}), Columns(one_hot=True))
    assert (read.baskets.basket_count, read.baskets.items.tolist()) == (1, [0, 1])
    assert read.baskets.total_units == 2


def test_one_hot_columns_named_like_units_are_no_items() -> None:
    data = pa.table({"customer_id": [17, 18], "x": [0, 1]})
    with refused(BadData, "'customer_id'", "`unit='customer_id'`"):
        read_baskets(data, Columns(one_hot=True))
    assert read_baskets(data, Columns(unit=("customer_id",), one_hot=True)).baskets.unit == "customer_id"


@pytest.mark.parametrize("column", [[0.0, 1.0], [CANARY, "1"], [[1], [0]]])
def test_one_hot_columns_have_a_type(column: list[Any]) -> None:
    with refused(BadData, "'y'", "booleans"):
        read_baskets(pa.table({"x": [0, 1], "y": column}), Columns(one_hot=True))


def test_columns_of_the_same_name() -> None:
    data = pa.Table.from_arrays([pa.array([1])] * 3, names=["u", "i", "i"])
    with refused(BadData, "Several columns", "'i'"):
        read_baskets(data, Columns(unit=("u",), item="i"))
    with refused(BadData, "Several columns", "'x'"):
        read_baskets(pa.Table.from_arrays([pa.array([True])] * 2, names=["x", "x"]), Columns())
    other = pa.Table.from_arrays([pa.array([1])] * 4, names=["u", "i", "n", "n"])
    assert read_baskets(other, Columns(unit=("u",), item="i")).baskets.unit_count == 1


def test_catalogues_of_another_type() -> None:
    texts = pa.table({"u": [1], "i": [CANARY]})
    with refused(BadData, "catalogue holds integers", "texts"):
        read_baskets(texts, LONG, catalogue=pa.array([1, 2]))
    numbers = pa.table({"u": [1, 1, 1], "i": [1, 10, 3]})
    for wrong in (["1", CANARY], ["1", "1.0"], ["1", ""], ["1", "99999999999999999999"], ["1", " 2"], ["1", "٣"]):
        with refused(BadData, "catalogue", "no integer"):
            read_baskets(numbers, LONG, catalogue=pa.array(wrong))
    with refused(BadData, "catalogue", "repeats"):
        read_baskets(numbers, LONG, catalogue=pa.array(["1", "01"]))
    with refused(BadData, "catalogue holds integers"):
        read_baskets(HOT, Columns(unit=("u",)), catalogue=pa.array([1]))
    read = read_baskets(numbers, LONG, catalogue=pa.array(["10", "+3", "-4"]))
    assert read.baskets.labels.to_pylist() == [-4, 3, 10]
    assert np.array_equal(read.baskets.items, [1, 2])


def test_errors_of_foreign_objects_are_replaced() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError(CANARY)

    with refused(BadData, "Broken", "data frame"):
        read_baskets(Broken(), Columns())


def test_an_engine_that_does_not_charge_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncharged(data: Any, columns: Columns, *, before_rows: Any, **options: Any) -> Any:  # noqa: ARG001
        return read_local(data, columns, before_rows=None, **options)

    engine = Registered("uncharged", "somewhere")
    import_module("dpmine.itemsets.ways.way")  # loads what is registered once, and not as below
    monkeypatch.setattr(Registered, "load", lambda self: uncharged)  # noqa: ARG005
    monkeypatch.setattr("dpmine.itemsets.read.engine_of", lambda name, data: engine)  # noqa: ARG005
    with pytest.raises(LookupError, match="read without a charge"):
        dpmine.top_itemsets([["a", "b"]], 1, mechanism="exponential", catalogue=["a", "b"])


def _shop(kind: str, folder: Path) -> dpmine.Input:
    connect: Any = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}[kind]
    with closing(connect(folder / "shop")) as connection:
        connection.execute("CREATE TABLE rows (who TEXT, what TEXT)")
        connection.commit()
    return dpmine.Input(query="SELECT who, what FROM rows", database=f"{kind}:///{folder / 'shop'}")


@every("kind", ["sqlite", "duckdb"])
@every(
    "statement",
    [
        f"SELEC {CANARY} FROM rows",
        "SELECT who, what FROM (rows",
        "SELECT who, what FROM rows WHERE who = 'a",
        "DELETE FROM rows",
        "SELECT who, what FROM rows; DROP TABLE rows",
    ],
)
def test_a_statement_that_is_not_one_select_is_said(kind: str, statement: str, tmp_path: Path) -> None:
    data = dpmine.Input(query=statement, database=_shop(kind, tmp_path).database)
    with refused(UnreadableFile, "is not one SELECT statement that"):
        dpmine.top_itemset(data, unit="who", item="what")


def test_a_locked_database_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_WAIT", 0)
    data = _shop("sqlite", tmp_path)
    with closing(sqlite3.connect(tmp_path / "shop", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with refused(UnreadableFile, "is locked by another process"):
            dpmine.top_itemset(data, unit="who", item="what")


def test_a_duckdb_file_that_another_process_writes_is_said(tmp_path: Path) -> None:
    data = _shop("duckdb", tmp_path)
    program = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    command = [sys.executable, "-c", program, str(tmp_path / "shop")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with refused(UnreadableFile, "is locked by another process"):
            dpmine.top_itemset(data, unit="who", item="what")
        other.communicate(b"\n")


@every(
    ("code", "said"),
    [
        ("SQLITE_READONLY", "does not allow this user"),
        ("SQLITE_CANTOPEN", "does not allow this user"),
        ("SQLITE_LOCKED_SHAREDCACHE", "is locked by another process"),
        ("SQLITE_NOTADB", "rejects the query (OperationalError)"),
    ],
)
def test_other_reasons_go_by_the_code_alone(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        error = sqlite3.OperationalError(CANARY)
        error.sqlite_errorname = code
        raise error

    data = _shop("sqlite", tmp_path)
    monkeypatch.setattr(databases.SQLite, "columns", fail)
    with refused(UnreadableFile, said):
        dpmine.top_itemset(data, unit="who", item="what")


def test_a_shortage_of_memory_in_duckdb_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise duckdb.OutOfMemoryException(CANARY)

    data = _shop("duckdb", tmp_path)
    monkeypatch.setattr(query, "_files_in", fail)
    with pytest.raises(MemoryError):
        dpmine.top_itemset(data, unit="who", item="what")
