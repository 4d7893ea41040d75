from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.cases import every
from support.conformance.protocol import check_universe
from support.oracles.mechanisms import softmax
from support.tapes import assert_law, enumerate_law

from dpmine.exact.reals import ExponentialNoise, GumbelNoise
from dpmine.selection.draws import noisy_order
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Scaled

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.selection.universes.protocol import Score

SENSITIVITIES = [Fraction(1), Fraction(3), Fraction(1, 7), Fraction(22, 7), Fraction(1, 10**40), Fraction(0.1)]
SCORES = [3, 0, -2, 3, 1]


@every("sensitivity", SENSITIVITIES)
def test_scaled_universes_conform(sensitivity: Fraction) -> None:
    truth = {i: Fraction(score) / sensitivity for i, score in enumerate(SCORES)}
    plain: dict[Hashable, Score] = {i: int(score) if score.denominator == 1 else score for i, score in truth.items()}
    check_universe(Scaled(Dense(SCORES), sensitivity), plain)


@every("sensitivity", SENSITIVITIES)
def test_scaled_dummies(sensitivity: Fraction) -> None:
    universe = Scaled(Levels([(3, 2), (1, 1)], padding=5), sensitivity)
    assert (universe.size, universe.padding) == (3, 5)
    assert universe.top() == 3 / sensitivity


@pytest.mark.parametrize("sensitivity", [Fraction(2), Fraction(1, 3)])
def test_scores_and_noise_scale_together(sensitivity: Fraction) -> None:
    """Tape by tape the same outcomes: scores and noise are both divided by the sensitivity."""
    plain, _ = enumerate_law(
        lambda bits: next(noisy_order(Dense([2, 1, 0]), ExponentialNoise(Fraction(2)), bits=bits)), 9
    )
    scaled, _ = enumerate_law(
        lambda bits: next(
            noisy_order(Scaled(Dense([2, 1, 0]), sensitivity), ExponentialNoise(Fraction(2) / sensitivity), bits=bits)
        ),
        9,
    )
    assert plain == scaled


def test_law_under_a_sensitivity() -> None:
    """P(i) ∝ exp(ε c_i / 2Δ)."""
    scaled = Scaled(Dense([4, 0]), Fraction(5, 2))
    expected: dict[int | None, float] = dict(enumerate(softmax([4 / 2.5, 0], 1 / 2)))
    assert_law(
        lambda bits: next(noisy_order(scaled, GumbelNoise(Fraction(2)), bits=bits)), expected, depth=16, undecided=0.05
    )
