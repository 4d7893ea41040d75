"""Mechanisms that choose k candidates at once: against all outcomes, listed."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import draws, examples
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits
from support.oracles.at_once import ADD, MECHANISMS, RATES, REPLACE, law, outcome

from dpmine.privacy import Neighbors
from dpmine.selection import shortfall
from dpmine.selection.distributions.at_once import share_of_best_chosen
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.joint import JointExponential
from dpmine.selection.mechanisms.lipschitz import CanonicalLipschitz
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.shortfall import Draws
from dpmine.selection.universes.dense import Dense, Levels

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.at_once import AtOnce

KINDS: dict[str, type[AtOnce]] = dict(zip(MECHANISMS, (JointExponential, CanonicalLipschitz), strict=True))
CASES: dict[str, tuple[list[int], int, Fraction, Neighbors]] = {
    "one place": ([5, 3, 3, 1], 1, Fraction(1, 2), ADD),
    "ties": ([9, 7, 7, 2, 0, 0], 3, Fraction(2), REPLACE),
    "far apart": ([400, 380, 120, 110, 0], 2, Fraction(1, 20), ADD),
    "all the same": ([3, 3, 3, 3], 2, Fraction(1), ADD),
    "all places": ([4, 2, 1, 0], 4, Fraction(1), REPLACE),
    "a long tail": ([30, 12, *[1] * 8], 2, Fraction(1, 5), ADD),
    "all but one": ([6, 4, 4, 3, 1], 4, Fraction(1), ADD),
}

LONG = {"ties", "far apart"}
"""Cases of most draws."""


@pytest.mark.slow
@pytest.mark.statistical
@every(("name", "case"), [each for each in product(MECHANISMS, CASES) if each != ("lipschitz", "all places")])
@pytest.mark.parametrize("counted", [True, False])
def test_law_is_that_of_all_outcomes(name: str, case: str, counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi^2 of 10^5 or 10^4 draws from what is counted once; also where only the leaders are.

    There is but one set of all candidates.
    """
    scores, count, epsilon, relation = CASES[case]
    if not counted:
        leave_the_tail(monkeypatch)
    mechanism = KINDS[name](count, epsilon, relation)
    drawn = Draws(Dense(scores), mechanism.outcomes(count), mechanism.rate)
    assert_sampled_law(
        lambda bits: outcome(name, drawn.draw(bits)),
        law(name, *CASES[case]),
        draws=draws(100_000 if counted and case in LONG else 10_000),
    )


