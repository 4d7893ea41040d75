"""Delta tables: the files that the log lists as present, in the types that its schema declares."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, DpmineError, UnreadableFile
from dpmine.io.arrow import common_type, first_types, is_list, is_text, plain
from dpmine.io.files import READ_ERRORS, listed_file
from dpmine.io.source import ArrowSource
from dpmine.io.sources.parquet import File, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalake import DeltaTable

    from dpmine.io.files import PathName

_FEATURES = {"timestampNtz"}
"""What a table may demand of readers: with other features, the files and the schema are not all that there is."""
_LATEST = 3  # version of the protocol
_MAPPING = "delta.columnMapping.mode"


@dataclass(frozen=True)
class _Part:
    """A file of the table, and the values of its partition by column, which the log holds and not the file."""

    file: File
    values: Mapping[str, pa.Scalar]

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The columns of the schema; null where they were added to the table after the file was written."""
        names = [name for name in schema.names if name not in self.values and name in self.file.schema.names]
        for batch in self.file.batches(names):
            columns = [self._column(batch, field) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name in self.values:
            return pa.repeat(self.values[field.name], batch.num_rows)
        if field.name in batch.schema.names:
            return batch.column(field.name).cast(field.type)
        return pa.nulls(batch.num_rows, field.type)


def open_delta(paths: Sequence[PathName]) -> ArrowSource:
    """The present rows of a Delta table: its folder holds files of the past, too.

    The log has the least and the largest value of each column in each file. They are not read: a date that Python does
    not have would stop the run.
    """
    if len(paths) > 1:
        raise BadParameter("A Delta table stands alone: leave the other files out.")
    folder = os.fspath(paths[0])
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise BadParameter(f"{folder} is a Delta table: pip install 'dpmine[delta]' to read it.") from None
    try:
        table = DeltaTable(folder)
        _require_readable(table, folder)
        schema = pa.schema(table.schema().to_arrow()).remove_metadata()
        parts = _parts(table, folder, schema)
    except DpmineError:
        raise
    except (DeltaError, *READ_ERRORS):
        raise UnreadableFile(f"{folder} cannot be read: it is a damaged Delta table.") from None
    _require_types(parts, schema, folder)
    rows = sum(part.file.footer.num_rows for part in parts)
    return ArrowSource(schema, lambda names: _batches(parts, schema, names), rows, repeatable=True)


def _batches(parts: Sequence[_Part], schema: pa.Schema, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    wanted = pa.schema([schema.field(name) for name in names])
    for part in parts:
        yield from part.batches(wanted)


def _require_readable(table: DeltaTable, folder: str) -> None:
    """UnreadableFile, by the protocol alone, where files hold deleted rows, or columns under other names."""
    protocol = table.protocol()
    needed = set(protocol.reader_features or ()) - _FEATURES
    if table.metadata().configuration.get(_MAPPING, "none") != "none":
        needed.add("columnMapping")
    if needed or protocol.min_reader_version > _LATEST:
        what = ", ".join(sorted(needed)) or f"protocol {protocol.min_reader_version}"
        raise UnreadableFile(
            f"{folder} is a Delta table with features that dpmine does not read ({what}): write its rows as Parquet."
        )


def _parts(table: DeltaTable, folder: str, schema: pa.Schema) -> list[_Part]:
    """The files that the log lists; UnreadableFile where one cannot be opened."""
    keys = table.metadata().partition_columns
    listed = pa.table(table.get_add_actions(flatten=True))
    values = {key: listed.column(f"partition.{key}").cast(schema.field(key).type) for key in keys}
    return [
        _Part(open_file(listed_file(folder, unquote(path))), {key: column[place] for key, column in values.items()})
        for place, path in enumerate(listed.column("path").to_pylist())
    ]


def _require_types(parts: Sequence[_Part], schema: pa.Schema, folder: str) -> None:
    kinds = first_types(schema)
    stored = [field for part in parts for field in part.file.schema]
    if wrong := [field.name for field in stored if not _fits(field.type, kinds.get(field.name, field.type))]:
        raise BadData(
            f"{folder} has files whose type of {wrong[0]!r} is not the table's, and not all values fit: write the "
            "table again."
        )


def _fits(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether every value of the one type can be cast to the other: a value that does not fit would stop the run."""
    stored = plain(stored)
    if is_list(stored) and is_list(declared):
        return _fits(stored.value_type, declared.value_type)
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(declared):
        return bool(stored.unit == declared.unit)
    if pa.types.is_nested(declared) or (is_text(stored) and is_text(declared)):
        return True
    same_kind = pa.types.is_integer(stored) == pa.types.is_integer(declared)
    return bool(same_kind and common_type([stored, declared]) == declared)
