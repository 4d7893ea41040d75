"""Best-first counting as a whole: the best itemsets where noise is small, intervals that hold, and how it counts."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from support.oracles.itemsets import baskets_of

from dpmine.exact.bits import SystemBits
from dpmine.privacy import Neighbors
from experiments.best_first.counts import Capped, Centred, Odd, Plain, Signed
from experiments.best_first.likely import likely_shares
from experiments.best_first.run import BestFirst, Found, Gauge

DELTA = Fraction(1, 10**6)
UNITS = [[basket] for basket, times in (({0, 1, 2}, 900), ({0, 1}, 400), ({3}, 250), ({0}, 10)) for _ in range(times)]


@pytest.mark.parametrize("relation", Neighbors)
def test_the_best_are_found_where_noise_is_small(relation: Neighbors) -> None:
    """ε = 50: a count's deviation is below 1, and supports differ by 10 at least."""
    best, bounds = BestFirst(8, Fraction(50), DELTA, relation).run(baskets_of(UNITS), bits=SystemBits())
    assert best[:2] == [(0,), (1,)]
    assert set(best) == {(0,), (1,), (0, 1), (2,), (0, 2), (1, 2), (0, 1, 2), (3,)}
    for itemset, value in bounds.values.items():
        assert bounds.lows[itemset] <= value <= bounds.highs[itemset]
        assert all(value <= bounds.values[part] for part in combinations(itemset, len(itemset) - 1) if part)


@pytest.mark.parametrize(
    ("replaced", "several", "noisy", "kind"),
    [
        (False, False, False, Signed),
        (True, False, False, Odd),
        (False, True, False, Centred),
        (True, True, False, Plain),
        (True, False, True, Capped),
    ],
)
def test_what_is_counted_follows_from_public_facts_and_released_numbers(
    replaced: bool, several: bool, noisy: bool, kind: type
) -> None:
    relation = Neighbors.REPLACE_ONE if replaced else Neighbors.ADD_REMOVE
    found = Found(np.arange(200), np.full(200, 20.0), 1.0, Fraction(1, 1000) if noisy else Fraction(1000))
    plan = BestFirst(100, Fraction(1), DELTA, relation, several).plan(Gauge(1e4, 1.0, 1.0), found)
    assert type(plan.kind) is kind
    assert plan.price == (81 if noisy else plan.counts)


def test_likely_shares_are_the_largest_products() -> None:
    items = [0.9, 0.5, 0.4, 0.3, 0.0]
    products = [
        float(np.prod(some)) for some in chain.from_iterable(combinations(items[:4], size) for size in range(1, 5))
    ]
    assert likely_shares(items, 9) == pytest.approx(sorted(products, reverse=True)[:9])
    assert len(likely_shares(items, 99)) == 15
