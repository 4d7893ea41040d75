"""Every row that a footer counts is read, or it is an error: whoever reads, nothing is lost in silence."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.oracles.ingest import contents
from support.reading import read_baskets

from dpmine.errors import BadData, DpmineError, UnreadableFile
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.memory import MemoryBudget
from dpmine.models.tables import predict_table, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LISTS = Columns(items="items")
STREAMED = replace(MemoryBudget.of("64MB"), whole=1)
BASKETS = [["a", "b"], ["b"], None, ["a", None, "c"]] * 30
CATEGORIES = pa.list_(pa.dictionary(pa.int32(), pa.string()))


class Predictor:
    """A model of one feature."""

    feature_names_in_ = ("x",)

    def predict(self, rows: Any) -> Any:
        return rows["x"].to_numpy()


def streamed(data: Any) -> Any:
    return read_transactions(data, LISTS, memory=STREAMED).transactions


def in_memory(data: Any) -> Any:
    return read_baskets(data, LISTS).baskets


@every("read", [in_memory, streamed])
@every("opened", [str, ds.dataset])
def test_lists_of_which_arrow_leaves_rows_out_are_an_error(
    tmp_path: Path, read: Callable[[Any], Any], opened: Callable[[Any], Any]
) -> None:
    """Arrow reads no row of a list column whose row groups have one row and whose pages are of the smallest size."""
    path = tmp_path / "lists.parquet"
    pq.write_table(pa.table({"items": [["a", "b"]] * 100}), path, row_group_size=1, data_page_size=1)
    if pq.read_table(path).num_rows == 100:
        pytest.skip("this Arrow reads all rows")
    with pytest.raises(DpmineError) as error:
        read(opened(path))
    assert isinstance(error.value, UnreadableFile if opened is str else BadData)


READERS: dict[str, Callable[[str], Any]] = {
    "in memory": lambda path: read_baskets(path, Columns(unit=("u",), item="i")),
    "streamed": lambda path: read_transactions(path, Columns(unit=("u",), item="i"), memory=STREAMED),
    "table": lambda path: read_columns(path, ["x"]),
    "predictions": lambda path: predict_table(Predictor(), path),
}


@every("name", READERS)
@every("kept", [slice(0, 0), slice(0, 299)])
def test_rows_read_are_compared_with_the_footer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kept: slice
) -> None:
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"u": range(300), "i": ["a", "b", "c"] * 100, "x": [0.5] * 300}), path)
    READERS[name](path)
    whole = pq.ParquetFile.iter_batches

    def some(self: Any, *arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        for batch in whole(self, *arguments, **options):
            yield batch.slice(kept.start, kept.stop)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", some)
    with pytest.raises(UnreadableFile, match="footer"):
        READERS[name](path)


def test_rows_of_a_catalogue_are_compared_with_the_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "catalogue.parquet"
    pq.write_table(pa.table({"item": ["a", "b", "c"]}), path)
    whole = pq.read_table
    monkeypatch.setattr(pq, "read_table", lambda source, **options: whole(source, **options).slice(1))
    with pytest.raises(UnreadableFile, match="footer"):
        read_catalogue(path)


@every("read", [in_memory, streamed])
@every("group", [1, 7, 1000])
def test_lists_of_dictionaries_over_several_row_groups_are_read(
    tmp_path: Path, read: Callable[[Any], Any], group: int
) -> None:
    pq.write_table(pa.table({"items": pa.array(BASKETS, CATEGORIES)}), tmp_path / "lists.parquet", row_group_size=group)
    pq.write_table(pa.table({"items": BASKETS}), tmp_path / "plain.parquet")
    assert contents(read(tmp_path / "lists.parquet")) == contents(read(tmp_path / "plain.parquet"))


def test_lists_of_categories_as_polars_writes_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"u": range(len(BASKETS)), "items": BASKETS}).with_columns(
        pl.col("items").cast(pl.List(pl.Categorical)), pl.col("u").cast(pl.Int16)
    )
    frame.write_parquet(tmp_path / "lists.parquet", row_group_size=20)
    columns = Columns(unit=("u",), items="items")
    found = read_baskets(tmp_path / "lists.parquet", columns).baskets
    assert contents(found) == contents(read_baskets(frame, columns).baskets)


SHORTAGES = [
    pa.ArrowMemoryError("malloc of 9"),
    MemoryError(),
    OSError(errno.ENOMEM, "map"),
    OSError(errno.EAGAIN, "t"),
]


@every("name", READERS)
@every("shortage", SHORTAGES)
def test_a_shortage_of_memory_is_no_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shortage: Exception
) -> None:
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"u": [1], "i": ["a"], "x": [0.5]}), path)

    def short(*_: Any, **__: Any) -> None:
        raise shortage

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", short)
    with pytest.raises(MemoryError):
        READERS[name](path)


@every("shortage", SHORTAGES)
def test_a_shortage_of_memory_is_no_fault_of_a_stream(shortage: Exception) -> None:
    def short(_batch: object) -> pa.RecordBatch:
        raise shortage

    schema = pa.schema({"u": pa.int64(), "i": pa.string()})
    with pytest.raises(MemoryError):
        read_baskets(pa.RecordBatchReader.from_batches(schema, map(short, [None])), Columns(unit=("u",), item="i"))
