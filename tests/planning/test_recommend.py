"""What `auto` means: the mechanism with the smallest lead, from public parameters alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

import dpmine
from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.advice import advice
from dpmine.selection.laws.profile import Profile
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.recommend import (
    SUCCESS,
    Shape,
    build_mechanism,
    least,
    least_gap,
    recommend,
    stylised,
    succeeds,
    success_probability,
    usable,
)

BASKETS = [["a", "b"]] * 400 + [["a", "c"]] * 40
CLEARLY = 0.05
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
