"""Transactions of any size: in memory where they fit into the limit, else in partitions of whole units, or on Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import BadParameter
from dpmine.itemsets.outofcore.census import Counter, same_codes
from dpmine.itemsets.spark.baskets import SparkBaskets
from dpmine.itemsets.transactions.baskets import Baskets, projected, truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from dpmine.itemsets.outofcore.census import Census
    from dpmine.itemsets.transactions.memory import Budget


NOT_CUT_BY_SPARK = (
    "max_items_per_unit is not for engine 'spark': count with engine 'local', or take a mechanism that needs no cut."
)


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
    def total_units(self) -> int:
        """Number of privacy units. Private."""
        return self.census.units


Transactions: TypeAlias = Baskets | PartitionedBaskets | SparkBaskets


def shortened(transactions: Transactions, max_items_per_unit: int) -> Transactions:
    """What `truncated` makes of the baskets. Raises BadParameter for baskets on Spark."""
    if isinstance(transactions, SparkBaskets):
        raise BadParameter(NOT_CUT_BY_SPARK)
    if isinstance(transactions, Baskets):
        return truncated(transactions, max_items_per_unit)
    return _changed(transactions, lambda part: truncated(part, max_items_per_unit), transactions.labels)


def among(transactions: Transactions, codes: Sequence[int]) -> Transactions:
    """What `projected` makes of the baskets."""
    if isinstance(transactions, SparkBaskets):
        return transactions.among(codes)
    if isinstance(transactions, Baskets):
        return projected(transactions, codes)
    labels = transactions.labels.take(list(codes))
    return _changed(transactions, lambda part: projected(part, codes), labels)


def _changed(baskets: PartitionedBaskets, change: Callable[[Baskets], Baskets], labels: pa.Array) -> PartitionedBaskets:
    """Every partition changed, unit by unit, each time it is read; takes one pass."""
    whole, counter = baskets.parts, Counter()

    def parts() -> Iterator[Baskets]:
        return (change(part) for part in whole())

    for part in parts():
        counter.add(part)
    return replace(baskets, labels=labels, parts=parts, census=counter.census(same_codes(len(labels))))
