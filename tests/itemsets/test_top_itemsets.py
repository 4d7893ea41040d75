"""The top k itemsets of data: against brute force where nothing is left to chance, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.mechanisms import APPROXIMATE, PURE
from support.sealed import SealedData

import dpmine
from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.request.query import MOST_PLACES, SUPPORTS_SHARE, Query, Request
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.release.results import TopItemsets

SURE = 10_000
"""An ε at which nothing is left to chance where supports differ: noise of scale 2 · 10/10,000 for ten itemsets."""
BASKETS = [
    *[["a", "b", "c"]] * 17,
    *[["a", "b"]] * 9,
    *[["a", "b", "e"]] * 6,
    *[["b", "c", "d"]] * 8,
    *[["a", "d"]] * 3,
    *[["d"]] * 4,
    *[["e"]] * 2,
]
ITEMS = "abcde"


def brute_force(sizes: tuple[int, int]) -> Counter[frozenset[str]]:
    """Every itemset of the catalogue, bought or not, straight from the definition."""
    ranks = chain.from_iterable(combinations(ITEMS, size) for size in range(sizes[0], sizes[1] + 1))
    return Counter({frozenset(rank): sum(set(rank) <= set(basket) for basket in BASKETS) for rank in ranks})


def assert_best(result: TopItemsets, k: int) -> None:
    """The k best in their order; equal supports may come in any."""
    truth = brute_force(result.sizes)
    assert len(set(result.itemsets)) == len(result.itemsets) == k
    assert [truth[found] for found in result.itemsets] == [count for _, count in truth.most_common(k)]


def top(k: int, data: Any = BASKETS, **options: Any) -> TopItemsets:
    return dpmine.top_itemsets(data, k, **{"epsilon": SURE, **options})


def long_table() -> pa.Table:
    rows = [(number, item) for number, basket in enumerate(BASKETS) for item in basket]
    return pa.table({"customer": [unit for unit, _ in rows], "item": [item for _, item in rows]})


def parquet(folder: Path) -> str:
    pq.write_table(long_table(), folder / "sales.parquet", row_group_size=7)
    return str(folder / "sales.parquet")


def with_baskets(_: Path) -> pa.Table:
    """Each basket twice for its unit, and an item of its own in a third one that pairs with nobody."""
    rows = [(unit, visit, item) for unit, basket in enumerate(BASKETS) for visit in range(2) for item in basket]
    rows += [(unit, 7, "a") for unit, basket in enumerate(BASKETS) if "a" in basket]
    return pa.table(dict(zip(["who", "visit", "item"], map(list, zip(*rows, strict=True)), strict=True)))


ONE_HOT = pd.DataFrame([{item: item in basket for item in ITEMS} for basket in BASKETS])
LAYOUTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "baskets": (lambda _: BASKETS, {}),
    "long": (lambda _: long_table(), {}),
    "long, in a file": (parquet, {"unit": "customer", "item": "item"}),
    "units of several baskets": (with_baskets, {"unit": "who", "basket": "visit", "item": "item"}),
    "lists": (lambda _: pa.table({"items": BASKETS}), {}),
    "lists of units": (
        lambda _: pa.table({"u": range(len(BASKETS)), "items": BASKETS}),
        {"unit": "u", "items": "items"},
    ),
    "one-hot": (lambda _: ONE_HOT, {}),
    "one-hot of numbers": (lambda _: pa.Table.from_pandas(ONE_HOT.astype("int8")), {"one_hot": True}),
    "a stream": (lambda _: long_table().to_reader(max_chunksize=5), {}),
}


@every("layout", LAYOUTS)
@every("mechanism", ["exponential", "limited_domain", "large_margin_tight"])
def test_every_layout(layout: str, mechanism: str, tmp_path: Path) -> None:
    make, options = LAYOUTS[layout]
    catalogue = list(ITEMS) if mechanism == "exponential" else None
    found = top(4, make(tmp_path), mechanism=mechanism, catalogue=catalogue, release_support=SURE, **options)
    assert_best(found, 4)
    assert found.noisy_supports == tuple(brute_force((2, 2))[itemset] for itemset in found.itemsets)


@every("mechanism", [*PURE, *APPROXIMATE, "exact", "auto"])
@every("size", [1, 2, "1-3"])
def test_everything_is_exact_at_a_huge_budget(mechanism: str, size: Any) -> None:
    """Order, supports and rules; a mechanism that wants a margin stops where two are equal."""
    catalogue = list(ITEMS) if mechanism in PURE else None
    options: dict[str, Any] = {"max_items_per_unit": 3} if mechanism == "bounded_growth" else {}
    k = 2 if size == 2 else 3  # as far as supports differ
    found = top(
        k,
        size=size,
        mechanism=mechanism,
        catalogue=catalogue,
        not_private=mechanism == "exact",
        release_support=SURE,
        **options,
    )
    assert_best(found, k)
    assert mechanism in {found.mechanism, "auto"}
    assert found.noisy_supports == tuple(brute_force(found.sizes)[itemset] for itemset in found.itemsets)
    assert found.intervals == tuple((support, support) for support in found.noisy_supports or ())
    assert found.advice == ""


@pytest.mark.parametrize("size", [2, 3, "1-3"])
def test_rules_are_the_true_ones_at_a_huge_budget(size: Any) -> None:
    found = top(3, size=size, catalogue=list(ITEMS), release_support=SURE, rules=True, units=len(BASKETS))
    truth = brute_force((1, 3))
    listed = {itemset for chosen in found.itemsets for itemset in subsets(chosen)}
    expected = {
        (antecedent, whole - antecedent): Fraction(truth[whole], truth[antecedent])
        for whole in listed
        for antecedent in subsets(whole)
        if antecedent != whole
    }
    rules = found.rules()
    pairs = list(zip(rules["antecedents"], rules["consequents"], strict=True))
    assert len(pairs) == len(set(pairs)) == len(expected)
    for pair, confidence, low, high in zip(
        pairs, rules["confidence"], rules["confidence_low"], rules["confidence_high"], strict=True
    ):
        assert low <= float(expected[pair]) == confidence <= high
    kept = found.rules("4/5")
    assert len(kept) == sum(confidence >= Fraction(4, 5) for confidence in expected.values())


def subsets(itemset: frozenset[str]) -> list[frozenset[str]]:
    return [frozenset(part) for size in range(1, len(itemset) + 1) for part in combinations(itemset, size)]


def test_rules_need_to_be_asked_for() -> None:
    for options in ({}, {"release_support": 1}):
        with pytest.raises(BadParameter, match="rules=True"):
            top(2, **options).rules()
    nothing = dpmine.top_itemsets(BASKETS, 2, epsilon="1/1000", release_support=1, rules=True, units=9)
    assert nothing.itemsets == ()
    assert len(nothing.rules()) == 0
    with pytest.raises(BadParameter, match="min_confidence"):
        nothing.rules(2)


def test_mlxtend_makes_the_same_rules_of_the_frame() -> None:
    from mlxtend.frequent_patterns import association_rules

    found = top(4, size="2-3", catalogue=list(ITEMS), release_support=SURE, rules=True, units=len(BASKETS))
    frame = found.to_pandas()
    assert tuple(frame["itemsets"][:4]) == found.itemsets
    theirs = association_rules(frame, metric="confidence", min_threshold=0.5)
    ours = found.rules("1/2")
    assert {*zip(theirs["antecedents"], theirs["consequents"], strict=True)} == {
        *zip(ours["antecedents"], ours["consequents"], strict=True)
    }
    assert np.sort(theirs["lift"].to_numpy()) == pytest.approx(np.sort(ours["lift"].to_numpy()))


@pytest.mark.parametrize("mechanism", ["limited_domain", "large_margin", "exact"])
def test_more_than_the_data_hold(mechanism: str) -> None:
    """Of an unknown universe only what occurs: never an error, which would tell."""
    found = top(50, mechanism=mechanism, not_private=mechanism == "exact", epsilon=10**6)
    bought = {pair for pair, support in brute_force((2, 2)).items() if support}
    assert set(found.itemsets) <= bought
    assert len(set(found.itemsets)) == len(found.itemsets)
    assert mechanism != "exact" or set(found.itemsets) == bought
    assert found.advice
    assert f"(nothing else stands out: {found.advice})" in str(found)


@pytest.mark.parametrize("data", [BASKETS, [], [["a"]], long_table().slice(0, 0)], ids=["sales", "none", "one", "rows"])
def test_sizes_beyond_the_data_give_an_empty_result(data: Any) -> None:
    """An error would tell how much the data hold."""
    for options in ({}, {"mechanism": "large_margin"}, {"mechanism": "exponential", "catalogue": "from-data"}):
        assert top(4, data, size="6-900000000", **options).itemsets == ()
        found = top(4, data, size="6-11", release_support=1, rules=True, **options)
        assert (found.itemsets, found.noisy_supports, found.intervals) == ((), (), ())
        assert found.to_arrow().num_rows == len(found.to_pandas()) == 0
        assert found.guarantee.epsilon == SURE + 1


def test_a_whole_catalogue() -> None:
    found = top(10, catalogue=list(ITEMS), mechanism="exponential")
    assert_best(found, 10)
    assert top(10, [], catalogue=list(ITEMS), mechanism="max_of_laplaces", epsilon="1/100").advice == ""
    with pytest.raises(BadParameter, match=r"`k` must not exceed the 10 itemsets"):
        top(11, catalogue=list(ITEMS))
    assert len(top(50, catalogue="from-data", mechanism="exponential").itemsets) == 10


@pytest.mark.parametrize("k", [1, 3])
def test_one_of_many_is_the_top(k: int) -> None:
    assert top(k).itemset == dpmine.top_itemset(BASKETS, epsilon=SURE).itemset == frozenset("ab")
    assert dpmine.top_itemset(BASKETS, epsilon=SURE).budget is None
    assert (top(k).budget is None) == (k == 1)


def test_streamed_through_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with a budget so small that units are scattered over files."""
    from dpmine.itemsets import read as reading
    from dpmine.itemsets.outofcore.partitions import PartitionedBaskets
    from dpmine.itemsets.transactions.memory import MemoryBudget

    plenty = 10**9
    tiny = MemoryBudget(
        whole=0, chunk=6000, labels=plenty, gathered=0, all_resident=0, resident=2500, projection=3000, listing=plenty
    )
    read, seen = reading.read_transactions, list[Any]()

    def scattered(*arguments: Any, **options: Any) -> Any:
        found = read(*arguments, **{**options, "memory": tiny})
        seen.append(found.transactions)
        return found

    options: dict[str, Any] = {"size": "1-3", "release_support": SURE, "rules": True, "catalogue": list(ITEMS)}
    expected = top(8, long_table(), **options)
    monkeypatch.setattr(reading, "read_transactions", scattered)
    for _ in range(3):
        found = top(8, long_table().to_reader(max_chunksize=7), **options)
        assert_best(found, 8)
        assert found.noisy_supports == expected.noisy_supports
        assert found.guarantee == expected.guarantee
    assert all(isinstance(transactions, PartitionedBaskets) for transactions in seen)


