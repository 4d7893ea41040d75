"""The laws of the two stages, search and draw, and how they make up the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.mechanisms import made, tight_by
from support.oracles import laws as law_oracle

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.distributions.stopping import (
    StoppingSearch,
    draw_distribution,
    search_and_draw,
    stopping_distribution,
)
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight
from dpmine.selection.mechanisms.report_noisy_max import Exponential

LMM = made(LargeMargin, 1, 0.1).search()
TIGHT = made(LargeMarginTight, 1, 1e-3).search()


@pytest.mark.parametrize(
    "scores", [pytest.param([90.0, 80.0, 80.0, 30.0, 2.0], marks=pytest.mark.slow), [200.0, 10.0], [3.0, 3.0, 3.0]]
)
def test_stopping_law_agrees_with_the_oracle(scores: list[float]) -> None:
    profile = Profile.of(scores)
    for search, margin in (
        (LMM, law_oracle.large_margin(1, 0.1)),
        (TIGHT, law_oracle.large_margin_tight(1, 1e-3, 1)),
    ):
        law = stopping_distribution(profile, search=search)
        expected = law_oracle.stop_law(scores, margin, len(scores) - 1)
        assert [*law.masses, law.beyond] == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize(("search", "rate"), [(LMM, 1 / 6), (TIGHT, 0.4)])
@pytest.mark.parametrize(
    "profile",
    [
        Profile((300.0, 290.0, 20.0, 0.0), (1, 40, 700, 2000)),
        Profile((120.0, 118.0, 3.0), (1, 33, 400), dummies=3000),
        Profile((), (), dummies=1500),
        Profile((30.0, 0.0), (1, 5), dummies=90),
    ],
)
def test_stages_and_blocks_make_up_the_whole(profile: Profile, search: StoppingSearch, rate: float) -> None:
    """Rank by rank, draw by draw: no block of ranks is summed by a rule here."""
    stops = stopping_distribution(profile, search=search)
    parts = [draw_distribution(profile, rank=rank, rate=rate) for rank in range(1, stops.masses.size + 1)]
    masses = sum(
        (mass * part.masses for mass, part in zip(stops.masses, parts, strict=True)), np.zeros(len(profile.scores))
    )
    nothing = sum(mass * part.nothing for mass, part in zip(stops.masses, parts, strict=True))
    if profile.dummies:
        nothing += stops.beyond
    else:
        masses += stops.beyond * made(Exponential, rate).distribution(profile).masses
    law = search_and_draw(profile, search=search, rate=rate)
    assert law.masses.tolist() == pytest.approx(masses.tolist(), rel=0, abs=1e-10)
    assert law.nothing == pytest.approx(nothing, rel=0, abs=1e-10)


def test_a_limit_leaves_the_rest_beyond() -> None:
    profile = Profile((500.0, 20.0), (1, 1), dummies=2**128)
    short, long = (stopping_distribution(profile, search=LMM, limit=limit) for limit in (3, 200))
    assert short.masses.tolist() == pytest.approx(long.masses[:3].tolist(), rel=1e-9)
    assert short.beyond == pytest.approx(long.beyond + long.masses[3:].sum(), rel=1e-9)


@pytest.mark.parametrize("limit", [-1, 4, 10**9])
def test_a_limit_beyond_the_tests_is_refused(limit: int) -> None:
    with pytest.raises(BadParameter, match="limit"):
        stopping_distribution(Profile.of([4, 3, 2, 1]), search=LMM, limit=limit)
    with pytest.raises(BadParameter, match="at most 1000000"):
        stopping_distribution(Profile((4.0, 3.0), (1, 1), dummies=2**40), search=LMM, limit=10**6 + 1)


def test_the_draw_takes_part_of_a_level() -> None:
    profile = Profile((2.0, 1.0, 0.0), (1, 4, 3), dummies=2)
    weights = [math.exp(2), 2 * math.exp(1)]
    law = draw_distribution(profile, rank=3, rate=1)
    assert law.masses.tolist() == pytest.approx([weights[0] / sum(weights), weights[1] / sum(weights), 0])
    assert law.nothing == 0
    dummy = draw_distribution(profile, rank=6, rate=1)
    assert dummy.nothing == pytest.approx(1 / (math.exp(2) + 4 * math.exp(1) + 1))
    with pytest.raises(BadParameter, match="rank"):
        draw_distribution(profile, rank=11, rate=1)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_staircase_uses_up_the_whole_search_budget(share: float) -> None:
    """Margins one above their thresholds; then the top and the last score rise by 1.

    To pass the steps ρ must be larger by 1 on the neighbour, and to stop at the last one ν must be too.
    """
    search = made(tight_by((share, 0.8 - share, 0.2)), 1, 1e-3).search()
    steps = search.threshold(np.arange(1.0, 6.0))
    scores = [0.0, *(-1 - steps)]
    moved = [1.0, *scores[1:-1], scores[-1] + 1]
    one, other = (stopping_distribution(Profile.of(each), search=search) for each in (scores, moved))
    ratios = np.abs(np.log(other.masses / one.masses))
    assert ratios[1:].max() == pytest.approx(0.8, abs=1e-9)
    assert ratios[0] <= 1 + 1e-9


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_stop_at_rank_1_costs_all_of_epsilon(neighbors: Neighbors) -> None:
    """The lead falls by u from T(1): no test comes before, so ν_1 alone must be larger by u."""
    search = made(LargeMarginTight, 1.5, 1e-3, neighbors).search()
    lead, u = float(search.threshold(np.ones(1))[0]), 1 if neighbors is Neighbors.ADD_REMOVE else 2
    one, other = (stopping_distribution(Profile.of([each, 0.0]), search=search) for each in (lead, lead - u))
    assert np.log(one.masses[0] / other.masses[0]) == pytest.approx(1.5, rel=1e-12)


@settings(max_examples=examples(15))
@given(
    scores=st.lists(st.integers(0, 60), min_size=2, max_size=8),
    moves=st.lists(st.integers(0, 1), min_size=8, max_size=8),
    epsilon=st.sampled_from([0.5, 2.0, 8.0]),
)
def test_the_search_keeps_its_budget(scores: list[int], moves: list[int], epsilon: float) -> None:
    search = made(LargeMarginTight, epsilon, 0.2).search()
    moved = [score + move for score, move in zip(scores, moves, strict=False)]
    one, other = (stopping_distribution(Profile.of(each), search=search) for each in (scores, moved))
    left, right = (np.append(law.masses, law.beyond) for law in (one, other))
    seen = np.maximum(left, right) > 1e-12
    losses = np.abs(np.log(np.divide(left, right, where=seen, out=np.ones(seen.size))))
    assert losses[0] <= epsilon + 1e-6
    assert losses[1:].max() <= 0.6 * epsilon + 1e-6


def test_less_noise_in_the_tests_is_another_law() -> None:
    """The pieces of a search can be replaced, as an audit of broken variants does."""
    profile = Profile.of([60, 40, 19, 0])
    halved = [replace(TIGHT, scale=TIGHT.scale / 2), replace(TIGHT, first_scale=TIGHT.first_scale / 2)]
    whole, *broken = (stopping_distribution(profile, search=search) for search in (TIGHT, *halved))
    assert all(np.abs(whole.masses - each.masses).max() > 1e-3 for each in broken)
