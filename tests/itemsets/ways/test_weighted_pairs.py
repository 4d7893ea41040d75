"""The best pairs by noisy weights: what units give, the law, its privacy on neighbours, and twins that break it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.discovery import RELATIONS, SOME, Law, excess, law_of_sets, masses, neighbours
from support.oracles.itemsets import baskets_of, unknown_pairs
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.transactions import pairs as counting
from dpmine.itemsets.ways import discovery, weighted_pairs
from dpmine.itemsets.ways.discovery import Discover, Discovery
from dpmine.itemsets.ways.way import ListTerms
from dpmine.itemsets.ways.weighted_pairs import WeightedPairs
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import OneShot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.oracles.itemsets import Units

TINY = Fraction(1, 10**6)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units give 8, not 2^20, so that laws can be enumerated; one pair counts in full."""
    monkeypatch.setattr(weighted_pairs, "_WEIGHT", 8)
    monkeypatch.setattr(weighted_pairs, "PAIRS_IN_FULL", 1)
    monkeypatch.setattr(discovery, "LARGEST_WEIGHT", 8)


@every("relation", RELATIONS)
@every("rho", [Fraction(1, 10**8), Fraction(1, 1000), Fraction(1, 3), Fraction(50)])
def test_a_unit_gives_no_more_than_its_noise_covers(rho: Fraction, relation: Neighbors) -> None:
    way = WeightedPairs(5, rho, relation)
    weights = way.weights(300)
    assert weights[:10].tolist() == [way.weight] * 10
    longest = max(number * int(weight) ** 2 for number, weight in enumerate(weights, 1))
    assert longest <= 10 * way.weight**2
    moved = 10 * way.weight**2 * (2 if relation is Neighbors.REPLACE_ONE else 1)
    assert Fraction(moved, 2 * way.scale**2) <= way.zcdp.rho == rho < Fraction(moved, 2 * (way.scale - 1) ** 2)
    assert way.scale <= 2**30


