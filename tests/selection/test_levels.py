from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.oracles.mechanisms import chi_square_p, tally

from dpmine import law
from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.selection.universes.dense import Levels, exact_score
from dpmine.selection.universes.protocol import Level


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


@every(
    ("levels", "padding"),
    [
        ([], 0),
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
        ([(-1, 1), (5, 1)], 1),
        ([(np.longdouble("inf"), 1)], 0),
    ],
)
def test_unusable_levels_are_refused(levels: Any, padding: Any) -> None:
    with pytest.raises(BadParameter):
        Levels(levels, padding)


GROUPS = [(0, 2), (7, 1), (3, 4), (7, 3)]


def test_groups_keep_the_order_in_which_they_were_given() -> None:
    """Equal scores are one level; its members are those of all its groups."""
    universe = Levels(GROUPS)
    assert [(level.score, level.count) for level in universe.head(0)] == [(7, 4), (3, 4), (0, 2)]
    seen = {universe.member(Level(7, 4), bits=SystemBits()) for _ in range(400)}
    assert seen == {(1, 0), (3, 0), (3, 1), (3, 2)}
    tail = {universe.tail(7, bits=SystemBits()) for _ in range(600)}
    assert tail == {((2, member), 3) for member in range(4)} | {((0, member), 0) for member in range(2)}


@every("scores", list(permutations([5, 5, 2])))
def test_the_same_groups_whatever_their_scores(scores: tuple[int, ...]) -> None:
    """A group that is overtaken by another keeps its number."""
    universe = Levels(zip(scores, (1, 2, 3), strict=True))
    drawn = [universe.member(level, bits=SystemBits()) for level in universe.head(0) for _ in range(40)]
    assert {(group, member) for group, member in drawn if scores[group] == 2} == {
        (scores.index(2), member) for member in range((1, 2, 3)[scores.index(2)])
    }


def test_the_law_of_groups_is_in_their_order() -> None:
    """Against the law of the single candidates."""
    options: dict[str, Any] = {"mechanism": "exponential", "epsilon": "1/3"}
    single = law([score for score, count in GROUPS for _ in range(count)], **options).pmf
    ends = np.cumsum([0, *(count for _, count in GROUPS)])
    expected = [single[first:end].sum() for first, end in pairwise(ends)]
    assert law(Levels(GROUPS), **options).pmf == pytest.approx(expected)
    unknown = law(Levels(GROUPS), mechanism="limited_domain", epsilon=5, candidates="unknown")
    assert unknown.pmf[3] == pytest.approx(3 * unknown.pmf[1])


def test_exact_score_keeps_integers_plain() -> None:
    assert type(exact_score(Fraction(4, 2))) is int
    assert type(exact_score("3")) is int
    assert exact_score(0.5) == Fraction(1, 2)


@every("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_of_every_width_are_read_exactly(kind: Any) -> None:
    assert exact_score(kind("0.1")) == Fraction(*kind("0.1").as_integer_ratio())
    if np.finfo(kind).nmant >= 62:
        assert exact_score(kind(2**62) + kind(1)) == 2**62 + 1


@pytest.mark.statistical
def test_the_tail_is_uniform_over_candidates_not_levels() -> None:
    """Nominal false-alarm rate 1e-9."""
    universe = Levels([(9, 5), (4, 30), (3, 60), (0, 10)])
    seen = tally(lambda: universe.tail(4, bits=SystemBits())[1], 2000)
    assert chi_square_p(seen, {3: 6 / 7, 0: 1 / 7}) > 1e-9
