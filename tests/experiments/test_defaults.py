"""experiments/defaults.py: the privacy loss of its DP-SGD, and the set like covtype."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import every

from experiments.defaults import DELTA, Descent, failure, forests, least_noise


@every("replaced", [True, False])
@every("epsilon", [0.3, 3.0])
def test_without_sampling_it_is_the_gaussian_mechanism(replaced: bool, epsilon: float) -> None:
    """A share that is all but 1 goes through the discretised losses, 1 through the formula of Balle & Wang 2018."""
    sigma = least_noise(epsilon, 1, 20, replaced=replaced)
    exact = failure(sigma, epsilon, 1, 20, replaced=replaced)
    assert DELTA / 2 < exact <= DELTA
    assert failure(sigma, epsilon, 1 - 1e-9, 20, replaced=replaced) == pytest.approx(exact, rel=3e-3)


@every(
    "sigma, epsilon, share, steps, replaced",
    [
        (5.5207, 0.29985, 0.03, 50, True),
        (0.914, 2.99929, 0.03, 50, True),
        (7.5578, 2.99845, 0.2, 150, True),
        (3.097, 0.29973, 0.03, 50, False),
        (10.5019, 0.99946, 0.2, 150, False),
    ],
)
def test_as_another_accountant_has_it(sigma: float, epsilon: float, share: float, steps: int, replaced: bool) -> None:
    """ε at δ = 10^−6 by dp_accounting's PLDAccountant: within 0.2 %."""
    assert failure(sigma, epsilon * 0.998, share, steps, replaced=replaced) > DELTA
    assert failure(sigma, epsilon * 1.002, share, steps, replaced=replaced) < DELTA


def test_another_record_costs_more_than_one_record_more() -> None:
    """Half of the noise, or a little more, is enough under add_remove."""
    replaced, added = (least_noise(1, 0.1, 100, replaced=which) for which in (True, False))
    assert 0.5 <= added / replaced < 0.6


def test_without_noise_it_goes_downhill_to_the_minimiser() -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(500, 2)) / 4
    signed = rows * np.where(rows[:, 0] + generator.logistic(size=500) / 4 > 0, 1, -1)[:, np.newaxis]
    weights = Descent(share=1, steps=4000, rate=20, clip=1).weights(signed, 0.0, generator)
    gradient = (signed / (1 + np.exp(signed @ weights))[:, np.newaxis]).mean(axis=0)
    assert np.abs(gradient).max() < 1e-6


def test_a_step_sums_clipped_gradients() -> None:
    """By hand, from 0: slopes are −1/2, of lengths 1/2 and 1/20, the longer one cut to 1/4; with noise on each step."""
    signed = np.array([[1.0, 0.0], [0.0, 0.1]])
    step = Descent(share=1, steps=1, rate=2, clip=0.25)
    assert step.weights(signed, 0.0, np.random.default_rng(1)) == pytest.approx([1.0, 0.2])
    noise = np.random.default_rng(1).normal(size=2)
    assert step.weights(signed, 3.0, np.random.default_rng(1)) == pytest.approx([1.0, 0.2] - 3 * noise)


def test_forests_are_like_covtype() -> None:
    features, labels, (lower, upper) = forests(None)  # type: ignore[arg-type]
    assert features.shape == (60_000, 54)
    assert labels.mean() == pytest.approx(0.5, abs=1e-3)
    assert (features[:, 10:14].sum(axis=1) == 1).all()
    assert (features[:, 14:].sum(axis=1) == 1).all()
    outside = ((features < lower) | (features > upper)).mean()
    assert outside < 0.01


def test_every_row_is_in_a_step_by_itself() -> None:
    """Poisson sampling: the shares of 50 rows, and the variance of their number, within five standard errors."""
    generator, draws = np.random.default_rng(1), 4000
    descent, seen = Descent(share=0.3, steps=1, rate=1, clip=1), np.zeros((draws, 50))
    for taken in seen:
        taken[descent.sample(50, generator)] = 1
    assert np.abs(seen.mean(axis=0) - 0.3).max() < 5 * (0.21 / draws) ** 0.5
    assert seen.sum(axis=1).var() == pytest.approx(50 * 0.21, rel=5 * (2 / draws) ** 0.5)
    assert np.abs(np.corrcoef(seen.T) - np.eye(50)).max() < 5 / draws**0.5
