"""Disjoint groups compared: intervals that hold as often as they say, and noise for every count that one unit moves."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.io.source import Columns
from dpmine.itemsets.compare import ComparisonRequest, exact_supports
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.release.comparison import Comparison, GroupCounts
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, level_of_one
from dpmine.itemsets.request.query import Query
from dpmine.ledger.budget import Accounting, Amount

ITEMSETS = tuple(frozenset(each.split()) for each in ("a", "b", "a b", "c d", "no"))
WHOLE: dict[str, list[list[str]]] = {
    "north": [["a", "b"]] * 30 + [["a"]] * 20 + [["c", "d"]] * 10,
    "south": [["a", "b"]] * 3 + [["b"]] * 27,
    "empty": [],
}


def asked(itemsets: Any = (), sizes: Any = None, **options: Any) -> ComparisonRequest:
    return ComparisonRequest.of(Query(neighbors="add_remove", **options), [*WHOLE], itemsets, sizes)


def exact(baskets: list[list[str]]) -> list[int]:
    """By hand: the number of units, and of those that have each itemset."""
    return [len(baskets), *(sum(set(basket) >= itemset for basket in baskets) for itemset in ITEMSETS)]


@every("group", WHOLE)
def test_supports_are_those_that_are_counted_by_hand(group: str) -> None:
    """Also of items that no unit of the group has."""
    loaded = read_transactions(WHOLE[group], Columns())
    assert [loaded.transactions.total_units, *exact_supports(loaded.transactions, ITEMSETS)] == exact(WHOLE[group])


BASKETS = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=5)


@settings(max_examples=examples(100))
@given(BASKETS, st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
def test_one_unit_moves_every_count_by_at_most_one(baskets: list[list[str]], other: list[str]) -> None:
    before, after = np.array(exact(baskets)), np.array(exact([*baskets, other]))
    assert set((after - before).tolist()) <= {0, 1}


def test_one_unit_moves_the_number_of_units_beside_all_supports() -> None:
    """So noise for the supports alone would be too small: this unit's privacy loss would be ε (m + 1)/m."""
    wanted = [itemset for itemset in ITEMSETS if itemset <= {"a", "b", "c", "d"}]
    moved = 1 + sum({"a", "b", "c", "d"} >= itemset for itemset in wanted)
    assert moved == len(wanted) + 1
    noise, drawn = DiscreteLaplace(Fraction(1)), []

    class Noise(DiscreteLaplace):
        def draw(self, count: int, **_: Any) -> int:
            drawn.append(count)
            return 0

    GroupCounts.drawn("x", [9, 1, 2, 3, 4], Noise(noise.epsilon), bits=SystemBits())
    assert drawn == [moved] * moved


@every("noise", [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(1, 5))])
@pytest.mark.statistical
def test_all_shares_and_differences_hold_together_as_often_as_they_say(noise: Any) -> None:
    """95 % of 1000 draws at least: fewer than 900 have a probability below 2e-9, by Chernoff."""
    truths = {name: exact(baskets) for name, baskets in WHOLE.items()}
    shares = {name: [Fraction(each, max(1, units)) for each in rest] for name, (units, *rest) in truths.items()}
    guarantee, held = asked([["a"]]).guarantee, 0
    for _ in range(1000):
        groups = tuple(GroupCounts.drawn(name, each, noise, bits=SystemBits()) for name, each in truths.items())
        found = Comparison(ITEMSETS, groups, noise, "given", guarantee)
        width, holds = found.half_width, True
        for place in range(len(ITEMSETS)):
            known = dict(zip(shares, (group.share(place, width) for group in groups), strict=True))
            holds &= all(known[name].low <= shares[name][place] <= known[name].high for name in shares)
            for one, other in combinations(shares, 2):
                difference = known[one].minus(known[other])
                holds &= difference.low <= shares[one][place] - shares[other][place] <= difference.high
            assert all(0 <= each.low <= each.value <= each.high <= 1 for each in known.values())
        held += holds
    assert np.exp(-1000 * (0.9 * np.log(0.9 / 0.95) + 0.1 * np.log(0.1 / 0.05))) < 2e-9
    assert held >= 900


