"""However extreme the parameters and scores are, a choice takes few random bits and few draws from the tail."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from support.adversary import CountingBits, Descent, LazyUniverse
from support.cases import every

from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS, build_mechanism
from dpmine.selection.select import choose
from dpmine.selection.top_k import build_top_k
from dpmine.selection.universes.dense import Levels
from dpmine.selection.universes.protocol import MANY_DUMMIES

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Score

EPSILONS = ("1e-6", "1", "60", "1e4")
SENSITIVITIES = (Fraction(1), Fraction(1, 7), Fraction(300))
RELATIONS = ("replace_one", "add_remove")
MANY = 10**30
SHAPES: dict[str, list[tuple[Any, int]]] = {
    "one candidate": [(3, 1)],
    "all equal": [(7, MANY)],
    "all zero": [(0, MANY)],
    "half a sensitivity apart": [(Fraction(1, 2), 1), (0, MANY)],
    "a hair apart": [(Fraction(1, 10**300), 1), (0, MANY)],
    "many within one sensitivity": [(Fraction(score, 40), 10 ** (40 - score)) for score in range(40)],
    "long denominators": [(Fraction(10**60 + 1, 10**60), 3), (1, MANY)],
    "below zero": [(-1, 1), (Fraction(-3, 2), MANY)],
    "more than can be counted": [(1, 1), (0, 10**300)],
    "scores as large as floats": [(10**300 + 1, 1), (10**300, MANY), (0, 10**40)],
    "one candidate a score": [(score, 1) for score in range(300)],
    "ever more of lower scores": [(score, 2 ** (100 - score)) for score in range(100)],
    "a needle": [(200, 1), (0, MANY)],
}
OPTIONS: dict[str, dict[str, Any]] = {"bounded_growth": {"max_items_per_unit": 3}, "exact": {"not_private": True}}
MOST_BITS = 200_000
MOST_TAIL_DRAWS = 1_000
"""About e² of a tail are drawn on average, and their number falls off exponentially: 1,000 would take e^−130."""


class TooMuchWork(Exception):
    """A choice that might not end."""


class Limited(CountingBits):
    """Bits that run out."""

    def take(self, count: int) -> int:
        if self.taken > MOST_BITS:
            raise TooMuchWork
        return super().take(count)


class Counted(Levels):
    """Levels that count the draws from their tail."""

    draws = 0

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[tuple[int, int], Score]:
        self.draws += 1
        if self.draws > MOST_TAIL_DRAWS:
            raise TooMuchWork
        return super().tail(floor, bits=bits)


def counts(name: str) -> bool:
    """Whether the mechanism takes these scores: whole ones of at least 0 only."""
    return all(score >= 0 and score == int(score) for score, _ in SHAPES[name])


def is_fit(mechanism: str, shape: str, sensitivity: Fraction, padding: int) -> bool:
    kind = MECHANISMS[mechanism]
    least = min(score for score, _ in SHAPES[shape])
    if mechanism == "bounded_growth" and not (sensitivity == 1 and counts(shape)):
        return False
    return not (kind.needs_catalogue and padding) and not ((kind.needs_counts or padding) and least < 0)


@pytest.mark.parametrize(
    "epsilon", ["60", *(pytest.param(other, marks=pytest.mark.slow) for other in EPSILONS if other != "60")]
)
@every("shape", SHAPES)
@every("mechanism", MECHANISMS)
def test_a_choice_takes_few_bits_and_draws(mechanism: str, shape: str, epsilon: str) -> None:
    for relation, sensitivity, padding in product(RELATIONS, SENSITIVITIES, (0, MANY_DUMMIES)):
        if not is_fit(mechanism, shape, sensitivity, padding):
            continue
        made = build_mechanism(
            mechanism, epsilon=epsilon, delta="1e-6", neighbors=relation, **OPTIONS.get(mechanism, {})
        )
        choose(made, Counted(SHAPES[shape], padding), sensitivity=sensitivity, bits=Limited())


@every("shape", ["half a sensitivity apart", "many within one sensitivity", "a needle", "all equal"])
@every("mechanism", ["exponential", "limited_domain", "large_margin", "max_of_laplaces"])
def test_a_list_takes_few_draws(mechanism: str, shape: str) -> None:
    for epsilon, padding in product(EPSILONS, (0, MANY_DUMMIES)):
        top_k = build_top_k(
            mechanism,
            count=3,
            epsilon=Fraction(epsilon),
            delta=Fraction(1, 10**6),
            neighbors=Neighbors.ADD_REMOVE,
            candidates=10**9,
        )
        top_k.choose(Counted(SHAPES[shape], padding), bits=Limited())


class CountedLazy(LazyUniverse[int]):
    """A lazy universe that counts the draws from its tail."""

    draws = 0

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[int, Score]:
        self.draws += 1
        return super().tail(floor, bits=bits)


@pytest.mark.parametrize("mechanism", [name for name, kind in MECHANISMS.items() if kind.needs_catalogue])
def test_tails_of_lazy_universes_stay_short(mechanism: str) -> None:
    """Nine tenths of a sensitivity at ε = 60 are e^24 to 1: with a floor above all scores hundreds would be drawn.

    A single run may draw many, with a probability of about 7 over their number; half of the runs do not.
    """
    draws = []
    truth = {place: Fraction(9, 10) if place == 7 else Fraction(place % 5, 50) for place in range(400)}
    for epsilon, relation, descent in product(EPSILONS[2:], RELATIONS, Descent):
        universe = CountedLazy(truth, least=0, descent=descent)
        made = build_mechanism(mechanism, epsilon=epsilon, delta=0, neighbors=relation)
        assert choose(made, universe, sensitivity=Fraction(1), bits=CountingBits()) == 7
        draws.append(universe.draws)
    assert median(draws) < 100
