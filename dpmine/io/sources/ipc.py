"""Arrow IPC, as files (Feather) and streams: their schemas are read first, their batches when they are needed.

Arrow trusts the lengths and codes in them, so they are checked as they are read. Texts that are not UTF-8, and other
invalid values, are left to what reads the columns: one of them must not stop the run.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData, UnreadableFile
from dpmine.io.arrow import as_bytes
from dpmine.io.files import READ_ERRORS, reason
from dpmine.io.source import ArrowSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpmine.io.files import DataFile
    from dpmine.io.input import Input


def open_arrow(_given: Input, files: Iterable[DataFile]) -> ArrowSource:
    """The columns of files of one schema. Raises UnreadableFile, and BadData for several schemas."""
    opened = list(files)

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        for file in opened:
            with _reading(file) as reader:
                for batch in reader:
                    chosen = batch.select(names)
                    for column in chosen.columns:
                        column.view(as_bytes(column.type)).validate(full=True)
                    yield chosen

    schemas = []
    for file in opened:
        with _reading(file) as reader:
            schemas.append(reader.schema.remove_metadata())
    if any(schema != schemas[0] for schema in schemas):
        raise BadData("The files have different columns, or different types of them: convert them to one schema.")
    return ArrowSource(schemas[0], batches, repeatable=True)


@contextmanager
def _reading(file: DataFile) -> Iterator[pa.RecordBatchReader]:
    try:
        with file.open() as content, _reader(content) as reader:
            yield reader
    except READ_ERRORS as error:
        raise UnreadableFile(f"{file.shown} cannot be read: {reason(error)}") from None


def _reader(content: pa.NativeFile) -> pa.RecordBatchReader:
    """The batches of a file, which ends with an index of them, or of a stream."""
    try:
        file = pa.ipc.open_file(content)
    except pa.ArrowInvalid:
        content.seek(0)
        return pa.ipc.open_stream(content)
    return pa.RecordBatchReader.from_batches(file.schema, map(file.get_batch, range(file.num_record_batches)))