@pytest.mark.statistical
@every("name", MECHANISMS)
@pytest.mark.parametrize("counted", [True, False])
def test_law_in_brief(name: str, counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi^2 of 2,000 draws."""
    scores, count, epsilon, relation = [40, 5, 2, 1, 1], 2, Fraction(1), ADD
    if not counted:
        leave_the_tail(monkeypatch)
    mechanism, universe = KINDS[name](count, epsilon, relation), Dense(scores)
    assert_sampled_law(
        lambda bits: outcome(name, mechanism.choose(universe, bits=bits)),
        law(name, scores, count, epsilon, relation),
        draws=2000,
    )


@pytest.mark.statistical
def test_the_order_of_a_set_is_uniform() -> None:
    """Chi^2 of 3,000 draws of the best three, which any budget this large finds."""
    mechanism, universe = CanonicalLipschitz(3, Fraction(400), ADD), Dense([3, 90, 70, 80, 1, 0])
    assert_sampled_law(
        lambda bits: mechanism.choose(universe, bits=bits), dict.fromkeys(permutations((1, 2, 3)), 1 / 6), draws=3000
    )


def leave_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("_FEWEST", "_MOST"):
        monkeypatch.setattr(shortfall, bound, 1e300)


@every(("name", "case"), list(product(MECHANISMS, CASES)))
def test_expected_share_is_that_of_all_outcomes(name: str, case: str) -> None:
    scores, count, epsilon, relation = CASES[case]
    mechanism = KINDS[name](count, epsilon, relation)
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    best = set(order[:count])
    shares = (len(best & set(places)) / count * mass for places, mass in law(name, *CASES[case]).items())
    found = share_of_best_chosen(Profile.of(scores), mechanism.outcomes(count), float(mechanism.rate))
    assert found == pytest.approx(sum(shares), rel=1e-9)


@every("name", MECHANISMS)
def test_bounds_count_all_outcomes_within_them(name: str) -> None:
    """Against a list of all: by whole numbers, and by their logarithms in floats."""
    for scores, count, *_ in CASES.values():
        best = sorted(scores, reverse=True)
        outcomes = KINDS[name](count, Fraction(1), ADD).outcomes(count)
        leaders = [*best, 0][: outcomes.leaders]
        weights = law(name, scores, count, Fraction(1), ADD)
        for value in range(best[0] + 1):
            bounds = [sum(score >= leader - value for score in scores) for leader in leaders]
            within = sum(
                weight >= max(weights.values()) * exp(-value / RATES[min(2, count), ADD] - 1e-9)
                for weight in weights.values()
            )
            assert outcomes.count(bounds) == within
            assert outcomes.log_count(np.array([bounds], np.float64))[0] == pytest.approx(log(within), rel=1e-9)
        assert outcomes.log_of_all(len(scores)) == pytest.approx(log(len(weights)), rel=1e-9)


@given(
    st.sampled_from(MECHANISMS),
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.integers(1, 12),
    st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(50)]),
)
@settings(max_examples=examples(150))
def test_places_are_different_candidates(name: str, scores: list[int], count: int, epsilon: Fraction) -> None:
    """As many as there are, where there are fewer candidates than places."""
    chosen = KINDS[name](count, epsilon, ADD).choose(Dense(scores), bits=NumpyBits(7))
    assert len(set(chosen)) == len(chosen) == min(count, len(scores))
    assert set(chosen) <= set(range(len(scores)))


@every("relation", Neighbors)
def test_a_large_budget_finds_the_best_in_order(relation: Neighbors) -> None:
    scores = [3, 90, 70, 80, 1, 0]
    assert JointExponential(3, Fraction(400), relation).choose(Dense(scores), bits=NumpyBits(1)) == (1, 3, 2)


@every("name", MECHANISMS)
@every("relation", Neighbors)
def test_for_one_place_it_is_the_exponential_mechanism(name: str, relation: Neighbors) -> None:
    mechanism = KINDS[name](1, Fraction(3), relation)
    assert mechanism.rate == 1 / Exponential(Fraction(3), Fraction(0), relation).scale


@every("name", MECHANISMS)
def test_more_candidates_than_could_be_listed(name: str) -> None:
    universe = Levels([(900, 5), (40, 2**300), (0, 2**1100)])
    chosen = KINDS[name](4, Fraction(16), ADD).choose(universe, bits=NumpyBits(3))
    assert [group for group, _ in chosen] == [0] * 4
    noise = KINDS[name](4, Fraction(1, 100), ADD).choose(universe, bits=NumpyBits(3))
    assert [group for group, _ in noise] == [2] * 4


@every("name", MECHANISMS)
def test_few_candidates_are_counted_where_the_best_lead(name: str) -> None:
    """Of 10,000 scores the 256 that an array counts at first: they reach k ln K / r below the k-th."""

    class Watched(Dense):
        lowest = 10**9

        def head(self, floor):  # type: ignore[no-untyped-def]
            self.lowest = min(self.lowest, int(floor))
            return super().head(floor)

    universe = Watched([100_000 - 10 * place for place in range(10_000)])
    KINDS[name](5, Fraction(1), ADD).choose(universe, bits=NumpyBits(5))
    assert universe.lowest > 97_000


@every("name", MECHANISMS)
@every("epsilon", [Fraction(1, 2), Fraction(2)])
def test_low_scores_are_not_counted_where_candidates_without_any_win(name: str, epsilon: Fraction) -> None:
    """Outcomes that fall short by nearly as much as all do are few, beside all; many tries take as long as counting."""

    class Watched(Levels):
        lowest = 10**9

        def head(self, floor):  # type: ignore[no-untyped-def]
            self.lowest = min(self.lowest, int(floor))
            return super().head(floor)

        def lower(self, floor):  # type: ignore[no-untyped-def]
            return floor // 2

    universe = Watched([(300, 1), (200, 9), *((score, 40 * (21 - score // 10)) for score in range(1, 200)), (0, 2**50)])
    chosen = KINDS[name](10, epsilon, ADD).choose(universe, bits=NumpyBits(5))
    assert max(group for group, _ in chosen) == 201
    assert universe.lowest > 2 / epsilon
