"""Intervals for coefficients: the law of one coordinate of the noise, and how often they hold the truth."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from support.cases import every
from support.numpy_bits import NumpyBits

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.models.linear.noise import GammaNoise, GaussianNoise

FITS = 800
SLACK = 0.04
"""More than five standard deviations of a share of 800 at 0.95 and 0.9: wrong with probability below 1e-6 each."""


@every("failure", [0.5, 0.1, 0.01, 1e-4])
def test_one_coordinate_of_gaussian_noise(failure: float) -> None:
    found = GaussianNoise(Fraction(1, 10)).coordinate_quantile(7, failure)
    assert found == pytest.approx(norm.isf(failure / 2), rel=1e-5)


@every("failure", [0.5, 0.1, 0.01, 1e-3])
def test_one_coordinate_of_gamma_noise_in_one_dimension(failure: float) -> None:
    """There it is the double exponential distribution: P(|R| > r) = e^{−r}."""
    found = GammaNoise().coordinate_quantile(1, failure)
    assert -np.log(failure) <= found <= -np.log(failure) + 0.03


@cache
def gamma_coordinates(dimension: int) -> Any:
    generator = np.random.default_rng(dimension)
    normals = generator.normal(size=(400_000, dimension))
    return np.abs(normals[:, 0] / np.linalg.norm(normals, axis=1) * generator.gamma(dimension, size=400_000))


@every("dimension", [2, 5, 40])
@every("failure", [0.5, 0.1, 0.01])
def test_one_coordinate_of_gamma_noise(dimension: int, failure: float) -> None:
    """The first coordinate of a uniform direction, times a norm of the distribution Gamma(d, 1): drawn."""
    found = GammaNoise().coordinate_quantile(dimension, failure)
    assert (gamma_coordinates(dimension) > found).mean() == pytest.approx(
        failure, abs=6 * (failure / 400_000) ** 0.5 + 2e-5
    )


def data(size: int, classes: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(1)
    features = generator.uniform([0, -5], [10, 5], (size, 2))
    scores = np.column_stack([features @ [0.3 * code, 0.2 * code * code] for code in range(classes)])
    return features, (scores + generator.gumbel(size=scores.shape)).argmax(axis=1)


@pytest.mark.statistical
@every("classes", [2, 3])
@every("noise", ["gamma", "gaussian"])
@every("level", [0.5, 0.95])
def test_the_truth_is_inside_as_often_as_said(classes: int, noise: str, level: float) -> None:
    """And not more often: the noise is all of the error. The truth is the fit with next to no noise."""
    features, labels = data(400, classes)
    given: dict[str, Any] = {
        "lambdas": 0.1,
        "classes": list(range(classes)),
        "feature_bounds": ([0, -5], [10, 5]),
        "method": "output",
    }
    exact = dpmine.PrivateLogisticRegression(epsilon=10**9, noise="gamma", **given)
    truth = exact._fit(features, labels, bits=NumpyBits(1)).coef_
    model, bits = dpmine.PrivateLogisticRegression(epsilon=2, noise=noise, **given), NumpyBits(2)
    inside = np.zeros_like(truth)
    for _ in range(FITS):
        low, high = model._fit(features, labels, bits=bits).coefficient_intervals(level)
        inside += (low <= truth) & (truth <= high)
    assert np.abs(inside / FITS - level).max() <= (2 if level < 0.9 else 1) * SLACK


def test_intervals_are_around_the_coefficients() -> None:
    features, labels = data(200, 3)
    model = dpmine.PrivateLogisticRegression(classes=[0, 1, 2], method="output", noise="gaussian").fit(features, labels)
    wide, narrow = model.coefficient_intervals(0.99), model.coefficient_intervals("1/2")
    for low, high in (wide, narrow):
        assert low.shape == high.shape == (3, 2)
        assert np.allclose((low + high) / 2, model.coef_)
    assert (wide[1] - wide[0] > narrow[1] - narrow[0]).all()
    assert np.isinf(model.coefficient_intervals(1 - 1e-13)[1]).all()


def test_where_there_are_none() -> None:
    features, labels = data(200, 2)
    model = dpmine.PrivateHuberSVC(method="output")
    with pytest.raises(NotFittedError):
        model.coefficient_intervals()
    model.fit(features, labels)
    for level in (0, 1, "x", None):
        with pytest.raises(BadParameter, match="level"):
            model.coefficient_intervals(level)  # type: ignore[arg-type]
    with pytest.raises(BadData, match="does not keep what intervals need"):
        dpmine.PrivateHuberSVC.from_json(model.to_json()).coefficient_intervals()
    with pytest.raises(BadParameter, match="needs method='output'"):
        dpmine.PrivateHuberSVC().fit(features, labels).coefficient_intervals()
