"""The itemsets as a universe: against enumeration, and the mechanisms' laws on it."""

from __future__ import annotations

from collections import Counter
from copy import copy
from fractions import Fraction
from functools import partial
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every
from support.conformance.protocol import check_head, check_next_floor, check_size, interesting_floors
from support.goodness import assert_sampled_law
from support.mechanisms import PURE
from support.oracles.itemsets import all_supports, baskets_of
from support.tapes import assert_law

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import law
from dpmine.selection.universes.dense import Dense
from dpmine.selection.universes.protocol import MANY_DUMMIES

if TYPE_CHECKING:
    from support.oracles.itemsets import Units

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.selection.universes.protocol import Level

Truth = dict[Any, int]
"""Itemsets and their supports."""


def random_units(seed: int, *, units: int, items: int, baskets: int = 2, length: int = 4) -> Units:
    """Units with 1 to `baskets` baskets of 0 to `length` items, low codes more often."""
    generator = np.random.default_rng(seed)
    return [
        [
            {int(code) for code in items * generator.random(generator.integers(length + 1)) ** 2}
            for _ in range(generator.integers(1, baskets + 1))
        ]
        for _ in range(units)
    ]


def truth_of(units: Units, items: int, sizes: range) -> Truth:
    """Support of all subsets of the catalogue, by enumeration."""
    supports = [all_supports(units, size) for size in sizes]
    return {
        itemset: count[itemset]
        for size, count in zip(sizes, supports, strict=True)
        for itemset in combinations(range(items), size)
    }


def public(units: Units, items: int, sizes: range) -> ItemsetUniverse:
    return ItemsetUniverse(Miner(baskets_of(units, items)), sizes, catalogue_is_public=True)


def unknown(units: Units, items: int, sizes: range) -> ItemsetUniverse:
    return ItemsetUniverse(Miner(baskets_of(units, items)), sizes, catalogue_is_public=False)


def bought(truth: Truth) -> Truth:
    return {itemset: support for itemset, support in truth.items() if support}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("items", "sizes"), [(4, range(1, 2)), (4, range(2, 3)), (4, range(3, 4)), (3, range(1, 4))])
@pytest.mark.slow
def test_small_universe_keeps_every_guarantee_exactly(seed: int, items: int, sizes: range) -> None:
    """The laws of members and tails are bracketed by enumeration of bit tapes."""
    units = random_units(seed, units=5, items=items)
    truth = truth_of(units, items, sizes)
    check_exactly(public(units, items, sizes), truth)
    check_exactly(unknown(units, items, sizes), bought(truth))


def check_exactly(universe: ItemsetUniverse, truth: Truth) -> None:
    """The conformance suite; rare members leave wide brackets, which the sampling tests below make up for."""
    check_size(universe, truth)
    for floor in interesting_floors(truth, universe.least):
        check_head(universe, truth, floor)
        check_next_floor(universe, floor)
        check_exact_tail(universe, truth, floor)
    for level in universe.head(universe.least):
        members = [itemset for itemset, support in truth.items() if support == level.score]
        expected = dict.fromkeys(members, Fraction(1, len(members)))
        assert_law(partial(first_member, universe, level), expected, depth=26, undecided=0.9)
        later = copy(universe)
        later.member(level, bits=SystemBits())
        assert_law(partial(member, later, level), expected, depth=26, undecided=0.9)


def first_member(universe: ItemsetUniverse, level: Level, bits: BitSource) -> CodedItemset:
    """Found by a search of its own; from the second on, members are looked up in a list, in another order."""
    return copy(universe).member(level, bits=bits)


def member(universe: ItemsetUniverse, level: Level, bits: BitSource) -> CodedItemset:
    return universe.member(level, bits=bits)


def check_exact_tail(universe: ItemsetUniverse, truth: Truth, floor: int | Fraction) -> None:
    tail = {(itemset, support) for itemset, support in truth.items() if support < floor}
    assert all(support <= universe.below(floor) <= floor for _, support in tail)
    if tail and universe.size is not None:
        expected = dict.fromkeys(tail, Fraction(1, len(tail)))
        assert_law(lambda bits: universe.tail(floor, bits=bits), expected, depth=26, undecided=0.9)


@every("seed", range(4), quick=8)
@every("sizes", [range(1, 2), range(2, 3), range(3, 4), range(1, 4), range(2, 6), range(5, 6)])
def test_levels_are_those_of_the_enumeration(seed: int, sizes: range) -> None:
    items = 9
    units = random_units(seed, units=40, items=items, baskets=3, length=6)
    truth = truth_of(units, items, sizes)
    for floor in reversed(interesting_floors(truth, 0)):  # each floor asked of a fresh universe
        universe = public(units, items, sizes)
        check_head(universe, truth, floor)
        check_next_floor(universe, floor)
        assert max((score for score in truth.values() if score < floor), default=-1) <= universe.below(floor) <= floor
    check_size(public(units, items, sizes), truth)
    seen = bought(truth)
    check_size(unknown(units, items, sizes), seen)
    for floor in interesting_floors(seen, 0):
        check_head(unknown(units, items, sizes), seen, floor)


