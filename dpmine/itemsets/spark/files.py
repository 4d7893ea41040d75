"""Parquet files that the executors read themselves, straight into Arrow: no row passes through the JVM.

`Groups` are row groups of files, and `Reading` says which of them each task reads. Every function that takes batches is
for `mapInArrow`: a task finds its number in them, and none of their other values matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpmine.io.arrow import integer_array, integers, integers_or, is_integer, is_text
from dpmine.io.paths import READ_ERRORS
from dpmine.itemsets.ingest.encode import valid_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Batches = Iterable[pa.RecordBatch]

FOOTERS = "file int, row_group int, rows bigint, entries bigint, low bigint, high bigint, fits boolean, bounded boolean"
_AT_ONCE = 1 << 18  # rows of a batch
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, eq=False)
class Wanted:
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

    def lines(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The lines of rows, the first of which has the number `first`: keys, the row's number if listed, item."""
        *keys, items = batch.columns
        if self.listed:
            rows = np.repeat(np.arange(len(items)), integers_or(0, pc.list_value_length(items)))
            places = integer_array(rows)
            keys, items = [*(key.take(places) for key in keys), integer_array(rows + first)], items.flatten()
        items = items.cast(pa.int64() if is_integer(items.type) else pa.large_string())
        columns = [*keys, items]
        whole = [column.is_valid() for column in columns if column.null_count]
        if self.catalogue is not None:
            known = self.catalogue.cast(items.type)
            whole.append(pc.is_in(valid_texts(items) if is_text(items.type) else items, value_set=known))
        found = pa.RecordBatch.from_arrays(columns, names=[f"c{place}" for place in range(len(columns))])
        for mask in whole[1:]:
            whole[0] = pc.and_(whole[0], mask)
        return found.filter(whole[0]) if whole else found


def _is_same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_same(kind.value_type, wanted.value_type)
    if is_integer(wanted) or is_text(wanted):
        plain = is_integer(kind) and kind != pa.uint64() if is_integer(wanted) else is_text(kind)
        return plain and not pa.types.is_dictionary(kind)
    return bool(kind == wanted) and bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


@dataclass(frozen=True, eq=False)
class Groups:
    """Row groups of files, one entry each.

    Attributes:
        files: the paths.
        file: int64, place in `files`.
        row_group: int64, its number in the file.
        rows: int64, their number.
        entries: int64, the number of lines, at most.
        low: int64, a number that no first key is below, by the footer; `high`: one that none is above.
    """

    files: tuple[str, ...]
    file: NDArray[np.int64]
    row_group: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def first_rows(self) -> NDArray[np.int64]:
        """The number of the first row of each, all rows being numbered."""
        return np.cumsum(self.rows) - self.rows


@dataclass(frozen=True, eq=False)
class Reading:
    """What each task reads.

    Attributes:
        wanted: the columns.
        groups: the row groups.
        tasks: for each task the places of its row groups.
        bounds: int64[tasks, 2], the first keys that a task keeps, both ends included; None where it keeps all.
    """

    wanted: Wanted
    groups: Groups
    tasks: tuple[NDArray[np.int64], ...]
    bounds: NDArray[np.int64] | None

    def batches(self, number: int) -> Iterator[pa.RecordBatch | None]:
        """The lines of one task; None where the footer is wrong about the first keys."""
        first_rows = self.groups.first_rows()
        for file, places in groupby(self.tasks[number].tolist(), key=lambda place: int(self.groups.file[place])):
            with pq.ParquetFile(self.groups.files[file]) as opened:
                for place in places:
                    done = 0
                    for batch in opened.iter_batches(
                        batch_size=_AT_ONCE,
                        row_groups=[int(self.groups.row_group[place])],
                        columns=list(self.wanted.names),
                        use_threads=False,
                    ):
                        rows = batch.select(self.wanted.names)
                        if self.bounds is None:
                            yield self.wanted.lines(rows, int(first_rows[place]) + done)
                        else:
                            yield self._kept(rows, place, self.bounds[number])
                        done += batch.num_rows
                    if done != self.groups.rows[place]:
                        raise pa.ArrowInvalid  # the file is another one now, or is damaged

    def _kept(self, rows: pa.RecordBatch, place: int, bounds: NDArray[np.int64]) -> pa.RecordBatch | None:
        """The lines with the first keys of a task."""
        lines = self.wanted.lines(rows, 0)
        keys = integers(pa.chunked_array([lines.column(0)]))
        low, high = int(keys.min(initial=_HIGHEST)), int(keys.max(initial=_LOWEST))
        if len(keys) and (low < self.groups.low[place] or high > self.groups.high[place]):
            return None
        if low >= bounds[0] and high <= bounds[1]:
            return lines
        return lines.filter(pa.array((keys >= bounds[0]) & (keys <= bounds[1])))