# Parameters


SHARED = {"release_support": 1}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    **{f"k {k!r}"[:24]: ({"k": k}, "`k` must be") for k in (0, -1, 1.5, 2.0, True, "3", None, MOST_PLACES + 1, 10**30)},
    "k and catalogue": ({"k": 4, "catalogue": ["a", "b", "c"]}, r"`k` must not exceed the 3 itemsets"),
    **{
        f"supports {value!r}": ({"release_support": value}, "release_support must")
        for value in (0, -1, "x", "", "0", "nan", float("inf"), True, [1], "1e-400", "AUTO!")
    },
    **{f"units {u!r}"[:24]: ({"units": u, **SHARED}, "units must be") for u in (0, -4, 1.5, "9", True, 2**63, 10**400)},
    "rules of nothing": ({"rules": True}, "give release_support"),
    "rules of size 1": ({"rules": True, "size": 1, **SHARED}, "at least 2 items"),
    "rules of large itemsets": ({"rules": True, "size": "2-13", **SHARED}, "size must be at most 12"),
    "rules of numbers": ({"rules": 1, **SHARED}, "rules must be True or False"),
    "kbar": ({"k": 4, "mechanism": "limited_domain", "kbar": 3}, "kbar must be at least"),
    "cut too small": ({"mechanism": "bounded_growth", "max_items_per_unit": 1}, "max_items_per_unit must be at least"),
    "cut for others": ({"mechanism": "exponential", "catalogue": list(ITEMS), "max_items_per_unit": 9}, "no option"),
    "no catalogue": ({"mechanism": "max_of_laplaces"}, "max_of_laplaces chooses among all itemsets"),
    "no delta": ({"delta": 0}, "delta must be"),
    "delta of one": ({"delta": 1, "mechanism": "exponential", "catalogue": list(ITEMS)}, "delta must be at least 0"),
}