@pytest.mark.parametrize("order", ["falling", "rising"])
def test_order_of_questions_does_not_matter(order: str) -> None:
    units = random_units(5, units=40, items=8, length=6)
    truth = truth_of(units, 8, range(2, 4))
    universe = public(units, 8, range(2, 4))
    floors = interesting_floors(truth, 0)
    for floor in floors if order == "rising" else floors[::-1]:
        check_head(universe, truth, floor)
        assert universe.top() == max(truth.values())


def test_size_of_a_public_catalogue_counts_every_subset() -> None:
    units: Units = [[{0, 1}]]
    assert public(units, 41_270, range(3, 4)).size == comb(41_270, 3)
    assert public(units, 500, range(1, 4)).size == 500 + comb(500, 2) + comb(500, 3)
    universe = unknown(units, 500, range(1, 4))
    assert universe.size is None
    assert universe.padding == MANY_DUMMIES


@pytest.mark.parametrize("units", [[], [[{0}], [{1}], [{2}]]], ids=["nobody", "single items only"])
def test_pairs_that_nobody_bought(units: Units) -> None:
    universe = public(units, 3, range(2, 3))
    check_exactly(universe, {(0, 1): 0, (0, 2): 0, (1, 2): 0})
    check_exactly(unknown(units, 3, range(2, 3)), {})


def test_sizes_beyond_every_basket() -> None:
    truth = dict.fromkeys([*combinations(range(4), 3), (0, 1, 2, 3)], 0)
    check_exactly(public([[{0, 1}]] * 3, 4, range(3, 5)), truth)


def test_top_is_found_where_the_best_items_never_meet() -> None:
    """The best pair lies far below the floor at which the search begins."""
    units: Units = [[{0}]] * 300 + [[{1}]] * 300 + [[{2, 3}]] * 2
    universe = public(units, 4, range(2, 3))
    assert universe.top() == 2
    assert [(level.score, level.count) for level in universe.head(1)] == [(2, 1)]


@pytest.mark.statistical
@pytest.mark.parametrize("sizes", [range(2, 3), range(1, 4)])
def test_members_are_uniform(sizes: range) -> None:
    """False-alarm rate 1e-6 a level, at most 12 levels; the seed is fixed."""
    units = random_units(7, units=25, items=8, length=5)
    truth = truth_of(units, 8, sizes)
    universe = public(units, 8, sizes)
    for level in universe.head(0):
        members = [itemset for itemset, support in truth.items() if support == level.score]
        assert len(members) == level.count
        if len(members) > 1:
            share = {itemset: 1 / len(members) for itemset in members}
            assert_sampled_law(partial(member, universe, level), share, draws=1500)


@pytest.mark.statistical
@pytest.mark.parametrize("sizes", [range(2, 3), range(1, 4)])
@pytest.mark.parametrize("floor", [1, 2, Fraction(7, 2), 10**6])
def test_tails_are_uniform(sizes: range, floor: int | Fraction) -> None:
    """False-alarm rate 1e-6; the seed is fixed."""
    units = random_units(8, units=25, items=8, length=5)
    truth = truth_of(units, 8, sizes)
    universe = public(units, 8, sizes)
    tail = {(itemset, support): 1.0 for itemset, support in truth.items() if support < floor}
    share = {entry: 1 / len(tail) for entry in tail}
    assert_sampled_law(lambda bits: universe.tail(floor, bits=bits), share, draws=3000)


def enumerated_law(truth: Truth, padding: int, *, mechanism: str, epsilon: float, delta: float) -> dict[Any, float]:
    """The exact law on the supports as a plain array of scores."""
    if padding:
        truth = bought(truth)
    exact = law(Dense(list(truth.values()), padding), mechanism=mechanism, epsilon=epsilon, delta=delta)
    return {**dict(zip(truth, exact.pmf.tolist(), strict=True)), **({None: exact.nothing} if exact.nothing else {})}


def sample_once(universe: ItemsetUniverse, mechanism: str, epsilon: float, delta: float, bits: BitSource) -> Any:
    chooser = build_mechanism(mechanism, epsilon=epsilon, delta=delta, neighbors=Neighbors.REPLACE_ONE)
    return chooser.choose(universe, bits=bits)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", PURE)
@pytest.mark.parametrize("epsilon", [0.3, 0.8])
@pytest.mark.parametrize("sizes", [range(2, 3), range(1, 4)])
def test_noisy_maxima_have_the_law_of_the_enumeration(mechanism: str, epsilon: float, sizes: range) -> None:
    """A fresh universe for every tenth draw, so that shallow heads are met. False-alarm rate 1e-6; fixed seed."""
    items = 9
    units = random_units(9, units=30, items=items, length=5)
    truth = truth_of(units, items, sizes)
    fresh = iter(chain.from_iterable([public(units, items, sizes)] * 10 for _ in range(200)))
    expected = enumerated_law(truth, 0, mechanism=mechanism, epsilon=epsilon, delta=0.1)
    assert_sampled_law(lambda bits: sample_once(next(fresh), mechanism, epsilon, 0.1, bits), expected, draws=2000)


