"""Data of any kind -> baskets in memory, whatever they take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dpmine
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    import pyarrow as pa

    from dpmine.io.source import Columns, Progress
    from dpmine.itemsets.ingest.layouts import Layout, LayoutPlan

_ROOM = 2**62
ENDLESS = MemoryBudget(*[_ROOM] * 8)
IN_CHUNKS = replace(ENDLESS, whole=0, chunk=6000, gathered=0)
"""Nothing is read at once, but all items fit into one miner."""


def exact_supports(data: Any, size: int | str = 1, **options: Any) -> dict[frozenset[Any], int]:
    """The supports of `itemset_supports`, by itemset."""
    found = dpmine.itemset_supports(data, size=size, **options)
    return dict(zip(found["itemsets"], found["support"].tolist(), strict=True))


@dataclass(frozen=True)
class Ingested:
    """What was read: the baskets, how the data held them, and one line on that for the user."""

    baskets: BasketsInMemory
    layout: Layout
    description: str


def read_baskets(
    data: Any, columns: Columns, *, catalogue: pa.Array | None = None, progress: Progress | None = None
) -> Ingested:
    """As `read_transactions`, without a limit of memory."""
    plans: list[LayoutPlan] = []
    read = read_transactions(
        data, columns, catalogue=catalogue, progress=progress, memory=ENDLESS, before_rows=plans.append
    )
    assert isinstance(read.transactions, BasketsInMemory)
    return Ingested(read.transactions, plans[0].layout, plans[0].description)
