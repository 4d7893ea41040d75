"""Days, weeks and months as keys: as if a column of them had been there, for any value, however it is read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.ingest import refused
from support.reading import IN_CHUNKS, exact_supports

import dpmine
from dpmine.errors import BadData
from dpmine.io.source import ArrowSource, Columns
from dpmine.io.sources.periods import require_none, with_periods
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dpmine.itemsets.transactions.interface import Transactions

UNITS = ["s", "ms", "us", "ns"]
PERIODS: dict[str, Callable[[datetime], Any]] = {
    "day": lambda at: at.date().toordinal(),
    "week": lambda at: at.isocalendar()[:2],
    "month": lambda at: (at.year, at.month),
}
MOMENTS = st.datetimes(datetime(1701, 1, 1), datetime(2250, 1, 1))  # noqa: DTZ001 - of no zone


def periods_of(column: pa.Array, period: str) -> Any:
    table = pa.table({"at": column})
    source = ArrowSource(table.schema, lambda names: table.select(names).to_batches(), repeatable=True)
    key = f"{period}(at)"
    (batch,) = with_periods(source, [key]).batches([key])
    return batch.column(0).to_pylist()


def same_parts(numbers: list[Any], names: list[Any]) -> bool:
    """Whether two lists divide their places alike."""
    return len(set(zip(numbers, names, strict=True))) == len(set(numbers)) == len(set(names))


@settings(max_examples=examples(60))
@given(st.lists(MOMENTS, min_size=1, max_size=30), st.sampled_from(UNITS), st.sampled_from(sorted(PERIODS)))
def test_parts_are_those_of_the_calendar(moments: list[datetime], unit: str, period: str) -> None:
    near = [moment + timedelta(days=days) for moment in moments for days in (-1, 1, 7, 31)]
    moments = [moment.replace(microsecond=0) for moment in (*moments, *near)]
    found = periods_of(pa.array(moments, pa.timestamp(unit)), period)
    assert same_parts(found, [PERIODS[period](moment) for moment in moments])
    days = periods_of(pa.array([moment.date() for moment in moments], pa.date32()), period)
    assert days == found
    assert periods_of(pa.array([moment.date() for moment in moments], pa.date64()), period) == found


@every("zone", ["Europe/Berlin", "America/Los_Angeles", "UTC"])
@every("period", sorted(PERIODS))
def test_days_are_those_of_the_columns_own_zone(zone: str, period: str) -> None:
    start = datetime(2026, 3, 20, tzinfo=UTC)
    moments = [start + timedelta(hours=hours) for hours in range(24 * 40)]
    found = periods_of(pa.array(moments, pa.timestamp("us", zone)), period)
    assert same_parts(found, [PERIODS[period](moment.astimezone(ZoneInfo(zone))) for moment in moments])


@every("unit", UNITS)
@every("zone", [None, "Europe/Berlin"])
@every("period", sorted(PERIODS))
def test_no_value_is_an_error(unit: str, zone: str | None, period: str) -> None:
    extremes = np.array([-(2**63), -(2**62), -1, 0, 2**62, 2**63 - 1])
    column = pa.array([*extremes.tolist(), None], pa.int64()).cast(pa.timestamp(unit, zone))
    found = periods_of(column, period)
    assert found[-1] is None
    assert None not in found[:-1]


def visits() -> pa.Table:
    generator = np.random.default_rng(6)
    moments = [
        datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=int(hours)) for hours in generator.integers(0, 2000, 400)
    ]
    columns = {
        "patient": generator.integers(0, 30, 400).tolist(),
        "at": pa.array([*moments[:-3], None, None, None], pa.timestamp("us")),
        "drug": [f"d{drug}" for drug in generator.integers(0, 6, 400)],
    }
    return pa.table(columns)


def with_column(table: pa.Table, period: str) -> pa.Table:
    parts = [None if at is None else str(PERIODS[period](at)) for at in table["at"].to_pylist()]
    return table.append_column("part", pa.array(parts, pa.string()))


def supports(data: Any, **options: Any) -> dict[frozenset[str], int]:
    return exact_supports(data, "1-2", item="drug", **options)


@every("period", sorted(PERIODS))
@every("memory", [None, "64MB"])
def test_supports_are_those_of_a_column_of_periods(period: str, memory: str | None, tmp_path: Path) -> None:
    table = visits()
    path = tmp_path / "visits.parquet"
    pq.write_table(table, path)
    basket = supports(with_column(table, period), unit="patient", basket="part")
    assert supports(path, unit="patient", basket=f"{period}(at)", memory=memory) == basket
    unit = supports(with_column(table, period), unit=["patient", "part"])
    for data in (path, table, table.to_pandas(), table.to_batches()[0]):
        assert supports(data, unit=["patient", f"{period}(at)"], memory=memory) == unit


def counted(transactions: Transactions) -> set[tuple[int, ...]]:
    """The codes of each pair, and its support."""
    listed = transactions.miner().itemsets(2, 1)
    return {
        (*sorted(items), support)
        for items, support in zip(listed.items.tolist(), listed.supports.tolist(), strict=True)
    }


COLUMNS = [pa.date32(), pa.date64(), *(pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "Europe/Berlin"))]


@every("kind", COLUMNS, quick=8)
@every("period", sorted(PERIODS))
def test_streamed_supports_are_those_of_a_column_of_periods(period: str, kind: pa.DataType) -> None:
    """Read in parts, because nothing fits in memory at once."""
    table = visits()
    if pa.types.is_date(kind):
        table = with_column(table, period).set_column(1, "at", table["at"].cast(pa.date32()).cast(kind))
    else:
        table = with_column(table.set_column(1, "at", table["at"].cast(kind)), period)
    found, expected = (
        read_transactions(table, Columns(("patient",), (basket,), "drug"), memory=IN_CHUNKS).transactions
        for basket in (f"{period}(at)", "part")
    )
    assert not isinstance(found, BasketsInMemory)
    assert counted(found) == counted(expected) != set()


@every("period", sorted(PERIODS))
def test_periods_in_a_job_file(period: str, tmp_path: Path) -> None:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(url).grant("clinic", epsilon=1, delta="1e-5")
    (tmp_path / "jobs.toml").write_text(
        f'[budget]\nledger = "{url}"\ndataset = "clinic"\nepsilon = 1\ndelta = 1e-5\n[[job]]\n'
        f'kind = "top-itemset"\ninput = "{tmp_path / "visits.parquet"}"\nitem = "drug"\n'
        f'unit = ["patient", "{period}(at)"]\nsize = "1"\n'
    )
    (outcome,) = dpmine.report(tmp_path / "jobs.toml", tmp_path / "page.html").outcomes
    assert outcome.error is None
    assert f"patient, {period}(at)" in (tmp_path / "page.html").read_text()


def test_spark_has_no_periods() -> None:
    require_none(["at", "day(at)"], ["day(at)", "year(at)", "week(on)"])
    with refused(BadData, "'day(at)' is not for Spark", "date_trunc('day', at)"):
        require_none(["patient", "at"], ["patient", "day(at)"])


def test_texts_are_declared_as_dates(tmp_path: Path) -> None:
    table, path, database = visits(), tmp_path / "visits.csv", tmp_path / "visits.db"
    expected = supports(with_column(table, "week"), unit="patient", basket="part")
    rows = [(str(row["patient"]), row["at"] and str(row["at"]), row["drug"]) for row in table.to_pylist()]
    path.write_text("patient,at,drug\n" + "\n".join(",".join(entry or "" for entry in row) for row in rows))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE visits (patient TEXT, at TEXT, drug TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    query = dpmine.Input(query="SELECT * FROM visits", database=f"sqlite:///{database}", types="at=date")
    for data in (dpmine.Input(path, types="at=date"), query):
        assert supports(data, unit="patient", basket="week(at)") == expected
    with refused(BadData, "'week(at)' needs a column of dates or timestamps", "types='at=date'"):
        supports(path, unit="patient", basket="week(at)")


def test_what_is_no_date_is_null(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    texts = ["2026-11-23", "2026-11-23T10:00:00+01:00", "2026-11-23 x", "23.11.2026", "2026-11-231", "", "2026-13-01"]
    texts += ["0044-03-15 BC", "0044-03-15 10:00:00 BC", "infinity", "20000-01-01"]
    path.write_text("patient,at,drug\n" + "\n".join(f"p{place},{text},d" for place, text in enumerate(texts)))
    found = supports(dpmine.Input(path, types="at=date"), unit="at")
    assert found == {frozenset("d"): 1}
    assert supports(dpmine.Input(path, types="at=date"), unit=["patient", "day(at)"]) == {frozenset("d"): 3}


def test_a_column_of_that_name_is_itself_and_others_are_missing() -> None:
    table = pa.table({"day(at)": ["x", "x", "y"], "drug": ["a", "b", "a"]})
    assert supports(table, unit="day(at)") == {frozenset("a"): 2, frozenset("b"): 1, frozenset("ab"): 1}
    with refused(BadData, "There is no column 'day(when)'"):
        supports(visits(), unit="day(when)")
    with refused(BadData, "There is no column 'hour(at)'"):
        supports(visits(), unit="hour(at)")


def test_the_guarantee_names_the_period(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(visits(), path)
    found = dpmine.top_itemset(path, unit=["patient", "month(at)"], item="drug", size=1)
    assert found.guarantee.unit == "patient, month(at)"


def test_other_models_take_periods_too() -> None:
    from dpmine.models.tables import read_columns

    table = visits().append_column("dose", pa.array(np.arange(400.0)))
    read = read_columns(table, ["dose"], keys=["patient", "month(at)"])
    months = [None if at is None else at.month for at in table["at"].to_pylist()]
    known = read["month(at)"] >= 0
    assert same_parts(read["month(at)"][known].tolist(), [month for month in months if month is not None])
    assert known.sum() == 397
    assert pytest.approx(read["dose"]) == np.arange(400)
