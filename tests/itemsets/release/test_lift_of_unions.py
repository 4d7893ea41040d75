"""Lift over the units' unions: what is counted, that it is charged, and rules that compare like with like."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.choices import geometric_of_scale, law_of_choices
from support.numpy_bits import NumpyBits
from support.oracles.supports import every_subset, measures, true_supports

import dpmine
from dpmine.errors import BadParameter
from dpmine.exact import noise as discrete
from dpmine.itemsets.release import noise as support_noise
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, l1_sensitivity
from dpmine.itemsets.release.rules import association_rules
from dpmine.itemsets.release.supports import Consistency, most_counts, noisy, release, with_subsets
from dpmine.itemsets.request.query import Query, Request
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine.itemsets.release.supports import Itemset, SupportRelease

SUBSETS = every_subset("abc")
LARGER = [itemset for itemset in SUBSETS if len(itemset) > 1]
COUNTS = len(SUBSETS) + len(LARGER)
baskets_of_a_unit = st.lists(st.sampled_from(SUBSETS), max_size=3)
units_of_baskets = st.lists(baskets_of_a_unit, min_size=1, max_size=12)

Units = list[list[frozenset[str]]]


def of_unions(units: Units) -> Units:
    """Every unit with one basket."""
    return [[frozenset().union(*baskets)] for baskets in units]


def counts(units: Units) -> list[int]:
    """All that is counted: supports in one basket, then those of unions."""
    return [*true_supports(units, SUBSETS), *true_supports(of_unions(units), LARGER)]


def released(units: Units, noise: Sequence[int] | None = None, epsilon: int = 20) -> SupportRelease:
    """With these noises, or with drawn ones."""
    found = counts(units)
    with pytest.MonkeyPatch.context() as patch:
        if noise is not None:
            patch.setattr(support_noise, "discrete_laplace_of_scale", Mock(side_effect=list(noise)))
        return release(
            SUBSETS,
            found[: len(SUBSETS)],
            unions=found[len(SUBSETS) :],
            noise=DiscreteLaplace(Fraction(epsilon)),
            consistency=Consistency.MONOTONE,
            bits=NumpyBits(3),
        )


# What is charged


@given(units_of_baskets, baskets_of_a_unit, st.integers(0, 11))
def test_one_unit_moves_all_counts_together_by_at_most_their_number(
    units: Units, other: list[frozenset[str]], place: int
) -> None:
    here = counts(units)
    replaced = [other if number == place else baskets for number, baskets in enumerate(units)]
    for there in (counts([*units, other]), counts(replaced)):
        moved = [abs(x - y) for x, y in zip(here, there, strict=True)]
        assert max(moved, default=0) <= 1
        assert sum(moved) <= l1_sensitivity(COUNTS)


def test_a_unit_with_everything_moves_every_count() -> None:
    full = [frozenset("abc")]
    assert [y - x for x, y in zip(counts([]), counts([full]), strict=True)] == [1] * COUNTS


def uncharged(supports: Sequence[int], unions: Sequence[int], noise: SupportNoise, bits: BitSource) -> tuple[int, ...]:
    """A broken twin: counts of unions are released, but the noise is that of the supports alone."""
    return noisy(supports, noise, bits=bits) + noisy(unions, noise, bits=bits)


def charged(supports: Sequence[int], unions: Sequence[int], noise: SupportNoise, bits: BitSource) -> tuple[int, ...]:
    found = release([frozenset("ab")], supports, unions=unions, noise=noise, bits=bits)
    assert found.unions is not None
    return (*found.values, *found.unions.values)  # noqa: PD011 - no frame


@every(("sampler", "private"), [(charged, True), (uncharged, False)])
def test_counts_of_unions_that_are_not_charged_are_caught(sampler: Any, private: bool) -> None:
    """ε = 2, and a unit that moves both counts from 5 to 6: the twin's ratio is e^4."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete, "geometric_of_scale", geometric_of_scale)
        noise = DiscreteLaplace(Fraction(2))
        here, _ = law_of_choices(lambda bits: sampler([5], [5], noise, bits), runs=4000)
        there, left = law_of_choices(lambda bits: sampler([6], [6], noise, bits), runs=4000)
    assert (here[5, 5] / (there.get((5, 5), 0) + left) <= exp(2)) is private


