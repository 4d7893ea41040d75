"""One hostile row, in every form that is read: nothing that is not drawn shows it, and no other row is lost."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from support.hostile.neighbours import Runs, Unheld, differing, differing_in_numbers
from support.hostile.tables import NUMBER_TABLES, TABLES

from dpmine.io.arrow import as_bytes, as_text_type
from dpmine.io.input import Input

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = pytest.mark.slow


@pytest.fixture
def runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Runs:
    return Runs(f"sqlite:///{tmp_path}/budget.db", capfd)


def _parquet(table: pa.Table, folder: Path, **options: Any) -> str:
    pq.write_table(table, folder / "x.parquet", **options)
    return str(folder / "x.parquet")


def _arrow(table: pa.Table, folder: Path, writer: Any) -> str:
    with writer(folder / "x.arrow", table.schema) as out:
        out.write_table(table)
    return str(folder / "x.arrow")


def _duckdb(table: pa.Table, folder: Path) -> Input:
    path = folder / "x.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return Input(query="SELECT * FROM rows", database=f"duckdb:///{path}")


def _bytes(table: pa.Table, folder: Path) -> Input:
    """Text as bytes without a mark, as Impala and Hadoop write it."""
    columns, texts = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        held = as_bytes(column.type)
        is_text = as_text_type(held) != held and not pa.types.is_fixed_size_binary(held)
        columns[name] = column.combine_chunks().view(held) if is_text else column
        if is_text:
            texts[name] = "text"
    return Input(_parquet(pa.table(columns), folder, store_schema=False), types=texts or None)


def _where(table: pa.Table, folder: Path) -> Input:
    """A condition that needs the last column, where DuckDB can have it, and holds whatever that is."""
    name, kind = table.column_names[-1], table.schema.types[-1]
    return Input(
        _parquet(table, folder), where="TRUE" if pa.types.is_nested(kind) else f"{name} IS NULL OR {name} = {name}"
    )


def _delta(table: pa.Table, folder: Path) -> Path:
    shutil.rmtree(folder / "delta", ignore_errors=True)
    write_deltalake(folder / "delta", table)
    return folder / "delta"


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Parquet": _parquet,
    "Parquet in small pieces": lambda table, folder: _parquet(
        table, folder, row_group_size=20, data_page_size=64, use_dictionary=False, data_page_version="2.0"
    ),
    "Parquet with bytes for text": _bytes,
    "rows where a condition holds": _where,
    "Arrow file": lambda table, folder: _arrow(table, folder, pa.ipc.new_file),
    "Arrow stream": lambda table, folder: _arrow(table, folder, pa.ipc.new_stream),
    "Delta": _delta,
    "DuckDB": _duckdb,
    "table": lambda table, _folder: table,
    "reader": lambda table, _folder: table.to_reader(max_chunksize=30),
    "data set": lambda table, folder: ds.dataset(_parquet(table, folder)),
    "pandas": lambda table, _folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, _folder: pl.DataFrame(table),
    "LazyFrame": lambda table, _folder: pl.DataFrame(table).lazy(),
}
LACKING = {("Delta", "without sign")}
"""Types that a form does not have."""


@pytest.mark.parametrize("form", FORMS)
def test_no_hostile_row_shows_in_columns_with_types(form: str, runs: Runs, tmp_path: Path) -> None:
    """Where the form has the types, and its writer accepts the values."""
    found = {}
    for name, table in TABLES.items():
        if (form, name) not in LACKING:
            found[name] = differing(table.neighbours(lambda rows: _written(form, rows, tmp_path)), runs)
    assert sum(map(len, found.values())) == 0, found


@pytest.mark.parametrize("form", FORMS)
def test_no_hostile_number_shows_to_an_estimator(form: str, runs: Runs, tmp_path: Path) -> None:
    found = {}
    for name, table in NUMBER_TABLES.items():
        if (form, name) not in LACKING:
            neighbours = table.neighbours(lambda rows: _written(form, rows, tmp_path))
            found[name] = differing_in_numbers(neighbours, runs, "number")
    assert sum(map(len, found.values())) == 0, found


def _written(form: str, rows: pa.Table, folder: Path) -> Any:
    try:
        return FORMS[form](rows, folder)
    except Exception as error:
        raise Unheld from error
