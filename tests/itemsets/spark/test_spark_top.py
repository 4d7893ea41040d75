"""The main job on Spark: the same universe, the same laws, and nothing left behind on the cluster."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.conformance.sources import table_of
from support.datasets import mushroom
from support.numpy_bits import NumpyBits
from support.oracles.itemsets import held
from support.oracles.spark import LONG, answers, on_spark, random_rows
from support.reading import read_baskets

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.spark import loading
from dpmine.itemsets.spark.supports import SparkMiner
from dpmine.itemsets.ways.universe import ItemsetUniverse

pytestmark = pytest.mark.spark
OPTIONS: dict[str, Any] = {"unit": "u", "basket": "b", "item": "i"}


def cached(spark: Any) -> bool:
    return not spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("sizes", [range(2, 3), range(1, 4)])
def test_the_universe_is_the_local_one(spark: Any, public: bool, sizes: range) -> None:
    table = table_of(random_rows(21, units=60, items=12))
    read = on_spark(spark, table, LONG)
    local = ItemsetUniverse(Miner(read_baskets(table, LONG).baskets), sizes, catalogue_is_public=public)
    there = ItemsetUniverse(SparkMiner(read.transactions), sizes, catalogue_is_public=public)
    assert there.size == local.size
    assert there.top() == local.top()
    for floor in (9, 4, 1, 0):
        assert list(there.head(floor)) == list(local.head(floor))
    if public:
        for mechanism in ("exponential", "max_of_laplaces"):
            laws = [dpmine.law(universe, epsilon=1, delta=0, mechanism=mechanism) for universe in (local, there)]
            assert laws[0].pmf.tolist() == laws[1].pmf.tolist()
            assert laws[0].nothing == laws[1].nothing
    else:
        laws = [dpmine.law(universe, epsilon=1, delta=1e-2, mechanism="large_margin") for universe in (local, there)]
        assert laws[0].pmf.tolist() == laws[1].pmf.tolist()
    read.close()


def test_members_and_tails_have_their_supports(spark: Any) -> None:
    table = table_of(random_rows(22, units=40, items=10))
    read = on_spark(spark, table, LONG)
    local, there = Miner(read_baskets(table, LONG).baskets), SparkMiner(read.transactions)
    universe, bits = ItemsetUniverse(there, range(2, 4), catalogue_is_public=True), NumpyBits(5)
    for level in [*universe.head(0)][::3]:
        for _ in range(3):
            itemset = universe.member(level, bits=bits)
            assert local.support(itemset) == level.score
    for floor in (2, 1000):
        itemset, support = universe.tail(floor, bits=bits)
        assert local.support(itemset) == support < floor
    read.close()


@pytest.mark.parametrize("natively", [True, False])
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_units_are_cut_and_weighed_as_they_are_here(
    spark: Any, monkeypatch: pytest.MonkeyPatch, limit: int, natively: bool
) -> None:
    """Frequent items first, and ties by the same hash."""
    monkeypatch.setattr(loading, "count_themselves", lambda _: natively)
    table = table_of(random_rows(23, units=80, items=12))
    for columns in (LONG, Columns.of(unit="u", item="i")):
        there, here = on_spark(spark, table, columns).transactions, read_baskets(table, columns).baskets
        weights = np.array([isqrt(10**6 // count) for count in range(1, limit + 1)])
        assert there.item_weights(weights).tolist() == here.item_weights(weights).tolist()
        items, for_pairs = [0, 2, 5, 7, 11], np.arange(99, 89, -1)
        assert there.pair_weights(items, for_pairs).tolist() == here.pair_weights(items, for_pairs).tolist()
        for some in (items, [3, 1, 8], []):
            assert held(there, some) == held(here, some)
        assert answers(there.truncated(limit).miner(), 2, 1) == answers(here.truncated(limit).miner(), 2, 1)
        there.close()


@pytest.mark.parametrize("columns", [LONG, Columns.of(unit="u", item="i")])
def test_rows_with_texts_that_are_too_long_change_no_other_unit(spark: Any, columns: Columns) -> None:
    """Keys and items of more than 4096 bytes are missing, as they are here."""
    long = "x" * 5000
    rows = [
        ("u0", "p", "a"),
        ("u0", "q", "a"),
        ("u1", "p", "a"),
        ("u1", long, "b"),
        (long, "p", "a"),
        (long + "y", "p", "a"),
    ]
    units, baskets, items = zip(*rows, ("u1", "q", long), ("u1", "q", "b"), strict=True)
    table = pa.table({"u": units, "b": baskets, "i": items})
    there, here = on_spark(spark, table, columns).transactions, read_baskets(table, columns).baskets
    assert there.labels.to_pylist() == here.labels.to_pylist()
    assert there.total_units == here.total_units
    assert held(there, range(len(here.labels))) == held(here, range(len(here.labels)))
    weights = np.array([100, 70])
    assert there.item_weights(weights).tolist() == here.item_weights(weights).tolist()
    assert answers(there.miner(), 2, 1) == answers(here.miner(), 2, 1)
    there.close()


@pytest.mark.parametrize("options", [{"k": 10}, {"k": 3, "catalogue": ["a", "b"]}, {"min_support": "40%"}])
def test_itemsets_are_counted_where_many_items_none_or_no_units_are(spark: Any, options: dict[str, Any]) -> None:
    """No item is found of a few units: what is counted then must not stop a charged run."""
    baskets = [["a", "b"]] * 500 + [["a"]] * 300
    for data, expected in ((baskets, {"a", "b"}), ([["a"]], set()), ([], set())):
        table = pa.table({"i": pa.array(data, pa.list_(pa.string()))})
        frame = spark.createDataFrame(table)
        found = dpmine.frequent_itemsets(frame, items="i", epsilon=5, **options)
        assert {item for itemset in found for item in itemset} >= expected
    found = dpmine.frequent_itemsets(
        spark.createDataFrame(pa.table({"i": pa.array(baskets)})), k=3, items="i", epsilon=50
    )
    assert list(map(sorted, found)) == [["a"], ["b"], ["a", "b"]]


@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_items_are_discovered(spark: Any, kind: str) -> None:
    items = [1, 2, 3] if kind == "integers" else ["a", "b", "c"]
    lists = [items[:2]] * 300 + [items[1:]] * 300 + [[]]
    frame = spark.createDataFrame(pa.table({"items": pa.array(lists)}))
    assert list(dpmine.discover_items(frame, items="items", epsilon=100)) == items
    found = dpmine.top_itemsets(frame, 2, items="items", epsilon=1000, mechanism="discover")
    assert set(found) == {frozenset(items[:2]), frozenset(items[1:])}
    assert not cached(spark)


@pytest.mark.parametrize("mechanism", ["exact", "exponential", "items_first", "auto"])
def test_runs_end_to_end_and_leave_nothing_behind(spark: Any, mechanism: str) -> None:
    """With ε = 1000 every mechanism takes the best ones, which no other itemset comes near."""
    table = pa.table({"u": [*range(400)] * 3, "i": [*["a"] * 400, *["b"] * 400, *["c"] * 300, *["d"] * 100]})
    options: dict[str, Any] = {"size": 2, "epsilon": 1000, "release_support": 1000, "mechanism": mechanism}
    catalogue = ["a", "b", "c", "d", "e"]
    results = [
        dpmine.top_itemsets(
            data, 1, unit="u", item="i", catalogue=catalogue, not_private=mechanism == "exact", **options
        )
        for data in (table, spark.createDataFrame(table).repartition(3))
    ]
    assert results[0].itemsets == results[1].itemsets == (frozenset("ab"),)
    assert results[0].noisy_supports == results[1].noisy_supports == (400,)
    assert results[0].to_dict() == results[1].to_dict()
    assert not cached(spark)


def test_lift_of_unions_is_the_local_one(spark: Any) -> None:
    """60 of 100 customers have both items on different days."""
    rows = [(unit, day, item) for unit in range(60) for day, item in enumerate("ab")]
    rows += [(unit, 0, item) for unit in range(60, 100) for item in "ab"]
    table = pa.table(dict(zip("ubi", map(list, zip(*rows, strict=True)), strict=True)))
    options: dict[str, Any] = {"catalogue": ["a", "b"], "release_support": 10**6, "epsilon": 10**6, "units": 100}
    here, there = (
        dpmine.top_itemsets(data, 1, rules=True, lift_of="units", min_support=0, **OPTIONS, **options)
        for data in (table, spark.createDataFrame(table).repartition(3))
    )
    assert there.to_dict() == here.to_dict()
    assert there.to_dict()["unions"][0]["noisy_support"] == 100
    assert there.rules()["lift"].tolist() == [1, 1]
    assert not cached(spark)


def test_many_places(spark: Any) -> None:
    data = mushroom()
    options: dict[str, Any] = {"mechanism": "exact", "not_private": True, "size": "2-3", **data.options}
    there = dpmine.top_itemsets(spark.createDataFrame(data.table), 15, **options)
    here = dpmine.top_itemsets(data.table, 15, **options)
    known = dpmine.itemset_supports(data.table, size="2-3", min_support=4000, **data.options)
    support_of = dict(zip(known["itemsets"], known["support"], strict=True))
    supports = [[support_of[itemset] for itemset in result.itemsets] for result in (here, there)]
    assert supports[0] == supports[1]  # ties may be broken either way
    assert not cached(spark)


def test_nothing_is_left_behind_by_a_listing_or_an_error(spark: Any) -> None:
    frame = spark.createDataFrame(table_of(random_rows(1)))
    dpmine.itemset_supports(frame, size="2-3", min_support=2, **OPTIONS)
    assert not cached(spark)
    with pytest.raises(dpmine.BadParameter, match="memory limit"):
        dpmine.itemset_supports(
            spark.range(900).selectExpr("0 as u", "id as i"), size=2, memory="64MB", unit="u", item="i"
        )
    assert not cached(spark)


def test_a_frame_of_the_users_stays_as_it_was(spark: Any) -> None:
    frame = spark.createDataFrame(table_of(random_rows(1))).persist()
    dpmine.top_itemset(frame, **OPTIONS)
    assert frame.is_cached
    frame.unpersist()
