"""Pairs of neighbours, climbs from the worst of them, and what pairs show: broken mechanisms, and no honest one."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from hashlib import shake_256
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import broken
from support.cases import every
from support.mechanisms import made
from support.tapes import TapeBits

from dpmine.auditing.pairs import (
    DIRECT,
    UNKNOWN,
    ClaimScope,
    Finding,
    Group,
    Pair,
    PairSide,
    Terms,
    Tolerance,
    critical_leads,
    measure_both,
    measured_epsilon,
    on_grid,
    privacy_profile,
    staircases,
    stairs,
    structured,
)
from dpmine.auditing.run import audit_mechanisms
from dpmine.auditing.worst_pairs import STRUCTURED, Climber, audit_stages, audit_whole, scope_of
from dpmine.errors import BadParameter
from dpmine.parameters import exact_number
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.large_margin import LargeMarginTight
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from dpmine.auditing.audit_report import AuditRow
    from dpmine.selection.mechanisms.mechanism import Mechanism


ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
NAMES = [name for name, kind in MECHANISMS.items() if kind.private]


def test_equal_scores_merge_on_both_sides() -> None:
    pair = Pair((Group(3, -1, 2), Group(1, 1, 5), Group(2, 0, 7)), dummies=4)
    assert pair.profile(PairSide.BEFORE) == Profile((3, 2, 1), (2, 7, 5), 4)
    assert pair.profile(PairSide.AFTER) == Profile((2,), (14,), 4)


def test_a_group_has_its_share_of_the_level() -> None:
    pair = Pair((Group(3, -1, 2), Group(1, 1, 5), Group(2, 0, 7)), dummies=4)
    law = made(Exponential, 0.5).distribution(pair.profile(PairSide.AFTER))
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


EXACT = Tolerance(0.0, 1e-300)


def coin(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response: its privacy profile is p − e^ε' (1 − p)."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([p, 1 - p]), np.array([1 - p, p])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_randomised_response(epsilon: float) -> None:
    left, right = coin(epsilon)
    for asked in (0.0, epsilon / 2, epsilon):
        expected = left[0] - math.exp(asked) * right[0]
        assert privacy_profile(left, right, asked, EXACT) == pytest.approx(expected, abs=1e-12)
    assert measured_epsilon(left, right, 0.0) == pytest.approx(epsilon, abs=1e-7)
    delta = left[0] - math.exp(epsilon / 2) * right[0]
    assert measured_epsilon(left, right, delta) == pytest.approx(epsilon / 2, abs=1e-7)


def test_a_tight_law_is_not_accused_of_rounding() -> None:
    left, right = coin(1.0)
    rounded = measure_both(left * (1 + 1e-10), right * (1 - 1e-10), Terms(1.0, 0.0), tolerance=DIRECT)
    assert rounded.delta == 0
    assert rounded.epsilon <= 1


def test_an_outcome_that_is_impossible_on_one_side() -> None:
    left, right = np.array([0.5, 0.5]), np.array([0.5, 0.0])
    assert privacy_profile(left, right, 3.0) == pytest.approx(0.5)
    assert privacy_profile(right, left, 3.0) == 0
    assert 30 < measured_epsilon(left, right, 0.1) < math.inf
    assert measured_epsilon(left, right, 0.6) == 0
    assert privacy_profile(left, right, 1e9) == 0  # no overflow: the absolute error then outweighs everything


def test_what_is_known_already_is_kept() -> None:
    left, right = coin(1.0)
    known = Finding(delta=0.9, epsilon=0.2)
    found = measure_both(left, right, Terms(0.5, 0.0), tolerance=DIRECT, known=known)
    assert found.delta == 0.9
    assert found.epsilon == pytest.approx(1, abs=1e-7)
    assert measure_both(left, right, Terms(0.5, 0.0), tolerance=DIRECT, known=Finding(0, 2)).epsilon == 2
    assert Finding(0.1, 3).worst(Finding(0.2, 1)) == Finding(0.2, 3)


@given(weights=st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=6))
def test_the_two_figures_agree(weights: list[tuple[float, float]]) -> None:
    """δ(ε) falls with ε, and the measured ε is where it reaches the δ asked for."""
    left, right = (np.array(side) / sum(side) for side in zip(*weights, strict=True))
    profile = [privacy_profile(left, right, epsilon) for epsilon in (0.0, 0.3, 1.0, 3.0)]
    assert profile == sorted(profile, reverse=True)
    for delta in (0.0, 0.05, 0.3):
        epsilon = measured_epsilon(left, right, delta)
        assert privacy_profile(left, right, epsilon + 1e-9) <= delta
        assert epsilon == 0 or privacy_profile(left, right, epsilon * (1 - 1e-9)) >= delta


SCOPES = [
    ClaimScope(Neighbors.REPLACE_ONE),
    ClaimScope(Neighbors.ADD_REMOVE, (0, UNKNOWN)),
    ClaimScope(Neighbors.REPLACE_ONE, (0, UNKNOWN), growth=3),
]
GAPS = (0.0, 1.0, 2.0, 17.0)


def fixed_bits() -> TapeBits:
    """The same tape every time, long enough."""
    return TapeBits(int.from_bytes(shake_256(b"climb").digest(40_000), "big"), 320_000)


def shows(pair: Pair) -> Finding:
    """The exponential mechanism for ε = 1 that has twice its exponent."""
    left, right = (pair.masses(side, made(Exponential, 1.0).distribution(pair.profile(side))) for side in PairSide)
    return measure_both(left, right, Terms(1.0, 0.0), tolerance=DIRECT)


@pytest.mark.parametrize("scope", SCOPES)
def test_all_proposals_are_admitted(scope: ClaimScope) -> None:
    seen: list[Pair] = []

    def remember(pair: Pair) -> Finding:
        seen.append(pair)
        return Finding()

    Climber(scope, GAPS, (1, 3)).climb(None, remember, steps=400, bits=fixed_bits())
    assert len(seen) > 50
    assert all(scope.admits(pair) for pair in seen)
    assert {pair.dummies for pair in seen} == set(scope.dummies)


def test_climbing_finds_a_broken_mechanism_from_nothing() -> None:
    found, pair = Climber(SCOPES[0], GAPS).climb(None, shows, steps=300, bits=fixed_bits())
    assert pair is not None
    assert found.epsilon > 1.5
    assert found.delta > 0


def test_climbing_never_loses_its_start() -> None:
    start = Pair((Group(4, 1), Group(2, -1)))
    found, _ = Climber(SCOPES[0], GAPS).climb(start, shows, steps=50, bits=fixed_bits())
    assert found.rank >= shows(start).rank


NO_BITS = TapeBits(0, 0)
"""Structured pairs need no randomness: the results are the same every time."""
POINT = Fraction(1), Fraction(1, 10**6)
SLOW = pytest.mark.slow
"""The search among the margin mechanisms' pairs takes seconds."""
GRID = list(product([Fraction(1, 10), Fraction(10)], [Fraction(1, 10**10), Fraction(1, 100)]))


