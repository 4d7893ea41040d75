"""Anything that the library accepts as data, opened as a source of columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, require_memory
from dpmine.io.arrow import is_list
from dpmine.io.columns import Columns
from dpmine.io.pandas import PandasSource
from dpmine.io.parquet import open_files
from dpmine.io.python_values import basket_lists
from dpmine.io.source import FOREIGN_ERRORS, ArrowSource, reader_source, table_source

if TYPE_CHECKING:
    from dpmine.io.source import Source

BASKETS_COLUMN = "items"
"""The column of lists as which a sequence of baskets is read."""


def open_source(data: object, columns: Columns) -> Source:
    """The source behind `data`; BadParameter where it is nothing that the library accepts."""
    known = _arrow_source(data) or _frame_source(data)
    if known is not None:
        return known
    if isinstance(data, str | PathLike):
        return open_files([data])
    if isinstance(data, bytes | Mapping) or not isinstance(data, Iterable):
        raise BadParameter(
            f"data must not be a {type(data).__name__}: give a path or a list of paths, a pyarrow Table, "
            "RecordBatchReader or Dataset, a pandas or polars DataFrame, or a sequence of baskets."
        )
    return _sequence_source(list(data), columns)


def is_table(data: Any) -> bool:
    """Whether data have columns: something of Arrow, or a frame. Looks at the kind alone."""
    datasets, pandas = sys.modules.get("pyarrow.dataset"), sys.modules.get("pandas")
    kinds = [pa.RecordBatch, pa.Table, pa.RecordBatchReader]
    kinds += [datasets.Dataset] if datasets is not None else []
    kinds += [pandas.DataFrame] if pandas is not None else []
    return isinstance(data, tuple(kinds)) or hasattr(data, "__arrow_c_stream__")


def _arrow_source(data: Any) -> Source | None:
    if isinstance(data, pa.RecordBatch):
        return table_source(pa.Table.from_batches([data]))
    if isinstance(data, pa.Table):
        return table_source(data)
    if isinstance(data, pa.RecordBatchReader):
        return reader_source(data)
    datasets = sys.modules.get("pyarrow.dataset")  # imports pandas, and a Dataset can only come from it
    if datasets is not None and isinstance(data, datasets.Dataset):
        return ArrowSource(data.schema, lambda names: _scanned(data, names))
    return None


def _frame_source(data: Any) -> Source | None:
    pandas = sys.modules.get("pandas")  # a frame can only come from a program that imported pandas
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return PandasSource(data)
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    try:
        return reader_source(pa.RecordBatchReader.from_stream(data))
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


def _sequence_source(data: list[Any], columns: Columns) -> Source:
    if data and all(isinstance(entry, str | PathLike) for entry in data):
        return open_files(data)
    if columns != Columns():
        raise BadParameter("A sequence of baskets has no columns: leave out unit, basket, item, items and one_hot.")
    return table_source(pa.table({BASKETS_COLUMN: basket_lists(data)}))
