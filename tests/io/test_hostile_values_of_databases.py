"""No value in a database stops a run after its charge, or shows otherwise: in a column of items, keys, days, or none.

Hostile values are more rows beside fifty plain ones, and the runs are compared.
"""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from ledger.guarantees import guarantee
from support.cases import every
from support.hostile.databases import TABLE, database_of
from support.oracles.ingest import refused

import dpmine
from dpmine.errors import DpmineError, FailedPass, UnreadableFile
from dpmine.io.input import Days, WindowedInput
from dpmine.io.sources.databases import PostgreSQL, SQLite
from dpmine.models.tables import read_columns, require_columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ledger.postgres import Cluster

POSTGRESQL = {
    "date": ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'20000-01-01'"],
    "timestamp": ["'infinity'", "'4713-01-01 BC'", "'294276-12-31 23:59:59'"],
    "timestamptz": ["'-infinity'", "'20000-01-01'"],
    "time": ["'24:00'"],
    "timetz": ["'24:00+15:59'"],
    "daterange": ["'[2026-01-01,infinity)'", "'empty'", "'(,0001-01-01 BC]'"],
    "tstzmultirange": ["'{[20000-01-01,infinity)}'"],
    "date[]": ["'{infinity,NULL}'", "'[5:6]={2026-01-01,20000-01-01}'"],
    "time[]": ["'{{24:00},{24:00}}'"],
    "jsonb": ["(repeat('[', 3000) || repeat(']', 3000))::jsonb", "'1e1000'", r"""'"\ud83d\ude00"'"""],
    "json": ["(repeat('[', 3000) || repeat(']', 3000))::json", r"""'"\u0000"'"""],
    "interval": ["'-178000000 years'", "'178000000 years 9223372036854 seconds'"],
    "numeric": ["'NaN'", "'-Infinity'", "(repeat('9', 100000))::numeric", "1e-16000"],
    "float8": ["'NaN'", "'Infinity'", "'5e-324'"],
    "money": ["'-92233720368547758.08'"],
    "bytea": [r"'\xff00'"],
    "inet": ["'::1/0'"],
    "bit varying": ["B''"],
    "point": ["'(Infinity,NaN)'"],
    "mood": ["'grim'"],
    "pair": ["ROW('infinity', '24:00')"],
    "text": [r"E'\t\n\r\\N\\.'", r"'\N'", "''", "repeat('x', 3000000)", r"E'\uFFFF'"],
    '"char"': [r"'\377'"],
}
TYPES = {
    "postgresql": "CREATE TYPE mood AS ENUM ('fine', 'grim'); CREATE TYPE pair AS (day date, at time)",
    "duckdb": "CREATE TYPE mood AS ENUM ('fine', 'grim')",
    "sqlite": "",
}
SQLITE = [
    "CAST(X'ff61c3' AS TEXT)",
    "CAST(X'eda080' AS TEXT)",
    "X'ff00fe'",
    "'a' || char(0) || 'b'",
    "9223372036854775807",
    "-9e999",
    "0.1",
    "''",
    "replace(printf('%.3000000c', 'x'), 'x', '\u00e9')",
    "'20000-01-01'",
    "20000101",
    "'2026-02-30T99:99'",
    "char(0)",
]
DUCKDB = {
    "date": ["'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'20000-01-01'"],
    "timestamp": ["'infinity'", "'290308-12-22 (BC)'", "'294246-12-31'"],
    "timestamp_s": ["'-infinity'", "'294246-12-31'"],
    "timestamp_ms": ["'infinity'"],
    "timestamp_ns": ["'-infinity'"],
    "timestamptz": ["'infinity'", "'20000-01-01'"],
    "bigint": ["9223372036854775807", "-9223372036854775808"],
    "ubigint": ["18446744073709551615"],
    "varchar": ["chr(0)", "''", "repeat('x', 3000000)", "'\ufffe'"],
    "mood": ["'grim'"],
    "uuid": ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "json": ["repeat('[', 3000) || repeat(']', 3000)"],
    "hugeint": ["170141183460469231731687303715884105727"],
    "time": ["'24:00'"],
    "interval": ["'290000 years'"],
    "blob": [r"'\xFF'"],
    "double": ["'nan'", "'-inf'"],
}


