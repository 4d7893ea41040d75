"""What a source of columns is, and the one over Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.io.arrow import text_array

Progress: TypeAlias = Callable[[float], None]
"""Called with the fraction of the reading that is done, 0 to 1: see `share_of`."""

FOREIGN_ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, RuntimeError, LookupError)
"""What Arrow, pandas and producers of streams raise; their messages quote values and are never forwarded."""


class Source(Protocol):
    """Columns that can be described before they are read, and read by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column; BadData where none fits all its values."""

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The items that these columns stand for in a one-hot layout."""

    def read(self, names: Sequence[str], progress: Progress) -> pa.Table:
        """The named columns; called once."""


@dataclass(frozen=True)
class ArrowSource:
    """Record batches with a schema: tables, readers, data sets and streams.

    Attributes:
        schema: of the batches.
        batches: gives the batches of the named columns, once.
        rows: how many rows there will be, where that is known.
    """

    schema: pa.Schema
    batches: Callable[[list[str]], Iterable[pa.RecordBatch]]
    rows: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self.schema.names)

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column."""
        return self.schema.types[self.schema.names.index(name)]

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The column names themselves."""
        return text_array(names)

    def read(self, names: Sequence[str], progress: Progress) -> pa.Table:
        """The named columns; BadData where the producer of the batches fails."""
        schema = pa.schema([(name, self.type_of(name)) for name in names])
        return collected(self.checked(list(names)), schema, self.rows, progress)

    def checked(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """The batches of the named columns; BadData where their producer fails, or leaves rows out."""
        done = 0
        try:
            for batch in self.batches(names):
                yield batch
                done += batch.num_rows
            if self.rows not in {None, done}:
                raise ValueError
        except FOREIGN_ERRORS as error:
            require_memory(error)
            raise BadData(
                "The data's producer failed while its columns were read: read them by themselves first."
            ) from None


def table_source(table: pa.Table) -> ArrowSource:
    """The columns of a table in memory."""
    return ArrowSource(table.schema, lambda names: table.select(names).to_batches(), table.num_rows)


def reader_source(reader: pa.RecordBatchReader) -> ArrowSource:
    """The columns of a stream of batches; the rest of each batch is let go at once."""
    return ArrowSource(reader.schema, lambda names: (batch.select(names) for batch in reader))


def collected(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int | None, progress: Progress) -> pa.Table:
    """A table of all batches, with progress told after each where the number of rows is known."""
    taken, done = [], 0
    for batch in batches:
        taken.append(batch)
        done += batch.num_rows
        if rows:
            progress(share_of(done, rows))
    return pa.Table.from_batches(taken) if taken else schema.empty_table()


def share_of(done: int, rows: int) -> float:
    """The share of the rows that is done, in whole per cent: an exact share would show how many rows there are."""
    return min(100, 100 * done // rows) / 100
