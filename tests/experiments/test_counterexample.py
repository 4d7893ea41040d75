from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dpmine.exact.bits import SystemBits
from experiments.counterexample import ExponentialFirst, LargestNoisy, cumulated, unstable_interval

ALPHA = Fraction(1)


def _pair(n: int) -> tuple[tuple[float, float], tuple[float, float]]:
    return (1.0, 0.5), (1 - 1 / n, 0.5 + 1 / n)


@pytest.mark.parametrize("n", [20, 100])
def test_probability_of_an_unstable_draw_is_the_published_one(n: int) -> None:
    """δ < e^{nα/8}(e^{α/2} − 1)/((e^{nα/8} + 1)(e^{nα/8} + e^{α/2})) is impossible with β1 = o(n)."""
    low, high = unstable_interval(*_pair(n), n, ALPHA)
    large, half = exp(n / 8), exp(1 / 2)
    assert high - low == pytest.approx(large * (half - 1) / ((large + 1) * (large + half)), rel=1e-9)


def test_the_score_of_the_exponential_mechanism_jumps() -> None:
    low, high = unstable_interval(*_pair(20), 20, ALPHA)
    draw = ((low + high) / 2, (0.0, 0.0))
    scores = [ExponentialFirst(20).fit(values, 2, ALPHA, draw).score for values in _pair(20)]
    assert abs(scores[0] - scores[1]) >= 1 / 3


def test_the_largest_noisy_value_is_stable() -> None:
    n = 50
    for _ in range(300):
        draw = LargestNoisy(n).draw(2, ALPHA, bits=SystemBits())
        scores = [LargestNoisy(n).fit(values, 2, ALPHA, draw).score for values in _pair(n)]
        assert abs(scores[0] - scores[1]) <= 1 / n + 1e-12


def test_intervals_are_the_exponential_mechanism() -> None:
    values = (0.2, 0.9, 0.4)
    weights = np.exp(30 * np.array(values) / 4)
    assert cumulated(values, 30, ALPHA) == pytest.approx(np.cumsum(weights) / weights.sum())


def test_both_name_an_option_and_all_values() -> None:
    for procedure in (ExponentialFirst(10), LargestNoisy(10)):
        draw = procedure.draw(3, ALPHA, bits=SystemBits())
        answer = procedure.fit((0.1, 0.2, 0.3), 3, ALPHA, draw)
        assert 0 <= answer.option < 3
        assert len(answer.values) == 3
