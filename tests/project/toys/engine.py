"""An engine that counts by the definition, in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dpmine.io.open import open_source
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.ingest.layouts import plan_layout
from dpmine.itemsets.ingest.lines import declared, read_whole
from dpmine.itemsets.transactions.interface import LoadedTransactions, SupportSource
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from dpmine.io.source import Columns, Progress
    from dpmine.io.unfit import CountedUnfit
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.transactions.interface import Baskets


class ToyMiner(SupportSource):
    """Lists all itemsets of every basket."""

    resident_threshold = 1

    def __init__(self, baskets: Baskets) -> None:
        numbers, starts = baskets.unit_numbers().tolist(), baskets.basket_starts[1:-1]
        self._rows = list(zip(numbers, np.split(baskets.items, starts), strict=True)) if numbers else []
        supports = self._supports(1)
        self.item_supports = np.array([supports[code,] for code in range(baskets.catalogue_size)], np.int64)

    def _supports(self, size: int) -> Counter[tuple[int, ...]]:
        held = {(unit, found) for unit, row in self._rows for found in combinations(row.tolist(), size)}
        return Counter(found for _, found in held)

    def _above(self, size: int, threshold: int) -> list[tuple[tuple[int, ...], int]]:
        found = [(codes, support) for codes, support in self._supports(size).items() if support >= threshold]
        return sorted(found, key=lambda each: (-each[1], each[0]))

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        found = self._above(size, threshold)
        items = np.array([codes for codes, _ in found], np.int32).reshape(-1, size)
        return Itemsets(items, np.array([support for _, support in found], np.int64))

    def _histogram(self, size: int, threshold: int) -> Counter[int]:
        return Counter(support for _, support in self._above(size, threshold))

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        found = [codes for codes, counted in self._above(size, support) if counted == support]
        return found[n] if n < len(found) else None

    def _support(self, codes: NDArray[np.int32]) -> int:
        return self._supports(len(codes))[tuple(codes.tolist())]


class ToyBaskets(BasketsInMemory):
    """Baskets in memory that the toy counts."""

    def miner(self) -> ToyMiner:  # type: ignore[override]
        """See `Transactions.miner`."""
        return ToyMiner(self)


def read_toy(
    data: object,
    columns: Columns,
    *,
    catalogue: pa.Array | None,
    progress: Progress | None,
    memory: int | str | MemoryBudget | None,  # noqa: ARG001 - it has no limit
    before_rows: Callable[[LayoutPlan], None] | None,
    exact: CountedUnfit | None,  # noqa: ARG001 - it reads no text
) -> LoadedTransactions:
    """The reader of this engine: see `itemsets.read.Reader`."""
    source = open_source(data, columns)
    plan = plan_layout(source, columns)
    known, kind = declared(catalogue, source, plan)
    if before_rows is not None:
        before_rows(plan)
    limit = MemoryBudget.of(None).whole
    baskets = read_whole(source, plan, catalogue=known, limit=limit, progress=progress or (lambda _: None))
    return LoadedTransactions(ToyBaskets(**vars(baskets)), kind, bool(plan.basket_columns))
