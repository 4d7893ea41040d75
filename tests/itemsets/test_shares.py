"""Shares of the units: baskets without items count, as mlxtend counts rows; rows with nulls do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cases import every

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.outofcore.read import PartitionedBaskets
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

PLENTY = 10_000_000
TINY = MemoryBudget(
    whole=0, chunk=3000, labels=PLENTY, gathered=0, all_resident=0, resident=2500, projection=3000, listing=PLENTY
)
LISTS = [["a"], [], None, [None], ["b", "a"]]
NULLS = {"user": [1, 1, 2, 3, None, 4], "receipt": [1, 1, 1, None, 1, 2], "item": ["a", "b", None, "a", "a", "b"]}


def shares(data: Any, **options: Any) -> dict[frozenset[Any], float]:
    frame = dpmine.itemset_supports(data, size=1, as_fraction=True, **options)
    return dict(zip(frame["itemsets"], frame["support"], strict=True))


def test_baskets_without_items_count_in_shares() -> None:
    assert shares([["a"], [], [], []]) == {frozenset("a"): 0.25}
    assert shares([["a"], [], [], []], min_support=0.5) == {}


def test_shares_are_those_of_mlxtend() -> None:
    fpgrowth = pytest.importorskip("mlxtend.frequent_patterns").fpgrowth
    generator = np.random.default_rng(5)
    for _ in range(300):
        rows, columns, rate = generator.integers(1, 12), generator.integers(1, 5), generator.uniform(0.05, 0.7)
        frame = pd.DataFrame(generator.random((rows, columns)) < rate, columns=list("abcde")[:columns])
        least = float(generator.choice([0.1, 0.25, 0.5, 1.0]))
        theirs = fpgrowth(frame, min_support=least, use_colnames=True)
        ours = dpmine.itemset_supports(frame, size=f"1-{columns}", min_support=least, as_fraction=True)
        expected = dict(zip(theirs["itemsets"], theirs["support"], strict=True))
        assert dict(zip(ours["itemsets"], ours["support"], strict=True)) == expected


@every(
    ("data", "columns", "units"),
    [
        (pa.table({"l": LISTS}), Columns(items="l"), 4),
        (pa.table({"u": [1, 2, 2, None, 1], "l": LISTS}), Columns(unit=("u",), items="l"), 2),
        (pa.table({"u": [1, 2, 3, 4, 5], "l": LISTS}), Columns(unit=("u",), items="l"), 4),
        (pa.table({"a": [True, False, None], "b": [True, False, False]}), Columns(), 3),
        (pa.table({"a": [7, 0, None], "b": [0, 0, 1]}), Columns(one_hot=True), 3),
        (pa.table({"user": [1, 1, 2], "a": [False, True, False]}), Columns(unit=("user",)), 2),
        (pa.table(NULLS), Columns(unit=("user",), item="item"), 3),
        (pa.table(NULLS), Columns(unit=("user",), basket=("receipt",), item="item"), 2),
    ],
)
@every("catalogue", [None, pa.array(["a"]), pa.array(["sold by nobody"])])
def test_units_counted_in_memory_and_out_of_core(
    data: pa.Table, columns: Columns, units: int, catalogue: pa.Array | None
) -> None:
    """An item outside the catalogue is none of the list's, and its unit is one of the units all the same."""
    assert read_transactions(data, columns, catalogue=catalogue).transactions.total_units == units
    ways: list[Callable[[], Any]] = [lambda: data, lambda: data.to_reader(max_chunksize=1)]
    for way in ways:
        found = read_transactions(way(), columns, catalogue=catalogue, memory=TINY).transactions
        assert isinstance(found, PartitionedBaskets)
        assert found.total_units == units
        assert sum(part.total_units for part in found.parts()) == units


@every("limit", ["1", 1, 1.0, "1.0", 10**30, "0.5"])
def test_min_support_of_any_form_is_compared_exactly(limit: Any) -> None:
    counts = dpmine.itemset_supports([["a", "b"], ["a"], []], size=1, min_support=limit)
    least = {"1": 1, 1: 1, 10**30: 4, "0.5": 2}.get(limit, 3) if not isinstance(limit, float) else 3
    assert counts["support"].tolist() == [support for support in (2, 1) if support >= least]


@every("limit", [0, -1, 1.5, "0", "²", "1e400", "nan"])
def test_min_support_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(dpmine.BadParameter, match="min_support"):
        dpmine.itemset_supports([["a"]], size=1, min_support=limit)
