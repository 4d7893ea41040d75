"""How much memory a run's data may take, and what each of its stages is allowed out of it.

The model counts bytes a line (one basket and item) or an item of the catalogue. Its constants were measured as growth
of the peak resident size, integers and texts, sorted and scattered, and rounded up.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, TypeVar

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

LARGEST_SQUARE = 5 << 19
"""Cells of a square of pair counts: larger ones do not fit into a processor's caches."""
SQUARES = 2
"""Threads that count pairs, each with a square of its own."""
LARGEST_SQUARES = 2 * SQUARES * 4 * LARGEST_SQUARE
"""Bytes that squares take at most: two a thread where units have several rows, or one and its rearrangements."""
LINE = 55
"""Bytes a line takes for its item and each of its key columns while it is coded, sorted and grouped."""
RESIDENT_LINE = 26
"""Bytes an item's occurrence takes in a miner: the baskets, their frequent items, and these ranked."""
RESIDENT_BASKET = 32
"""Bytes a basket takes in a miner."""
ITEM = 160
"""Bytes that counters, ranks and a search's working space take for each item of the catalogue."""
PROJECTED_ENTRY = 32
"""Bytes an entry of a conditional database takes, its miner included."""
PROJECTED_ROW = 48
"""Bytes a row of a conditional database takes, its miner included."""

_PACKINGS = 4
"""Sets of packed baskets at a time, at most: those read, and what is made of them."""
_ORDER = 40
"""Bytes an itemset takes for its place among those of other sizes, while these are put in order."""
_REFERENCES = 56
"""Bytes a frozenset takes for what allocators round up, and in the lists and arrays that it passes through."""
_MEASURED = 1 << 12  # items of a set beyond which its bytes grow with their number

_LEAST = 64_000_000
_WHEN_UNKNOWN = 8 << 30
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MOST_BITS = 128
_LONGEST = 40  # characters of a size
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_HINT = "memory must be a size such as 4GB, 500MB or 2GiB, at least 64MB."


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that the stages of a run may take, on top of what the process held before.

    Attributes:
        whole: for reading everything at once.
        chunk: for the lines that are coded and grouped at a time.
        labels: for the texts of the items.
        gathered: for baskets that are kept while the data stream by, and their miner.
        all_resident: for one miner of all items, which leaves no need for anything else.
        resident: for the miner of the frequent items, beside conditional databases.
        projection: for the conditional databases mined at a time, and their miner.
        listing: for lists of itemsets of all sizes, whatever else is held.
        indivisible: for what cannot be read or kept in parts: a column of a row group, the items of a catalogue.
        packed: for parts of baskets, kept apart as compactly as in temporary files, before such files are written.
    """

    whole: int
    chunk: int
    labels: int
    gathered: int
    all_resident: int
    resident: int
    projection: int
    listing: int
    indivisible: int = 2**63 - 1
    packed: int = 0

    @classmethod
    def of(cls, memory: int | str | None) -> MemoryBudget:
        """The shares of a limit (see `parse_memory`). The rest is for what allocators keep, and for small arrays."""
        return cls._shares(parse_memory(memory) - LARGEST_SQUARES)

    @classmethod
    def _shares(cls, size: int) -> MemoryBudget:
        return cls(
            whole=size * 7 // 8,
            chunk=size // 8,
            labels=size // 8,
            gathered=size * 3 // 4,
            all_resident=size * 3 // 4,
            resident=size * 3 // 8,
            projection=size // 4,
            listing=size // 5,
            indivisible=size * 3 // 4,
        )

    def for_one_item(self) -> MemoryBudget:
        """For the conditional database of an item that does not fit into `projection`: shares of that."""
        return self._shares(self.projection)

    def packing_beyond(self, limit: int) -> MemoryBudget:
        """The same, but with at most `limit` bytes of baskets in one piece: more of them are kept in packed parts.

        What fits as a whole is packed without a file: a line takes 12 bytes there at most, and `LINE` or more whole.
        """
        return replace(self, gathered=min(self.gathered, limit), packed=self.gathered // _PACKINGS)


Amounts = TypeVar("Amounts", int, "NDArray[np.int64]")


class TooManyItemsets(BadParameter):
    """A list of itemsets does not fit into the memory limit; public calls say which of their parameters help."""

    def __init__(self) -> None:
        super().__init__(
            "The itemsets do not fit into the memory limit: raise the threshold (minimum support) or `memory`."
        )


def resident_cost(occurrences: Amounts, baskets: Amounts, items: int) -> Amounts:
    """Bytes that a miner takes in all; numbers or arrays of them."""
    return RESIDENT_LINE * occurrences + RESIDENT_BASKET * baskets + ITEM * items


def listing_cost(size: int) -> int:
    """Bytes an itemset takes while those of its size are listed: two copies, a sorting key and an order."""
    return 2 * (4 * size + 8) + 16


def listed_cost(size: int) -> int:
    """Bytes an itemset takes in the list of all sizes: two copies, as allocators keep the first, and an order."""
    return 2 * (4 * size + 16) + _ORDER


@cache
def object_cost(size: int) -> int:
    """Bytes an itemset takes as a frozenset in a frame, beside the objects of its items."""
    measured = min(size, _MEASURED)
    return getsizeof(frozenset(range(measured))) * size // measured + _REFERENCES


def parse_memory(memory: int | str | None) -> int:
    """Bytes: a number of them, or text such as "4GB" (10^9), "2GiB" (2^30); None is half of the machine.

    Raises BadParameter for anything else, and below 64 MB.
    """
    if memory is None:
        return physical_memory() // 2
    match = None if isinstance(memory, bool) else _SIZE.fullmatch(_text(memory))
    if match is None:
        raise BadParameter(_HINT)
    number, prefix, binary = match.groups()
    size = int(Fraction(number) * (1024 if binary else 1000) ** _POWERS[prefix.upper()])
    if size < _LEAST or (binary and not prefix):
        raise BadParameter(_HINT)
    return size


def catalogue_cost(labels: pa.Array) -> int:
    """Bytes that the labels of items, an Arrow array, take together with what is counted for each."""
    return int(4 * labels.nbytes + ITEM * len(labels))


def require_catalogue_room(catalogue: pa.Array | None, limit: int) -> None:
    """BadParameter where what is counted for each item of a public catalogue takes more than `limit` bytes."""
    if catalogue is not None and catalogue_cost(catalogue) > limit:
        raise BadParameter(
            "The catalogue does not fit into the memory limit: raise `memory`, or give a shorter catalogue."
        )


def _text(memory: int | str) -> str:
    """What was given as text; empty where it is longer than any size, as Python does not convert long integers."""
    if isinstance(memory, int) and memory.bit_length() > _MOST_BITS:
        return ""
    text = str(memory).strip()
    return text if len(text) <= _LONGEST else ""


def physical_memory() -> int:
    """Bytes of memory in the machine, or those that its container may take; 8 GiB where both are unknown."""
    return min([size for size in (_machine(), *map(_container, _CONTAINER_LIMITS)) if size], default=_WHEN_UNKNOWN)


def _machine() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 0


@cache
def _container(path: str) -> int:
    """A limit that Linux sets; 0 where there is none. It is read once: a small search takes as long as that."""
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (ValueError, OSError):  # the word max, or another system
        return 0