def test_all_counts_have_noise_for_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Mock(return_value=0)
    monkeypatch.setattr(support_noise, "discrete_laplace_of_scale", drawn)
    found = release(
        SUBSETS,
        [9] * len(SUBSETS),
        unions=[9] * len(LARGER),
        noise=DiscreteLaplace(Fraction(1, 2)),
        consistency=Consistency.MONOTONE,
        bits=NumpyBits(0),
    )
    assert [call.args for call in drawn.call_args_list] == [(Fraction(2 * COUNTS),)] * COUNTS
    width = found.noise.simultaneous_half_width(COUNTS)
    assert found.unions is not None
    assert {*found.intervals, *found.unions.intervals} == {(max(0, 9 - width), 9 + width)}


@given(st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
def test_no_list_has_more_counts_than_are_planned_for(itemsets: list[Itemset]) -> None:
    parts = with_subsets(itemsets)
    size = max(map(len, itemsets))
    assert len(parts) <= most_counts(len(itemsets), size, subsets=True)
    larger = [part for part in parts if len(part) > 1]
    assert len(parts) + len(larger) <= most_counts(len(itemsets), size, subsets=True, unions=True)
    assert most_counts(1, 3, subsets=True, unions=True) == COUNTS


# What is released


def order(first: tuple[Itemset, bool], second: tuple[Itemset, bool]) -> bool:
    """Whether the second count is never above the first: of itemsets, and whether they are in one basket."""
    (subset, together), (superset, also_together) = first, second
    return subset <= superset and (also_together or not together or len(subset) == 1)


def agreeing(values: Sequence[int]) -> list[int]:
    """Half-way between the least value of all that are above and the largest of all that are below."""
    named = [*((itemset, True) for itemset in SUBSETS), *((itemset, False) for itemset in LARGER)]
    raised = {name: max(0, value) for name, value in zip(named, values, strict=True)}
    return [
        (
            min(value for name, value in raised.items() if order(name, this))
            + max(value for name, value in raised.items() if order(this, name))
        )
        // 2
        for this in named
    ]


@given(units_of_baskets, st.lists(st.integers(-9, 9), min_size=COUNTS, max_size=COUNTS))
def test_supports_and_those_of_unions_agree(units: Units, noise: list[int]) -> None:
    """Against all pairs of counts: no union is below its itemset in one basket, and one item has one number."""
    found = released(units, noise)
    assert found.unions is not None
    assert found.unions.itemsets == found.itemsets == tuple(SUBSETS)
    larger = [found.unions.by_itemset[itemset][0] for itemset in LARGER]
    drawn = [true + error for true, error in zip(counts(units), noise, strict=True)]
    assert [*(value for value, _ in found.by_itemset.values()), *larger] == agreeing(drawn)
    for itemset in SUBSETS:
        together, whole = found.by_itemset[itemset], found.unions.by_itemset[itemset]
        assert together[0] <= whole[0]
        assert together == whole or len(itemset) > 1


@given(units_of_baskets, st.data())
def test_all_intervals_and_measures_hold_together(units: Units, data: st.DataObject) -> None:
    """Every noise within the width that all noises keep with probability 0.95."""
    width = DiscreteLaplace(Fraction(20)).simultaneous_half_width(COUNTS)
    assert width
    noise = data.draw(st.lists(st.integers(-width, width), min_size=COUNTS, max_size=COUNTS))
    found, unions = released(units, noise), dict(zip(SUBSETS, true_supports(of_unions(units), SUBSETS), strict=True))
    together = dict(zip(SUBSETS, true_supports(units, SUBSETS), strict=True))
    assert found.unions is not None
    for known, true in ((found, together), (found.unions, unions)):
        assert all(low <= true[itemset] <= high for itemset, (_, (low, high)) in known.by_itemset.items())
    for row in association_rules(found, units=len(units), several_baskets=True).to_dict("records"):
        a, c = row["antecedents"], row["consequents"]
        expected = measures(unions[a | c], unions[a], unions[c], len(units))
        expected.pop("confidence", None)
        expected |= measures(together[a | c], together[a], together[c], None)
        for name, value in expected.items():
            assert row[f"{name}_low"] <= value <= row[f"{name}_high"], name


def test_parts_of_a_release_keep_their_unions() -> None:
    found = released([[frozenset("ab"), frozenset("c")]] * 5).of_parts([frozenset("ab")])
    assert found.unions is not None
    assert set(found.itemsets) == set(found.unions.itemsets) == set(every_subset("ab"))
    assert found.unions.unions is None


def test_releases_refuse_unions_that_are_not_one_for_each_larger_itemset() -> None:
    for unions in ([], [1] * len(SUBSETS)):
        with pytest.raises(BadParameter, match="one for each"):
            release(SUBSETS, [9] * 7, unions=unions, noise=DiscreteLaplace(Fraction(1)), bits=NumpyBits(0))


# Runs, against brute force

ITEMS = ["a", "b", "c", "d"]


def long_table(seed: int, units: int = 60) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    rows = {
        (unit, int(basket), item)
        for unit in range(units)
        for basket, item in zip(generator.integers(0, 3, 5), generator.choice(ITEMS, 5), strict=True)
    }
    return pd.DataFrame(sorted(rows), columns=["customer", "day", "item"]).sample(frac=1, random_state=seed)


def with_lift(data: Any, k: int = 2, size: str = "2-3", **options: Any) -> TopItemsets:
    """With hardly any noise."""
    run: dict[str, Any] = {"catalogue": ITEMS, "release_support": 10**6, "rules": True, "min_support": 0}
    run |= {"unit": "customer", "item": "item", "basket": "day", "units": 60, "lift_of": "units"}
    return dpmine.top_itemsets(data, k, size=size, **{"epsilon": 10**6, **run, **options})


def units_in(table: pd.DataFrame) -> Units:
    grouped = table.groupby(["customer", "day"])["item"].apply(frozenset)
    return [list(baskets) for _, baskets in grouped.groupby(level=0)]


def assert_rules_are_those_of(units: Units, result: TopItemsets) -> None:
    """Every number of the rules, from sets."""
    frame = result.rules()
    assert len(frame)
    for row in frame.to_dict("records"):
        sides = [row["antecedents"] | row["consequents"], row["antecedents"], row["consequents"]]
        together, (x, a, c) = true_supports(units, sides), true_supports(of_unions(units), sides)
        expected = measures(x, a, c, len(units)) | {"confidence": Fraction(together[0], together[1])}
        assert {name: row[name] for name in expected} == {name: float(value) for name, value in expected.items()}
        assert row["noisy_support"] == together[0]
    rows = {frozenset(row["items"]): row["noisy_support"] for row in result.to_dict()["unions"]}
    listed = {part for itemset in result.itemsets for part in every_subset(sorted(itemset)) if len(part) > 1}
    assert rows == dict(zip(listed, true_supports(of_unions(units), listed), strict=True))


@every("seed", range(3))
def test_lift_is_that_of_unions_in_memory(seed: int) -> None:
    table = long_table(seed)
    assert_rules_are_those_of(units_in(table), with_lift(table))


@every("resident", [0, 10**9])
def test_lift_is_that_of_unions_out_of_core(resident: int, monkeypatch: pytest.MonkeyPatch) -> None:
    room = 10**9
    budget = MemoryBudget(0, 6000, room, 0, all_resident=resident, resident=resident, projection=room, listing=room)
    monkeypatch.setattr(MemoryBudget, "of", Mock(return_value=budget))
    table = long_table(7)
    assert_rules_are_those_of(units_in(table), with_lift(table))


def test_lift_of_cut_units_is_about_what_is_left_of_them() -> None:
    """Half of the units have a, c twice and b once, in other baskets: cut to two items they have no b."""
    both = [(unit, 0, item) for unit in range(30) for item in "ab"]
    apart = [(unit, day, item) for unit in range(30, 60) for day, item in enumerate("aaccb")]
    table = pd.DataFrame(both + apart, columns=["customer", "day", "item"])
    cut = with_lift(table, 1, "2", mechanism="bounded_growth", max_items_per_unit=2, delta="1e-3")
    assert [row["noisy_support"] for row in cut.to_dict()["unions"]] == [30]
    whole = with_lift(table, 1, "2", mechanism="exponential")
    assert [row["noisy_support"] for row in whole.to_dict()["unions"]] == [60]


DAYS = [(unit, day, item) for unit in range(60) for day, item in enumerate("ab")]
DAYS += [(unit, 0, item) for unit in range(60, 100) for item in "ab"]
LONG = pd.DataFrame(DAYS, columns=["customer", "day", "item"])
LISTS = LONG.groupby(["customer", "day"])["item"].apply(list).reset_index()


@every("columns", [{}, {"basket": None, "item": None, "items": "item"}])
def test_all_customers_have_both_items_so_the_lift_is_one(columns: dict[str, Any]) -> None:
    """60 of 100 have them on different days: lift from one basket would be 0.4."""
    found = with_lift(LISTS if columns else LONG, 1, "2", catalogue=["a", "b"], units=100, **columns)
    frame = found.rules()
    assert frame["confidence"].tolist() == [0.4, 0.4]
    assert frame["lift"].tolist() == [1, 1]
    assert frame["leverage"].tolist() == [0, 0]
    for text in (str(found), found._repr_html_()):
        assert "with all its items in one basket; lift: of all items that a unit has" in text


def test_rules_have_columns_of_lift_where_nothing_was_chosen() -> None:
    """What a program reads of them does not depend on what stands out."""
    hopeless: dict[str, Any] = {"catalogue": None, "epsilon": "1e-6", "release_support": "1e-6"}
    nothing = with_lift(LONG, 1, "2", units=100, mechanism="large_margin", **hopeless)
    assert not nothing
    assert {"lift", "leverage", "conviction"} <= set(nothing.rules())
    assert nothing.to_dict()["unions"] == []


def test_with_one_basket_for_each_unit_nothing_more_is_counted() -> None:
    """The union is the basket: lift is there without further counts, and a notice says so before the charge."""
    told: list[str] = []
    options: dict[str, Any] = {"basket": None, "catalogue": ["a", "b"], "units": 100}
    found = with_lift(LONG, 1, "2", **options, notice=told.append)
    assert sum("`lift_of` changes nothing: each unit has one basket" in text for text in told) == 1
    assert found.rules().equals(with_lift(LONG, 1, "2", **{**options, "lift_of": None}).rules())
    assert "unions" not in found.to_dict()


@every(
    ("options", "said"),
    [
        ({"lift_of": "customers"}, "lift_of must be 'units'"),
        ({"rules": False}, r"give release_support .* and `rules`"),
        ({"rules": False, "release_support": None, "min_support": None}, r"give release_support .`release_support=EPS"),
        ({"units": None}, r"give units \(`units=N`\)"),
    ],
)
def test_errors_say_what_lift_of_needs_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        with_lift(Mock(side_effect=AssertionError), **options)


def test_noise_is_chosen_for_all_counts_and_nothing_is_added_to_epsilon() -> None:
    """At δ = 1e-5, Laplace noise is narrower for 6 supports, and Gaussian noise for 8 counts."""
    asked: dict[str, Any] = {"k": 2, "delta": "1e-5", "mechanism": "exponential", "catalogue": list("abcdefgh")}
    asked |= {"release_support": "auto", "rules": True, "units": 60}
    plain, more = (Request.of(Query(**asked, lift_of=lift_of)) for lift_of in (None, "units"))
    assert isinstance(plain.split.supports, DiscreteLaplace)
    assert isinstance(more.split.supports, DiscreteGaussian)
    assert plain.guarantee.epsilon == more.guarantee.epsilon == 1
    assert more.guarantee.delta == Fraction(1, 10**5)


def test_a_notice_gives_the_number_of_counts_and_their_noise() -> None:
    told: list[str] = []
    with_lift(LONG, 5, "3", release_support=1, notice=told.append, catalogue=[*ITEMS, "e"])
    (said,) = [text for text in told if "lift_of" in text]
    width = DiscreteLaplace(Fraction(1)).simultaneous_half_width
    assert "up to 55 counts" in said
    assert "instead of 35" in said
    assert f"±{width(55)} units instead of ±{width(35)}" in said
