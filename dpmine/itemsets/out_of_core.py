"""Transactions of any size: in memory where they fit into the limit, else in partitions of whole units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dpmine.itemsets.baskets import Baskets
from dpmine.itemsets.streaming_items import Counter, same_codes
from dpmine.itemsets.truncation import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from dpmine.itemsets.memory import Budget
    from dpmine.itemsets.streaming_items import Census


@dataclass(frozen=True, eq=False)
class PartitionedBaskets:
    """Baskets in partitions of whole units, each of which fits into memory.

    Attributes:
        labels: as in Baskets.
        unit: as in Baskets.
        parts: gives the partitions, all with these labels, as often as it is called, in the same order. Raises
            UnreadableFile or BadData where the data cannot be read again.
        census: of all partitions.
        budget: of the memory.
    """

    labels: pa.Array
    unit: str
    parts: Callable[[], Iterator[Baskets]]
    census: Census
    budget: Budget

    @property
    def catalogue_size(self) -> int:
        """N, the number of items, bought or not."""
        return len(self.labels)

    @property
    def unit_count(self) -> int:
        """Number of privacy units with at least one basket. Private."""
        return self.census.units


Transactions: TypeAlias = Baskets | PartitionedBaskets


def shortened(transactions: Transactions, max_items_per_unit: int) -> Transactions:
    """What `truncated` makes of the baskets."""
    if isinstance(transactions, Baskets):
        return truncated(transactions, max_items_per_unit)
    whole, counter = transactions.parts, Counter()

    def parts() -> Iterator[Baskets]:
        return (truncated(part, max_items_per_unit) for part in whole())

    for part in parts():
        counter.add(part)
    census = counter.census(same_codes(transactions.catalogue_size))
    return replace(transactions, parts=parts, census=census)
