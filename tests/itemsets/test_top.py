"""The main job from end to end: transactions in, the top itemset and its guarantee out."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import datasets
from support.cases import every
from support.mechanisms import PURE, UNKNOWN_UNIVERSE
from support.oracles.itemsets import all_supports
from support.sealed import SealedData

import dpmine
from dpmine.errors import BadData, BadParameter, DpmineError, NotPrivate, UnreadableFile
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.release.results import TopItemsets

SURE = 1000
SIZES = (1, 2, 3)


def best(data: datasets.Transactions, size: int) -> set[frozenset[Any]]:
    """The top itemsets, several where they tie, out of the exact supports."""
    frame = dpmine.itemset_supports(data.table, size=size, min_support=data.shares[size], **data.options)
    return set(frame["itemsets"][frame["support"] == frame["support"].max()])


def top(data: datasets.Transactions, size: int, mechanism: str, **options: Any) -> TopItemsets:
    catalogue = data.catalogue if mechanism in PURE else None
    given = {"catalogue": catalogue, "epsilon": SURE, **data.options, **options}
    return dpmine.top_itemset(data.table, size=size, mechanism=mechanism, **given)


@every("mechanism", [*PURE, *UNKNOWN_UNIVERSE], quick=24)
@every("size", SIZES)
@every("name", ["mushroom", "Quest"])
def test_true_top_is_found_at_a_huge_budget(name: str, size: int, mechanism: str) -> None:
    data = datasets.NAMED[name]()
    winners = best(data, size)
    assert len(winners) == 1
    assert top(data, size, mechanism).itemsets == tuple(winners)


def test_bounded_growth_finds_it_where_its_bound_cuts_nothing() -> None:
    data = datasets.mushroom()
    assert top(data, 2, "bounded_growth", max_items_per_unit=23).itemset in best(data, 2)


def test_every_mechanism_is_tried() -> None:
    assert set(MECHANISMS) == {*PURE, *UNKNOWN_UNIVERSE, "bounded_growth", "exact"}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*PURE, *UNKNOWN_UNIVERSE])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["Online Retail, customers", "Online Retail, invoices", "retail"])
def test_true_top_of_the_larger_data_sets_is_found(name: str, size: int, mechanism: str) -> None:
    data = datasets.NAMED[name]()
    winners = best(data, size)
    chosen = top(data, size, mechanism).itemset
    if len(winners) > 1 and mechanism == "stable_maximiser":
        assert chosen is None  # it names a winner only where there is one
    else:
        assert chosen in winners


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["Online Retail, invoices", "Quest", "mushroom", "retail"])
def test_mlxtend_finds_the_same_top(name: str, size: int) -> None:
    """An independent count; one basket a unit, as mlxtend knows nothing of units."""
    data = datasets.NAMED[name]()
    assert best(data, size) == mlxtend_best(data, size)


def mlxtend_best(data: datasets.Transactions, size: int) -> set[frozenset[Any]]:
    from mlxtend.frequent_patterns import fpgrowth

    frame = one_hot(data, data.shares[size])
    found = fpgrowth(frame, min_support=data.shares[size], use_colnames=True, max_len=size)
    found = found[found["itemsets"].map(len) == size]
    return set(found["itemsets"][found["support"] == found["support"].max()])


def one_hot(data: datasets.Transactions, share: float) -> pd.DataFrame:
    """The one-hot frame of the items that are frequent enough to matter."""
    rows = data.table.select([data.options["unit"], data.item]).to_pandas().dropna().drop_duplicates()
    rows.columns = ["unit", "item"]
    count = rows["unit"].nunique()
    supports = rows["item"].value_counts()
    rows["unit"] = pd.factorize(rows["unit"])[0]
    rows = rows[rows["item"].isin(supports.index[supports >= share * count])]
    columns = {item: np.zeros(count, bool) for item in rows["item"].unique()}
    for item, part in rows.groupby("item"):
        columns[item][part["unit"].to_numpy()] = True
    return pd.DataFrame(columns)


def test_top_pairs_of_a_real_shop() -> None:
    """The unit decides what is counted: customers with a basket that holds both, or invoices."""
    by_invoice = top(datasets.online_retail_invoices(), 2, "large_margin")
    assert by_invoice.itemset == frozenset({"JUMBO BAG PINK POLKADOT", "JUMBO BAG RED RETROSPOT"})
    by_customer = datasets.online_retail_customers()
    assert top(by_customer, 2, "large_margin").itemset in best(by_customer, 2)
    frame = dpmine.itemset_supports(by_customer.table, size=2, min_support=270, **by_customer.options)
    assert frame["support"].head(4).tolist() == [313, 313, 283, 277]


@pytest.mark.parametrize("mechanism", ["large_margin", "large_margin_tight"])
def test_nothing_stands_out_at_a_tiny_budget(mechanism: str) -> None:
    result = top(datasets.mushroom(), 2, mechanism, epsilon=1e-6)
    assert result.itemsets == ()
    assert result.itemset is None
    assert "lead" in result.advice
    assert str(result).startswith("Nothing stands out.")


def test_pure_mechanisms_always_choose() -> None:
    for mechanism in PURE:
        assert len(top(datasets.mushroom(), 2, mechanism, epsilon=1e-6).itemsets) == 1


def random_units(seed: int) -> list[list[set[int]]]:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, (60, 2))
    return [[set(generator.zipf(1.6, size).clip(max=9).tolist()) for size in unit] for unit in sizes]


@every("seed", range(6))
def test_units_with_several_baskets_count_once(seed: int) -> None:
    """Against a count in plain Python; a range of sizes competes as one universe."""
    units = random_units(seed)
    rows = [(u, b, item) for u, unit in enumerate(units) for b, basket in enumerate(unit) for item in basket]
    table = pa.table(dict(zip(["who", "receipt", "what"], map(list, zip(*rows, strict=True)), strict=True)))
    names: dict[str, Any] = {"unit": "who", "basket": "receipt", "item": "what"}
    for sizes in [(1, 1), (2, 2), (3, 3), (2, 3)]:
        supports: Counter[tuple[int, ...]] = Counter()
        for size in range(sizes[0], sizes[1] + 1):
            supports += all_supports(units, size)
        tops = {frozenset(itemset) for itemset, count in supports.items() if count == max(supports.values())}
        found = dpmine.top_itemset(table, size=sizes, mechanism="exact", not_private=True, **names)
        assert found.itemset in tops


BASKETS = [["b", "a"]] * 40 + [["a", "c"]] * 9 + [["d"]] * 3
CELLS = [(number, item) for number, basket in enumerate(BASKETS) for item in basket]
LONG = pa.table({"customer": [unit for unit, _ in CELLS], "item": [item for _, item in CELLS]})


def test_items_outside_the_catalogue_are_dropped() -> None:
    result = dpmine.top_itemset(LONG, mechanism="exponential", catalogue=["a", "c"], epsilon=SURE)
    assert result.itemset == frozenset("ac")


def test_items_that_nobody_bought_belong_to_the_universe() -> None:
    """At a vanishing budget every pair is as likely: with 2 sold items of 60, an unsold one wins nearly always."""
    catalogue = ["a", "b", *(f"unsold {number}" for number in range(58))]
    result = dpmine.top_itemset(LONG, mechanism="exponential", catalogue=catalogue, epsilon="1e-9")
    assert result.itemset is not None
    assert result.itemset <= set(catalogue)
    assert result.itemset != frozenset("ab")  # false-alarm rate 1/1770
    found = dpmine.top_itemset(pa.table({"user": [1], "i": ["zzz"]}), mechanism="exponential", catalogue=["a", "b"])
    assert found.itemset == frozenset("ab")


def test_catalogue_from_the_data_is_stamped_not_private() -> None:
    result = dpmine.top_itemset(LONG, mechanism="exponential", catalogue="from-data", epsilon=SURE)
    assert result.itemset == frozenset("ab")
    assert not result.guarantee.private
    assert "catalogue" in result.guarantee.notes[0]
    assert not dpmine.top_itemset(LONG, mechanism="large-margin", catalogue="from-data").guarantee.private


def test_size_beyond_a_public_catalogue_is_an_error() -> None:
    with pytest.raises(BadParameter, match="size"):
        dpmine.top_itemset(LONG, size=3, catalogue=["a", "b"])
    assert len(dpmine.top_itemset(LONG, size=2, mechanism="exponential", catalogue=["a", "b"]).itemsets) == 1


@every("mechanism", ["large_margin", "exponential"])
@every("neighbors", ["replace_one", "add-remove", dpmine.Neighbors.ADD_REMOVE])
def test_guarantee_says_what_was_guaranteed(mechanism: str, neighbors: str) -> None:
    result = dpmine.top_itemset(
        LONG, mechanism=mechanism, catalogue=list("abcd"), epsilon="1/3", delta="1e-7", neighbors=neighbors
    )
    guarantee = result.guarantee
    assert guarantee.epsilon == Fraction(1, 3)
    assert guarantee.delta == (Fraction(1, 10**7) if mechanism == "large_margin" else 0)
    assert str(guarantee.neighbors) == str(neighbors).replace("-", "_")
    assert guarantee.unit == "customer"
    assert guarantee.private
    assert guarantee.notes == ()
    assert result.mechanism == mechanism


def test_exact_needs_the_opt_in_and_guarantees_nothing() -> None:
    with pytest.raises(NotPrivate, match="not_private"):
        dpmine.top_itemset(LONG, mechanism="exact")
    result = dpmine.top_itemset(LONG, mechanism="exact", not_private=True)
    assert result.itemset == frozenset("ab")
    assert not result.guarantee.private


BAD_PARAMETERS: dict[str, dict[str, Any]] = {
    **{f"size {size!r}": {"size": size} for size in (0, -1, "2-1", "two", "", 2.0, True, (1, 2, 3), (0, 1), None)},
    **{f"epsilon {e!r}": {"epsilon": e} for e in (0, -1, "nan", "inf", float("inf"), float("nan"), "x", True, None)},
    **{f"delta {d!r}": {"delta": d, "mechanism": "large_margin"} for d in (0, 1, 2, -1, "x", float("nan"), True, None)},
    "mechanism": {"mechanism": "median"},
    "neighbors": {"neighbors": "twins"},
    "no catalogue": {"mechanism": "exponential"},
    "exact": {"mechanism": "exact"},
    "item and items": {"item": "a", "items": "b"},
    "basket without unit": {"basket": "a"},
    "unit twice": {"unit": ["a", "a"]},
    "one-hot with item": {"one_hot": True, "item": "a"},
    "catalogue empty": {"catalogue": []},
    "catalogue repeats": {"catalogue": ["a", "b", "a"]},
    "catalogue missing": {"catalogue": "no/such/file.txt"},
    "catalogue with a hole": {"catalogue": ["a", None]},
    "catalogue of floats": {"catalogue": [1.5, 2.5]},
    "catalogue too small": {"catalogue": ["a"], "size": 2},
    "option of another mechanism": {"mechanism": "large_margin", "kbar": 5},
    "kbar": {"mechanism": "limited_domain", "kbar": 0},
    "bounded growth without its bound": {"mechanism": "bounded_growth"},
}


@every("parameters", BAD_PARAMETERS.values())
def test_parameters_are_checked_before_the_data_are_touched(parameters: dict[str, Any]) -> None:
    with pytest.raises(DpmineError) as caught:
        dpmine.top_itemset(SealedData(), **parameters)
    assert isinstance(caught.value, BadParameter | BadData | UnreadableFile | NotPrivate)
    assert "\n" not in str(caught.value)


def test_missing_catalogue_says_why_and_what_to_do() -> None:
    with pytest.raises(BadParameter, match="private") as caught:
        dpmine.top_itemset(SealedData(), mechanism="max-of-laplaces")
    message = str(caught.value)
    assert all(word in message for word in ("max_of_laplaces", "catalogue=FILE", "from-data", "large_margin"))


def test_notice_names_columns_only() -> None:
    told: list[str] = []
    dpmine.top_itemset(LONG, notice=told.append)
    assert len(told) >= 1
    assert "customer" in told[0]
    assert "item" in told[0]
    assert "long" in told[0]
    assert not any(str(LONG.num_rows) in line or "\n" in line for line in told)


def test_progress_rises_from_0_to_1(tmp_path: Path) -> None:
    shares: list[float] = []
    pq.write_table(LONG, tmp_path / "1.parquet")
    pq.write_table(LONG, tmp_path / "2.parquet")
    dpmine.top_itemset(tmp_path, progress=shares.append)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert len(shares) >= 4
