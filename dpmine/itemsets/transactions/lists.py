"""Itemsets of one size, or of several in one list, and how much room there is for them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.itemsets.transactions.memory import TooManyItemsets, listed_cost, listing_cost, object_cost
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CodedItemset: TypeAlias = tuple[int, ...]
"""An itemset as the codes of its items, increasing."""
_MOST_UNCHECKED = 1 << 18  # itemsets of one size: with more, it is worth a look at what larger sizes take at least
_MOST_EXTENSIONS = 64  # items by which an itemset may be extended for this


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Itemsets of one size by decreasing support, then lexicographically.

    Attributes:
        items: int32[k, r], item codes increasing in a row.
        supports: int64[k].
    """

    items: NDArray[np.int32]
    supports: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.supports)


class ItemsetLists(NamedTuple):
    """Itemsets of several sizes, in any order."""

    codes: NDArray[np.int32]
    """Item codes, increasing in an itemset."""
    starts: NDArray[np.int64]
    """int64[k + 1]: itemset i holds codes[starts[i] : starts[i + 1]]."""
    supports: NDArray[np.int64]

    @classmethod
    def of(cls, parts: list[Itemsets]) -> ItemsetLists:
        """The itemsets of each part, one part after the other."""
        sizes = [np.full(len(part), part.items.shape[1]) for part in parts]
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64)
        codes = [np.zeros(0, np.int32), *(part.items.ravel() for part in parts)]
        supports = [np.zeros(0, np.int64), *(part.supports for part in parts)]
        return cls(np.concatenate(codes), ends, np.concatenate(supports))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[k]: items of each."""
        return np.diff(self.starts)


class OfOneSize(Protocol):
    """What finds the itemsets of one size: a part of `SupportSource`."""

    item_supports: NDArray[np.int64]

    @property
    def resident_threshold(self) -> int:
        """See `SupportSource`."""
        ...

    def itemsets(self, size: int, threshold: int, *, memory_limit: int | None = None) -> Itemsets:
        """See `SupportSource`."""
        ...

    def support(self, itemset: Sequence[int]) -> int:
        """See `SupportSource`."""
        ...


@dataclass
class ListRoom:
    """How many bytes are left for lists of itemsets.

    Attributes:
        left: of a memory limit.
        largest: the largest size that is asked for.
        advice: what the caller may do where they do not suffice.
        as_objects: whether the itemsets become frozensets, too.
    """

    left: int
    largest: int
    advice: str
    as_objects: bool

    def itemsets(self, miner: OfOneSize, size: int, threshold: int) -> Itemsets:
        """All of one size; raises BadParameter before these, or those of larger sizes, take more than is left."""
        limit = min(self.left, self.left * listing_cost(size) // self.cost(size))
        try:
            found = miner.itemsets(size, threshold, memory_limit=limit)
        except TooManyItemsets:
            raise self.too_many() from None
        self.left -= len(found) * self.cost(size)
        if self.left < 0 or (len(found) > _MOST_UNCHECKED and self._larger(miner, found, threshold) > self.left):
            raise self.too_many()
        return found

    def too_many(self, least: int = 0) -> BadParameter:
        """What is raised. `least`: how many itemsets there are at least, where that is known."""
        count = f", at least {least:,}," if least else ""
        return BadParameter(f"The itemsets{count} do not fit into the memory limit: {self.advice}.")

    def cost(self, size: int) -> int:
        """Bytes of an itemset."""
        return listed_cost(size) + (object_cost(size) if self.as_objects else 0)

    def subsets(self, items: int, smallest: int) -> int:
        """Bytes of the subsets of one frequent itemset, from `smallest` items to the largest size."""
        sizes = range(smallest, min(self.largest, items) + 1)
        return sum(comb(items, size) * self.cost(size) for size in sizes)

    def counted_subsets(self, items: int, smallest: int) -> int:
        """How many subsets one frequent itemset has, from `smallest` items to the largest size."""
        return sum(comb(items, size) for size in range(smallest, min(self.largest, items) + 1))

    def _larger(self, miner: OfOneSize, found: Itemsets, threshold: int) -> int:
        """Bytes of the larger subsets of one frequent itemset: to list millions before the rejection takes long."""
        size, items = found.items.shape[1], found.items[0].tolist()
        if threshold >= miner.resident_threshold:
            for item in np.argsort(-miner.item_supports, kind="stable")[:_MOST_EXTENSIONS].tolist():
                if item not in items and miner.support([*items, item]) >= threshold:
                    items.append(item)
        return self.subsets(len(items), size + 1)


def by_size(miner: OfOneSize, sizes: tuple[int, int], threshold: int, room: ListRoom) -> ItemsetLists:
    """The itemsets of one size after the other, up to one that has none."""
    parts = [room.itemsets(miner, sizes[0], threshold)]
    while len(parts[-1]) and sizes[0] + len(parts) <= sizes[1]:
        parts.append(room.itemsets(miner, sizes[0] + len(parts), threshold))
    return ItemsetLists.of(parts)


_place_rows, _copy_rows, _mark_supersets = kernel("place_rows"), kernel("copy_rows"), kernel("mark_supersets")
_SUPERSET, _EQUAL_SUPERSET = 1, 2  # bits of the last one's flags


def with_superset(lists: ItemsetLists, *, equal: bool) -> NDArray[np.bool_]:
    """bool[k]: whether another of the itemsets has one item more; `equal`: and the same support."""
    flags = np.zeros(len(lists.supports), np.uint8)
    _mark_supersets(lists.codes, lists.starts, lists.supports, flags)
    found: NDArray[np.bool_] = flags & (_EQUAL_SUPERSET if equal else _SUPERSET) != 0
    return found


def taken(lists: ItemsetLists, order: NDArray[np.int64]) -> ItemsetLists:
    """Some of the itemsets, in this order."""
    starts, supports = np.empty(len(order) + 1, np.int64), np.empty(len(order), np.int64)
    codes = np.empty(_place_rows(lists.starts, order, starts), np.int32)
    _copy_rows(*lists, order, starts, supports, codes)
    return ItemsetLists(codes, starts, supports)
