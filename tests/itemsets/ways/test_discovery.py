"""Items that many units have: the law of what is released, its privacy on neighbours, and twins that break it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import exp, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support.cases import every
from support.datasets import shared_path
from support.effort import examples
from support.oracles.discovery import (
    RELATIONS,
    SOME,
    Law,
    at_once,
    excess,
    law_of_sets,
    masses,
    neighbours,
)
from support.oracles.itemsets import all_supports, baskets_of, unknown_pairs
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.exact.noise import discrete_gaussian_array
from dpmine.itemsets.ways import discovery as module
from dpmine.itemsets.ways.discovery import Discover, Discovery
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors, Zcdp
from dpmine.selection.top_k import OneShot
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.oracles.itemsets import Units

NEVER = 10**9  # items, which no look finds


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units give 8, not 2^20, so that laws can be enumerated."""
    monkeypatch.setattr(module, "LARGEST_WEIGHT", 8)


def released(found: Discovery, weight: int) -> float:
    """The probability that an item of this weight is released, all looks being taken: by convolution."""
    law: dict[int, float] = {0: 1.0}
    hidden = law
    for part, scale, threshold in zip(found.looks, found.scales, found.thresholds, strict=True):
        law = {}
        numbers, shares = masses(scale)
        for total, mass in hidden.items():
            for number, share in zip(numbers.tolist(), shares.tolist(), strict=True):
                value = total + part * (weight + number)
                if value < threshold:
                    law[value] = law.get(value, 0.0) + mass * share
        hidden = law
    return 1 - sum(hidden.values()) if weight else 0.0


def test_thresholds_of_the_vectors() -> None:
    for case in json.loads(shared_path("vectors/zcdp.json").read_text())["discovery_threshold"]:
        rho, delta = 1 / Fraction(case["sigma"]) ** 2, Fraction(case["delta"])
        found = Discovery(rho, delta, Neighbors.REPLACE_ONE, int(case["D"]))
        assert 0 <= found.thresholds[0] / found.weight / float(case["T"]) - 1 < 1e-6


@every("relation", RELATIONS)
@every("rho", [Fraction(1, 10**11), Fraction(1, 1000), Fraction(1, 3), Fraction(50)])
def test_a_unit_gives_no_more_than_its_noise_covers(rho: Fraction, relation: Neighbors) -> None:
    found = Discovery(rho, Fraction(1, 10**6), relation, 100, (1, 1, 2))
    lengths = [count * int(weight) ** 2 for count, weight in enumerate(found.weights, 1)]
    assert max(lengths) <= found.weight**2
    moved = found.weight**2 * (2 if relation is Neighbors.REPLACE_ONE else 1)
    costs = [Fraction(moved, 2 * scale**2) for scale in found.scales]
    assert all(cost <= most for cost, most in zip(costs, found.budgets, strict=True))
    assert sum(found.budgets) == found.budget == found.zcdp.rho
    assert max(found.scales) <= 2**30


def test_a_budget_that_is_too_small_to_find_anything() -> None:
    with pytest.raises(BadParameter, match="epsilon is too small"):
        Discovery(Fraction(1, 10**20), Fraction(1, 10**6), Neighbors.REPLACE_ONE)


@every("looks", [(1,), (1, 1, 2)])
def test_an_item_of_one_unit_is_rare_enough_however_many_the_unit_has(looks: tuple[int, ...]) -> None:
    found = Discovery(Fraction(1, 7), Fraction(1, 1000), Neighbors.REPLACE_ONE, 30, looks)
    for place, threshold in enumerate(found.thresholds, 1):
        copies = sum(looks[:place])
        sigma = sqrt(sum(a**2 * s**2 for a, s in zip(looks[:place], found.scales, strict=False)))
        tails = [
            1 - (1 - norm.sf((threshold - copies * (int(weight) + 1)) / sigma)) ** count
            for count, weight in enumerate(found.weights, 1)
        ]
        assert max(tails) <= 1e-3 / len(looks) * (1 + 1e-9)
        assert max(tails) >= 1e-3 / len(looks) * (1 - 1e-4)


@every("scale", [1, 2, 3, 10])
def test_whole_noise_is_below_gaussian_noise_and_one(scale: int) -> None:
    numbers, shares = masses(scale)
    tails = np.cumsum(shares[::-1])[::-1]
    near = np.abs(numbers) <= 8 * scale
    assert (tails[near] <= norm.sf((numbers[near] - 1) / scale) * (1 + 1e-12)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1, 2, 3, 2**20])
