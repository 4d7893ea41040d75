"""Baskets: transactions of privacy units in compressed arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Baskets:
    """The items of the baskets of the privacy units, in compressed sparse rows.

    Attributes:
        labels: Arrow array (int64 or string), one entry an item of the catalogue, strictly increasing; an item's
            code is its position here. Items of a given catalogue that no basket holds are included.
        items: item codes basket after basket, strictly increasing inside a basket, no duplicates.
        basket_starts: int64[baskets + 1]; basket b holds items[basket_starts[b] : basket_starts[b + 1]], never empty.
        unit_starts: int64[units + 1]; unit u owns the baskets unit_starts[u] … unit_starts[u + 1] − 1, at least one.
        unit: what the privacy unit is called in the guarantee ("customer"; "row" when no unit was named).
        empty_units: number of further units, whose baskets are all empty. Private.
    """

    labels: Any
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
        baskets_left = np.bincount(self.unit_of_basket[alive], minlength=self.unit_count)
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
        return replace(left, labels=self.labels.take(old.tolist()), items=new_code[left.items])

    def truncated(self, max_items_per_unit: int) -> Self:
        """See `Transactions.truncated`."""
        unit_of = np.repeat(self.unit_of_basket, np.diff(self.basket_starts))
        return self.keeping(_kept(unit_of, self.items, _hashes(self.labels), max_items_per_unit))

    @property
    def unit_of_basket(self) -> NDArray[np.int64]:
        """int64[baskets]."""
        return np.repeat(np.arange(self.unit_count), np.diff(self.unit_starts))


def starts_of(*lengths: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
    """Where stretches of these lengths start, one behind the other, and where the last one ends."""
    starts = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, np.zeros(0, np.int32)]), out=starts[1:])
    return starts


def _kept(
    units: np.ndarray[tuple[int], np.dtype[np.int64]],
    items: np.ndarray[tuple[int], np.dtype[np.int32]],
    hashes: np.ndarray[tuple[int], np.dtype[np.uint64]],
    limit: int,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which occurrences survive: those whose item is among the unit's `limit` most frequent ones."""
    catalogue = max(1, len(hashes))
    pairs, pair_of, frequency = np.unique(units * catalogue + items, return_inverse=True, return_counts=True)
    owners = pairs // catalogue
    order = np.lexsort((_lots(owners, hashes[pairs % catalogue]), -frequency, owners))
    first = np.searchsorted(owners, owners[order])  # owners are sorted, and so is owners[order]
    place = np.empty(len(pairs), np.int64)
    place[order] = np.arange(len(pairs)) - first
    return (place < limit)[pair_of]


def _lots(
    owners: np.ndarray[tuple[int], np.dtype[np.int64]], hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A number for every item of every unit, scrambled by the sum of the unit's hashes (Steele et al. 2014, mix64)."""
    sums = np.zeros(int(owners.max(initial=-1)) + 1, np.uint64)
    np.add.at(sums, owners, hashes)
    lots = sums[owners] ^ hashes
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        lots = (lots ^ (lots >> np.uint64(shift))) * np.uint64(factor)
    return lots ^ (lots >> np.uint64(31))


def _hashes(labels: Any) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A public 64-bit hash of every label."""
    digests = (blake2b(str(label).encode(), digest_size=8).digest() for label in labels.to_pylist())
    return np.frombuffer(b"".join(digests), np.uint64)
