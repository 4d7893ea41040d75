"""Supports against mlxtend, itemset by itemset, on real data."""

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import fpgrowth
from support.oracles.itemsets import shared_baskets

from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.interface import Baskets


def by_mlxtend(baskets: Baskets, largest_size: int, threshold: int) -> dict[frozenset[int], int]:
    present = np.zeros((baskets.basket_count, baskets.catalogue_size), dtype=bool)
    present[np.repeat(np.arange(baskets.basket_count), np.diff(baskets.basket_starts)), baskets.items] = True
    frequent = present.sum(axis=0) >= threshold
    frame = pd.DataFrame(present[:, frequent], columns=np.flatnonzero(frequent))
    # Half a count of slack: mlxtend compares shares in floats.
    found = fpgrowth(frame, (threshold - 0.5) / len(frame), use_colnames=True, max_len=largest_size)
    counts = np.rint(found["support"].to_numpy() * len(frame)).astype(int)
    return dict(zip(map(frozenset, found["itemsets"]), counts.tolist(), strict=True))


def by_miner(baskets: Baskets, largest_size: int, threshold: int) -> dict[frozenset[int], int]:
    miner = Miner(baskets)
    parts = [miner.itemsets(size, threshold) for size in range(1, largest_size + 1)]
    return {
        frozenset(row): support
        for part in parts
        for row, support in zip(part.items.tolist(), part.supports.tolist(), strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "largest_size", "threshold"),
    [
        ("chess", 3, 2338),
        ("mushroom", 3, 1824),
        ("groceries", 3, 100),
        pytest.param("chess", 5, 2500, marks=pytest.mark.slow),
        pytest.param("mushroom", 4, 1500, marks=pytest.mark.slow),
        pytest.param("groceries", 2, 5, marks=pytest.mark.slow),
        pytest.param("bms_webview_1", 3, 100, marks=pytest.mark.slow),
        pytest.param("retail", 3, 500, marks=pytest.mark.slow),
    ],
)
def test_same_itemsets_and_supports(name: str, largest_size: int, threshold: int) -> None:
    baskets = shared_baskets(name)
    found = by_miner(baskets, largest_size, threshold)
    assert len(found) > 100
    assert found == by_mlxtend(baskets, largest_size, threshold)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "threshold", "expected"),
    [("chess", 3, 1, 54_552), ("mushroom", 3, 1824, 1_020), ("retail", 3, 121, 1_006), ("retail", 3, 8, 104_628)],
)
def test_known_numbers_of_itemsets(name: str, size: int, threshold: int, expected: int) -> None:
    miner = Miner(shared_baskets(name))
    assert len(miner.itemsets(size, threshold)) == miner.histogram(size, threshold).total() == expected


@pytest.mark.slow
@pytest.mark.parametrize(("name", "top"), [("groceries", [736, 557, 551]), ("retail", [29_142, 11_414])])
def test_known_top_pairs(name: str, top: list[int]) -> None:
    found = Miner(shared_baskets(name)).itemsets(2, top[-1])
    assert found.supports[: len(top)].tolist() == top


def test_a_basket_bought_twice_counts_once() -> None:
    """A second copy of every basket in the same unit leaves supports as they were."""
    baskets = shared_baskets("groceries")
    doubled = Baskets(
        labels=baskets.labels,
        items=np.concatenate([baskets.items, baskets.items])[_interleaved(baskets)],
        basket_starts=np.concatenate([[0], np.cumsum(np.repeat(np.diff(baskets.basket_starts), 2))]),
        unit_starts=np.arange(0, 2 * baskets.unit_count + 1, 2),
        unit="customer",
    )
    for size in (2, 3):
        once, twice = (Miner(data).itemsets(size, 2) for data in (baskets, doubled))
        assert np.array_equal(once.items, twice.items)
        assert np.array_equal(once.supports, twice.supports)


def _interleaved(baskets: Baskets) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The order that puts basket b and its copy (in the second half) next to each other."""
    basket = np.repeat(np.arange(baskets.basket_count), np.diff(baskets.basket_starts))
    return np.lexsort((np.repeat([0, 1], len(basket)), np.tile(basket, 2)))
