"""Delta tables: no day or instant stops a run, and types and features that cannot be read are rejected before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from support.cases import every
from support.oracles.ingest import refused
from support.reading import exact_supports

from dpmine.errors import BadData, UnreadableFile
from dpmine.io.open import open_source
from dpmine.io.source import Columns

if TYPE_CHECKING:
    from pathlib import Path

INSTANTS = [0, 2**56, -(2**56)]  # 2^56 microseconds are two thousand years: no instants in nanoseconds
ROWS = pa.table(
    {
        "who": ["a", "b", "c"],
        "what": ["x", "y", "x"],
        "at": pa.array(INSTANTS).view(pa.timestamp("us")),
        "number": pa.array([1, 2, 3]),
    }
)


def table_of(folder: Path, stored: pa.Table, **options: Any) -> str:
    """A table with the types of ROWS, whose one file holds `stored`."""
    write_deltalake(folder, ROWS)
    (file,) = folder.glob("*.parquet")
    pq.write_table(stored, file, **options)
    return edited(folder, "add", size=file.stat().st_size, stats=None)


def edited(folder: Path, name: str, **changes: Any) -> str:
    """The table, whose log gets other values in one kind of actions."""
    (log,) = (folder / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        action.get(name, {}).update(changes)
    log.write_text("\n".join(map(json.dumps, actions)))
    return str(folder)


def supports(data: str) -> dict[frozenset[str], int]:
    return exact_supports(data, unit="who", basket="day(at)", item="what")


@every("options", [{}, {"use_deprecated_int96_timestamps": True}])
def test_far_instants_of_delta_tables_are_read(options: dict[str, Any], tmp_path: Path) -> None:
    assert supports(table_of(tmp_path / "sales", ROWS, **options)) == {frozenset("x"): 2, frozenset("y"): 1}


@every(
    ("name", "column"),
    [
        ("at", pa.array(INSTANTS).view(pa.timestamp("ns"))),
        ("at", pa.array(INSTANTS).view(pa.timestamp("ms"))),
        ("what", pa.array([b"x", b"y", b"x"])),
        ("number", pa.array([1.0, 2.0, 3.0])),
        ("number", pa.array([1, 2, 3], pa.uint64())),
        ("number", pa.array(["1", "2", "3"])),
    ],
)
def test_other_types_than_the_tables_are_rejected_whatever_the_values(name: str, column: Any, tmp_path: Path) -> None:
    stored = ROWS.set_column(ROWS.schema.get_field_index(name), name, column)
    with refused(BadData, f"type of '{name}' is not the table's"):
        supports(table_of(tmp_path / "sales", stored))


@every(
    ("name", "kind"),
    [("number", pa.int32()), ("what", pa.large_string()), ("what", pa.dictionary(pa.int32(), pa.string()))],
)
def test_types_that_fit_are_read(name: str, kind: pa.DataType, tmp_path: Path) -> None:
    place = ROWS.schema.get_field_index(name)
    stored = ROWS.set_column(place, name, ROWS.column(name).cast(kind))
    assert len(supports(table_of(tmp_path / "sales", stored))) == 2


FAR = [20_000, 6_585_402, -800_000, None]  # the second is in the year 20000, the third before the year 1
DAYS = pa.table(
    {"who": ["a", "b", "c", "d"], "what": ["x", "x", "y", "y"], "day": pa.array(FAR, pa.int32()).view(pa.date32())}
)


@every("partitions", [None, ["day"], ["what", "day"]])
@every("checkpoint", [False, True])
def test_no_day_stops_a_run_or_shows(partitions: list[str] | None, checkpoint: bool, tmp_path: Path) -> None:
    """The log has the least and the largest day of each file, and the days of partitions."""
    folder = tmp_path / "daily sales"
    write_deltalake(folder, DAYS, partition_by=partitions)
    if checkpoint:
        DeltaTable(folder).create_checkpoint()
    found = exact_supports(str(folder), unit="who", basket="day", item="what")
    assert found == {frozenset("x"): 2, frozenset("y"): 1}


def test_values_of_partitions_have_the_types_of_the_table(tmp_path: Path) -> None:
    table = DAYS.append_column("number", pa.array([1, -2, 3, None], pa.int32()))
    write_deltalake(tmp_path, table, partition_by=["number", "what", "day"])
    source = open_source(str(tmp_path), Columns())
    read = pa.Table.from_batches(source.batches(table.schema.names))
    assert read.schema.types == table.schema.types
    assert read.sort_by("who").columns == table.columns


def test_columns_that_were_added_later_are_null_before(tmp_path: Path) -> None:
    write_deltalake(tmp_path, DAYS.select(["who"]))
    write_deltalake(tmp_path, DAYS, mode="append", schema_mode="merge")
    read = pa.Table.from_batches(open_source(str(tmp_path), Columns()).batches(["who", "what"]))
    assert sorted(map(str, read.column("what").to_pylist())) == ["None"] * 4 + ["x", "x", "y", "y"]


@every("feature", ["deletionVectors", "columnMapping"])
def test_features_that_change_what_files_hold_are_rejected(feature: str, tmp_path: Path) -> None:
    """Their rows may be deleted ones, and their columns have other names."""
    write_deltalake(tmp_path, DAYS)
    table = edited(
        tmp_path, "protocol", minReaderVersion=3, minWriterVersion=7, readerFeatures=[feature], writerFeatures=[feature]
    )
    with refused(UnreadableFile, f"does not read ({feature})"):
        open_source(table, Columns())


def test_mapped_columns_are_rejected_in_tables_that_list_no_features(tmp_path: Path) -> None:
    notes = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    field = {"name": "who", "type": "string", "nullable": True, "metadata": notes}
    write_deltalake(tmp_path, DAYS)
    edited(tmp_path, "protocol", minReaderVersion=2, minWriterVersion=5)
    table = edited(
        tmp_path,
        "metaData",
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
        schemaString=json.dumps({"type": "struct", "fields": [field]}),
    )
    with refused(UnreadableFile, "does not read (columnMapping)"):
        open_source(table, Columns())