@lru_cache
def stages_of(mechanism: Mechanism) -> list[AuditRow]:
    """What the audit finds of each stage: several tests look at the same mechanisms."""
    return audit_stages(mechanism, effort=STRUCTURED, bits=NO_BITS)


def is_caught_quickly(mechanism: Mechanism) -> bool:
    """By its stages where it has some (their laws are cheap), by the whole otherwise."""
    if mechanism.stages():
        return not all(stage.holds for stage in stages_of(mechanism))
    return audit_whole(mechanism, effort=STRUCTURED, bits=NO_BITS).delta > mechanism.delta


@pytest.mark.parametrize(
    ("kind", "relation"),
    [
        pytest.param(kind, relation, marks=SLOW if kind.__name__.startswith(("Tight", "LargeMargin")) else ())
        for kind, relation in broken.CASES
    ],
)
def test_broken_mechanisms_are_caught(kind: type[Mechanism], relation: Neighbors) -> None:
    assert is_caught_quickly(broken.build(kind, relation, *POINT))


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if "margin" in name else ()) for name in NAMES])
def test_honest_mechanisms_are_not_accused(name: str, relation: Neighbors) -> None:
    assert not any(is_caught_quickly(mechanism) for mechanism in honest(name, relation, *POINT))


def honest(name: str, relation: Neighbors, epsilon: Fraction, delta: Fraction) -> list[Mechanism]:
    return MECHANISMS[name].audit_variants(epsilon, delta if MECHANISMS[name].approximate else Fraction(0), relation)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        (broken.TightHalvedRho, "search"),
        (broken.TightHalvedNu, "search"),
        (broken.TightFirstShareEverywhere, "search"),
        (broken.TightGenerousFirst, "search"),
        (broken.TightEarlyStop, "early stop"),
        (broken.TightEagerDraw, "draw"),
        (broken.LargeMarginWithoutThreshold, "early stop"),
        (broken.LargeMarginEagerDraw, "draw"),
    ],
)
def test_the_stage_that_is_broken_is_named(kind: type[Mechanism], stage: str) -> None:
    findings = stages_of(broken.build(kind, Neighbors.REPLACE_ONE, *POINT))
    assert [finding.stage for finding in findings if not finding.holds] == [stage]


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
def test_the_searches_budget_is_reached(relation: Neighbors) -> None:
    """The audit is sharp: the tight search shows all that its outcomes may cost, the other 1/2 or 1/4 of ε."""
    tight, loose = (stages_of(honest(name, relation, *POINT)[0])[0] for name in ("large_margin_tight", "large_margin"))
    assert tight.measured_epsilon == pytest.approx(tight.epsilon, rel=1e-6)
    assert loose.measured_epsilon == pytest.approx(0.5 if relation is Neighbors.REPLACE_ONE else 0.25, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", [name for name in NAMES if "margin" not in name])
def test_the_whole_claim_is_reached(name: str, relation: Neighbors) -> None:
    """Mechanisms of one piece are tight, in ε or in δ, and the structured pairs show it."""
    mechanism = honest(name, relation, *POINT)[0]
    found = audit_whole(mechanism, effort=STRUCTURED, bits=NO_BITS)
    reached = found.delta / float(mechanism.delta) if mechanism.delta else found.epsilon / float(mechanism.epsilon)
    assert reached == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("kind", broken.REPLACE_ONLY)
def test_the_others_are_private_where_counts_move_together(kind: type[Mechanism]) -> None:
    assert not is_caught_quickly(broken.build(kind, Neighbors.ADD_REMOVE, *POINT))


@pytest.mark.slow
@pytest.mark.parametrize("point", GRID)
@pytest.mark.parametrize(("kind", "relation"), broken.CASES)
def test_broken_mechanisms_are_caught_everywhere(
    kind: type[Mechanism], relation: Neighbors, point: tuple[Fraction, Fraction]
) -> None:
    assert is_caught_quickly(broken.build(kind, relation, *point))


@pytest.mark.slow
@pytest.mark.parametrize("point", GRID)
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("name", NAMES)
def test_honest_mechanisms_are_accused_nowhere(
    name: str, relation: Neighbors, point: tuple[Fraction, Fraction]
) -> None:
    row = audit_mechanisms(honest(name, relation, *point), effort=STRUCTURED, bits=NO_BITS)
    assert row.holds