@every("case", BAD)
def test_bad_parameters_are_told_before_the_data_are_touched(case: str) -> None:
    parameters, message = BAD[case]
    with pytest.raises(BadParameter, match=message) as failure:
        dpmine.top_itemsets(SealedData(), **{"k": 2, **parameters})
    assert "\n" not in str(failure.value)
    assert len(str(failure.value)) < 400


@pytest.mark.parametrize("mechanism", ["bounded_growth", "auto"])
def test_a_huge_range_of_sizes_is_no_work(mechanism: str) -> None:
    """Only sizes that a unit, or a catalogue, can hold are counted."""
    if mechanism == "auto":
        with pytest.raises(BadParameter, match="size must not exceed the 5 items"):
            top(2, size="1-900000000", catalogue=list(ITEMS))
    else:
        found = top(2, size="1-900000000", mechanism=mechanism, max_items_per_unit=3)
        assert frozenset("b") in found.itemsets


# Budgets

NUMBERS = st.one_of(
    st.fractions(Fraction(1, 50), 200, max_denominator=60), st.sampled_from(["0.1", "1/3", 0.3, 7, "1e-4"])
)
MECHANISMS = st.sampled_from(["auto", *PURE, *(name for name in APPROXIMATE if name != "bounded_growth")])


@settings(max_examples=examples(80))
@given(
    MECHANISMS,
    st.integers(1, 6),
    NUMBERS,
    st.sampled_from([1e-6, "1e-12", "1/3", 0.99]),
    st.one_of(st.none(), st.just("auto"), NUMBERS),
    st.booleans(),
    st.sampled_from(["replace_one", "add-remove"]),
)
def test_parts_of_the_budget_add_up_exactly(
    mechanism: str,
    k: int,
    epsilon: Any,
    delta: Any,
    released: Any,
    rules: bool,
    neighbors: str,
) -> None:
    asked = Fraction(str(epsilon)) if not isinstance(epsilon, Fraction) else epsilon
    request = Request.of(
        Query(
            k=k,
            size=2,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            neighbors=neighbors,
            catalogue=list(ITEMS),
            release_support=released,
            rules=rules and released is not None,
        )
    )
    more = Fraction(0) if released in {None, "auto"} else Fraction(str(released))
    assert request.guarantee.epsilon == asked + more
    assert request.guarantee.delta in {0, Fraction(str(delta))}
    assert (request.split.total.epsilon, request.split.total.delta) == (
        request.guarantee.epsilon,
        request.guarantee.delta,
    )
    written = request.split.to_dict()
    parts = [written["selection"], *([written["supports"]] if written["supports"] else [])]
    names = ("epsilon", "delta") if parts[-1].get("noise") != "gaussian" else ("rho",)
    for name in names:
        assert sum(Fraction(part[f"{name}_exact"]) for part in parts) == getattr(request.guarantee, name)
    if names == ("rho",):
        zcdp = request.guarantee.zcdp
        implied = delta_at(zcdp.rho, request.guarantee.epsilon)  # at another order than ρ was found at, in floats
        assert implied + zcdp.delta <= request.guarantee.delta * (1 + Fraction(1, 10**15))
    assert (released is None) == (written["supports"] is None)
    assert request.way.epsilon == (asked * (1 - SUPPORTS_SHARE) if released == "auto" else asked)