def test_law_of_arrays_of_noise(scale: int) -> None:
    """Chi^2 of 20,000 numbers at a nominal 1e-9; large scales by bins of half a scale."""
    step = max(1, scale // 2)
    seen = tally(lambda: None, 0)
    for number in discrete_gaussian_array(20_000, scale, bits=SystemBits()).tolist():
        seen[number // step] += 1
    edges = np.arange(-8 * scale // step, 8 * scale // step + 1)
    if scale < 10:
        numbers, shares = masses(scale)
        expected = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    else:
        expected = {int(edge): float(norm.cdf((edge + 1) / 2) - norm.cdf(edge / 2)) for edge in edges}
    assert chi_square_p(seen, expected) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("looks", [(1,), (1, 2)])
@pytest.mark.usefixtures("few_steps")
def test_law_of_what_is_released(looks: tuple[int, ...]) -> None:
    """Against the convolution of the noises: chi^2 of 3,000 discoveries of three items at a nominal 1e-9."""
    found = Discovery(Fraction(4), Fraction(1, 10), Neighbors.REPLACE_ONE, 3, looks, NEVER)
    sums = np.array([10, 0, 16, 13])
    expected = law_of_sets(found, sums.tolist(), released)
    seen = tally(lambda: tuple(found.release(sums, bits=SystemBits()).codes.tolist()), 3000)
    assert chi_square_p(seen, expected) > 1e-9


@pytest.mark.usefixtures("few_steps")
def test_looks_end_with_enough_items() -> None:
    found = Discovery(Fraction(10), Fraction(1, 10), Neighbors.REPLACE_ONE, 3, (1, 2, 3), 2)
    many = found.release(np.array([10**6, 10**6, 0]), bits=SystemBits())
    assert (many.codes.tolist(), many.looks) == ([0, 1], 1)
    few = found.release(np.array([10**6, 0, 0]), bits=SystemBits())
    assert (few.codes.tolist(), few.looks) == ([0], 3)
    assert found.release(np.zeros(0, np.int64), bits=SystemBits()).looks == 3
    below = np.array([1, 1, 1])  # held by units, but far below every threshold
    assert replace(found, delta=Fraction(1, 10**300)).release(below, bits=SystemBits()).looks == 3


@every("relation", RELATIONS)
@pytest.mark.usefixtures("few_steps")
def test_privacy_on_all_neighbours_of_small_data(relation: Neighbors) -> None:
    """The exact profile of the released set, with thresholds among the weights, against what (ρ, δ) implies."""
    for rho, delta in product((Fraction(1, 4), Fraction(2)), (Fraction(1, 10**3), Fraction(1, 5))):
        found = Discovery(rho, delta, relation, 3)
        laws = [law_of_sets(found, sums_of(found, units)) for units in (SOME, *neighbours(SOME, relation))]
        assert max(excess(laws[0], law, found.zcdp) for law in laws[1:]) <= 0


@pytest.mark.usefixtures("few_steps")
def test_privacy_of_several_looks() -> None:
    found = Discovery(Fraction(2), Fraction(1, 5), Neighbors.REPLACE_ONE, 3, (1, 2), NEVER)
    laws = [law_of_sets(found, sums_of(found, units), released) for units in (SOME, [*SOME[1:], [{1, 2}]])]
    assert excess(laws[0], laws[1], found.zcdp) <= 0


def sums_of(found: Discovery, units: Units, items: int = 3) -> list[int]:
    sums: list[int] = baskets_of(units, items).item_weights(found.weights).tolist()
    return sums


# Twins, each broken in one place: the audit above finds them.


def caught(found: Discovery, claim: Zcdp, sums: Sequence[int], others: Sequence[int]) -> bool:
    return excess(law_of_sets(found, sums), law_of_sets(found, others), claim) > 1e-12


@pytest.mark.usefixtures("few_steps")
def test_twin_whose_threshold_is_for_one_item() -> None:
    """A unit with three items of its own has three chances to show."""
    found = Discovery(Fraction(1, 50), Fraction(1, 10**3), Neighbors.REPLACE_ONE, 3)
    twin = Discovery(Fraction(1, 50), Fraction(1, 10**3), Neighbors.REPLACE_ONE, 1)
    own, none = [int(found.weights[2])] * 3, [0] * 3
    assert not caught(found, found.zcdp, own, none)
    assert at_once(twin, own[0]) * 2.9 > twin.delta
    assert caught(twin, twin.zcdp, own, none)


@pytest.mark.usefixtures("few_steps")
def test_twin_that_forgets_that_a_unit_comes_and_another_goes() -> None:
    found = Discovery(Fraction(1, 2), Fraction(1, 10**9), Neighbors.REPLACE_ONE, 1)
    twin = replace(found, neighbors=Neighbors.ADD_REMOVE)
    near = list(product(range(1, 2 * twin.thresholds[0], 6), repeat=2))
    assert not any(caught(found, found.zcdp, [a + 8, b], [a, b + 8]) for a, b in near)
    assert any(caught(twin, found.zcdp, [a + 8, b], [a, b + 8]) for a, b in near)


def test_twin_whose_weights_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With S = 2, a unit of two items would give 2 to each: a length of 2.8."""
    monkeypatch.setattr(module, "LARGEST_WEIGHT", 2)
    found = Discovery(Fraction(1, 2), Fraction(1, 10**9), Neighbors.ADD_REMOVE, 2)
    assert found.weights.tolist() == [2, 1]
    near = list(product(range(0, 2 * found.thresholds[0], 2), repeat=2))
    assert not any(caught(found, found.zcdp, [a + 1, b + 1], [a, b]) for a, b in near if a and b)
    assert any(caught(found, found.zcdp, [a + 2, b + 2], [a, b]) for a, b in near if a and b)


@pytest.mark.usefixtures("few_steps")
def test_twin_whose_cut_depends_on_other_units() -> None:
    """Where units keep the items that most units have, one unit changes what all the others keep."""
    found = Discovery(Fraction(1, 2), Fraction(1, 10**6), Neighbors.REPLACE_ONE, 1)
    units: Units = [[{0, 1}]] * 20
    one, other = [*units, [{0}]], [*units, [{1}]]
    assert not caught(found, found.zcdp, sums_of(found, one, 2), sums_of(found, other, 2))
    assert caught(found, found.zcdp, by_popularity(found, one), by_popularity(found, other))


def by_popularity(found: Discovery, units: Units) -> list[int]:
    popular = max(all_supports(units, 1).items(), key=lambda pair: pair[1])[0][0]
    kept = [[{popular}] if popular in set().union(*unit) else unit for unit in units]
    return sums_of(found, kept, 2)


@given(
    st.lists(st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=3), min_size=1, max_size=8),
    st.integers(1, 4),
)
@settings(max_examples=examples(100))
def test_weights_by_the_definition(units: list[list[set[int]]], limit: int) -> None:
    baskets, weights = baskets_of(units, 7), np.array([100, 70, 57, 50][:limit])
    expected = np.zeros(7, np.int64)
    for unit in units:
        left = baskets_of([unit], 7).truncated(limit)
        kept = np.unique(left.items)
        expected[kept] += weights[len(kept) - 1]
    assert baskets.item_weights(weights).tolist() == expected.tolist()


# The list: items that are found, then itemsets of these.


def small_way(relation: Neighbors, discovery: Discovery, round_epsilon: Fraction, count: int = 1) -> Discover:
    shot = OneShot.of_rounds(count, round_epsilon, relation)
    return Discover(count, Fraction(1), Fraction(1, 2), relation, (2, 2), discovery, (shot,), (None,))


def law_of_lists(way: Discover, units: Units) -> Law:
    """Of the one pair that is chosen: every set of items, then the softmax of the supports of its pairs."""
    discovery, supports = way.discovery, all_supports(units, 2)
    law: Law = {}
    for items, mass in law_of_sets(discovery, sums_of(discovery, units)).items():
        add_choice(law, items, mass, supports, way.itemsets)
    return law


@every("relation", RELATIONS)
@pytest.mark.usefixtures("few_steps")
def test_privacy_of_list_and_discovery_together(relation: Neighbors) -> None:
    discovery = Discovery(Fraction(1, 2), Fraction(1, 5), relation, 3)
    way = small_way(relation, discovery, Fraction(1))
    claim = discovery.zcdp + way.itemsets.zcdp
    laws = [law_of_lists(way, units) for units in (SOME, *neighbours(SOME, relation))]
    assert max(excess(laws[0], law, claim) for law in laws[1:]) <= 0


def test_every_number_of_looks_has_a_budget_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    way = Discover.of(ListTerms(5, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE, (2, 2)))
    universe = unknown_pairs(baskets_of(SOME, 3))
    seen_by: list[Any] = []
    for looks in range(1, len(way.shots) + 1):
        seen = module.Found(np.array([0, 1]), looks, np.zeros(2, np.int64))
        monkeypatch.setattr(Discovery, "find", lambda *_given, seen=seen, **_bits: seen)
        monkeypatch.setattr(module, "shot_among", lambda _universe, *given, **_bits: seen_by.append(given))
        way.choose(universe, bits=SystemBits())
    assert seen_by == [([0, 1], shot) for shot in way.shots]


def law_of_two_looks(way: Discover, units: Units) -> Law:
    """Of the pair that is chosen where a second look is taken only if the first one finds no item."""
    discovery, supports = way.discovery, all_supports(units, 2)
    sums = sums_of(discovery, units)
    first = replace(discovery, budget=discovery.budgets[0], delta=discovery.delta / 2, looks=(1,))
    assert (first.scales, first.thresholds) == (discovery.scales[:1], discovery.thresholds[:1])
    early = [at_once(first, weight) for weight in sums]
    late = [released(discovery, weight) - chance for weight, chance in zip(sums, early, strict=True)]
    law: Law = {}
    for kept in product((False, True), repeat=len(sums)):
        items = np.flatnonzero(kept).tolist()
        mass = float(np.prod([p if keep else 1 - p for keep, p in zip(kept, early, strict=True)]))
        if items:
            add_choice(law, items, mass, supports, way.shots[0])
        parts = [q if keep else 1 - p - q for keep, p, q in zip(kept, early, late, strict=True)]
        add_choice(law, items, float(np.prod(parts)), supports, way.shots[1])
    return law


def add_choice(law: Law, items: Sequence[int], mass: float, supports: Any, shot: OneShot) -> None:
    rate = float(shot.round_epsilon) / (2 if shot.neighbors is Neighbors.REPLACE_ONE else 1)
    shares: dict[Any, float] = {pair: exp(rate * supports[pair]) for pair in combinations(items, 2)}
    for pair, share in (shares or {None: 1.0}).items():
        law[pair] = law.get(pair, 0.0) + mass * share / (sum(shares.values()) or 1.0)


def two_looks(relation: Neighbors) -> Discover:
    discovery = Discovery(Fraction(1), Fraction(1, 5), relation, 3, (1, 1), 1)
    budgets = (Fraction(2), Fraction(8, 5))  # ε²/8 = 1/2 beside one look of 1/2, 8/25 beside two
    shots = tuple(OneShot.of_rounds(1, each, relation) for each in budgets)
    return Discover(1, Fraction(1), Fraction(1, 2), relation, (2, 2), discovery, shots, (None, None))


@pytest.mark.slow
@every("relation", RELATIONS)
@pytest.mark.usefixtures("few_steps")
def test_privacy_where_what_was_found_decides_on_the_budget(relation: Neighbors) -> None:
    way = two_looks(relation)
    claim = Zcdp(way.discovery.budget + way.shots[1].zcdp.rho, way.discovery.delta)
    laws = [law_of_two_looks(way, units) for units in (SOME, *neighbours(SOME, relation))]
    assert sum(laws[0].values()) == pytest.approx(1)
    assert max(excess(laws[0], law, claim) for law in laws[1:]) <= 0


@pytest.mark.statistical
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("looks", [1, 2])
def test_law_of_the_list(looks: int) -> None:
    """Chi^2 of 1,500 lists at a nominal 1e-9 each."""
    relation, universe = Neighbors.ADD_REMOVE, unknown_pairs(baskets_of(SOME, 3))
    one_look = small_way(relation, Discovery(Fraction(1, 2), Fraction(1, 2), relation, 3), Fraction(1))
    way, law = (one_look, law_of_lists) if looks == 1 else (two_looks(relation), law_of_two_looks)
    seen = tally(lambda: next(iter(way.choose(universe, bits=SystemBits()).itemsets), None), 1500)
    assert chi_square_p(seen, law(way, SOME)) > 1e-9


@every("epsilon", [Fraction(1, 100), Fraction(3, 10), Fraction(1), Fraction(40)])
@every("relation", RELATIONS)
def test_no_path_costs_more_than_the_claim(relation: Neighbors, epsilon: Fraction) -> None:
    way = Discover.of(ListTerms(20, epsilon, Fraction(1, 10**6), relation, (2, 3)))
    for looks, shot in enumerate(way.shots, 1):
        spent = sum(way.discovery.budgets[:looks], Fraction(0)) + shot.zcdp.rho
        assert way.zcdp.rho * Fraction(99, 100) < spent <= way.zcdp.rho
    assert delta_at(way.zcdp.rho, epsilon) + way.zcdp.delta <= Fraction(1, 10**6)


def test_enough_items_have_itemsets_for_all_places() -> None:
    enough = [
        Discover.of(ListTerms(k, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE, sizes)).discovery.enough
        for k, sizes in [(10, (2, 2)), (1000, (2, 2)), (100, (1, 1))]
    ]
    assert enough == [60, 90, 400]


def test_a_large_budget_finds_the_best() -> None:
    units: Units = [[{0, 1, 2}]] * 50 + [[{0, 1}]] * 50 + [[{3, 4}]]
    universe = unknown_pairs(baskets_of(units))
    way = Discover.of(ListTerms(1, Fraction(4000), Fraction(1, 10**6), Neighbors.REPLACE_ONE, (2, 2)))
    assert way.choose(universe, bits=SystemBits()).itemsets == ((0, 1),)
    nothing = Discover.of(ListTerms(1, Fraction(1, 10), Fraction(1, 10**6), Neighbors.REPLACE_ONE, (2, 2)))
    assert nothing.choose(universe, bits=SystemBits()).itemsets == ()
