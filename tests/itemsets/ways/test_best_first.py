"""Best-first counting as a whole: the best itemsets where noise is small, intervals that hold, and how it counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.oracles.itemsets import baskets_of

import dpmine
from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.best_first.counts import Capped, Centred, Odd, Plain, Signed
from dpmine.itemsets.best_first.order import Goal
from dpmine.itemsets.best_first.plan import (
    CountingPlan,
    Gauge,
    LikelyItemset,
    Planner,
    counts_of_best,
    items_of_best,
    likely_itemsets,
    likely_shares,
)
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, SupportNoise
from dpmine.itemsets.ways.best_first import BestFirst
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms, build_way
from dpmine.privacy import Neighbors

DELTA = Fraction(1, 10**6)
UNITS = [[basket] for basket, times in (({0, 1, 2}, 900), ({0, 1}, 400), ({3}, 250), ({0}, 10)) for _ in range(times)]
BEST = {(0,), (1,), (0, 1), (2,), (0, 2), (1, 2), (0, 1, 2), (3,)}


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize(("public", "delta"), [(True, DELTA), (False, DELTA), (True, Fraction(0))])
@pytest.mark.parametrize("several", [True, False])
def test_the_best_are_found_where_noise_is_small(
    relation: Neighbors, public: bool, several: bool, delta: Fraction
) -> None:
    """ε = 50: a count's deviation is below 1, or 2 without δ, and supports differ by 10 at least."""
    baskets = baskets_of(UNITS)
    terms = ListTerms(8, Fraction(50), delta, relation, (1, 4), baskets.catalogue_size if public else None)
    universe = ItemsetUniverse(
        baskets.miner(), range(1, 5), catalogue_is_public=public, transactions=baskets, several_baskets=several
    )
    chosen = BestFirst.of(terms).choose(universe, bits=SystemBits())
    assert chosen.itemsets[:2] == ((0,), (1,))
    assert set(chosen.itemsets) == BEST
    assert chosen.supports is not None
    known = chosen.supports.by_itemset
    for itemset, (value, (low, high)) in known.items():
        assert low <= value <= high
        assert all(value <= known[frozenset(part)][0] for part in combinations(itemset, len(itemset) - 1) if part)


@pytest.mark.parametrize(
    ("replaced", "several", "kind"),
    [(False, False, Signed), (True, False, Odd), (False, True, Centred), (True, True, Plain)],
)
@pytest.mark.parametrize("thin", [True, False])
def test_what_is_counted_follows_from_public_facts_and_released_numbers(
    replaced: bool, several: bool, kind: type, thin: bool
) -> None:
    """Where a unit holds few of the likely itemsets, all are counted together in the end; so few counts need no cap."""
    relation = Neighbors.REPLACE_ONE if replaced else Neighbors.ADD_REMOVE
    plan = planner_of(5, relation, several).plan([1000.0 if thin else 9999.0] * 20, Gauge(10_000, 1.0, 1.0))
    assert type(plan.kind) is kind
    assert plan.sensitivity == plan.counts
    assert (plan.together, plan.again > 0) == (Fraction(1, 2) if thin else 0, not thin)


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("relation", Neighbors)
def test_thin_data_are_counted_with_a_cap_where_noise_is_large_and_together(relation: Neighbors, several: bool) -> None:
    """A unit holds four of the likely itemsets. Without a cap a support of 200 deviates by 13, or by 253."""
    weights, gauge = [200.0] * 200, Gauge(10_000, 1.0, 1.0)
    plan = planner_of(100, relation, several).plan(weights, gauge)
    assert not isinstance(plan.kind, Capped)
    assert (plan.counts, plan.sensitivity, plan.together) == (250, 250, Fraction(1, 2))
    times = 2 if relation is Neighbors.REPLACE_ONE else 1
    plan = planner_of(100, relation, several, Fraction(1, 400)).plan(weights, gauge)
    assert plan == CountingPlan(Capped(20), 250, 1 + times * 20, 0, Fraction(1, 2))


def test_all_itemsets_of_some_support_get_more_counts_the_smaller_their_noise() -> None:
    weights, gauge = [3000.0 * 0.9**place for place in range(60)], Gauge(20_000, 1.0, 1.0)
    counts = [
        Planner(Goal((1, 12), None, 400.0), DiscreteGaussian(rho).variance, Neighbors.REPLACE_ONE, True)
        .plan(weights, gauge)
        .counts
        for rho in (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(100))
    ]
    assert counts == sorted(counts)
    assert 4 * counts[0] < counts[-1]


def planner_of(k: int, relation: Neighbors, several: bool, rho: Fraction = Fraction(1)) -> Planner:
    return Planner(Goal((1, 12), k), DiscreteGaussian(rho).variance, relation, several)


