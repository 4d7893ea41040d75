"""The planner's answers."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples

from dpmine.errors import BadParameter, DpmineError, UnreadableFile
from dpmine.planning.planner import plan
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS, Shape, least_gap, recommend, stylised, success_probability, usable

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.planning.results import Plan

QUICK = [
    "limited_domain",
    "limited_domain_permute_and_flip",
    "stable_maximiser",
    "exponential",
    "max_of_exponentials",
    "max_of_laplaces",
]
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)
REPLACE_ONE_FIRST = pytest.mark.parametrize(
    "neighbors", [Neighbors.REPLACE_ONE, pytest.param(Neighbors.ADD_REMOVE, marks=pytest.mark.slow)]
)
"""Where a relation takes seconds."""


@pytest.fixture(scope="module")
def known() -> Plan:
    return plan(size="2-3", catalogue_size=60, units=5000, epsilon="0.5", gap=40)


@pytest.fixture(scope="module")
def unknown() -> Plan:
    return plan(epsilon=2, neighbors="add-remove")


@REPLACE_ONE_FIRST
@pytest.mark.parametrize(
    ("epsilon", "candidates"), [("0.3", None), pytest.param("1", 10**6, marks=pytest.mark.slow), ("5", 3)]
)
def test_success_at_the_lead_and_not_just_below(epsilon: str, candidates: int | None, neighbors: Neighbors) -> None:
    for mechanism in usable(Fraction(epsilon), Fraction(1, 10**6), neighbors, candidates=candidates):
        for shape in Shape:
            gap = least_gap(mechanism, shape, candidates, 0.9)
            assert success_probability(mechanism, stylised(shape, gap, candidates)) >= 0.9
            if gap > 1:
                assert success_probability(mechanism, stylised(shape, gap - 1, candidates)) < 0.9


@RELATIONS
@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_leads_shrink_with_epsilon_and_delta(name: str, neighbors: Neighbors, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from(Shape))
    small, large = sorted(data.draw(st.tuples(st.integers(1, 300), st.integers(1, 300))))
    tiny, generous = sorted(data.draw(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6))))
    check_monotone(name, neighbors, shape, Fraction(small, 100), Fraction(large, 100), Fraction(tiny, 10**8))
    leads = [lead(name, neighbors, shape, Fraction(1), Fraction(part, 10**8)) for part in (tiny, generous)]
    assert leads[0] >= leads[1]


@REPLACE_ONE_FIRST
@every("shape", Shape)
@every("name", ["large_margin", "large_margin_tight"])
def test_leads_of_the_margin_mechanisms_shrink_too(name: str, shape: Shape, neighbors: Neighbors) -> None:
    check_monotone(name, neighbors, shape, Fraction(1, 3), Fraction(2, 3), Fraction(1, 10**6))
    leads = [lead(name, neighbors, shape, Fraction(1), Fraction(1, 10**digits)) for digits in (9, 5, 2)]
    assert leads == sorted(leads, reverse=True)


def check_monotone(
    name: str, neighbors: Neighbors, shape: Shape, small: Fraction, large: Fraction, delta: Fraction
) -> None:
    assert lead(name, neighbors, shape, small, delta) >= lead(name, neighbors, shape, large, delta)


def lead(name: str, neighbors: Neighbors, shape: Shape, epsilon: Fraction, delta: Fraction) -> int:
    kind = MECHANISMS[name]
    mechanism = kind(epsilon, delta if kind.approximate else Fraction(0), neighbors)
    return least_gap(mechanism, shape, 10**4, 0.95)


def test_a_row_for_every_mechanism_that_can_be_used(known: Plan, unknown: Plan) -> None:
    usable_names = {name for name, kind in MECHANISMS.items() if kind.private} - {"bounded_growth"}
    assert {row.mechanism for row in known.rows} == usable_names
    without_list = {name for name in usable_names if not MECHANISMS[name].needs_catalogue}
    assert {row.mechanism for row in unknown.rows} == without_list
    for row in (*known.rows, *unknown.rows):
        assert [need.shape for need in row.needs] == list(Shape)
        assert bool(row.delta) is MECHANISMS[row.mechanism].approximate


def test_candidates_are_the_itemsets_of_the_catalogue(known: Plan, unknown: Plan) -> None:
    assert known.candidates == comb(60, 2) + comb(60, 3)
    assert unknown.candidates is None


def test_the_recommendation_is_that_of_auto(known: Plan, unknown: Plan) -> None:
    assert known.recommendation == recommend(
        epsilon="0.5", delta=1e-6, neighbors="replace_one", candidates=known.candidates
    )
    assert unknown.recommendation == recommend(epsilon=2, delta=1e-6, neighbors="add_remove")


def test_shares_are_counts_over_units(known: Plan, unknown: Plan) -> None:
    for row in known.rows:
        for need in row.needs:
            assert (need.gap_share, need.support_share) == (need.gap / 5000, need.support / 5000)
            assert need.support >= need.gap
    assert unknown.rows[0].needs[0].gap_share is None


def test_the_support_belongs_to_the_lead(known: Plan) -> None:
    row = known.rows[0]
    assert row.need(Shape.ALONE).support == row.need(Shape.ALONE).gap
    assert row.need(Shape.NEAR_TIES).support == 10 * row.need(Shape.NEAR_TIES).gap


@every("name", QUICK)
@every("shape", Shape)
def test_the_inverse_question(known: Plan, name: str, shape: Shape) -> None:
    need = known.row(name).need(shape)
    profile = stylised(shape, 40, known.candidates)
    kind = MECHANISMS[name]
    delta = Fraction(1, 10**6) if kind.approximate else Fraction(0)

    def chance(epsilon: Fraction) -> float:
        return success_probability(kind(epsilon, delta, Neighbors.REPLACE_ONE), profile)

    assert need.success_at_gap == chance(Fraction(1, 2))
    assert need.least_epsilon is not None
    digits = Fraction(f"1e{format(float(need.least_epsilon), 'e').split('e')[1]}") / 10
    assert chance(need.least_epsilon) >= 0.95 > chance(need.least_epsilon - digits)


def test_a_lead_may_be_too_small_for_any_epsilon() -> None:
    """One unit moves the gap by 2, so a gap of 1 never is stable."""
    asked = plan(gap=1, units=10)
    need = asked.row("stable_maximiser").need(Shape.ALONE)
    assert need.least_epsilon is None
    assert need.success_at_gap == pytest.approx(1e-6)
    assert "none" in str(asked)
    assert "too few units" in str(asked)


def test_rows_start_with_the_smallest_lead(known: Plan) -> None:
    gaps = [row.need(Shape.POWER_LAW).gap for row in known.rows]
    assert gaps == sorted(gaps)


def test_json_holds_it_all(known: Plan, unknown: Plan) -> None:
    document = json.loads(known.to_json())
    assert document == known.to_dict()
    assert document["recommended"]["mechanism"] == known.recommendation.mechanism
    assert {row["mechanism"] for row in document["mechanisms"]} == {row.mechanism for row in known.rows}
    assert document["sizes"] == [2, 3]
    assert unknown.to_dict()["lower_bounds"]["pure"] is None


def test_the_text_names_every_mechanism_and_marks_one(known: Plan, unknown: Plan) -> None:
    for asked in (known, unknown):
        text = str(asked)
        assert all(row.mechanism in text for row in asked.rows)
        assert f"{asked.recommendation.mechanism} *" in text
        assert asked.recommendation.reason in text
    assert "With a lead of 40" in str(known)
    assert "With a lead" not in str(unknown)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
def test_the_plot_is_the_same_every_time(unknown: Plan, tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    unknown.plot(first)
    unknown.plot(str(second))
    content = first.read_bytes()
    assert content == second.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_where_no_plot_can_be_written(unknown: Plan, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="svg"):
        unknown.plot(tmp_path / "a.pdf")
    for target in (tmp_path / "missing" / "a.svg", tmp_path):
        with pytest.raises(DpmineError):
            unknown.plot(target)
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(UnreadableFile):
        unknown.plot(tmp_path / "folder.svg")


@every(
    "parameters",
    [
        {"size": 0},
        {"size": "3-2"},
        {"size": 4, "catalogue_size": 3},
        {"catalogue_size": 0},
        {"catalogue_size": "unknown"},
        {"units": 0},
        {"units": 1.5},
        {"units": 10, "gap": 11},
        {"gap": 0},
        {"gap": True},
        {"epsilon": 0},
        {"epsilon": "1e-5"},
        {"epsilon": 1001},
        {"delta": 0},
        {"delta": 1},
        {"delta": "1e-301"},
        {"success": 0},
        {"success": 1},
        {"success": "0.9999999"},
        {"neighbors": "both"},
    ],
)
def test_unusable_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        plan(**parameters)


def test_progress_runs_upwards() -> None:
    told: list[float] = []
    plan(progress=told.append)
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