def test_intervals_are_as_wide_as_the_noise_is() -> None:
    """Of as many supports as are released: the chosen ones, or all their subsets."""
    options: dict[str, Any] = {"catalogue": list(ITEMS), "mechanism": "exponential", "release_support": "1/2"}
    options["min_support"] = 0
    found = top(3, **options)
    width = DiscreteLaplace(Fraction(1, 2)).half_width(3)
    for value, (low, high) in zip(found.noisy_supports or (), found.intervals or (), strict=True):
        assert low == max(0, value - width)
        assert high == value + width if value else 0 <= high <= width  # what noise brought below 0 is shown as 0
    found = top(3, rules=True, **options)
    assert found.supports is not None
    width = DiscreteLaplace(Fraction(1, 2)).simultaneous_half_width(len(found.supports.itemsets))
    released = dict(zip(found.supports.itemsets, found.supports.values, strict=True)).values()
    assert found.supports.itemsets == tuple(dict.fromkeys(found.supports.itemsets))
    assert {*found.supports.itemsets} == {part for chosen in found.itemsets for part in subsets(chosen)}
    assert found.supports.intervals == tuple((max(0, v - width), v + width) for v in released)


def test_supports_are_noisy() -> None:
    """At ε = 1/1000 for two supports a true one is released once in 4000 times."""
    truth = brute_force((2, 2))
    found = top(2, catalogue=list(ITEMS), release_support="1/1000", min_support=0)
    assert found.noisy_supports != tuple(truth[itemset] for itemset in found.itemsets)


