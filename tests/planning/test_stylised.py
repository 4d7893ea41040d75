"""The stylised shapes of supports, and the cheap bound on success."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import Profile
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.recommend import Shape, head, stylised, success_probability, usable
from dpmine.selection.universes.protocol import MANY_DUMMIES

SHAPES = pytest.mark.parametrize("shape", Shape)
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)
USABLE = {name for name, kind in MECHANISMS.items() if kind.private} - {"bounded_growth"}


@SHAPES
@every("candidates", [1, 2, 3, 8, 9, 11, 12, 1000, 12345, 10**30])
def test_every_candidate_is_listed_once(shape: Shape, candidates: int) -> None:
    profile = stylised(shape, 7.0, candidates)
    assert sum(profile.counts) == candidates
    assert (profile.counts[0], profile.dummies) == (1, 0)


@SHAPES
@given(gap=st.floats(1e-6, 1e9), candidates=st.none() | st.integers(2, 10**40))
def test_the_best_two_are_a_gap_apart(shape: Shape, gap: float, candidates: int | None) -> None:
    profile = stylised(shape, gap, candidates)
    second = profile.scores[1] if len(profile.scores) > 1 else 0.0
    assert profile.scores[0] - second == pytest.approx(gap)
    assert profile.scores[0] == pytest.approx(shape.top * gap)
    assert profile.scores[-1] >= 0


@SHAPES
def test_an_unknown_universe_has_dummies_and_supported_candidates_only(shape: Shape) -> None:
    profile = stylised(shape, 5.0, None)
    assert profile.dummies == MANY_DUMMIES
    assert profile.scores[-1] > 0


def test_near_ties_are_ten_with_nine_tenths() -> None:
    profile = stylised(Shape.NEAR_TIES, 3.0, 100)
    assert profile.counts == (1, 10, 89)
    assert profile.scores == pytest.approx((30, 27, 0))


def test_the_power_law_is_one_at_the_start_of_each_level() -> None:
    profile = stylised(Shape.POWER_LAW, 1.0, 10**6)
    rank = 1
    for score, count in zip(profile.scores, profile.counts, strict=True):
        assert score == pytest.approx(profile.scores[0] * rank**-0.25)
        rank += count
    assert rank == 10**6 + 1


def test_more_candidates_than_floats_can_hold_are_cut() -> None:
    profile = stylised(Shape.ALONE, 1.0, 10**5000)
    assert 10**100 < sum(profile.counts) < 10**200


def test_the_head_is_the_best_alone() -> None:
    assert head(Profile((5.0, 3.0, 0.0), (1, 2, 10**20))) == Profile((5.0, 3.0, 0.0), (1, 2, 5))
    assert head(Profile((5.0,), (1,), MANY_DUMMIES)) == Profile((5.0,), (1,))
    assert head(Profile((5.0, 3.0), (2, 3)), size=2) == Profile((5.0,), (2,))


def test_all_mechanisms_without_options_are_usable() -> None:
    known = usable(Fraction(1), Fraction(1, 100), Neighbors.REPLACE_ONE, candidates=10)
    unknown = usable(Fraction(1), Fraction(1, 100), Neighbors.REPLACE_ONE, candidates=None)
    pure = usable(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE, candidates=10)
    assert {mechanism.name for mechanism in known} == USABLE
    assert {mechanism.name for mechanism in unknown} == {
        name for name in USABLE if not MECHANISMS[name].needs_catalogue
    }
    assert {mechanism.name for mechanism in pure} == {name for name in USABLE if not MECHANISMS[name].approximate}
    assert all(bool(mechanism.delta) is mechanism.approximate for mechanism in known)


@RELATIONS
@settings(max_examples=examples(25))
@given(data=st.data())
def test_fewer_rivals_never_hurt(neighbors: Neighbors, data: st.DataObject) -> None:
    """The bound that rules mechanisms out: the head alone is at least as easy."""
    epsilon = Fraction(data.draw(st.integers(1, 30)), 10)
    scores = sorted(data.draw(st.sets(st.integers(0, 150), min_size=1, max_size=14)), reverse=True)
    counts = [1, *data.draw(st.lists(st.integers(1, 5), min_size=len(scores) - 1, max_size=len(scores) - 1))]
    known = data.draw(st.booleans())
    top = float(scores[0] + data.draw(st.integers(1, 300)))
    profile = Profile((top, *map(float, scores[1:])), tuple(counts), 0 if known else MANY_DUMMIES)
    for mechanism in usable(epsilon, Fraction(1, 10**4), neighbors, candidates=sum(counts) if known else None):
        easier, full = success_probability(mechanism, head(profile)), success_probability(mechanism, profile)
        assert easier >= full - 1e-9, mechanism.name
