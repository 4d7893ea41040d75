"""Itemsets that are counted at once: what units add is right, one unit moves it little, and intervals hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import sqrt
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Counts, Plain
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import Goal
from dpmine.itemsets.best_first.together import WHOLE, Together, shared_supports, uncertain
from dpmine.itemsets.release.noise import DiscreteGaussian
from dpmine.itemsets.transactions.repeated import RepeatedUnits

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

ITEMS = range(4)
ITEMSETS = list(chain.from_iterable(combinations(ITEMS, size) for size in range(1, 4)))
BASKETS = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=3)
UNITS = st.lists(BASKETS, min_size=1, max_size=90)
NOISE, LEVEL = DiscreteGaussian(Fraction(1)), Fraction(9, 10)
Unit = list[frozenset[int]]


def holds(unit: Unit, itemset: tuple[int, ...]) -> bool:
    return any(basket.issuperset(itemset) for basket in unit)


def holdings(units: list[Unit]) -> Holdings:
    """In two parts."""
    cut = len(units) // 3
    return Holdings([baskets_of(part, len(ITEMS)) for part in (units[:cut], units[cut:]) if part], ITEMS)


def added(together: Together, units: list[Unit]) -> list[int]:
    shares = together.shares(len(ITEMSETS))
    return shared_supports(holdings(units).parts, ITEMSETS, shares)


@given(UNITS, st.integers(1, 6), st.integers(2, 5))
def test_a_unit_stands_for_equal_ones(units: list[Unit], most: int, times: int) -> None:
    shares = Together(NOISE, 1, LEVEL, most).shares(len(ITEMSETS))
    once = RepeatedUnits(**vars(baskets_of(units, len(ITEMS))), times=times)
    found = shared_supports(Holdings([once], ITEMS).parts, ITEMSETS, shares)
    assert found == shared_supports(holdings(units * times).parts, ITEMSETS, shares)


@given(UNITS, st.integers(1, 6))
def test_units_add_shares_by_what_they_hold(units: list[Unit], most: int) -> None:
    found = added(Together(NOISE, 1, LEVEL, most), units)
    expected = [0.0] * len(found)
    for unit in units:
        held = [place for place, itemset in enumerate(ITEMSETS) if holds(unit, itemset)]
        share = min(1.0, sqrt(most / len(held)))
        expected[-1] += 1 - share
        for place in held:
            expected[place] += share
    assert [each / WHOLE for each in found] == pytest.approx(expected, abs=len(units) / WHOLE)


@pytest.mark.parametrize("times", [1, 2])
@given(units=UNITS, others=BASKETS, most=st.integers(1, 6), whole=st.sampled_from([2, 3, 64]))
def test_one_unit_moves_all_sums_by_the_cap(units: list[Unit], others: Unit, most: int, whole: int, times: int) -> None:
    """Out of the data, or replaced by another one."""
    together = Together(NOISE, times, LEVEL, most, whole)
    left, right = added(together, units), added(together, [*units[1:], *([others] if times == 2 else [])])
    moved = sum((one - other) ** 2 for one, other in zip(left, right, strict=True))
    assert moved <= together.squared_sensitivity(len(ITEMSETS))


@pytest.mark.parametrize(("times", "units"), [(1, [[frozenset({0})], []]), (2, [[frozenset({0})], [frozenset({1})]])])
def test_the_cap_is_reached_but_for_what_is_missing(times: int, units: list[Unit]) -> None:
    together = Together(NOISE, times, LEVEL, 1, 4)
    left, right = (added(together, [each, [frozenset({3})]] if each else [[frozenset({3})]]) for each in units)
    moved = sum((one - other) ** 2 for one, other in zip(left, right, strict=True))
    assert moved == together.squared_sensitivity(len(ITEMSETS)) - 16


class Extreme(DiscreteGaussian):
    """As large as intervals allow for, of either sign."""

    def draw(self, count: int, *, bits: BitSource) -> int:
        return self.half_width(count, LEVEL) * (1 if bits.take(1) else -1)


@given(UNITS, st.integers(1, 6))
def test_intervals_hold(units: list[Unit], most: int) -> None:
    counts = Counts(Plain(), lambda _: 5, lambda: 0, 1.0, len(ITEMSETS))
    for itemset in ITEMSETS:
        counts.ask(itemset)
    together = Together(cast("DiscreteGaussian", Extreme(Fraction(1))), 1, LEVEL, most)
    found = together.count(holdings(units), counts, ITEMSETS, 0.0, SystemBits())
    for itemset, support in found.items():
        assert support.low <= sum(holds(unit, itemset) for unit in units) <= support.high


def test_the_better_measure_counts_for_more() -> None:
    units: list[Unit] = [[frozenset({0})]] * 1000
    for variance, least, most in [(1e-6, 4.9, 5.1), (1e6, 950, 1050)]:
        counts = Counts(Plain(), lambda _: 5, lambda: 0, variance, 1)
        counts.ask((0,))
        value = Together(NOISE, 1, LEVEL).count(holdings(units), counts, [(0,)], 0.0, SystemBits())[0,].value
        assert least < value < most


def test_itemsets_near_the_border_are_uncertain() -> None:
    counts = Counts(Plain(), lambda itemset: 100 * (1 + itemset[0]), lambda: 0, 10.0**2, 9)
    counts.answers[EVERYBODY] = Answers(1.0, 1000, 1)
    for item in range(9):
        counts.ask((item,))
    itemsets = [(item,) for item in range(9)]
    assert uncertain(counts, itemsets, Goal((1, 1), 4), 0) == ([], 0.0)
    assert uncertain(counts, itemsets, Goal((1, 1), 4), 500) == ([(4,), (5,)], 50.0)
    assert uncertain(counts, itemsets, Goal((1, 1), None, 400), 0) == ([(3,)], 0.0)
    assert uncertain(counts, itemsets, Goal((1, 1), 9), 0) == (itemsets, 0.0)
