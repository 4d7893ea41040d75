"""Proved leads suffice, and nothing beats the lower bounds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine.planning.planner import approximate_lower_bound, pure_lower_bound
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.recommend import MECHANISMS, Shape, least_gap, success_probability, usable
from dpmine.selection.universes.protocol import MANY_DUMMIES

SLOW = pytest.mark.slow
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)
DELTA = Fraction(1, 10**5)


@RELATIONS
@settings(max_examples=examples(30))
@given(data=st.data())
def test_proved_leads_suffice_whatever_the_rest_looks_like(neighbors: Neighbors, data: st.DataObject) -> None:
    epsilon = Fraction(data.draw(st.integers(1, 40)), 10)
    failure = data.draw(st.sampled_from([0.001, 0.05, 0.3, 0.7]))
    others = Profile.of(data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=30)))
    known = data.draw(st.booleans())
    candidates = 1 + sum(others.counts) if known else None
    for mechanism in usable(epsilon, DELTA, neighbors, candidates=candidates):
        top = others.scores[0] + mechanism.proved_lead(candidates or 1, failure)
        if top > others.scores[0]:
            profile = Profile((top, *others.scores), (1, *others.counts), 0 if known else MANY_DUMMIES)
            assert success_probability(mechanism, profile) >= 1 - failure - 1e-9, mechanism.name


@pytest.mark.slow
@RELATIONS
@pytest.mark.parametrize(
    ("epsilon", "candidates"),
    [("0.2", None), ("1", None), ("1", 2), ("0.5", 10**7)],
)
def test_no_shape_needs_more_than_is_proved(epsilon: str, candidates: int | None, neighbors: Neighbors) -> None:
    for mechanism in usable(Fraction(epsilon), DELTA, neighbors, candidates=candidates):
        proved = ceil(mechanism.proved_lead(candidates or 1, 0.05))
        assert all(least_gap(mechanism, shape, candidates, 0.95) <= max(1, proved) for shape in Shape), mechanism.name


def test_the_published_constants() -> None:
    """Theorem 3 of the large-margin paper at ε = 1, δ = 1e-6, η = 0.05, ℓ* = 1, written out."""
    large_margin = MECHANISMS["large_margin"](Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
    threshold = 3 * log(1.5e6) + 6 * log(3e6) + 12 * log(6e6) + 6 * (1 + log(3e6))
    assert large_margin.proved_lead(1, 0.05) == pytest.approx(21 * log(60) + threshold)
    tight = MECHANISMS["large_margin_tight"](Fraction(1), Fraction(1, 10**6), Neighbors.ADD_REMOVE)
    assert tight.proved_lead(1, 0.05) == pytest.approx(1 + log(4e6) + 5 * log(20))
    flip = MECHANISMS["limited_domain_permute_and_flip"](Fraction(2), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
    assert flip.proved_lead(1, 0.05) == pytest.approx(log(2**20 / 0.1 * (1 + exp(2) / 2e-6)))
    laplaces = MECHANISMS["max_of_laplaces"](Fraction(1, 2), Fraction(0), Neighbors.REPLACE_ONE)
    assert laplaces.proved_lead(1000, 0.05) == pytest.approx(4 / 0.5 * log(1000 / 0.05))
    exponential = MECHANISMS["exponential"](Fraction(1, 2), Fraction(0), Neighbors.ADD_REMOVE)
    assert exponential.proved_lead(1000, 0.05) == pytest.approx(1 / 0.5 * log(1000 / 0.05))


def test_the_stable_maximisers_bound_is_exact() -> None:
    stable = MECHANISMS["stable_maximiser"](Fraction(1), DELTA, Neighbors.REPLACE_ONE)
    profile = Profile((stable.proved_lead(1, 0.2), 0.0), (1, 1))
    assert success_probability(stable, profile) == pytest.approx(0.8)


@RELATIONS
@every("epsilon", [0.1, 0.9, 3.0])
@every("candidates", [2, 5, 1000, 10**8, 10**60])
def test_no_pure_mechanism_beats_its_lower_bound(epsilon: float, candidates: int, neighbors: Neighbors) -> None:
    bound = pure_lower_bound(epsilon=epsilon, candidates=candidates)
    assert bound is not None
    for mechanism in usable(Fraction(repr(epsilon)), Fraction(0), neighbors, candidates=candidates):
        assert least_gap(mechanism, Shape.ALONE, candidates, 0.5000001) >= bound


@RELATIONS
@every("epsilon", [0.1, 0.9, 3.0])
@pytest.mark.parametrize("delta", [1e-3, *(pytest.param(other, marks=SLOW) for other in (1e-9, 0.2))])
@pytest.mark.parametrize("candidates", [None, 2, *(pytest.param(several, marks=SLOW) for several in (5, 10**8))])
def test_no_mechanism_beats_the_lower_bound_with_delta(
    epsilon: float, delta: float, candidates: int | None, neighbors: Neighbors
) -> None:
    bound = approximate_lower_bound(epsilon=epsilon, delta=delta, candidates=candidates, neighbors=neighbors)
    for mechanism in usable(Fraction(repr(epsilon)), Fraction(repr(delta)), neighbors, candidates=candidates):
        assert least_gap(mechanism, Shape.ALONE, candidates, 0.5000001) >= bound, mechanism.name


def test_lower_bounds_as_printed() -> None:
    """Proposition 1 and Theorem 1 of the large-margin paper."""
    assert pure_lower_bound(epsilon=0.5, candidates=1001) == pytest.approx(log(500) / 0.5)
    near = 1 + int((1 - exp(-0.5)) / 2e-6)
    bound = approximate_lower_bound(epsilon=0.5, delta=1e-6, candidates=None, neighbors=Neighbors.REPLACE_ONE)
    assert bound == pytest.approx(log((near - 1) / 2) / 0.5)


def test_lower_bounds_know_their_limits() -> None:
    replace_one = Neighbors.REPLACE_ONE
    assert pure_lower_bound(epsilon=1, candidates=None) is None
    assert pure_lower_bound(epsilon=1, candidates=1) == pure_lower_bound(epsilon=1, candidates=3) == 0
    assert pure_lower_bound(epsilon=1, candidates=10**400) != inf
    assert approximate_lower_bound(epsilon=1, delta=0.9, candidates=None, neighbors=replace_one) == 0
    with_units = approximate_lower_bound(epsilon=1, delta=1e-6, candidates=None, neighbors=replace_one, units=6)
    assert with_units == 3
