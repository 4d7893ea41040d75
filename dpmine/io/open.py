"""What data are, found out once: paths, Arrow, a data frame, a frame of Spark, or baskets in Python.

Looks at the kind alone, and never imports a library whose objects only a program that imported it can hand over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, require_memory
from dpmine.io.arrow import is_list
from dpmine.io.parquet import open_files
from dpmine.io.paths import paths_of
from dpmine.io.source import FOREIGN_ERRORS, ArrowSource, BasketSource, Columns, PandasSource

if TYPE_CHECKING:
    from dpmine.io.source import Source


def open_source(data: Any, columns: Columns) -> Source:
    """The source behind `data`; BadParameter where it is nothing that the library accepts. Reads no rows.

    Baskets are a sequence or another iterable of them. Frames of Spark are not opened here: see `is_spark_frame`.
    """
    if (paths := paths_of(data)) is not None:
        return open_files(paths)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return ArrowSource(data.schema, lambda names: data.select(names).to_batches(), data.num_rows, repeatable=True)
    if (datasets := sys.modules.get("pyarrow.dataset")) is not None and isinstance(data, datasets.Dataset):
        again = isinstance(data, datasets.FileSystemDataset)
        return ArrowSource(data.schema, lambda names: _scanned(data, names), repeatable=again)
    if (pandas := sys.modules.get("pandas")) is not None and isinstance(data, pandas.DataFrame):
        return PandasSource(data)
    if isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__"):
        reader = _reader(data)
        return ArrowSource(reader.schema, lambda names: (batch.select(names) for batch in reader))
    if isinstance(data, bytes | Mapping) or not isinstance(data, Iterable):
        raise BadParameter(
            f"data must not be a {type(data).__name__}: give a path or a list of paths, a pyarrow Table, "
            "RecordBatchReader or Dataset, a pandas or polars DataFrame, or a sequence of baskets."
        )
    if columns != Columns():
        raise BadParameter("A sequence of baskets has no columns: leave out unit, basket, item, items and one_hot.")
    return BasketSource(data)


def is_spark_frame(data: Any) -> bool:
    """Whether data are a frame of Spark, classic or of Spark Connect."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and isinstance(data, spark.DataFrame)


def _reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        return pa.RecordBatchReader.from_stream(data)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(f"A {type(data).__name__} is not a table of columns: give a data frame.") from None


def _scanned(data: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The named columns of a data set. Raises ValueError where Arrow leaves rows out, as it may where lists are."""
    done = 0
    for batch in data.scanner(columns=names).to_batches():
        yield batch
        done += batch.num_rows
    if any(is_list(data.schema.field(name).type) for name in names) and done != data.count_rows():
        raise ValueError
