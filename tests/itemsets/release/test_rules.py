"""Association rules of noisy supports, against rules and intervals made by enumeration."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from math import inf, isnan, nextafter
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import association_rules as rules_of_mlxtend
from support.cases import every
from support.effort import examples
from support.numpy_bits import NumpyBits
from support.oracles.supports import all_rules, every_subset, extremes, measures, true_supports

from dpmine.errors import BadParameter
from dpmine.itemsets.release import noise as noise_module
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.release.rules import association_rules, plain_rules
from dpmine.itemsets.release.supports import (
    LARGEST_SUPPORT,
    Consistency,
    SupportRelease,
    consistent,
    release,
    with_subsets,
)
from dpmine.itemsets.top import top_itemset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.release.results import TopItemsets

Itemset: TypeAlias = frozenset[Any]

LAPLACE = DiscreteLaplace(Fraction(14))
BARE = ["antecedents", "consequents", "noisy_support", "confidence", "confidence_low", "confidence_high"]
SHARES = ["lift", "leverage", "conviction"]
WITH_UNITS = [
    *["antecedents", "consequents", "noisy_support", "support"],
    *(name + end for name in ["confidence", *SHARES] for end in ["", "_low", "_high"]),
]
WIDTH = 3
families = st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=1, max_size=3)


def released(itemsets: Sequence[Itemset], values: Sequence[int], width: int = WIDTH) -> SupportRelease:
    """What is released when the noise happens to be such."""
    ends = tuple((max(0, value - width), value + width) for value in values)
    return SupportRelease(tuple(itemsets), tuple(values), ends, LAPLACE, Consistency.MONOTONE)


@st.composite
def releases(draw: st.DrawFn) -> SupportRelease:
    itemsets = with_subsets(draw(families))
    values = draw(st.lists(st.integers(-2, 12), min_size=len(itemsets), max_size=len(itemsets)))
    return released(itemsets, consistent(itemsets, values), draw(st.integers(0, WIDTH)))


def boxes(known: SupportRelease, rule: tuple[Itemset, Itemset], units: int | None) -> list[tuple[int, int]]:
    """The intervals of both, antecedent and consequent."""
    ends = dict(zip(known.itemsets, known.intervals, strict=True))
    found = [ends[rule[0] | rule[1]], ends[rule[0]], ends[rule[1]]]
    return found if units is None else [(min(low, units), min(high, units)) for low, high in found]


def values_of(known: SupportRelease, rule: tuple[Itemset, Itemset], units: int | None) -> tuple[int, int, int]:
    values = dict(zip(known.itemsets, known.values, strict=True))
    x, a, c = (values[itemset] for itemset in (rule[0] | rule[1], rule[0], rule[1]))
    return (x, a, c) if units is None else (min(x, units), min(a, units), min(c, units))


def rules_in(frame: pd.DataFrame) -> list[tuple[Itemset, Itemset]]:
    return list(zip(frame["antecedents"], frame["consequents"], strict=True))


@given(releases(), st.sampled_from([None, 1, 5, 9, 14]), st.fractions(0, 1))
def test_the_rules_and_their_order(known: SupportRelease, units: int | None, least: Fraction) -> None:
    wanted = []
    for rule in all_rules(known.itemsets):
        x, a, _ = values_of(known, rule, units)
        (low, _), (_, high), _ = boxes(known, rule, units)
        if a and x / a >= float(least):
            wanted.append((-Fraction(low, high), -Fraction(x, a), -x, sorted(rule[0]), sorted(rule[1])))
    frame = association_rules(known, units=units, min_confidence=least)
    found = [(sorted(antecedent), sorted(consequent)) for antecedent, consequent in rules_in(frame)]
    assert found == [(antecedent, consequent) for *_, antecedent, consequent in sorted(wanted)]
    assert frame["noisy_support"].tolist() == [-negative for _, _, negative, _, _ in sorted(wanted)]
    assert frame["confidence_low"].is_monotonic_decreasing


@given(releases(), st.sampled_from([None, 1, 5, 9, 14]))
def test_values(known: SupportRelease, units: int | None) -> None:
    frame = association_rules(known, units=units)
    for rule, row in zip(rules_in(frame), frame.to_dict("records"), strict=True):
        x, a, c = values_of(known, rule, units)
        for name, value in measures(x, a, c, units).items():
            assert row[name] == float(value), name
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"], name
        if units is not None:
            assert row["support"] == x / units
            assert isnan(row["lift"]) == (c == 0)


@settings(max_examples=examples(40))
@given(releases(), st.sampled_from([None, 9, 12, 14]))
def test_bounds_are_the_extremes_over_all_supports_in_the_intervals(known: SupportRelease, units: int | None) -> None:
    """Largest leverages of an odd number of units lie half-way between whole supports: a bound, not an extreme."""
    frame = association_rules(known, units=units)
    for rule, row in zip(rules_in(frame), frame.to_dict("records"), strict=True):
        least, largest = extremes(boxes(known, rule, units), units)
        for name in least:
            assert row[f"{name}_low"] <= least[name], name
            assert row[f"{name}_low"] == pytest.approx(float(least[name]), rel=1e-12, abs=1e-12), name
            assert row[f"{name}_high"] >= largest[name], name
            if name != "leverage" or (units or 0) % 2 == 0:
                assert row[f"{name}_high"] == pytest.approx(float(largest[name]), rel=1e-12, abs=1e-12), name


@given(st.lists(st.lists(st.frozensets(st.sampled_from("abc")), max_size=3), min_size=1, max_size=14), st.data())
def test_true_measures_lie_in_their_bounds(units: list[list[Itemset]], data: st.DataObject) -> None:
    """Units with several baskets; every noise within the width that all noises keep with probability 0.95."""
    itemsets = every_subset("abc")
    supports = true_supports(units, itemsets)
    width = LAPLACE.simultaneous_half_width(len(itemsets))
    noise = data.draw(st.lists(st.integers(-width, width), min_size=7, max_size=7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "discrete_laplace_of_scale", Mock(side_effect=noise))
        known = release(
            itemsets, supports, noise=DiscreteLaplace(Fraction(14)), consistency=Consistency.MONOTONE, bits=NumpyBits(0)
        )
    true = dict(zip(itemsets, supports, strict=True))
    frame = association_rules(known, units=len(units))
    for (antecedent, consequent), row in zip(rules_in(frame), frame.to_dict("records"), strict=True):
        counts = true[antecedent | consequent], true[antecedent], true[consequent]
        for name, value in measures(*counts, len(units)).items():
            assert row[f"{name}_low"] <= value <= row[f"{name}_high"], name


def test_supports_of_both_may_be_smaller_than_inclusion_and_exclusion_say() -> None:
    """Every unit buys a and b, in two baskets. The true leverage of −1 is within the bounds."""
    units = [[frozenset("a"), frozenset("b")]] * 20
    itemsets = every_subset("ab")
    known = released(itemsets, true_supports(units, itemsets))
    row = association_rules(known, units=20).iloc[0]
    assert row["leverage"] == -1 == row["leverage_low"]


def test_columns_and_types() -> None:
    known = released(every_subset("ab"), [9, 8, 7])
    for units, columns in [(None, BARE), (20, WITH_UNITS)]:
        full = association_rules(known, units=units)
        none = association_rules(released([], []), units=units)
        assert list(full.columns) == list(none.columns) == columns
        assert full.dtypes.equals(none.dtypes)
        assert (len(full), len(none)) == (2, 0)
        assert str(full["noisy_support"].dtype) == "Int64"
        assert {str(kind) for kind in full.dtypes[3:]} == {"float64"}
        assert all(type(itemset) is frozenset for itemset in full["antecedents"])


def test_single_items_have_no_rules() -> None:
    assert len(association_rules(released([frozenset("a"), frozenset("b")], [5, 4]))) == 0


def test_thresholds_are_compared_with_the_confidence_that_is_listed() -> None:
    known = released(every_subset("ab"), [10, 3, 3])
    assert len(association_rules(known, min_confidence=0.3)) == 2
    assert len(association_rules(known, min_confidence="0.3000000000000000000001")) == 2
    assert len(association_rules(known, min_confidence=nextafter(0.3, 1))) == 1
    assert len(association_rules(released(every_subset("ab"), [3, 3, 1]), min_confidence=Fraction(1, 3))) == 2
    assert (3 / 5) / (4 / 5) < 0.75  # as floats, shares fall short
    assert len(association_rules(released(every_subset("ab"), [4, 4, 3]), units=5, min_confidence=0.75)) == 2


def test_released_zeros() -> None:
    known = released(every_subset("ab"), [5, 0, 0])
    frame = association_rules(known, units=10)
    assert rules_in(frame) == [(frozenset("a"), frozenset("b"))]
    row = frame.iloc[0]
    assert (row["confidence"], row["leverage"], row["conviction"]) == (0, 0, 1)
    assert isnan(row["lift"])
    assert row["lift_low"] == 0
    assert len(association_rules(known, min_confidence="1e-9")) == 0
    assert len(association_rules(released(every_subset("abc"), [0] * 7), units=10)) == 0


def test_certain_rules_have_an_infinite_conviction() -> None:
    frame = association_rules(released(every_subset("ab"), [5, 9, 5], 0), units=9)
    certain = frame.iloc[0]
    assert sorted(certain["antecedents"]) == ["a"]
    assert [certain[f"conviction{end}"] for end in ("", "_low", "_high")] == [inf] * 3
    assert [certain[f"confidence{end}"] for end in ("", "_low", "_high")] == [1] * 3
    assert frame.iloc[1]["conviction"] == pytest.approx(4 / 9 * 9 / 4)


def test_a_public_number_of_units_cuts_supports() -> None:
    row = association_rules(released(every_subset("ab"), [12, 11, 11]), units=10).iloc[0]
    assert (row["noisy_support"], row["support"], row["confidence"], row["lift"]) == (10, 1, 1, 1)
    assert row["confidence_low"] == nextafter(0.8, 0) < Fraction(8, 10) < 0.8  # rounded outwards


def test_mlxtend_computes_the_same() -> None:
    """Where its floats keep their digits; its rules are found by another program."""
    itemsets = with_subsets([frozenset("abcd"), frozenset("cde"), frozenset("f")])
    numbers = np.random.default_rng(5).integers(1, 4000, len(itemsets))
    values = consistent(itemsets, [int(number) for number in numbers])
    known, units = released(itemsets, values), 4321
    shares = pd.DataFrame({"support": [value / units for value in values], "itemsets": list(itemsets)})
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = rules_of_mlxtend(shares, min_threshold=0.2)
    ours = association_rules(known, units=units, min_confidence="0.2")
    assert len(ours) == len(theirs) > 20
    other = dict(zip(rules_in(theirs), theirs.to_dict("records"), strict=True))
    for rule, row in zip(rules_in(ours), ours.to_dict("records"), strict=True):
        for name in ("support", "confidence", "lift", "leverage", "conviction"):
            assert row[name] == pytest.approx(other[rule][name], rel=1e-9, abs=1e-12), name


def test_large_counts_lose_nothing() -> None:
    """One unit less than all of 2^60: 1 − confidence is 0 in floats."""
    known = released(every_subset("ab"), [2**60, 2**60, 2**60 - 1], 0)
    row = association_rules(known, units=2**61, min_confidence=1 - Fraction(1, 2**60)).iloc[0]
    assert row["conviction"] == 2**59
    assert row["noisy_support"] == 2**60 - 1
    assert row["confidence_low"] < 1 <= row["confidence_high"]
    assert association_rules(known, min_confidence=1)["confidence"].tolist() == [1, 1]  # the nearest float


BASKETS = [(unit, day, item) for unit in range(60) for day, items in enumerate(["a", "b"]) for item in items]
BASKETS += [(unit, 0, item) for unit in range(60, 100) for item in "ab"]
LONG = {name: [row[place] for row in BASKETS] for place, name in enumerate(["customer", "day", "item"])}
LISTS = pd.DataFrame(LONG).groupby(["customer", "day"])["item"].apply(list).reset_index()
FLAGS = pd.DataFrame({"customer": LISTS["customer"], **{i: LISTS["item"].map(lambda x, i=i: i in x) for i in "ab"}})
SEVERAL: list[tuple[pd.DataFrame, dict[str, Any]]] = [
    (pd.DataFrame(LONG), {"unit": "customer", "basket": "day", "item": "item"}),
    (LISTS, {"unit": "customer", "items": "item"}),
    (FLAGS, {"unit": "customer"}),
]
ONE: list[tuple[Any, dict[str, Any]]] = [
    (pd.DataFrame(LONG), {"unit": "customer", "item": "item"}),
    (LISTS[["item"]], {"items": "item"}),
    (FLAGS[["a", "b"]], {}),
    (LISTS["item"].tolist(), {}),
]


def with_rules(data: Any, columns: dict[str, Any]) -> TopItemsets:
    """The rules of a and b, with hardly any noise."""
    run: dict[str, Any] = {
        "catalogue": ["a", "b"],
        "release_support": 10**6,
        "rules": True,
        "units": 100,
        "min_support": 0,
    }
    return top_itemset(data, **columns, **run)


@pytest.mark.filterwarnings("ignore:one-hot")
@every(("data", "columns"), SEVERAL)
def test_no_lift_compares_one_basket_with_all_that_a_unit_ever_had(data: pd.DataFrame, columns: dict[str, Any]) -> None:
    """All 100 customers had a and b, 60 of them on different days: a lift of 0.4 would be wrong, theirs is 1."""
    found = with_rules(data, columns)
    frame = found.rules()
    assert frame["confidence"].tolist() == [0.4, 0.4]
    assert not set(frame) & set(WITH_UNITS[7:])
    assert frame["support"].tolist() == [0.4, 0.4]
    assert found.to_dict()["several_baskets"]
    assert not {"lift", "leverage", "conviction"} & set(plain_rules(frame)[0])
    for text in (str(found), found._repr_html_()):
        assert "in one basket; lift needs units with one basket each" in text


@pytest.mark.filterwarnings("ignore:one-hot", "ignore:list layout")
@every(("data", "columns"), ONE)
def test_lift_where_a_unit_has_one_basket(data: Any, columns: dict[str, Any]) -> None:
    found = with_rules(data, columns)
    assert list(found.rules()) == WITH_UNITS
    assert not found.to_dict()["several_baskets"]
    assert "lift" not in str(found)


HOSTILE = ["", "nan", "a,b", "\n", "frozenset({'x'})", "→", "0", "Ä" * 500, "\ud800"]


@every("items", [HOSTILE, [0, -1, 2**70, 1], [np.str_("a"), np.str_("b")], [1.5, -0.5]])
def test_items_of_any_name_and_kind(items: list[Any]) -> None:
    itemsets = with_subsets([frozenset(items[start : start + 3]) for start in range(0, len(items), 2)])
    known = released(itemsets, [90 - 20 * len(itemset) for itemset in itemsets])
    frame = association_rules(known, units=100)
    assert set(rules_in(frame)) == set(all_rules(itemsets))
    assert {type(item) for itemset in frame["antecedents"] for item in itemset} == {type(item) for item in items}


@every(
    ("options", "message"),
    [
        ({"units": 0}, "units"),
        ({"units": 2.5}, "units"),
        ({"units": LARGEST_SUPPORT + 1}, "units"),
        ({"min_confidence": 2}, "min_confidence"),
        ({"min_confidence": -1}, "min_confidence"),
        ({"min_confidence": float("nan")}, "min_confidence"),
    ],
)
def test_parameters_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        association_rules(released(every_subset("ab"), [3, 2, 1]), **options)


def test_supports_as_drawn_are_refused() -> None:
    known = release(every_subset("ab"), [9, 9, 9], noise=DiscreteLaplace(Fraction(1)), bits=NumpyBits(0))
    with pytest.raises(BadParameter, match="consistency 'monotone'"):
        association_rules(known)


@every("missing", every_subset(["canary-a", "canary-b", "canary-c"])[:-1])
def test_missing_subsets_are_refused(missing: Itemset) -> None:
    itemsets = [part for part in every_subset(["canary-a", "canary-b", "canary-c"]) if part != missing]
    with pytest.raises(BadParameter, match="with_subsets") as caught:
        association_rules(released(itemsets, [10 - len(part) for part in itemsets]))
    assert "canary" not in str(caught.value)


def test_the_whole_way() -> None:
    """From chosen itemsets to rules, with noise."""
    itemsets = with_subsets([frozenset({"bread", "butter"}), frozenset({"butter", "jam", "tea"})])
    known = release(
        itemsets,
        [5000 // len(itemset) for itemset in itemsets],
        noise=DiscreteLaplace(Fraction(1, 2)),
        consistency=Consistency.MONOTONE,
        bits=NumpyBits(3),
    )
    frame = association_rules(known, units=10_000, min_confidence="0.3")
    assert len(frame) == 2 + 6 + 6
    assert frame["confidence"].is_monotonic_decreasing
    assert frame["confidence"].between(frame["confidence_low"], frame["confidence_high"]).all()


def test_import_is_light() -> None:
    heavy = "{'pandas', 'mlxtend', 'sklearn', 'pyarrow'}"
    code = f"import dpmine.itemsets.release.rules, sys; print(*{heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == ""
