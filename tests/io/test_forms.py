"""CSV, Arrow files, standard input, LazyFrames, Delta tables and queries: the same baskets, no value in errors."""

from __future__ import annotations

import gzip
import io
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.oracles.ingest import CANARY, contents, refused
from support.reading import read_baskets

import dpmine
from dpmine.errors import BadData, BadParameter, DpmineError, FailedPass, UnreadableFile
from dpmine.io.files import STDIN
from dpmine.io.input import Input
from dpmine.io.open import open_input
from dpmine.io.source import Columns
from dpmine.io.sources.text_columns import TextSource
from dpmine.itemsets.read import read_transactions
from dpmine.models.tables import read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

LONG = Columns(unit=("who",), item="what")
ROWS = pa.table({"who": ["00123", "00123", "b", "c", None], "what": ["x, y", 'say "z"', "x, y", "two lines", "w"]})
UNITS = [[('say "z"', "x, y")], [("two lines",)], [("x, y",)]]


def _csv(delimiter: str = ",") -> bytes:
    sink = io.BytesIO()
    pacsv.write_csv(ROWS, sink, pacsv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
    return sink.getvalue()


def _arrow(writer: Callable[..., Any]) -> bytes:
    sink = io.BytesIO()
    with writer(sink, ROWS.schema) as out:
        out.write_table(ROWS, max_chunksize=2)
    return sink.getvalue()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(ROWS, sink)
    return sink.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "rows.csv": _csv,
    "rows.CSV": lambda: b"\xef\xbb\xbf" + _csv(),
    "rows.csv.gz": lambda: gzip.compress(_csv()),
    "rows.tsv": lambda: _csv("\t"),
    "rows.arrow": lambda: _arrow(pa.ipc.new_stream),
    "rows.feather": lambda: _arrow(pa.ipc.new_file),
    "rows.parquet": _parquet,
}


@every("name", FILES)
def test_files_of_every_form_hold_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    assert contents(read_baskets(str(path), LONG).baskets) == UNITS
    assert contents(read_baskets(Input([path]), LONG).baskets) == UNITS


@every("name", [name for name in FILES if not name.endswith("gz")])
def test_so_does_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(FILES[name]())
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": content}))
    told: dict[str, Any] = {"input_format": "tsv"} if name.endswith("tsv") else {}
    assert contents(read_baskets(Input(STDIN, **told), LONG).baskets) == UNITS


@every("delimiter", [";", "|", "\t", " "])
@every("name", ["rows.csv", "rows.txt", STDIN])
def test_so_do_other_delimiters(delimiter: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = _csv(delimiter)
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(content)}))
    (tmp_path / "rows.csv").write_bytes(content)
    (tmp_path / "rows.txt").write_bytes(content)
    path = name if name == STDIN else tmp_path / name
    assert contents(read_baskets(Input(path, delimiter=delimiter), LONG).baskets) == UNITS


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x;y\n1,5;a\n1.5;b\n-2;c\n1.234,5;d\n,5;e\n", encoding="utf-8")
    source = open_input(Input(path, delimiter=";", decimal=",")).as_numbers(["x"])
    (batch,) = source.batches(["x"])
    assert batch.column(0).to_pylist() == [1.5, None, -2.0, None, 0.5]


