"""Delta tables whose files have other types than the table: no instant stops a run, and other types are rejected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from support.cases import every
from support.oracles.ingest import refused

import dpmine
from dpmine.errors import BadData

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
    (log,) = (folder / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"].update(size=file.stat().st_size, stats=None)
    log.write_text("\n".join(map(json.dumps, actions)))
    return str(folder)


def supports(data: str) -> dict[frozenset[str], int]:
    found = dpmine.itemset_supports(data, size=1, unit="who", basket="day(at)", item="what")
    return dict(zip(found["itemsets"], found["support"], strict=True))


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
