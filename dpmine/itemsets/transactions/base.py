"""What selection needs to know about the data, whatever engine holds them: transactions, and supports in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

COUNT_LIMIT = 1 << 61
"""Numbers of itemsets stop growing here, far from the end of int64; a number that reached it is not exact."""
NOT_CUT_BY_SPARK = (
    "max_items_per_unit is not for engine 'spark': count with engine 'local', or take a mechanism that needs no cut."
)


class Engine(StrEnum):
    """What counts supports."""

    LOCAL = "local"
    """This process, out of core where the data do not fit into memory."""
    SPARK = "spark"
    """A Spark cluster; this process selects."""


class Transactions(ABC):
    """The baskets of privacy units, in memory, in partitions, or on a cluster.

    Attributes:
        labels: Arrow array (int64 or string), one entry an item of the catalogue, strictly increasing; an item's
            code is its position here. Items of a given catalogue that no basket holds are included.
        unit: what the privacy unit is called in the guarantee ("customer"; "row" when no unit was named).
    """

    labels: Any
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

    @abstractmethod
    def truncated(self, max_items_per_unit: int) -> Transactions:
        """These transactions with at most `max_items_per_unit` ≥ 1 distinct items of each unit, over all its baskets.

        A unit keeps the items that most of its baskets hold; ties are broken by a hash of the unit's items, so that no
        item is favoured by its name. Both depend on the unit's own data alone, so neighbouring data sets stay
        neighbours. Baskets left empty are dropped; a unit keeps at least one. BadParameter where the engine cannot.
        """

    @abstractmethod
    def projected(self, codes: Sequence[int]) -> Transactions:
        """These transactions with only the items `codes`, increasing; item number i of the new catalogue is codes[i].

        The support of an itemset of these items stays what it was.
        """

    def close(self) -> None:  # noqa: B027 - an engine that keeps nothing elsewhere has nothing to do
        """Nothing need be kept for these transactions any more."""


@dataclass(frozen=True, eq=False)
class Read:
    """What was read.

    Attributes:
        transactions: of any engine; close what was read in the end.
        item_type: Arrow type of the items as the catalogue or the columns declare it; None where Python values have
            none.
    """

    transactions: Transactions
    item_type: Any

    def close(self) -> None:
        """Nothing need be kept of what was read any more."""
        self.transactions.close()


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


@dataclass(frozen=True, eq=False)
class SupportHistogram:
    """How many itemsets have each support.

    Attributes:
        supports: int64[m], strictly decreasing.
        counts: at least 1 each; int64[m], or Python's integers where one does not fit.
    """

    supports: NDArray[np.int64]
    counts: NDArray[Any]

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> SupportHistogram:
        """Of counts[s] > 0 itemsets with support s."""
        supports = sorted(counts, reverse=True)
        numbers = [counts[support] for support in supports]
        kind = np.int64 if max(numbers, default=0) < COUNT_LIMIT else object
        return cls(np.array(supports, np.int64), np.array(numbers, kind))

    def to_dict(self) -> dict[int, int]:
        """The number of itemsets by support."""
        return dict(zip(self.supports.tolist(), self.counts.tolist(), strict=True))


class SupportSource(Protocol):
    """Exact supports of itemsets, wherever the baskets are; its methods are those of `Miner`."""

    item_supports: NDArray[np.int64]

    @property
    def resident_threshold(self) -> int:
        """The lowest threshold ≥ 1 at which a search takes no pass over the data."""

    def itemsets(self, size: int, threshold: int, *, memory_limit: int | None = None) -> Itemsets:
        """All itemsets of `size` items with support ≥ `threshold` ≥ 1."""

    def histogram(self, size: int, threshold: int) -> SupportHistogram:
        """How many itemsets of `size` items have each support ≥ `threshold` ≥ 1."""

    def nth(self, size: int, support: int, n: int) -> tuple[int, ...]:
        """Itemset number `n` among those of `size` items with exactly this support."""

    def support(self, itemset: Sequence[int]) -> int:
        """The support of one itemset."""
