"""Frequent itemsets: the right ones where noise is small, intervals that hold, rules, and what is charged when."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from mlxtend.frequent_patterns import association_rules
from support.cases import every
from support.hostile.neighbours import Runs
from support.hostile.tables import TABLES
from support.sealed import SealedBaskets, SealedData, Untouchable, spent

import dpmine
from dpmine.privacy import Neighbors, Zcdp
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.release.frequent import FrequentItemsets

BASKETS = [
    *[["a", "b", "c"]] * 3000,
    *[["a", "b"]] * 1000,
    *[["d"]] * 900,
    *[["a", "d"]] * 100,
    *[["e"]] * 30,
]
UNITS = len(BASKETS)
ALL = [frozenset(some) for some in chain.from_iterable(combinations("abcde", size) for size in range(1, 6))]
TRUE = {itemset: sum(itemset <= set(basket) for basket in BASKETS) for itemset in ALL}


def with_baskets() -> pa.Table:
    """Every basket for a unit of its own, and each of its items alone in another basket."""
    rows = [(unit, 0, item) for unit, basket in enumerate(BASKETS) for item in basket]
    rows += [(unit, place + 1, item) for unit, basket in enumerate(BASKETS) for place, item in enumerate(basket)]
    return pa.table(dict(zip(("unit", "basket", "item"), map(list, zip(*rows, strict=True)), strict=True)))


def mined(min_support: Any = None, data: Any = BASKETS, **options: Any) -> FrequentItemsets:
    return dpmine.frequent_itemsets(data, min_support, **{"epsilon": 50, **options})


def within(true: int, value: int, interval: tuple[int, int]) -> bool:
    """Whether the interval, made twice as wide, holds the true number: it misses that once in millions of runs."""
    low, high = interval
    return low <= value <= high and value - 2 * (value - low) <= true <= value + 2 * (high - value)


def frequent(least: int, largest: int = 12) -> set[frozenset[str]]:
    return {itemset for itemset, support in TRUE.items() if support >= least and len(itemset) <= largest}


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize(("catalogue", "delta"), [(None, 1e-6), (list("abcdef"), 1e-6), (list("abcdef"), 0)])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("support", [700, "14%"])
def test_exactly_the_frequent_ones_where_noise_is_small(
    relation: Neighbors, catalogue: list[str] | None, delta: float, several: bool, support: Any
) -> None:
    """14 % of 5,030 are 705; supports are 1,000 or more, or 100 or less."""
    data: Any = BASKETS
    options: dict[str, Any] = {}
    if several:
        data, options = with_baskets(), {"unit": "unit", "basket": "basket", "item": "item"}
    found = mined(support, data, delta=delta, neighbors=relation, catalogue=catalogue, **options)
    assert set(found) == frequent(700)
    assert list(found.noisy_supports) == sorted(found.noisy_supports, reverse=True)
    rows = zip(found, found.noisy_supports, found.intervals, strict=True)
    assert all(within(TRUE[each], value, interval) for each, value, interval in rows)
    assert found.certain == (True,) * len(found)
    assert within(UNITS, *found.units)
    assert found.several_baskets is several
    assert found.complete_above is not None
    assert 0 <= found.complete_above < 900  # none that is missing may have the support of one that is listed
    assert found.advice == ""


def test_the_best_k_hold_all_their_subsets() -> None:
    found = mined(k=7)
    assert set(found) == frequent(3000)
    assert (found.certain, found.threshold) == (None, None)
    few = mined(k=4)
    assert all(each - {item} in {*few, frozenset()} for each in few for item in each)
    assert few.complete_above is not None
    assert few.complete_above >= 3000


def test_sizes_end_where_they_are_told_to() -> None:
    assert set(mined(700, max_size=2)) == frequent(700, 2)
    assert mined(700).max_size == 12
    assert mined(700, catalogue=list("abc")).max_size == 3


def test_a_share_is_of_the_public_units_where_they_are_given() -> None:
    """Twice as many units as there are: 35 % of them are 3,521."""
    found = mined("35%", units=2 * UNITS)
    assert (found.threshold, found.units) == (3521, (2 * UNITS, (2 * UNITS, 2 * UNITS)))
    assert set(found) == frequent(3521)
    assert found.to_pandas()["support"].max() == pytest.approx(TRUE[frozenset("a")] / UNITS / 2, rel=0.02)


def test_items_of_wide_baskets_are_counted_after_one_of_narrow_ones() -> None:
    """Units with one item give it all their weight, those with three items 0.58 to each."""
    found = mined(3500, [["a", "b"]] * 4000 + [["a"]] * 1000)
    assert set(found) == {frozenset("a"), frozenset("b"), frozenset("ab")}


def test_items_that_the_first_look_may_miss_are_found() -> None:
    """Units weigh ten items each: until one is found, nothing says that supports are larger than weights."""
    full = [[f"item {number}" for number in range(10)]] * 290 + [[]] * 1710
    for _ in range(12):  # the first look finds none in two of five runs
        assert len(mined(0.08, full, epsilon=1, max_size=1).itemsets) >= 9


def test_what_is_close_to_the_threshold_is_not_certain() -> None:
    """About six standard deviations of noise would make it so."""
    found = mined(TRUE[frozenset("c")] + 40)
    assert found.certain is not None
    certain = dict(zip(found, found.certain, strict=True))
    assert certain[frozenset("a")]
    assert not certain.get(frozenset("c"))


def test_maximal_ones_and_rules() -> None:
    found = mined(700, units=UNITS)
    assert set(found.maximal()) == {frozenset("abc"), frozenset("d")}
    rules = found.rules(min_threshold=0.9)
    pairs = set(zip(rules["antecedents"], rules["consequents"], strict=True))
    assert (frozenset("c"), frozenset("ab")) in pairs
    assert (frozenset("a"), frozenset("c")) not in pairs
    lifted = found.rules("lift", 1.2)
    assert len(lifted)
    assert (lifted["lift"] >= 1.2).all()
    assert len(lifted) == len(found.rules("lift", 0)[lambda frame: frame["lift"] >= 1.2])
    with pytest.raises(dpmine.BadParameter, match="lift needs units with one basket each"):
        dpmine.frequent_itemsets(BASKETS, 700).rules("lift")
    with pytest.raises(dpmine.BadParameter, match="min_threshold must be at least 0"):
        found.rules(min_threshold=2)


def test_maximal_ones_alone_are_a_result() -> None:
    largest = mined(700, units=UNITS).without_subsets()
    assert set(largest.to_pandas()["itemsets"]) == {frozenset("abc"), frozenset("d")}
    assert "of at most 5 items, all among the 5 counted, apart from subsets of these, has a support" in str(largest)
    with pytest.raises(dpmine.BadParameter, match="need all subsets"):
        largest.rules()


@every("options", [{"min_support": 700}, {"k": 5}])
def test_mlxtend_makes_rules_of_the_frame(options: dict[str, Any]) -> None:
    frame = mined(**options).to_pandas()
    assert list(frame) == ["support", "itemsets", "count", "low", "high", "certain"]
    assert len(association_rules(frame, min_threshold=0.9)) > 0


def test_forms() -> None:
    found = mined(700)
    document = json.loads(found.to_json())
    assert {tuple(row["items"]) for row in document["itemsets"]} == {tuple(sorted(each)) for each in found}
    assert document["itemsets"][0]["certain"] is True
    assert [document[name] for name in ("threshold", "complete_above")] == [700, found.complete_above]
    assert document["counted"] >= len(found)
    assert str(found).splitlines()[0].split() == ["noisy", "support", "interval", "share", "certain", "itemset"]
    assert "Nothing is said of items that were not counted." in str(found)
    assert found._repr_html_().startswith("<div><table>")
    assert str(mined(k=3)).splitlines()[0].split() == ["noisy", "support", "interval", "share", "itemset"]


@every("relation", Neighbors)
@every("catalogue", [None, list("abcde")])
def test_what_is_charged_is_what_is_guaranteed(relation: Neighbors, catalogue: Any) -> None:
    """ρ and its δ turn into ε within δ. Without public items, half of δ is theirs."""
    guarantee = mined(2000, epsilon=2, delta=1e-5, neighbors=relation, catalogue=catalogue).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.neighbors) == (Fraction(2), Fraction(1, 10**5), relation)
    assert guarantee.zcdp.delta == (0 if catalogue else Fraction(1, 2 * 10**5))
    assert delta_at(guarantee.zcdp.rho, Fraction(2)) + guarantee.zcdp.delta <= guarantee.delta


@every("relation", Neighbors)
def test_a_public_catalogue_needs_no_delta(relation: Neighbors) -> None:
    found = mined(2000, epsilon=30, delta=0, neighbors=relation, catalogue=list("abcdefgh"))
    guarantee = found.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.zcdp) == (Fraction(30), Fraction(0), Zcdp(Fraction(450)))
    assert found


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({}, "Give the least support"),
    "both": ({"min_support": 0.1, "k": 5}, "`min_support` and `k` exclude each other"),
    "a share above 1": (
        {"min_support": 1.5},
        "min_support must be a count of at least 1 .* or a share above 0 up to 1",
    ),
    "a count of 0": ({"min_support": 0}, "min_support must be a count"),
    "too small a count": (
        {"min_support": 20},
        "min_support 20 is small beside the noise at this epsilon: give at",
    ),
    "a small share of public units": (
        {"min_support": 0.02, "units": 5000, "epsilon": 1},
        "^2% of 5,000 units is 100, which is small beside the noise at this epsilon: give at least 2.7%, or a larger",
    ),
    "a share of too few units": (
        {"min_support": "50%", "units": 100, "epsilon": 1},
        "^50% of 100 units is 50, which is small beside the noise at this epsilon: give a larger epsilon.$",
    ),
    "more than any count": ({"min_support": 10**400}, "min_support is more than any number of units"),
    "no size": ({"k": 5, "max_size": 0}, "max_size must be a whole number of at least 1"),
    "too large a size": ({"k": 5, "max_size": 13}, "max_size must be at most 12"),
    "a size above the catalogue": ({"k": 5, "max_size": 3, "catalogue": ["a", "b"]}, "max_size must not exceed the 2"),
    "k above the catalogue": ({"k": 5, "catalogue": ["a", "b"]}, "`k` must be at most 3"),
    "k of 0": ({"k": 0}, "`k` must be a whole number of at least 1"),
    "a huge k": ({"k": 10**6}, "`k` must be at most 2,000"),
    "items of the data": ({"k": 5, "catalogue": "from-data"}, "leave the catalogue out, or give a public one"),
    "no delta": ({"k": 5, "delta": 0}, "give it .* or the public list of all items"),
    "a delta of 1": ({"k": 5, "delta": 1, "catalogue": ["a", "b"]}, "delta must be at least 0 and less than 1"),
    "no epsilon": ({"k": 5, "epsilon": 0}, "epsilon must be greater than 0"),
    "a tiny epsilon": ({"k": 5, "epsilon": 1e-9, "delta": 1e-12}, "epsilon is too small"),
    "no units": ({"k": 5, "units": 0}, "units must be a whole number of at least 1"),
    "no items of a unit": ({"k": 5, "max_items_per_unit": 0}, "max_items_per_unit must be a whole number"),
    "an unknown relation": ({"k": 5, "neighbors": "some"}, "neighbors must be"),
}


@every("name", BAD)
def test_nothing_is_charged_for_what_cannot_be_run(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/l.db"
    dpmine.Ledger(url).grant("shop", epsilon=1, delta=1e-6)
    options, message = BAD[name]
    with pytest.raises(dpmine.BadParameter, match=message) as error:
        dpmine.frequent_itemsets(SealedData(), **options, ledger=url, dataset="shop")
    assert "\n" not in str(error.value)
    assert spent(url) == (0, 0)


@pytest.mark.parametrize("relation", Neighbors)
def test_no_units_are_within_their_interval(relation: Neighbors) -> None:
    """At a large ε the noise is 0; the number is not raised to 1, nor taken for public."""
    found = dpmine.frequent_itemsets([], "50%", epsilon=10**6, neighbors=relation)
    assert (found.units, found.units_are_public, len(found)) == ((0, (0, 0)), False, 0)
    with pytest.raises(dpmine.BadParameter, match="lift needs units with one basket each"):
        found.rules("lift")


def test_numbers_fit_64_bits_however_small_epsilon_is() -> None:
    """Half widths alone are larger than 2^63: where nothing is cut, this fails in nearly all runs."""
    given: dict[str, Any] = {"epsilon": 5e-18, "delta": 0, "catalogue": list("abc"), "max_items_per_unit": 1}
    found = dpmine.frequent_itemsets([["a", "b"], ["c"]], k=2, **given)
    assert max(found.complete_above or 0, found.units[1][1]) < 2**63
    assert len(found.to_pandas()) == len(found.to_arrow()) == len(found)


def test_rules_in_arrow_are_kept_by_their_metric() -> None:
    found = dpmine.frequent_itemsets([["a", "b"], ["a", "b"], ["c"]] * 2000, "20%", epsilon=5, units=6000)
    rules = found.rules("lift", 1.2)
    table = found.rules_to_arrow("lift", 1.2)
    assert table["lift"].to_pylist() == rules["lift"].tolist()
    assert len(table) == 2


def test_the_smallest_count_that_is_advised_is_accepted() -> None:
    with pytest.raises(dpmine.BadParameter) as error:
        dpmine.frequent_itemsets(SealedData(), 1)
    least = int(str(error.value).partition("at least ")[2].partition(",")[0])
    with pytest.raises(Untouchable):
        dpmine.frequent_itemsets(SealedBaskets(), least)
    with pytest.raises(dpmine.BadParameter):
        dpmine.frequent_itemsets(SealedData(), least - 1)


def test_a_run_is_charged_before_data_are_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/l.db"
    dpmine.Ledger(url).grant("shop", epsilon=1, delta=1e-6)
    for error in (Untouchable, dpmine.BudgetExceeded):
        with pytest.raises(error):
            dpmine.frequent_itemsets(SealedBaskets(), k=5, ledger=url, dataset="shop")
        assert spent(url) == (1, Fraction(1, 10**6))


def test_a_dry_run_reads_nothing() -> None:
    said = str(dpmine.dry_run(dpmine.frequent_itemsets, SealedBaskets(), "2%", epsilon="0.5"))
    assert said.startswith("Dry run of frequent-itemsets: no value was read, nothing charged.")
    assert "ε = 0.5, δ = 1e-06 per row" in said


@every("data", [[], [[]], [["a"]]])
@every("relation", Neighbors)
@every("options", [{"k": 3}, {"min_support": "50%"}, {"min_support": 500}])
def test_too_few_units_give_an_empty_list_and_advice(data: Any, relation: Neighbors, options: dict[str, Any]) -> None:
    found = dpmine.frequent_itemsets(data, neighbors=relation, **options)
    assert (len(found), found.complete_above, found.maximal()) == (0, None, ())
    assert found.advice.startswith(("To be found with probability 1/2", "That share is "))
    assert str(found).startswith(f"No itemset is listed.\n{found.advice}")
    assert (len(found.to_pandas()), len(found.rules())) == (0, 0)


@pytest.mark.parametrize("name", TABLES)
def test_no_hostile_row_shows_or_stops_a_run_that_is_charged(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given, runs = TABLES[name], Runs(f"sqlite:///{tmp_path}/l.db", capfd)
    unit = given.options.get("unit", "row")

    def kind_of_result(data: pa.Table) -> Any:
        found = dpmine.frequent_itemsets(
            data, k=5, notice=lambda _: None, ledger=runs.ledger, dataset=unit, **given.options
        )
        return type(found), found.item_type, found.several_baskets, found.guarantee

    base = runs.show(lambda: kind_of_result(given.base), unit)
    assert len(base[-1]) == 1
    for row in given.rows.values():
        beside = pa.concat_tables([given.base.slice(0, 20), row, given.base.slice(20)])
        assert runs.show(lambda data=beside: kind_of_result(data), unit) == base  # type: ignore[misc]


def test_a_share_that_noise_hides_is_replaced_by_the_least_threshold() -> None:
    """With a noisy number of units that cannot be said before the charge: the result says it."""
    found = dpmine.frequent_itemsets(BASKETS, "0.1%", epsilon=1)
    assert "133 units are taken in its place" in found.advice
    assert found.threshold == 133
    assert min(found.noisy_supports) >= 133
