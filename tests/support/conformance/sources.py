"""What every source of supports must answer, whatever counts: against the definition, in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pyarrow as pa

from dpmine.io.source import Columns

Row = tuple[int | None, int | None, int | None]
"""Unit, basket, item."""
Supports = Counter[tuple[int, ...]]

COLUMNS = Columns(unit=("u",), basket=("b",), item="i")


def table_of(rows: list[Row]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return pa.table({name: pa.array(values, pa.int64()) for name, values in zip("ubi", columns, strict=True)})


def brute_force(rows: list[Row], size: int) -> Supports:
    """Straight from the definition."""
    units: dict[int, dict[int, set[int]]] = {}
    for unit, basket, item in rows:
        if unit is not None and basket is not None and item is not None:
            units.setdefault(unit, {}).setdefault(basket, set()).add(item)
    supports: Supports = Counter()
    for baskets in units.values():
        supports.update({found for basket in baskets.values() for found in combinations(sorted(basket), size)})
    return supports


def check(miner: Any, labels: list[int], rows: list[Row]) -> None:
    for size in (1, 2, 3, 4):
        truth = brute_force(rows, size)
        for threshold in (1, 2, 4):
            frequent = {itemset: support for itemset, support in truth.items() if support >= threshold}
            found = miner.itemsets(size, threshold)
            named = [tuple(sorted(labels[code] for code in codes)) for codes in found.items.tolist()]
            assert dict(zip(named, found.supports.tolist(), strict=True)) == frequent
            assert miner.histogram(size, threshold) == Counter(frequent.values())
        for itemset in [*truth][:3]:
            assert miner.support([labels.index(item) for item in itemset]) == truth[itemset]
