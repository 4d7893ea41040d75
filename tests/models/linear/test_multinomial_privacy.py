"""The privacy of softmax regression: with one row, one feature and three classes the density of the tilted minimiser is
a formula in the plane, so the least δ for an ε is an integral. It is at most what is claimed, and beyond it for broken
twins, which an audit by samples catches, too.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from models.linear.test_gaussian_privacy import CLAIM, audited, in_the_plane
from scipy.special import softmax
from support.cases import every

from dpmine.gaussian import profile, ratio_at
from dpmine.models.linear.multinomial import ClassExamples, MultinomialGaussianNoise, MultinomialLoss, basis
from dpmine.models.linear.noise import GammaNoise, GaussianNoise
from dpmine.models.linear.perturbations import AlphaSplit, ObjectivePerturbation, OutputPerturbation

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = 0.5**0.5
LOSS = MultinomialLoss(3)


def pulls_at(weights: Any, row: float, code: int) -> tuple[Any, Any]:
    """Gradient and Hessian of one row's loss, one feature and three classes, at weights of shape (…, 2)."""
    chances = softmax(row * weights @ basis(3).T, axis=-1)
    pull = SCALE * row * (chances - np.eye(3)[code]) @ basis(3)
    bend = chances[..., :, None] * (np.eye(3) - chances[..., None, :])
    return pull, SCALE * row * row * basis(3).T @ bend @ basis(3)


def density(record: tuple[float, int], ridge: float, deviation: float, weights: Any) -> Any:
    """Of the minimiser of ridge/2·‖V‖² + the loss of one record + ⟨b, V⟩, b normal with that deviation."""
    pull, bend = pulls_at(weights, *record)
    noise = ridge * weights + pull
    bends = np.linalg.det(bend + ridge * np.eye(2))
    return np.exp(-(noise**2).sum(axis=-1) / (2 * deviation**2)) * bends / (2 * np.pi * deviation**2)


def measured(pair: Any, ridge: float, deviation: float, epsilon: float) -> float:
    """The least δ for ε of one neighbour against the other: ∫ (p − e^ε p')₊ over the plane."""
    end = (7 * deviation + 1) / ridge
    axis = end * np.sinh(np.linspace(-8, 8, 801)) / np.sinh(8)
    x, y = np.meshgrid(axis, axis)
    weights, cell = np.stack([x, y], axis=-1), np.outer(np.gradient(axis), np.gradient(axis))
    densities = [density(record, ridge, deviation, weights) for record in pair]
    assert float((densities[0] * cell).sum()) == pytest.approx(1, abs=2e-3)
    return float((np.maximum(0, densities[0] - np.exp(epsilon) * densities[1]) * cell).sum())


PAIRS = [((1.0, 0), (1.0, 1)), ((1.0, 0), (-1.0, 0)), ((1.0, 2), (-1.0, 1)), ((1.0, 0), (0.0, 0)), ((0.0, 0), (1.0, 0))]


def split(ridge: str, epsilon: str, delta: str) -> AlphaSplit:
    training = ObjectivePerturbation(LOSS, 2, MultinomialGaussianNoise(Fraction(delta), 3))
    return training.split(1, Fraction(ridge), Fraction(epsilon), cover=Fraction(0))


@pytest.mark.slow
@every("ridge", ["0.05", "1", "40"])
@every("pair", PAIRS)
@every(("epsilon", "delta"), [("1", "0.01"), ("0.3", "1e-3"), ("4", "0.001")])
def test_the_exact_law_keeps_the_claim(ridge: str, pair: Any, epsilon: str, delta: str) -> None:
    budget = split(ridge, epsilon, delta)
    assert measured(pair, budget.ridge, 2 / float(budget.rate), float(epsilon)) <= float(delta) * (1 + 1e-2)


@every(("pair", "part"), [(PAIRS[0], 4), (PAIRS[1], 2), (PAIRS[1], 4), (PAIRS[2], 4)], quick=2)
def test_with_a_part_of_the_noise_the_claim_is_broken(pair: Any, part: int) -> None:
    """Pulls are as far apart as the bound where weights are large; near 0, a share of 1/2 to 0.6 of it."""
    budget = split("40", "4", "0.001")
    assert measured(pair, budget.ridge, 2 / float(budget.rate) / part, 4.0) > 2 * 0.001


def test_without_the_determinant_the_claim_is_broken() -> None:
    rate = MultinomialGaussianNoise(Fraction(1, 1000), 3).tilt(Fraction(4), Fraction(0)).rate
    assert measured(PAIRS[3], 0.02, 2 / float(rate), 4.0) > 4 * 0.001


def test_the_slack_is_that_of_the_determinant() -> None:
    """Of the worst probabilities, which weigh all classes alike; and no more than the budget says."""
    for ridge in ("0.05", "1"):
        budget = split(ridge, "1", "0.01")
        bend = np.eye(2) * SCALE / 3 / budget.ridge
        spent = float(1 - budget.tilt)
        assert spent == pytest.approx(np.log(np.linalg.det(np.eye(2) + bend)), rel=1e-3)
        assert spent <= 0.5 + 1e-9


