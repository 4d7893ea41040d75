"""Rényi bounds of Gaussian perturbations against exact laws: one dimension, two records in a plane, broken twins."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from models.linear.test_gaussian_privacy import LOSSES, PAIRS, WIDE, density
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression
from dpmine.models.linear.noise import RenyiNoise, _tilt_divergence
from dpmine.models.linear.perturbations import AlphaSplit, ObjectivePerturbation, OutputPerturbation
from dpmine.zcdp import RenyiBounds, epsilon_at

if TYPE_CHECKING:
    from dpmine.models.linear.losses import Loss

BOUNDS = [
    RenyiBounds(Fraction(1, 60), Fraction(32, 10**5), (Fraction(103), Fraction(194))),
    RenyiBounds(Fraction(1, 6), Fraction(3, 100), (Fraction(21, 2), Fraction(23))),
    RenyiBounds(Fraction(0), Fraction(1, 10), (Fraction(3, 2),)),
]


def split(loss: Loss, size: int, ridge: str, bounds: RenyiBounds) -> AlphaSplit:
    training = ObjectivePerturbation(loss, 1, RenyiNoise(bounds))
    return training.split(size, Fraction(ridge), bounds.least, cover=Fraction(0))


def divergence(loss: Loss, pair: Any, ridge: float, deviation: float, order: float) -> float:
    """ln ∫ p^κ p'^{1−κ} / (κ − 1) of the exact densities of neighbours' minimisers."""
    end = (40 * deviation + len(pair[0])) / (len(pair[0]) * ridge)
    grid = end * np.sinh(np.linspace(-12, 12, 20_001)) / np.sinh(12)
    with np.errstate(divide="ignore", invalid="ignore"):
        here, there = (np.log(density(loss, rows, ridge, deviation, grid)) for rows in pair)
        tilted = order * here + (1 - order) * there
    tilted = np.where(np.isfinite(tilted), tilted, -np.inf)
    top = tilted.max()
    return float((top + np.log(np.trapezoid(np.exp(tilted - top), grid))) / (order - 1))


@every("loss", LOSSES)
@every("ridge", ["0.01", "1", "40"])
@every("pair", PAIRS)
@every("bounds", BOUNDS)
def test_the_exact_law_keeps_the_bounds(loss: Loss, ridge: str, pair: Any, bounds: RenyiBounds) -> None:
    budget = split(loss, len(pair[0]), ridge, bounds)
    for order in bounds.orders:
        found = divergence(loss, pair, budget.ridge, 2 / float(budget.rate), float(order))
        assert found <= float(bounds.at(order)) * (1 + 1e-3)


@every("bounds", BOUNDS[:2])
def test_one_of_the_bounds_is_nearly_reached(bounds: RenyiBounds) -> None:
    """Opposite labels whose records pull with full force, and a ridge that leaves the determinant little."""
    budget = split(WIDE, 1, "4000", bounds)
    shares = [
        divergence(WIDE, PAIRS[0], budget.ridge, 2 / float(budget.rate), float(order)) / float(bounds.at(order))
        for order in bounds.orders
    ]
    assert 0.99 < max(shares) <= 1 + 1e-3


@every("bounds", BOUNDS[:2])
def test_with_two_thirds_of_the_noise_a_bound_is_broken(bounds: RenyiBounds) -> None:
    budget = split(WIDE, 1, "400", bounds)
    assert any(
        divergence(WIDE, PAIRS[0], budget.ridge, 4 / 3 / float(budget.rate), float(order)) > float(bounds.at(order))
        for order in bounds.orders
    )


@every("loss", LOSSES)
def test_without_the_determinant_a_bound_is_broken(loss: Loss) -> None:
    """nΛ = 0.01, and all of the bounds for the noise."""
    bounds = BOUNDS[0]
    rate = RenyiNoise(bounds).tilt(bounds.least, Fraction(0)).rate
    assert any(
        divergence(loss, PAIRS[1], 0.01, 2 / float(rate), float(order)) > 2 * float(bounds.at(order))
        for order in bounds.orders
    )


@every("angle", [0.0, 0.1, 0.5, 1.2, np.pi / 2, 2.5, np.pi])
@every("lengths", [(1.0, 1.0), (1.0, 0.4), (0.0, 1.0)])
@every(("order", "ratio"), [(1.5, 0.4), (10.0, 0.3), (100.0, 0.03), (100.0, 0.001)])
def test_no_two_records_exceed_the_theorem(angle: float, lengths: Any, order: float, ratio: float) -> None:
    """𝔼e^{(κ−1)ψ} over a plane, for every angle between two records."""
    bound = float(_tilt_divergence(Fraction(order), Fraction(ratio)))
    one = lengths[0] * ratio / 2 * np.array([1.0, 0.0])
    other = lengths[1] * ratio / 2 * np.array([np.cos(angle), np.sin(angle)])
    axis = np.linspace(-12, 12, 601)
    x, y = np.meshgrid(axis, axis)
    loss = np.zeros_like(x)
    for corner in (one, other, one + other):
        loss = np.maximum(loss, x * corner[0] + y * corner[1] + (corner @ corner) / 2)
    exponent = (order - 1) * loss - (x * x + y * y) / 2
    mean = np.exp(exponent).sum() * (axis[1] - axis[0]) ** 2 / (2 * np.pi)
    assert np.log(mean) / (order - 1) <= bound * (1 + 1e-3)
    gaussian = order * ratio**2 / 2
    assert gaussian < bound < gaussian + np.log(1.15) / (order - 1)


def test_output_perturbation_is_a_gaussian_mechanism() -> None:
    for bounds in BOUNDS:
        rate = OutputPerturbation(WIDE, 3, RenyiNoise(bounds)).rate(bounds.least)
        shares = [float(order * rate**2 / 2 / bounds.at(order)) for order in bounds.orders]
        assert 1 - 1e-6 < max(shares) <= 1


def test_what_was_spent_elsewhere_is_missing_at_every_order() -> None:
    for bounds in BOUNDS[:2]:
        spent = bounds.least / 3
        rate = RenyiNoise(bounds).tilt(bounds.least - spent / 2, spent / 2).rate
        room = [bounds.at(order) - spent - Fraction(float(_tilt_divergence(order, rate))) for order in bounds.orders]
        assert -1e-12 < min(room) < 1e-6


def test_the_cover_counts_at_every_order() -> None:
    """A release of a whole training: what tolerance and determinant take is missing from the noise."""
    bounds = BOUNDS[0]
    training = ObjectivePerturbation(WIDE, 5, RenyiNoise(bounds))
    release = training.release(1000, Fraction(1, 100), bounds.least)
    rate = 2 / (release.tilt_scale * 1000)
    assert rate < training.rate(bounds.least)
    assert release.scale > 0


def test_bounds_imply_epsilon_by_either_order() -> None:
    delta = Fraction(1, 10**6)
    for bounds in BOUNDS:
        flat = RenyiBounds(Fraction(0), bounds.rho, bounds.orders)
        assert epsilon_at(bounds.rho, delta) <= flat.epsilon_at(delta)
        assert float(bounds.epsilon_at(delta) - bounds.base) == pytest.approx(float(flat.epsilon_at(delta)), rel=1e-12)


@every(
    "model",
    [
        PrivateLogisticRegression(noise="gamma", classes=[0, 1]),
        PrivateLogisticRegression(lambdas=[0.1, 1], classes=[0, 1]),
        PrivateLogisticRegression(classes=[0, 1, 2]),
        PrivateHuberSVC(noise="gamma", classes=[0, 1]),
    ],
)
def test_trainings_without_a_proof_do_not_take_bounds(model: Any) -> None:
    assert not model.prefers(BOUNDS[0])
    with pytest.raises(BadParameter, match="Rényi bounds"):
        model.keep_to(BOUNDS[0]).fit(np.ones((9, 2)), [0, 1, 0] * 3)


def test_short_noise_is_preferred() -> None:
    """With few features gamma noise is shorter; where Gaussian noise is asked for, bounds are taken."""
    model = PrivateLogisticRegression(epsilon="0.1", delta="1e-7", classes=[0, 1])
    few, many = (["x"] * count for count in (3, 100))
    assert not model.prefers(BOUNDS[0], few)
    assert model.prefers(BOUNDS[0], many)
    assert model.prefers(BOUNDS[0])
    assert model.set_params(noise="gaussian").prefers(BOUNDS[0], few)


def test_units_of_several_rows_do_not_take_bounds() -> None:
    model = PrivateLogisticRegression(noise="gaussian", classes=[0, 1], rows_per_unit=2).keep_to(BOUNDS[0])
    with pytest.raises(BadParameter, match="one row per unit"):
        model.fit(np.ones((4, 1)), [0, 1, 0, 1], units=["a", "a", "b", "b"])
