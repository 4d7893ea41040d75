"""From what a user hands over to a source of its columns: files, a query, Arrow, a data frame, or baskets in Python.

Looks at the kind alone, and never imports a library whose objects only a program that imported it can hand over.
"""

from __future__ import annotations

import io
import os
import sys
from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import finalize

import pyarrow as pa

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.files import STDIN, DataFile, found_files
from dpmine.io.input import Input, WindowedInput, form_beginning, paths_of, require_names
from dpmine.io.source import BASKETS_COLUMN, ArrowSource, BasketSource, Columns, Source
from dpmine.io.sources.arrays import open_matrix
from dpmine.io.sources.frame import PandasSource, holds_lists, open_dataset, open_lazy, require_no_array, stream_of
from dpmine.options.names import CSV, PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpmine.io.files import PathName
    from dpmine.options.names import Form

    Opener: TypeAlias = Callable[[Input, Iterable[DataFile]], Source]
    """The source behind files of one form, which are found as they are asked for. Reads schemas and headers only."""


def open_source(data: Any, columns: Columns, needed: Sequence[str] = ()) -> Source:
    """The source behind `data`; BadParameter where it is nothing that the library accepts. Reads no rows.

    `needed`: columns that are read, beside those of `columns`.

    Only the kind of `data` decides what they are. Of a collection it is asked, too, whether all entries are paths: so
    among baskets no single entry decides. Frames of Spark are not opened here: see `is_spark_frame`.
    """
    if columns.labels:
        return open_matrix(data, columns.labels)
    if (paths := paths_of(data)) is not None:
        require_names(paths)
        data = Input(paths)
    if isinstance(data, Input):
        rows = _filtered(open_input(data), data, columns, needed)
        source = _with_periods(_windowed(rows, data, columns), columns)
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
        raise BadParameter(
            "A sequence of baskets has no columns: leave out unit, basket, item, items, one_hot and attributes."
        )
    return BasketSource(data)


_NO_BASKETS = (bytes, bytearray, range, array, Mapping)


def _filtered(source: Source, data: Input, columns: Columns, needed: Sequence[str]) -> Source:
    """The rows that the input's condition leaves, without its columns where every other column is one of items."""
    if data.where is None:
        return source
    from dpmine.io.sources.periods import needed_of
    from dpmine.io.sources.rows import where

    asked = columns.attributes
    of_attributes = () if asked is None else (*asked.names, *dict(asked.cuts))
    window = (data.days.column,) if isinstance(data, WindowedInput) and data.days is not None else ()
    kept = [*needed_of((*columns.named, *of_attributes, *window)), *needed]
    return where(source, data.where, alone=columns.one_hot or asked is not None, kept=kept)


def _windowed(source: Source, data: Input, columns: Columns) -> Source:
    if not isinstance(data, WindowedInput) or data.days is None:
        return source
    from dpmine.io.sources.periods import with_days

    return with_days(source, data.days, columns.named)


def _with_periods(source: Source, columns: Columns) -> Source:
    keys = (*columns.unit, *columns.basket)
    if not any(key.endswith(")") for key in keys):
        return source
    from dpmine.io.sources.periods import with_periods

    return with_periods(source, keys)


def _table_source(data: Any, columns: Columns) -> Source | None:
    """The source behind columns in memory, or a stream of them; None where data are nothing of the kind.

    Raises BadData for an array: see `require_no_array`.
    """
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return ArrowSource(data.schema, lambda names: data.select(names).to_batches(), data.num_rows, repeatable=True)
    if (datasets := sys.modules.get("pyarrow.dataset")) is not None and isinstance(data, datasets.Dataset):
        return open_dataset(data, repeatable=isinstance(data, datasets.FileSystemDataset))
    if (pandas := sys.modules.get("pandas")) is not None:
        if isinstance(data, pandas.Series) and holds_lists(data):
            data = data.to_frame(BASKETS_COLUMN)
        if isinstance(data, pandas.DataFrame):
            return PandasSource(data, columns)
    if (polars := sys.modules.get("polars")) is not None and isinstance(data, polars.LazyFrame):
        return open_lazy(data)
    require_no_array(data)
    if isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__"):
        reader = stream_of(data)
        return ArrowSource(reader.schema, lambda names: (batch.select(names) for batch in reader))
    return None


