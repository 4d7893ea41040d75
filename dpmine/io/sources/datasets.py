"""Arrow data sets, of files in many places, and Delta tables, which are data sets of Parquet files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.arrow import VERIFIED, common_type, is_integer, is_list, is_text, plain
from dpmine.io.files import READ_ERRORS
from dpmine.io.source import ArrowSource, first_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyarrow import dataset

    from dpmine.io.files import PathName


def open_dataset(data: dataset.Dataset, *, repeatable: bool, **options: object) -> ArrowSource:
    """The columns of a data set of Arrow's; `options` are its scanner's."""
    return ArrowSource(data.schema, lambda names: _scanned(data, names, **options), repeatable=repeatable)


def _scanned(data: dataset.Dataset, names: list[str], **options: object) -> Iterator[pa.RecordBatch]:
    """The named columns of a data set. Raises ValueError where Arrow leaves rows out, as it may where lists are."""
    done = 0
    scanner = data.scanner(columns=names, use_threads=False, **options)  # threads hold more row groups at once
    for batch in scanner.to_batches():
        yield batch
        done += batch.num_rows
    if any(is_list(data.schema.field(name).type) for name in names) and done != data.count_rows():
        raise ValueError


def open_delta(paths: Sequence[PathName]) -> ArrowSource:
    """The present rows of a Delta table: its folder holds files of the past, too."""
    if len(paths) > 1:
        raise BadParameter("A Delta table stands alone: leave the other files out.")
    table = os.fspath(paths[0])
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
        from pyarrow.dataset import ParquetFragmentScanOptions, ParquetReadOptions
    except ImportError:
        raise BadParameter(f"{table} is a Delta table: pip install 'dpmine[delta]' to read it.") from None
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")  # in nanoseconds, far ones would be none
    try:
        rows = DeltaTable(table).to_pyarrow_dataset(parquet_read_options=options)
        stored = [field for fragment in rows.get_fragments() for field in fragment.physical_schema]
    except (DeltaError, *READ_ERRORS):
        raise UnreadableFile(f"{table} cannot be read: it is a damaged Delta table.") from None
    kinds = first_types(rows.schema)
    if wrong := [field.name for field in stored if not _fits(field.type, kinds.get(field.name, field.type))]:
        raise BadData(
            f"{table} has files whose type of {wrong[0]!r} is not the table's, and not all values fit: write the "
            "table again."
        )
    verified = ParquetFragmentScanOptions(**VERIFIED)
    return open_dataset(rows, repeatable=True, fragment_scan_options=verified)


def _fits(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether Arrow reads every value of the one type as the other: for those that do not fit it would fail."""
    stored = plain(stored)
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(declared):
        return bool(stored.unit == declared.unit)
    if pa.types.is_nested(declared) or (is_text(stored) and is_text(declared)):
        return True
    return common_type([stored, declared]) == declared and is_integer(stored) == is_integer(declared)
