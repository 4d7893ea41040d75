"""Theorem 4 of Chaudhuri & Vinterbo 2013 for other scores than the ramp: experiments/validation_baselines.py."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.linear.losses import Examples, LogisticLoss
from dpmine.models.linear.perturbations import ObjectivePerturbation
from dpmine.models.linear.training import ramp_score
from experiments.validation_baselines import SCORES

ALPHA = Fraction(1)
TRAINING = ObjectivePerturbation(LogisticLoss(), 2)


def _rows(generator: np.random.Generator, count: int) -> Any:
    rows = generator.normal(size=(count, 2)) + np.array([1.0, 0.0])
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, np.newaxis]


@every("name", SCORES)
@every("radius", [0.3, 2.0, 900.0])
def test_slope_and_range_are_bounds(name: str, radius: float) -> None:
    score, margins = SCORES[name], np.linspace(-radius, radius, 20_001)
    values = score.loss(margins)
    falls = -np.diff(values) / np.diff(margins)
    assert (falls > -1e-12).all()
    assert falls.max() <= score.slope * (1 + 1e-9)
    release = _release(500, Fraction(1, 2))
    ends = score.loss(np.array([-release.radius, release.radius]))
    assert score.most(release) == ends[0] - ends[1]
    assert score.most(release) <= 2 * score.slope * release.radius * (1 + 1e-12)


def _release(size: int, parameter: Fraction) -> Any:
    return TRAINING.release(size, parameter, ALPHA)


@every("name", SCORES)
@every("parameter", [Fraction(1, 20), Fraction(1)])
@every("seed", range(6))
def test_a_record_moves_a_score_within_the_bounds(name: str, parameter: Fraction, seed: int) -> None:
    """Another training record with the same draw: β1/n; another validation record: β2/m."""
    generator, score = np.random.default_rng(seed), SCORES[name]
    train, held = _rows(generator, 40), _rows(generator, 7)
    release = _release(len(train), parameter)
    stable, draw = score.stability(release), TRAINING.draw(parameter, ALPHA, bits=NumpyBits(seed))
    other, checked = train.copy(), held.copy()
    other[3], checked[2] = -train[3], -held[2]
    here, there = (TRAINING.fit(Examples(rows), parameter, ALPHA, draw) for rows in (train, other))
    own = score.of(here, Examples(held), release)
    assert abs(own - score.of(there, Examples(held), release)) <= Fraction(stable.training) / len(train)
    assert abs(own - score.of(here, Examples(checked), release)) <= Fraction(stable.validation) / len(held)


def test_the_bounds_of_an_unbounded_score_are_nearly_attained() -> None:
    """A loss that falls from one end of the ball to the other: 99 hundredths of β2 would not be enough."""
    release, score = _release(40, Fraction(1, 20)), SCORES["logistic"]
    ends = np.array([[release.radius, 0.0]])
    pair = [score.of(ends[0], Examples(np.array([[sign, 0.0]])), release) for sign in (1.0, -1.0)]
    assert pair[0] - pair[1] > Fraction(score.stability(release).validation) * Fraction(99, 100)


def test_the_ramp_is_that_of_the_library() -> None:
    generator = np.random.default_rng(5)
    weights, held = generator.normal(size=2), Examples(_rows(generator, 30))
    release = _release(40, Fraction(1, 20))
    assert SCORES["ramp"].of(weights, held, release) == ramp_score(weights, held)
    ours, theirs = SCORES["ramp"].stability(release), release.stability
    assert abs(ours.training - theirs.training) < Fraction(1, 10**6)
    assert abs(ours.validation - theirs.validation) < Fraction(1, 10**6)
