"""Itemsets of several sizes from one search, beside brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.itemsets import Units, all_supports, baskets_of

from dpmine.errors import BadParameter
from dpmine.itemsets.counting import lists
from dpmine.itemsets.counting.lists import items_together, order_of
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.lists import ItemsetLists, ListRoom, by_size, taken, with_superset

CATALOGUE = 9
BASKET = st.frozensets(st.integers(0, CATALOGUE - 1), min_size=1, max_size=7)
MANY_BASKETS = st.lists(st.lists(BASKET, min_size=1, max_size=4), max_size=12)
ONE_BASKET = st.lists(st.lists(BASKET, min_size=1, max_size=1), max_size=25)
SIZES = st.tuples(st.integers(1, 4), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))
Row = tuple[tuple[int, ...], int]


def room_of(size: int, left: int = 1 << 40) -> ListRoom:
    return ListRoom(left, size, "ask for less", as_objects=False)


def rows_of(found: ItemsetLists) -> list[Row]:
    codes = [tuple(found.codes[begin:end].tolist()) for begin, end in pairwise(found.starts.tolist())]
    return list(zip(codes, found.supports.tolist(), strict=True))


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row[1], len(row[0]), row[0]))


def wanted(units: Units, sizes: tuple[int, int], threshold: int) -> list[Row]:
    largest = max((len(set(basket)) for unit in units for basket in unit), default=0)
    rows = [row for size in range(sizes[0], min(sizes[1], largest) + 1) for row in all_supports(units, size).items()]
    return in_order([(itemset, support) for itemset, support in rows if support >= threshold])


def listed(units: Units, sizes: tuple[int, int], threshold: int) -> list[Row]:
    found = Miner(baskets_of(units)).lists(sizes, threshold, room_of(sizes[1]))
    return rows_of(taken(found, order_of(found)))


@settings(max_examples=examples(400))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), SIZES)
def test_every_threshold_against_brute_force(units: Units, sizes: tuple[int, int]) -> None:
    for threshold in range(1, len(units) + 2):
        assert listed(units, sizes, threshold) == wanted(units, sizes, threshold)


def random_units(seed: int, units: int, density: float, items: int, baskets: int = 1) -> Units:
    """Sparse ones are searched as rows, dense ones as bitmaps, those between as rows and then as bitmaps."""
    draws = np.random.default_rng(seed).random((units, baskets, items)) < density
    return [[set(np.flatnonzero(row).tolist()) | {0} for row in unit] for unit in draws]


SHAPES = [(400, 0.05, 60, 1), (400, 0.25, 14, 1), (130, 0.5, 10, 1), (200, 0.1, 30, 3), (64, 0.9, 9, 1)]
BOTH_WAYS = [(300, 0.09, 40, 1)]


@every("shape", SHAPES + BOTH_WAYS, quick=18)
@every("sizes", [(1, 9), (2, 5), (3, 30)])
@every("chunk", [1, 64, 1 << 21])
def test_searches_go_on_where_a_chunk_was_full(
    shape: tuple[int, float, int, int], sizes: tuple[int, int], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_CHUNK", chunk)
    monkeypatch.setattr(lists, "_THREAD_STEPS", 1)
    units = random_units(chunk, *shape)
    for threshold in (4, 20):
        assert listed(units, sizes, threshold) == wanted(units, sizes, threshold)


def test_one_size_after_the_other_finds_the_same() -> None:
    units = random_units(3, *SHAPES[1])
    by_sizes = by_size(Miner(baskets_of(units)), (1, 20), 3, room_of(20))
    assert rows_of(taken(by_sizes, order_of(by_sizes))) == listed(units, (1, 20), 3)


@every("baskets", [1, 40])
def test_itemsets_that_do_not_fit_are_refused_before_they_are_found(baskets: int) -> None:
    """2^60 subsets of one basket would never be listed; those of many are refused on the way."""
    units = [[set(range(60))]] * baskets
    with pytest.raises(BadParameter, match="ask for less"):
        Miner(baskets_of(units)).lists((1, 60), 1, room_of(60, 10**7))


def test_itemsets_that_do_not_fit_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_CHUNK", 1000)
    units = random_units(1, *SHAPES[0])
    found = Miner(baskets_of(units)).lists((2, 5), 2, room_of(5))
    cost = sum(room_of(5).cost(size) for size in found.sizes.tolist())
    Miner(baskets_of(units)).lists((2, 5), 2, room_of(5, cost))
    with pytest.raises(BadParameter, match="ask for less"):
        Miner(baskets_of(units)).lists((2, 5), 2, room_of(5, cost - 1))


@settings(max_examples=examples(400))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), st.integers(1, 4), st.integers(1, 6))
def test_supersets_against_brute_force(units: Units, threshold: int, largest: int) -> None:
    rows = wanted(units, (1, largest), threshold)
    found = Miner(baskets_of(units)).lists((1, largest), threshold, room_of(largest))
    for equal in (False, True):
        contained = with_superset(found, equal=equal).tolist()
        told = [row for row, is_contained in zip(rows_of(found), contained, strict=True) if not is_contained]
        assert in_order(told) == [
            (items, support)
            for items, support in rows
            if not any(set(items) < set(other) and (not equal or support == more) for other, more in rows)
        ]


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 3), st.frozensets(st.integers(0, 10**5), max_size=40)), max_size=40))
def test_order_of_any_itemsets(rows: list[tuple[int, frozenset[int]]]) -> None:
    """Long ones, of many items or few, of which many have the first items in common."""
    parts = [sorted({1, 2, 3, 5} | itemset) for _, itemset in rows]
    found = ItemsetLists(
        np.array([code for part in parts for code in part], np.int32),
        np.cumsum([0, *map(len, parts)]),
        np.array([support for support, _ in rows], np.int64),
    )
    ordered = rows_of(taken(found, order_of(found)))
    assert ordered == in_order(rows_of(found))


@every("baskets", [1, 2], quick=2)
@every("density", [0.3, 0.97])
def test_the_first_pass_finds_a_frequent_itemset(baskets: int, density: float) -> None:
    """All of its items are in the units that it says; in bitmaps and in rows."""
    units = random_units(2, 300, density, 12, baskets)
    miner = Miner(baskets_of(units))
    largest = {}
    for threshold in (2, 30, 200, 300):
        field, _ = miner._whole_field(threshold)
        sizes = [len(items) for items, _ in wanted(units, (1, 12), threshold)]
        together = items_together(field, threshold, 99)
        assert together <= max(sizes, default=0)
        assert items_together(field, threshold, 3) == min(3, together)
        largest[threshold] = together
    assert largest[2] >= (8 if density > 0.9 else 2)


def test_a_search_that_cannot_fit_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its itemsets are counted from below: all subsets of what goes together."""
    monkeypatch.setattr(lists, "_LONG_STEPS", 0)
    monkeypatch.setattr(lists, "_SMALL_CHUNK", 1)
    monkeypatch.setattr(lists.ListSearch, "_found", None)  # what threads would do
    units: Units = [[set(range(20))]] * 70
    with pytest.raises(BadParameter, match=f"at least {2**20 - 21:,}, do not fit"):
        Miner(baskets_of(units)).lists((2, 60), 50, room_of(60, 10**7))
    with pytest.raises(TypeError):
        Miner(baskets_of(units)).lists((2, 60), 50, room_of(60, 10**9))
