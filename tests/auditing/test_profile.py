"""The privacy profile against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmine.auditing.pairs import (
    DIRECT,
    Finding,
    Precision,
    Terms,
    measure_both,
    measured_epsilon,
    privacy_profile,
)

EXACT = Precision(0.0, 1e-300)


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
    rounded = measure_both(left * (1 + 1e-10), right * (1 - 1e-10), Terms(1.0, 0.0), precision=DIRECT)
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
    found = measure_both(left, right, Terms(0.5, 0.0), precision=DIRECT, known=known)
    assert found.delta == 0.9
    assert found.epsilon == pytest.approx(1, abs=1e-7)
    assert measure_both(left, right, Terms(0.5, 0.0), precision=DIRECT, known=Finding(0, 2)).epsilon == 2
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
