"""The pairs of the most frequent items of baskets in partitions: all counted at once, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.counting.field import add_pairs, levels_of_pairs, listed_pairs
from dpmine.itemsets.counting.miner import ordered
from dpmine.itemsets.counting.rows import frequent_rests
from dpmine.itemsets.transactions.interface import COUNT_LIMIT
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.itemsets.transactions.memory import LARGEST_SQUARE, listing_cost

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.interface import Baskets

_MOST_UNITS = (1 << 31) - 1  # that a counter of 32 bits can count


@dataclass(frozen=True, eq=False)
class PairSquare:
    """The supports of the pairs of some items.

    Attributes:
        codes: int32[m], those of the items, increasing.
        counts: int32[m, m], at [earlier item, later item] the support of the pair.
    """

    codes: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, parts: Iterator[Baskets], supports: NDArray[np.int64], threshold: int) -> PairSquare:
        """Of the items with a support ≥ `threshold`; `supports` are those of all. Takes one pass over the parts."""
        codes = np.flatnonzero(supports >= threshold).astype(np.int32)
        counts = np.zeros((len(codes), len(codes)), np.int32)
        last: NDArray[np.int32] | None = None
        seen = 0
        for part in parts:
            rests = frequent_rests(part, supports, threshold)
            if part.one_basket_each:
                add_pairs(rests, (0, len(rests.units)), counts)
            else:
                last = np.full_like(counts, -1) if last is None else last
                numbered_on = rests._replace(units=rests.units + np.int32(seen))
                add_pairs(numbered_on, (0, len(rests.units)), counts, last)
            seen += part.unit_count
        return cls(codes, counts)

    def histogram(self, threshold: int) -> Counter[int]:
        """How many pairs have each support ≥ `threshold`."""
        return levels_of_pairs(self.counts, threshold, int(self.counts.max(initial=0)))

    def itemsets(self, threshold: int, limit: int) -> Itemsets:
        """See `SupportSource`."""
        return Itemsets(*ordered(*listed_pairs(self.counts, self.codes, threshold, limit // listing_cost(2))))

    def nth(self, support: int, n: int) -> list[int] | None:
        """Pair number n of those with this support, as codes; None where there are not more than `n`."""
        cells = np.flatnonzero(self.counts == support)
        if n >= len(cells):
            return None
        found: list[int] = self.codes[list(divmod(int(cells[n]), len(self.codes)))].tolist()
        return found


def least_support(ranked_supports: NDArray[np.int64], units: int) -> int:
    """The lowest threshold whose items' pairs fit into a square of counts; the supports, never decreasing, of items."""
    if units > _MOST_UNITS:
        return COUNT_LIMIT
    others = len(ranked_supports) - isqrt(LARGEST_SQUARE)
    return int(ranked_supports[others - 1]) + 1 if others > 0 else 1
