"""Types of columns on Spark, natively and by SQL: counted as by the local engine, or one error that says why."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.conformance.sources import table_of
from support.oracles.ingest import refused
from support.oracles.spark import LONG, answers, listed, on_spark, random_rows
from support.reading import read_baskets

import dpmine
from dpmine.errors import BadData, UnreadableFile
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.spark import loading
from dpmine.itemsets.spark.native import NativeMiner

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark

NUMBERS = pa.array([0, 1, 0, 1, 2, 0, 3, 1])
TEXTS = NUMBERS.cast(pa.string())
KEYS = {
    **{str(kind): NUMBERS.cast(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())},
    **{f"time {unit}": NUMBERS.cast(pa.timestamp(unit)) for unit in ("s", "ms", "us")},
    "zoned": NUMBERS.cast(pa.timestamp("us", "Europe/Berlin")),
    "days": NUMBERS.cast(pa.int32()).cast(pa.date32()),
    "dictionary": TEXTS.dictionary_encode(),
    "large": TEXTS.cast(pa.large_string()),
}
ITEMS = {
    "int8": pa.array([-128, 127, -128, 127, 3, 3, 4, 127], pa.int8()),
    "uint32": pa.array([2**32 - 1, 1, 2**32 - 1, 1, 3, 1, 4, 1], pa.uint32()),
    "int64": pa.array([-(2**63), 2**63 - 1, -(2**63), 2**63 - 1, 0, 0, 4, 2**63 - 1]),
    "dictionary": TEXTS.dictionary_encode(),
}
UNKNOWN_TO_SPARK = {
    "timestamps in nanoseconds": NUMBERS.cast(pa.timestamp("ns")),
    "times of day": NUMBERS.cast(pa.time64("us")),
}
DECIMALS = {
    "decimal": pa.array([Decimal(number) / 4 for number in range(8)], pa.decimal128(10, 2)),
    "whole decimal": pa.array([Decimal(number) for number in range(8)], pa.decimal128(10, 0)),
    "uint64": pa.array(np.arange(8, dtype=np.uint64)),
}


@pytest.fixture(params=["native", "sql"])
def way(spark: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(loading, "_known", {spark: request.param == "native"})
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ITEMS)
def test_items_of_every_type_and_keys_of_all_types(kind: str, tmp_path: Path) -> None:
    """One unit of eleven columns: if the values of one were taken for others, units would fall together or apart."""
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({**KEYS, "item": ITEMS[kind], "till": KEYS["time ms"]}), path)
    options: dict[str, Any] = {"unit": [*KEYS], "item": "item"}
    expected = listed(path, **options)
    assert expected
    assert listed(path, engine="spark", **options) == expected
    assert listed(path, engine="spark", unit="large", basket="till", item="item") == listed(
        path, unit="large", basket="till", item="item"
    )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("options", [{"unit": "u", "item": "wrong"}, {"unit": "wrong", "item": "u"}])
@pytest.mark.parametrize("kind", DECIMALS)
def test_decimals_are_refused_before_the_charge(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Locally they are read. Spark takes unsigned integers of 64 bits for decimals."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=3, delta=1e-6)
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"u": NUMBERS, "wrong": DECIMALS[kind]}), path)
    with refused(BadData, "'wrong'", "decimal", "on Spark, cast it to texts"):
        dpmine.top_itemset(path, engine="spark", ledger=ledger, dataset="shop", **options)
    assert ledger.budget("shop").spent.epsilon == 0
    assert listed(path, **options)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", UNKNOWN_TO_SPARK)
def test_files_with_types_that_spark_lacks(kind: str, tmp_path: Path) -> None:
    """Even in columns that are not asked for: Spark reads none of the file."""
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"u": NUMBERS, "i": NUMBERS, "other": UNKNOWN_TO_SPARK[kind]}), path)
    assert listed(path, unit="u", item="i")
    with refused(UnreadableFile, kind):
        listed(path, engine="spark", unit="u", item="i")


@pytest.mark.parametrize("limit", [1, 2])
def test_units_are_cut_as_they_are_here(spark: Any, way: str, limit: int) -> None:
    table = table_of(random_rows(61, units=60))
    there, here = on_spark(spark, table, LONG).transactions, read_baskets(table, LONG).baskets
    cut = there.truncated(limit)
    assert isinstance(cut.miner(), NativeMiner) is (way == "native")
    assert cut.item_supports.tolist() == Miner(here.truncated(limit)).item_supports.tolist()
    assert answers(cut.miner(), 2, 1) == answers(Miner(here.truncated(limit)), 2, 1)
    there.close()


def test_baskets_of_a_unit_are_merged_as_they_are_here(spark: Any, way: str) -> None:
    table = table_of(random_rows(62, units=40))
    there, here = on_spark(spark, table, LONG).transactions, read_baskets(table, LONG).baskets
    merged, items = there.projected([0, 2, 3]).unions().miner(), Miner(here.projected([0, 2, 3]).unions())
    assert isinstance(merged, NativeMiner) is (way == "native")
    for size in (1, 2, 3):
        assert answers(merged, size, 1) == answers(items, size, 1)
    assert [merged.support(pair) for pair in ([0, 1], [1, 2])] == [items.support(pair) for pair in ([0, 1], [1, 2])]
    there.close()
