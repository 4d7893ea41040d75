"""What selection needs to know about the data, whatever engine holds them: transactions, and supports in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array
from dpmine.itemsets.transactions.hashes import kept_items, label_hashes
from dpmine.itemsets.transactions.lists import Itemsets, by_size, taken, with_superset
from dpmine.itemsets.transactions.pairs import pair_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.lists import ItemsetLists, ListRoom
    from dpmine.itemsets.transactions.memory import MemoryBudget


COUNT_LIMIT = 1 << 61
"""Numbers of itemsets stop growing here, far from the end of int64; a number that reached it is not exact."""


class Transactions(ABC):
    """The baskets of privacy units, in memory, in partitions, or on a cluster.

    Attributes:
        labels: Arrow array (int64 or string), one entry an item of the catalogue, strictly increasing; an item's
            code is its position here. Items of a given catalogue that no basket holds are included.
        unit: what the privacy unit is called in the guarantee ("customer"; "row" when no unit was named).
    """

    labels: pa.Array
    unit: str

    @property
    def catalogue_size(self) -> int:
        """N, the number of items, bought or not."""
        return len(self.labels)

    @property
    @abstractmethod
    def total_units(self) -> int:
        """Number of privacy units, including those whose baskets are all empty: the denominator of shares. Private."""

    @abstractmethod
    def miner(self) -> SupportSource:
        """The exact supports of the itemsets in these transactions."""

    def room_for_lists(self, budget: MemoryBudget) -> int:
        """Bytes that lists of itemsets may take beside these transactions and their miner."""
        return budget.listing

    @abstractmethod
    def truncated(self, max_items_per_unit: int) -> Transactions:
        """These transactions with at most `max_items_per_unit` ≥ 1 distinct items of each unit, over all its baskets.

        A unit keeps the items that most of its baskets hold. A hash of the unit's items breaks ties, so that no item is
        favoured by its name. Both depend on the unit's own data alone, so neighbouring data sets stay neighbours.
        Baskets left empty are dropped; a unit keeps at least one. BadParameter where the engine cannot.
        """

    @abstractmethod
    def item_weights(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[N]: for each item the sum of weights[n − 1] over the units that have it; n is how many items one has.

        A unit with more than len(weights) distinct items has those alone that `truncated` leaves it.
        """

    @abstractmethod
    def pair_weights(self, codes: Sequence[int], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[m, m], 0 but above the diagonal: what the pairs of the items `codes`, increasing, get of all units.

        A unit that supports n ≥ 1 pairs of these items gives each weights[n − 1]. Requires: len(weights) = m(m − 1)/2.
        """

    @abstractmethod
    def projected(self, codes: Sequence[int]) -> Transactions:
        """These transactions with only the items `codes`, increasing; item number i of the new catalogue is codes[i].

        The support of an itemset of these items stays what it was.
        """

    @abstractmethod
    def supports_of_items(self) -> NDArray[np.int64]:
        """int64[N]: the support of each item."""

    @abstractmethod
    def baskets_of(self, codes: Sequence[int]) -> Iterable[Baskets]:
        """The baskets, with this catalogue, in parts that share no unit; of no other items than `codes`, if at all."""

    @abstractmethod
    def unions(self) -> Transactions:
        """These transactions with one basket for each unit: the union of its baskets."""

    def close(self) -> None:  # noqa: B027 - an engine that keeps nothing elsewhere has nothing to do
        """Nothing need be kept for these transactions any more."""


@dataclass(frozen=True, eq=False)
class LoadedTransactions:
    """What was read.

    Attributes:
        transactions: of any engine; close what was read in the end.
        item_type: Arrow type of the items as declared by catalogue or columns; None where Python values have none.
        several_baskets: whether the layout lets a unit have more than one basket.
    """

    transactions: Transactions
    item_type: pa.DataType | None
    several_baskets: bool

    def close(self) -> None:
        """Nothing need be kept of what was read any more."""
        self.transactions.close()


class SupportSource(ABC):
    """Exact supports of the itemsets of some transactions, at any size and threshold.

    The support of an itemset is the number of units with at least one basket that contains it. A unit counts once,
    however many baskets it has. Nothing here is private: supports feed the selection, they are not released.

    Attributes:
        item_supports: int64[N], those of single items.
    """

    item_supports: NDArray[np.int64]

    @property
    @abstractmethod
    def resident_threshold(self) -> int:
        """The lowest threshold ≥ 1 at which a search takes no pass over the data."""

    def itemsets(self, size: int, threshold: int, *, memory_limit: int | None = None) -> Itemsets:
        """All itemsets of `size` items with support ≥ `threshold` ≥ 1.

        Raises TooManyItemsets when listing them would take more than `memory_limit` bytes, before taking it; the
        default is a share of the memory.
        """
        threshold = min(threshold, COUNT_LIMIT)
        if size > 1:
            return self._itemsets(size, threshold, memory_limit)
        codes = np.flatnonzero(self.item_supports >= threshold).astype(np.int32)
        codes = codes[np.argsort(-self.item_supports[codes], kind="stable")]
        return Itemsets(codes[:, None], self.item_supports[codes])

    def lists(self, sizes: tuple[int, int], threshold: int, room: ListRoom) -> ItemsetLists:
        """All itemsets of some sizes; raises BadParameter before they take more than there is room for."""
        return by_size(self, sizes, threshold, room)

    def closed(self, sizes: tuple[int, int], threshold: int, room: ListRoom, *, maximal: bool) -> ItemsetLists:
        """The itemsets of some sizes of which no superset has the same support; or if maximal, has the least support.

        Raises BadParameter as `lists` does. What has one item more than the largest size decides about that.
        """
        found = self.lists((sizes[0], sizes[1] + 1), threshold, room)
        is_kept = ~with_superset(found, equal=not maximal) & (found.sizes <= sizes[1])
        return taken(found, np.flatnonzero(is_kept))

    def histogram(self, size: int, threshold: int) -> Counter[int]:
        """How many itemsets of `size` items have each support ≥ `threshold` ≥ 1; none of them is listed.

        The counts are exact, however large. Searches take one int64 for each possible support.
        """
        threshold = min(threshold, COUNT_LIMIT)
        if size > 1:
            return self._histogram(size, threshold)
        return tallied(self.item_supports[self.item_supports >= threshold])

    def bounded_histogram(self, size: int, threshold: int, most: int | None) -> Counter[int] | None:  # noqa: ARG002
        """The histogram; None where more than `most` itemsets were found before it was complete.

        Such a search ends early. Engines that cannot end early find all itemsets. None for `most` is no bound.
        """
        return self.histogram(size, threshold)

    def nth(self, size: int, support: int, n: int) -> tuple[int, ...]:
        """Itemset number `n` = 0, 1, … among those of `size` items whose support is exactly `support` ≥ 1.

        The numbering holds until other questions are asked. Item codes increase. Raises BadParameter when there are not
        more than `n` such itemsets.
        """
        single = np.flatnonzero(self.item_supports == support)[n : n + 1].tolist()
        found = single if size == 1 else self._nth(size, support, n)
        if not found:
            raise BadParameter("n must be smaller than the number of itemsets with that support.")
        return tuple(found)

    def support(self, itemset: Sequence[int]) -> int:
        """The support of one itemset, given as distinct item codes; BadParameter for codes outside the catalogue."""
        codes = distinct_codes(itemset, len(self.item_supports))
        least = int(self.item_supports[codes].min())
        return self._support(codes) if len(codes) > 1 and least else least

    def supports(self, itemsets: Sequence[Sequence[int]]) -> list[int]:
        """The support of each. Engines that go through the data for one go through them together for all."""
        return [self.support(itemset) for itemset in itemsets]

    # The same for itemsets of two items and more.

    @abstractmethod
    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets: ...

    @abstractmethod
    def _histogram(self, size: int, threshold: int) -> Counter[int]: ...

    @abstractmethod
    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        """None where there are not more than `n`."""

    @abstractmethod
    def _support(self, codes: NDArray[np.int32]) -> int:
        """Of increasing codes of items, each with a support above 0."""


def tallied(supports: NDArray[np.int64]) -> Counter[int]:
    """How many itemsets have each support, of the support of each."""
    levels, counts = np.unique(supports, return_counts=True)
    return Counter(dict(zip(levels.tolist(), counts.tolist(), strict=True)))


def reaching(levels: Counter[int], threshold: int) -> Counter[int]:
    """The numbers of itemsets with supports ≥ `threshold`."""
    return Counter({support: count for support, count in levels.items() if support >= threshold})


def distinct_codes(itemset: Sequence[int], catalogue: int) -> NDArray[np.int32]:
    """int32[k]: the codes in increasing order."""
    hint = "An itemset must be one or more distinct item codes of the catalogue."
    try:
        codes = sorted({index(code) for code in itemset})
    except TypeError:
        raise BadParameter(hint) from None
    if not codes or len(codes) < len(itemset) or codes[0] < 0 or codes[-1] >= catalogue:
        raise BadParameter(hint)
    return np.array(codes, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Baskets:
    """The items of the baskets of the privacy units, in compressed sparse rows.

    Attributes:
        labels: as in `Transactions`.
        items: item codes basket after basket, strictly increasing inside a basket, no duplicates.
        basket_starts: int64[baskets + 1]; basket b holds items[basket_starts[b] : basket_starts[b + 1]], never empty.
        unit_starts: int64[units + 1]; unit u owns the baskets unit_starts[u] … unit_starts[u + 1] − 1, at least one.
        unit: what the privacy unit is called in the guarantee ("customer"; "row" when no unit was named).
        empty_units: number of further units, whose baskets are all empty. Private.
    """

    labels: pa.Array
    items: NDArray[np.int32]
    basket_starts: NDArray[np.int64]
    unit_starts: NDArray[np.int64]
    unit: str
    empty_units: int = 0

    @property
    def catalogue_size(self) -> int:
        """See `Transactions`."""
        return len(self.labels)

    @property
    def basket_count(self) -> int:
        """Number of baskets. Private."""
        return len(self.basket_starts) - 1

    @property
    def unit_count(self) -> int:
        """Number of privacy units with at least one basket. Private."""
        return len(self.unit_starts) - 1

    @property
    def total_units(self) -> int:
        """See `Transactions`."""
        return self.unit_count + self.empty_units

    @property
    def one_basket_each(self) -> bool:
        """Whether every unit owns exactly one basket, so that supports are plain basket counts."""
        return self.basket_count == self.unit_count

    def keeping(self, kept: NDArray[np.bool_]) -> Self:
        """Only the occurrences (one entry each) that are kept; baskets and units left empty are dropped."""
        basket_of = np.repeat(np.arange(self.basket_count), np.diff(self.basket_starts))
        sizes = np.bincount(basket_of[kept], minlength=self.basket_count)
        alive = sizes > 0
        baskets_left = np.bincount(self.unit_numbers()[alive], minlength=self.unit_count)
        owned = baskets_left[baskets_left > 0]
        lost = self.unit_count - len(owned)
        return replace(
            self,
            items=self.items[kept],
            basket_starts=starts_of(sizes[alive]),
            unit_starts=starts_of(owned),
            empty_units=self.empty_units + lost,
        )

    def projected(self, codes: Sequence[int]) -> Self:
        """See `Transactions.projected`."""
        old = np.array(codes, np.int32)
        new_code = np.full(self.catalogue_size, -1, np.int32)
        new_code[old] = np.arange(len(old), dtype=np.int32)
        left = self.keeping(new_code[self.items] >= 0)
        return replace(left, labels=self.labels.take(integer_array(old)), items=new_code[left.items])

    def unions(self) -> Self:
        """See `Transactions.unions`."""
        units, items = self._holdings()
        starts = starts_of(np.bincount(units, minlength=self.unit_count))
        one_each = np.arange(self.unit_count + 1)
        return replace(self, items=items.astype(np.int32), basket_starts=starts, unit_starts=one_each)

    def truncated(self, max_items_per_unit: int) -> Self:
        """See `Transactions.truncated`."""
        owners = self._owners()
        large = np.bincount(owners, minlength=self.unit_count)[owners] > max_items_per_unit
        kept = ~large
        if not large.any():
            return self
        hashes = np.zeros(self.catalogue_size, np.int64)
        named = np.unique(self.items[large])
        hashes[named] = label_hashes(self.labels.take(named.tolist()))
        kept[large] = kept_items(owners[large], self.items[large], hashes, max_items_per_unit)
        return self.keeping(kept)

    def item_weights(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions.item_weights`."""
        units, items = self._holdings()
        counts = np.bincount(units, minlength=self.unit_count)
        if counts.max(initial=0) > len(weights):
            return self.truncated(len(weights)).item_weights(weights)
        sums = np.zeros(self.catalogue_size, np.int64)
        np.add.at(sums, items, weights[counts[units] - 1])
        return sums

    def pair_weights(self, codes: Sequence[int], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions.pair_weights`."""
        left = self.projected(codes)
        return pair_weights(
            left.items, left.basket_starts, left.unit_starts, catalogue=left.catalogue_size, weights=weights
        )

    def _holdings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The units and their items, each pair once."""
        units = self._owners()
        if self.one_basket_each:
            return units, self.items.astype(np.int64)
        catalogue = max(1, self.catalogue_size)
        pairs = np.unique(units * catalogue + self.items)
        return pairs // catalogue, pairs % catalogue

    def _owners(self) -> NDArray[np.int64]:
        """The unit of every occurrence."""
        return np.repeat(self.unit_numbers().astype(np.int64), np.diff(self.basket_starts))

    def unit_numbers(self) -> NDArray[np.int32]:
        """int32[baskets]: the unit that owns each basket."""
        units = np.arange(self.unit_count, dtype=np.int32)
        return units if self.one_basket_each else np.repeat(units, np.diff(self.unit_starts))


def starts_of(*lengths: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
    """Where stretches of these lengths start, one behind the other, and where the last one ends."""
    starts = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, np.zeros(0, np.int32)]), out=starts[1:])
    return starts
