"""Supports of itemsets of a few items by bitmaps: equal to brute force, capped units included."""

from __future__ import annotations

from collections import Counter
from math import prod
from mmap import mmap
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.best_first.holdings import Holdings, words_of
from dpmine.itemsets.transactions.repeated import RepeatedUnits

if TYPE_CHECKING:
    import pytest

ITEMS = range(5)
BASKET = st.frozensets(st.sampled_from(ITEMS), min_size=1)
ONE_BASKET = st.lists(st.lists(BASKET, min_size=1, max_size=1), max_size=150)
SEVERAL = st.lists(st.lists(BASKET, min_size=1, max_size=3), max_size=100)
ITEMSETS = st.lists(st.sets(st.sampled_from(ITEMS), min_size=1).map(sorted), min_size=1, max_size=20)

Units = list[list[frozenset[int]]]


def holdings(units: Units, cut: int = 0) -> Holdings:
    """In two parts, cut anywhere."""
    parts = [units[: cut % (len(units) + 1)], units[cut % (len(units) + 1) :]]
    return Holdings([baskets_of(part, len(ITEMS)) for part in parts if part], ITEMS)


def holds(unit: list[frozenset[int]], itemset: list[int]) -> bool:
    return any(basket.issuperset(itemset) for basket in unit)


@given(ONE_BASKET | SEVERAL, ITEMSETS, st.integers(0, 150))
def test_supports(units: Units, itemsets: list[list[int]], cut: int) -> None:
    found = holdings(units, cut)
    for itemset in itemsets:
        assert found.support(itemset) == sum(holds(unit, itemset) for unit in units)


@given(ONE_BASKET, ITEMSETS, st.integers(0, 150))
def test_odd_numbers_of_items(units: Units, itemsets: list[list[int]], cut: int) -> None:
    found = holdings(units, cut)
    for itemset in itemsets:
        assert found.odd(itemset) == sum(len(unit[0].intersection(itemset)) % 2 for unit in units)


@given(ONE_BASKET | SEVERAL, ITEMSETS, st.integers(1, 9), st.integers(0, 150))
def test_each_unit_adds_to_so_many_supports_at_most(
    units: Units, itemsets: list[list[int]], most: int, cut: int
) -> None:
    capped, counted = holdings(units, cut).capped(most), Counter[int]()
    for itemset in itemsets:
        admitted = [u for u, unit in enumerate(units) if holds(unit, itemset) and counted[u] < most]
        assert capped.support(itemset) == len(admitted)
        counted.update(admitted)
    assert max(counted.values(), default=0) <= most
    assert capped.spent == sum(times == most for times in counted.values())


@given(SEVERAL, ITEMSETS, st.integers(1, 5), st.integers(1, 3))
def test_a_unit_stands_for_equal_ones(units: Units, itemsets: list[list[int]], times: int, most: int) -> None:
    once = RepeatedUnits(**vars(baskets_of(units, len(ITEMS))), times=times)
    found, expected = Holdings([once], ITEMS), holdings(units * times)
    assert found.units == expected.units
    capped, here = found.capped(most), expected.capped(most)
    for itemset in itemsets:
        assert found.support(itemset) == expected.support(itemset)
        assert capped.support(itemset) == here.support(itemset)
    assert capped.spent == here.spent


@given(ONE_BASKET, st.integers(1, 5))
def test_cells_of_units_that_stand_for_equal_ones(units: Units, times: int) -> None:
    once = RepeatedUnits(**vars(baskets_of(units, len(ITEMS))), times=times)
    assert Holdings([once], ITEMS).cells(ITEMS).tolist() == holdings(units * times).cells(ITEMS).tolist()


def test_two_askers_do_not_share_their_caps() -> None:
    found = holdings([[frozenset({0})]])
    first, second = found.capped(1).support, found.capped(1).support
    assert [first([0]), first([0]), second([0])] == [1, 0, 1]


def is_mapped(array: object) -> bool:
    """Whether the numbers of an array are in a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap)


def test_bits_beyond_the_room_in_memory_are_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every system: some have no call that reserves room on a disk."""
    monkeypatch.delattr("os.posix_fallocate", raising=False)
    units: Units = [[frozenset({0, 1}), frozenset({2})], [frozenset({0})], [frozenset({1, 2})]] * 100
    parts = [baskets_of(units), baskets_of(units[:50])]
    held = [Holdings(parts, (0, 2, 1))]
    monkeypatch.setattr("dpmine.itemsets.best_first.holdings._RESIDENT", prod(words_of(parts[0], range(3))))
    held.append(Holdings(parts, (0, 2, 1)))
    assert [is_mapped(part.words) for part in held[1].parts] == [False, True]
    assert not isinstance(held[1].parts[1].words, np.memmap)  # whose slices take microseconds each
    for itemset in [(0,), (1, 2), (0, 1, 2), (0, 2)]:
        assert held[0].support(itemset) == held[1].support(itemset)
        assert held[0].capped(1).support(itemset) == held[1].capped(1).support(itemset)
