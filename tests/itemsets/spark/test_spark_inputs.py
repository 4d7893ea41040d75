"""What Spark reads: the same baskets and the same complaints as for local data, and no value of the data in any."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import table_of
from support.oracles.ingest import CANARY, refused
from support.oracles.spark import listed

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.itemsets.spark import loading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.spark

DAY = dt.date(2024, 1, 1)
KEYS = pa.table({
    "store": ["x", "x", "x", "y", "y", None, "y", "x"],
    "day": pa.array([DAY, DAY, None, DAY, DAY, DAY, DAY, DAY], pa.date32()),
    "till": pa.array([1, 1, 1, 1, 2, 2, 2, 1], pa.int16()),
    "product": ["b", "a", "a", "a", "b", "b", "a", "é"],
})  # fmt: skip
LISTS = pa.table({
    "who": pa.array([1, 1, 2, None, 3, 3, 4], pa.int64()),
    "bought": pa.array([[1, 2, 2], [2, 3], [1, 2, None], [1, 2], None, [], [3, 2, 1]], pa.list_(pa.int32())),
})  # fmt: skip
FLAGS = pa.table({
    "a.b": pa.array([True, True, None, False]),
    "B": pa.array([True, True, True, False]),
    "b c`": pa.array([False, True, True, True]),
})  # fmt: skip
SAME_BUT_FOR_CASE = "names that differ in case"  # in files Spark refuses them
CASES: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "long, found": (pa.table({"item": [5, 6, 5, 6, 6, None], "customer": [1, 1, 2, 2, 2, 3]}), {}),
    "long, composite keys": (KEYS, {"unit": ["store", "day"], "basket": "till", "item": "product"}),
    "long, one basket a unit": (KEYS, {"unit": "store", "item": "product"}),
    "lists, rows": (LISTS, {"items": "bought"}),
    "lists, units": (LISTS, {"unit": "who", "items": "bought"}),
    "flags": (FLAGS, {}),
    "bits, a catalogue": (
        pa.table({name: FLAGS[name].cast(pa.int8()) for name in FLAGS.column_names}),
        {"one_hot": True, "catalogue": ["B", "b c`", "z"]},
    ),
    "a catalogue of texts for integers": (LISTS, {"unit": "who", "items": "bought", "catalogue": ["+1", "3", "2"]}),
    SAME_BUT_FOR_CASE: (
        pa.table({"item": ["p", "q", "p", "q"], "ITEM": [1, 1, 2, 2]}),
        {"unit": "ITEM", "item": "item"},
    ),
    "no values, a catalogue of integers": (
        pa.table({"u": [1, 2], "i": pa.nulls(2)}),
        {"unit": "u", "item": "i", "catalogue": [1, 2]},
    ),
    "no values at all": (pa.table({"u": [1, 2], "i": pa.nulls(2)}), {"unit": "u", "item": "i"}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_layout_has_the_local_answer(spark: Any, name: str, tmp_path: Path) -> None:
    table, options = CASES[name]
    expected = listed(table, **options)
    path = tmp_path / "data.parquet"
    pq.write_table(table, path)
    if name != SAME_BUT_FOR_CASE:
        assert listed(path, engine="spark", **options) == expected
    if not name.startswith("no values"):
        assert expected
        assert listed(spark.createDataFrame(table).repartition(2), **options) == expected


def test_one_hot_columns_beside_the_catalogue_are_not_looked_at(spark: Any) -> None:
    table = pa.table({"a": [0, 1, 1], "b": [1, 1, 1], "z": [7, 8, 9]})
    options: dict[str, Any] = {"one_hot": True, "catalogue": ["a", "b"], "size": 2, "min_support": 1}
    expected = dpmine.itemset_supports(table, **options)
    found = dpmine.itemset_supports(spark.createDataFrame(table), **options)
    assert found["support"].tolist() == expected["support"].tolist() == [2]


def test_shares_of_the_units(spark: Any) -> None:
    rows = table_of([(1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 0, 2), (3, 0, 9), (4, None, 1)])
    for data in (rows, spark.createDataFrame(rows)):
        found = dpmine.itemset_supports(data, size=2, min_support=0.5, as_fraction=True, unit="u", basket="b", item="i")
        assert found["support"].tolist() == [2 / 3]


WRONG: list[tuple[type[dpmine.DpmineError], dict[str, Any], Sequence[str]]] = [
    (BadData, {"unit": "nobody", "item": "i"}, ("nobody",)),
    (BadData, {"unit": "f", "item": "i"}, ("'f'", "double")),
    (BadData, {"unit": "u", "item": "f"}, ("'f'", "double")),
    (BadData, {"unit": "u", "items": "i"}, ("'i'", "lists")),
    (BadData, {"unit": "u", "item": "m"}, ("'m'", "map")),
    (BadData, {"unit": "u", "item": "big"}, ("'big'", "decimal")),
    (BadData, {}, ("not clear",)),
    (BadData, {"unit": "u", "item": "i", "catalogue": [1, 2]}, ("integers", "texts")),
]


@pytest.mark.parametrize(("kind", "options", "words"), WRONG)
def test_columns_that_do_not_fit(
    spark: Any, kind: type[dpmine.DpmineError], options: dict[str, Any], words: Sequence[str]
) -> None:
    row = f"(1, 1.5D, '{CANARY}', map('{CANARY}', 1), 5BD)"
    frame = spark.sql(f"select * from values {row} as t(u, f, i, m, big)")
    with refused(kind, *words):
        dpmine.top_itemset(frame, **options)


@pytest.mark.parametrize("natively", [True, False])
def test_the_counting_note_is_said_before_any_row_is_read(
    spark: Any, monkeypatch: pytest.MonkeyPatch, natively: bool
) -> None:
    """Every row would fail. The bytes are the columns' alone, so that nothing of the data is said."""
    monkeypatch.setattr(loading, "_known", {spark: natively})
    frame = spark.range(4).selectExpr("id as u", "id as b", f"cast(concat('{CANARY}', id) as int) as i")
    said: list[str] = []
    with pytest.raises(BadData):
        dpmine.top_itemset(frame, unit="u", basket="b", item="i", notice=said.append)
    assert said[1] == (
        "Spark's executors count the rows that Spark reads with dpmine's kernels; at most 24 bytes a row, and more for "
        "texts, are shuffled; a task takes about 0.7 GB beside Java"
        if natively
        else "Spark's SQL counts; about 11 bytes a row, and more for texts, are shuffled first"
    )
    lists = spark.createDataFrame(pa.table({"items": [[1, 2], [1, 2]]}))
    said.clear()
    dpmine.top_itemset(lists, items="items", notice=said.append)
    assert ("nothing is shuffled" in said[1]) is natively