def test_so_do_frames_tables_and_queries(tmp_path: Path) -> None:
    delta, sqlite, duck = (tmp_path / name for name in ("delta", "rows.sqlite", "rows.duckdb"))
    write_deltalake(delta, pa.table({"who": ["old"], "what": [CANARY]}))
    write_deltalake(delta, ROWS, mode="overwrite")
    assert DeltaTable(delta).version() == 1
    with closing(sqlite3.connect(sqlite)) as there, there:
        there.execute("CREATE TABLE rows (who TEXT, what TEXT, n)")
        there.executemany("INSERT INTO rows VALUES (?, ?, 1)", zip(*ROWS.to_pydict().values(), strict=True))
    with duckdb.connect(str(duck)) as connection:
        connection.register("given", ROWS)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    frame = pl.DataFrame(ROWS.to_pydict()).lazy().with_columns(other=pl.lit(1))
    read: dict[str, object] = {
        "Delta": delta,
        "SQLite": Input(query="SELECT who, what FROM rows;", database=f"sqlite:///{sqlite}"),
        "DuckDB": Input(query="SELECT what, who FROM rows -- all", database=f"duckdb:///{duck}"),
        "LazyFrame": frame,
    }
    assert {name: contents(read_baskets(data, LONG).baskets) for name, data in read.items()} == dict.fromkeys(
        read, UNITS
    )


def test_many_rows_are_streamed(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"who": rng.integers(0, 50_000, 400_000), "what": rng.integers(0, 500, 400_000)})
    texts = table.cast(pa.schema([("who", pa.string()), ("what", pa.string())]))
    pacsv.write_csv(table, tmp_path / "rows.csv")
    whole = read_transactions(texts, LONG, memory="1GB").transactions
    large = read_transactions(str(tmp_path / "rows.csv"), LONG, memory="64MB").transactions
    assert type(whole) is not type(large)
    assert large.miner().histogram(2, 20) == whole.miner().histogram(2, 20)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], str]:
    """A CSV file of these bytes."""

    def write(content: bytes) -> str:
        path = tmp_path / "given.csv"
        path.write_bytes(content)
        return str(path)

    return write


