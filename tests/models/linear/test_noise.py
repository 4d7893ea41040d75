"""The noise vectors: their laws, their exactness, and the quantiles and means of their norms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.models.linear.noise import GammaNoise, GaussianNoise, VectorNoise
from dpmine.models.linear.sensitivities import RELATIVE_ERROR

FALSE_ALARM = 1e-7  # for each of the statistics below; seeds are fixed
LAWS: dict[str, tuple[VectorNoise, Any]] = {
    "gamma": (GammaNoise(), stats.gamma),
    "gaussian": (GaussianNoise(Fraction(1, 10**6)), stats.chi),
}
"""A noise, and the distribution of its norm by its dimension."""


def draws(noise: VectorNoise, dimension: int, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    bits = NumpyBits(2013 + dimension)
    return np.array([noise.draw(dimension, bits=bits).floats()[0] for _ in range(count)])


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_norms(law: str, dimension: int) -> None:
    noise, norm = LAWS[law]
    norms = np.linalg.norm(draws(noise, dimension, 6000), axis=1)
    assert stats.kstest(norms, norm(dimension).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(norms / 2, norm(dimension).cdf).pvalue < FALSE_ALARM  # the test sees half the noise


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_direction_is_uniform_and_independent_of_the_norm(law: str, dimension: int) -> None:
    sample = draws(LAWS[law][0], dimension, 6000)
    norms = np.linalg.norm(sample, axis=1)
    cosines = sample / norms[:, np.newaxis]
    share = stats.beta((dimension - 1) / 2, (dimension - 1) / 2, loc=-1, scale=2)
    for axis in [*np.eye(dimension), np.ones(dimension) / dimension**0.5]:
        assert stats.kstest(cosines @ axis, share.cdf).pvalue > FALSE_ALARM
    assert stats.spearmanr(norms, cosines[:, 0]).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_gaussian_coordinates_are_standard_normal() -> None:
    """Rotations too: every combination of length 1. Neighbouring coordinates come from one pair of Box and Muller."""
    sample = draws(GaussianNoise(Fraction(1, 10**6)), 3, 8000)
    for axis in [*np.eye(3), np.array([1, 1, 0]) / 2**0.5, np.array([0.6, 0, -0.8])]:
        assert stats.kstest(sample @ axis, stats.norm.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(sample[:, 0] / 2, stats.norm.cdf).pvalue < FALSE_ALARM
    assert stats.kstest((sample**2).sum(axis=1), stats.chi2(3).cdf).pvalue > FALSE_ALARM


@every("law", list(LAWS))
@every("dimension", [1, 3, 40])
def test_floats_are_close_to_the_exact_vector(law: str, dimension: int) -> None:
    noise = LAWS[law][0].draw(dimension, bits=NumpyBits(5))
    floats, error = noise.floats()
    finer = noise.rounded_sum(np.zeros(dimension), Fraction(1), Fraction(1, 2**45))
    distance = float(np.linalg.norm(floats - finer))
    assert distance <= error + dimension**0.5 * 2.0**-45
    assert error <= RELATIVE_ERROR * float(np.linalg.norm(floats))
    assert noise.floats()[0].tolist() == floats.tolist()


@every("law", list(LAWS))
def test_rounded_sum_is_the_nearest_multiple(law: str) -> None:
    noise = LAWS[law][0].draw(4, bits=NumpyBits(6))
    start, scale, grid = np.array([1.0, -2.5, 0.0, 1e6]), Fraction(1, 7), Fraction(1, 1024)
    released = noise.rounded_sum(start, scale, grid)
    wanted = start + noise.floats()[0] / 7
    assert np.abs(released - wanted).max() <= 2.0**-11 + 1e-9
    assert (released * 1024 == np.rint(released * 1024)).all()


@every("law", list(LAWS))
@every("dimension", [1, 11, 105, 2000])
@every("failure", [Fraction(1, 100), Fraction(1, 2**40)])
def test_quantile_is_rounded_up(law: str, dimension: int, failure: Fraction) -> None:
    noise, norm = LAWS[law]
    exact = float(norm(dimension).isf(float(failure)))
    assert exact * (1 - 1e-9) <= noise.quantile(dimension, failure) <= exact * (1 + 1e-5)


@every("law", list(LAWS))
@every("dimension", [1, 11, 2000])
def test_mean_length(law: str, dimension: int) -> None:
    noise, norm = LAWS[law]
    assert noise.length(dimension) == pytest.approx(float(norm(dimension).mean()), rel=1e-10)