def test_a_stream_is_refused(spark: Any) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("value as u", "value as i")
    with refused(BadParameter, "stream"):
        dpmine.top_itemset(frame, unit="u", item="i")


def test_texts_that_are_compared_by_other_rules(spark: Any) -> None:
    frame = spark.sql("select 1 as u, 'a' collate utf8_lcase as i")
    with refused(BadData, "'i'"):
        dpmine.top_itemset(frame, unit="u", item="i")


def test_one_hot_numbers_above_zero_are_items(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"a": [0, 1], "b": [1, 91827], "c": [-1, None]}))
    supports = dpmine.itemset_supports(frame, size=1, one_hot=True)
    assert dict(zip(supports["itemsets"], supports["support"], strict=True)) == {frozenset("b"): 2, frozenset("a"): 1}


@pytest.mark.parametrize("unit", [None, "u"])
def test_empty_baskets_count_in_shares(spark: Any, unit: str | None) -> None:
    table = pa.table({"u": [1, 2, 3, 4, 5], "l": pa.array([["a"], [], None, [None], ["b", "a"]])})
    frame = spark.createDataFrame(table if unit else table.select(["l"]))
    supports = dpmine.itemset_supports(frame, size=1, as_fraction=True, unit=unit, items="l")
    assert dict(zip(supports["itemsets"], supports["support"], strict=True)) == {
        frozenset("a"): 0.5,
        frozenset("b"): 0.25,
    }


def test_rows_that_fail_after_the_ledger_was_charged(spark: Any, tmp_path: Path, capfd: Any) -> None:
    """Spark quotes the row; dpmine does not, and Spark's own log is silent."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=3, delta=1e-6)
    frame = spark.range(4).selectExpr("id as u", f"cast(concat('{CANARY}', id) as int) as i")
    with refused(BadData, "Spark failed"):
        dpmine.top_itemset(frame, unit="u", item="i", ledger=ledger, dataset="shop")
    assert CANARY not in "".join(capfd.readouterr())
    assert ledger.budget("shop").spent.epsilon == 1


def test_a_budget_that_is_spent_leaves_the_data_alone(spark: Any, tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=1, delta=1e-6)
    frame = spark.range(4).selectExpr("id as u", f"cast(concat('{CANARY}', id) as int) as i")
    with pytest.raises(dpmine.BudgetExceeded):
        dpmine.top_itemset(frame, unit="u", item="i", epsilon=2, ledger=ledger, dataset="shop")
    assert ledger.budget("shop").spent.epsilon == 0
