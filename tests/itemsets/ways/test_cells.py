"""Supports by cells: right without noise, within their intervals with it, and moved by one unit as is said."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.best_first import holdings as module
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.ways.basis import bounds_of_cells, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

ITEMS = range(4)
ITEMSETS = list(chain.from_iterable(combinations(ITEMS, size) for size in range(1, 5)))
UNITS = st.lists(st.frozensets(st.sampled_from(ITEMS)), min_size=1, max_size=12)
NOISES = st.lists(st.integers(-3, 3), min_size=16, max_size=16)
SMALL = st.lists(st.integers(-5, 9), min_size=1, max_size=9)


def holdings(units: Sequence[frozenset[int]]) -> Holdings:
    """Of single baskets; those that are empty are there, too."""
    baskets = baskets_of([[unit] for unit in units], len(ITEMS))
    object.__setattr__(baskets, "empty_units", sum(not unit for unit in units))
    return Holdings([baskets], ITEMS)


@given(units=UNITS)
def test_each_unit_is_in_the_cell_of_its_items(units: list[frozenset[int]]) -> None:
    cells = holdings(units).cells([0, 2, 3])
    expected = [0] * 8
    for unit in units:
        expected[sum(1 << bit for bit, item in enumerate((0, 2, 3)) if item in unit)] += 1
    assert cells.tolist() == expected


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_cells_of_many_units(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are full, or not, and more than are counted at once."""
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    cells = holdings([frozenset({0, 1}), frozenset({1})] * count).cells([1, 0])
    assert cells.tolist() == [0, count, 0, count]


@given(units=UNITS, noises=NOISES, most=st.integers(1, 4))
def test_all_intervals_hold_where_no_sum_of_noises_is_larger(
    units: list[frozenset[int]], noises: list[int], most: int
) -> None:
    noisy = (holdings(units).cells(ITEMS) + noises).tolist()
    bounds = bounds_of_cells(noisy, ITEMS, most, len(units), lambda terms: 3 * terms)
    assert set(bounds.values) == {itemset for itemset in ITEMSETS if len(itemset) <= most}
    for itemset, value in bounds.values.items():
        true = sum(unit.issuperset(itemset) for unit in units)
        assert bounds.lows[itemset] <= true <= bounds.highs[itemset]
        assert bounds.lows[itemset] <= value <= bounds.highs[itemset]
        if not any(noises):
            assert value == true


@given(cells=SMALL, total=st.integers(0, 20))
def test_the_nearest_cells_have_the_sum_and_are_nearest(cells: list[int], total: int) -> None:
    """None is below 0, and those above 0 were moved by the same amount, the others by no more: Karush-Kuhn-Tucker."""
    given_cells = np.array(cells, np.float64)
    found = nearest(given_cells, float(total))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    moved = given_cells - found
    if total:
        shift = moved[found > 0].min()
        assert moved[found > 0] == pytest.approx(shift)
        assert moved.max() <= shift + 1e-9
