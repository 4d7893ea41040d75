"""Data that do not fit into memory -> partitions of whole units, and exact supports over these.

The frequent items are held in memory, rarer ones in conditional databases. A unit lies in one partition, so supports
add up. One miner holds the most frequent items, and answers for all itemsets of these. They are few at first, as most
questions need no others. Lower thresholds add items, as many as the limit allows. An itemset with a rarer item is found
in the conditional database of its rarest one. These databases are made in groups that fit into memory, with one pass
over the partitions per group. One that does not fit alone has partitions of its own. Pairs of frequent items that do
not all fit are counted in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array
from dpmine.itemsets.counting.listed import listed_supports
from dpmine.itemsets.counting.miner import Miner, ordered, support_of
from dpmine.itemsets.counting.rows import restrict_rows
from dpmine.itemsets.ingest.encode import run_starts
from dpmine.itemsets.outofcore.pairs import PairSquare, least_support
from dpmine.itemsets.outofcore.projection import Projected, Projector
from dpmine.itemsets.outofcore.spill import CompactFile
from dpmine.itemsets.outofcore.streams import (
    Census,
    Gathered,
    PackedBaskets,
    same_codes,
)
from dpmine.itemsets.transactions.interface import Baskets, SupportSource, Transactions, reaching, tallied
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.itemsets.transactions.memory import TooManyItemsets, resident_cost

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.memory import MemoryBudget


_LISTED_COPIES = 3  # the parts, the whole, and its order
_FEW = 1 << 28
"""Bytes of the first resident items: more of them take longer to gather than most answers."""
_GROWTH = 4  # of the resident items, until all are there that fit: all that was gathered before is a third of it


class _Known(NamedTuple):
    """The levels of the itemsets of a size down to a threshold, and how many searches came before."""

    threshold: int
    levels: Counter[int]
    times: int


class _Listed(NamedTuple):
    """The itemsets of a size down to a threshold that have an item that is not resident, group by group."""

    threshold: int
    groups: list[Itemsets]


@dataclass(frozen=True, eq=False)
class PartitionedBaskets(Transactions):
    """Baskets in partitions of whole units, each of which fits into memory.

    Attributes:
        labels: as in Baskets.
        unit: as in Baskets.
        parts: gives the partitions, all with these labels, as often as it is called, in the same order. Raises
            UnreadableFile where the temporary file cannot be read.
        census: of all partitions.
        budget: of the memory.
    """

    labels: pa.Array
    unit: str
    parts: Callable[[], Iterator[Baskets]]
    census: Census
    budget: MemoryBudget

    @property
    def total_units(self) -> int:
        """See `Transactions`."""
        return self.census.units

    def miner(self) -> PartitionedMiner:
        """See `Transactions`."""
        return PartitionedMiner(self)

    def truncated(self, max_items_per_unit: int) -> PartitionedBaskets:
        """See `Transactions`."""
        return self._changed(lambda part: part.truncated(max_items_per_unit), self.labels)

    def item_weights(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. Takes one pass."""
        return sum((part.item_weights(weights) for part in self.parts()), np.zeros(len(self.labels), np.int64))

    def pair_weights(self, codes: Sequence[int], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. Takes one pass."""
        none = np.zeros((len(codes), len(codes)), np.int64)
        return sum((part.pair_weights(codes, weights) for part in self.parts()), none)

    def projected(self, codes: Sequence[int]) -> PartitionedBaskets:
        """See `Transactions`."""
        return self._changed(lambda part: part.projected(codes), self.labels.take(list(codes)))

    def supports_of_items(self) -> NDArray[np.int64]:
        """See `Transactions`."""
        return self.census.supports

    def baskets_of(self, codes: Sequence[int]) -> Iterable[Baskets]:  # noqa: ARG002 - the protocol's signature
        """See `Transactions`. Takes one pass."""
        return self.parts()

    def unions(self) -> PartitionedBaskets:
        """See `Transactions`."""
        return self._changed(Baskets.unions, self.labels)

    def _changed(self, change: Callable[[Baskets], Baskets], labels: pa.Array) -> PartitionedBaskets:
        """Every partition changed, unit by unit; takes one pass."""
        compact, census = CompactFile(self.budget.packed), Census()
        for part in map(change, self.parts()):
            census.add(part)
            compact.append(PackedBaskets.of(part))
        parts = partial(compact.parts, labels, self.unit)
        return replace(self, labels=labels, parts=parts, census=census.recoded(same_codes(len(labels))))


class PartitionedMiner(SupportSource):
    """Exact supports of the itemsets of baskets in partitions.

    Memory stays within the baskets' budget. Raises UnreadableFile where a partition cannot be read back.
    """

    def __init__(self, baskets: PartitionedBaskets) -> None:
        self._baskets = baskets
        self.item_supports: NDArray[np.int64] = baskets.census.supports
        self._code_of = np.argsort(self.item_supports, kind="stable").astype(np.int32)
        self._ranked_supports = self.item_supports[self._code_of]
        costs, budget = _costs(baskets, self._code_of), baskets.budget
        self._falling_costs = -costs
        all_fit = costs.max(initial=0) <= budget.all_resident
        self._most = budget.all_resident if all_fit else budget.resident
        self._limit = min(_FEW, self._most)
        self._resident: Miner | None = None
        self._known: dict[int, _Known] = {}
        self._listed: dict[int, _Listed] = {}

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        limit = self._baskets.budget.listing if memory_limit is None else memory_limit
        if self._in_square(size, threshold):
            return self._square.itemsets(threshold, limit)
        found = [self._resident_miner(threshold).itemsets(size, threshold, memory_limit=limit)]
        listed = self._listed.get(size)
        if listed is not None and listed.threshold <= threshold:
            return _ordered([*found, *(_reaching(part, threshold) for part in listed.groups)], limit)
        for group in self._groups(threshold):
            found.append(_found(group, size, threshold, _room(found, limit)))
        return _ordered(found, limit)

    def bounded_histogram(self, size: int, threshold: int, most: int | None) -> Counter[int] | None:
        """See `SupportSource`. Passes over the partitions are made in any case."""
        if size > 1 and not self._in_square(size, threshold):  # resident baskets have two items or more
            resident = self._resident_miner(threshold)
            if threshold >= self.resident_threshold:
                return resident.bounded_histogram(size, threshold, most)
        return self.histogram(size, threshold)

    def _histogram(self, size: int, threshold: int) -> Counter[int]:
        if self._in_square(size, threshold):
            return self._square.histogram(threshold)
        known = self._known.get(size)
        if known is None or known.threshold > threshold:
            known = self._known[size] = self._mined(size, threshold, known)
        return reaching(known.levels, threshold)

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        if self._in_square(size, support):
            return self._square.nth(support, n)
        resident = self._resident_miner(support)
        all_resident = support >= self.resident_threshold
        count = 0 if all_resident else resident.histogram(size, support)[support]
        if n < count or all_resident:
            return resident.nth(size, support, n)
        for group in self._groups(support):
            n -= count
            count = group.miner.histogram(size - 1, support)[support]
            if n < count:
                member = np.array([group.miner.nth(size - 1, support, n)], np.int32)
                return tuple(group.itemsets(member)[0].tolist())
        return None

    def _support(self, codes: NDArray[np.int32]) -> int:
        """Where one of the items is not among the frequent ones, this takes a pass over the partitions."""
        rarest = int(self.item_supports[codes].min())
        resident = self._resident_miner(rarest)
        if rarest >= self.resident_threshold:
            return resident.support(codes.tolist())
        return sum(support_of(part, codes.tolist()) for part in self._baskets.parts())

    def supports(self, itemsets: Sequence[Sequence[int]]) -> list[int]:
        """See `SupportSource`. Takes one pass, where any of them has more than one item."""
        return listed_supports(itemsets, self.item_supports, self._baskets.parts())

    @property
    def resident_threshold(self) -> int:
        """The lowest threshold at which no item but resident ones matters."""
        return self._threshold_of(self._first_resident)

    def _threshold_of(self, first: int) -> int:
        """The lowest threshold that no item of a rank below `first` reaches."""
        return int(self._ranked_supports[first - 1]) + 1 if first else 1

    @property
    def _first_resident(self) -> int:
        """The lowest rank from which on all items are resident, or will be with the first question."""
        return self._first_within(self._limit)

    def _first_within(self, limit: int) -> int:
        """The lowest rank from which on all items fit into `limit` bytes."""
        return int(np.searchsorted(self._falling_costs, -limit))

    def _resident_miner(self, threshold: int) -> Miner:
        """The miner of the resident items: those that reach the threshold, if they fit, and perhaps others."""
        while threshold < self.resident_threshold and self._limit < self._most:
            self._limit, self._resident = min(_GROWTH * self._limit, self._most), None
        if self._resident is None:
            frequent = _restricted(self._baskets, self._code_of[self._first_resident :])
            pa.default_memory_pool().release_unused()  # what Arrow keeps for later reading would count twice
            self._resident = Miner(frequent)
        return self._resident

    def _in_square(self, size: int, threshold: int) -> bool:
        """Whether `_square` has all itemsets of this size that reach the threshold, and no search without a pass."""
        return size == 2 and self._square_threshold <= threshold < self._threshold_of(self._first_within(self._most))

    @cached_property
    def _square(self) -> PairSquare:
        """The supports of the pairs of the most frequent items. Takes one pass over the partitions."""
        return PairSquare.of(self._baskets.parts(), self.item_supports, self._square_threshold)

    @cached_property
    def _square_threshold(self) -> int:
        return least_support(self._ranked_supports, self._baskets.total_units)

    def _mined(self, size: int, threshold: int, before: _Known | None) -> _Known:
        """The levels down to the threshold; where they take passes, ever deeper from the third question on."""
        resident = self._resident_miner(threshold)
        if threshold >= self.resident_threshold:
            return _Known(threshold, resident.histogram(size, threshold), 0)
        times = 0 if before is None else before.times + 1
        deep = max(1, threshold >> max(0, times - 1))
        return _Known(deep, self._levels(size, deep), times)

    def _levels(self, size: int, threshold: int) -> Counter[int]:
        """The itemsets that passes find are listed meanwhile, as long as they are few: most will be asked for."""
        counts = self._resident_miner(threshold).histogram(size, threshold)
        listed: list[Itemsets] | None = []
        for group in self._groups(threshold):
            if listed is not None:
                try:
                    listed.append(_found(group, size, threshold, _room(listed, self._baskets.budget.listing // 4)))
                except TooManyItemsets:
                    listed = None
            more = group.miner.histogram(size - 1, threshold) if listed is None else tallied(listed[-1].supports)
            counts.update(more)
        if listed:
            self._listed[size] = _Listed(threshold, listed)
        return counts

    @cached_property
    def _projector(self) -> Projector:
        return Projector(self._baskets.parts, self._code_of, self._baskets.budget.projection)

    def _groups(self, threshold: int) -> Iterator[Projected]:
        """The conditional databases of the items that reach the threshold and are not resident."""
        first = int(np.searchsorted(self._ranked_supports, threshold))
        if first < self._first_resident:
            for firsts in self._projector.ranges(first, self._first_resident):
                yield self._projector.projected(firsts) if self._projector.fits(firsts) else self._divided(firsts)

    def _divided(self, firsts: range) -> Projected:
        """The conditional database of one rank, in partitions. Takes one pass over these baskets' own."""
        labels, compact, census = self._projector.followers(firsts.start), CompactFile(0), Census()
        for part in self._projector.partitions(firsts.start):
            census.add(part)
            compact.append(PackedBaskets.of(part))
        names = integer_array(labels)
        budget = self._baskets.budget.for_one_item()
        baskets = PartitionedBaskets(
            names, "row", partial(compact.parts, names, "row"), census.recoded(same_codes(len(labels))), budget
        )
        return Projected(labels, PartitionedMiner(baskets), firsts, self._code_of)


def _costs(baskets: PartitionedBaskets, code_of: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64[N]: bytes of a miner of the items from each rank on, at most."""
    occurrences = np.cumsum(baskets.census.occurrences[code_of][::-1])[::-1]
    rows = np.minimum(occurrences, baskets.census.baskets)
    return resident_cost(occurrences, rows, baskets.catalogue_size)


def _restricted(baskets: PartitionedBaskets, codes: NDArray[np.int32]) -> Baskets:
    """The baskets that hold two of these items or more, with these only, in memory."""
    own = np.full(baskets.catalogue_size, -1, np.int32)
    own[codes] = codes
    gathered = Gathered()
    for part in baskets.parts():
        items, starts, owners = restrict_rows(
            part.items, part.basket_starts, part.unit_numbers(), (0, part.basket_count), own
        )
        units = np.arange(len(starts)) if part.one_basket_each else run_starts(owners)
        gathered.add(Baskets(part.labels, items.copy(), starts, units, part.unit))  # lets the room for all of them go
    return gathered.baskets(baskets.labels, same_codes(len(own)), baskets.unit)


def _found(group: Projected, size: int, threshold: int, limit: int) -> Itemsets:
    """The itemsets of a group. Raises TooManyItemsets."""
    behind = group.miner.itemsets(size - 1, threshold, memory_limit=limit)
    return Itemsets(group.itemsets(behind.items), behind.supports)


def _reaching(found: Itemsets, threshold: int) -> Itemsets:
    """Those with at least this support."""
    end = int(np.searchsorted(-found.supports, -threshold, side="right"))
    return Itemsets(found.items[:end], found.supports[:end])


def _room(found: list[Itemsets], limit: int) -> int:
    """What these leave of the limit; raises TooManyItemsets."""
    left = limit - _LISTED_COPIES * sum(part.items.nbytes + part.supports.nbytes for part in found)
    if left < 0:
        raise TooManyItemsets
    return left


def _ordered(found: list[Itemsets], limit: int) -> Itemsets:
    """All of them by decreasing support, then by codes. Raises TooManyItemsets."""
    if len(found) == 1:
        return found[0]
    _room(found, limit)
    items = np.concatenate([part.items for part in found])
    supports = np.concatenate([part.supports for part in found])
    return Itemsets(*ordered(items, supports))
