"""How much of a Parquet file must be read at once, as its footer says.

Arrow ends the process where Python asks for a damaged entry of a footer: its C++ throws where nothing catches. While it
reads rows it does catch. So each entry is first met by a reader that gets no row.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator


class _RowsWanted(Exception):
    """The entry is sound: the reader came as far as the rows."""


class _NoRows(io.RawIOBase):
    """In place of the file."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return offset + 2**62 * (whence == io.SEEK_END)

    def tell(self) -> int:
        return 2**62

    def read(self, *_: object) -> bytes:
        raise _RowsWanted


def largest_chunk(footer: pq.FileMetaData, names: set[str]) -> int:
    """The most bytes that one of the columns, or a part of a nested one, takes in a row group before compression.

    Raises what Arrow raises for damaged files. Of the file itself nothing is read.
    """
    if not names:
        return 0
    paths = [footer.schema.column(place).path for place in range(footer.num_columns)]
    places = [place for place, path in enumerate(paths) if names.intersection(_prefixes(path))]
    reader = pq.ParquetFile(_NoRows(), metadata=footer)
    largest = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for place in places:
            with suppress(_RowsWanted):
                reader.read_row_group(number, columns=[paths[place]], use_threads=False)
            largest = max(largest, group.column(place).total_uncompressed_size)
    return largest


def _prefixes(path: str) -> Iterator[str]:
    """The column and all that it may be a part of; a column's own name may contain dots."""
    parts = path.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))
