"""The noise vector: its law, its exactness, and the quantile of its norm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.linear.perturbations import NoiseVector, norm_quantile
from dpmine.models.linear.sensitivities import RELATIVE_ERROR

FALSE_ALARM = 1e-7  # for each of the statistics below; seeds are fixed


def draws(dimension: int, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    bits = NumpyBits(2013 + dimension)
    return np.array([NoiseVector(dimension, bits=bits).floats()[0] for _ in range(count)])


@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_norm_is_gamma(dimension: int) -> None:
    norms = np.linalg.norm(draws(dimension, 6000), axis=1)
    assert stats.kstest(norms, stats.gamma(dimension).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(norms / 2, stats.gamma(dimension).cdf).pvalue < FALSE_ALARM  # the test sees half the noise


@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_direction_is_uniform_and_independent_of_the_norm(dimension: int) -> None:
    sample = draws(dimension, 6000)
    norms = np.linalg.norm(sample, axis=1)
    cosines = sample / norms[:, np.newaxis]
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2, loc=-1, scale=2)
    for axis in [*np.eye(dimension), np.ones(dimension) / dimension**0.5]:
        assert stats.kstest(cosines @ axis, law.cdf).pvalue > FALSE_ALARM
    assert stats.spearmanr(norms, cosines[:, 0]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_floats_are_close_to_the_exact_vector(dimension: int) -> None:
    noise = NoiseVector(dimension, bits=NumpyBits(5))
    floats, error = noise.floats()
    finer = noise.rounded_sum(np.zeros(dimension), Fraction(1), Fraction(1, 2**45))
    distance = float(np.linalg.norm(floats - finer))
    assert distance <= error + dimension**0.5 * 2.0**-45
    assert error <= RELATIVE_ERROR * float(np.linalg.norm(floats))
    assert noise.floats()[0].tolist() == floats.tolist()


def test_rounded_sum_is_the_nearest_multiple() -> None:
    noise = NoiseVector(4, bits=NumpyBits(6))
    start, scale, grid = np.array([1.0, -2.5, 0.0, 1e6]), Fraction(1, 7), Fraction(1, 1024)
    released = noise.rounded_sum(start, scale, grid)
    wanted = start + noise.floats()[0] / 7
    assert np.abs(released - wanted).max() <= 2.0**-11 + 1e-9
    assert (released * 1024 == np.rint(released * 1024)).all()


@every("dimension", [1, 11, 105, 2000])
@every("failure", [Fraction(1, 100), Fraction(1, 2**40)])
def test_quantile_is_rounded_up(dimension: int, failure: Fraction) -> None:
    found = norm_quantile(dimension, failure)
    exact = float(stats.gamma(dimension).isf(float(failure)))
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-5)
