"""Pairs of neighbours: what they are, which a claim covers, and how laws are read on them."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import every
from support.mechanisms import made

from dpmine.auditing.pairs import (
    UNKNOWN,
    ClaimScope,
    Group,
    Pair,
    PairSide,
    critical_leads,
    on_grid,
    staircases,
    stairs,
    structured,
)
from dpmine.auditing.worst_pairs import scope_of
from dpmine.errors import BadParameter
from dpmine.parameters import exact_number
from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import Profile
from dpmine.selection.mechanisms.large_margin import LargeMarginTight
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.mechanisms.report_noisy_max import Exponential

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
NAMES = [name for name, kind in MECHANISMS.items() if kind.private]


def test_equal_scores_merge_on_both_sides() -> None:
    pair = Pair((Group(3, -1, 2), Group(1, 1, 5), Group(2, 0, 7)), dummies=4)
    assert pair.profile(PairSide.BEFORE) == Profile((3, 2, 1), (2, 7, 5), 4)
    assert pair.profile(PairSide.AFTER) == Profile((2,), (14,), 4)


def test_a_group_has_its_share_of_the_level() -> None:
    pair = Pair((Group(3, -1, 2), Group(1, 1, 5), Group(2, 0, 7)), dummies=4)
    law = made(Exponential, 0.5).law(pair.profile(PairSide.AFTER))
    masses = pair.masses(PairSide.AFTER, law)
    assert masses[:3].tolist() == pytest.approx([law.masses[0] * share / 14 for share in (2, 5, 7)])
    assert masses[3] == law.nothing
    assert masses.sum() == pytest.approx(1)


@every("groups", [(), (Group(1, 0, 0),), (Group(-1, 0),), (Group(0, -1),)])
def test_improper_pairs_are_refused(groups: tuple[Group, ...]) -> None:
    with pytest.raises(BadParameter, match="pair of neighbours"):
        Pair(groups)


@every(
    ("scope", "moves", "admitted"),
    [
        (ClaimScope(REPLACE), (1, -1), True),
        (ClaimScope(REPLACE), (2, 0), False),
        (ClaimScope(ADD), (1, 0), True),
        (ClaimScope(ADD), (1, -1), False),
        (ClaimScope(ADD), (-1, -1), False),  # the same pair read backwards is admitted
        (ClaimScope(REPLACE, growth=1), (1, -1), True),
        (ClaimScope(REPLACE, growth=1), (1, 1), False),
        (ClaimScope(REPLACE, growth=2), (-1, -1), True),
    ],
)
def test_moves_of_a_relation(scope: ClaimScope, moves: tuple[int, int], admitted: bool) -> None:
    assert scope.admits(Pair((Group(5, moves[0]), Group(2, moves[1])))) is admitted


def test_other_limits_of_a_scope() -> None:
    assert not ClaimScope(REPLACE).admits(Pair((Group(1, 0),), dummies=2))
    assert ClaimScope(REPLACE, growth=3).admits(Pair((Group(1, 1, 3), Group(4, 0, 1000))))
    assert not ClaimScope(REPLACE, growth=3).admits(Pair((Group(1, 1, 4),)))
    assert not ClaimScope(REPLACE, growth=3).admits(Pair((Group(1.5, 1),)))


def test_the_grid_keeps_ties() -> None:
    for score in (0.1, 415.2371, 1e6 / 3):
        assert on_grid(score) == pytest.approx(score, abs=2**-17)
        assert (on_grid(score) - 1) + 1 == on_grid(score)


@every("relation", Neighbors)
@every("name", NAMES)
def test_families_are_neighbours_of_all_kinds(name: str, relation: Neighbors) -> None:
    mechanism = MECHANISMS[name].audit_variants(exact_number("epsilon", 1), exact_number("delta", 1e-6), relation)[0]
    scope = scope_of(mechanism)
    pairs = list(structured(scope, critical_leads(mechanism, scope)))
    assert all(scope.admits(pair) for pair in pairs)
    assert len(set(pairs)) == len(pairs) > 50
    assert {pair.dummies for pair in pairs} == ({0} if mechanism.needs_catalogue else {0, UNKNOWN})
    assert {move for pair in pairs for move in (group.move for group in pair.groups)} == set(scope.moves)


def test_stairs_have_the_margins_asked_for() -> None:
    profile = stairs([1.5, 4.0, 9.25]).profile(PairSide.BEFORE)
    assert [profile.scores[0] - score for score in profile.scores] == [0, 1.5, 4, 9.25]


@pytest.mark.parametrize("relation", Neighbors)
def test_staircases_stand_at_the_thresholds(relation: Neighbors) -> None:
    search = made(LargeMarginTight, 1, 0.1, relation).search()
    pairs = list(staircases(search, relation))
    assert all(ClaimScope(relation).admits(pair) for pair in pairs)
    first = float(search.threshold(np.array([1.0]))[0])
    leads = {round(pair.groups[0].score - pair.groups[1].score - first, 3) for pair in pairs}
    assert {-1, 0, 1} <= leads
