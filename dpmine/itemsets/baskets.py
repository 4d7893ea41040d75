"""Baskets: transactions of privacy units in compressed arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Baskets:
    """The items of the baskets of the privacy units, in compressed sparse rows.

    Attributes:
        labels: Arrow array (int64 or string), one entry an item of the catalogue, strictly increasing; an item's
            code is its position here. Items of a given catalogue that nobody bought are included.
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
        """N, the number of items, bought or not."""
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
        """Number of privacy units, including those whose baskets are all empty: the denominator of shares. Private."""
        return self.unit_count + self.empty_units

    @property
    def one_basket_each(self) -> bool:
        """Whether every unit owns exactly one basket, so that supports are plain basket counts."""
        return self.basket_count == self.unit_count

    def keeping(self, kept: NDArray[np.bool_]) -> Baskets:
        """Only the occurrences (one entry each) that are kept; baskets and units left empty are dropped."""
        basket_of = np.repeat(np.arange(self.basket_count), np.diff(self.basket_starts))
        sizes = np.bincount(basket_of[kept], minlength=self.basket_count)
        alive = sizes > 0
        baskets_left = np.bincount(self.unit_of_basket[alive], minlength=self.unit_count)
        owned = baskets_left[baskets_left > 0]
        lost = self.unit_count - len(owned)
        starts = starts_of(sizes[alive]), starts_of(owned)
        return Baskets(self.labels, self.items[kept], *starts, self.unit, self.empty_units + lost)

    @property
    def unit_of_basket(self) -> NDArray[np.int64]:
        """int64[baskets]."""
        return np.repeat(np.arange(self.unit_count), np.diff(self.unit_starts))


def starts_of(*lengths: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
    """Where stretches of these lengths start, one behind the other, and where the last one ends."""
    starts = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, np.zeros(0, np.int32)]), out=starts[1:])
    return starts
