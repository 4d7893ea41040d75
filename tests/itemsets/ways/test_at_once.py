"""Ways to choose a whole list at once: by name, out of public catalogues, without a δ."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from support.cases import every
from support.goodness import assert_sampled_law
from support.oracles.at_once import MECHANISMS, law
from support.oracles.itemsets import Units, all_supports, baskets_of

import dpmine
from dpmine.errors import BadParameter
from dpmine.itemsets.transactions.lists import CodedItemset
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms, Way, build_way, loaded_ways, rivals
from dpmine.privacy import Neighbors, Zcdp

UNITS: Units = [[{0, 1, 2}], [{0, 1}, {2, 3}], [{0, 1}], [{1, 2}], [{0, 3}], [{0, 1, 3}]]
TERMS = ListTerms(2, Fraction(2), Fraction(1, 10**6), Neighbors.ADD_REMOVE, (2, 2), 5)
BASKETS = [["a", "b"]] * 400 + [["a", "c"]] * 200 + [["c"]]


@pytest.mark.statistical
@every("name", MECHANISMS)
def test_itemsets_follow_the_law_of_their_supports(name: str) -> None:
    """Pairs of five items; most have no support. Chi^2 of 2,000 draws."""
    way, baskets = way_of(name), baskets_of(UNITS, 5)
    supports = all_supports(UNITS, 2)
    pairs = list(combinations(range(5), 2))
    places = law(name, [supports.get(pair, 0) for pair in pairs], 2, TERMS.epsilon, TERMS.neighbors)
    expected = {tuple[CodedItemset, ...](pairs[place] for place in each): mass for each, mass in places.items()}
    universe = ItemsetUniverse(baskets.miner(), range(2, 3), catalogue_is_public=True)
    assert_sampled_law(lambda bits: way.choose(universe, bits=bits).itemsets, expected, draws=2000)


@every("name", MECHANISMS)
def test_by_name_it_charges_no_delta(name: str) -> None:
    found = dpmine.top_itemsets(BASKETS, 2, mechanism=name, catalogue=list("abcd"), epsilon=3)
    assert list(found) == [frozenset("ab"), frozenset("ac")]
    assert (found.mechanism, found.guarantee.epsilon, found.guarantee.delta) == (name, Fraction(3), Fraction(0))
    assert way_of(name).zcdp == Zcdp(Fraction(1, 2))


@every("name", MECHANISMS)
def test_auto_and_the_planner_leave_it_out(name: str) -> None:
    for delta in (Fraction(0), TERMS.delta):
        terms = replace(TERMS, delta=delta)
        assert build_way(terms).name != name
        assert name not in {way.name for way in rivals(terms)}


@every("name", MECHANISMS)
def test_longer_lists_and_other_relations_need_more(name: str) -> None:
    way = way_of(name, count=5, catalogue_size=1000)
    for other in (
        replace(way, count=20),
        replace(way, neighbors=Neighbors.REPLACE_ONE),
        replace(way, epsilon=Fraction(1)),
    ):
        assert other.lead() > way.lead()
        assert other.right_from() > way.right_from() > 0
    assert way_of(name, catalogue_size=None, from_data=True).right_from() == 0


@every("name", MECHANISMS)
@every(
    ("changes", "words"),
    [
        ({"catalogue_size": None}, "public catalogue"),
        ({"options": {"kbar": 5}}, "no option kbar"),
        ({"options": {"max_items_per_unit": 5}}, "max_items_per_unit"),
        ({"count": 1001, "catalogue_size": 1000}, "lists at most"),
    ],
)
def test_where_it_is_not_usable(name: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        build_way(replace(TERMS, mechanism=name, **changes))


def test_a_set_is_sorted_by_its_items() -> None:
    """Whatever the order of the supports, or of the catalogue: none is chosen."""
    baskets = [["d"]] * 900 + [["b"]] * 800 + [["c"]] * 700
    found = dpmine.top_itemsets(baskets, 3, size=1, mechanism="lipschitz", catalogue=list("edcba"), epsilon=3)
    assert list(found) == [frozenset(item) for item in "bcd"]


def way_of(name: str, **changes: Any) -> Way:
    """With changed terms."""
    return loaded_ways()[name].of(replace(TERMS, **changes))