def test_no_count_is_ever_released() -> None:
    """Every number of the data is peculiar, and none of them may be seen."""
    rows = [
        (unit, item) for unit in range(7919) for item in "abc" if item == "a" or unit < {"b": 6211, "c": 4327}[item]
    ]
    table = pa.table({"unit": [unit for unit, _ in rows], "item": [item for _, item in rows]})
    released: dict[str, Any] = {"epsilon": 5, "release_support": "1/100", "units": 8000}
    results = [
        dpmine.top_itemsets(table, 2, **released),
        dpmine.top_itemsets(table, 2, rules=True, **released),
        dpmine.top_itemset(table, mechanism="large_margin"),
        dpmine.top_itemset(table, mechanism="exponential", catalogue=["a", "b", "z"]),
        dpmine.top_itemset(table, mechanism="large_margin", epsilon="0.00001"),
    ]
    assert [len(found) for found in results] == [2, 2, 1, 1, 0]
    assert [found.noisy_supports is None for found in results] == [False, False, True, True, True]
    for found in results:
        shown = [str(found), found.to_json(), repr(found), found.to_pandas().to_string(), str(found.to_dict())]
        shown += [str(found.to_arrow().to_pydict()), str(found.to_arrow().schema.metadata), found.advice]
        shown += [found.rules().to_string()] if found is results[1] else []
        for count in (7919, 6211, 4327, len(rows)):
            assert not any(str(count) in text for text in shown)
