"""Supports counted by Spark: the suite of every source, and against the local miner, from shallow to deep."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import brute_force, check, table_of
from support.datasets import NAMED
from support.oracles.spark import (
    LONG,
    ONE_BASKET,
    THRESHOLDS,
    answers,
    miner_on_spark,
    on_spark,
    random_rows,
    require_equal,
)
from support.reading import read_baskets

from dpmine.errors import BadParameter
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.spark.loading import SparkBaskets
from dpmine.itemsets.spark.native import NativeMiner
from dpmine.itemsets.spark.supports import SparkMiner

if TYPE_CHECKING:
    from pathlib import Path

    from support.conformance.sources import Row

pytestmark = pytest.mark.spark
STEPWISE = {"spark.counting._FREE": 0, "spark.counting._TIMES_THE_STORE": 0, "spark.counting._TIMES_THE_WORK": 1}
SHALLOW = {**STEPWISE, "spark.counting._SMALL": 0, "spark.counting._STORED_DEEPER": 1}
BLOCKS = {"spark.counting.LONG_BASKET": 4, "spark.counting.BLOCK": 2}
SHUFFLED = {"spark.inputs.BROADCAST_ITEMS": 0, "spark.supports._BROADCAST": 0}
WAYS: dict[str, dict[str, int]] = {
    "chosen": {},
    "no deeper than asked": STEPWISE,
    "baskets stored again for every threshold": SHALLOW,
    "in blocks": {**STEPWISE, **BLOCKS},
    "joined by shuffles": {**STEPWISE, **SHUFFLED},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    patched(monkeypatch, WAYS[request.param])
    return str(request.param)


def patched(monkeypatch: pytest.MonkeyPatch, values: dict[str, int]) -> None:
    for name, value in values.items():
        monkeypatch.setattr(f"dpmine.itemsets.{name}", value)


@pytest.fixture(autouse=True)
def by_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the executors have no dpmine."""
    monkeypatch.setattr("dpmine.itemsets.spark.loading.count_themselves", lambda _session: False)


@pytest.mark.parametrize("baskets", [1, 3])
def test_the_suite_of_every_source(spark: Any, baskets: int) -> None:
    rows = random_rows(baskets, baskets=baskets)
    columns = LONG if baskets > 1 else ONE_BASKET
    read = on_spark(spark, table_of(rows), columns)
    given: list[Row] = rows if baskets > 1 else [(unit, 0, item) for unit, _, item in rows]
    check(read.transactions.miner(), read.transactions.labels.to_pylist(), given)
    read.close()


@pytest.mark.usefixtures("way")
def test_from_shallow_to_deep(spark: Any) -> None:
    """Every threshold after a higher one; what was counted before is kept and not counted again."""
    rows = random_rows(7, units=40, items=9)
    local = Miner(read_baskets(table_of(rows), LONG).baskets)
    read = on_spark(spark, table_of(rows), LONG)
    miner = SparkMiner(read.transactions)
    for threshold in (12, 6, 3, 1):
        for size in (2, 3):
            assert answers(miner, size, threshold) == answers(local, size, threshold)
    for size in (2, 3):
        table = miner._counted[size].table()
        keys = table.select(*[f"a{place}" for place in range(size)])
        assert table.count() == keys.distinct().count() == len(brute_force(rows, size))
    read.close()


def test_deeper_thresholds_count_new_itemsets_only(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, STEPWISE)
    rows = random_rows(7, units=40, items=9)
    read = on_spark(spark, table_of(rows), LONG)
    miner = SparkMiner(read.transactions)
    supports = sorted(set(miner.item_supports.tolist()))
    for threshold in (supports[-4], supports[1], 1):
        miner.histogram(2, threshold)
    assert len(miner._counted[2].tables) == 3
    for threshold in (1, 2, supports[2]):
        miner.histogram(2, threshold)
    assert len(miner._counted[2].tables) == 3
    ranges = [{row.a0 for row in table.select("a0").distinct().collect()} for table in miner._counted[2].tables]
    assert all(not left & right for left, right in combinations(ranges, 2))
    read.close()