def item(data: dict[str, Any], **charged: Any) -> None:
    query = dpmine.Input(query=f"SELECT customer, value FROM {TABLE}", **data)
    dpmine.top_itemset(query, size=1, unit="customer", item="value", **charged)


def basket(data: dict[str, Any], **charged: Any) -> None:
    query = dpmine.Input(query=f"SELECT customer, value, product FROM {TABLE}", **data)
    named: dict[str, Any] = {"unit": "customer", "basket": "value", "item": "product"}
    dpmine.top_itemset(query, size=1, memory="64MB", **named, **charged)


def unused(data: dict[str, Any], **charged: Any) -> None:
    query = dpmine.Input(query=f"SELECT * FROM {TABLE}", **data)
    dpmine.top_itemset(query, size=1, unit="customer", item="product", **charged)


def day(data: dict[str, Any], **charged: Any) -> None:
    types = None if data["database"].startswith("duckdb") else "value=date"
    query = WindowedInput(query=f"SELECT * FROM {TABLE}", types=types, days=Days("value", 20000, 30000), **data)
    dpmine.top_itemset(query, size=1, unit="customer", item="product", **charged)


def number(data: dict[str, Any], ledger: dpmine.Ledger, dataset: str) -> None:
    query = dpmine.Input(query=f"SELECT * FROM {TABLE}", **data)
    charge = partial(ledger.charge, dataset, guarantee("1"), job="fit")
    read_columns(query, ["value"], keys=["customer"], ready=charge)


def label(data: dict[str, Any], ledger: dpmine.Ledger, dataset: str) -> None:
    query = dpmine.Input(query=f"SELECT * FROM {TABLE}", **data)
    require_columns(query, [], labels=["value"])
    charge = partial(ledger.charge, dataset, guarantee("1"), job="fit")
    read_columns(query, [], labels=["value"], keys=["customer"], any_label=True, ready=charge)


def seen(use: Callable[..., None], database: str, ledger: dpmine.Ledger) -> tuple[Any, ...]:
    """The error or none, the warnings, and what the ledger holds."""
    dataset, error = uuid4().hex, ""
    ledger.grant(dataset, epsilon=5, delta="1e-5")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            use({"database": database}, ledger=ledger, dataset=dataset)
        except DpmineError as refusal:
            error = f"{type(refusal).__name__}: {refusal}"
    spent = ledger.budget(dataset).spent
    return error.replace(database, ""), [str(warning.message) for warning in told], (spent.epsilon, spent.delta)


def require_same(kind: str, place: Path | Cluster, declared: str, values: list[str], folder: Path) -> None:
    texts = "text" if kind == "postgresql" else "VARCHAR"
    columns = {"customer": texts, "product": texts, "value": declared}
    plain = [f"'c{n}', 'p{n % 3}', NULL" for n in range(50)]
    hostile = [f"'c7', 'p1', {value}" for value in values]
    without, beside = (
        database_of(kind, place, columns, rows, TYPES[kind]) for rows in (plain, [*plain[:25], *hostile, *plain[25:]])
    )
    ledger = dpmine.Ledger(f"sqlite:///{folder}/budget.db")
    for use in (item, basket, unused, day, number, label):
        found = seen(use, beside, ledger)
        assert found == seen(use, without, ledger), use.__name__
        assert not found[0] or found[2][0] == 0, f"{use.__name__} ended after its charge"


@every("declared", ["", "DATE"])
def test_no_value_of_sqlite_shows(declared: str, tmp_path: Path) -> None:
    require_same("sqlite", tmp_path, declared, SQLITE, tmp_path)


@pytest.mark.slow
@every("declared", sorted(DUCKDB))
def test_no_value_of_duckdb_shows(declared: str, tmp_path: Path) -> None:
    require_same("duckdb", tmp_path, declared, DUCKDB[declared], tmp_path)


@pytest.mark.slow
@every("declared", sorted(POSTGRESQL))
def test_no_value_of_postgresql_shows(declared: str, cluster: Cluster, tmp_path: Path) -> None:
    require_same("postgresql", cluster, declared, POSTGRESQL[declared], tmp_path)


