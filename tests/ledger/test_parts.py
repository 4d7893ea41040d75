"""Parts: the rules against brute force over where a unit may be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger.guarantees import ADD, REPLACE, guarantee

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.budget import Amount, Parts, composed
from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.privacy import Neighbors

PLACES = ["north", "south", "east"]


def touched(rule: Parts) -> list[set[str]]:
    """Which parts can differ between neighbours, as sets: two worlds in which one unit is somewhere, or nowhere."""
    worlds: list[str | None] = [*PLACES, None]
    pairs: list[tuple[str | None, str | None]]
    if rule is Parts.BY_INDEX:  # its number, hence its part, stays
        pairs = [(place, place) for place in PLACES]
    else:
        pairs = [pair for pair in product(worlds, worlds) if None in pair]
    return [{place for place in pair if place is not None} for pair in pairs]


def worst(whole: Fraction, parts: dict[str, Fraction], rule: Parts) -> Fraction:
    return max(whole + sum(parts.get(place, Fraction()) for place in places) for places in touched(rule))


NUMBERS = st.fractions(0, 3, max_denominator=12)
CHARGES = st.lists(st.tuples(st.sampled_from(["", *PLACES]), NUMBERS, NUMBERS), max_size=8)


@pytest.mark.parametrize("rule", [Parts.BY_UNIT, Parts.BY_INDEX])
@given(charges=CHARGES)
def test_parts_cost_what_one_unit_can_be_touched_by(rule: Parts, charges: list[tuple[str, Fraction, Fraction]]) -> None:
    epsilons, deltas = dict[str, Fraction](), dict[str, Fraction]()
    for part, epsilon, delta in charges:
        epsilons[part] = epsilons.get(part, Fraction()) + epsilon
        deltas[part] = deltas.get(part, Fraction()) + delta
    whole = Amount(epsilons.pop("", Fraction()), deltas.pop("", Fraction()))
    parts = [Amount(epsilons[part], deltas[part]) for part in epsilons]
    found = composed(whole, parts)
    assert found.epsilon == worst(whole.epsilon, epsilons, rule)
    assert found.delta == worst(whole.delta, deltas, rule)


@pytest.mark.parametrize(("rule", "neighbors"), [(Parts.BY_UNIT, ADD), (Parts.BY_INDEX, REPLACE)])
def test_a_ledger_keeps_parts_apart(ledger: Ledger, rule: Parts, neighbors: Neighbors) -> None:
    ledger.grant("shop", epsilon="0.9", neighbors=neighbors, parts=rule)
    for part, epsilon in [("", "0.3"), ("/north", "0.1"), ("/south", "0.2"), ("/east", "0.1"), ("/north", "0.3")]:
        ledger.charge(f"shop{part}", guarantee(epsilon, neighbors=neighbors), job="")
    budget = ledger.budget("shop")
    assert budget.spent.epsilon == Fraction(7, 10)
    assert {part: amount.epsilon for part, amount in budget.charged.items()} == {
        "": Fraction(3, 10),
        "north": Fraction(2, 5),
        "south": Fraction(1, 5),
        "east": Fraction(1, 10),
    }
    assert ledger.verify() == 6


def test_a_part_has_more_left_than_the_whole(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1, parts="by-index")
    ledger.charge("shop/north", guarantee("3/4"), job="")
    ledger.charge("shop/south", guarantee("1/2"), job="")
    with pytest.raises(BudgetExceeded, match=r"'shop/south'.* remaining ε = 1/2, .*short by ε = 1/4,"):
        ledger.charge("shop/south", guarantee("3/4"), job="")
    with pytest.raises(BudgetExceeded, match=r"remaining ε = 1/4,"):
        ledger.charge("shop", guarantee("1/2"), job="")
    ledger.charge("shop/south", guarantee("1/2"), job="")
    assert ledger.budget("shop").spent.epsilon == 1


@pytest.mark.parametrize(("rule", "neighbors"), [(Parts.BY_UNIT, REPLACE), (Parts.BY_INDEX, ADD)])
def test_parts_that_a_neighbour_may_shift_are_refused(tmp_path: Path, rule: Parts, neighbors: Neighbors) -> None:
    """A replaced unit may leave its part, whose size mechanisms take for public; an added one moves all numbers."""
    with pytest.raises(BadParameter, match=f"parts {rule} needs the relation"):
        Ledger(f"sqlite:///{tmp_path / 'b.db'}").grant("shop", epsilon=1, neighbors=neighbors, parts=rule)
