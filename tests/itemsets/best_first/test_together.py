"""Itemsets that are counted at once: what units add is right, one unit moves it little, and intervals hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import cos, inf, pi, sqrt
from typing import TYPE_CHECKING, ClassVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Counts, Plain
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import Goal
from dpmine.itemsets.best_first.together import (
    HEAVIEST,
    LOADS,
    Likely,
    Together,
    best_limit,
    loads_of_units,
    shared_supports,
)
from dpmine.itemsets.release.noise import DiscreteGaussian
from dpmine.itemsets.transactions.repeated import RepeatedUnits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.exact.bits import BitSource

ITEMS = range(4)
ITEMSETS = list(chain.from_iterable(combinations(ITEMS, size) for size in range(1, 4)))
BASKETS = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=3)
UNITS = st.lists(BASKETS, min_size=1, max_size=90)
NOISE, LEVEL = DiscreteGaussian(Fraction(1)), Fraction(9, 10)
HEAVY = 3
WEIGHTS = st.lists(st.integers(1, HEAVY), min_size=len(ITEMSETS), max_size=len(ITEMSETS))
EQUAL = (1,) * len(ITEMSETS)
Unit = list[frozenset[int]]


def holds(unit: Unit, itemset: tuple[int, ...]) -> bool:
    return any(basket.issuperset(itemset) for basket in unit)


def holdings(units: list[Unit]) -> Holdings:
    """In two parts."""
    cut = len(units) // 3
    return Holdings([baskets_of(part, len(ITEMS)) for part in (units[:cut], units[cut:]) if part], ITEMS)


def likely(weights: Sequence[int] = EQUAL, heaviest: int = 1) -> Likely:
    return Likely(ITEMSETS, weights, [1.0] * len(ITEMSETS), 1.0, [0.0] * len(ITEMSETS), heaviest)


def added(together: Together, units: list[Unit], weighed: Likely) -> list[int]:
    return shared_supports(holdings(units).parts, weighed, together.limit, together.whole)


def loads(units: list[Unit], weighed: Likely) -> list[int]:
    """By the definition."""
    return [
        sum(weight**2 for weight, itemset in zip(weighed.weights, ITEMSETS, strict=True) if holds(unit, itemset))
        for unit in units
    ]


@given(UNITS, WEIGHTS, st.integers(1, 6), st.integers(2, 5))
def test_a_unit_stands_for_equal_ones(units: list[Unit], weights: list[int], limit: int, times: int) -> None:
    once, weighed = RepeatedUnits(**vars(baskets_of(units, len(ITEMS))), times=times), likely(weights, HEAVY)
    parts, repeated = Holdings([once], ITEMS).parts, holdings(units * times).parts
    assert shared_supports(parts, weighed, limit, 64) == shared_supports(repeated, weighed, limit, 64)
    assert loads_of_units(parts, weighed, (1, 2)) == loads_of_units(repeated, weighed, (1, 2))


@given(UNITS, WEIGHTS, st.integers(1, 6))
def test_units_add_shares_by_what_they_hold(units: list[Unit], weights: list[int], limit: int) -> None:
    weighed, whole = likely(weights, HEAVY), 1 << 20
    expected = [0.0] * (len(ITEMSETS) + 1)
    for unit, load in zip(units, loads(units, weighed), strict=True):
        share = min(1.0, sqrt(limit * HEAVY**2 / load))
        expected[-1] += HEAVY * (1 - share)
        for place, itemset in enumerate(ITEMSETS):
            expected[place] += share * weights[place] * holds(unit, itemset)
    found = shared_supports(holdings(units).parts, weighed, limit, whole)
    assert [each / whole for each in found] == pytest.approx(expected, abs=HEAVY * len(units) / whole)


@given(UNITS, WEIGHTS)
def test_loads_beyond_each_end_are_counted(units: list[Unit], weights: list[int]) -> None:
    weighed, ends = likely(weights, HEAVY), (1, 2, 5)
    found = [load / HEAVY**2 for load in loads(units, weighed)]
    expected = [sum(low < load <= high for load in found) for low, high in ((1, 2), (2, 5), (5, inf))]
    assert loads_of_units(holdings(units).parts, weighed, ends) == expected


@pytest.mark.parametrize("times", [1, 2])
@given(units=UNITS, others=BASKETS, weights=WEIGHTS, limit=st.integers(1, 6), whole=st.sampled_from([2, 3, 64]))
def test_one_unit_moves_sums_and_loads_by_the_cap(
    units: list[Unit], others: Unit, weights: list[int], limit: int, whole: int, times: int
) -> None:
    """Out of the data, or replaced by another one."""
    together, weighed = Together(NOISE, times, LEVEL, limit, whole), likely(weights, HEAVY)
    changed = [*units[1:], *([others] if times == 2 else [])]
    assert _moved(*(added(together, each, weighed) for each in (units, changed))) <= together.squared_sensitivity(
        weighed
    )
    assert _moved(*(loads_of_units(holdings(each).parts, weighed, LOADS) for each in (units, changed))) <= times


def _moved(left: list[int], right: list[int]) -> int:
    return sum((one - other) ** 2 for one, other in zip(left, right, strict=True))


@pytest.mark.parametrize(("times", "units"), [(1, [[frozenset({0})], []]), (2, [[frozenset({0})], [frozenset({1})]])])
def test_the_cap_is_reached_but_for_what_is_missing(times: int, units: list[Unit]) -> None:
    together = Together(NOISE, times, LEVEL, 1, 4)
    left, right = (
        added(together, [each, [frozenset({3})]] if each else [[frozenset({3})]], likely()) for each in units
    )
    assert _moved(left, right) == together.squared_sensitivity(likely()) - 16


def test_the_limit_is_larger_where_units_hold_more_or_noise_is_less() -> None:
    """Nobody has a large load; many have one of about 20, of 100,000 itemsets in all."""
    few, many, weighed = (
        [0] * len(LOADS),
        [0] * 7 + [2000] + [0] * 3,
        Likely([(0,)] * 50, [4] * 50, [2000.0] * 50, 2000.0, [0.0] * 50, 4),
    )
    strong, weak = DiscreteGaussian(Fraction(1, 10**5)), DiscreteGaussian(Fraction(1))
    assert best_limit(few, weighed, weak, 1) == LOADS[0]
    assert best_limit(many, weighed, weak, 1) == 24
    assert LOADS[0] <= best_limit(many, weighed, strong, 1) < 24


class Extreme(DiscreteGaussian):
    """As large as intervals allow for, of either sign: in the sums, in what is missing, or, smaller, in both."""

    angles: ClassVar[Iterator[float]]

    def draw(self, count: int, *, bits: BitSource) -> int:
        return int(cos(next(self.angles)) * self.half_width(count, LEVEL)) * (1 if bits.take(1) else -1)


@given(UNITS, WEIGHTS, st.integers(1, 6), st.floats(0, pi / 2))
def test_intervals_hold(units: list[Unit], weights: list[int], limit: int, angle: float) -> None:
    """Both noises of a support are together within what Gaussian ones would be."""
    Extreme.angles = iter([*[angle] * len(ITEMSETS), pi / 2 - angle])
    counts = Counts(Plain(), lambda _: 5, lambda: 0, 1.0, len(ITEMSETS))
    for itemset in ITEMSETS:
        counts.ask(itemset)
    together = Together(cast("DiscreteGaussian", Extreme(Fraction(1))), 1, LEVEL, limit)
    found = together.count(holdings(units), counts, likely(weights, HEAVY), SystemBits())
    for itemset, support in found.items():
        assert support.low <= sum(holds(unit, itemset) for unit in units) <= support.high


class Quiet(DiscreteGaussian):
    """No noise."""

    def draw(self, count: int, *, bits: BitSource) -> int:
        return 0


def test_what_large_loads_leave_out_is_made_up_for() -> None:
    """Three tenths of the units hold all that is counted, and add two fifths of it."""
    units: list[Unit] = [[frozenset(ITEMS)]] * 300 + [[frozenset({unit % 4})] for unit in range(700)]
    counts = Counts(Plain(), lambda _: 300, lambda: 0, 1e9, len(ITEMSETS))
    for itemset in ITEMSETS:
        counts.ask(itemset)
    together = Together(cast("DiscreteGaussian", Quiet(Fraction(1))), 1, LEVEL, 2, heavy=300)
    found = together.count(holdings(units), counts, likely(), SystemBits())
    for itemset, support in found.items():
        assert support.value == pytest.approx(sum(holds(unit, itemset) for unit in units), rel=0.25)


def test_the_better_measure_counts_for_more() -> None:
    units: list[Unit] = [[frozenset({0})]] * 1000
    for variance, least, most in [(1e-6, 4.9, 5.1), (1e6, 950, 1050)]:
        counts = Counts(Plain(), lambda _: 5, lambda: 0, variance, 1)
        counts.ask((0,))
        single = Likely([(0,)], [1], [5.0], 1.0, [0.0], 1)
        value = Together(NOISE, 1, LEVEL, 15).count(holdings(units), counts, single, SystemBits())[0,].value
        assert least < value < most


def test_wanted_itemsets_and_those_near_the_border_are_likely() -> None:
    """The heavier, the less units have them."""
    counts = Counts(Plain(), lambda itemset: 100 * (1 + itemset[0]), lambda: 0, 10.0**2, 9)
    counts.answers[EVERYBODY] = Answers(1.0, 1000, 1)
    for item in range(9):
        counts.ask((item,))
    itemsets = [(item,) for item in range(9)]

    def found(goal: Goal, exhausted: int) -> Likely:
        return Likely.of(counts, itemsets, goal, exhausted, whole=5)

    assert found(Goal((1, 1), 4), 0).itemsets == itemsets[5:]
    assert found(Goal((1, 1), 5), 500).lacks == [0.0, 50.0, 50.0, 50.0, 50.0]
    assert found(Goal((1, 1), None, 400), 0).itemsets == itemsets[3:]
    everything = found(Goal((1, 1), 9), 0)
    assert everything.itemsets == itemsets
    assert everything.weights == [round(HEAVIEST / (1 + item) ** 0.75) for item in range(9)]
    assert (everything.least, found(Goal((1, 1), 4), 0).least) == (100, 550)
