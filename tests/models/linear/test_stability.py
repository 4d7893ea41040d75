"""One example moves weights and scores by no more than the bounds say, and hardly less."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from models.linear.data import KINDS, LOSSES, neighbour, random_examples
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.linear.losses import HuberLoss
from dpmine.models.linear.perturbations import OutputPerturbation
from dpmine.models.linear.training import ramp_score

SIZE, DIMENSION, ALPHA = 12, 3, Fraction(1)


@every("kind", KINDS)
@every("loss", LOSSES)
@every("ridge", [Fraction(1, 100), Fraction(1, 2), Fraction(4)])
def test_scores_stay_within_both_bounds(kind: Any, loss: Any, ridge: Fraction) -> None:
    training = kind(loss, DIMENSION)
    stability = training.release(SIZE, ridge, ALPHA).stability
    moved_train, moved_held = [], []
    for seed in range(12):
        draw = training.draw(ridge, ALPHA, bits=NumpyBits(seed))
        examples, held = random_examples(SIZE, DIMENSION, seed), random_examples(9, DIMENSION, seed + 100)
        row = random_examples(1, DIMENSION, seed + 200).signed[0]
        weights = training.fit(examples, ridge, ALPHA, draw)
        other = training.fit(neighbour(examples, row), ridge, ALPHA, draw)
        score = ramp_score(weights, held)
        moved_train.append(abs(ramp_score(other, held) - score))
        moved_held.append(abs(ramp_score(weights, neighbour(held, row)) - score))
    assert 0 < max(moved_train) <= stability.training / SIZE
    assert 0 < max(moved_held) <= stability.validation / 9


@pytest.mark.parametrize("kind", KINDS)
def test_training_bound_is_tight(kind: Any) -> None:
    """All margins on the straight part of the Huber loss and of the ramp: the bound is reached."""
    training, ridge = kind(HuberLoss(Fraction(1, 2)), 1), Fraction(4)
    examples = random_examples(SIZE, 1, 0)
    examples.signed[:] = 1 - 1e-12
    ratios = []
    for seed in range(40):
        draw = training.draw(ridge, Fraction(100), bits=NumpyBits(seed))
        one = training.fit(examples, ridge, Fraction(100), draw)
        two = training.fit(neighbour(examples, [-1 + 1e-12]), ridge, Fraction(100), draw)
        moved = abs(ramp_score(one, examples) - ramp_score(two, examples))
        ratios.append(float(moved / training.release(SIZE, ridge, Fraction(100)).stability.training * SIZE))
    assert 0.999 <= max(ratios) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_validation_bound_is_tight(kind: Any) -> None:
    training, ridge = kind(HuberLoss(Fraction(1, 2)), 1), Fraction(1, 100)
    examples = random_examples(50, 1, 0)
    examples.signed[:] = 1 - 1e-12
    draw = training.draw(ridge, Fraction(100), bits=NumpyBits(1))
    weights = training.fit(examples, ridge, Fraction(100), draw)
    moved = abs(ramp_score(weights, examples) - ramp_score(weights, neighbour(examples, [-1.0])))
    assert moved * 50 == training.release(50, ridge, Fraction(100)).stability.validation == 1


def test_minimiser_moves_by_two_over_lambda_n() -> None:
    """‖w* − w*'‖ = 2/(λn) is reached, and the noise of output perturbation is scaled to it."""
    training, ridge = OutputPerturbation(HuberLoss(Fraction(1, 2)), 1), Fraction(8)
    examples = random_examples(SIZE, 1, 0)
    examples.signed[:] = 1 - 1e-12
    draw = training.draw(ridge, ALPHA, bits=NumpyBits(3))
    one = training.fit(examples, ridge, ALPHA, draw)
    two = training.fit(neighbour(examples, [-1 + 1e-12]), ridge, ALPHA, draw)
    assert abs(one - two)[0] == pytest.approx(2 / (8 * SIZE), rel=1e-6)
    assert float(training.release(SIZE, ridge, ALPHA).scale) == pytest.approx(2 / (8 * SIZE), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_stay_in_the_public_ball(kind: Any) -> None:
    training = kind(LOSSES[0], DIMENSION)
    examples = random_examples(3, DIMENSION, 1)
    for seed in range(20):
        draw = training.draw(Fraction(1, 10), Fraction(1, 50), bits=NumpyBits(seed))
        weights = training.fit(examples, Fraction(1, 10), Fraction(1, 50), draw)
        assert np.linalg.norm(weights) <= training.release(3, Fraction(1, 10), Fraction(1, 50)).radius * (1 + 1e-12)
