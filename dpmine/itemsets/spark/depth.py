"""How deep a search on the cluster goes: numbers alone, nothing of Spark.

Items are ranked by decreasing support (ties by code), so the items above a threshold are the first ranks. An itemset
belongs to its rarest item; `work[k]` is how many occurrences of itemsets belong to the item of rank k, so that the work
of any range of ranks is known before it is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STORED_DEEPER = 8  # by which the stored baskets go below the first threshold asked for: another pass is dear
_SMALL = 20_000_000  # occurrences of items that are stored whole, whatever is asked
_TIMES_THE_WORK = 2  # from the second search on as much again as was asked for is counted ahead, for what follows
_TIMES_THE_STORE = 2  # what counting ahead may cost, in occurrences a stored occurrence: about a scan of the store
_FREE = 10_000_000  # occurrences that are counted ahead in any case: they take about as long as a job takes to start


@dataclass(frozen=True, eq=False)
class Ranks:
    """The items by decreasing support.

    Attributes:
        codes: int64[K], the code of each rank; only items that somebody bought.
        supports: int64[K], not increasing.
    """

    codes: NDArray[np.int64]
    supports: NDArray[np.int64]

    @classmethod
    def of(cls, item_supports: NDArray[np.int64]) -> Ranks:
        """Ties by code."""
        order = np.argsort(-item_supports, kind="stable")
        order = order[: np.count_nonzero(item_supports)]
        return cls(order.astype(np.int64), item_supports[order])

    def above(self, threshold: int) -> int:
        """How many items have support ≥ `threshold`."""
        return int(np.searchsorted(-self.supports, -threshold, side="right"))

    def threshold(self, rank: int) -> int:
        """The lowest threshold at which only items of lower ranks than `rank` matter."""
        return int(self.supports[rank]) + 1 if rank < len(self.supports) else 1


def stored_threshold(ranks: Ranks, threshold: int) -> int:
    """The threshold down to which baskets are stored for a search at `threshold`."""
    if int(ranks.supports.sum()) <= _SMALL:
        return 1
    return max(1, threshold // _STORED_DEEPER)


def depth(ranks: Ranks, work: NDArray[np.float64], *, stored: int, known: int, asked: int) -> int:
    """The threshold ≤ `asked` down to which to count, where everything ≥ `known` was counted before.

    `work` is that of the ranks that are stored, `stored` their number of occurrences. Deeper than asked where that is
    nearly free; from the second search on more so, because who asks again may well ask on.
    """
    first, needed = ranks.above(known), ranks.above(asked)
    done = np.concatenate([np.zeros(1), np.cumsum(work)])
    ahead = _TIMES_THE_WORK if first else 1
    budget = max(ahead * (done[needed] - done[first]), _TIMES_THE_STORE * stored, _FREE)
    furthest = int(np.searchsorted(done, done[first] + budget, side="right")) - 1
    return min(asked, ranks.threshold(max(furthest, needed)))
