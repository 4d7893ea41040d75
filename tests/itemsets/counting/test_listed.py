"""Listed itemsets as a tree: their places, their candidates, and their supports, against the definitions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.counting.listed import ListedItemsets

ITEMS = 7
BASKETS = st.sets(st.integers(0, ITEMS - 1), min_size=1)
UNITS = st.lists(st.lists(BASKETS, min_size=1, max_size=3), min_size=1, max_size=12)
SIZES = st.integers(2, 4)


def listed_of(chosen: list[tuple[int, ...]], size: int) -> ListedItemsets:
    return ListedItemsets.of(np.array(chosen, np.int32).reshape(-1, size), ITEMS)


def some_of(data: st.DataObject, size: int) -> list[tuple[int, ...]]:
    every = list(combinations(range(ITEMS), size))
    return data.draw(st.lists(st.sampled_from(every), unique=True))


@given(UNITS, SIZES, st.data())
def test_supports_are_those_of_the_definition(units: list[list[set[int]]], size: int, data: st.DataObject) -> None:
    listed = listed_of(some_of(data, size), size)
    truth: Counter[tuple[int, ...]] = Counter()
    for unit in units:
        truth.update({found for basket in unit for found in combinations(sorted(basket), size)})
    here = np.arange(ITEMS, dtype=np.int32)
    baskets = baskets_of([*units, [set(range(ITEMS))]])  # so that all items are there
    found = listed.supports_in(baskets, here)
    assert found.tolist() == [truth[tuple(row)] + 1 for row in listed.rows.tolist()]


@given(UNITS, st.data())
def test_items_that_are_not_numbered_are_left_out(units: list[list[set[int]]], data: st.DataObject) -> None:
    kept = sorted(data.draw(st.sets(st.integers(0, ITEMS - 1), min_size=2)))
    baskets = baskets_of([*units, [set(range(ITEMS))]])
    number_of = np.full(ITEMS, -1, np.int32)
    number_of[kept] = np.arange(len(kept))
    every = ListedItemsets.of(np.array(list(combinations(range(len(kept)), 2)), np.int32), len(kept))
    whole = listed_of([(kept[first], kept[second]) for first, second in every.rows.tolist()], 2)
    expected = whole.supports_in(baskets, np.arange(ITEMS, dtype=np.int32))
    assert every.supports_in(baskets, number_of).tolist() == expected.tolist()


@given(SIZES, st.data())
def test_places_and_candidates(size: int, data: st.DataObject) -> None:
    chosen = some_of(data, size)
    listed, every = listed_of(chosen, size), list(combinations(range(ITEMS), size))
    order = {itemset: place for place, itemset in enumerate(sorted(chosen))}
    assert listed.places(np.array(every, np.int32)).tolist() == [order.get(itemset, -1) for itemset in every]
    expected = [
        itemset for itemset in combinations(range(ITEMS), size + 1) if set(combinations(itemset, size)) <= set(chosen)
    ]
    assert list(map(tuple, listed.candidates().rows.tolist())) == expected
    assert listed.joins() >= len(expected)


def test_nothing_is_listed() -> None:
    nothing = listed_of([], 3)
    assert nothing.joins() == len(nothing.candidates()) == 0
    assert nothing.candidates().rows.shape == (0, 4)
    assert nothing.supports_in(baskets_of([[{0, 1}]]), np.arange(2, dtype=np.int32)).tolist() == []
    assert nothing.places(np.array([[0, 1, 2]], np.int32)).tolist() == [-1]


def test_a_tree_that_is_none_is_refused() -> None:
    from dpmine.kernels import kernel

    items, starts, units = np.array([0, 1], np.int32), np.array([0, 2]), np.zeros(1, np.int32)
    root_of, nodes = np.array([0, -1], np.int32), np.array([0, 1], np.int32)
    for children in ([0, 2, 2], [1, 3, 3], [1, 1, 2]):
        last, counts = np.full(1, -1, np.int32), np.zeros(1, np.int64)
        arrays = (items, starts, units, root_of, nodes, np.array(children), last, counts)
        if children == [1, 1, 2]:
            assert kernel("count_listed")(*arrays) == 0  # a root without children: nothing is counted
            assert counts.tolist() == [0]
            continue
        with pytest.raises(ValueError, match="do not fit"):
            kernel("count_listed")(*arrays)
