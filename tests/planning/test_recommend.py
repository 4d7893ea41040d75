"""What `auto` means: the mechanism with the smallest lead, from public parameters and stylised supports alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

import dpmine
from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.advice import advice
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.recommend import (
    MECHANISMS,
    SUCCESS,
    Shape,
    build_mechanism,
    head,
    least,
    least_gap,
    recommend,
    stylised,
    succeeds,
    success_probability,
    usable,
)
from dpmine.selection.universes.protocol import MANY_DUMMIES

BASKETS = [["a", "b"]] * 400 + [["a", "c"]] * 40
CLEARLY = 0.05
SHAPES = pytest.mark.parametrize("shape", Shape)
USABLE = {name for name, kind in MECHANISMS.items() if kind.private} - {"bounded_growth"}
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)


@RELATIONS
@every("epsilon", ["0.01", "0.1", "0.5", "1", "3"])
@every(
    ("candidates", "mechanism"),
    [(None, "limited_domain"), (10**6, "max_of_exponentials"), (3, "max_of_exponentials"), (10**40, "limited_domain")],
)
def test_what_is_recommended(candidates: int | None, mechanism: str, epsilon: str, neighbors: Neighbors) -> None:
    chosen = recommend(epsilon=epsilon, delta=1e-6, neighbors=neighbors, candidates=candidates)
    assert chosen.mechanism == mechanism
    assert chosen.reason.startswith(f"auto uses {mechanism}, ")
    assert f"ε = {epsilon}," in chosen.reason


@RELATIONS
@every("epsilon", ["0.1", "1"])
def test_what_costs_more_under_zcdp_has_to_be_named(epsilon: str, neighbors: Neighbors) -> None:
    """`auto` knows nothing of the accounting: four times the ρ may cost more than the smaller lead is worth."""
    able = usable(Fraction(epsilon), Fraction(1, 10**6), neighbors, candidates=None)
    leads = {one.name: least_gap(one, Shape.POWER_LAW, None, SUCCESS) for one in able}
    assert min(leads, key=lambda name: leads[name]) == "limited_domain_permute_and_flip"
    chosen = recommend(epsilon=epsilon, delta=1e-6, neighbors=neighbors)
    assert (chosen.mechanism, "auto uses limited_domain" in chosen.reason) == ("limited_domain", True)
    named, taken = (
        build_mechanism(name, epsilon=epsilon, delta=1e-6, neighbors=neighbors)
        for name in ("limited_domain_permute_and_flip", "limited_domain")
    )
    assert named.zcdp.rho == 4 * taken.zcdp.rho
    assert named.zcdp.delta == taken.zcdp.delta
    assert "permute" not in advice(taken, None)


def test_a_lone_winner_does_not_make_the_stable_maximiser_win() -> None:
    """It needs the smallest lead there, and three times the lead where the second comes close."""
    rivals = usable(Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE, candidates=None)
    leads = {rival.name: least_gap(rival, Shape.ALONE, None, SUCCESS) for rival in rivals}
    assert min(leads, key=lambda name: leads[name]) == "stable_maximiser"
    assert recommend(epsilon=1, delta=1e-6, neighbors="replace_one").mechanism == "limited_domain"


@RELATIONS
@every("shape", [Shape.POWER_LAW, Shape.NEAR_TIES])
@every(("epsilon", "candidates"), [("0.1", None), ("1", None), ("0.1", 10**5), ("1", 10**9), ("2", 4)])
def test_the_recommended_is_never_clearly_beaten(
    epsilon: str, candidates: int | None, shape: Shape, neighbors: Neighbors
) -> None:
    """At its own least lead, and half and twice that, no other that "auto" takes succeeds much more often."""
    parameters: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "neighbors": neighbors}
    chosen = build_mechanism("auto", candidates=candidates, **parameters)
    gap = least_gap(chosen, shape, candidates, SUCCESS)
    able = usable(Fraction(epsilon), Fraction(1, 10**6), neighbors, candidates=candidates)
    rivals = [rival for rival in able if not rival.only_by_name]
    for profile in (stylised(shape, factor * gap, candidates) for factor in (0.5, 1, 2)):
        bar = success_probability(chosen, profile) + CLEARLY
        assert [rival.name for rival in rivals if succeeds(rival, profile, bar)] == []


@every(
    "parameters",
    [
        {"epsilon": 0},
        {"epsilon": "x"},
        {"delta": 0},
        {"delta": 1},
        {"neighbors": "both"},
        {"candidates": 0},
        {"candidates": 2.5},
        {"candidates": "many"},
    ],
)
def test_unusable_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        recommend(**{"epsilon": 1, "delta": 1e-6, "neighbors": "replace_one", **parameters})


@pytest.mark.parametrize(
    ("epsilon", "candidates"),
    [
        *product(["1e-99", "1e-5"], [None, 1, 2, 10**400]),
        *product(["1e99"], [None, 1, 2]),
        pytest.param("1e99", 10**400, marks=pytest.mark.slow),
    ],
    ids=lambda value: "huge" if value == 10**400 else str(value),
)
@every("delta", ["1e-99", "0.9999999999999999999999"])
def test_extreme_parameters_still_give_an_answer(epsilon: str, delta: str, candidates: int | None) -> None:
    chosen = recommend(epsilon=epsilon, delta=delta, neighbors="add_remove", candidates=candidates)
    assert chosen.mechanism in MECHANISMS


@given(bar=st.integers(0, 10**7), start=st.integers(0, 10**7), room=st.integers(0, 1000))
def test_least_is_the_first_that_passes(bar: int, start: int, room: int) -> None:
    wanted = max(bar, start)
    assert least(lambda number: number >= bar, start=start) == wanted
    assert least(lambda number: number >= bar, start=start, end=wanted + room) == wanted


def test_a_name_is_taken_as_it_is() -> None:
    found = build_mechanism("large-margin", epsilon=1, delta=1e-6, neighbors="replace_one", candidates=5)
    assert found.name == "large_margin"


def test_an_option_that_no_mechanism_has_is_rejected() -> None:
    with pytest.raises(BadParameter, match="Unknown option: sensitivity"):
        build_mechanism("exponential", epsilon=1, delta=0, neighbors="replace_one", sensitivity=2)


@pytest.mark.parametrize("candidates", [None, 10**6])
def test_the_engine_builds_what_is_recommended(candidates: int | None) -> None:
    parameters: dict[str, Any] = {"epsilon": "0.3", "delta": "1e-7", "neighbors": "add_remove"}
    chosen = build_mechanism("auto", candidates=candidates, **parameters)
    assert chosen.name == recommend(candidates=candidates, **parameters).mechanism
    assert chosen.delta == (Fraction(1, 10**7) if chosen.approximate else 0)


def test_select_counts_its_public_candidates() -> None:
    assert dpmine.select([5, 3, 900]).mechanism == "max_of_exponentials"
    assert dpmine.select({"a": 5, "b": 900}).guarantee.delta == 0
    assert dpmine.select(dpmine.Levels([(900, 1), (0, 10**30)], padding=2)).mechanism == "limited_domain"


def test_mechanisms_that_need_counts_are_not_taken_for_any_scores() -> None:
    """Whether a score is below 0 is private, so it must not decide whether a run is refused."""
    for lowest in (0, -1):
        universe = dpmine.Levels([(900, 1), (lowest, 10**30)])
        assert dpmine.select(universe).mechanism == "max_of_exponentials"


def test_candidates_found_in_the_data_are_not_public() -> None:
    chosen = dpmine.select({"rare": 1, "often": 10**6}, candidates="unknown")
    assert (chosen.label, chosen.mechanism) == ("often", "limited_domain")
    assert not dpmine.select({"rare": 1}, candidates="unknown", epsilon="0.1")
    with pytest.raises(BadParameter, match="public list"):
        dpmine.select({"rare": 1}, candidates="unknown", mechanism="exponential")
    with pytest.raises(BadParameter, match="'public' or 'unknown'"):
        dpmine.select({"rare": 1}, candidates="secret")


def test_the_size_of_a_padded_universe_is_nobodys_business() -> None:
    """With dummies the number of candidates is private, so it must not decide on the mechanism."""
    few, many = (dpmine.Levels([(900, 1), (0, count)], padding=2**128) for count in (1, 10**40))
    assert dpmine.select(few).mechanism == dpmine.select(many).mechanism == "limited_domain"


def test_the_law_is_that_of_the_same_mechanism() -> None:
    same = dpmine.law([50, 30, 2], mechanism="max_of_exponentials")
    assert dpmine.law([50, 30, 2]).pmf.tolist() == same.pmf.tolist()


@pytest.mark.parametrize(
    ("catalogue", "mechanism"), [(None, "limited_domain"), ([*"abcdef"], "max_of_exponentials")], ids=str
)
def test_top_itemset_says_which_and_why(catalogue: Any, mechanism: str) -> None:
    told: list[str] = []
    result = dpmine.top_itemset(BASKETS, catalogue=catalogue, notice=told.append)
    assert (result.requested, result.mechanism) == ("auto", mechanism)
    assert told[-1].startswith(f"auto uses {mechanism}, the mechanism that needs the smallest lead")


def test_no_reason_where_none_is_asked_for() -> None:
    told: list[str] = []
    dpmine.top_itemset(BASKETS, mechanism="large-margin", notice=told.append)
    assert len(told) == 1


def test_success_is_the_mass_of_the_best() -> None:
    mechanism = build_mechanism("exponential", epsilon=2, delta=1e-6, neighbors="replace_one")
    assert success_probability(mechanism, Profile((1.0, 0.0), (1, 1))) == pytest.approx(0.7310585786300049)


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
