"""From what a user hands over to a source of its columns: files, a query, Arrow, a data frame, or baskets in Python.

Looks at the kind alone, and never imports a library whose objects only a program that imported it can hand over.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, BadParameter, UnreadableFile, require_memory
from dpmine.io.arrow import as_bytes, common_type, is_integer, is_list, is_text, plain
from dpmine.io.frame import PandasSource
from dpmine.io.parquet import VERIFIED, FileSource, open_file, open_files
from dpmine.io.paths import (
    ENCODINGS,
    ENDINGS,
    QUOTES,
    READ_ERRORS,
    STDIN,
    TAB,
    Form,
    Input,
    WindowedInput,
    found_files,
    paths_of,
    reason,
    require_names,
)
from dpmine.io.source import FOREIGN_ERRORS, ArrowSource, BasketSource, Columns, Source, first_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.io.delimited import Dialect
    from dpmine.io.paths import FileSet, PathName


def open_source(data: Any, columns: Columns) -> Source:
    """The source behind `data`; BadParameter where it is nothing that the library accepts. Reads no rows.

    Only the kind of `data` decides what they are. Of a collection it is asked, too, whether all entries are paths: so
    among baskets no single entry decides. Frames of Spark are not opened here: see `is_spark_frame`.
    """
    if (paths := paths_of(data)) is not None:
        require_names(paths)
        data = Input(paths)
    if isinstance(data, Input):
        source = _with_periods(_windowed(open_input(data), data, columns), columns)
        items = [name for name in source.names if name not in columns.unit] if columns.one_hot else []
        return source.as_flags(items)
    if (table := _table_source(data, columns)) is not None:
        return _with_periods(table, columns)
    if isinstance(data, _NO_BASKETS) or hasattr(data, "readline") or not isinstance(data, Iterable):
        raise BadParameter(
            f"data must not be a {type(data).__name__}: give a path or a list of paths, a pyarrow Table, "
            "RecordBatchReader or Dataset, a pandas or polars frame, a dpmine.Input, or a sequence of baskets."
        )
    if isinstance(data, Collection) and not isinstance(data, list | tuple) and paths_of(list(data)) is not None:
        raise BadParameter("A list of paths must be a list or a tuple: other iterables are read as baskets.")
    if columns != Columns():
        raise BadParameter("A sequence of baskets has no columns: leave out unit, basket, item, items and one_hot.")
    return BasketSource(data)


_NO_BASKETS = (bytes, bytearray, range, array, Mapping)


def _require_no_array(data: Any) -> None:
    """BadData for arrays, matrices and series, by their type: items need names, and units columns.

    An array of one dimension that holds Python objects is a sequence of baskets.
    """
    kind = type(data)
    if isinstance(data, np.ndarray) and data.dtype == object and data.ndim == 1:
        return
    is_array = hasattr(kind, "dtype") or hasattr(kind, "__arrow_c_array__")
    if not is_array and (hasattr(kind, "__arrow_c_stream__") or not hasattr(kind, "ndim")):
        return
    frame = "pandas.DataFrame(array, columns=names) with one_hot=True"
    if hasattr(kind, "tocsr"):
        frame = "pandas.DataFrame.sparse.from_spmatrix(matrix, columns=names) with one_hot=True"
    elif hasattr(kind, "to_frame"):
        frame = "series.to_frame()"
    raise BadData(f"A {kind.__name__} is not a table of columns with names: give a data frame, such as {frame}.")


def _windowed(source: Source, data: Input, columns: Columns) -> Source:
    if not isinstance(data, WindowedInput) or data.days is None:
        return source
    from dpmine.io.windows import with_days

    return with_days(source, data.days, columns.named)


def _with_periods(source: Source, columns: Columns) -> Source:
    keys = (*columns.unit, *columns.basket)
    if not any(key.endswith(")") for key in keys):
        return source
    from dpmine.io.periods import with_periods

    return with_periods(source, keys)


def _table_source(data: Any, columns: Columns) -> Source | None:
    """The source behind columns in memory, or a stream of them; None where data are nothing of the kind.

    Raises BadData for an array: see `_require_no_array`.
    """
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return ArrowSource(data.schema, lambda names: data.select(names).to_batches(), data.num_rows, repeatable=True)
    if (datasets := sys.modules.get("pyarrow.dataset")) is not None and isinstance(data, datasets.Dataset):
        again = isinstance(data, datasets.FileSystemDataset)
        return ArrowSource(data.schema, lambda names: _scanned(data, names), repeatable=again)
    if (pandas := sys.modules.get("pandas")) is not None and isinstance(data, pandas.DataFrame):
        return PandasSource(data, columns)
    if (polars := sys.modules.get("polars")) is not None and isinstance(data, polars.LazyFrame):
        return _open_lazy(data)
    _require_no_array(data)
    if isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__"):
        reader = _reader(data)
        return ArrowSource(reader.schema, lambda names: (batch.select(names) for batch in reader))
    return None


def _open_lazy(frame: Any) -> Source:
    """A query of polars, run for the columns that are read, in pieces."""

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        for piece in frame.select(names).collect_batches():
            yield from pa.RecordBatchReader.from_stream(piece)

    try:
        schema = pa.RecordBatchReader.from_stream(frame.collect_schema().to_frame()).schema
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData("The LazyFrame has no schema: what it reads may be missing, or its query is wrong.") from None
    return ArrowSource(schema, batches, repeatable=True)


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
        raise BadData(
            f"A {type(data).__name__} is not a table of columns: give a data frame (series.to_frame())."
        ) from None


def _scanned(data: Any, names: list[str], **options: Any) -> Iterator[pa.RecordBatch]:
    """The named columns of a data set. Raises ValueError where Arrow leaves rows out, as it may where lists are."""
    done = 0
    scanner = data.scanner(columns=names, use_threads=False, **options)  # threads hold more row groups at once
    for batch in scanner.to_batches():
        yield batch
        done += batch.num_rows
    if any(is_list(data.schema.field(name).type) for name in names) and done != data.count_rows():
        raise ValueError


def open_input(given: Input) -> Source:
    """The source behind files of any form, or a query; only schemas are read here.

    Raises BadParameter where files of several forms are given together, and as the reader of the form.
    """
    if given.query is not None and given.database is not None:
        from dpmine.io.query import open_query

        return open_query(given.query, given.database, given.kinds, lambda name: open_input(Input(name)))
    if STDIN in given.paths:
        return _open_piped(given)
    form = given.form or Form.PARQUET
    if form is Form.PARQUET:
        return _open_delta(given.paths) or open_files(given.paths)
    found = [files for path in given.paths for files in found_files(path, ENDINGS[form])]
    if form is Form.ARROW:
        return _open_arrow(
            [(files.shown(path), partial(_stream, files, path)) for files in found for path in files.paths]
        )
    from dpmine.io.delimited import open_delimited, text_files

    files = [file for files in found for file in text_files(files)]
    return open_delimited(files, _dialect(given, form), given.kinds)


def _dialect(given: Input, form: Form) -> Dialect:
    from dpmine.io.delimited import DELIMITERS, Dialect

    delimiter = "\t" if given.delimiter == TAB else given.delimiter or DELIMITERS[form]
    return Dialect(delimiter, given.quotes or QUOTES[0], given.decimal or ".", given.encoding or ENCODINGS[0])


def _open_piped(given: Input) -> Source:
    """Standard input: text is read once, as it comes; other forms are kept in a temporary file first."""
    from dpmine.io.delimited import Kept, open_delimited, piped

    if len(given.paths) > 1:
        raise BadParameter(f"{STDIN} (standard input) stands alone: leave the other files out.")
    guessed, file = piped()
    form = given.form or guessed
    if form in {Form.CSV, Form.TSV}:
        return open_delimited([file], _dialect(given, form), given.kinds, repeatable=False)
    if given.kinds:
        raise BadParameter(f"types (--types) are for columns of text, and files of {form} have types: leave it out.")
    file.open()
    content = Kept(file.open())
    if form is Form.ARROW:
        return _open_arrow([(STDIN, lambda: pa.OSFile(content.name))])
    (found,) = found_files(content.name)
    return FileSource((replace(open_file(replace(found, argument=STDIN), found.paths[0]), kept=content),))


def _open_arrow(files: Sequence[tuple[str, Callable[[], Any]]]) -> Source:
    """The columns of Arrow IPC files and streams, of one schema; their batches are checked as they are read.

    Arrow trusts the lengths and codes in them. Texts that are not UTF-8, and other invalid values, are left to what
    reads the columns: one of them must not stop the run.
    """

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        for shown, stream in files:
            with _explained(shown), stream() as content, _arrow_reader(content) as reader:
                for batch in reader:
                    chosen = batch.select(names)
                    for column in chosen.columns:
                        column.view(as_bytes(column.type)).validate(full=True)
                    yield chosen

    schemas = []
    for shown, stream in files:
        with _explained(shown), stream() as content, _arrow_reader(content) as reader:
            schemas.append(reader.schema.remove_metadata())
    if any(schema != schemas[0] for schema in schemas):
        raise BadData("The files have different columns, or different types of them: convert them to one schema.")
    return ArrowSource(schemas[0], batches, repeatable=True)


def _arrow_reader(content: Any) -> Any:
    """The batches of a file, which ends with an index of them, or of a stream."""
    try:
        file = pa.ipc.open_file(content)
    except pa.ArrowInvalid:
        content.seek(0)
        return pa.ipc.open_stream(content)
    return pa.RecordBatchReader.from_batches(file.schema, map(file.get_batch, range(file.num_record_batches)))


def _stream(files: FileSet, path: str) -> Any:
    return files.system.open_input_file(path)


@contextmanager
def _explained(shown: str) -> Iterator[None]:
    try:
        yield
    except READ_ERRORS as error:
        raise UnreadableFile(f"{shown} cannot be read: {reason(error)}") from None


def _fits(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether Arrow reads every value of the one type as the other: for those that do not fit it would fail."""
    stored = plain(stored)
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(declared):
        return bool(stored.unit == declared.unit)
    if pa.types.is_nested(declared) or (is_text(stored) and is_text(declared)):
        return True
    return common_type([stored, declared]) == declared and is_integer(stored) == is_integer(declared)


