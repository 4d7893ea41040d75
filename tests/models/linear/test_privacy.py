"""Outputs on neighbours stay within e^ε of each other; mechanisms with half the noise or no slack do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.confidence import least_loss
from support.numpy_bits import NumpyBits

from dpmine.models.linear import perturbations
from dpmine.models.linear.losses import Examples, HuberLoss, LogisticLoss
from dpmine.models.linear.perturbations import AlphaSplit, ObjectivePerturbation, OutputPerturbation
from dpmine.models.linear.sensitivities import determinant_loss, harmonic

pytestmark = pytest.mark.usefixtures("fresh_terms")
DRAWS = 2500  # below 60 confidence bounds a test, so a test is wrong with probability below 1e-5
ALPHA = Fraction(1)
PAIRS = {
    "opposite labels": (Examples(np.array([[1.0]])), Examples(np.array([[-1.0]]))),
    "a row of zeros": (Examples(np.array([[1.0]])), Examples(np.array([[0.0]]))),
}


def measured_loss(training: Any, ridge: Fraction, pair: tuple[Examples, Examples]) -> float:
    """A lower confidence bound on ε, from histograms of one-dimensional outputs and their tails."""
    bits = NumpyBits(4)
    samples = [
        np.array([training.fit(data, ridge, ALPHA, training.draw(ridge, ALPHA, bits=bits))[0] for _ in range(DRAWS)])
        for data in pair
    ]
    edges = np.quantile(np.concatenate(samples), np.linspace(0.02, 0.98, 15))
    near = np.quantile(np.abs(np.concatenate(samples)), [0.01, 0.03, 0.1])
    counts = [_counts(sample, edges, near) for sample in samples]
    return max(least_loss(both, DRAWS) for one in (counts, counts[::-1]) for both in zip(*one, strict=True))


def _counts(sample: Any, edges: Any, near: Any) -> list[int]:
    """How many outputs are in each event: above an edge, below one, near 0."""
    events = [*(sample > edge for edge in edges), *(sample < edge for edge in edges)]
    return [int(event.sum()) for event in [*events, *(np.abs(sample) < bound for bound in near)]]


@pytest.mark.statistical
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("ridge", [Fraction(1, 100), Fraction(2)])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_outputs_on_neighbours(kind: Any, ridge: Fraction, pair: str) -> None:
    assert measured_loss(kind(LogisticLoss(), 1), ridge, PAIRS[pair]) <= float(ALPHA)


@pytest.mark.statistical
def test_half_the_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = perturbations._cached_release
    monkeypatch.setattr(perturbations, "_cached_release", lambda *a: replace(honest(*a), scale=honest(*a).scale / 2))
    training = OutputPerturbation(HuberLoss(Fraction(1, 2)), 1)
    assert measured_loss(training, Fraction(4), PAIRS["opposite labels"]) > float(ALPHA)


@pytest.mark.statistical
def test_half_the_tilt_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = AlphaSplit.tilt_scale
    monkeypatch.setattr(AlphaSplit, "tilt_scale", lambda *a: honest(*a) / 2)
    training = ObjectivePerturbation(HuberLoss(Fraction(1, 2)), 1)
    assert measured_loss(training, Fraction(4), PAIRS["opposite labels"]) > float(ALPHA)


@pytest.mark.statistical
def test_the_slack_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """nΛ = 0.01 beside c = 1/4: the determinants differ by a factor of 26."""
    monkeypatch.setattr(perturbations, "sufficient_ridge", lambda *_: 0.0)
    monkeypatch.setattr(perturbations, "determinant_loss", lambda *_: 0.0)
    training = ObjectivePerturbation(LogisticLoss(), 1)
    assert measured_loss(training, Fraction(1, 100), PAIRS["a row of zeros"]) > float(ALPHA)


def log_density(row: float, weight: float, *, ridge: float, tilt: float) -> float:
    """Of the tilted minimiser in one dimension, n = 1, logistic loss, from its own formula; up to a constant."""
    slope = -row / (1 + np.exp(row * weight))
    bend = row * row / (2 + 2 * np.cosh(row * weight))
    return float(-tilt / 2 * abs(ridge * weight + slope) + np.log(ridge + bend))


@every("ridge", [Fraction(1, 1000), Fraction(1, 4), Fraction(10)])
@every("alpha", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_density_ratio_of_the_tilted_minimiser(ridge: Fraction, alpha: Fraction) -> None:
    """The exact law of w*: within e^{α' + ln(1 + c/(nΛ))} everywhere."""
    budget = ObjectivePerturbation(LogisticLoss(), 1).split(1, ridge, alpha, cover=Fraction(0))
    rows, grid = np.linspace(-1, 1, 21), np.linspace(-30, 30, 301)
    tilt = float(budget.tilt)
    table = np.array([[log_density(row, w, ridge=budget.ridge, tilt=tilt) for w in grid] for row in rows])
    worst = float((table.max(axis=0) - table.min(axis=0)).max())
    slack = determinant_loss(1, budget.ridge, 0.25)
    assert worst <= tilt + slack + 1e-9
    assert tilt + slack <= float(alpha) * (1 + 1e-9)
    assert budget.tilt >= alpha / 2 * (1 - Fraction(1, 10**9))


def relieved_loss(size: int) -> float:
    """The largest log density ratio in the plane, the intercept relieved, of one record in the place of another.

    Narrow bends: a record may bend in full, another not at all. All other records are zeros.
    """
    loss = HuberLoss(Fraction(1, 2))
    training = ObjectivePerturbation(loss, 2, relieved=True)
    budget = training.split(size, Fraction(20, size), Fraction(1, 2), cover=Fraction(0))
    ridges = np.array([budget.ridge, budget.last])
    ends = np.linspace(-180, 180, 801) / size / budget.last
    weights = np.stack(np.meshgrid(ends, ends), axis=-1).reshape(-1, 2)
    table = []
    for row in [np.array(signs) * 0.5**0.5 for signs in product((-1, 0, 1), (-1, 1))] + [np.zeros(2)]:
        margins = weights @ row
        noise = weights * ridges + loss.derivative(margins)[:, np.newaxis] * row / size
        bend = loss.curvature(margins) / size * (row * row / ridges).sum()
        table.append(np.log1p(bend) - float(budget.rate) * size / 2 * np.linalg.norm(noise, axis=1))
    return float((np.max(table, axis=0) - np.min(table, axis=0)).max())


def test_a_relieved_intercept_keeps_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The determinant is that of both ridges: that of the larger one alone would break the claim."""
    assert 0.49 < relieved_loss(5) <= 0.5
    monkeypatch.setattr(perturbations, "harmonic", lambda ridge, _last: ridge)
    assert relieved_loss(5) > 0.501


def test_the_cover_is_as_wide_as_the_weaker_ridge_lets_the_tolerance_move(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[AlphaSplit] = []
    honest = ObjectivePerturbation.split

    def noted(*given: Any) -> AlphaSplit:
        budgets.append(honest(*given))
        return budgets[-1]

    monkeypatch.setattr(ObjectivePerturbation, "split", noted)
    release = ObjectivePerturbation(LogisticLoss(), 3, relieved=True).release(5000, Fraction(1, 10), ALPHA)
    last = budgets[-1]
    assert last.last < last.ridge
    assert release.scale == Fraction(2) * Fraction(release.accuracy.tolerance) / (Fraction(last.last) * last.cover)


def test_noise_on_the_output_protects_the_solver_s_tolerance_too() -> None:
    release = OutputPerturbation(LogisticLoss(), 3).release(5000, Fraction(1, 10), ALPHA)
    assert release.scale >= Fraction(2, 500) + 2 * Fraction(release.accuracy.tolerance) * 10


@pytest.mark.parametrize("relieved", [False, True])
def test_the_budget_adds_up(relieved: bool) -> None:
    for size, ridge, alpha in [(1, 1e-9, 0.01), (1000, 1e-3, 1.0), (10**6, 10.0, 30.0), (1000, 1e-3, 1e5)]:
        cover = Fraction(alpha) / 8
        training = ObjectivePerturbation(LogisticLoss(), 1, relieved=relieved)
        budget = training.split(size, Fraction(ridge), Fraction(alpha), cover)
        spent = determinant_loss(size, harmonic(budget.ridge, budget.last), 0.25)
        assert budget.tilt + Fraction(spent) + budget.cover == Fraction(alpha)
        assert 0 < budget.last <= budget.ridge
        assert budget.tilt > Fraction(alpha) * Fraction(3, 8)
