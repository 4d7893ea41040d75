"""The joint exponential mechanism: against all sequences, listed."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import draws, examples
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits

from dpmine.privacy import Neighbors
from dpmine.selection.distributions.joint import share_of_best_chosen
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms import joint
from dpmine.selection.mechanisms.joint import JointExponential
from dpmine.selection.universes.dense import Dense, Levels

if TYPE_CHECKING:
    from collections.abc import Sequence

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
RATES = {(1, ADD): 1, (1, REPLACE): 2, (2, ADD): 2, (2, REPLACE): 4}
"""By what ε is divided, for one place and for more."""
CASES: dict[str, tuple[list[int], int, Fraction, Neighbors]] = {
    "one place": ([5, 3, 3, 1], 1, Fraction(1, 2), ADD),
    "ties": ([9, 7, 7, 2, 0, 0], 3, Fraction(2), REPLACE),
    "far apart": ([400, 380, 120, 110, 0], 2, Fraction(1, 20), ADD),
    "all the same": ([3, 3, 3, 3], 2, Fraction(1), ADD),
    "all places": ([4, 2, 1, 0], 4, Fraction(1), REPLACE),
    "a long tail": ([30, 12, *[1] * 8], 2, Fraction(1, 5), ADD),
}

LONG = {"ties", "far apart"}
"""Cases of most draws."""


def law(scores: Sequence[int], count: int, epsilon: Fraction, relation: Neighbors) -> dict[tuple[int, ...], float]:
    """Of all sequences, at 50 digits."""
    best = sorted(scores, reverse=True)
    with localcontext(prec=50):
        rate = Decimal(epsilon.numerator) / epsilon.denominator / RATES[min(count, 2), relation]
        weights = {
            places: (-rate * max(best[i] - scores[place] for i, place in enumerate(places))).exp()
            for places in permutations(range(len(scores)), count)
        }
        total = sum(weights.values())
        return {places: float(weight / total) for places, weight in weights.items()}


@pytest.mark.slow
@pytest.mark.statistical
@every("case", CASES)
@pytest.mark.parametrize("counted", [True, False])
def test_law_is_that_of_all_sequences(case: str, counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi^2 of 10^5 or 10^4 draws from what is counted once; also where nothing below c_(k) is."""
    scores, count, epsilon, relation = CASES[case]
    if not counted:
        leave_the_tail(monkeypatch)
    sequences = joint._Sequences(Dense(scores), count, JointExponential(count, epsilon, relation).rate)
    expected = law(scores, count, epsilon, relation)
    assert_sampled_law(sequences.draw, expected, draws=draws(100_000 if counted and case in LONG else 10_000))


@pytest.mark.statistical
@pytest.mark.parametrize("counted", [True, False])
def test_law_in_brief(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi^2 of 2,000 draws."""
    scores, count, epsilon, relation = [6, 5, 2, 1, 1], 2, Fraction(1), ADD
    if not counted:
        leave_the_tail(monkeypatch)
    mechanism, universe = JointExponential(count, epsilon, relation), Dense(scores)
    expected = law(scores, count, epsilon, relation)
    assert_sampled_law(lambda bits: mechanism.choose(universe, bits=bits), expected, draws=2000)


def leave_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("_FEWEST", "_MOST"):
        monkeypatch.setattr(joint, bound, 1e300)


@every("case", CASES)
def test_expected_share_is_that_of_all_sequences(case: str) -> None:
    scores, count, epsilon, relation = CASES[case]
    mechanism = JointExponential(count, epsilon, relation)
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    best = set(order[:count])
    shares = (len(best & set(places)) / count * mass for places, mass in law(*CASES[case]).items())
    found = share_of_best_chosen(Profile.of(scores), count, float(mechanism.rate))
    assert found == pytest.approx(sum(shares), rel=1e-9)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.integers(1, 12),
    st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(50)]),
)
@settings(max_examples=examples(100))
def test_places_are_different_candidates(scores: list[int], count: int, epsilon: Fraction) -> None:
    """As many as there are, where there are fewer candidates than places."""
    chosen = JointExponential(count, epsilon, ADD).choose(Dense(scores), bits=NumpyBits(7))
    assert len(set(chosen)) == len(chosen) == min(count, len(scores))
    assert set(chosen) <= set(range(len(scores)))


@every("relation", Neighbors)
def test_a_large_budget_finds_the_best_in_order(relation: Neighbors) -> None:
    scores = [3, 90, 70, 80, 1, 0]
    assert JointExponential(3, Fraction(400), relation).choose(Dense(scores), bits=NumpyBits(1)) == (1, 3, 2)


def test_more_candidates_than_could_be_listed() -> None:
    universe = Levels([(900, 5), (40, 2**300), (0, 2**1100)])
    chosen = JointExponential(4, Fraction(16), ADD).choose(universe, bits=NumpyBits(3))
    assert [group for group, _ in chosen] == [0] * 4
    noise = JointExponential(4, Fraction(1, 100), ADD).choose(universe, bits=NumpyBits(3))
    assert [group for group, _ in noise] == [2] * 4


def test_few_candidates_are_counted_where_the_best_lead() -> None:
    """Of 10,000 scores the 256 that an array counts at first: they reach k ln K / r below the k-th."""

    class Watched(Dense):
        lowest = 10**9

        def head(self, floor):  # type: ignore[no-untyped-def]
            self.lowest = min(self.lowest, int(floor))
            return super().head(floor)

    universe = Watched([100_000 - 10 * place for place in range(10_000)])
    JointExponential(5, Fraction(1), ADD).choose(universe, bits=NumpyBits(5))
    assert universe.lowest > 97_000


@every("epsilon", [Fraction(1, 2), Fraction(2)])
def test_low_scores_are_not_counted_where_candidates_without_any_win(epsilon: Fraction) -> None:
    """Sequences that lack nearly as much as all do are few, beside all; those counted take the time to try many."""

    class Watched(Levels):
        lowest = 10**9

        def head(self, floor):  # type: ignore[no-untyped-def]
            self.lowest = min(self.lowest, int(floor))
            return super().head(floor)

        def lower(self, floor):  # type: ignore[no-untyped-def]
            return floor // 2

    universe = Watched([(300, 1), (200, 9), *((score, 40 * (21 - score // 10)) for score in range(1, 200)), (0, 2**40)])
    chosen = JointExponential(10, epsilon, ADD).choose(universe, bits=NumpyBits(5))
    assert max(group for group, _ in chosen) == 201
    assert universe.lowest > 2 / epsilon
