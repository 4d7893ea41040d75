"""Closed and maximal itemsets beside brute force."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.itemsets import Units, all_supports, baskets_of

from dpmine.errors import BadParameter
from dpmine.itemsets.counting import lists
from dpmine.itemsets.counting.lists import order_of
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.interface import SupportSource
from dpmine.itemsets.transactions.lists import ListRoom, taken

if TYPE_CHECKING:
    from dpmine.itemsets.transactions.lists import ItemsetLists

CATALOGUE = 9
BASKET = st.frozensets(st.integers(0, CATALOGUE - 1), min_size=1, max_size=8)
MANY_BASKETS = st.lists(st.lists(BASKET, min_size=1, max_size=3), max_size=12)
ONE_BASKET = st.lists(st.lists(BASKET, min_size=1, max_size=1), max_size=25)
SIZES = st.tuples(st.integers(1, 4), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))
Row = tuple[tuple[int, ...], int]


def room_of(left: int = 1 << 40) -> ListRoom:
    return ListRoom(left, 99, "ask for less", as_objects=False)


def in_order(found: ItemsetLists) -> list[Row]:
    found = taken(found, order_of(found))
    codes = [tuple(found.codes[begin:end].tolist()) for begin, end in pairwise(found.starts.tolist())]
    return list(zip(codes, found.supports.tolist(), strict=True))


def wanted(units: Units, sizes: tuple[int, int], threshold: int, *, maximal: bool) -> list[Row]:
    """By the definition: of all frequent itemsets those without a larger one."""
    largest = max((len(set(basket)) for unit in units for basket in unit), default=0)
    rows = [row for size in range(1, largest + 1) for row in all_supports(units, size).items() if row[1] >= threshold]
    top: dict[tuple[int, ...], int] = {}  # the largest support among supersets with one item more
    for items, support in rows:
        for left_out in range(len(items)):
            rest = (*items[:left_out], *items[left_out + 1 :])
            top[rest] = max(top.get(rest, 0), support)
    kept = [row for row in rows if (row[0] not in top if maximal else top.get(row[0]) != row[1])]
    kept = [row for row in kept if sizes[0] <= len(row[0]) <= sizes[1]]
    return sorted(kept, key=lambda row: (-row[1], len(row[0]), row[0]))


def listed(units: Units, sizes: tuple[int, int], threshold: int, *, maximal: bool) -> list[Row]:
    return in_order(Miner(baskets_of(units)).closed(sizes, threshold, room_of(), maximal=maximal))


@settings(max_examples=examples(500))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), SIZES, st.booleans())
def test_every_threshold_against_brute_force(units: Units, sizes: tuple[int, int], maximal: bool) -> None:
    for threshold in range(1, len(units) + 2):
        for asked in (sizes, (1, 99)):
            assert listed(units, asked, threshold, maximal=maximal) == wanted(units, asked, threshold, maximal=maximal)


def random_units(seed: int, units: int, density: float, items: int, copies: int) -> Units:
    """`copies` of the items stand in the same rows as others, or nearly: closures have several items."""
    draws = np.random.default_rng(seed)
    held = draws.random((units, items)) < density * draws.random(items) * 2
    for copy in range(copies):
        held[:, items - 1 - copy] = held[:, copy] & (draws.random(units) < (1.0 if copy % 2 else 0.9))
    return [[set(np.flatnonzero(row).tolist()) or {0}] for row in held]


SHAPES = [(400, 0.05, 60, 20), (400, 0.2, 16, 6), (130, 0.5, 12, 5), (64, 0.9, 10, 3), (300, 0.09, 40, 9)]


@every("shape", SHAPES, quick=10)
@every("maximal", [False, True])
@every("chunk", [1, 64, 1 << 21])
def test_searches_go_on_where_a_chunk_was_full(
    shape: tuple[int, float, int, int], maximal: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_CHUNK", chunk)
    monkeypatch.setattr(lists, "_SMALL_CHUNK", chunk)
    monkeypatch.setattr(lists, "_THREAD_STEPS", 1)
    units = random_units(chunk, *shape)
    for threshold in (2, 9, 40):
        for sizes in ((1, 99), (2, 3)):
            found = listed(units, sizes, threshold, maximal=maximal)
            assert found == wanted(units, sizes, threshold, maximal=maximal)


@every("maximal", [False, True])
@every("instructions", [0, 1, 2])
def test_every_processor_finds_the_same(maximal: bool, instructions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "INSTRUCTIONS", instructions)
    units = random_units(5, *SHAPES[2])
    assert listed(units, (1, 99), 3, maximal=maximal) == wanted(units, (1, 99), 3, maximal=maximal)


@every("maximal", [False, True])
@every("seed", range(6))
def test_engines_that_count_size_by_size_find_the_same(seed: int, maximal: bool) -> None:
    units = random_units(seed, *SHAPES[1])
    miner = Miner(baskets_of(units))
    for sizes in ((1, 20), (2, 3)):
        found = SupportSource.closed(miner, sizes, 3, room_of(), maximal=maximal)
        assert in_order(found) == listed(units, sizes, 3, maximal=maximal)


def test_an_itemset_of_many_items_needs_no_subsets() -> None:
    """Of 60 items in all baskets there are 2^60 subsets, and one of them is closed."""
    units: Units = [[set(range(60))]] * 70
    for maximal in (False, True):
        assert listed(units, (1, 99), 1, maximal=maximal) == [(tuple(range(60)), 70)]


@every("maximal", [False, True])
def test_itemsets_that_do_not_fit_are_refused(maximal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    units = random_units(1, *SHAPES[0])
    found = Miner(baskets_of(units)).closed((1, 9), 2, room_of(), maximal=maximal)
    cost = sum(room_of().cost(size) for size in found.sizes.tolist())
    Miner(baskets_of(units)).closed((1, 9), 2, room_of(cost), maximal=maximal)
    for chunk in (1, 1 << 21):
        monkeypatch.setattr(lists, "_CHUNK", chunk)
        monkeypatch.setattr(lists, "_SMALL_CHUNK", chunk)
        with pytest.raises(BadParameter, match="ask for less"):
            Miner(baskets_of(units)).closed((1, 9), 2, room_of(cost - 1), maximal=maximal)
