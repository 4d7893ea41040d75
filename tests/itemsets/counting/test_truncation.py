"""Units keep at most so many items, whatever the others do."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.oracles.itemsets import baskets_of

from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.interface import Baskets

UNITS = st.lists(
    st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=6), min_size=1, max_size=4), min_size=1, max_size=5
)


def listed(baskets: Baskets) -> list[list[set[int]]]:
    rows = [
        set(baskets.items[start:end].tolist())
        for start, end in zip(baskets.basket_starts, baskets.basket_starts[1:], strict=False)
    ]
    return [rows[start:end] for start, end in zip(baskets.unit_starts, baskets.unit_starts[1:], strict=False)]


def frequencies(unit: list[set[int]]) -> Counter[int]:
    return Counter(item for basket in unit for item in basket)


@given(UNITS, st.integers(1, 6))
@settings(max_examples=examples(200))
def test_every_unit_keeps_its_most_frequent_items(units: list[list[set[int]]], limit: int) -> None:
    for unit, left in zip(units, listed(baskets_of(units, 8).truncated(limit)), strict=True):
        counts = frequencies(unit)
        kept = set().union(*left)
        assert len(kept) == min(limit, len(counts))
        assert all(counts[item] >= counts[other] for item in kept for other in set(counts) - kept)
        assert left == [basket & kept for basket in unit if basket & kept]


@given(UNITS, UNITS, st.integers(1, 6))
@settings(max_examples=examples(100))
def test_a_unit_is_cut_by_its_own_data_alone(
    units: list[list[set[int]]], others: list[list[set[int]]], limit: int
) -> None:
    alone = listed(baskets_of(units, 8).truncated(limit))
    assert listed(baskets_of([*others, *units], 8).truncated(limit))[len(others) :] == alone


def test_ties_favour_no_item() -> None:
    """Of 2,000 units with the same ten items and one more of their own, every item is kept by a fair share.

    A share of 4 in 11 gives 727 of 2,000 units; five standard deviations are 108.
    """
    units = [[{*range(10), 10 + number}] for number in range(2000)]
    kept = frequencies([set().union(*unit) for unit in listed(baskets_of(units, 2010).truncated(4))])
    assert all(abs(kept[item] - 727) < 108 for item in range(10))


def test_a_text_among_integers_changes_no_other_unit() -> None:
    """Python values of one type have other labels than those of several: what is kept must not show which."""
    units: list[list[object]] = [list(range(unit, unit + 8)) for unit in range(20)]
    alone, beside = (read_transactions(data, Columns()).transactions for data in (units, [*units, ["text"]]))
    weights = np.array([60, 42, 34])
    assert alone.labels.type != beside.labels.type
    assert beside.item_weights(weights)[:-1].tolist() == alone.item_weights(weights).tolist()
