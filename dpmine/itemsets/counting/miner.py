"""Exact supports: of items, of one itemset, of all itemsets of a size above a threshold."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from math import comb
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.itemsets.counting.arrays import by_support, new_sink
from dpmine.itemsets.counting.field import (
    Field,
    FieldSearch,
    by_squares,
    crowds_of,
    dense_field,
    few_partners_field,
    field_of,
    in_a_crowd,
    levels_of_pairs,
    listed_pairs,
    pair_supports,
    searched,
)
from dpmine.itemsets.counting.listed import listed_supports
from dpmine.itemsets.counting.lists import ClosedSearch, ListSearch
from dpmine.itemsets.counting.rows import (
    frequent_rests,
    item_supports,
    ranked,
    thread_count,
    units_containing,
)
from dpmine.itemsets.transactions.interface import (
    COUNT_LIMIT,
    Baskets,
    SupportSource,
    Transactions,
    distinct_codes,
)
from dpmine.itemsets.transactions.lists import ItemsetLists, Itemsets
from dpmine.itemsets.transactions.memory import TooManyItemsets, listing_cost, parse_memory, resident_cost
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.counting.arrays import Sink
    from dpmine.itemsets.counting.rows import ItemRanking
    from dpmine.itemsets.transactions.lists import ListRoom
    from dpmine.itemsets.transactions.memory import MemoryBudget

_FIRST_ROOM = 1 << 22  # item codes for which a part of a search makes room before it knows how many it will find


def support_of(baskets: Baskets, itemset: Sequence[int]) -> int:
    """The support of one itemset, given as distinct item codes; BadParameter for codes outside the catalogue.

    One pass over the baskets. `Miner.support` is faster for several itemsets.
    """
    codes = distinct_codes(itemset, baskets.catalogue_size)
    starts = baskets.basket_starts
    return units_containing(baskets.items, starts[:-1], starts[1:], baskets.unit_numbers(), codes)


class Miner(SupportSource):
    """Exact supports of the itemsets of some baskets in memory.

    A search ranks the items that reach its threshold, rare ones first (ties by code), with all their places. This takes
    about 20 bytes per occurrence. A ranking serves all higher thresholds; the second one is that of all items. All
    methods may be called from several threads at once.
    """

    def __init__(self, baskets: Baskets) -> None:
        self.item_supports: NDArray[np.int64] = item_supports(baskets)
        self._baskets = baskets
        self._ranking: ItemRanking | None = None
        self._one_ranking = Lock()

    resident_threshold = 1

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        affordable = _affordable(size, memory_limit)
        if size == 2 and self._few_items(threshold):
            return self._pairs_above(threshold, affordable)
        return Itemsets(*ordered(*_joined(self._listed(size, threshold, affordable))))

    def lists(self, sizes: tuple[int, int], threshold: int, room: ListRoom) -> ItemsetLists:
        """See `SupportSource`. One search finds those of three sizes and more."""
        smallest, largest = sizes
        if largest - smallest < 2:
            return super().lists(sizes, threshold, room)
        alone = [room.itemsets(self, 1, threshold)] if smallest == 1 else []
        field, longest = self._whole_field(threshold)
        smallest, largest = max(2, smallest), min(largest, longest)
        if largest < smallest:
            return ItemsetLists.of([*alone, self.itemsets(smallest, threshold)])
        return ListSearch(field, (smallest, largest), threshold, room).lists(alone)

    def closed(self, sizes: tuple[int, int], threshold: int, room: ListRoom, *, maximal: bool) -> ItemsetLists:
        """See `SupportSource`. Of units with one basket each they are found without their subsets."""
        if not self._baskets.one_basket_each:
            return super().closed(sizes, threshold, room, maximal=maximal)
        field, _ = self._whole_field(threshold)
        supports = self.item_supports[field.where.labels]
        return ClosedSearch(field, supports, sizes, threshold, room, maximal=maximal).lists([])

    def _whole_field(self, threshold: int) -> tuple[Field, int]:
        """Where itemsets of all sizes are searched, and a number of items that none of them exceeds."""
        if (field := self._dense_field(3, threshold)) is not None:
            return field, len(field.where.labels)
        ranking = self._ranked(threshold)
        return field_of(ranking, 3, _first(ranking, threshold), len(ranking.supports)), ranking.longest

    def _dense_field(self, size: int, threshold: int) -> Field | None:
        """Bitmaps, where they are fast and no ranking is there that leaves rows out."""
        if self._ranking is not None or not self._baskets.one_basket_each:
            return None
        return dense_field(self._baskets, self.item_supports, size, threshold)

    def bounded_histogram(self, size: int, threshold: int, most: int | None) -> Counter[int] | None:
        """See `SupportSource`. Pairs are counted in any case."""
        if size <= 2 or most is None:
            return self.histogram(size, threshold)
        found = self._counted(self._field(size, threshold), size, threshold, most + 1)
        return found if found.total() <= most else None

    def _histogram(self, size: int, threshold: int) -> Counter[int]:
        if size == 2 and self._few_items(threshold):
            pairs = pair_supports(frequent_rests(self._baskets, self.item_supports, threshold))
            return levels_of_pairs(pairs, threshold, self._highest(size))
        return self._counted(self._field(size, threshold), size, threshold)

    def _support(self, codes: NDArray[np.int32]) -> int:
        ranking = self._ranked(1)
        # The rarest item comes first in its rows, so only the rests behind its places are looked at.
        rows, ranks = ranking.rows, np.sort(ranking.rank_of[codes])
        occurrences = slice(rows.item_starts[ranks[0]], rows.item_starts[ranks[0] + 1])
        holders = rows.row_of[occurrences]
        return units_containing(
            rows.items, rows.place_of[occurrences], rows.starts[holders + 1], rows.units[holders], ranks
        )

    def supports(self, itemsets: Sequence[Sequence[int]]) -> list[int]:
        """See `SupportSource`. Takes one pass, unless all items are ranked already: that takes longer."""
        if self._ranking is not None and self._ranking.threshold == 1:
            return super().supports(itemsets)
        return listed_supports(itemsets, self.item_supports, (self._baskets,))

    def _few_items(self, threshold: int) -> bool:
        """Whether all pairs of the items that reach the threshold should be counted at once."""
        supports = self.item_supports[self.item_supports >= threshold]
        return by_squares(len(supports), int(supports.sum()), self._baskets.basket_count)

    def _field(self, size: int, threshold: int) -> Field | None:
        """Where all itemsets of `size` above a threshold are searched; None where there is none of this size."""
        if self._ranking is None and size > 2 and self._baskets.one_basket_each and self._few_items(threshold):
            rests = frequent_rests(self._baskets, self.item_supports, threshold)
            if (field := few_partners_field(rests, size, threshold)) is not None:
                return field
        if (field := self._dense_field(size, threshold)) is not None:
            return field if size <= len(field.where.labels) else None
        ranking = self._ranked(threshold)
        if size > ranking.longest:
            return None
        return field_of(ranking, size, _first(ranking, threshold), len(ranking.supports))

    def _pairs_above(self, threshold: int, affordable: int) -> Itemsets:
        rests = frequent_rests(self._baskets, self.item_supports, threshold)
        return Itemsets(*ordered(*listed_pairs(pair_supports(rests), rests.labels, threshold, affordable)))

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        ranking = self._ranked(support)
        if size > ranking.longest:
            return None
        field = field_of(ranking, size, _first(ranking, support), len(ranking.supports))
        longest = self._crowded(size) if support == 1 else 0
        single = searched(field, new_sink(size, support, highest=support, longest=longest)) if longest else None
        if single is not None and n >= int(single.found[0]):
            return in_a_crowd(field, single, n - int(single.found[0]))
        n = min(n, COUNT_LIMIT - 1)
        sink = new_sink(size, support, highest=support, skip=n, capacity=1, longest=longest)
        found = int(searched(field, sink, stop=n + 1).found[0])
        return sink.itemsets[0].tolist() if found > n else None

    def _listed(self, size: int, threshold: int, affordable: int) -> list[Sink]:
        """The itemsets above a threshold, part by part; TooManyItemsets when there are more than `affordable`."""
        field = self._field(size, threshold)
        nothing = [new_sink(size, threshold)]
        if field is None:
            return nothing
        room, search = min(affordable, _FIRST_ROOM // size + 1), FieldSearch(field, stop=affordable + 1)

        def listed(part: int) -> Sink:
            sink = search.part(part, new_sink(size, threshold, capacity=room))
            if room < (found := int(sink.found[0])) <= affordable:
                return search.part(part, new_sink(size, threshold, capacity=found))
            return sink

        pieces = []
        with closing(search.run(listed, thread_count())) as parts:
            for sink in parts:
                pieces.append(sink)
                if sum(int(piece.found[0]) for piece in pieces) > affordable:
                    raise TooManyItemsets
        return pieces or nothing

    def _counted(self, field: Field | None, size: int, threshold: int, stop: int = COUNT_LIMIT) -> Counter[int]:
        """The histogram of the itemsets in the field with support ≥ `threshold`; of `size` ≥ 2 items.

        A thread that has found `stop` of them goes no further.
        """
        total, alone = np.zeros(self._highest(size) + 1, np.int64), 0
        for sink in [] if field is None else self._sinks(FieldSearch(field, stop=stop), size, threshold, len(total)):
            total += sink.histogram
            alone += sum(crowd.size for crowd in crowds_of(sink))
        return by_support(total) + Counter({1: alone})

    def _crowded(self, size: int) -> int:
        """Items of the longest basket if 64 bits may not hold the number of its itemsets of support 1; else 0.

        Only these can be that many: itemsets of larger support are found one by one.
        """
        longest = int(np.diff(self._baskets.basket_starts).max(initial=0))
        return longest if comb(longest, size) * self._baskets.basket_count >= COUNT_LIMIT else 0

    def _sinks(self, search: FieldSearch, size: int, threshold: int, levels: int) -> list[Sink]:
        """What the threads of a search find."""
        longest = self._crowded(size) if threshold == 1 else 0
        threads = min(thread_count(), search.parts)
        sinks = [new_sink(size, threshold, levels=levels, longest=longest) for _ in range(threads)]
        search.fill(sinks)
        return sinks

    def _ranked(self, threshold: int) -> ItemRanking:
        """A ranking of the items that reach the threshold, and perhaps of others."""
        with self._one_ranking:
            known = self._ranking
            if known is None or known.threshold > threshold:
                lowest = threshold if known is None else 1  # who asks again may well ask on
                known = self._ranking = None  # the memory of the one that is given up is needed for the new one
                known = self._ranking = ranked(self._baskets, self.item_supports, lowest)
            return known

    def _highest(self, size: int) -> int:
        """A support that no itemset of `size` items exceeds: that of the item of this place."""
        place = len(self.item_supports) - size
        return int(np.partition(self.item_supports, place)[place]) if place >= 0 else 0


class BasketsInMemory(Baskets, Transactions):
    """Baskets that are mined where they are."""

    def miner(self) -> Miner:
        """See `Transactions.miner`."""
        return Miner(self)

    def room_for_lists(self, budget: MemoryBudget) -> int:
        """See `Transactions.room_for_lists`: all that the miner leaves."""
        held: int = resident_cost(len(self.items), self.basket_count, self.catalogue_size)
        return max(budget.listing, budget.whole - held)

    def supports_of_items(self) -> NDArray[np.int64]:
        """See `Transactions`."""
        return item_supports(self)

    def baskets_of(self, codes: Sequence[int]) -> Iterable[Baskets]:  # noqa: ARG002 - the protocol's signature
        """See `Transactions.baskets_of`: all of them, as they are."""
        return (self,)


def _first(ranking: ItemRanking, threshold: int) -> int:
    """The lowest rank of an item that reaches the threshold."""
    return int(np.searchsorted(ranking.supports, threshold))


def _joined(sinks: list[Sink]) -> Sequence[NDArray[Any]]:
    """The itemsets and supports of all parts; what the parts held is given back before these are put in order."""
    pieces = [_written(sink) for sink in sinks]
    return pieces[0] if len(pieces) == 1 else list(map(np.concatenate, zip(*pieces, strict=True)))


def _written(sink: Sink) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The itemsets found and their supports; the rest of their room is given back, without a copy."""
    found = int(sink.found[0])
    sink.itemsets.resize((found, sink.itemsets.shape[1]), refcheck=False)
    sink.supports.resize(found, refcheck=False)
    return sink.itemsets, sink.supports


