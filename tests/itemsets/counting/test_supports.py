"""Supports against brute force: every size, every threshold, units with many baskets."""

import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from math import comb
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.itemsets import Units, all_supports, baskets_of, levels, listed

from dpmine.errors import BadData, BadParameter
from dpmine.itemsets.counting.field import few_partners_field
from dpmine.itemsets.counting.miner import Miner, support_of
from dpmine.itemsets.counting.rows import frequent_rests, item_supports
from dpmine.itemsets.transactions.lists import Itemsets

CATALOGUE = 9
BASKET = st.frozensets(st.integers(0, CATALOGUE - 1), min_size=1, max_size=7)
MANY_BASKETS = st.lists(st.lists(BASKET, min_size=1, max_size=4), max_size=12)
ONE_BASKET = st.lists(st.lists(BASKET, min_size=1, max_size=1), max_size=25)
SIZES = st.integers(1, 5)


def pairs_of(result: Itemsets) -> list[tuple[tuple[int, ...], int]]:
    return [(tuple(row), support) for row, support in zip(result.items.tolist(), result.supports.tolist(), strict=True)]


def random_units(seed: int, units: int, catalogue: int, baskets: int) -> Units:
    generator = np.random.default_rng(seed)
    popular = np.minimum(generator.geometric(0.08, (units, baskets, 8)) - 1, catalogue - 1)
    return [[set(basket) for basket in unit] for unit in popular.tolist()]


@settings(max_examples=examples(300))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), SIZES)
def test_every_threshold_against_brute_force(units: Units, size: int) -> None:
    miner = Miner(baskets_of(units, CATALOGUE))
    truth = all_supports(units, size)
    for threshold in range(1, len(units) + 2):
        assert pairs_of(miner.itemsets(size, threshold)) == listed(truth, threshold)
        assert miner.histogram(size, threshold) == levels(truth, threshold)


@settings(max_examples=examples(200))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), SIZES)
def test_nth_covers_each_level_exactly(units: Units, size: int) -> None:
    miner = Miner(baskets_of(units, CATALOGUE))
    members: dict[int, set[tuple[int, ...]]] = {}
    for itemset, support in all_supports(units, size).items():
        members.setdefault(support, set()).add(itemset)
    for support, count in miner.histogram(size, 1).items():
        drawn = [miner.nth(size, support, n) for n in range(count)]
        assert len(drawn) == len(set(drawn))
        assert set(drawn) == members[support]
        with pytest.raises(BadParameter):
            miner.nth(size, support, count)


@settings(max_examples=examples(200))
@given(st.one_of(MANY_BASKETS, ONE_BASKET), st.frozensets(st.integers(0, CATALOGUE - 1), min_size=1, max_size=5))
def test_support_of_any_itemset(units: Units, wanted: frozenset[int]) -> None:
    truth = sum(any(wanted <= basket for basket in map(set, unit)) for unit in units)
    baskets = baskets_of(units, CATALOGUE)
    assert support_of(baskets, list(wanted)) == truth
    assert Miner(baskets).support(tuple(wanted)) == truth


@every("baskets", [1, 3])
@every("size", [2, 3, 4])
def test_larger_random_baskets(size: int, baskets: int) -> None:
    units = random_units(size, 300, 60, baskets)
    miner = Miner(baskets_of(units, 60))
    truth = all_supports(units, size)
    for threshold in (1, 2, 5, 40):
        assert pairs_of(miner.itemsets(size, threshold)) == listed(truth, threshold)
        assert miner.histogram(size, threshold) == levels(truth, threshold)


def test_nth_does_not_depend_on_what_was_asked_before() -> None:
    baskets = baskets_of(random_units(5, 200, 50, 2), 50)
    asked, fresh = Miner(baskets), Miner(baskets)
    asked.itemsets(3, 1)
    asked.histogram(3, 4)
    assert [asked.nth(3, 2, n) for n in (0, 7, 50)] == [fresh.nth(3, 2, n) for n in (0, 7, 50)]


def test_no_baskets_at_all() -> None:
    baskets = baskets_of([], 3)
    miner = Miner(baskets)
    for size in (1, 2, 3, 7):
        assert miner.itemsets(size, 1).items.shape == (0, size)
        assert miner.histogram(size, 1) == {}
    assert miner.support([0, 2]) == support_of(baskets, [0, 2]) == 0


