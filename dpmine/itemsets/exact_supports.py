"""Exact supports of all frequent itemsets. NOT private: for checks, comparisons and public data."""

from __future__ import annotations

import gc
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import as_texts, integer_array, is_integer, items_of
from dpmine.io.source import ColumnNames, Columns
from dpmine.itemsets.transactions.base import Engine
from dpmine.itemsets.universe import Sizes, parse_sizes
from dpmine.parameters import Number, count_or_share, least_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.base import Itemsets


def itemset_supports(
    data: Any,
    *,
    size: Sizes = 2,
    min_support: Number = 1,
    as_fraction: bool = False,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | None = None,
    one_hot: bool = False,
    catalogue: Any = None,
    memory: int | str | None = None,
    engine: str = Engine.LOCAL,
) -> pd.DataFrame:
    """The exact supports of all itemsets with at least `min_support`. NOT private.

    `data`, `size`, `unit`, `basket`, `item`, `items`, `one_hot`, `catalogue`, `memory` and `engine` are those
    of `top_itemset`.
    `min_support` is a count of units: an integer, or text such as "100". Any other number is a share of the units:
    0.01, "1.0", "1/3", "2%". Shares are compared as floats, so 5 of 6 units reach 5/6. With `as_fraction`, supports are
    shares of the units instead of counts. A lift computed from them needs units with one basket each: see
    `TopItemsets.rules`.

    Returns a frame with the columns support and itemsets (frozensets), by decreasing support, then by items.
    Raises BadParameter, BadData or UnreadableFile.

    Example:
        >>> import dpmine
        >>> dpmine.itemset_supports([["a", "b"], ["a", "b", "c"], ["a"]], size=2).support.tolist()
        [2, 1, 1]

    See Also:
        top_itemsets: the best itemsets, chosen with differential privacy.
    """
    return list_supports(**locals()).frame()  # nothing but the arguments is local yet


@dataclass(frozen=True, eq=False)
class ListedSupports:
    """Itemsets of several sizes, by decreasing support, then by size and items.

    Attributes:
        parts: those of each size.
        order: int64[k], the places of the itemsets in the parts, one part after the other.
        supports: int64[k], counts of units; or float64[k], shares of the units.
        labels: of the items.
    """

    parts: list[Itemsets]
    order: NDArray[np.int64]
    supports: NDArray[Any]
    labels: Any

    def frame(self) -> pd.DataFrame:
        """A frame with the columns support and itemsets (frozensets)."""
        import pandas as pd

        return pd.DataFrame({"support": self.supports, "itemsets": pd.Series(self.frozensets(), dtype="object")})

    def table(self) -> Any:
        """An Arrow table with the columns items (lists, sorted) and support, a count; nothing is a Python object."""
        return pa.table({"items": self.lists(), "support": integer_array(self.supports)})

    def frozensets(self) -> list[frozenset[Any]]:
        """The itemsets as Python objects."""
        sets = frozensets(self.parts, items_of(self.labels))
        return [sets[place] for place in self.order.tolist()] if len(self.parts) > 1 else sets

    def lists(self) -> Any:
        """The itemsets as an Arrow array of lists."""
        lengths = np.concatenate([np.full(len(part), part.items.shape[1]) for part in self.parts])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        codes = np.concatenate([part.items.ravel() for part in self.parts], dtype=np.int64)
        # Labels that may be repeated without limit: integers, or texts with offsets of 64 bits.
        wide = self.labels if is_integer(self.labels.type) else as_texts(self.labels)
        items = wide.take(integer_array(codes))
        lists = pa.LargeListArray.from_arrays(integer_array(offsets), items)
        return lists.take(integer_array(self.order)) if len(self.parts) > 1 else lists


def list_supports(
    data: Any,
    *,
    size: Sizes,
    min_support: Number,
    as_fraction: bool = False,
    catalogue: Any = None,
    memory: int | str | None = None,
    engine: str = Engine.LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
    **columns: Any,
) -> ListedSupports:
    """What `itemset_supports` returns, before it becomes a frame or a table; `columns` as for `Columns.of`."""
    from dpmine.itemsets.ingest.catalogue import read_catalogue
    from dpmine.itemsets.read import notice_layout, read_transactions
    from dpmine.itemsets.transactions.memory import MemoryBudget

    named = Columns.of(**columns)
    low, high = parse_sizes(size)
    limit = count_or_share("min_support", min_support)
    budget = MemoryBudget.of(memory)
    read = read_transactions(
        data,
        named,
        catalogue=None if catalogue is None else read_catalogue(catalogue),
        progress=progress,
        memory=budget,
        planned=lambda plan: notice_layout(plan, notice),
        engine=engine,
    )
    with closing(read):
        baskets = read.transactions
        threshold = limit if isinstance(limit, int) else max(1, least_count(limit, baskets.total_units))
        largest = max(low, min(high, baskets.catalogue_size))  # one size at least, so that there are columns
        miner = baskets.miner()
        parts = [miner.itemsets(number, threshold, memory_limit=budget.listing) for number in range(low, largest + 1)]
        supports = np.concatenate([part.supports for part in parts])
        order = np.argsort(-supports, kind="stable")
        shown = supports[order] / baskets.total_units if as_fraction else supports[order]
        return ListedSupports(parts, order, shown, baskets.labels)


def frozensets(parts: list[Itemsets], names: list[Any]) -> list[frozenset[Any]]:
    """The itemsets as Python objects, one part after the other; names[c] stands for code c."""
    known = np.empty(len(names), object)
    known[:] = names
    with _collector_at_rest():
        columns = [[known[codes].tolist() for codes in part.items.T] for part in parts]
        return [itemset for part in columns for itemset in map(frozenset, zip(*part, strict=True))]


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """No search for garbage while many small objects are made: it takes four times as long as making them."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
