"""Parquet files that the executors read themselves: the same supports as locally, and when Spark gives the rows."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import check, table_of
from support.oracles.spark import LONG, ONE_BASKET, answers, random_rows
from support.reading import read_baskets

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.spark import native
from dpmine.itemsets.spark.blocks import dealt
from dpmine.itemsets.spark.files import RowGroups
from dpmine.itemsets.spark.native import Blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.spark


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks even of a few rows."""
    monkeypatch.setattr("dpmine.itemsets.spark.native._FEWEST_LINES", 32)
    monkeypatch.setattr("dpmine.itemsets.spark.blocks.BLOCK_LINES", 64)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the blocks came about: of "files" or of "rows" of Spark."""
    seen: list[str] = []
    for name, way in (("of", "rows"), ("of_files", "files")):
        monkeypatch.setattr(Blocks, name, partial(_noted, seen, way, getattr(Blocks, name)))
    return seen


def _noted(seen: list[str], way: str, packing: Any, *arguments: Any) -> Blocks:
    seen.append(way)
    blocks: Blocks = packing(*arguments)
    return blocks


def written(folder: Path, tables: Sequence[pa.Table], rows: int = 7) -> str:
    """Files of small row groups."""
    for place, table in enumerate(tables):
        pq.write_table(table, folder / f"{place}.parquet", row_group_size=rows)
    return str(folder)


def same(data: Any, table: pa.Table, columns: Columns, **options: Any) -> None:
    """The supports are those of the local engine."""
    there: Any = read_transactions(data, columns, engine="spark", **options).transactions
    here = read_baskets(table, columns, **options).baskets
    assert there.labels.to_pylist() == here.labels.to_pylist()
    assert there.item_supports.tolist() == Miner(here).item_supports.tolist()
    assert answers(there.miner(), 2, 1) == answers(Miner(here), 2, 1)
    there.close()


def lists_of(rows: Sequence[Any]) -> pa.Table:
    """A row for each basket, with texts as items: some empty, some null, some with nulls."""
    lists: dict[Any, list[Any]] = {}
    for unit, basket, item in rows:
        lists.setdefault((unit, basket), []).append(None if item is None else f"ü{item}")
    units = [unit for unit, _ in lists]
    return pa.table({"u": [*units, 3, 4], "items": [*lists.values(), [], None]})


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("order", ["sorted", "mixed"])
@pytest.mark.parametrize("blocks", ["one", "several"])
def test_rows_of_units_in_several_files(
    tmp_path: Path, ways: list[str], monkeypatch: pytest.MonkeyPatch, order: str, blocks: str
) -> None:
    """Row groups begin in the middle of a unit; some rows have nulls."""
    if blocks == "several":
        small_blocks(monkeypatch)
    rows = random_rows(3, units=80)
    table = table_of(sorted(rows, key=lambda row: (row[0] is None, row[0] or 0)))
    if order == "mixed":
        table = table.take(np.random.default_rng(1).permutation(len(table)))
    path = written(tmp_path, [table.slice(0, 50), table.slice(50)], rows=4)
    read: Any = read_transactions(path, LONG, engine="spark").transactions
    assert (read.blocks.number > 1) == (blocks == "several")
    check(read.miner(), read.labels.to_pylist(), rows)
    read.close()
    assert ways == ["files"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["texts", "dates", "timestamps", "narrow"])
def test_types_of_keys(tmp_path: Path, ways: list[str], kind: str) -> None:
    table = table_of(random_rows(5, units=60))
    if kind == "texts":
        table = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    elif kind == "narrow":
        narrow = zip(table.column_names, [pa.uint8(), pa.int16(), pa.uint32()], strict=True)
        table = pa.table({name: table.column(name).cast(type_) for name, type_ in narrow})
    else:
        days = table.column("u").cast(pa.int32()).cast(pa.date32())
        table = table.set_column(0, "u", days if kind == "dates" else days.cast(pa.timestamp("us", "UTC")))
    same(written(tmp_path, [table.slice(0, 70), table.slice(70)]), table, LONG)
    assert ways == ["files"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("blocks", ["one", "several"])
def test_lists_and_catalogues(tmp_path: Path, ways: list[str], monkeypatch: pytest.MonkeyPatch, blocks: str) -> None:
    if blocks == "several":
        small_blocks(monkeypatch)
    table = lists_of(random_rows(6, units=60))
    some = pa.array(["ü1", "ü2", "ü5", "no"])
    path = written(tmp_path, [table], 1000 if blocks == "one" else 7)
    same(path, table.drop("u"), Columns.of(items="items"))
    same(path, table, Columns.of(unit="u", items="items"))
    same(path, table, Columns.of(unit="u", items="items"), catalogue=some)
    assert ways == ["files"] * 3


def test_numbers_travel_in_as_few_bytes_as_they_need() -> None:
    """Over the whole range of integers, narrow and wide ones, in several batches, and texts beside them."""
    generator = np.random.default_rng(4)
    spans = [(0, 1), (-5, 200), (10**9, 10**9 + 60_000), (-(2**31), 2**31), (-(2**63), 2**63 - 1)]
    for low, high in spans:
        numbers = generator.integers(low, high, 300, endpoint=True)
        texts = pa.array([f"ü{number}"[: number % 7] for number in numbers.tolist()], pa.large_string())
        given = pa.record_batch({"c0": pa.array(generator.integers(0, 9, 300)), "c1": pa.array(numbers), "c2": texts})
        sent = list(dealt([given.slice(0, 100), given.slice(100)], units=1, sent_to=np.arange(4, dtype=np.int32)))
        width = np.min_scalar_type(int(numbers.max()) - int(numbers.min())).itemsize
        lines = sum(batch.column("lines").to_numpy().sum() for batch in sent)
        assert sum(len(cell.as_py()) for batch in sent for cell in batch.column("c1")) == width * lines == width * 300
        met = [received(cell) for batch in sent for cell in batch.select(batch.schema.names[2:]).to_pylist()]
        assert sorted(row for rows in met for row in rows) == sorted(zip(*given.to_pydict().values(), strict=True))


def received(cells: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The lines of one row that was dealt, read by their description alone."""
    lengths = np.frombuffer(cells["c2"], np.int32)
    ends = np.cumsum(lengths)
    texts = [
        cells["t2"][end - length : end].decode() for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
    numbers = []
    for name in ("c0", "c1"):
        above = np.frombuffer(cells[name], f"u{len(cells[name]) // len(lengths)}").tolist()
        numbers.append([each + cells[f"b{name[1]}"] for each in above])
    return list(zip(*numbers, texts, strict=True))


@pytest.mark.usefixtures("spark")
def test_batches_are_small_where_lists_are_long(
    tmp_path: Path, ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few lines at a time, by the average list."""
    monkeypatch.setattr("dpmine.itemsets.spark.files._AT_ONCE", 8)
    table = lists_of(random_rows(6, units=60))
    same(written(tmp_path, [table], 1000), table, Columns.of(unit="u", items="items"))
    assert ways == ["files"]


def test_frames_that_are_plain_scans(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    table = table_of([row for row in random_rows(7, units=60) if row[0] is not None])
    frame = spark.read.parquet(written(tmp_path, [table]))
    same(frame.select("i", "u"), table, ONE_BASKET)
    assert ways == ["files"]
    few = table.filter(pa.array([unit < 20 for unit in table.column("u").to_pylist()]))
    same(frame.where("u < 20"), few, ONE_BASKET)
    same(frame.selectExpr("i as u", "u as i"), pa.table({"u": table.column("i"), "i": table.column("u")}), ONE_BASKET)
    assert ways[1:] == ["rows"] * 2


def test_frames_that_spark_reads_in_its_own_way(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    """Files given twice, narrower integers, fields by number, and what Spark has cached: all rows as Spark has them."""
    lists = pa.table({"items": [[1, 2], [2, 3], [300, 2]] * 5})
    path = written(tmp_path, [lists])
    columns = Columns.of(items="items")
    same(spark.read.parquet(path), lists, columns)
    same(spark.read.parquet(path, f"{path}/0.parquet"), pa.concat_tables([lists, lists]), columns)
    cached = spark.read.parquet(path).cache()
    cached.count()
    same(cached, lists, columns)
    cached.unpersist()
    flat = pa.table({"u": [1, 2, 3], "i": [1, 2, 2]})
    other = tmp_path / "flat"
    other.mkdir()
    pq.write_table(flat, other / "a.parquet")
    wide = spark.read.schema("u int, i bigint").parquet(str(other))
    with pytest.raises(dpmine.BadData, match="failed while it read"):  # Spark's own reader rejects the schema
        read_transactions(wide, ONE_BASKET)
    assert ways == ["files", "rows", "rows", "rows"]


def test_names_that_begin_with_an_underscore(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    """Spark reads those with an = as data, and summaries not at all."""
    summed, more = pa.table({"u": [1, 1, 2], "i": [1, 2, 1]}), pa.table({"u": [7, 7, 8], "i": [1, 2, 1]})
    pq.write_table(summed, tmp_path / "_metadata=1.parquet")
    pq.write_table(more, tmp_path / "x.parquet")
    same(spark.read.parquet(str(tmp_path)), pa.concat_tables([summed, more]), ONE_BASKET)
    with pytest.raises(dpmine.UnreadableFile, match="_key=value"):
        read_transactions(str(tmp_path), ONE_BASKET, engine="spark")
    (tmp_path / "_metadata=1.parquet").rename(tmp_path / "_metadata")
    same(spark.read.parquet(str(tmp_path)), more, ONE_BASKET)
    same(str(tmp_path), more, ONE_BASKET)
    assert ways == ["files"] * 3


@pytest.mark.usefixtures("spark")
def test_damaged_texts_beside_nulls_and_a_catalogue(tmp_path: Path, ways: list[str]) -> None:
    content = b"ab\xffa"
    ends = np.array([0, 1, 3, 3, 4], np.int32)
    valid = pa.py_buffer(bytes([0b1011]))
    items = pa.Array.from_buffers(pa.string(), 4, [valid, pa.py_buffer(ends), pa.py_buffer(content)])
    table = pa.table({"u": [1, 1, 2, 2], "i": items})
    same(written(tmp_path, [table]), table, ONE_BASKET, catalogue=pa.array(["a", "b"]))
    assert ways == ["files"]


@pytest.mark.usefixtures("spark")
def test_paths_given_twice_are_read_once(tmp_path: Path, ways: list[str]) -> None:
    lists = pa.table({"items": [[1, 2], [2, 3]] * 5})
    path = written(tmp_path, [lists])
    same([path, f"{path}/0.parquet"], lists, Columns.of(items="items"))
    assert ways == ["files"]


@pytest.mark.usefixtures("spark")
def test_files_of_several_encodings(tmp_path: Path, ways: list[str]) -> None:
    """The same types to Spark: short and long texts, and unsigned integers that fit."""
    table = table_of([row for row in random_rows(12, units=40) if None not in row])
    table = table.set_column(2, "i", table.column("i").cast(pa.string()))
    large = pa.table(
        {
            "u": table.column("u"),
            "b": table.column("b").cast(pa.uint32()),
            "i": table.column("i").cast(pa.large_string()),
        }
    )
    same(written(tmp_path, [table.slice(0, 50), large.slice(50)]), table, LONG)
    assert ways == ["files"]


@pytest.mark.usefixtures("spark")
def test_files_that_arrow_reads_otherwise_are_left_to_spark(tmp_path: Path, ways: list[str]) -> None:
    """Categories, a column that one of the files has not, and dates by an old calendar."""
    table = table_of(random_rows(8, units=30))
    coded = table.set_column(2, "i", table.column("i").cast(pa.string()).dictionary_encode())
    old = table.set_column(0, "u", table.column("u").cast(pa.int32()).cast(pa.date32()))
    older = old.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    old = old.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    missing = [table, table.slice(0, 9).drop("i")]
    found = (("coded", [coded]), ("missing", missing), ("old", [old]), ("older", [older]))
    for name, tables in found:
        (tmp_path / name).mkdir()
        path = written(tmp_path / name, tables)
        same(path, tables[0], LONG)
    assert ways == ["rows"] * 4


@pytest.mark.usefixtures("spark")
def test_a_file_that_changes_meanwhile_is_an_error(
    tmp_path: Path, ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the same rows that was written anew after its footer was read."""
    table = table_of(random_rows(9, units=60))
    path = Path(written(tmp_path, [table]), "0.parquet")
    found = native.row_groups

    def rewritten(*arguments: Any) -> RowGroups | None:
        groups = found(*arguments)
        os.utime(path, ns=(0, 0))
        return groups

    monkeypatch.setattr("dpmine.itemsets.spark.loading.row_groups", rewritten)
    with pytest.raises(dpmine.BadData, match="failed while it read"):
        read_transactions(str(tmp_path), LONG, engine="spark")
    assert ways == ["files"]


def test_row_groups_are_split_once_each() -> None:
    entries = np.random.default_rng(3).integers(1, 50, 40)
    places = np.arange(40)
    groups = RowGroups(("a",), np.zeros(40, np.int64), places, entries, entries, places, places)
    for count in (1, 2, 7, 40, 200):
        tasks = groups.split(count)
        assert np.concatenate(tasks).tolist() == places.tolist()
        assert len(tasks) <= count
        assert max(int(entries[task].sum()) for task in tasks) <= entries.sum() / count + 2 * entries.max()