def test_cells_are_counted_where_they_have_far_less_noise() -> None:
    """With Laplace noise, of few items: the likely ones and one more, or eleven where shares are blurred."""
    few, many, dense = (
        [5000.0, 4000.0, 3000.0],
        [500.0 - item for item in range(200)],
        [9500.0 - item for item in range(50)],
    )

    def basis(
        weights: list[float], noise: SupportNoise, k: int, *, several: bool = False, sizes: tuple[int, int] = (1, 12)
    ) -> int:
        planner = Planner(Goal(sizes, k), noise.variance, Neighbors.ADD_REMOVE, several)
        return planner.basis(weights, Gauge(10_000, 1.0, 1.0))

    laplace, gaussian = DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))
    assert basis([*few, *many], laplace, 7) == 4  # those of three items are the likely ones
    assert basis(few, laplace, 7) == 3
    assert basis(many, laplace, 100) == 0
    assert basis(dense, laplace, 100) == 11
    assert basis(dense, laplace, 100, several=True) == 0
    assert basis(dense, gaussian, 100) == 0
    assert basis(dense, laplace, 20, sizes=(2, 2)) == 9
    assert basis(dense, laplace, 50, sizes=(2, 2)) == 0  # 45 pairs of ten items
    assert basis(dense, laplace, 50, sizes=(1, 1)) == 0
    assert basis(few, laplace, 3, sizes=(1, 1)) == 3


def test_pairs_alone_take_more_counts_of_more_items() -> None:
    """A cap keeps their noise small, however many they are; where data are dense, there is none."""
    planner = Planner(Goal((2, 2), 50), DiscreteGaussian(Fraction(1, 100)).variance, Neighbors.REPLACE_ONE, False)
    sparse, dense = [500.0 - item for item in range(200)], [9500.0 - item for item in range(100)]
    assert planner.plan(sparse, Gauge(10_000, 1.0, 1.0)).counts == counts_of_best(50, 2) == 440
    assert planner.plan(dense, Gauge(10_000, 1.0, 1.0)).counts == 180
    assert (items_of_best(50, 2), items_of_best(50, 1)) == (440, 225)


def test_likely_itemsets_have_the_sizes_that_are_wanted() -> None:
    items = [0.9, 0.5, 0.4, 0.3]
    found = list(likely_itemsets(items, (2, 3)))
    assert [itemset.size for itemset in found].count(2) == 6
    assert len(found) == 10
    assert found[0] == LikelyItemset(0.9 * 0.5, 1, 2)


def test_likely_shares_are_the_largest_products() -> None:
    items = [0.9, 0.5, 0.4, 0.3, 0.0]
    products = [
        float(np.prod(some)) for some in chain.from_iterable(combinations(items[:4], size) for size in range(1, 5))
    ]
    assert likely_shares(items, 9) == pytest.approx(sorted(products, reverse=True)[:9])
    assert len(likely_shares(items, 99)) == 15


@pytest.mark.parametrize("baskets", [[[]] * 50, [["a"]] * 50, [["a"]] * 50 + [["b"]]])
def test_supports_are_released_whatever_items_exist(baskets: list[list[str]]) -> None:
    """No pair is possible of fewer than two items, and how many there are is private."""
    found = dpmine.top_itemsets(baskets, 3, size="2-3", mechanism="best_first")
    assert found.supports is not None
    assert (found.supports.itemsets, len(found.rules())) == ((), 0)


def test_lift_of_unions_is_left_to_ways_that_release_it() -> None:
    baskets = [[["a", "b"], ["c"]], [["a"], ["b"]]] * 100
    rows = [
        (unit, basket, item) for unit, own in enumerate(baskets) for basket, items in enumerate(own) for item in items
    ]
    frame = pd.DataFrame(rows, columns=["u", "b", "i"])
    options: dict[str, Any] = {"unit": "u", "basket": "b", "item": "i", "rules": True, "release_support": "auto"}
    options |= {"size": "1-2", "units": 200, "lift_of": "units", "epsilon": 50}
    found = dpmine.top_itemsets(frame, 10, **options)
    assert found.mechanism == "discover"
    assert "lift" in found.rules()
    with pytest.raises(BadParameter, match="best_first counts no unions of baskets"):
        dpmine.top_itemsets(frame, 10, mechanism="best_first", **options)


def test_lists_that_are_too_long_are_left_to_other_ways() -> None:
    terms = ListTerms(2001, Fraction(1), DELTA, Neighbors.REPLACE_ONE, (1, 3))
    assert build_way(terms).name == "discover"
    with pytest.raises(BadParameter, match="lists at most 2,000"):
        build_way(replace(terms, mechanism="best_first"))
