"""Supports by the definition, in plain Python: nothing here is shared with the code under test."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.counting.miner import BasketsInMemory
from dpmine.itemsets.transactions.interface import Transactions
from dpmine.itemsets.ways.universe import ItemsetUniverse
from support.datasets import shared_path

Units = Sequence[Sequence[Iterable[int]]]
"""For each unit its baskets, each a set of item codes."""


def baskets_of(units: Units, catalogue: int | None = None) -> BasketsInMemory:
    """The compressed form; empty baskets and units without baskets are left out, as ingestion leaves them out."""
    kept = [[sorted(set(basket)) for basket in unit if list(basket)] for unit in units]
    kept = [unit for unit in kept if unit]
    flat = [basket for unit in kept for basket in unit]
    size = max((basket[-1] + 1 for basket in flat), default=0) if catalogue is None else catalogue
    return BasketsInMemory(
        labels=pa.array(range(size), pa.int64()),
        items=np.array([code for basket in flat for code in basket], np.int32),
        basket_starts=np.cumsum([0, *map(len, flat)], dtype=np.int64),
        unit_starts=np.cumsum([0, *map(len, kept)], dtype=np.int64),
        unit="customer",
    )


def all_supports(units: Units, size: int) -> Counter[tuple[int, ...]]:
    """The support of every itemset of `size` items that some basket contains."""
    supports: Counter[tuple[int, ...]] = Counter()
    for unit in units:
        supports.update({itemset for basket in unit for itemset in combinations(sorted(set(basket)), size)})
    return supports


def listed(supports: Mapping[tuple[int, ...], int], threshold: int) -> list[tuple[tuple[int, ...], int]]:
    """Itemsets above the threshold by decreasing support, then lexicographically."""
    frequent = [(itemset, support) for itemset, support in supports.items() if support >= threshold]
    return sorted(frequent, key=lambda pair: (-pair[1], pair[0]))


def levels(supports: Mapping[tuple[int, ...], int], threshold: int) -> Counter[int]:
    """The number of itemsets with each support above the threshold."""
    return Counter(support for support in supports.values() if support >= threshold)


def unknown_pairs(baskets: BasketsInMemory) -> ItemsetUniverse:
    """The pairs of items that are not public."""
    return ItemsetUniverse(baskets.miner(), range(2, 3), catalogue_is_public=False, transactions=baskets)


def shared_baskets(name: str) -> BasketsInMemory:
    """A data set of the shared folder, each transaction one unit with one basket."""
    table = pq.read_table(shared_path(f"data/{name}.parquet"))
    labels, codes = np.unique(table["item"].to_numpy(), return_inverse=True)
    rows = np.unique(table["transaction_id"].to_numpy().astype(np.int64) * len(labels) + codes)
    transactions = rows // len(labels)
    starts = np.flatnonzero(np.diff(transactions, prepend=-1, append=-1)).astype(np.int64)
    return BasketsInMemory(
        labels=pa.array(labels),
        items=(rows % len(labels)).astype(np.int32),
        basket_starts=starts,
        unit_starts=np.arange(len(starts), dtype=np.int64),
        unit="row",
    )


def held(transactions: Transactions, codes: Sequence[int]) -> list[tuple[int, ...]]:
    """Of no item, each of these and each pair of them: how many units hold it, alone and where each counts three times.

    With it, how many units may count no more. Out of the baskets that an engine gives.
    """
    holdings = Holdings(transactions.baskets_of(codes), codes)
    capped = holdings.capped(3)
    asked = [chosen for size in range(1, 3) for chosen in combinations(range(len(codes)), size)]
    counts = [(holdings.support(chosen), capped.support(chosen), capped.spent) for chosen in asked]
    return [(holdings.support(()),), *counts]