@given(st.lists(st.sampled_from(["1", "-2.5", "1e3", "x", "", "0x1F", "1e999", "nan", " 7 ", "9" * 30, "\ud800"])))
def test_no_value_changes_what_others_are(texts: list[str]) -> None:
    def numbers(values: Sequence[str]) -> list[Any]:
        column = pa.array([text.encode(errors="surrogatepass") for text in values], pa.binary())
        rows = pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.string(), len(column), column.buffers())], ["n"])

        def read(_names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            return iter([rows])

        source = TextSource(("n",), {}, read)
        both = [source.as_numbers(["n"]), TextSource(("n",), {"n": pa.int64()}, read), source.as_flags(["n"])]
        return [column.to_pylist() for each in both for batch in each.batches(["n"]) for column in batch.columns]

    apart = [numbers([text]) for text in texts]
    assert numbers(texts) == [[one[kind][0] for one in apart] for kind in range(3)] if texts else True


def test_columns_are_numbers_where_these_are_needed(written: Callable[[bytes], str]) -> None:
    path = written(b"who,age,smokes\n007,41,yes\n8,x,no\n9,,yes\n")
    read = read_columns(path, ["age"], labels=["smokes"], keys=["who"])
    np.testing.assert_array_equal(read["age"], [41, np.nan, np.nan])
    assert read["smokes"].tolist() == ["yes", "no", "yes"]
    assert read.whole == frozenset()
    declared = read_columns(Input(path, types="age=int64"), ["age"])
    assert declared.whole == {"age"}


@every(
    ("flag", "is_item"),
    [
        *[(text, True) for text in ("1", "1.0", "3", "+2", "0.5", "1e3", "yes", "TRUE", " 1 ")],
        *[(text, False) for text in ("0", "0.0", "-0", "-1", "-0.5", "0e5", ".0", "no", "f", "maybe", "")],
    ],
)
def test_one_hot_numbers_of_text_above_zero_are_items(flag: str, is_item: bool, tmp_path: Path) -> None:
    """As in columns of integers, of every row by itself."""
    path = tmp_path / "a.csv"
    path.write_text(f"who,tea,milk\na,{flag},1\nb,1,0\n")
    found = contents(read_baskets(str(path), Columns(unit=("who",), one_hot=True)).baskets)
    assert sorted(map(str, found)) == sorted(map(str, [[("milk", "tea") if is_item else ("milk",)], [("tea",)]]))


def test_one_hot_numbers_with_a_decimal_comma(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who;tea;milk\na;0,0;1,0\n")
    data = Input(tmp_path / "a.csv", delimiter=";", decimal=",")
    assert contents(read_baskets(data, Columns(unit=("who",), one_hot=True)).baskets) == [[("milk",)]]


def test_one_hot_columns_are_flags(written: Callable[[bytes], str]) -> None:
    path = written(b"who,tea,milk\na,1,0\nb,true,yes\nc,0,maybe\n")
    columns = Columns(unit=("who",), one_hot=True)
    assert contents(read_baskets(path, columns).baskets) == [[("milk", "tea")], [("tea",)]]
    with refused(BadData, "named like a privacy unit"):
        read_baskets(written(b"customer,tea\n7,1\n"), Columns(one_hot=True))


@every(
    ("content", "hint"),
    [
        (b"", "is empty: give a file with the columns' names in its first line"),
        (f"who,{CANARY}\na,b\n".encode("utf-16"), "is text in UTF-16: convert it (iconv -f utf-16 -t utf-8)"),
        (b"\xfe\xff" + f"who,{CANARY}\na,b\n".encode("utf-16-be"), "is text in UTF-16"),
        (f"who,{CANARY}\na,b\n".encode("utf-16-le"), "not text in UTF-8 with the columns' names in its first line"),
        (f"\nwho,{CANARY}\n".encode(), "not text in UTF-8 with the columns' names in its first line"),
    ],
)
@every("encoding", ["utf-8", "latin-1"])
@every("name", ["given.csv", "given.csv.gz"])
def test_files_that_are_no_such_text(content: bytes, hint: str, encoding: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with refused(UnreadableFile, name, hint):
        read_baskets(Input(path, encoding=encoding), LONG)


@every("encoding", ["latin-1", "windows-1252"])
def test_text_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    """Header and rows. As UTF-8 such rows are read all the same, and such a header is rejected."""
    path = tmp_path / f"{encoding}.csv"
    path.write_bytes("who,what\na,crème\na,tea\n".encode(encoding))
    assert contents(read_baskets(Input(path, encoding=encoding), LONG).baskets) == [[("crème", "tea")]]
    assert contents(read_baskets(Input(path, encoding="utf-8"), LONG).baskets) == [[("cr\ufffdme", "tea")]]
    path.write_bytes("who,was für\na,tea\n".encode(encoding))
    columns = Columns(unit=("who",), item="was für")
    assert contents(read_baskets(Input(path, encoding=encoding), columns).baskets) == [[("tea",)]]
    with refused(UnreadableFile, "or say what it is (`encoding='latin-1'`)"):
        read_baskets(Input(path), columns)


@given(rows=st.binary(max_size=200))
def test_no_byte_of_another_encoding_stops_a_run(rows: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    path.write_bytes(b"who,what\n" + rows.replace(b'"', b"") + b"\nz,tea\n")
    for encoding in ("latin-1", "windows-1252"):
        units = contents(read_baskets(Input(path, encoding=encoding), LONG).baskets)
        assert any("tea" in basket for unit in units for basket in unit)


def test_a_missing_header_is_not_quoted(written: Callable[[bytes], str]) -> None:
    path = written(f"{CANARY},7\nb,8\n".encode())
    for columns in (LONG, Columns(), Columns(item="what"), Columns(unit=("who",))):
        with refused(BadData, "head -n 1"):
            read_baskets(path, columns)
    with refused(BadData, "head -n 1"):
        read_columns(path, ["age"])
    with refused(BadData, "head -n 1"):
        read_baskets(Input(path, types={"age": "int64"}), LONG)


def test_every_file_needs_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"who,what\na,x\n")
    (tmp_path / "b.csv").write_bytes(b"what,who\nx,b\n")
    (tmp_path / "c.csv").write_bytes(b"who,other\nx,b\n")
    found = read_baskets([tmp_path / "a.csv", tmp_path / "b.csv"], LONG).baskets
    assert contents(found) == [[("x",)], [("x",)]]
    with refused(BadData, "missing in some of the files"):
        read_baskets(Input(tmp_path, input_format="csv"), LONG)
    with refused(BadData, "missing in some of the files"):  # said before any charge
        open_input(Input(tmp_path, input_format="csv")).type_of("what")


@every(
    ("arguments", "hint"),
    [
        ({}, "nothing to read"),
        ({"files": "a.csv", "query": "SELECT 1", "database": "sqlite:///b"}, "takes the place"),
        ({"database": "sqlite:///b"}, "`database` needs `query`"),
        ({"query": "SELECT a FROM 'a.csv'", "where": "a > 'x'"}, "its own WHERE"),
        ({"files": "a.csv", "where": " "}, "`where` must be a condition"),
        ({"files": "a.csv", "types": "n=date:%Y"}, "how a date is written"),
        ({"files": "a.csv", "types": "n=int64:%Y"}, "`types` must be"),
        ({"files": "a", "input_format": "xls"}, "input_format must be"),
        ({"files": ["a.csv", "b.parquet"]}, "several forms"),
        ({"files": ["a.csv", "hours"]}, "'hours' is read as a FILE"),
        ({"files": "a.xlsx"}, "does not read: save it as CSV"),
        ({"files": "a.parquet", "delimiter": ";"}, "`delimiter` is for CSV"),
        ({"files": "a.tsv", "delimiter": ";"}, "`delimiter` is for CSV"),
        ({"query": "SELECT 1", "database": "sqlite:///b", "delimiter": ";"}, "`delimiter` is for CSV"),
        ({"files": "a.csv", "delimiter": ";;"}, "one character"),
        ({"files": "a.csv", "delimiter": "x"}, "one character"),
        ({"files": "a.csv", "delimiter": "\n"}, "one character"),
        ({"files": "a.csv", "quotes": "single"}, "`quotes` must be 'double' or 'multiline' or 'none'"),
        ({"files": "a.csv", "decimal": ";"}, "`decimal` must be"),
        ({"files": "a.parquet", "decimal": ","}, "`decimal` is for CSV"),
        ({"files": "a.csv", "encoding": "ebcdic"}, "`encoding` must be 'utf-8' or 'latin-1' or"),
        ({"files": "a.arrow", "encoding": "latin-1"}, "`encoding` is for CSV"),
        ({"query": "SELECT 1", "database": "sqlite:///b", "quotes": "none"}, "`quotes` is for CSV"),
        ({"files": "a.csv", "types": "n=decimal"}, "types"),
        ({"files": "a.csv", "types": 3}, "types"),
        ({"files": "a.parquet", "types": "n=int64"}, "has types"),
        ({"query": "SELECT 1", "database": "oracle://x"}, "`database` must be"),
        ({"query": "SELECT 1", "database": "duckdb:///x", "types": "n=int64"}, "DuckDB's columns have types"),
    ],
)
def test_inputs_that_contradict_themselves(arguments: dict[str, Any], hint: str) -> None:
    with refused(BadParameter, hint):
        read_baskets(Input(**arguments), LONG)


@every(
    ("query", "database"),
    [
        ("SELECT who FROM nowhere", "sqlite:///there.db"),
        ("SELEC", "sqlite:///there.db"),
        ("SELECT who FROM nowhere", "duckdb:///there.duckdb"),
        ("SELECT 1", "sqlite:///missing.db"),
        ("SELECT 1", "duckdb:///missing.duckdb"),
        ("SELECT 1", "postgresql://me:secret@localhost:1/x"),
    ],
)
def test_databases_that_do_not_answer(
    query: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sqlite3.connect("there.db").close()
    duckdb.connect("there.duckdb").close()
    (tmp_path / "there.db").write_bytes(b"")
    with refused(UnreadableFile, database.replace("me:secret@", "")):
        dpmine.top_itemset(Input(query=query, database=database), unit="who", item="what")
    assert not list(tmp_path.glob("missing*"))


@every("kind", ["sqlite", "duckdb"])
@every(
    ("query", "said"),
    [
        (
            "SELECT who FROM row",
            "names a table that {} does not have: write one that it holds in `query=…`: 'rows', 'view'.",
        ),
        ("SELECT whom FROM rows", "names a column that its tables in {} do not have: correct it in `query=…`"),
    ],
)
def test_a_table_or_column_that_is_not_in_a_database_is_said(query: str, said: str, kind: str, tmp_path: Path) -> None:
    """Tables and columns are the schema, which is public."""
    path = tmp_path / f"shop.{kind}"
    statements = ["CREATE TABLE IF NOT EXISTS rows (who TEXT)", "CREATE VIEW IF NOT EXISTS view AS SELECT * FROM rows"]
    with closing(duckdb.connect(path) if kind == "duckdb" else sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    shown = f"{kind}:///{path}"
    with refused(UnreadableFile, said.format(shown)):
        dpmine.top_itemset(Input(query=query, database=shown), unit="who", item="what")


@every(
    ("query", "words"),
    [
        ("SELECT who, what FROM rows", ""),
        ("SELECT who, what FROM rows WHERE what <> 'LIMIT' -- no JOIN", ""),
        ('SELECT who, what FROM rows AS "max(" /* GROUP BY */', ""),
        ("SELECT who, max(what) AS what FROM rows\ngroup  by who", "the query has GROUP BY, an aggregate: "),
        ("SELECT who, what FROM rows WHERE what IN ('a', 'b') ORDER BY who, what", ""),
        ("SELECT a.who, b.what FROM rows AS a, rows b", "the query has several tables: "),
        ("SELECT who, what FROM rows\nWHERE who IN (SELECT who FROM rows)", "the query has a second SELECT: "),
        ("SELECT DISTINCT who, what FROM rows LIMIT 5", "the query has DISTINCT, LIMIT: "),
        ("SELECT who, what FROM rows JOIN rows AS r USING (who, what)", "the query has JOIN: "),
        ("SELECT who, what, row_number() OVER () FROM rows", "the query has a window (OVER): "),
        ("SELECT who, what FROM rows UNION ALL SELECT who, what FROM rows", "the query has UNION, a second SELECT: "),
    ],
)
@every("kind", ["sqlite", "duckdb"])
def test_statements_that_can_mix_units_are_said_by_their_text(
    query: str, words: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"shop.{kind}"
    with closing(duckdb.connect(path) if kind == "duckdb" else sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS rows (who TEXT, what TEXT)")
    source, told = Input(query=query, database=f"{kind}:///{path}"), list[str]()
    dpmine.top_itemset(source, unit="who", item="what", notice=told.append)
    assert sum("can mix rows of several units" in text for text in told) == bool(words)
    assert any(text.startswith(words) for text in told)


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").close()
    (tmp_path / "a.db").touch()
    with refused(UnreadableFile, "it holds none; check `database=…`"):
        dpmine.top_itemset(Input(query="SELECT 1 FROM rows", database=f"sqlite:///{tmp_path / 'a.db'}"), unit="who")


def test_a_query_that_fails_at_a_value_does_not_quote_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT 'a' AS who, '{CANARY}' AS what")
    query = Input(query="SELECT who, CAST(what AS INTEGER) AS what FROM rows", database=f"duckdb:///{path}")
    with refused(FailedPass, "failed while it returned rows"):
        read_baskets(query, LONG)


def test_damaged_arrow_files(tmp_path: Path) -> None:
    content = _arrow(pa.ipc.new_file)
    for size in range(0, len(content), 7):
        (tmp_path / "half.arrow").write_bytes(content[:size])
        with refused(DpmineError):
            read_baskets(tmp_path / "half.arrow", LONG)
