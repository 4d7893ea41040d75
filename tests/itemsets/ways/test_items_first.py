"""Items first, then itemsets of these alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import exp
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.itemsets import all_supports, baskets_of
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.counting.miner import Miner, support_of
from dpmine.itemsets.request.query import Query, Request
from dpmine.itemsets.ways.items_first import ITEMS_SHARE, MANY_LARGER, ItemsFirst
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors
from dpmine.selection.composition import bounded_range_rounds, bounded_range_stages
from dpmine.selection.top_k import OneShot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.oracles.itemsets import Units

UNITS: Units = [
    [{0, 1, 2}],
    [{0, 1}, {2, 3}],
    [{0, 1}],
    [{1, 2}, {1, 2}],
    [{0, 3}],
    [{2}],
    [{0, 1, 3}],
]
ITEMS = 5


def universe(units: Units, items: int, sizes: range, *, public: bool = True) -> ItemsetUniverse:
    baskets = baskets_of(units, items)
    return ItemsetUniverse(Miner(baskets), sizes, catalogue_is_public=public, transactions=baskets)


def peeled(scores: dict[Any, int], count: int, rate: float) -> dict[tuple[Any, ...], float]:
    """The law of ordered lists: softmax, without what was chosen, again and again."""
    laws = {}
    for chosen in permutations(scores, min(count, len(scores))):
        left, mass = dict(scores), 1.0
        for candidate in chosen:
            mass *= exp(rate * left[candidate]) / sum(exp(rate * score) for score in left.values())
            del left[candidate]
        laws[chosen] = mass
    return laws


@pytest.mark.statistical
def test_law_of_the_list() -> None:
    """Against both stages enumerated. Chi^2 of 1,000 draws at a nominal 1e-9."""
    way = ItemsFirst.of(
        ListTerms(2, Fraction(6), Fraction(0), Neighbors.ADD_REMOVE, (2, 2), ITEMS, options={"kbar": 3})
    )
    pairs, singles = all_supports(UNITS, 2), all_supports(UNITS, 1)
    rates = [float(stage.round_epsilon) for stage in (way.items, way.itemsets) if isinstance(stage, OneShot)]
    expected: dict[Any, float] = {}
    for items, mass in peeled({item: singles[item,] for item in range(ITEMS)}, 3, rates[0]).items():
        left = {pair: pairs[pair] for pair in combinations(sorted(items), 2)}
        for chosen, share in peeled(left, 2, rates[1]).items():
            expected[chosen] = expected.get(chosen, 0.0) + mass * share
    assert sum(expected.values()) == pytest.approx(1)
    whole = universe(UNITS, ITEMS, range(2, 3))
    seen = tally(lambda: way.choose(whole, bits=SystemBits()).itemsets, 1000)
    assert chi_square_p(seen, expected) > 1e-9


@pytest.mark.parametrize("public", [True, False])
def test_a_large_budget_finds_the_best(public: bool) -> None:
    size = ITEMS if public else None
    way = ItemsFirst.of(
        ListTerms(2, Fraction(4000), Fraction(1, 10**6), Neighbors.REPLACE_ONE, (2, 3), size, options={"kbar": 3})
    )
    chosen = way.choose(universe(UNITS, ITEMS, range(2, 4), public=public), bits=SystemBits())
    assert chosen.itemsets == ((0, 1), (1, 2))


def test_fewer_where_few_items_stand_out() -> None:
    way = ItemsFirst.of(ListTerms(1, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE, (2, 2), None))
    assert way.choose(universe(UNITS, ITEMS, range(2, 3), public=False), bits=SystemBits()).itemsets == ()


def test_items_are_chosen_of_transactions() -> None:
    with pytest.raises(LookupError, match="transactions"):
        ItemsetUniverse(Miner(baskets_of(UNITS, ITEMS)), range(2, 3), catalogue_is_public=True).among([0, 1])


@given(
    first=st.integers(1, 300),
    second=st.integers(1, 300),
    share=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    epsilon=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(20)]),
    delta=st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 100)]),
)
@settings(max_examples=examples(60))
def test_two_stages_keep_the_budget(
    first: int, second: int, share: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    """By what was certified for rounds of one ε: sums where these were added, sums of squares where zCDP counted."""
    count, stages = first + second, bounded_range_stages(first, second, share, epsilon, delta)
    rounds = bounded_range_rounds(count, epsilon, delta)
    assert (stages.epsilon, stages.delta) == (rounds.epsilon, rounds.delta)
    one, two = stages.first_epsilon, stages.second_epsilon
    if stages.delta:
        spent = first * one**2 + second * two**2
        assert spent <= count * rounds.round_epsilon**2
        assert first * one**2 == pytest.approx(float(share * count * rounds.round_epsilon**2), rel=1e-4)
    else:
        assert first * one + second * two == epsilon
        assert first * one == share * epsilon


@given(
    st.lists(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=6), min_size=1, max_size=3), max_size=6),
    st.sets(st.integers(0, 7), min_size=1, max_size=5),
)
@settings(max_examples=examples(150))
def test_projection_keeps_supports(units: Units, kept: set[int]) -> None:
    codes = sorted(kept)
    baskets, left = baskets_of(units, 8), baskets_of(units, 8).projected(codes)
    assert left.labels.to_pylist() == codes
    for size in (1, 2, 3):
        for new in combinations(range(len(codes)), size):
            assert support_of(left, new) == support_of(baskets, [codes[code] for code in new])


def asked(**given_: Any) -> Request:
    return Request.of(Query(**{"k": 1, "mechanism": "items-first", **given_}))


def test_asked_for_by_name() -> None:
    request = asked(k=10, epsilon=2, catalogue=[f"item {number}" for number in range(100)])
    assert isinstance(request.way, ItemsFirst)
    assert (request.way.items.count, request.way.name, request.terms.mechanism) == (20, "items_first", "items_first")
    assert (request.guarantee.epsilon, request.guarantee.delta) == (Fraction(2), Fraction(1, 10**6))
    assert "items: 20 rounds" in request.split.rounds
    unknown = asked(k=10, kbar=7).way
    assert isinstance(unknown, ItemsFirst)
    assert (unknown.items.count, unknown.delta) == (7, Fraction(1, 10**6))


def test_pure_with_a_catalogue_only() -> None:
    pure = asked(delta=0, catalogue=list("abcdefghijklmnop"))
    assert (pure.guarantee.epsilon, pure.guarantee.delta) == (Fraction(1), Fraction(0))
    assert isinstance(pure.way, ItemsFirst)
    assert isinstance(pure.way.items, OneShot)
    assert pure.way.items.count * pure.way.items.round_epsilon == ITEMS_SHARE
    with pytest.raises(BadParameter, match="delta"):
        asked(delta=0)


@every(
    ("given_", "words"),
    [
        ({"k": 7, "kbar": 4}, "fewer itemsets than `k`"),
        ({"kbar": 0}, "kbar"),
        ({"kbar": 2**63}, "kbar"),
        ({"max_items_per_unit": 5}, "max_items_per_unit"),
        ({"max_items_per_unit": 5, "mechanism": "auto", "k": 60, "catalogue": range(500)}, "max_items_per_unit"),
    ],
)
def test_too_few_items_are_refused(given_: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        asked(**given_)


def test_auto_takes_it_for_many_places() -> None:
    names: Sequence[str] = [
        asked(mechanism="auto", k=k, catalogue=range(1000)).way.name for k in (MANY_LARGER - 1, MANY_LARGER)
    ]
    assert names == ["exponential", "items_first"]
    assert "items_first" in asked(mechanism="auto", k=MANY_LARGER, catalogue=range(1000)).way.reason
    assert asked(mechanism="auto", k=MANY_LARGER, catalogue=range(MANY_LARGER)).way.name != "items_first"
    assert asked(mechanism="auto", k=MANY_LARGER, size=1, catalogue=range(1000)).way.name != "items_first"