def test_an_empty_catalogue() -> None:
    miner = Miner(baskets_of([]))
    assert len(miner.itemsets(1, 1)) == len(miner.itemsets(2, 1)) == 0


@every("size", [4, 5, 1000, 10**12])
def test_sizes_beyond_the_longest_basket_hold_nothing(size: int) -> None:
    miner = Miner(baskets_of([[{0, 1, 2}], [{1, 2, 3}]]))
    assert len(miner.itemsets(size, 1)) == 0
    assert miner.histogram(size, 1) == {}


def test_a_threshold_beyond_all_supports() -> None:
    miner = Miner(baskets_of([[{0, 1}], [{0, 1}]]))
    for threshold in (3, 10**30):
        assert len(miner.itemsets(2, threshold)) == len(miner.histogram(2, threshold)) == 0


def dense_units(rows: int, items: int) -> Units:
    """Baskets with half of the items each, one of them in every basket."""
    generator = np.random.default_rng(rows)
    return [[set(np.flatnonzero(row).tolist()) | {items - 1}] for row in generator.random((rows, items)) < 0.5]


@every("rows", [63, 64, 65, 200])
@every("size", [2, 3, 5])
def test_dense_baskets(rows: int, size: int) -> None:
    units = dense_units(rows, 12)
    miner, truth = Miner(baskets_of(units, 12)), all_supports(units, size)
    for threshold in (1, 3, rows // 4, rows):
        assert pairs_of(miner.itemsets(size, threshold)) == listed(truth, threshold)
        assert miner.histogram(size, threshold) == levels(truth, threshold)
    support, count = min(levels(truth, 1).items())
    drawn = {miner.nth(size, support, n) for n in range(count)}
    assert drawn == {itemset for itemset, reached in truth.items() if reached == support}


def test_many_long_baskets_that_share_nothing_are_counted_at_once() -> None:
    units = [[set(range(100 * row, 100 * row + 100))] for row in range(70)]
    assert Miner(baskets_of(units)).histogram(5, 1) == {1: 70 * comb(100, 5)}


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search in parts, on four threads."""
    monkeypatch.setattr("dpmine.itemsets.counting.miner.thread_count", lambda: 4)
    monkeypatch.setattr("dpmine.itemsets.counting.rows.thread_count", lambda: 4)
    monkeypatch.setattr("dpmine.itemsets.counting.rows._PART", 200)
    monkeypatch.setattr("dpmine.itemsets.counting.field._PART_STEPS", 1)


def answers_of(units: Units) -> list[object]:
    miner = Miner(baskets_of(units))
    found: list[object] = [miner.histogram(size, 1) for size in (2, 3, 4)]
    found += [pairs_of(miner.itemsets(size, 3)) for size in (2, 3, 4)]
    support, count = min(miner.histogram(3, 1).items())
    return [*found, miner.nth(3, support, count // 2), miner.support([1, 2])]


PARALLEL = [random_units(3, 800, 60, 1), random_units(4, 300, 60, 3), dense_units(300, 14)]


@pytest.fixture(scope="module")
def sequential_answers() -> list[list[object]]:
    return [answers_of(units) for units in PARALLEL]


@pytest.mark.usefixtures("four_threads")
def test_parallel_searches_by_several_callers(sequential_answers: list[list[object]]) -> None:
    with ThreadPoolExecutor(3) as callers:
        assert list(callers.map(answers_of, PARALLEL * 2)) == sequential_answers * 2


@pytest.mark.usefixtures("four_threads")
def test_parallel_searches_in_a_forked_process(sequential_answers: list[list[object]]) -> None:
    answers_of(PARALLEL[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of forks beside threads: this is about them
        child = get_context("fork").Pool(1)
    with child:
        assert child.apply_async(answers_of, (PARALLEL[0],)).get(timeout=60) == sequential_answers[0]


@pytest.mark.usefixtures("four_threads")
def test_parallel_listings_are_refused_too() -> None:
    miner = Miner(baskets_of(dense_units(300, 14)))
    with pytest.raises(BadParameter, match="raise the threshold"):
        miner.itemsets(4, 1, memory_limit=10_000)


@pytest.mark.usefixtures("four_threads")
def test_parts_list_more_than_they_made_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.itemsets.counting.miner._FIRST_ROOM", 10)
    units = random_units(3, 800, 60, 1)
    assert pairs_of(Miner(baskets_of(units)).itemsets(3, 1)) == listed(all_supports(units, 3), 1)


def test_more_baskets_than_can_be_counted_are_refused() -> None:
    many: Any = np.broadcast_to(np.int64(0), (2**31 + 1,))  # takes no memory
    baskets = replace(baskets_of([[{0, 1}]]), basket_starts=many, unit_starts=many)
    for count in (Miner, item_supports):
        with pytest.raises(BadData, match="several parts"):
            count(baskets)


def test_numbers_of_itemsets_beyond_four_bytes() -> None:
    miner = Miner(baskets_of([[set(range(5000))], [{1, 2, 3, 4}]]))
    assert miner.histogram(3, 1) == {2: 4, 1: comb(5000, 3) - 4}


@pytest.mark.slow
def test_a_basket_of_fifty_thousand_items() -> None:
    generator = np.random.default_rng(1)
    small = np.minimum(generator.geometric(0.001, (20_000, 5)), 49_999)
    units = [[set(range(50_000))], *([set(basket)] for basket in small.tolist())]
    miner = Miner(baskets_of(units))
    found = miner.itemsets(2, 3)
    counts = Counter(pair for basket in small.tolist() for pair in combinations(sorted(set(basket)), 2))
    assert pairs_of(found) == sorted(
        ((pair, count + 1) for pair, count in counts.items() if count >= 2), key=lambda pair: (-pair[1], pair[0])
    )


def test_more_items_than_two_bytes_can_number() -> None:
    many = 70_001
    units = [[{item, many - 1}] for item in range(0, many - 1, 7)] + [[{5, 65_541}], [{5, 65_541}]]
    miner = Miner(baskets_of(units, many))
    assert pairs_of(miner.itemsets(2, 2)) == [((5, 65_541), 2)]
    assert miner.histogram(2, 1) == levels(all_supports(units, 2), 1)


def test_a_basket_of_five_thousand_items() -> None:
    units = [[set(range(5000))], [{1, 2, 4999}]]
    miner = Miner(baskets_of(units))
    assert miner.histogram(2, 1) == {2: 3, 1: 5000 * 4999 // 2 - 3}
    assert pairs_of(miner.itemsets(2, 2)) == [((1, 2), 2), ((1, 4999), 2), ((2, 4999), 2)]
    assert miner.support(miner.nth(2, 1, 12_000_000)) == 1


def test_too_many_to_be_listed_is_refused_before_it_is_done() -> None:
    miner = Miner(baskets_of([[set(range(300))]]))
    with pytest.raises(BadParameter, match="raise the threshold"):
        miner.itemsets(3, 1, memory_limit=100_000)
    assert len(miner.itemsets(2, 1, memory_limit=5_000_000)) == 300 * 299 // 2


def test_more_itemsets_than_the_first_room() -> None:
    miner = Miner(baskets_of([[set(range(200))], [{3, 5, 7}]]))
    found = miner.itemsets(3, 1)
    assert len(found) == 200 * 199 * 198 // 6
    assert found.items[0].tolist() == [3, 5, 7]
    assert found.items[-1].tolist() == [197, 198, 199]
    assert np.all(np.diff(found.items, axis=1) > 0)


def test_levels_beyond_64_bits_are_counted_exactly() -> None:
    miner = Miner(baskets_of([[set(range(200))]]))
    assert miner.histogram(100, 1) == {1: comb(200, 100)}
    with pytest.raises(BadParameter, match="raise the threshold"):
        miner.itemsets(100, 1)


@pytest.mark.parametrize("dense", [False, True])
def test_levels_beyond_64_bits_are_numbered_without_gaps_or_repetitions(
    dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbering with a lower limit, where every number can be asked for."""
    monkeypatch.setattr("dpmine.itemsets.counting.miner.COUNT_LIMIT", 20)
    rows = [{0, 1, 2, 3, 4, 5}, {1, 2, 3, 6, 7}, {0, 2, 4, 8, 9, 10}, {2, 4, 5}]
    units = [[row] for row in (rows * 20 if dense else rows)] + [[{0, 2, 3, 11, 12, 13, 14}]]
    truth, miner = all_supports(units, 4), Miner(baskets_of(units))
    assert miner.histogram(4, 1) == levels(truth, 1)
    alone = {itemset for itemset, support in truth.items() if support == 1}
    assert len(alone) > 20
    assert {miner.nth(4, 1, n) for n in range(len(alone))} == alone
    with pytest.raises(BadParameter, match="smaller"):
        miner.nth(4, 1, len(alone))


def test_an_astronomic_level_is_drawn_from() -> None:
    miner = Miner(baskets_of([[set(range(200))]]))
    drawn = miner.nth(20, 1, 10**18)
    assert len(set(drawn)) == 20
    assert drawn == tuple(sorted(drawn))


def test_wide_rows_are_ordered_too() -> None:
    units = [[set(range(60_000, 60_006))], [set(range(60_001, 60_007))]]
    miner = Miner(baskets_of(units))
    assert pairs_of(miner.itemsets(4, 1)) == listed(all_supports(units, 4), 1)


def test_read_only_and_narrow_arrays_are_accepted() -> None:
    baskets = baskets_of([[{0, 1}], [{0, 1}]])
    narrow: Any = baskets.items.astype(np.int16)
    narrow.flags.writeable = False
    baskets.basket_starts.flags.writeable = False
    assert Miner(replace(baskets, items=narrow)).support([0, 1]) == 2


@every("itemset", [[], [0, 0], [-1], [4], [2**70], ["0"], [0.5]])
def test_wrong_itemsets_are_refused(itemset: list[int]) -> None:
    baskets = baskets_of([[{0, 1}], [{0, 3}]])
    with pytest.raises(BadParameter):
        Miner(baskets).support(itemset)
    with pytest.raises(BadParameter):
        support_of(baskets, itemset)


def test_wrong_numbers_are_refused() -> None:
    miner = Miner(baskets_of([[{0, 1}]]))
    for n in (1, 10**40):
        for size in (1, 2):
            with pytest.raises(BadParameter):
                miner.nth(size, 1, n if size == 2 else 2 * n)
    with pytest.raises(BadParameter):
        miner.itemsets(2, 1, memory_limit=0)


def test_eight_threads_get_the_same_answers() -> None:
    units = random_units(9, 2000, 80, 2)
    miner = Miner(baskets_of(units, 80))

    def ask(_: int) -> tuple[object, object, object]:
        return miner.histogram(3, 1), pairs_of(miner.itemsets(3, 20)), miner.nth(3, 5, 100)

    expected = ask(0)
    with ThreadPoolExecutor(8) as pool:
        assert all(answer == expected for answer in pool.map(ask, range(24)))


@settings(max_examples=examples(60))
@given(st.integers(0, 10**6), st.integers(64, 120), st.integers(3, 9))
def test_nth_does_not_depend_on_later_rankings(seed: int, rows: int, items: int) -> None:
    """With so many rows and so few items, bitmaps and walks are about equally fast."""
    generator = np.random.default_rng(seed)
    units = [[set(np.flatnonzero(row).tolist()) or {0}] for row in generator.random((rows, items)) < 0.2]
    miner = Miner(baskets_of(units, items))
    levels = Miner(baskets_of(units, items)).histogram(2, 2).items()
    before = {(support, n): miner.nth(2, support, n) for support, count in levels for n in range(count)}
    miner.support((0, 1))
    assert before == {place: miner.nth(2, *place) for place in before}


def test_bitmaps_never_take_more_than_a_ranking() -> None:
    """Many items in triangles: bitmaps as wide as all rows would be empty but for a few bits."""
    triangles = [[{3 * (row % 200), 3 * (row % 200) + 1, 3 * (row % 200) + 2}] for row in range(40_000)]
    baskets = baskets_of(triangles)
    rests = frequent_rests(baskets, item_supports(baskets), 1)
    assert few_partners_field(rests, 3, 1) is None
    assert pairs_of(Miner(baskets).itemsets(3, 1))[:1] == [((0, 1, 2), 200)]