@pytest.mark.parametrize("at_once", [0, 10_000])
def test_nth_covers_each_level_exactly(spark: Any, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("dpmine.itemsets.spark.supports._SORTED_AT_ONCE", at_once)
    rows = random_rows(3, units=8, items=5)
    read = on_spark(spark, table_of(rows), LONG)
    miner, labels = SparkMiner(read.transactions), read.transactions.labels.to_pylist()
    truth = brute_force(rows, 3)
    levels = miner.histogram(3, 1)
    for support, count in levels.items():
        drawn = [tuple(labels[code] for code in miner.nth(3, support, n)) for n in range(count)]
        assert sorted(drawn) == sorted(itemset for itemset, known in truth.items() if known == support)
        with pytest.raises(BadParameter):
            miner.nth(3, support, count)
    item = int(miner.item_supports[0])
    assert miner.item_supports[miner.nth(1, item, 0)[0]] == item
    read.close()


def test_nth_does_not_depend_on_what_was_asked_before(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, STEPWISE)
    table = table_of(random_rows(4, units=30))
    asked, fresh = miner_on_spark(spark, table, LONG), miner_on_spark(spark, table, LONG)
    for threshold in (9, 4, 1):
        asked.itemsets(3, threshold)
    monkeypatch.setattr("dpmine.itemsets.spark.supports._SORTED_AT_ONCE", 1)
    assert [asked.nth(3, 2, n) for n in (0, 3)] == [fresh.nth(3, 2, n) for n in (0, 3)]


def test_supports_before_and_after_anything_was_counted(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, SHALLOW)
    rows = random_rows(5, units=30)
    read = on_spark(spark, table_of(rows), LONG)
    labels, truth = read.transactions.labels.to_pylist(), brute_force(rows, 2)
    miner = SparkMiner(read.transactions)
    pairs = [(0, 1), (0, len(labels) - 1), (len(labels) - 2, len(labels) - 1)]
    for threshold in (None, 20, 1):
        if threshold is not None:
            miner.histogram(2, threshold)
        miner._remembered.clear()
        for pair in pairs:
            assert miner.support(pair[::-1]) == truth[labels[pair[0]], labels[pair[1]]]
    assert miner.support([2]) == miner.item_supports[2]
    read.close()


@pytest.mark.parametrize("wrong", [[], [0, 0], [-1], [99], ["x"]])
def test_wrong_requests_are_refused(spark: Any, wrong: list[Any]) -> None:
    miner = miner_on_spark(spark, table_of(random_rows(1, units=4)), LONG)
    with pytest.raises(BadParameter):
        miner.support(wrong)


@pytest.mark.parametrize("kind", ["frame", "table"])
def test_all_counts_are_of_the_same_rows(spark: Any, tmp_path: Path, kind: str) -> None:
    """What lies behind a frame may change between two jobs; the supports of items and of pairs fit together still."""
    path = tmp_path / "rows.parquet"
    rows = random_rows(13, units=30)
    pq.write_table(table_of(rows), path)
    frame = spark.read.parquet(str(path))
    frame.createOrReplaceTempView("changing")
    read = read_transactions(frame if kind == "frame" else "table:changing", LONG, engine="spark")
    assert isinstance(read.transactions, SparkBaskets)
    pq.write_table(table_of([(unit, 0, 1) for unit in range(99)]), path)
    miner = SparkMiner(read.transactions)
    labels, found = read.transactions.labels.to_pylist(), miner.itemsets(2, 1)
    named = [tuple(labels[code] for code in codes) for codes in found.items.tolist()]
    assert dict(zip(named, found.supports.tolist(), strict=True)) == brute_force(rows, 2)
    assert read.transactions.total_units == len({row[0] for row in rows if None not in row})
    read.close()


def test_what_one_reader_releases_the_other_keeps(spark: Any) -> None:
    """Spark keeps one copy of what two frames of the same plan are, and drops it for both."""
    frame = spark.createDataFrame(table_of(random_rows(13)))
    first, second = (read_transactions(frame, LONG) for _ in range(2))
    first.close()
    assert isinstance(second.transactions, SparkBaskets)
    assert second.transactions.rows.frame.storageLevel.useMemory
    second.close()
    assert not second.transactions.rows.frame.storageLevel.useMemory


def test_a_search_that_failed_is_counted_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(14, units=30)
    miner = miner_on_spark(spark, table_of(rows), LONG)
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.spark.supports._levels", failing)
        with pytest.raises(KeyboardInterrupt):
            miner.histogram(2, 1)
    assert len(miner.itemsets(2, 1)) == len(brute_force(rows, 2))
    assert len(miner._counted[2].tables) == 1


def failing(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_sizes_that_no_basket_reaches_take_no_jobs(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [(unit, 0, item) for unit in range(9) for item in (unit, unit + 1, unit + 2)]
    miner = miner_on_spark(spark, table_of(rows), LONG)
    assert miner.histogram(3, 1).total() == 9
    assert not miner.histogram(4, 1)
    monkeypatch.setattr("dpmine.itemsets.spark.supports.counted", failing)
    for size in range(5, 12):
        assert not miner.histogram(size, 1)


def test_nobody_bought_anything(spark: Any) -> None:
    read = on_spark(spark, table_of([(None, 1, 2)]), LONG, catalogue=pa.array([1, 2, 3]))
    miner = read.transactions.miner()
    assert miner.item_supports.tolist() == [0, 0, 0]
    for size in (1, 2, 7):
        assert miner.itemsets(size, 1).items.shape == (0, size)
        assert not miner.histogram(size, 1)
    assert miner.support([0, 2]) == 0
    assert read.transactions.total_units == 0


def test_sizes_beyond_every_basket_hold_nothing(spark: Any) -> None:
    miner = miner_on_spark(spark, table_of([(1, 1, 1), (1, 1, 2), (2, 1, 2), (2, 1, 3)]), LONG)
    for size in (3, 4, 10**6):
        assert len(miner.itemsets(size, 1)) == 0
    assert len(miner.itemsets(2, 10**30)) == 0


def test_a_list_that_does_not_fit_is_refused(spark: Any) -> None:
    miner = miner_on_spark(spark, table_of([(1, 1, item) for item in range(60)]), LONG)
    with pytest.raises(BadParameter, match="raise the threshold"):
        miner.itemsets(2, 1, memory_limit=1000)
    assert len(miner.itemsets(2, 1, memory_limit=200_000)) == 60 * 59 // 2


def test_one_basket_of_thousands_of_items_is_dealt_out(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, {"spark.counting._FREE": 0, "spark.counting._TIMES_THE_STORE": 0})
    rows: list[Row] = [(0, 0, item) for item in range(1200)]
    rows += [(unit, basket, 7 * item % 1200) for unit in range(1, 6) for basket in (0, 1) for item in range(unit, 40)]
    read = on_spark(spark, table_of(rows), LONG)
    local = Miner(read_baskets(table_of(rows), LONG).baskets)
    miner = SparkMiner(read.transactions)
    assert answers(miner, 2, 2) == answers(local, 2, 2)
    assert miner.histogram(2, 1) == local.histogram(2, 1)
    assert miner._work_of(miner._store_for(1), 2).heavy
    read.close()


def test_the_work_of_a_search_is_known_before(spark: Any) -> None:
    """Occurrences of pairs and triples by their rarest item, before they are counted once a unit."""
    rows = [row for row in random_rows(9, units=20) if None not in row]
    read = on_spark(spark, table_of(rows), LONG)
    miner = SparkMiner(read.transactions)
    renamed: list[Row] = [(1000 * unit + basket, 0, item) for unit, basket, item in rows]  # type: ignore[operator]
    store = miner._store_for(1)
    for size in (2, 3):
        assert store.work(size).of_rank.sum() == pytest.approx(sum(brute_force(renamed, size).values()))
    read.close()


@pytest.mark.parametrize("name", THRESHOLDS)
def test_data_sets_have_the_local_miners_supports(
    spark: Any, monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Path
) -> None:
    """By SQL and natively."""
    monkeypatch.setattr("dpmine.itemsets.spark.loading.count_themselves", lambda _session: True)
    data = NAMED[name]()
    columns = Columns.of(**data.options)
    local = Miner(read_baskets(data.table, columns).baskets)
    pq.write_table(data.table, tmp_path / "data.parquet")
    read = read_transactions(spark.read.parquet(str(tmp_path / "data.parquet")), columns)
    assert isinstance(read.transactions, SparkBaskets)
    natively = read.transactions.miner()
    assert isinstance(natively, NativeMiner)
    for miner in (SparkMiner(read.transactions), natively):
        require_equal(miner, local, THRESHOLDS[name])
    read.close()


def test_some_items_alone(spark: Any) -> None:
    rows = random_rows(11, units=30)
    read = on_spark(spark, table_of(rows), LONG)
    few = read.transactions.projected([1, 3, 4])
    labels = [read.transactions.labels[code].as_py() for code in (1, 3, 4)]
    left: list[Row] = [row for row in rows if row[2] in labels]
    miner = SparkMiner(few)
    for size in (2, 3):
        found = miner.itemsets(size, 1)
        named = [tuple(labels[code] for code in codes) for codes in found.items.tolist()]
        assert dict(zip(named, found.supports.tolist(), strict=True)) == brute_force(left, size)
    assert replace(few, labels=few.labels).catalogue_size == 3
    read.close()
