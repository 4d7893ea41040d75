"""Arrays and Arrow tables in a temporary file that no other user can open and that never outlives the process.

Where the system allows it, the file has no name (O_TMPFILE, or unlinked at once). So it vanishes with the process, even
with a killed one. Only its owner can read it. It is in the folder for temporary files, which the environment variable
TMPDIR names.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from dpmine.errors import FailedPass
from dpmine.io.arrow import integer_array
from dpmine.itemsets.ingest.encode import sort_rows
from dpmine.itemsets.outofcore.streams import PackedBaskets, cost_of, require_room
from dpmine.itemsets.transactions.hashes import line_hashes
from dpmine.itemsets.transactions.interface import Baskets, starts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)
    from collections.abc import Iterable, Iterator


_ZEROS = 1 << 20  # bytes that are written at once
_ADVICE = "set TMPDIR to a folder on a disk with room, or raise `memory`."


@dataclass(frozen=True, slots=True)  # there are many
class Extent:
    """A stretch of the file, in bytes."""

    start: int
    length: int


class SpillFile:
    """A temporary file to which arrays and tables are appended, and from which they are read back.

    Raises FailedPass where the disk is full or the folder for temporary files cannot be written.
    """

    def __init__(self) -> None:
        try:
            folder = os.environ.get("TMPDIR") or None  # tempfile would take another one where this cannot be written
            self._file: Any = tempfile.TemporaryFile(buffering=0, prefix="dpmine-", dir=folder)  # noqa: SIM115 - lives as long as its owner
        except OSError:
            raise FailedPass(f"The folder for temporary files cannot be written: {_ADVICE}") from None
        self.close: Callable[[], Any] = weakref.finalize(self, self._file.close)
        """Gives the disk space back; the file cannot be used any more. Happens by itself in the end."""
        self._end = 0

    def append(self, content: Any) -> Extent:
        """Write the bytes of a contiguous buffer at the end."""
        view = memoryview(content).cast("B")
        extent = Extent(self._end, len(view))
        try:
            self._file.seek(self._end)
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self.close()
            raise FailedPass(f"A temporary file cannot be written, the disk may be full: {_ADVICE}") from None
        self._end += extent.length
        return extent

    def zeros(self, shape: tuple[int, int], kind: type[Number]) -> NDArray[Number]:
        """An array of zeros in the file, which the system may write back where memory is scarce."""
        offset, size = self._end, shape[0] * shape[1] * np.dtype(kind).itemsize
        nothing = memoryview(bytes(_ZEROS))
        for start in range(0, size, _ZEROS):  # written, or a full disk would end the process later
            self.append(nothing[: size - start])
        mapped = np.memmap(self._file, kind, "r+", offset, shape)
        return mapped.view(np.ndarray)  # of memmap, each slice would take microseconds

    def append_table(self, table: pa.Table) -> Extent:
        """Write a table as an Arrow stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return self.append(sink.getvalue())

    def read_array(self, extent: Extent, kind: type[Number]) -> NDArray[Number]:
        """The numbers of an extent."""
        numbers = np.empty(extent.length // np.dtype(kind).itemsize, kind)
        view = numbers.view(np.uint8).data
        with suppress(OSError):
            self._file.seek(extent.start)
            while view and (count := self._file.readinto(view)):
                view = view[count:]
        if view:
            raise FailedPass(f"A temporary file cannot be read back: {_ADVICE}")
        return numbers

    def read_table(self, extent: Extent) -> pa.Table:
        """The table of an extent."""
        content = self.read_array(extent, np.uint8)
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            return reader.read_all()


MOST_WAYS = 64  # each chunk of rows leaves a small table per way
_SPARE_WAYS = 2  # hashes do not divide evenly, and a list holds more lines than rows
_DEEPEST = 4  # divisions after which a partition that is too large holds one unit that is too large


@dataclass(eq=False)
class Partition:
    """The lines of some units, in a file."""

    file: SpillFile
    extents: list[Extent] = field(default_factory=list)
    cost: int = 0

    def add(self, lines: pa.Table) -> None:
        """Write lines to the file."""
        self.extents.append(self.file.append_table(lines))
        self.cost += cost_of(lines)

    def tables(self) -> Iterator[pa.Table]:
        """The lines as they were added."""
        return map(self.file.read_table, self.extents)

    def joined(self, limit: int) -> Iterator[pa.Table]:
        """The lines in tables of about `limit` bytes: dividing many small ones takes longer."""
        taken: list[pa.Table] = []
        cost = 0
        for table in self.tables():
            taken.append(table)
            cost += cost_of(table)
            if cost > limit:
                yield pa.concat_tables(taken)
                taken, cost = [], 0
        if taken:
            yield pa.concat_tables(taken)


def ways_for(cost: int, limit: int) -> int:
    """Into how many partitions to divide lines, so that each probably takes less than `limit` bytes."""
    return min(MOST_WAYS, max(2, _SPARE_WAYS * cost // limit))


def scattered(lines: Iterable[pa.Table], unit: tuple[str, ...], ways: int, depth: int = 0) -> list[Partition]:
    """The lines in partitions by their unit columns; another `depth` divides by another hash."""
    file = SpillFile()
    parts = [Partition(file) for _ in range(ways)]
    for table in lines:
        numbers = line_hashes([table.column(name) for name in unit], depth) % np.uint64(ways)
        order = np.argsort(numbers.astype(np.uint16), kind="stable")
        moved = table.take(integer_array(order))
        ends = np.cumsum(np.bincount(numbers.astype(np.int64), minlength=ways)).tolist()
        for part, start, end in zip(parts, [0, *ends], ends, strict=False):
            if end > start:
                part.add(moved.slice(start, end - start))
    return [part for part in parts if part.extents]


def settled(parts: list[Partition], unit: tuple[str, ...], limit: int, depth: int = 1) -> Iterator[pa.Table]:
    """The lines of each partition, those divided again that take more than `limit` bytes.

    Raises BadParameter where the lines of one unit take more.
    """
    for part in parts:
        if part.cost <= limit:
            yield pa.concat_tables(part.tables())
        elif depth > _DEEPEST:
            require_room(pa.concat_tables(part.tables()), limit)
        else:
            again = scattered(part.joined(limit), unit, ways_for(part.cost, limit), depth)
            yield from settled(again, unit, limit, depth + 1)


class CompactFile:
    """Baskets in parts, at about 5 bytes an item: in memory up to a limit in bytes, the others in a temporary file.

    The file is made for the first of them.
    """

    def __init__(self, limit: int) -> None:
        self._parts: list[tuple[PackedBaskets | tuple[Extent, ...], int]] = []
        self._room = limit
        self._places: NDArray[np.int32] | None = None

    @cached_property
    def _file(self) -> SpillFile:
        return SpillFile()

    def append(self, part: PackedBaskets) -> None:
        """Keep the baskets of some units, or write them to the file."""
        self._room -= sum(array.nbytes for array in part[:3])
        kept = part if self._room >= 0 else tuple(map(self._file.append, part[:3]))
        self._parts.append((kept, part.empty_units))

    def recode(self, places: NDArray[np.int32]) -> None:
        """From now on the item of code c has the code places[c]; once, and no part comes after it."""
        self._places = places
        for kept, _ in self._parts:
            if isinstance(kept, PackedBaskets):
                _recode(kept.items, starts_of(kept.basket_lengths), places)

    def parts(self, labels: pa.Array, unit: str) -> Iterator[Baskets]:
        """The baskets part by part; the item of code c is labels[c]."""
        for kept, empty_units in self._parts:
            items, baskets, units = kept[:3] if isinstance(kept, PackedBaskets) else map(self._read, kept)
            starts = starts_of(baskets)
            if self._places is not None and not isinstance(kept, PackedBaskets):
                _recode(items, starts, self._places)
            yield Baskets(labels, items, starts, starts_of(units), unit, empty_units)

    def _read(self, extent: Extent) -> NDArray[np.int32]:
        return self._file.read_array(extent, np.int32)


def _recode(items: NDArray[np.int32], starts: NDArray[np.int64], places: NDArray[np.int32]) -> None:
    """Write places[c] over each code c, and sort the baskets again."""
    np.take(places, items, out=items, mode="clip")  # unchecked
    sort_rows(items, starts)
