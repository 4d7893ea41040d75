"""Parquet files that the executors read themselves, straight into Arrow: no row passes through the JVM.

`RowGroups` are those of files, and `ReadPlan` says which of them each task reads. Every function that takes batches is
for `mapInArrow`: a task finds its number in them, and none of their other values matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpmine.io.arrow import VERIFIED, integer_array, integers_or, is_text, valid_texts
from dpmine.io.files import READ_ERRORS
from dpmine.io.sources.parquet import read_footer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Batches = Iterable[pa.RecordBatch]

FOOTERS = "file int, row_group int, rows bigint, entries bigint, size bigint, written bigint, fits boolean"
_FOOTER_TYPES = [pa.int32(), pa.int32(), *[pa.int64()] * 4, pa.bool_()]
_AT_ONCE = 1 << 18  # lines of a batch
_AS_SPARK_READS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
}
_SAME_VALUES = {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.string(), pa.date32()}


@dataclass(frozen=True, eq=False)
class ColumnsToRead:
    """The columns that are read.

    Attributes:
        names: of the keys, the unit's first, and of the items.
        kinds: their types, as Spark sees them; for lists of items that of the lists.
        listed: whether each row is a basket, with a list of items.
        catalogue: items outside it are left out; None leaves out none.
    """

    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    listed: bool
    catalogue: pa.Array | None

    def fits(self, schema: pa.Schema) -> bool:
        """Whether a file has these columns once each, in types whose values are the same for Arrow and for Spark."""
        return all(
            schema.names.count(name) == 1 and _is_same(schema.field(name).type, kind)
            for name, kind in zip(self.names, self.kinds, strict=True)
        )

    def lines(self, rows: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The lines of rows, the first of which has the number `first`: keys, the row's number if listed, item.

        Integers are int64 and texts large_string, whatever the file has. Nothing is null.
        """
        *keys, items = (rows.column(name) for name in self.names)
        if self.listed:
            places = np.repeat(np.arange(len(items)), integers_or(0, pc.list_value_length(items)))
            owned = [key.take(integer_array(places)) for key in keys]
            keys, items = [*owned, integer_array(places + first)], items.flatten()
        columns = [_widened(column) for column in (*keys, items)]
        found = pa.RecordBatch.from_arrays(columns, names=[f"c{place}" for place in range(len(columns))])
        for place in range(len(columns)):
            found = found.filter(found.column(place).is_valid()) if found.column(place).null_count else found
        if self.catalogue is None:
            return found
        shown = found.column(len(columns) - 1)
        shown = valid_texts(shown) if is_text(shown.type) else shown
        return found.filter(pc.is_in(shown, value_set=self.catalogue.cast(shown.type)))


