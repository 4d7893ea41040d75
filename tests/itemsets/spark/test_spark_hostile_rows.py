"""Hostile rows in what Spark reads: nothing that is not drawn shows them, and no other row is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hostile.neighbours import LEAST_ROWS, Neighbours, Runs, differing
from support.hostile.tables import TABLES

import dpmine
from dpmine.errors import BadData

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark
REJECTED = "without sign", "days as items", "moments as items", "decimals", "lists of lists"
"""Types that Spark does not count: it reads integers of 64 bits without sign as decimals."""
HELD = {name: table for name, table in TABLES.items() if name not in REJECTED}


def test_there_are_many_hostile_rows() -> None:
    assert sum(len(table.rows) for table in HELD.values()) >= LEAST_ROWS


@pytest.mark.parametrize("form", ["files", "frame"])
@pytest.mark.parametrize("name", HELD)
def test_no_hostile_rows_show(
    spark: Any, name: str, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All rows of a table at once: each run takes seconds."""
    table = HELD[name]

    def data(rows: pa.Table) -> Any:
        path = tmp_path / "x.parquet"
        pq.write_table(rows, path)
        return str(path) if form == "files" else spark.read.parquet(str(path)).repartition(2)

    whole = pa.concat_tables([table.base, *table.rows.values()])
    neighbours = Neighbours(lambda: data(table.base), {"all": lambda: data(whole)}, table.options)
    runs = Runs(f"sqlite:///{tmp_path}/budget.db", capfd)
    assert differing(neighbours, runs, engine="spark") == {}


@pytest.mark.parametrize("name", REJECTED)
def test_types_that_spark_does_not_count_are_rejected_before_a_charge(spark: Any, name: str, tmp_path: Path) -> None:
    pq.write_table(TABLES[name].base, tmp_path / "x.parquet")
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.grant("shop", epsilon=1, delta=1e-5)
    with pytest.raises(BadData, match="the type"):
        dpmine.top_itemset(
            spark.read.parquet(str(tmp_path / "x.parquet")), **TABLES[name].options, ledger=ledger, dataset="shop"
        )
    assert ledger.history("shop")[1:] == ()
