"""Lines in any order, in temporary files by a hash of their unit, so that no unit is in two of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.itemsets.arrow_arrays import integer_array, integers
from dpmine.itemsets.baskets import Baskets, starts_of
from dpmine.itemsets.out_of_core_kernels import text_hashes
from dpmine.itemsets.spill import Extent, SpillFile
from dpmine.itemsets.streaming_sorted import cost_of, require_room
from dpmine.itemsets.types import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

MOST_WAYS = 256
_MORE_WAYS = 16
_DEEPEST = 4  # a partition too large after so many divisions holds one unit that is too large
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = 0x9E3779B97F4A7C15


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


def scattered(lines: Iterable[pa.Table], unit: tuple[str, ...], ways: int, depth: int = 0) -> list[Partition]:
    """The lines in partitions by their unit columns; another `depth` divides by another hash."""
    file = SpillFile()
    parts = [Partition(file) for _ in range(ways)]
    for table in lines:
        numbers = _hashes(table, unit, depth) % np.uint64(ways)
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
            yield from settled(scattered(part.tables(), unit, _MORE_WAYS, depth), unit, limit, depth + 1)


class CompactFile:
    """Baskets in a temporary file, at about 5 bytes an item."""

    def __init__(self) -> None:
        self._file = SpillFile()
        self._parts: list[tuple[tuple[Extent, Extent, Extent], int]] = []

    def append(self, part: Baskets) -> None:
        """Write the baskets of some units to the file."""
        baskets, units = (np.diff(starts).astype(np.int32) for starts in (part.basket_starts, part.unit_starts))
        extents = self._file.append(part.items), self._file.append(baskets), self._file.append(units)
        self._parts.append((extents, part.empty_units))

    def parts(self, labels: pa.Array, unit: str) -> Iterator[Baskets]:
        """The baskets part by part."""
        for extents, empty_units in self._parts:
            items, baskets, units = (self._file.read_array(extent, np.int32) for extent in extents)
            yield Baskets(labels, items, starts_of(baskets), starts_of(units), unit, empty_units)


def _hashes(lines: pa.Table, unit: tuple[str, ...], depth: int) -> NDArray[np.uint64]:
    """A hash of each line's unit; the same for equal units in all tables."""
    whole = np.full(lines.num_rows, (depth + 1) * _STEP % 2**64, np.uint64)
    for name in unit:
        whole = _mixed(whole ^ _column_hashes(lines.column(name)))
    return whole


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers in which each digit of the given ones matters everywhere (Stafford's variant 13 of MurmurHash3's end)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX[0]
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX[1]
    return numbers ^ (numbers >> np.uint64(31))


def _column_hashes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    if not is_text(column.type):
        return integers(column).view(np.uint64)
    hashes = [_text_hashes(chunk) for chunk in column.chunks]
    return np.concatenate([*hashes, np.zeros(0, np.uint64)])  # a table without lines may have no chunks


def _text_hashes(chunk: pa.Array) -> NDArray[np.uint64]:
    """Hashes of large_string entries."""
    _, ends, content = chunk.buffers()
    starts = np.frombuffer(ends, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    letters = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    return text_hashes(np.require(letters), np.require(starts))
