"""Supports counted by the kernels on the executors: blocks, candidates, deeper thresholds, and what is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import check, table_of
from support.oracles.spark import LONG, ONE_BASKET, answers, on_spark, random_rows
from support.reading import read_baskets

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.spark import blocks, loading
from dpmine.itemsets.spark.native import Blocks, NativeMiner
from dpmine.itemsets.spark.supports import SparkMiner

if TYPE_CHECKING:
    from pathlib import Path

    from support.conformance.sources import Row

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks even of a few rows."""
    monkeypatch.setattr("dpmine.itemsets.spark.native._FEWEST_LINES", 8)
    monkeypatch.setattr("dpmine.itemsets.spark.blocks.BLOCK_LINES", 16)


@pytest.mark.parametrize("baskets", [1, 3])
def test_the_suite_of_every_source(spark: Any, baskets: int) -> None:
    rows = random_rows(baskets, baskets=baskets)
    read = on_spark(spark, table_of(rows), LONG if baskets > 1 else ONE_BASKET)
    given: list[Row] = rows if baskets > 1 else [(unit, 0, item) for unit, _, item in rows]
    miner = read.transactions.miner()
    assert isinstance(miner, NativeMiner)
    assert read.transactions.blocks.number > 2
    check(miner, read.transactions.labels.to_pylist(), given)
    read.close()


def renamed(rows: list[Row], layout: str) -> tuple[pa.Table, Columns]:
    """The same rows in other types and layouts."""
    kept = [row for row in rows if None not in row]
    if layout == "texts":
        units, baskets, items = ([f"ü{value}" for value in column] for column in zip(*kept, strict=True))
        return pa.table({"u": units, "b": baskets, "i": items}), LONG
    if layout == "dates":
        table = table_of(rows)
        days = table.column("u").cast(pa.int32()).cast(pa.date32())
        return table.set_column(0, "u", days).set_column(1, "b", table.column("b").cast(pa.timestamp("us"))), LONG
    lists: dict[tuple[Any, ...], list[Any]] = {}
    for unit, basket, item in kept:
        lists.setdefault((unit, basket), []).append(item)
    table = pa.table({"u": [unit for unit, _ in lists], "items": [*lists.values()]})
    return (
        (table, Columns.of(unit="u", items="items"))
        if layout == "lists of units"
        else (
            table.drop("u"),
            Columns.of(items="items"),
        )
    )


@pytest.mark.parametrize("layout", ["texts", "dates", "lists of units", "lists"])
def test_all_types_and_layouts_have_the_local_supports(spark: Any, layout: str) -> None:
    table, columns = renamed(random_rows(17, units=60), layout)
    there, here = on_spark(spark, table, columns).transactions, read_baskets(table, columns).baskets
    assert there.labels.to_pylist() == here.labels.to_pylist()
    assert there.total_units == here.total_units
    for size in (1, 2, 3):
        for threshold in (9, 3, 1):
            assert answers(there.miner(), size, threshold) == answers(Miner(here), size, threshold)
    assert answers(there.truncated(2).miner(), 2, 1) == answers(here.truncated(2).miner(), 2, 1)
    there.close()


@pytest.mark.slow
def test_random_data_from_shallow_to_deep(spark: Any) -> None:
    """Every threshold after a higher one, in blocks that differ: pairs are frequent here and rare there."""
    generator = np.random.default_rng(1)
    units = np.sort(generator.integers(0, 150, 900))
    table = pa.table({"u": units, "i": (30 * generator.random(900) ** 2).astype(int) * (1 + units // 75)})
    here, read = Miner(read_baskets(table, ONE_BASKET).baskets), on_spark(spark, table, ONE_BASKET)
    miner = read.transactions.miner()
    for threshold in (25, 12, 5, 1):
        for size in (2, 3, 4):
            assert answers(miner, size, threshold) == answers(here, size, threshold)
    read.close()


def test_nothing_is_counted_twice(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = on_spark(spark, table_of(random_rows(7, units=60, items=9)), LONG)
    miner = read.transactions.miner()
    seen: list[tuple[int, ...]] = []
    before = Blocks.supports

    def supports(self: Blocks, labels: pa.Array, listed: Any) -> Any:
        seen.extend(tuple(labels.take(pa.array(row)).to_pylist()) for row in listed.rows)
        return before(self, labels, listed)

    monkeypatch.setattr(Blocks, "supports", supports)
    for threshold in (30, 20, 12, 11):
        for size in (2, 3):
            miner.histogram(size, threshold)
    assert seen
    assert len(seen) == len(set(seen))
    read.close()


def test_too_many_candidates_are_counted_by_sql(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.itemsets.spark.native._MOST_CANDIDATES", 5)
    table = table_of(random_rows(8, units=40))
    here, read = Miner(read_baskets(table, LONG).baskets), on_spark(spark, table, LONG)
    miner = read.transactions.miner()
    for size in (2, 3):
        assert answers(miner, size, 1) == answers(here, size, 1)
    assert miner._sizes_by_sql == {2}  # and so are all larger ones
    assert miner.nth(2, int(here.itemsets(2, 1).supports[0]), 0) == here.nth(2, int(here.itemsets(2, 1).supports[0]), 0)
    read.close()


def test_a_unit_with_too_many_rows_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.itemsets.spark.blocks.MOST_LINES", 100)
    with pytest.raises(dpmine.BadParameter, match="smaller unit"):
        on_spark(spark, pa.table({"u": [1] * 101, "i": [*range(101)]}), ONE_BASKET)
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_a_catalogue_leaves_out_other_items(spark: Any) -> None:
    table = table_of(random_rows(9, units=40))
    catalogue = pa.array([1, 2, 5, 99])
    there = on_spark(spark, table, LONG, catalogue=catalogue).transactions
    here = read_baskets(table, LONG, catalogue=catalogue).baskets
    assert there.miner().item_supports.tolist() == Miner(here).item_supports.tolist()
    assert answers(there.miner(), 2, 1) == answers(Miner(here), 2, 1)
    assert there.total_units == here.total_units
    there.close()


@pytest.mark.usefixtures("spark")
def test_files_are_counted_natively(tmp_path: Path) -> None:
    table = table_of(random_rows(10, units=40))
    pq.write_table(table, tmp_path / "a.parquet")
    read = read_transactions(str(tmp_path), LONG, engine="spark")
    assert answers(read.transactions.miner(), 2, 1) == answers(Miner(read_baskets(table, LONG).baskets), 2, 1)
    assert isinstance(read.transactions.miner(), NativeMiner)
    read.close()


def test_executors_without_the_library_are_told_of_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_known", {})
    monkeypatch.setattr(loading, "__version__", "0.0.0")
    table = table_of(random_rows(11, units=20))
    with pytest.warns(dpmine.SpeedWarning, match="executors") as caught:
        reads = [on_spark(spark, table, LONG) for _ in range(2)]
    assert len([warning for warning in caught if warning.category is dpmine.SpeedWarning]) == 1
    for read in reads:
        miner = read.transactions.miner()
        assert isinstance(miner, SparkMiner)
        assert answers(miner, 2, 1) == answers(Miner(read_baskets(table, LONG).baskets), 2, 1)
        read.close()


@pytest.mark.parametrize("count", [1, 7, 8, 200])
def test_every_part_has_a_partition_of_its_own(spark: Any, count: int) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(pa.table({"n": pa.array(blocks.destinations(count), pa.int32())}))
    found = frame.select(functions.pmod(functions.hash("n"), functions.lit(count)).alias("part")).collect()
    assert [row.part for row in found] == list(range(count))
