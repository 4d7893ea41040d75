"""The joint way to choose a list: by name, out of public catalogues, without a δ."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every
from support.gallery.lists import JointList
from support.goodness import assert_sampled_law
from support.oracles.itemsets import all_supports, baskets_of

import dpmine
from dpmine.errors import BadParameter
from dpmine.itemsets.ways.joint import MOST_PLACES, Joint
from dpmine.itemsets.ways.registry import build_way, rivals
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors, Zcdp

if TYPE_CHECKING:
    from support.oracles.itemsets import Units

UNITS: Units = [[{0, 1, 2}], [{0, 1}, {2, 3}], [{0, 1}], [{1, 2}], [{0, 3}], [{0, 1, 3}]]
TERMS = ListTerms(2, Fraction(2), Fraction(1, 10**6), Neighbors.ADD_REMOVE, (2, 2), 5, mechanism="joint")
BASKETS = [["a", "b"]] * 400 + [["a", "c"]] * 200 + [["c"]]


@pytest.mark.statistical
def test_itemsets_follow_the_law_of_their_supports() -> None:
    """Pairs of five items; most have no support. Chi^2 of 2,000 draws."""
    way, baskets = Joint.of(TERMS), baskets_of(UNITS, 5)
    supports = all_supports(UNITS, 2)
    pairs = list(combinations(range(5), 2))
    expected = {
        tuple(pairs[place] for place in places): mass
        for places, mass in JointList(way).law([supports.get(pair, 0) for pair in pairs]).items()
    }
    universe = ItemsetUniverse(baskets.miner(), range(2, 3), catalogue_is_public=True)
    assert_sampled_law(lambda bits: way.choose(universe, bits=bits).itemsets, expected, draws=2000)


def test_by_name_it_charges_no_delta() -> None:
    found = dpmine.top_itemsets(BASKETS, 2, mechanism="joint", catalogue=list("abcd"), epsilon=3)
    assert list(found) == [frozenset("ab"), frozenset("ac")]
    assert (found.mechanism, found.guarantee.epsilon, found.guarantee.delta) == ("joint", Fraction(3), Fraction(0))
    assert Joint.of(TERMS).zcdp == Zcdp(Fraction(1, 2))


def test_auto_and_the_planner_leave_it_out() -> None:
    for delta in (Fraction(0), TERMS.delta):
        terms = replace(TERMS, mechanism="auto", delta=delta)
        assert build_way(terms).name != "joint"
        assert "joint" not in {way.name for way in rivals(terms)}


def test_longer_lists_and_other_relations_need_more() -> None:
    way = Joint.of(replace(TERMS, count=5, catalogue_size=1000))
    for other in (
        replace(way, count=20),
        replace(way, neighbors=Neighbors.REPLACE_ONE),
        replace(way, epsilon=Fraction(1)),
    ):
        assert other.lead() > way.lead()
        assert other.right_from() > way.right_from() > 0
    assert Joint.of(replace(TERMS, catalogue_size=None, from_data=True)).right_from() == 0


@every(
    ("changes", "words"),
    [
        ({"catalogue_size": None}, "public catalogue"),
        ({"kbar": 5}, "no option kbar"),
        ({"max_items_per_unit": 5}, "max_items_per_unit"),
        ({"count": MOST_PLACES + 1, "catalogue_size": 1000}, "at most 1,000"),
    ],
)
def test_where_it_is_not_usable(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        build_way(replace(TERMS, **changes))