def softmax_by_hand(truth: Truth, epsilon: float) -> dict[Any, float]:
    weights = {itemset: float(np.exp(epsilon * support / 2)) for itemset, support in truth.items()}
    return {itemset: weight / sum(weights.values()) for itemset, weight in weights.items()}


@pytest.mark.statistical
def test_exponential_mechanism_on_a_mostly_unsold_catalogue() -> None:
    """12 sold items of 40: most of the mass lies on itemsets nobody bought. False-alarm rate 1e-6; fixed seed."""
    units = random_units(10, units=30, items=12, length=5)
    truth = truth_of(units, 40, range(2, 3))
    universe = public(units, 40, range(2, 3))
    expected = softmax_by_hand(truth, 0.9)
    assert 0.3 < sum(share for itemset, share in expected.items() if not truth[itemset]) < 0.9
    assert_sampled_law(lambda bits: sample_once(universe, "exponential", 0.9, 0.1, bits), expected, draws=4000)


@pytest.mark.statistical
@pytest.mark.parametrize("padding", [0, MANY_DUMMIES], ids=["public", "unknown"])
@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [("large_margin", 1), ("large_margin", 1.5), ("large_margin_tight", 0.7)]
)
def test_margin_mechanisms_have_the_law_of_the_enumeration(mechanism: str, epsilon: float, padding: int) -> None:
    """Three pairs lead, nearly tied; nothing is an outcome too. False-alarm rate 1e-6; fixed seed."""
    items, sizes, delta = 9, range(2, 3), 0.2
    leaders: list[Units] = [[[{0, 1}]] * 80, [[{2, 3}]] * 78, [[{1, 4}]] * 77, [[{3, 4}]] * 30]
    units = [*chain.from_iterable(leaders), *random_units(11, units=20, items=items, length=5)]
    truth = truth_of(units, items, sizes)
    make = unknown if padding else public
    fresh = iter(chain.from_iterable([make(units, items, sizes)] * 10 for _ in range(200)))
    expected = enumerated_law(truth, padding, mechanism=mechanism, epsilon=epsilon, delta=delta)
    assert_sampled_law(lambda bits: sample_once(next(fresh), mechanism, epsilon, delta, bits), expected, draws=2000)


@every("mechanism", ["large_margin", *PURE])
def test_winner_is_a_sorted_itemset_of_a_wanted_size(mechanism: str) -> None:
    units = random_units(12, units=30, items=10, length=5)
    universe = public(units, 10, range(2, 4))
    chosen = [build_and_choose(universe, mechanism) for _ in range(60)]
    assert all(list(itemset) == sorted(set(itemset)) and set(itemset) <= set(range(10)) for itemset in chosen)
    assert set(Counter(map(len, chosen))) <= {2, 3}


def build_and_choose(universe: ItemsetUniverse, mechanism: str) -> CodedItemset:
    from dpmine.exact.bits import SystemBits

    chooser = build_mechanism(mechanism, epsilon=Fraction(1, 100), delta=0.1, neighbors=Neighbors.ADD_REMOVE)
    chosen = chooser.choose(universe, bits=SystemBits())
    assert chosen is not None
    return chosen


class Tallying(Miner):
    """Notes how many itemsets each complete histogram holds."""

    counted: int = 0

    def histogram(self, size: int, threshold: int) -> Any:
        return self._noted(super().histogram(size, threshold))

    def bounded_histogram(self, size: int, threshold: int, most: int | None) -> Any:
        found = super().bounded_histogram(size, threshold, most)
        return found if found is None or most is None else self._noted(found)

    def _noted(self, found: Any) -> Any:
        self.counted = max(self.counted, found.total())
        return found


@pytest.mark.parametrize("mechanism", ["limited_domain", "large_margin_tight"])
def test_a_selection_counts_no_more_than_it_needs(mechanism: str) -> None:
    """There are 1.5 billion itemsets of 8 items here, of which the limited domain keeps a million."""
    generator = np.random.default_rng(1)
    units: Units = [[set(generator.choice(60, 50, replace=False).tolist())] for _ in range(30)]
    miner = Tallying(baskets_of(units))
    universe = ItemsetUniverse(miner, range(8, 9), catalogue_is_public=False)
    chosen = build_mechanism(mechanism, epsilon=Fraction(1), delta=Fraction(1, 10**6), neighbors=Neighbors.REPLACE_ONE)
    chosen.choose(universe, bits=SystemBits())
    assert 0 < miner.counted < 20_000_000


def test_many_itemsets_of_one_support_are_counted_where_nothing_lies_between() -> None:
    """Searches that end early find no threshold at which there are some, and not too many."""
    universe = unknown([[set(range(40))], [set(range(40))], [{40, 41}]] * 2, 42, range(6, 7))
    assert universe.top() == 4
    assert [(level.score, level.count) for level in universe.head(1)] == [(4, comb(40, 6))]
