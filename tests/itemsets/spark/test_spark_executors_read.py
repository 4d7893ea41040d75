"""Parquet files that the executors read themselves: the same supports as locally, and when Spark gives the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import check, table_of
from support.oracles.spark import LONG, ONE_BASKET, answers, random_rows
from support.reading import read_baskets

from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.spark import native
from dpmine.itemsets.spark.files import Groups, by_first_key
from dpmine.itemsets.spark.native import Blocks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks even of a few rows."""
    monkeypatch.setattr("dpmine.itemsets.spark.native._FEWEST_LINES", 8)
    monkeypatch.setattr("dpmine.itemsets.spark.blocks.BLOCK_LINES", 16)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the blocks came about: "range" and "dealt" of files, or "rows" of Spark."""
    seen: list[str] = []
    of_rows = Blocks.of

    def by_key(*arguments: Any) -> Any:
        found = by_first_key(*arguments)
        seen.append("dealt" if found is None else "range")
        return found

    def of(*arguments: Any) -> Blocks:
        seen.append("rows")
        return of_rows(*arguments)

    monkeypatch.setattr("dpmine.itemsets.spark.native.by_first_key", by_key)
    monkeypatch.setattr(Blocks, "of", of)
    return seen


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


def in_order_of_units(rows: Sequence[Any]) -> pa.Table:
    return table_of(sorted(rows, key=lambda row: (row[0] is None, row[0] or 0)))


@pytest.mark.usefixtures("spark")
def test_sorted_files_are_not_shuffled(tmp_path: Path, ways: list[str]) -> None:
    """Most row groups begin in the middle of a unit; some rows have nulls."""
    rows = [row for row in random_rows(3, units=80) if row[0] is not None]
    table = in_order_of_units(rows)
    path = written(tmp_path, [table.slice(0, 50), table.slice(50)], rows=4)
    read: Any = read_transactions(path, LONG, engine="spark").transactions
    assert read.blocks.number > 3
    check(read.miner(), read.labels.to_pylist(), rows)
    read.close()
    assert ways == ["range"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["texts", "dates"])
def test_other_files_are_dealt(tmp_path: Path, ways: list[str], kind: str) -> None:
    table = table_of(random_rows(5, units=60))
    table = table.take(np.random.default_rng(1).permutation(len(table)))
    if kind == "texts":
        table = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    if kind == "dates":
        table = table.set_column(0, "u", table.column("u").cast(pa.int32()).cast(pa.date32()))
    same(written(tmp_path, [table.slice(0, 70), table.slice(70)]), table, LONG)
    assert ways == ["dealt"]


@pytest.mark.usefixtures("spark")
def test_lists_and_catalogues(tmp_path: Path, ways: list[str]) -> None:
    lists: dict[Any, list[Any]] = {}
    for unit, basket, item in random_rows(6, units=60):
        lists.setdefault((unit, basket), []).append(None if item is None else f"ü{item}")
    table = pa.table({"u": [unit for unit, _ in lists], "items": [*lists.values(), []][: len(lists)]})
    path = written(tmp_path, [table])
    some = pa.array(["ü1", "ü2", "ü5", "no"])
    same(path, table.drop("u"), Columns.of(items="items"))
    same(path, table, Columns.of(unit="u", items="items"), catalogue=some)
    assert ways == ["dealt"]  # nothing had to be dealt where each row is a unit


def test_frames_that_are_plain_scans(spark: Any, tmp_path: Path, ways: list[str]) -> None:
    table = in_order_of_units([row for row in random_rows(7, units=60) if row[0] is not None])
    frame = spark.read.parquet(written(tmp_path, [table]))
    same(frame.select("i", "u"), table, ONE_BASKET)
    assert ways == ["range"]
    few = table.filter(pa.array([unit < 20 for unit in table.column("u").to_pylist()]))
    same(frame.where("u < 20"), few, ONE_BASKET)
    same(frame.selectExpr("i as u", "u as i"), pa.table({"u": table.column("i"), "i": table.column("u")}), ONE_BASKET)
    assert ways[1:] == ["rows"] * 2


@pytest.mark.usefixtures("spark")
def test_files_that_arrow_reads_otherwise_are_left_to_spark(tmp_path: Path, ways: list[str]) -> None:
    """Categories, and a column that one of the files has not."""
    table = table_of(random_rows(8, units=30))
    coded = table.set_column(2, "i", table.column("i").cast(pa.string()).dictionary_encode())
    for name, tables in (("coded", [coded]), ("missing", [table, table.slice(0, 9).drop("i")])):
        (tmp_path / name).mkdir()
        path = written(tmp_path / name, tables)
        same(path, tables[0], LONG)
    assert ways == ["rows"] * 2


@pytest.mark.usefixtures("spark")
def test_wrong_footers_are_noticed(tmp_path: Path, ways: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups that hold other keys than their footers say: everything is dealt, and counted once."""
    table = table_of([row for row in random_rows(9, units=60) if row[0] is not None])
    table = table.take(np.random.default_rng(2).permutation(len(table)))
    found = native.row_groups

    def wrong(*arguments: Any) -> Groups:
        groups = found(*arguments)
        assert groups is not None
        ends = np.linspace(0, 59, len(groups.rows) + 1).astype(np.int64)
        return Groups(groups.files, groups.file, groups.row_group, groups.rows, groups.entries, ends[:-1], ends[1:])

    monkeypatch.setattr("dpmine.itemsets.spark.read.row_groups", wrong)
    same(written(tmp_path, [table]), table, LONG)
    assert ways == ["range"]


def test_every_key_belongs_to_one_task_that_reads_all_its_row_groups() -> None:
    generator = np.random.default_rng(3)
    shared = 0
    for trial in range(300):
        count = int(generator.integers(1, 40))
        keys = [np.sort(generator.integers(0, 50, generator.integers(1, 9))) for _ in range(count)]
        if trial % 2:
            keys = [np.array(part) for part in np.array_split(np.sort(np.concatenate(keys)), count) if len(part)]
        low, high, entries = (np.array([f(part) for part in keys], np.int64) for f in (np.min, np.max, len))
        places = np.arange(len(keys))
        groups = Groups(("a",), np.zeros_like(places), places, entries, entries, low, high)
        split = by_first_key(groups, int(generator.integers(1, 9)), 10**9)
        if split is None:
            continue
        tasks, bounds = split
        shared += len(tasks) > 1
        owners = {key: [n for n, (a, b) in enumerate(bounds.tolist()) if a <= key <= b] for key in range(50)}
        assert all(len(owner) == 1 for owner in owners.values())
        for place, part in enumerate(keys):
            assert all(place in tasks[owners[int(key)][0]] for key in part)
    assert shared > 20
