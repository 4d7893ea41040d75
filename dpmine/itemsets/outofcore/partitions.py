"""Data that do not fit into memory -> partitions of whole units, and exact supports over these.

The frequent items are held in memory, rarer ones in conditional databases. A unit lies in one partition, so supports
add up. One miner holds as many items as the limit allows, the most frequent ones, and answers for all itemsets of
these. An itemset with a rarer item is found in the conditional database of its rarest one. These databases are made in
groups that fit into memory, with one pass over the partitions per group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dpmine.itemsets.counting.miner import Miner, ordered, support_of
from dpmine.itemsets.outofcore.projection import Projector
from dpmine.itemsets.outofcore.spill import CompactFile
from dpmine.itemsets.outofcore.streams import (
    Census,
    Gathered,
    PackedBaskets,
    same_codes,
)
from dpmine.itemsets.transactions.interface import Baskets, SupportHistogram, SupportSource, Transactions
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.itemsets.transactions.memory import TooManyItemsets, resident_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.outofcore.projection import Projected
    from dpmine.itemsets.transactions.memory import MemoryBudget


_LISTED_COPIES = 3  # the parts, the whole, and its order


class _Known(NamedTuple):
    """The levels of the itemsets of a size down to a threshold, and how many searches came before."""

    threshold: int
    levels: SupportHistogram
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
        """Takes one pass over the partitions."""
        self._baskets = baskets
        self.item_supports: NDArray[np.int64] = baskets.census.supports
        self._code_of = np.argsort(self.item_supports, kind="stable").astype(np.int32)
        self._ranked_supports = self.item_supports[self._code_of]
        self._first_resident = _first_resident(baskets, self._code_of)
        self._known: dict[int, _Known] = {}
        self._listed: dict[int, _Listed] = {}
        frequent = _restricted(baskets, self._code_of[self._first_resident :])
        pa.default_memory_pool().release_unused()  # what Arrow keeps for later reading would count twice
        self._resident = Miner(frequent)

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        limit = self._baskets.budget.listing if memory_limit is None else memory_limit
        found = [self._resident.itemsets(size, threshold, memory_limit=limit)]
        listed = self._listed.get(size)
        if listed is not None and listed.threshold <= threshold:
            return _ordered([*found, *(_reaching(part, threshold) for part in listed.groups)], limit)
        for group in self._groups(threshold):
            found.append(_found(group, Miner(group.baskets), size, threshold, _room(found, limit)))
        return _ordered(found, limit)

    def bounded_histogram(self, size: int, threshold: int, most: int | None) -> SupportHistogram | None:
        """See `SupportSource`. Passes over the partitions are made in any case."""
        if threshold >= self.resident_threshold:
            return self._resident.bounded_histogram(size, threshold, most)
        return self.histogram(size, threshold)

    def _histogram(self, size: int, threshold: int) -> SupportHistogram:
        known = self._known.get(size)
        if known is None or known.threshold > threshold:
            known = self._known[size] = self._mined(size, threshold, known)
        reach = int(np.searchsorted(-known.levels.supports, -threshold, side="right"))
        return SupportHistogram(known.levels.supports[:reach], known.levels.counts[:reach])

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        all_resident = support >= self.resident_threshold
        count = 0 if all_resident else self._resident.histogram(size, support).to_dict().get(support, 0)
        if n < count or all_resident:
            return self._resident.nth(size, support, n)
        for group in self._groups(support):
            n -= count
            count = Miner(group.baskets).histogram(size - 1, support).to_dict().get(support, 0)
            if n < count:
                member = np.array([Miner(group.baskets).nth(size - 1, support, n)], np.int32)
                return tuple(group.itemsets(member)[0].tolist())
        return None

    def _support(self, codes: NDArray[np.int32]) -> int:
        """Where one of the items is not among the frequent ones, this takes a pass over the partitions."""
        itemset: list[int] = codes.tolist()
        if self._is_known(itemset):
            return self._resident.support(itemset)
        return sum(support_of(part, itemset) for part in self._baskets.parts())

    @property
    def resident_threshold(self) -> int:
        """The lowest threshold at which no item but resident ones matters."""
        return int(self._ranked_supports[self._first_resident - 1]) + 1 if self._first_resident else 1

    def _mined(self, size: int, threshold: int, before: _Known | None) -> _Known:
        """The levels down to the threshold; where they take passes, ever deeper from the third question on."""
        if threshold >= self.resident_threshold:
            return _Known(threshold, self._levels(size, threshold), 0)
        times = 0 if before is None else before.times + 1
        deep = max(1, threshold >> max(0, times - 1))
        return _Known(deep, self._levels(size, deep), times)

    def _levels(self, size: int, threshold: int) -> SupportHistogram:
        """The itemsets that passes find are listed meanwhile, as long as they are few: most will be asked for."""
        counts = Counter(self._resident.histogram(size, threshold).to_dict())
        listed: list[Itemsets] | None = []
        for group in self._groups(threshold):
            miner = Miner(group.baskets)
            if listed is not None:
                try:
                    listed.append(
                        _found(group, miner, size, threshold, _room(listed, self._baskets.budget.listing // 4))
                    )
                except TooManyItemsets:
                    listed = None
            levels = miner.histogram(size - 1, threshold) if listed is None else _tallied(listed[-1])
            counts.update(levels.to_dict())
        if listed:
            self._listed[size] = _Listed(threshold, listed)
        return SupportHistogram.of(counts)

    def supports(self, itemsets: Sequence[Sequence[int]]) -> list[int]:
        """See `SupportSource`. What is bought of their items is brought into memory, for as many at once as fit."""
        known = {number: self.support(itemset) for number, itemset in enumerate(itemsets) if self._is_known(itemset)}
        others = [number for number in range(len(itemsets)) if number not in known]
        found = self._passed([itemsets[number] for number in others])
        return [support for _, support in sorted([*known.items(), *zip(others, found, strict=True)])]

    def _passed(self, itemsets: Sequence[Sequence[int]]) -> list[int]:
        """The supports of itemsets that take a pass over the partitions."""
        census, codes = self._baskets.census, sorted({code for itemset in itemsets for code in itemset})
        occurrences = int(census.occurrences[codes].sum())
        cost = resident_cost(occurrences, min(occurrences, census.baskets), self._baskets.catalogue_size)
        if len(itemsets) < 2:
            return super().supports(itemsets)
        if cost > self._baskets.budget.projection:
            middle = len(itemsets) // 2
            return [*self._passed(itemsets[:middle]), *self._passed(itemsets[middle:])]
        return Miner(_restricted(self._baskets, np.array(codes))).supports(itemsets)

    def _is_known(self, itemset: Sequence[int]) -> bool:
        """Whether the support takes no pass."""
        return len(itemset) == 1 or bool(np.isin(itemset, self._code_of[self._first_resident :]).all())

    @cached_property
    def _projector(self) -> Projector:
        budget = self._baskets.budget
        return Projector(self._baskets.parts, self._code_of, budget.projection, budget.conditional)

    def _groups(self, threshold: int) -> Iterator[Projected]:
        """The conditional databases of the items that reach the threshold and are not resident."""
        first = int(np.searchsorted(self._ranked_supports, threshold))
        if first < self._first_resident:
            for firsts in self._projector.ranges(first, self._first_resident):
                yield self._projector.projected(firsts)


def _first_resident(baskets: PartitionedBaskets, code_of: NDArray[np.int32]) -> int:
    """The lowest rank from which on all items fit into memory."""
    occurrences = np.cumsum(baskets.census.occurrences[code_of][::-1])[::-1]
    rows = np.minimum(occurrences, baskets.census.baskets)
    costs: NDArray[np.int64] = resident_cost(occurrences, rows, baskets.catalogue_size)  # at most
    if costs.max(initial=0) <= baskets.budget.all_resident:
        return 0
    return int(np.searchsorted(-costs, -baskets.budget.resident))


def _restricted(baskets: PartitionedBaskets, codes: NDArray[np.int32]) -> Baskets:
    """The baskets with these items only, in memory."""
    wanted = np.zeros(baskets.catalogue_size, np.bool_)
    wanted[codes] = True
    gathered = Gathered()
    for part in baskets.parts():
        gathered.add(part.keeping(wanted[part.items]))
    return gathered.baskets(baskets.labels, same_codes(len(wanted)), baskets.unit)


def _found(group: Projected, miner: Miner, size: int, threshold: int, limit: int) -> Itemsets:
    """The itemsets of a group, whose miner is given. Raises TooManyItemsets."""
    behind = miner.itemsets(size - 1, threshold, memory_limit=limit)
    return Itemsets(group.itemsets(behind.items), behind.supports)


def _reaching(found: Itemsets, threshold: int) -> Itemsets:
    """Those with at least this support."""
    end = int(np.searchsorted(-found.supports, -threshold, side="right"))
    return Itemsets(found.items[:end], found.supports[:end])


def _tallied(found: Itemsets) -> SupportHistogram:
    """Their levels."""
    supports, counts = np.unique(found.supports, return_counts=True)
    return SupportHistogram(supports[::-1], counts[::-1])


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
