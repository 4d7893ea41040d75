"""Windows of rows: as if the other rows had never been there, in every layout, form of file and way to read."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from support.cases import every
from support.oracles.ingest import refused
from support.reading import IN_CHUNKS

import dpmine
from dpmine.errors import BadData
from dpmine.io.input import Days, WindowedInput
from dpmine.io.source import ArrowSource, Columns
from dpmine.io.sources.periods import with_days
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.transactions.interface import Transactions

FIRST = date(2026, 1, 5)
WEEK = Days("at", (FIRST - date(1970, 1, 1)).days, (FIRST - date(1970, 1, 1)).days + 7)
KINDS = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))]


def visits(kind: pa.DataType | None = None) -> pa.Table:
    """Four weeks of visits; the first rows of all have no timestamp. Every week has items of its own."""
    draw = np.random.default_rng(6)
    hours = draw.integers(0, 28 * 24, 600)
    times = [datetime(2025, 12, 29) + timedelta(hours=int(hour)) for hour in hours]  # noqa: DTZ001 - of no zone
    drugs = [f"d{draw.integers(0, 5)}" if draw.random() < 0.7 else f"week{hour // (7 * 24)}" for hour in hours]
    column = pa.array([None, None, *times[2:]], pa.timestamp("us"))
    if kind is not None:
        column = column.cast(pa.date32()).cast(kind) if pa.types.is_date(kind) else column.cast(kind)
    return pa.table({"patient": draw.integers(0, 40, 600).tolist(), "at": column, "drug": drugs})


def inside(table: pa.Table) -> pa.Table:
    """The rows of the week, found one by one in Python."""
    days = [at and (at.date() if isinstance(at, datetime) else at) for at in table["at"].to_pylist()]
    return table.filter(pa.array([day is not None and FIRST <= day < FIRST + timedelta(7) for day in days]))


def contents(transactions: Transactions) -> tuple[list[Any], set[tuple[int, ...]]]:
    """All labels, and the support of each pair."""
    listed = transactions.miner().itemsets(2, 1)
    pairs = zip(listed.items.tolist(), listed.supports.tolist(), strict=True)
    return transactions.labels.to_pylist(), {(*sorted(items), support) for items, support in pairs}


@every("memory", [None, IN_CHUNKS], quick=16)
@every("basket", [(), ("day(at)",)])
@every("kind", KINDS)
def test_a_window_is_its_rows(tmp_path: Path, kind: pa.DataType, basket: tuple[str, ...], memory: Any) -> None:
    table, path = visits(kind), tmp_path / "visits.parquet"
    pq.write_table(table, path, row_group_size=97)
    columns = Columns(("patient",), basket, "drug")
    found = read_transactions(WindowedInput(path, days=WEEK), columns, memory=memory).transactions
    expected = read_transactions(inside(table), columns, memory=memory).transactions
    assert isinstance(found, BasketsInMemory) is (memory is None)
    assert contents(found) == contents(expected)
    assert "week1" in contents(found)[0]
    assert not {"week0", "week2", "week3"} & {*contents(found)[0]}


def test_csv_files_with_a_declared_date(tmp_path: Path) -> None:
    table, path = visits(), tmp_path / "visits.csv"
    pv.write_csv(table, path)
    columns = Columns(("patient",), (), "drug")
    found = read_transactions(WindowedInput(path, types="at=date", days=WEEK), columns).transactions
    assert contents(found) == contents(read_transactions(inside(table), columns).transactions)


def test_days_are_those_of_the_columns_own_zone(tmp_path: Path) -> None:
    midnight = datetime(2026, 1, 5, tzinfo=UTC)  # in Los Angeles still the day before
    times = [midnight, midnight + timedelta(hours=8), midnight + timedelta(days=7, hours=7)]
    for zone, expected in (("UTC", ["a", "b"]), ("America/Los_Angeles", ["b", "c"])):
        table = pa.table(
            {"patient": [1, 2, 3], "at": pa.array(times, pa.timestamp("ms", zone)), "drug": ["a", "b", "c"]}
        )
        pq.write_table(table, tmp_path / "visits.parquet")
        given = WindowedInput(tmp_path / "visits.parquet", days=WEEK)
        read = read_transactions(given, Columns(("patient",), (), "drug")).transactions
        assert read.labels.to_pylist() == expected


@every("unit", ["s", "ms", "us", "ns"])
@every("zone", [None, "Europe/Berlin"])
def test_no_value_is_an_error(unit: str, zone: str | None) -> None:
    extremes = np.array([-(2**63), -(2**62), -1, 0, 2**62, 2**63 - 1])
    column = pa.array([*extremes.tolist(), None], pa.int64()).cast(pa.timestamp(unit, zone))
    table = pa.table({"patient": range(7), "at": column, "drug": ["x"] * 7})
    source = ArrowSource(table.schema, lambda names: table.select(names).to_batches(), repeatable=True)
    (batch,) = with_days(source, Days("at", -1, 1), ["patient"]).batches(["patient"])
    assert batch["patient"].to_pylist() == [2, 3]


def test_the_column_is_no_item(tmp_path: Path) -> None:
    """Of a one-hot table all columns but the unit's are items, and two columns are unit and item."""
    path = tmp_path / "visits.parquet"
    table = pa.table({"patient": [1, 2], "at": [FIRST, FIRST - timedelta(1)], "aspirin": [1, 1], "iron": [0, 1]})
    pq.write_table(table, path)
    given = WindowedInput(path, days=WEEK)
    read = read_transactions(given, Columns(("patient",), one_hot=True)).transactions
    assert read.labels.to_pylist() == ["aspirin"]
    assert read.miner().itemsets(1, 1).supports.tolist() == [1]
    pq.write_table(visits(), path)
    assert read_transactions(WindowedInput(path, days=WEEK), Columns()).transactions.unit == "patient"


def test_a_window_without_rows_has_no_itemsets(tmp_path: Path) -> None:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    empty = WindowedInput(tmp_path / "visits.parquet", days=Days("at", 0, 7))
    found = dpmine.top_itemsets(empty, 3, unit="patient", item="drug", release_support="auto")
    assert found.itemsets == ()


def test_progress_does_not_show_how_many_rows_there_are(tmp_path: Path) -> None:
    pq.write_table(visits(), tmp_path / "visits.parquet", row_group_size=50)
    shares: list[float] = []
    given = WindowedInput(tmp_path / "visits.parquet", days=WEEK)
    read_transactions(given, Columns(("patient",), (), "drug"), progress=shares.append)
    assert set(shares) <= {0.0, 1.0}


def test_what_is_wrong_with_the_column(tmp_path: Path) -> None:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    columns = Columns(("patient",), (), "drug")
    for name, hint in (
        ("drug", "'drug' has the type"),
        ("att", "The columns are: 'patient', 'at', 'drug'. Did you mean 'at'?"),
    ):
        with refused(BadData, hint):
            read_transactions(WindowedInput(tmp_path / "visits.parquet", days=Days(name, 0, 7)), columns)