def numbers_in(batches: Batches) -> list[int]:
    """The numbers of the tasks that came to this one."""
    return [number for batch in batches for number in batch.column(0).to_pylist()]


def read_lines(batches: Batches, *, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The lines of a task that keeps all: as Spark would give them."""
    for number in numbers_in(batches):
        for batch in reading.batches(number):
            if batch is not None and batch.num_rows:
                yield batch


def read_footers(batches: Batches, *, files: Sequence[str], wanted: Wanted, tasks: int) -> Iterator[pa.RecordBatch]:
    """The row groups of every `tasks`-th file, from the task's number on; one that does not fit, if a file does not."""
    for number in numbers_in(batches):
        for file in range(number, len(files), tasks):
            yield _footer(file, files[file], wanted)


def _footer(file: int, path: str, wanted: Wanted) -> pa.RecordBatch:
    try:
        with pq.ParquetFile(path) as opened:
            fits, footer = wanted.fits(opened.schema_arrow), opened.metadata
    except READ_ERRORS:
        fits = False
    if not fits:
        return _described([(file, 0, 0, 0, 0, 0, False, False)])
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    bounds = [_bounds(group, wanted) for group in groups]
    return _described(
        [
            (file, number, group.num_rows, _entries(group, wanted), *(found or (0, 0)), True, found is not None)
            for number, (group, found) in enumerate(zip(groups, bounds, strict=True))
            if group.num_rows
        ]
    )


def _entries(group: Any, wanted: Wanted) -> int:
    columns = [group.column(place) for place in range(group.num_columns)]
    return max(
        int(column.num_values) for column in columns if f"{column.path_in_schema}.".startswith(f"{wanted.names[-1]}.")
    )


def _bounds(group: Any, wanted: Wanted) -> tuple[int, int] | None:
    """Between which numbers the first keys of a row group lie; None where its footer does not say."""
    if wanted.listed or not is_integer(wanted.kinds[0]):
        return None
    columns = [group.column(place) for place in range(group.num_columns)]
    found = next(column.statistics for column in columns if column.path_in_schema == wanted.names[0])
    known = found is not None and found.has_min_max
    return (int(found.min), int(found.max)) if known else None


def _described(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    names, kinds = FOOTERS.replace(",", "").split()[::2], FOOTERS.replace(",", "").split()[1::2]
    types = {"int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_()}
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, types[kind]) for column, kind in zip(columns, kinds, strict=True)], names=names
    )


def by_first_key(
    groups: Groups, count: int, most: int
) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.int64]] | None:
    """`tasks` and `bounds` for about `count` tasks, each with all lines of its units; None where too much is read.

    A task keeps a range of first keys, and reads every row group that may hold some of them. That is little more than
    its share where the files are sorted by unit. None if some task would read more than `most` rows, or all of
    them together more than half as much again as there are, or if there are less than half as many tasks.
    """
    order = np.argsort(groups.low, kind="stable")
    low, high = groups.low[order], np.maximum.accumulate(groups.high[order])
    ends = np.cumsum(groups.entries[order])
    share = -(-int(ends[-1]) // count)
    wanted = np.searchsorted(
        ends, np.arange(share, int(ends[-1]), share)
    )  # the groups that fill each share but the last
    cuts = np.unique(np.minimum(low[np.minimum(wanted + 1, len(low) - 1)], low[-1]))
    starts = np.concatenate([[_LOWEST], cuts[cuts > low[0]]]).astype(np.int64)
    stops = np.concatenate([starts[1:] - 1, [_HIGHEST]]).astype(np.int64)
    firsts, lasts = np.searchsorted(high, starts), np.searchsorted(low, stops, side="right")
    tasks = tuple(
        order[first:last][groups.high[order[first:last]] >= start]
        for first, last, start in zip(firsts.tolist(), lasts.tolist(), starts.tolist(), strict=True)
    )
    read = [int(groups.entries[task].sum()) for task in tasks]
    if max(read) > most or 2 * sum(read) > 3 * int(ends[-1]) or 2 * len(tasks) < count:
        return None
    return tasks, np.column_stack([starts, stops])


def in_order(groups: Groups, count: int) -> tuple[NDArray[np.int64], ...]:
    """`tasks`, about `count` of them, each with some row groups that follow one another."""
    ends = np.cumsum(groups.entries)
    share = -(-int(ends[-1]) // count)
    return tuple(np.split(np.arange(len(ends)), np.flatnonzero(np.diff((ends - 1) // share)) + 1))