def corners(pair: Any, rate: float) -> list[Any]:
    """What two records of one feature may pull together, in units of the noise: the corners of the proof."""
    ends = [[SCALE * row * basis(3).T @ (np.eye(3)[j] - np.eye(3)[code]) for j in range(3)] for row, code in pair]
    return [(one - other) * rate / 2 for one, other in product(*ends)]


@every("pair", PAIRS[:3])
@every(("epsilon", "delta"), [("1", "1e-3"), ("3", "0.01"), ("0.3", "1e-5")])
def test_all_corners_are_covered(pair: Any, epsilon: str, delta: str) -> None:
    rate = float(MultinomialGaussianNoise(Fraction(delta), 3).tilt(Fraction(epsilon), Fraction(0)).rate)
    assert in_the_plane(float(epsilon), corners(pair, rate)) <= float(delta)


@every("classes", [3, 5])
@every(("epsilon", "delta"), [("0.3", "0.01"), ("1", "1e-3"), ("3", "0.1")])
def test_the_sum_over_the_corners_is_within_delta(classes: int, epsilon: str, delta: str) -> None:
    """That of the proof note, for records of any direction."""
    loss, one = Fraction(epsilon), classes - 1
    rate = MultinomialGaussianNoise(Fraction(delta), classes).tilt(loss, Fraction(0)).rate
    nearer = one * (one - 1) * profile(loss, rate * Fraction(867, 1000)) + 2 * one * profile(loss, rate / 2)
    assert one * profile(loss, rate) + nearer <= Fraction(delta)


def test_one_corner_is_not_all() -> None:
    """The profile of the binary losses, which have one farthest corner, would not do."""
    rate = float(ratio_at(Fraction(1), Fraction(1, 1000)))
    assert in_the_plane(1.0, corners(PAIRS[1], rate)) > 1.2 * 0.001


@every("classes", [3, 10, 100])
def test_the_corners_cost_little(classes: int) -> None:
    """Less than a δ shared by all of them, and no more noise than half as much again as for one."""
    noise, epsilon = MultinomialGaussianNoise(Fraction(1, 10**6), classes), Fraction(1)
    rate = noise.tilt(epsilon, Fraction(0)).rate
    assert rate > ratio_at(epsilon, noise.delta / (classes**2 - 1))
    assert rate > ratio_at(epsilon, noise.delta) / Fraction(3, 2)


def rows_of(pair: Any) -> list[ClassExamples]:
    return [ClassExamples(np.array([[row]]), np.array([code]), 3) for row, code in pair]


def objective_audit(ridge: Fraction, pair: Any) -> float:
    training = ObjectivePerturbation(LOSS, 2, MultinomialGaussianNoise(CLAIM[1], 3))
    release = training.release(1, ridge, CLAIM[0])
    public = release.accuracy.stiffness, float(release.tilt_scale)

    def worst(weights: Any) -> bool:
        likely = [density(record, *public, weights) for record in pair]
        return bool(likely[0] > np.exp(float(CLAIM[0])) * likely[1])

    return audited(training, ridge, rows_of(pair), worst)


def output_audit() -> float:
    """Another label of the same row moves the solution almost by 2/λ·sin 60°."""
    training, ridge = OutputPerturbation(LOSS, 2, MultinomialGaussianNoise(CLAIM[1], 3)), Fraction(40)
    deviation = float(training.release(1, ridge, CLAIM[0]).scale)
    pair = PAIRS[0]
    start, end = (-pulls_at(np.zeros(2), *record)[0] / 40 for record in pair)
    far = float(np.linalg.norm(start - end))

    def worst(weights: Any) -> bool:
        return bool((weights - (start + end) / 2) @ (start - end) > deviation**2)

    assert far > 0.4 * 2 / 40
    return audited(training, ridge, rows_of(pair), worst)


@pytest.mark.statistical
@pytest.mark.usefixtures("fresh_terms")
@pytest.mark.parametrize("audit", [lambda: objective_audit(Fraction(40), PAIRS[1]), output_audit])
def test_an_audit_does_not_accuse(audit: Callable[[], float]) -> None:
    assert audit() <= float(CLAIM[1])


@pytest.mark.statistical
@pytest.mark.usefixtures("fresh_terms")
def test_an_audit_notices_a_quarter_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = AlphaSplit.tilt_scale
    monkeypatch.setattr(AlphaSplit, "tilt_scale", lambda *given: honest(*given) / 4)
    assert objective_audit(Fraction(40), PAIRS[1]) > float(CLAIM[1])


@pytest.mark.statistical
@pytest.mark.usefixtures("fresh_terms")
def test_an_audit_notices_a_quarter_of_the_noise_on_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = GaussianNoise.output_rate
    monkeypatch.setattr(GaussianNoise, "output_rate", lambda *given: honest(*given) * 4)
    assert output_audit() > float(CLAIM[1])


def test_gamma_noise_needs_no_corners() -> None:
    budget = ObjectivePerturbation(LOSS, 2, GammaNoise()).split(1, Fraction(1), Fraction(1), cover=Fraction(0))
    assert budget.rate == budget.tilt
