"""Files that a statement for DuckDB names as tables: read by our rules, whatever their values, and by nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from support.cases import every
from support.oracles.ingest import refused

import dpmine
from dpmine import Input
from dpmine.errors import UnreadableFile
from dpmine.io.open import open_source
from dpmine.io.source import Columns
from dpmine.io.sources import query as queries

if TYPE_CHECKING:
    import pytest


def _sold(name: str, *hostile: bytes) -> None:
    """A file of sales, some of whose texts, instants and days are none."""
    texts = pa.array([b"bread", b"tea", *hostile], pa.binary()).cast(pa.large_binary())
    far = [0, 0, *[2**62] * len(hostile)]
    columns = {
        "who": [f"c{n}" for n in range(len(far))],
        "what": pa.Array.from_buffers(pa.large_string(), len(far), texts.buffers()),
        "year": [2026] * len(far),
        "sold_at": pa.array(far).view(pa.timestamp("ms", tz="UTC")),
        "day": pa.array([min(n, 2**31 - 1) for n in far], pa.int32()).view(pa.date32()),
        "took": pa.array(far).view(pa.duration("s")),
    }
    pq.write_table(pa.table(columns), name)


@every(
    "statement",
    [
        "SELECT who, what FROM '{}' WHERE year = 2026",
        "SELECT who, lower(what) AS what FROM '{}' WHERE what ILIKE '%e%' OR trim(what) <> ''",
        "WITH sold AS (SELECT * FROM \"{}\") SELECT who, what FROM sold WHERE sold_at < '2020-01-01' OR year(day) > 1",
    ],
)
def test_duckdb_filters_files_by_our_rules(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, hostile in (("plain.parquet", []), ("hostile.parquet", [b"\xff\xfe", b"\xc3e"])):
        _sold(name, *hostile)
        query = Input(query=statement.format(name), database="duckdb:///:memory:")
        found = dpmine.itemset_supports(query, size=1, unit="who", item="what")
        assert {frozenset(["bread"]), frozenset(["tea"])} <= set(found["itemsets"])


def test_duckdb_filters_text_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_bytes(b"who,what,year\na,007,2026\nb,\xff,2025\nc\n,,\n")
    query = Input(query="SELECT who, what FROM 'a.csv' WHERE year = '2026'", database="duckdb:///:memory:")
    assert dpmine.itemset_supports(query, size=1, unit="who", item="what")["itemsets"].tolist() == [frozenset(["007"])]


@every(
    ("query", "said"),
    [
        ("SELECT * FROM read_csv('a.csv')", "The query opens a file by itself"),
        ("SELECT * FROM a.csv", "The query opens a file by itself"),
        ("SELECT * FROM glob('*')", "The query opens a file by itself"),
        ("SELECT * FROM read_text('/etc/passwd')", "The query opens a file by itself"),
        ("SELECT 1) AS x; COPY (SELECT 1) TO 'b.csv'; SELECT * FROM (SELECT 1", "The query opens a file by itself"),
        ("COPY (SELECT 1) TO 'b.csv'", "is not one SELECT statement that"),
        ("SELECT * FROM files", "names a table that duckdb:///"),
        ("SELECT * FROM 'missing.parquet'", "missing.parquet does not exist"),
        ("SELECT took FROM 'plain.parquet'", "names a column that its tables in duckdb:///"),
    ],
)
@every("place", [":memory:", "shop.duckdb"])
def test_duckdb_itself_reads_and_writes_no_file(
    query: str, said: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("who,what\na,b\n")
    _sold("plain.parquet")
    if place != ":memory:":
        duckdb.connect(place).close()
    with refused(UnreadableFile, said):
        dpmine.top_itemset(Input(query=query, database=f"duckdb:///{place}"), unit="who", item="what")
    assert not Path("b.csv").exists()


def test_a_file_with_another_delimiter_is_named_with_the_option_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("who;what\na;b\n")
    with refused(UnreadableFile, "names a column", "a.csv has one column", "delimiter"):
        dpmine.top_itemset(Input(query="SELECT who, what FROM 'a.csv'", database="duckdb:///:memory:"))


def test_the_rules_of_text_files_are_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("who,what\na,b\n")
    _sold("plain.parquet")
    shown = {}
    for name in ("a.csv", "plain.parquet"):
        notices: list[str] = []
        query = Input(query=f"SELECT who, what FROM '{name}'", database="duckdb:///:memory:")
        dpmine.top_itemset(query, unit="who", item="what", notice=notices.append)
        shown[name] = [text for text in notices if "each line of text is a row" in text]
    assert (len(shown["a.csv"]), shown["plain.parquet"]) == (1, [])


def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _sold("sales.parquet")
    content = bytearray(Path("sales.parquet").read_bytes())
    content[4:60] = b"\xff" * 56
    Path("sales.parquet").write_bytes(content)
    query = Input(query="SELECT who, what FROM 'sales.parquet'", database="duckdb:///:memory:")
    with refused(UnreadableFile, "sales.parquet cannot be read: it is damaged"):
        dpmine.itemset_supports(query, size=1, unit="who", item="what")


def test_rows_of_duckdb_come_in_small_pieces_from_one_thread() -> None:
    """Each thread, and a batch of a million rows, hold tens of megabytes that no limit counts."""
    query = "SELECT range AS number, current_setting('threads') AS threads FROM range(150000)"
    query += " WHERE current_setting('temp_directory') = ''"  # nor may it write rows to files of its own
    source = open_source(Input(query=query, database="duckdb:///:memory:"), Columns())
    batches = list(source.batches(["number", "threads"]))
    assert max(batch.num_rows for batch in batches) <= 2**16
    assert sum(batch.num_rows for batch in batches) == 150_000
    assert {*batches[0].column("threads").unique().to_pylist()} == {1}


def test_a_query_lowers_no_limit_of_memory_beside_another_one(tmp_path: Path) -> None:
    """Connections to one file share the limit: lowered, it would end what another thread sorts, after a charge."""

    class Limited:
        def cursor(self) -> duckdb.DuckDBPyConnection:
            limited.append(True)
            return duckdb.connect()

    limited: list[bool] = []
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE sales AS SELECT range AS number FROM range(10)")
    source = open_source(Input(query="SELECT * FROM sales", database=f"duckdb:///{path}"), Columns())
    with queries._connection(str(path)), queries._connection(str(path)):
        queries._empty_cache(cast("duckdb.DuckDBPyConnection", Limited()))
        assert not limited
        assert sum(batch.num_rows for batch in source.batches(["number"])) == 10
    with queries._connection(str(path)):
        queries._empty_cache(cast("duckdb.DuckDBPyConnection", Limited()))
    assert limited