def _affordable(size: int, memory_limit: int | None) -> int:
    """How many itemsets of `size` items may be listed."""
    limit = parse_memory(None) if memory_limit is None else memory_limit
    return min(limit // listing_cost(size), COUNT_LIMIT - 1)


_KEY_BITS = 63
_number_codes, _packed = kernel("number_codes"), kernel("packed")
_sorted, _unpacked = kernel("sorted"), kernel("unpacked")


def ordered(items: NDArray[np.int32], supports: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows of `items` (codes increasing in each) and their supports ≥ 0 in order; both are written over.

    Where it fits, each itemset becomes one number and these are sorted: ten times faster than to find an order and to
    apply it.
    """
    if len(supports) == 0:  # of any width, even absurd ones
        return items, supports
    room = int(items.max()) + 1
    present, numbers = np.empty(room, np.int32), np.zeros(room, np.int64)
    present = present[: _number_codes(items, present, numbers)]
    size, largest, bits = items.shape[1], int(supports.max()), max(1, (len(present) - 1).bit_length())
    key_bits = largest.bit_length() + size * bits
    if key_bits > _KEY_BITS:
        order = np.lexsort((*items.T[::-1], -supports))
        return items[order], supports[order]
    keys, spare = largest - supports, supports
    _packed(items, size, numbers, bits, keys)
    keys = spare if _sorted(keys, spare, key_bits) else keys
    _unpacked(keys, size, present, bits, items)
    keys >>= size * bits
    return items, np.subtract(largest, keys, out=keys)
