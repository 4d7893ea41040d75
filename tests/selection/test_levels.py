from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from support.adversary_oracles import chi_square_p, tally

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.selection.levels import Levels, exact_score
from dpmine.selection.universe import Level


def test_a_candidate_is_a_level_and_a_member() -> None:
    universe = Levels([(9, 1), (4, 3), (0, 10**30)])
    assert universe.size == 10**30 + 4
    assert (universe.top(), universe.least, universe.padding) == (9, 0, 0)
    level, member = universe.member(Level(4, 3), bits=SystemBits())
    assert level == 1
    assert member in range(3)
    (level, member), score = universe.tail(1, bits=SystemBits())
    assert (level, score) == (2, 0)
    assert 0 <= member < 10**30


def test_heads_and_bounds() -> None:
    universe = Levels([(9, 1), (4, 3), (Fraction(-1, 2), 2)])
    assert [level.score for level in universe.head(4)] == [9, 4]
    assert list(universe.head(10)) == []
    assert universe.below(4) == Fraction(-1, 2)
    assert universe.below(universe.least) == universe.least
    assert universe.below(100) == 9


def test_scores_are_read_exactly() -> None:
    """A float is the dyadic number it is, as in arrays of scores."""
    universe = Levels([("1/3", 1), (0.1, 1), (Decimal("0.01"), 1), (0, 1)])
    assert [level.score for level in universe.head(0)] == [Fraction(1, 3), Fraction(0.1), Fraction(1, 100), 0]


def test_only_dummies() -> None:
    universe = Levels([], padding=7)
    assert (universe.size, universe.top(), universe.least, list(universe.head(0))) == (0, 0, 0, [])


@pytest.mark.parametrize(
    ("levels", "padding"),
    [
        ([], 0),
        ([(1, 1), (2, 1)], 0),
        ([(1, 1), (1, 1)], 0),
        ([(1, 0)], 0),
        ([(1, -1)], 0),
        ([(1, 1.5)], 0),
        ([(1, True)], 0),
        ([(True, 1)], 0),
        ([(float("nan"), 1)], 0),
        ([(None, 1)], 0),
        ([(1, 1)], -1),
        ([(1, 1)], True),
        ([(1, 1)], 2.0),
        ([(-1, 1)], 1),
        ([(Fraction(-1, 10**9), 1)], 1),
    ],
)
def test_unusable_levels_are_refused(levels: Any, padding: Any) -> None:
    with pytest.raises(BadParameter):
        Levels(levels, padding)


def test_exact_score_keeps_integers_plain() -> None:
    assert type(exact_score(Fraction(4, 2))) is int
    assert type(exact_score("3")) is int
    assert exact_score(0.5) == Fraction(1, 2)


def test_the_tail_is_uniform_over_candidates_not_levels() -> None:
    """Nominal false-alarm rate 1e-9."""
    universe = Levels([(9, 5), (4, 30), (3, 60), (0, 10)])
    seen = tally(lambda: universe.tail(4, bits=SystemBits())[1], 2000)
    assert chi_square_p(seen, {3: 6 / 7, 0: 1 / 7}) > 1e-9
