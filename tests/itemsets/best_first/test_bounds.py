"""Intervals hold the true supports, all at once, wherever no noise is beyond what is taken to be the largest."""

from __future__ import annotations

from itertools import chain, combinations
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.best_first.bounds import Bounds, Errors
from dpmine.itemsets.best_first.counts import (
    EVERYBODY,
    Answers,
    Capped,
    Centred,
    CountKind,
    Counts,
    Measure,
    Odd,
    Plain,
    Signed,
)
from dpmine.itemsets.best_first.holdings import Holdings

ITEMS = range(3)
ITEMSETS = list(chain.from_iterable(combinations(ITEMS, size) for size in range(1, len(ITEMS) + 1)))
UNITS = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=12)
ERROR, ERROR_OF_ALL = 3, 2


@pytest.mark.parametrize("kind", [Plain(), Centred(), Signed(), Odd(), Capped(2)])
@given(units=UNITS, noises=st.lists(st.integers(-ERROR, ERROR), min_size=11, max_size=11), extreme=st.booleans())
def test_all_intervals_hold_together(
    kind: CountKind, units: list[frozenset[int]], noises: list[int], extreme: bool
) -> None:
    """Counts are asked for once, two of them three times; the extreme noises are the largest ones of either sign.

    What weights say of an item may be wrong. Where three answers are more precise together, the intervals know it.
    """
    drawn = [(ERROR if noise > 0 else -ERROR) if extreme else noise for noise in noises]
    exact = kind.exact(Holdings([baskets_of([[unit] for unit in units], len(ITEMS))], ITEMS))
    left = iter(drawn)
    counts = Counts(kind, exact.count, lambda: next(left), 1.0, len(drawn))
    counts.answers[EVERYBODY] = Answers(1.0, len(units) - ERROR_OF_ALL, 1)
    for itemset in [*ITEMSETS, *ITEMSETS[2:4], *ITEMSETS[2:4]]:
        counts.ask(itemset)
    counts.answers[0,].beside = Measure(100.0, 0.1)
    hidden = 0 if exact.hidden is None else exact.hidden()
    of_three = max(ceil(abs(sum(drawn[place] for place in places)) / 3) for places in [(2, 7, 9), (3, 8, 10)])
    left_out = dict.fromkeys(ITEMSETS[exact.whole :], hidden)
    errors = Errors({1: ERROR, 3: of_three}.__getitem__, ERROR_OF_ALL, left_out)
    bounds = Bounds.of(counts, ITEMSETS, errors, {})
    for itemset in ITEMSETS:
        true = sum(unit.issuperset(itemset) for unit in units)
        assert bounds.lows[itemset] <= true <= bounds.highs[itemset]
        assert bounds.lows[itemset] <= bounds.values[itemset] <= bounds.highs[itemset]
