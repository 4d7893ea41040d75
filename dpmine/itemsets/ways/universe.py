"""The candidates of a run: itemsets of a size (or a range of sizes), of items of a public catalogue or of unknown ones.

As a universe, their supports are mined only as deep as the mechanism asks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.reals import uniform_below, uniform_subset
from dpmine.selection.universes.protocol import MANY_DUMMIES, Level, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.transactions.interface import SupportSource, Transactions
    from dpmine.itemsets.transactions.lists import CodedItemset, Itemsets


_MANY = 100_000
_PLENTY = 1_000_000  # itemsets that are counted in about 10 ms; beyond, none is mined before it is asked for
_LISTED = 40_000  # items of the itemsets that are listed at most, to look up those that are chosen
_DESCENT = 4  # by which the threshold falls until something is found: searches that find nothing are quick


class ItemsetUniverse:
    """All itemsets of the given sizes, scored by their support; a candidate is a `CodedItemset`.

    With a public catalogue the candidates are all its subsets of these sizes, bought or not. Without one, they are
    not known, and dummies take their place.

    Attributes:
        size: Σ C(N, r) over the sizes; None for an unknown universe.
        padding: dummies stand in for a catalogue that is not public.
        least: no support is less.
        several_baskets: whether a unit may have more than one, as the layout says, not the data.
    """

    least = 0

    def __init__(
        self,
        miner: SupportSource,
        sizes: Sequence[int],
        *,
        catalogue_is_public: bool,
        transactions: Transactions | None = None,
        several_baskets: bool = True,
    ) -> None:
        """`sizes`: increasing, each at least 1; with a public catalogue none above its size.

        `transactions` are those that are mined: what chooses items before itemsets needs them.
        """
        self.several_baskets = several_baskets
        self._miner = miner
        self._transactions = transactions
        self._sizes = sizes
        self._items = len(miner.item_supports)
        self._floor: int | None = None
        self._by_size: dict[int, Counter[int]] = {}
        self._levels: list[Level] = []
        self._lists: list[Itemsets] = []
        self._listed_from: int | None = None
        self._members_given = 0
        self._catalogue_is_public = catalogue_is_public
        self._ways = [comb(self._items, size) for size in sizes] if catalogue_is_public else []
        self._total = sum(self._ways)
        self.size = self._total if catalogue_is_public else None
        self.padding = 0 if catalogue_is_public else MANY_DUMMIES

    def of_items(self) -> ItemsetUniverse:
        """The single items of the same catalogue."""
        return ItemsetUniverse(self._miner, range(1, 2), catalogue_is_public=self._catalogue_is_public)

    @property
    def transactions(self) -> Transactions:
        """Those that are mined; LookupError for a universe that was made without them."""
        if self._transactions is None:
            raise LookupError("this universe was made without its transactions")
        return self._transactions

    def among(self, codes: Sequence[int]) -> ItemsetUniverse | None:
        """The itemsets of these sizes and items alone, item i being codes[i]; None where there is no such itemset.

        `codes` are increasing, and public by now: so are all these itemsets.
        """
        sizes = [size for size in self._sizes if size <= len(codes)]
        miner = self.transactions.projected(codes).miner() if sizes else None
        return None if miner is None else ItemsetUniverse(miner, sizes, catalogue_is_public=True)

    def top(self) -> int:
        """The largest support of all; 0 when no itemset of these sizes was ever bought."""
        if self._floor is None:
            self._mine(max(1, self._first_floor()))
        while not self._levels and self._deepest > 1:
            self._deepen(self._next_floor())
        return int(self._levels[0].score) if self._levels else 0

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with support ≥ `floor`; at 0, the itemsets of a public catalogue without any support are last."""
        self._mine(max(1, -int(-floor // 1)))
        levels = [level for level in self._levels if level.score >= floor]
        bought = sum(level.count for level in self._levels)
        never = [Level(0, self._total - bought)] if floor <= 0 and self._total > bought else []
        return [*levels, *never]

    def below(self, floor: Score) -> int:
        """The best support below the floor as far as it is mined; else one less than what is mined or asked."""
        known = next((int(level.score) for level in self._levels if level.score < floor), None)
        if known is not None:
            return known
        asked = -int(-floor // 1)
        return min(asked, self._floor or asked) - 1

    def lower(self, floor: Score) -> int:
        """Half the floor; less of a step once there are many itemsets, because their number grows ever faster.

        Nor is it deeper than what is known, or what can be known by searches that end early.
        """
        many = sum(level.count for level in self._levels) >= _MANY
        lower = int(floor * 7 // 8) if many else int(floor // 2)
        if self._floor is not None and self._floor >= floor > lower >= self._resident:
            self._deepen(lower)
        return max(lower, self._deepest) if self._deepest < floor else lower

    def member(self, level: Level, *, bits: BitSource) -> CodedItemset:
        """A uniform itemset with exactly this support."""
        if level.score == 0:
            return self.tail(1, bits=bits)[0]
        number = uniform_below(level.count, bits=bits)
        if self._is_listed(int(level.score)):
            return self._from_list(int(level.score), number)
        for size in self._sizes:
            count = self._by_size[size][int(level.score)]
            if number < count:
                return self._miner.nth(size, int(level.score), number)
            number -= count
        raise LookupError("no level of that support is known")

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[CodedItemset, int]:
        """A uniform itemset of the catalogue with a support below `floor`."""
        while True:
            itemset = self._any(bits)
            support = self._miner.support(itemset)
            if support < floor:
                return itemset, support

    def _is_listed(self, support: int) -> bool:
        """Whether the level can be looked up in a list, which is made for the second itemset that is asked for.

        The list goes as deep as is known and cheap: a search for each of many itemsets would take longer.
        """
        self._members_given += 1
        if self._listed_from is not None and self._listed_from <= support:
            return True
        if self._members_given == 1:
            return False
        ends = accumulate(level.count for level in self._levels)
        most = _LISTED // self._sizes[-1]
        known = [int(level.score) for level, end in zip(self._levels, ends, strict=True) if end <= most]
        if not known or known[-1] > support:
            return False
        self._lists = [self._miner.itemsets(size, known[-1]) for size in self._sizes]
        self._listed_from = known[-1]
        return True

    def _from_list(self, support: int, number: int) -> CodedItemset:
        """Itemset number `number` of those with this support."""
        for found in self._lists:
            first, end = (int(np.searchsorted(-found.supports, -support, side)) for side in ("left", "right"))
            if number < end - first:
                return tuple(found.items[first + number].tolist())
            number -= end - first
        raise LookupError("no level of that support is known")

    @property
    def _resident(self) -> int:
        """The lowest support down to which a search takes no pass over the data, as things are."""
        return self._miner.resident_threshold

    @property
    def _deepest(self) -> int:
        return self._floor or 1

    def _first_floor(self) -> int:
        """The support of the r-th best item: no itemset of r items can have more."""
        supports = sorted(self._miner.item_supports.tolist(), reverse=True)
        return max((supports[size - 1] for size in self._sizes if size <= len(supports)), default=0)

    def _mine(self, floor: int) -> None:
        """Know all supports ≥ `floor` ≥ 1; from the second time on deeper ones too, because more will be asked for."""
        if self._floor is not None:
            if self._floor <= floor:
                return
            few = sum(level.count for level in self._levels) < _PLENTY
            if floor > self._resident and few and self._count(max(floor // 2, self._resident), _PLENTY):
                return
        self._count(floor)

    def _deepen(self, floor: int) -> None:
        """Find all supports ≥ `floor`; if there are too many, only half of the way there, or a quarter, …."""
        while not self._count(floor, _PLENTY):
            if floor == self._deepest - 1:
                self._count(floor)
                return
            floor = (floor + self._deepest) // 2

    def _count(self, floor: int, most: int | None = None) -> bool:
        """Whether all supports ≥ `floor` are known now: they may stay unknown where they are more than `most`."""
        by_size: dict[int, Counter[int]] = {}
        for size in self._sizes:
            found = self._miner.bounded_histogram(size, floor, most)
            if found is None:
                return False
            by_size[size] = found
        self._floor, self._by_size = floor, by_size
        total: Counter[int] = sum(by_size.values(), Counter())
        self._levels = [Level(support, total[support]) for support in sorted(total, reverse=True)]
        return True

    def _next_floor(self) -> int:
        """Where to look when nothing was found: as deep as takes no pass over the data, if it was not looked there."""
        deeper = self._deepest // _DESCENT
        return max(1, deeper if self._deepest <= self._resident else max(deeper, self._resident))

    def _any(self, bits: BitSource) -> CodedItemset:
        """A uniform itemset out of all: its size with probability ∝ C(N, r), then a uniform subset."""
        ends = list(accumulate(self._ways))
        size = self._sizes[bisect_right(ends, uniform_below(self._total, bits=bits))]
        return tuple(uniform_subset(self._items, size, bits=bits))


def itemset_count(items: int, sizes: tuple[int, int]) -> int:
    """How many itemsets of the sizes can be made of a number of items."""
    return sum(comb(items, size) for size in range(sizes[0], min(sizes[1], items) + 1))