@every("width", [0, 3, 50])
def test_the_share_lies_between_those_of_all_plausible_counts(width: int) -> None:
    """By brute force over all true counts within the half width."""
    group = GroupCounts("x", 20, (8,))
    plausible = [
        Fraction(support, units)
        for units in range(max(1, 20 - width), 21 + width)
        for support in range(max(0, 8 - width), min(8 + width, units) + 1)
    ]
    found = group.share(0, width)
    assert found.low <= min(plausible)
    assert found.high >= max(plausible)
    assert found.value == Fraction(8, 20)
    if width < 6:
        assert (found.low, found.high) == (min(plausible), max(plausible))


def test_every_group_counts_what_any_group_chose() -> None:
    request = asked(epsilon=2000, delta=1e-2, k=1, size="1")
    groups = {name: WHOLE[name] * 20 for name in ("north", "south")}
    found = request.compare(groups, Columns(), memory=None, progress=lambda _: None, guarantee=request.guarantee)
    assert found.itemsets == (frozenset("a"), frozenset("b"))
    assert [(group.units, group.supports) for group in found.groups] == [(1200, (1000, 600)), (600, (60, 600))]
    document = found.to_dict()
    assert [each["difference"] for row in document["itemsets"] for each in row["differences"]] == pytest.approx(
        [1000 / 1200 - 0.1, 0.5 - 1]
    )
    assert found.to_arrow().num_rows == 4


@every("given", [[["a"], ["b"]], []])
@every("delta", ["0", "1e-6"])
def test_both_steps_are_within_the_budget(given: list[list[str]], delta: str) -> None:
    """By their own accounts: the selection at its part, and the noise of the counts."""
    options: dict[str, Any] = {"catalogue": ["a", "b", "c"], "mechanism": "exponential"} if delta == "0" else {}
    request = asked(given, epsilon=1, delta=delta, size="1", k=2, **options)
    charged, guarantee = Amount.of(request.guarantee), request.guarantee
    assert guarantee.epsilon <= 1
    assert guarantee.delta <= Fraction(delta)
    selection = Amount() if request.listing is None else Amount.of(request.listing.guarantee)
    assert charged.rho == selection.rho + request.noise.zcdp.rho
    if isinstance(request.noise, DiscreteLaplace):
        assert charged.epsilon == selection.epsilon + request.noise.epsilon
    assert charged.fits(selection, Accounting.BASIC)


@every(
    ("itemsets", "message"),
    [
        ([["a"], ["a"]], "different lists"),
        ([["a", "a"]], "different lists"),
        ([[]], "different lists"),
        ([[True]], "different lists"),
        ("ab", "different lists"),
    ],
)
def test_given_itemsets_are_different_sets(itemsets: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        asked(itemsets)


def test_a_replaced_unit_may_change_groups() -> None:
    with pytest.raises(BadParameter, match=r"needs neighbors = \"add-remove\""):
        ComparisonRequest.of(Query(), [*WHOLE], [["a"]])


def test_public_sizes_are_not_counted() -> None:
    """So the supports alone share the budget; a size that is not true changes no count."""
    names = ("north", "south")
    request = ComparisonRequest.of(
        Query(neighbors="add_remove", epsilon=2000, delta=0), names, [["a"], ["b"]], {"north": 100, "south": 30}
    )
    groups = {name: WHOLE[name] for name in names}
    found = request.compare(groups, Columns(), memory=None, progress=lambda _: None, guarantee=request.guarantee)
    assert [(group.units, group.supports) for group in found.groups] == [(100, (50, 30)), (30, (3, 30))]
    assert [each["interval"] for each in found.to_dict()["groups"]] == [[100, 100], [30, 30]]
    assert found.half_width == found.noise.simultaneous_half_width(2, level_of_one(2))
    drawn: list[int] = []

    class Noise(DiscreteLaplace):
        def draw(self, count: int, **_: Any) -> int:
            drawn.append(count)
            return 0

    GroupCounts.drawn("x", [9, 1, 2], Noise(Fraction(1)), size=7, bits=SystemBits())
    assert drawn == [2, 2]
    share = GroupCounts("x", 20, (8,), size_is_public=True).share(0, 3)
    assert share == (Fraction(8, 20), Fraction(5, 20), Fraction(11, 20))


@every("sizes", [{"north": 1, "south": 1}, {"north": 0, "south": 1, "empty": 1}, 7, {"north": 1.5}])
def test_sizes_are_those_of_all_groups(sizes: Any) -> None:
    with pytest.raises(BadParameter, match="sizes must give the number of units of each of the parts"):
        asked([["a"]], sizes)
