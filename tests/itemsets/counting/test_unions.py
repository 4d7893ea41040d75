"""One basket for each unit, the union of its baskets: what lift is about where units have several."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.interface import Baskets

UNITS = st.lists(
    st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=4), min_size=0, max_size=6
)


@given(UNITS)
@settings(max_examples=examples(100))
def test_a_unit_has_all_items_of_its_baskets_in_one(units: list[list[set[int]]]) -> None:
    merged = baskets_of(units, 6).unions()
    expected = baskets_of([[set().union(*unit)] for unit in units], 6)
    for name in ("items", "basket_starts", "unit_starts"):
        assert getattr(merged, name).tolist() == getattr(expected, name).tolist(), name
        assert getattr(merged, name).dtype == getattr(expected, name).dtype, name
    assert merged.total_units == len(units)
    assert Miner(merged).itemsets(2, 1).supports.tolist() == Miner(expected).itemsets(2, 1).supports.tolist()


def test_units_without_items_are_still_counted() -> None:
    whole = baskets_of([[{0, 1}, {2}]], 3)
    more = Baskets(whole.labels, whole.items, whole.basket_starts, whole.unit_starts, "unit", empty_units=4)
    assert more.unions().total_units == 5
