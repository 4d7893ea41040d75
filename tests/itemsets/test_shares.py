"""Shares of the units: baskets without items count, as mlxtend counts rows; rows with nulls do not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cases import every
from support.effort import examples
from support.reading import IN_CHUNKS

import dpmine
from dpmine.frequent_patterns import apriori, fpgrowth
from dpmine.io.source import Columns
from dpmine.itemsets.outofcore.partitions import PartitionedBaskets
from dpmine.itemsets.read import read_transactions
from dpmine.parameters import count_or_share, least_count

if TYPE_CHECKING:
    from collections.abc import Callable

TINY = replace(IN_CHUNKS, chunk=3000, all_resident=0, resident=2500, projection=3000)
LISTS = [["a"], [], None, [None], ["b", "a"]]
NULLS = {"user": [1, 1, 2, 3, None, 4], "receipt": [1, 1, 1, None, 1, 2], "item": ["a", "b", None, "a", "a", "b"]}


def shares(data: Any, **options: Any) -> dict[frozenset[Any], float]:
    frame = dpmine.itemset_supports(data, size=1, as_fraction=True, **options)
    return dict(zip(frame["itemsets"], frame["support"], strict=True))


def test_baskets_without_items_count_in_shares() -> None:
    assert shares([["a"], [], [], []]) == {frozenset("a"): 0.25}
    assert shares([["a"], [], [], []], min_support=0.5) == {}


def test_shares_are_those_of_mlxtend() -> None:
    fpgrowth_of_mlxtend = pytest.importorskip("mlxtend.frequent_patterns").fpgrowth
    generator = np.random.default_rng(5)
    for _ in range(examples(300)):
        rows, columns, rate = generator.integers(1, 12), generator.integers(1, 5), generator.uniform(0.05, 0.7)
        frame = pd.DataFrame(generator.random((rows, columns)) < rate, columns=list("abcde")[:columns])
        least = float(generator.choice([0.1, 0.25, 0.5, 1.0]))
        theirs = fpgrowth_of_mlxtend(frame, min_support=least, use_colnames=True)
        ours = dpmine.itemset_supports(frame, size=f"1-{columns}", min_support=least, as_fraction=True)
        expected = dict(zip(theirs["itemsets"], theirs["support"], strict=True))
        assert dict(zip(ours["itemsets"], ours["support"], strict=True)) == expected


@every(
    ("data", "columns", "units"),
    [
        (pa.table({"l": LISTS}), Columns(items="l"), 4),
        (pa.table({"u": [1, 2, 2, None, 1], "l": LISTS}), Columns(unit=("u",), items="l"), 2),
        (pa.table({"u": [1, 2, 3, 4, 5], "l": LISTS}), Columns(unit=("u",), items="l"), 4),
        (pa.table({"a": [True, False, None], "b": [True, False, False]}), Columns(), 3),
        (pa.table({"a": [7, 0, None], "b": [0, 0, 1]}), Columns(one_hot=True), 3),
        (pa.table({"user": [1, 1, 2], "a": [False, True, False]}), Columns(unit=("user",)), 2),
        (pa.table(NULLS), Columns(unit=("user",), item="item"), 3),
        (pa.table(NULLS), Columns(unit=("user",), basket=("receipt",), item="item"), 2),
    ],
)
@every("catalogue", [None, pa.array(["a"]), pa.array(["sold by nobody"])])
def test_units_counted_in_memory_and_out_of_core(
    data: pa.Table, columns: Columns, units: int, catalogue: pa.Array | None
) -> None:
    """An item outside the catalogue is none of the list's, and its unit is one of the units all the same."""
    assert read_transactions(data, columns, catalogue=catalogue).transactions.total_units == units
    ways: list[Callable[[], Any]] = [lambda: data, lambda: data.to_reader(max_chunksize=1)]
    for way in ways:
        found = read_transactions(way(), columns, catalogue=catalogue, memory=TINY).transactions
        assert isinstance(found, PartitionedBaskets)
        assert found.total_units == units
        assert sum(part.total_units for part in found.parts()) == units


@every("limit", ["1", 1, 1.0, "1.0", 10**30, "0.5"])
def test_min_support_of_any_form_is_compared_exactly(limit: Any) -> None:
    counts = dpmine.itemset_supports([["a", "b"], ["a"], []], size=1, min_support=limit)
    least = {"1": 1, 1: 1, 10**30: 4, "0.5": 2}.get(limit, 3) if not isinstance(limit, float) else 3
    assert counts["support"].tolist() == [support for support in (2, 1) if support >= least]