def _is_same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Narrower integers than those of the file, which a schema may ask for, are left to Spark: it cuts bits off."""
    if pa.types.is_list(wanted):
        return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_same(kind.value_type, wanted.value_type)
    kind = _AS_SPARK_READS.get(kind, kind)
    return bool(kind == wanted) and (kind in _SAME_VALUES or pa.types.is_timestamp(kind))


def _widened(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.large_string()) if is_text(column.type) else column


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Row groups of files, one entry each.

    Attributes:
        files: the paths.
        file: int64, place in `files`.
        row_group: int64, its number in the file.
        rows: int64, their number.
        entries: int64, the number of lines, at most.
        size: int64, bytes of the file; `written`: when it was changed last, in nanoseconds.
    """

    files: tuple[str, ...]
    file: NDArray[np.int64]
    row_group: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]
    size: NDArray[np.int64]
    written: NDArray[np.int64]

    def first_rows(self) -> NDArray[np.int64]:
        """The number of the first row of each, all rows being numbered."""
        return np.cumsum(self.rows) - self.rows

    def split(self, count: int) -> tuple[NDArray[np.int64], ...]:
        """Places of row groups that follow one another, in about `count` parts of about as many lines."""
        ends = np.cumsum(self.entries)
        share = -(-int(ends[-1]) // count)
        return tuple(np.split(np.arange(len(ends)), np.flatnonzero(np.diff((ends - 1) // share)) + 1))


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """What each task reads.

    Attributes:
        wanted: the columns.
        groups: the row groups.
        tasks: for each task the places of its row groups.
    """

    wanted: ColumnsToRead
    groups: RowGroups
    tasks: tuple[NDArray[np.int64], ...]

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The lines of one task; raises ArrowInvalid where a file is another one than its footer was read of."""
        groups = self.groups
        for file, places in groupby(self.tasks[number].tolist(), key=lambda place: int(groups.file[place])):
            with pq.ParquetFile(groups.files[file], **VERIFIED) as opened:
                for place in places:
                    yield from self._lines(opened, place)
                    if _stamp(groups.files[file]) != (groups.size[place], groups.written[place]):
                        raise pa.ArrowInvalid

    def _lines(self, opened: pq.ParquetFile, place: int) -> Iterator[pa.RecordBatch]:
        rows, entries = int(self.groups.rows[place]), int(self.groups.entries[place])
        first = int(self.groups.first_rows()[place])
        at_once = max(1, _AT_ONCE * rows // max(rows, entries))
        done = 0
        for batch in opened.iter_batches(
            at_once, [int(self.groups.row_group[place])], list(self.wanted.names), use_threads=False
        ):
            yield self.wanted.lines(batch, first + done)
            done += batch.num_rows
        if done != rows:
            raise pa.ArrowInvalid


def _stamp(path: str) -> tuple[int, int]:
    """By which a file is known to be the same: its bytes, and when it was changed."""
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def _numbers_in(batches: Batches) -> list[int]:
    """The numbers of the tasks that came to this one."""
    return [number for batch in batches for number in batch.column(0).to_pylist()]


def read_lines(batches: Batches, *, reading: ReadPlan) -> Iterator[pa.RecordBatch]:
    """The lines of a task: as Spark would give them."""
    for number in _numbers_in(batches):
        yield from reading.batches(number)


def read_footers(
    batches: Batches, *, files: Sequence[str], wanted: ColumnsToRead, tasks: int
) -> Iterator[pa.RecordBatch]:
    """The row groups of every `tasks`-th file, from the task's number on; one that does not fit, if a file does not."""
    for number in _numbers_in(batches):
        for file in range(number, len(files), tasks):
            yield _described(_footer(file, files[file], wanted))


def _footer(file: int, path: str, wanted: ColumnsToRead) -> list[tuple[Any, ...]]:
    """Its row groups, as `FOOTERS`."""
    try:
        stamp = _stamp(path)
        with pa.OSFile(path) as opened:
            footer = read_footer(opened)
        fits = wanted.fits(footer.schema.to_arrow_schema()) and not _is_legacy(footer)
    except READ_ERRORS:
        fits = False
    if not fits:
        return [(file, 0, 0, 0, 0, 0, False)]
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    return [
        (file, number, group.num_rows, _entries(group, wanted), *stamp, True)
        for number, group in enumerate(groups)
        if group.num_rows
    ]


def _is_legacy(footer: pq.FileMetaData) -> bool:
    """Whether an old Spark wrote the dates, which Spark then reads by another calendar."""
    notes = footer.metadata or {}
    version = notes.get(b"org.apache.spark.version", b"3")
    return version.startswith((b"1.", b"2.")) or any(b"legacy" in key for key in notes)


def _entries(group: pq.RowGroupMetaData, wanted: ColumnsToRead) -> int:
    columns = [group.column(place) for place in range(group.num_columns)]
    return max(
        int(column.num_values) for column in columns if f"{column.path_in_schema}.".startswith(f"{wanted.names[-1]}.")
    )


def _described(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(_FOOTER_TYPES)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _FOOTER_TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=column_names(FOOTERS))


def column_names(columns: str) -> list[str]:
    """The names in a description of columns as Spark reads it, such as "file int, rows bigint"."""
    return [column.split()[0] for column in columns.split(",")]