def _open_delta(paths: Sequence[PathName]) -> Source | None:
    """The present rows of a Delta table: its folder holds files of the past, too. None where there is no such table."""
    tables = [os.fspath(path) for path in paths if os.path.isdir(os.path.join(os.fspath(path), "_delta_log"))]  # noqa: PTH112, PTH118 - never raises
    if not tables:
        return None
    if len(paths) > 1:
        raise BadParameter("A Delta table stands alone: leave the other files out.")
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
        from pyarrow.dataset import ParquetFragmentScanOptions, ParquetReadOptions
    except ImportError:
        raise BadParameter(f"{tables[0]} is a Delta table: pip install 'dpmine[delta]' to read it.") from None
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")  # in nanoseconds, far ones would be none
    try:
        rows = DeltaTable(tables[0]).to_pyarrow_dataset(parquet_read_options=options)
        stored = [field for fragment in rows.get_fragments() for field in fragment.physical_schema]
    except (DeltaError, *READ_ERRORS):
        raise UnreadableFile(f"{tables[0]} cannot be read: it is a damaged Delta table.") from None
    kinds = first_types(rows.schema)
    if wrong := [field.name for field in stored if not _fits(field.type, kinds.get(field.name, field.type))]:
        raise BadData(
            f"{tables[0]} has files whose type of {wrong[0]!r} is not the table's, and not all values fit: write the "
            "table again."
        )
    verified = ParquetFragmentScanOptions(**VERIFIED)
    return ArrowSource(
        rows.schema, lambda names: _scanned(rows, names, fragment_scan_options=verified), repeatable=True
    )