@settings(max_examples=examples(100))
@given(
    st.lists(st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=3), min_size=1, max_size=8),
    st.sets(st.integers(0, 6), min_size=1).map(sorted),
    st.sampled_from([1, 5, 1 << 18]),
)
def test_weights_by_the_definition(units: Units, codes: list[int], at_once: int) -> None:
    weights = np.array([isqrt(10**6 // number) for number in range(1, 22)])
    expected: Counter[tuple[int, int]] = Counter()
    for unit in units:
        held = {pair for basket in unit for pair in combinations(sorted(set(basket) & set(codes)), 2)}
        expected.update(dict.fromkeys(held, int(weights[len(held) - 1])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_AT_ONCE", at_once)
        found = baskets_of(units, 7).pair_weights(codes, weights)
    places = {(codes[i], codes[j]): int(found[i, j]) for i, j in combinations(range(len(codes)), 2)}
    assert {pair: weight for pair, weight in places.items() if weight} == expected
    assert found.sum() == sum(expected.values())


def test_many_units_in_many_stretches() -> None:
    units: Units = [[{unit % 5, 5 + unit % 3}, {8, unit % 2}] for unit in range(300)]
    whole = baskets_of(units, 9).pair_weights(range(9), np.arange(100, 64, -1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_AT_ONCE", 150)
        assert baskets_of(units, 9).pair_weights(range(9), np.arange(100, 64, -1)).tolist() == whole.tolist()
    assert whole.sum() == 300 * 2 * 99


def law_of_the_best(way: WeightedPairs, sums: Sequence[int]) -> list[float]:
    """Of the place of the largest noisy sum, the first one where several are."""
    numbers, shares = masses(way.scale)
    low, high = min(sums) + numbers[0], max(sums) + numbers[-1]
    laws = np.zeros((len(sums), high - low + 1))
    for law, each in zip(laws, sums, strict=True):
        law[numbers + each - low] = shares
    at_most = np.cumsum(laws, axis=1)
    below = at_most - laws
    chances = []
    for place, law in enumerate(laws):
        others = np.prod(below[:place], axis=0) * np.prod(at_most[place + 1 :], axis=0)
        chances.append(float((law * others).sum()))
    return chances


def sums_of(way: WeightedPairs, units: Units, codes: Sequence[int]) -> list[int]:
    places = np.triu_indices(len(codes), 1)
    sums: list[int] = baskets_of(units, 3).pair_weights(codes, way.weights(len(places[0])))[places].tolist()
    return sums


def law_of_pairs(way: WeightedPairs, units: Units, codes: Sequence[int]) -> Law:
    return dict(zip(combinations(codes, 2), law_of_the_best(way, sums_of(way, units, codes)), strict=True))


@every("relation", RELATIONS)
@pytest.mark.usefixtures("few_steps")
def test_privacy_on_all_neighbours_of_small_data(relation: Neighbors) -> None:
    for rho in (Fraction(1, 4), Fraction(2)):
        way = WeightedPairs(1, rho, relation)
        laws = [law_of_pairs(way, units, range(3)) for units in (SOME, *neighbours(SOME, relation))]
        assert max(excess(laws[0], law, way.zcdp) for law in laws[1:]) <= 0


def together(relation: Neighbors) -> Discover:
    found = Discovery(Fraction(1, 2), Fraction(1, 5), relation, 3)
    none = OneShot.of_rounds(1, Fraction(1), relation)
    way = WeightedPairs(1, Fraction(1), relation)
    return Discover(1, Fraction(1), Fraction(1, 2), relation, (2, 2), found, (none,), (way,))


def law_of_lists(way: Discover, units: Units) -> Law:
    """Of the one pair that is chosen: every set of items, then the law of the best of its pairs."""
    sums = baskets_of(units, 3).item_weights(way.discovery.weights).tolist()
    last = way.weighted[0]
    assert last is not None
    law: Law = {}
    for items, mass in law_of_sets(way.discovery, sums).items():
        for pair, share in (law_of_pairs(last, units, items) if len(items) > 1 else {None: 1.0}).items():
            law[pair] = law.get(pair, 0.0) + mass * share
    return law


@every("relation", RELATIONS)
@pytest.mark.usefixtures("few_steps")
def test_privacy_of_list_and_discovery_together(relation: Neighbors) -> None:
    way = together(relation)
    claim = way.discovery.zcdp + WeightedPairs(1, Fraction(1), relation).zcdp
    laws = [law_of_lists(way, units) for units in (SOME, *neighbours(SOME, relation))]
    assert sum(laws[0].values()) == pytest.approx(1)
    assert max(excess(laws[0], law, claim) for law in laws[1:]) <= 0


@pytest.mark.statistical
@pytest.mark.usefixtures("few_steps")
def test_law_of_the_list() -> None:
    """Chi^2 of 1,500 lists at a nominal 1e-9."""
    way, baskets = together(Neighbors.ADD_REMOVE), baskets_of(SOME, 3)
    universe = unknown_pairs(baskets)
    seen = tally(lambda: next(iter(way.choose(universe, bits=SystemBits()).itemsets), None), 1500)
    assert chi_square_p(seen, law_of_lists(way, SOME)) > 1e-9


@pytest.mark.statistical
@pytest.mark.usefixtures("few_steps")
def test_law_of_the_best_pair() -> None:
    """Chi^2 of 3,000 choices at a nominal 1e-9: close sums, one of them 0; items 0 and 3 are not asked for."""
    units: Units = [[{1, 2}]] * 2 + [[{1, 4}]] + [[{0, 3, 4}]]
    way, baskets = WeightedPairs(1, Fraction(1, 4), Neighbors.REPLACE_ONE), baskets_of(units, 5)
    law = dict(zip([(1, 2), (1, 4), (2, 4)], law_of_the_best(way, [16, 8, 0]), strict=True))
    assert min(law.values()) > 0.1
    seen = tally(lambda: way.choose(baskets, [1, 2, 4], bits=SystemBits())[0], 3000)
    assert chi_square_p(seen, law) > 1e-9


# Twins, each broken in one place: the exact profile finds them.


@pytest.mark.usefixtures("few_steps")
def test_twin_that_forgets_that_a_unit_comes_and_another_goes() -> None:
    found = WeightedPairs(1, Fraction(1, 2), Neighbors.REPLACE_ONE)
    twin = WeightedPairs(1, Fraction(1, 2), Neighbors.ADD_REMOVE)
    near = [([a + 8, 0], [a, 8]) for a in range(-60, 61, 4)]
    assert not any(caught(found, found, one, other) for one, other in near)
    assert any(caught(twin, found, one, other) for one, other in near)


@pytest.mark.usefixtures("few_steps")
def test_twin_whose_units_give_every_pair_the_same() -> None:
    """By the total of the noisy sums of six pairs that one more unit has, the direction in which it moves them."""
    found = WeightedPairs(1, Fraction(1, 2), Neighbors.ADD_REMOVE)
    without = law_of_a_total(found, 6, 0)
    allowed, in_full = (law_of_a_total(found, 6, int(found.weights(6)[place])) for place in (5, 0))
    assert excess(allowed, without, found.zcdp) <= 0
    assert excess(in_full, without, found.zcdp) > 0.01


def law_of_a_total(way: WeightedPairs, pairs: int, weight: int) -> Law:
    numbers, shares = masses(way.scale)
    law = shares
    for _ in range(pairs - 1):
        law = np.convolve(law, shares)
    return dict(enumerate(law.tolist(), int(pairs * (numbers[0] + weight))))


def caught(way: WeightedPairs, claimed: WeightedPairs, sums: Sequence[int], others: Sequence[int]) -> bool:
    one, other = (dict(enumerate(law_of_the_best(way, each))) for each in (sums, others))
    return excess(one, other, claimed.zcdp) > 1e-12


# When pairs are weighted, and what comes out.


def test_pairs_are_weighted_where_a_shot_has_more_noise() -> None:
    def weighs(k: int, epsilon: str, relation: Neighbors, sizes: tuple[int, int] = (2, 2)) -> list[bool]:
        way = Discover.of(ListTerms(k, Fraction(epsilon), TINY, relation, sizes))
        for weighted, shot in zip(way.weighted, way.shots, strict=True):
            assert weighted is None or (weighted.count, weighted.neighbors) == (k, relation)
            assert weighted is None or shot.zcdp.rho <= weighted.rho <= shot.zcdp.rho * Fraction(101, 100)
        return [weighted is not None for weighted in way.weighted]

    assert all(weighs(50, "0.3", Neighbors.REPLACE_ONE))
    assert not any(weighs(49, "0.3", Neighbors.REPLACE_ONE))
    assert not any(weighs(100, "0.3", Neighbors.REPLACE_ONE, (2, 3)))
    assert weighs(100, "1", Neighbors.REPLACE_ONE) == [False] * 4 + [True]
    assert all(weighs(100, "0.3", Neighbors.ADD_REMOVE))
    assert not any(weighs(100, "1", Neighbors.ADD_REMOVE))


def test_what_is_found_decides_between_weights_and_a_shot(monkeypatch: pytest.MonkeyPatch) -> None:
    way = together(Neighbors.REPLACE_ONE)
    monkeypatch.setattr(discovery, "MOST_WEIGHTED_ITEMS", 2)
    monkeypatch.setattr(discovery, "shot_among", lambda *_given, **_bits: ((0,),))
    monkeypatch.setattr(WeightedPairs, "choose", lambda *_given, **_bits: ((1,),))
    universe = unknown_pairs(baskets_of(SOME, 3))
    for codes, expected in [([0, 1], (1,)), ([0, 1, 2], (0,))]:
        seen = discovery.Found(np.array(codes), 1, np.zeros(len(codes), np.int64))
        monkeypatch.setattr(Discovery, "find", lambda *_given, seen=seen, **_bits: seen)
        assert way.choose(universe, bits=SystemBits()).itemsets == (expected,)


def test_every_number_of_looks_has_weights_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    way = Discover.of(ListTerms(50, Fraction(3, 10), TINY, Neighbors.REPLACE_ONE, (2, 2)))
    universe = unknown_pairs(baskets_of(SOME, 3))
    used: list[Any] = []
    monkeypatch.setattr(WeightedPairs, "choose", lambda self, *_given, **_bits: used.append(self))
    for looks in range(1, len(way.weighted) + 1):
        seen = discovery.Found(np.array([0, 1]), looks, np.zeros(2, np.int64))
        monkeypatch.setattr(Discovery, "find", lambda *_given, seen=seen, **_bits: seen)
        way.choose(universe, bits=SystemBits())
    assert used == list(way.weighted)
    spent = [sum(way.discovery.budgets[:looks]) + each.rho for looks, each in enumerate(used, 1)]
    assert max(spent) <= way.zcdp.rho


@every(
    "k, epsilon, words", [(100, "1", "or, after an early look, or with"), (50, "0.3", "counts, or, with more than 512")]
)
def test_the_budget_says_what_is_possible(k: int, epsilon: str, words: str) -> None:
    assert words in Discover.of(ListTerms(k, Fraction(epsilon), TINY, Neighbors.REPLACE_ONE, (2, 2))).rounds()
    assert "weighted" not in Discover.of(ListTerms(10, Fraction(epsilon), TINY, Neighbors.REPLACE_ONE, (2, 2))).rounds()


def test_a_budget_that_is_too_small() -> None:
    with pytest.raises(BadParameter, match="epsilon is too small"):
        WeightedPairs(50, Fraction(1, 10**18), Neighbors.REPLACE_ONE)


@every("items", [[], [4]])
def test_no_pair_of_less_than_two_items(items: list[int]) -> None:
    way = WeightedPairs(5, Fraction(1), Neighbors.REPLACE_ONE)
    assert way.choose(baskets_of([[{4, 5}]]), items, bits=SystemBits()) == ()


def test_a_large_budget_finds_the_best_in_order() -> None:
    units: Units = [[{0, 1, 2}]] * 50 + [[{0, 1}]] * 50 + [[{2, 3}]] * 20
    way = WeightedPairs(4, Fraction(10**6), Neighbors.REPLACE_ONE)
    moved: Units = [[{3 * item + 1 for item in basket} for basket in unit] for unit in units]
    best = way.choose(baskets_of(moved), [1, 4, 7, 10], bits=SystemBits())
    assert best[0] == (1, 4)
    assert set(best) == {(1, 4), (1, 7), (4, 7), (7, 10)}
    assert best[3] == (7, 10)
