"""What is counted: right estimates without noise, and how far one unit moves the counts, whatever is asked."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.best_first.counts import EVERYBODY, Capped, Centred, CountKind, Counts, Odd, Plain, Signed
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterator

Basket = tuple[int, ...]
Unit = tuple[Basket, ...]

ITEMS = range(3)
ITEMSETS: list[Basket] = list(chain.from_iterable(combinations(ITEMS, size) for size in range(len(ITEMS) + 1)))
ONE_BASKET: list[Unit] = [(basket,) for basket in ITEMSETS]
SEVERAL: list[Unit] = [*ONE_BASKET, ((0,), (1,)), ((0, 1), (2,)), ((0, 1), (0, 2), (1, 2))]
ASKED = [(0,), (1,), (0, 1), (0, 1, 2)]
KINDS: list[tuple[CountKind, Neighbors, list[Unit]]] = [
    (Plain(), Neighbors.ADD_REMOVE, SEVERAL),
    (Plain(), Neighbors.REPLACE_ONE, SEVERAL),
    (Centred(), Neighbors.ADD_REMOVE, SEVERAL),
    (Signed(), Neighbors.ADD_REMOVE, ONE_BASKET),
    (Odd(), Neighbors.REPLACE_ONE, ONE_BASKET),
]
BROKEN: list[tuple[CountKind, Neighbors, list[Unit]]] = [
    (Signed(), Neighbors.REPLACE_ONE, ONE_BASKET),
    (Centred(), Neighbors.REPLACE_ONE, SEVERAL),
    (Signed(), Neighbors.ADD_REMOVE, SEVERAL),
]
UNITS = st.lists(st.sampled_from(ONE_BASKET), max_size=8)


def holdings(units: list[Unit]) -> Holdings:
    """Units whose baskets are all empty are there, too."""
    empty = sum(not any(unit) for unit in units)
    baskets = baskets_of(units, len(ITEMS))
    object.__setattr__(baskets, "empty_units", empty)
    return Holdings([baskets], ITEMS)


def neighbours(units: list[Unit], relation: Neighbors) -> Iterator[tuple[list[Unit], list[Unit]]]:
    """Others' data with one more unit, and with each other one."""
    if relation is Neighbors.ADD_REMOVE:
        yield from (([*units], [*units, unit]) for unit in SEVERAL)
    else:
        yield from (([*units, left], [*units, right]) for left, right in combinations(SEVERAL, 2))


def moved(kind: CountKind, relation: Neighbors, allowed: list[Unit]) -> int:
    """How far a count moves at most, between the neighbours that these units make."""
    others = allowed[1:4]
    return max(
        abs(kind.exact(holdings(left)).count(itemset) - kind.exact(holdings(right)).count(itemset))
        for left, right in neighbours(others, relation)
        if left[-1] in allowed and right[-1] in allowed
        for itemset in ITEMSETS
    )


@pytest.mark.parametrize(("kind", "relation", "allowed"), KINDS)
def test_one_unit_moves_a_count_by_one_at_most(kind: CountKind, relation: Neighbors, allowed: list[Unit]) -> None:
    assert moved(kind, relation, allowed) == 1


@pytest.mark.parametrize(("kind", "relation", "allowed"), BROKEN)
def test_a_kind_where_it_is_not_allowed_is_moved_farther(
    kind: CountKind, relation: Neighbors, allowed: list[Unit]
) -> None:
    assert moved(kind, relation, allowed) > 1


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("relation", Neighbors)
def test_one_unit_moves_all_capped_counts_by_its_cap(most: int, relation: Neighbors) -> None:
    """Whatever is asked, in any order, repeatedly, and whatever the others have."""
    bound = most * (2 if relation is Neighbors.REPLACE_ONE else 1)
    largest = 0
    for left, right in neighbours(SEVERAL[4:6], relation):
        held = holdings(left), holdings(right)
        for asked in product(ASKED, repeat=3):
            counts = [list(map(Capped(most).exact(each).count, asked)) for each in held]
            changes = [abs(one - other) for one, other in zip(*counts, strict=True)]
            largest = max(largest, sum(changes), sum(change**2 for change in changes))
    assert largest == min(bound, 3)


@pytest.mark.parametrize("kind", [Plain(), Centred(), Signed(), Odd()])
@given(units=UNITS)
def test_supports_are_right_without_noise(kind: CountKind, units: list[Unit]) -> None:
    held = holdings(units)
    counts = Counts(kind, kind.exact(held).count, noise=lambda: 0, variance=1, left=2 * len(ITEMSETS))
    for itemset in ITEMSETS + ITEMSETS[::2]:
        counts.ask(itemset)
    assert counts.left == len(ITEMSETS) - len(ITEMSETS[::2])
    for itemset in ITEMSETS:
        assert counts.support(itemset) == sum(set(itemset) <= set(basket) for (basket,) in units)
    assert counts.answers[EVERYBODY].times == 2


@pytest.mark.parametrize(
    ("kind", "variances"),
    [(Plain(), [1, 1, 1]), (Odd(), [1, 3 / 4, 7 / 16]), (Signed(), [1 / 2, 1 / 4, 1 / 8]), (Centred(), [1 / 2] * 3)],
)
def test_deviations(kind: CountKind, variances: list[float]) -> None:
    """Of supports of one, two and three items, from counts of variance 1 that were asked for once."""
    counts = Counts(kind, exact=lambda _: 0, noise=lambda: 0, variance=1, left=len(ITEMSETS))
    for itemset in ITEMSETS:
        counts.ask(itemset)
    for itemset, variance in zip([(0,), (0, 1), (0, 1, 2)], variances, strict=True):
        assert counts.deviation(itemset) ** 2 == pytest.approx(variance)


def test_what_is_counted_again_is_averaged() -> None:
    draws = iter([3, -1])
    counts = Counts(Plain(), exact=lambda _: 10, noise=lambda: next(draws), variance=1, left=2)
    counts.ask((0,))
    counts.ask((0,))
    assert counts.support((0,)) == 11
    assert counts.deviation((0,)) ** 2 == pytest.approx(1 / 2)