def is_spark_frame(data: object) -> bool:
    """Whether data are a frame of Spark, classic or of Spark Connect."""
    spark = sys.modules.get("pyspark.sql")
    return spark is not None and isinstance(data, spark.DataFrame)


def open_input(given: Input) -> Source:
    """The source behind files of any form, a Delta table, or a query; only schemas are read here.

    Raises BadParameter where files of several forms are given together, and as the reader of the form.
    """
    if given.query is not None and given.database is None:
        from dpmine.io.sources.row_expressions import parsed_statement
        from dpmine.io.sources.rows import selected

        statement = parsed_statement(given.query)
        return selected(open_input(given.of_file(statement.file)), statement)
    if given.query is not None and given.database is not None:
        from dpmine.io.sources.query import open_query

        return open_query(given.query, given.database, given.kinds, given.formats, lambda name: open_input(Input(name)))
    if STDIN in given.paths:
        form, file = piped(given)
        return _opened(form, given, [file])
    form = given.form or PARQUET
    if form is PARQUET and any(map(_is_delta_table, given.paths)):
        from dpmine.io.sources.delta import open_delta

        return _with_texts(open_delta(given.paths), given)
    return _opened(form, given, (file for path in given.paths for file in found_files(path, form.endings)))


def _is_delta_table(path: PathName) -> bool:
    return os.path.isdir(os.path.join(os.fspath(path), "_delta_log"))  # noqa: PTH112, PTH118 - never raises


def _opened(form: Form, given: Input, files: Iterable[DataFile]) -> Source:
    opener: Opener = form.load()
    source = opener(given, files)
    return _with_texts(source, given) if form.is_typed else source


def _with_texts(source: Source, given: Input) -> Source:
    """The source of columns with types, of which some bytes are declared to be text."""
    if not given.kinds:
        return source
    from dpmine.io.sources.text_columns import with_texts

    return with_texts(source, given.kinds)


_BEGINNING = 2**16  # bytes of standard input that are looked at before the rest
_LONGEST_HEADER = 2**26  # characters


def piped(given: Input) -> tuple[Form, DataFile]:
    """Standard input, and its form: the one that is named, or the one that its first bytes say.

    Raises BadParameter where other files, or options of another form, are given with it.
    """
    if len(given.paths) > 1:
        raise BadParameter(f"{STDIN} (standard input) stands alone: leave the other files out.")
    stdin = sys.stdin.buffer
    beginning = stdin.read(_BEGINNING)
    guessed = form_beginning(beginning)
    if guessed is None and not {*b"\r\n"} & {*beginning}:
        beginning += stdin.readline(_LONGEST_HEADER)
    form = given.form or guessed or CSV
    whole = io.BufferedReader(_Joined(beginning, stdin))
    if form.has_header:  # it is one line, and within the beginning
        opened = iter([whole] if given.header else [io.BytesIO(beginning), whole])  # the header, and all
        return form, DataFile(STDIN, lambda: _next(opened), repeatable=False)
    if form.is_typed:
        given.require_text_types(form)
    content = _TemporaryCopy(whole)
    return form, DataFile(STDIN, lambda: pa.OSFile(content.name))


def _next(streams: Iterator[io.BufferedIOBase]) -> io.BufferedIOBase:
    stream = next(streams, None)
    if stream is None:
        raise UnreadableFile("Standard input can be read once, and was: give its content as a file.")
    return stream


class _TemporaryCopy:
    """A temporary file with the content of a stream: formats with a footer are not read from their beginning.

    It vanishes with the object. Raises UnreadableFile where the disk is full.
    """

    def __init__(self, stream: io.BufferedIOBase) -> None:
        from shutil import copyfileobj
        from tempfile import NamedTemporaryFile

        try:
            file = NamedTemporaryFile(prefix="dpmine-")  # noqa: SIM115 - lives as long as its owner
            finalize(self, file.close)
            self.name = file.name
            copyfileobj(stream, file)
            file.flush()
        except OSError:
            raise UnreadableFile(
                "The disk for temporary files is full, or cannot be written: set TMPDIR to a folder with room."
            ) from None


class _Joined(io.RawIOBase):
    """The beginning of a stream that was read already, and the rest of it."""

    def __init__(self, beginning: bytes, rest: Any) -> None:
        self._beginning, self._rest = io.BytesIO(beginning), rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        return self._beginning.readinto(target) or int(self._rest.readinto(target))