@every("limit", [0, -1, 1.5, "0", "²", "1e400", "nan"])
def test_min_support_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(dpmine.BadParameter, match="min_support"):
        dpmine.itemset_supports([["a"]], size=1, min_support=limit)


FRACTIONS = [(k, n) for n in range(2, 60) for k in range(1, n)]
FORMS: list[Callable[[int, int], Any]] = [
    lambda k, n: k / n,
    lambda k, n: np.float64(k / n),
    lambda k, n: f"{k}/{n}",
    lambda k, n: repr(k / n),
    lambda k, n: f"{Decimal(100 * k) / n}%",
    lambda k, n: Decimal(k) / n,
    Fraction,
]
"""A share as people write it."""


def test_every_share_reaches_its_count_in_every_form() -> None:
    assert len(FRACTIONS) == 1711
    for form in FORMS:
        missed = [(k, n) for k, n in FRACTIONS if least_count(share_of(form(k, n)), n) != k]
        assert not missed


def share_of(value: Any) -> Fraction:
    share = count_or_share("min_support", value)
    assert not isinstance(share, int)
    return share


def test_shares_are_compared_as_arrays_of_floats_are() -> None:
    """As `supports / rows >= share` does, the comparison of mlxtend: for fractions, their neighbours, and others."""
    generator = np.random.default_rng(8)
    for total in range(1, 200):
        floats = np.arange(total + 1) / total
        others = [np.nextafter(floats[1:], 0), np.nextafter(floats[:-1], 1), generator.random(5)]
        for share in [*floats, *np.concatenate(others).tolist()]:
            assert least_count(Fraction(share), total) == np.argmax(floats >= share)
    assert [least_count(Fraction(1, 3), 0), least_count(Fraction(0), 5)] == [1, 0]


def test_a_share_too_small_for_a_float_is_still_above_nothing() -> None:
    assert [least_count(Fraction(1, 10**400), total) for total in (0, 5, 2**53)] == [1, 1, 1]


@every("share", [(5, 6), (7, 100), (29, 58), (3, 7), (57, 59)])
def test_a_share_keeps_the_itemset_that_has_it_in_every_call(share: tuple[int, int]) -> None:
    k, n = share
    frame = pd.DataFrame({"a": [True] * k + [False] * (n - k), "b": [True] * n})
    forms: list[Any] = [k / n, Decimal(k) / n, Fraction(k, n)]
    for least in forms:
        supports = dpmine.itemset_supports(frame, size=1, min_support=least)
        assert sorted(supports["support"]) == [k, n]
        for call in (fpgrowth, apriori):
            assert len(call(frame, min_support=least, max_len=1)) == 2
    assert len(dpmine.itemset_supports(frame, size=1, min_support=f"{k}/{n}")) == 2


def test_rules_reach_the_confidence_that_they_have() -> None:
    """3 of 7 units is 0.42857142857142855 as a float, which is above 3/7."""
    run: dict[str, Any] = {
        "size": 2,
        "catalogue": ["a", "b"],
        "release_support": 10**6,
        "rules": True,
        "min_support": 0,
    }
    found = dpmine.top_itemset([["a", "b"]] * 300 + [["a"]] * 400, **run)
    assert len(found.rules(min_confidence=3 / 7)) == 2
    assert len(found.rules(min_confidence=float(np.nextafter(3 / 7, 1)))) == 1


@every("least", [0.3, "0.3", "30%", "3/10", Fraction(3, 10), 300, "300"])
def test_a_listed_support_is_a_count_or_a_share_of_the_units(least: Any) -> None:
    run: dict[str, Any] = {
        "size": 1,
        "catalogue": ["a", "b"],
        "release_support": 10**6,
        "mechanism": "exponential",
        "units": 1000,
    }
    data = [["a"]] * 300 + [["b"]] * 299 + [[]] * 401
    assert dpmine.top_itemsets(data, 2, **run, min_support=least).itemsets == (frozenset("a"),)


@every("least", [0.02, "2%", "1.0"])
def test_a_listed_share_needs_the_number_of_units(least: Any) -> None:
    with pytest.raises(dpmine.BadParameter, match=r"min_support is a share of the units: .*`units=N`"):
        dpmine.top_itemset([["a"]], release_support=1, min_support=least)


@every("least", [-1, 1.5, 0.0, "101%", "%", "x", True])
def test_a_listed_support_that_is_none_is_rejected(least: Any) -> None:
    with pytest.raises(dpmine.BadParameter, match="min_support"):
        dpmine.top_itemset([["a"]], release_support=1, min_support=least, units=10)