def test_reading_leaves_no_file_behind(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE sales (a)")
    database = SQLite(str(path))
    assert list(database.rows("SELECT a FROM sales")) == []
    with pytest.raises(database.errors):
        list(database.rows("INSERT INTO sales VALUES (1) RETURNING a"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_no_text_of_a_server_in_another_encoding_shows(cluster: Cluster) -> None:
    import psycopg

    for encoding, text in (("LATIN1", r"\xe9"), ("WIN1252", r"\x81"), ("SQL_ASCII", r"\xff"), ("EUC_JP", r"\xb0a1")):
        with psycopg.connect(cluster.libpq("postgres"), autocommit=True) as connection:
            made = f"CREATE DATABASE \"{encoding}\" ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'"
            connection.execute(made.encode())
        statement = f"SELECT 'a' AS who, convert_from('{text}', '{encoding}') AS what"
        query = dpmine.Input(query=statement, database=cluster.url(encoding))
        found = dpmine.itemset_supports(query, size=1, unit="who", item="what")
        assert len(found["itemsets"]) == 1, encoding


@pytest.mark.slow
def test_the_server_cannot_be_written_to(cluster: Cluster) -> None:
    url = database_of("postgresql", cluster, {"a": "text"}, ["'x'"])
    server = PostgreSQL(url)
    with pytest.raises(server.errors):
        server.columns(f"INSERT INTO {TABLE} VALUES ('y') RETURNING a")
    with refused(UnreadableFile, "is not one SELECT statement that"):
        statement = f"SELECT 1) AS x; COMMIT; DELETE FROM {TABLE}; SELECT * FROM (SELECT 1"
        dpmine.itemset_supports(dpmine.Input(query=statement, database=url), size=1, unit="a")
    assert list(server.rows(f"SELECT a FROM {TABLE}")) == [["x"]]


class _Stop(Exception):
    """Before the first value is read."""


def stop() -> None:
    raise _Stop


def cautions(query: dpmine.Input) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(_Stop):
            read_columns(query, [], labels=["what"], ready=stop)
    return [str(warning.message) for warning in told]


@every(
    "statement", ["SELECT who, CAST(what AS INTEGER) AS what FROM rows", "SELECT who, what FROM rows WHERE what = 1"]
)
def test_a_conversion_is_said_beforehand_and_its_failure_is_one_sentence(statement: str, tmp_path: Path) -> None:
    columns = {"who": "VARCHAR", "what": "VARCHAR"}
    fails, works = (
        dpmine.Input(query=statement, database=database_of("duckdb", tmp_path, columns, [f"'a', '{value}'"]))
        for value in ("x", "1")
    )
    assert cautions(fails) == cautions(works)
    assert "computes with values" in cautions(fails)[0]
    with refused(FailedPass, "failed while it returned rows"):
        dpmine.itemset_supports(fails, size=1, unit="who", item="what")


FAILING = {
    "sqlite": ("abs(what) > 1", "json_extract(what, '$.a') = 1", "replace(what, 'a', 'bb') = 'x'"),
    "duckdb": ("what::INT = 1", "strptime(what, '%Y') IS NULL", "length(what) + 1 > 1", "length(what) * 2 > 1"),
}
HARMLESS = (
    "what IN ('a - b', 'c(d)') AND (who = '1')",
    "lower(what) = 'x'",
    "length(what) BETWEEN -1 AND 9",
    "ltrim(what) = ifnull(who, 'x')",
)


@every("kind", FAILING)
def test_what_can_fail_at_one_row_is_said_beforehand(kind: str, tmp_path: Path) -> None:
    """No cast alone fails: functions do in every database, and sums beyond the largest integer in most.

    `replace` makes a text longer than a database can hold out of one that it can.
    """

    def told(condition: str) -> list[str]:
        query = dpmine.Input(query=f"SELECT * FROM rows WHERE {condition}", database=database)
        return [text for text in cautions(query) if "computes with values" in text]

    database = database_of(kind, tmp_path, {"who": "VARCHAR", "what": "VARCHAR"}, ["'a', 'x'"])
    assert all(told(condition) for condition in FAILING[kind])
    assert not any(told(condition) for condition in HARMLESS)
