"""Numerical checks of the bounds that the privacy of the choice rests on."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from support.cases import every

from dpmine import BadParameter
from dpmine.models.histogram.training import (
    GRID,
    GRID_BITS,
    Axis,
    Bounds,
    Grid,
    HistogramTraining,
    NoisyHistogram,
    Records,
    density_score,
    records_lost,
    records_needed,
    stabilities,
)

UNIT = Bounds.of(0, 1)
ALPHA = Fraction(1, 2)
DELTA = Fraction(1, 10**6)
TRAINING = HistogramTraining()


def _records(values: Any) -> Records:
    return Records.of(np.asarray(values, np.float64)[:, np.newaxis])


def _fit(values: list[float], bins: int, noise: tuple[int, ...]) -> NoisyHistogram:
    return TRAINING.fit(_records(np.array(values)), Grid((Axis(UNIT, bins),)), ALPHA, noise)


def _steps(records: float) -> int:
    return int(np.rint(records * 2**GRID_BITS))


def _random_noise(generator: np.random.Generator, bins: int) -> tuple[int, ...]:
    scale = generator.choice([0.0, 0.3, 2.0])
    return tuple(_steps(value) for value in generator.laplace(size=bins) * scale)


def _neighbour(generator: np.random.Generator, values: list[float], bins: int) -> list[float]:
    """One record replaced, by one near an edge of a bin as often as not."""
    other = [*values]
    place = generator.choice([generator.random(), generator.integers(0, bins + 1) / bins])
    other[int(generator.integers(len(values)))] = float(place)
    return other


def _random_records(generator: np.random.Generator, count: int) -> list[float]:
    spread = generator.choice([0.01, 0.2, 1.0])
    return list(map(float, np.clip(generator.random() + spread * generator.normal(size=count), 0, 1)))


@every("seed", range(60))
def test_another_training_record_moves_the_score_within_the_bound(seed: int) -> None:
    """|q − q'| ≤ 4s/max(ñ, ñ') for the same noise, clipped bins of every fractional size included."""
    generator = np.random.default_rng(seed)
    for _ in range(20):
        bins = int(generator.integers(2, 9))
        train = _random_records(generator, int(generator.integers(2, 30)))
        noise = _random_noise(generator, bins)
        here, there = (_fit(values, bins, noise) for values in (train, _neighbour(generator, train, bins)))
        largest = max(sum(here.weights), sum(there.weights)) * GRID
        if largest == 0:
            continue
        validation = _records(np.array(_random_records(generator, int(generator.integers(1, 9)))))
        change = abs(density_score(here, validation) - density_score(there, validation))
        assert change <= 4 * bins / largest


@every("seed", range(40))
def test_another_validation_record_moves_the_score_within_the_bound(seed: int) -> None:
    """|q − q'| ≤ β2/m = 2s/m, even where nothing is left of the counts."""
    generator = np.random.default_rng(1000 + seed)
    for _ in range(20):
        bins = int(generator.integers(2, 9))
        model = _fit(_random_records(generator, 5), bins, _random_noise(generator, bins))
        validation = _random_records(generator, int(generator.integers(1, 9)))
        scores = [
            density_score(model, _records(np.array(records)))
            for records in (validation, _neighbour(generator, validation, bins))
        ]
        assert abs(scores[0] - scores[1]) <= Fraction(2 * bins, len(validation))


@every("records", [2, 10, 1000])
@every("bins", [2, 16])
def test_the_bound_on_training_is_tight(bins: int, records: int) -> None:
    """All records in one bin, one of them moves to where all of the validation is: (4N − 2)/(N² h), as derived."""
    low, high = 0.1 / bins, 1 - 0.1 / bins
    noise = (0,) * bins
    here = _fit([low] * records, bins, noise)
    there = _fit([low] * (records - 1) + [high], bins, noise)
    validation = _records(np.array([high]))
    change = density_score(there, validation) - density_score(here, validation)
    assert change == Fraction(4 * records - 2, records**2) * bins
    assert change / Fraction(4 * bins, records) == 1 - Fraction(1, 2 * records)


def test_the_bound_on_validation_is_attained() -> None:
    model = _fit([0.1] * 5, 4, (0,) * 4)
    scores = [density_score(model, _records(np.array([place, 0.6]))) for place in (0.1, 0.9)]
    assert scores[0] - scores[1] == Fraction(2 * 4, 2)


def test_half_the_bound_would_not_hold() -> None:
    """A broken twin of the bound, 2s/N, is exceeded by the extremal pair."""
    records, bins = 100, 8
    here = _fit([0.01] * records, bins, (0,) * bins)
    there = _fit([0.01] * (records - 1) + [0.99], bins, (0,) * bins)
    validation = _records(np.array([0.99]))
    assert density_score(there, validation) - density_score(here, validation) > Fraction(2 * bins, records)


@every("bins", [2, 8, 40])
@every("failure", [1e-2, 1e-6])
def test_the_sum_of_the_noise_stays_above_its_bound(bins: int, failure: float) -> None:
    """Pr[ΣR ≤ −θ] ≤ δ/k by quadrature: ΣR is a difference of two Gamma(s) variables."""
    candidates, exact = 3, Fraction(str(failure))
    lost = records_lost(bins, candidates, alpha=ALPHA, failure=exact) - bins * GRID / 2
    theta = float(lost * ALPHA / 2)
    gamma = stats.gamma(bins)
    tail, _ = integrate.quad(lambda x: gamma.pdf(x) * gamma.cdf(x - theta), theta, theta + 40 * sqrt(bins) + 60)
    assert tail <= failure / candidates
    assert tail >= failure / candidates / 60  # Chernoff's bound gives away this much at most here


@pytest.mark.parametrize("bins", [2, 16, 1000])
def test_records_lost_is_the_minimum_of_its_formula(bins: int) -> None:
    def formula(t: float) -> float:
        return 2 / float(ALPHA) * (log(3e6) - bins * log(1 - t * t)) / t

    best = min(formula(t) for t in np.linspace(1e-4, 1 - 1e-4, 40_000))
    lost = float(records_lost(bins, 3, alpha=ALPHA, failure=DELTA))
    assert best - 1e-9 <= lost <= best * (1 + 1e-5) + bins * 2.0**-21


def test_stabilities_by_hand() -> None:
    bins, records = (4, 16), 1000
    tight = stabilities(bins, records=records, alpha=ALPHA, failure=DELTA)
    assert [stable.validation for stable in tight] == [8, 32]
    for count, stable in zip(bins, tight, strict=True):
        lost = records_lost(count, 2, alpha=ALPHA, failure=DELTA)
        assert stable.training == 4 * count / (1 - lost / records)


def test_the_number_of_records_needed_is_enough() -> None:
    bins = (4, 64)
    needed = records_needed(bins, alpha=ALPHA, failure=DELTA)
    assert all(s.training > 0 for s in stabilities(bins, records=needed, alpha=ALPHA, failure=DELTA))
    lost = max(records_lost(count, 2, alpha=ALPHA, failure=DELTA) for count in bins)
    assert needed - 1 <= lost < needed


def test_no_counts_left_means_the_uniform_density() -> None:
    model = _fit([0.1], 4, (_steps(-5),) * 4)
    assert model.weights == (0, 0, 0, 0)
    assert model.shares == (Fraction(1, 4),) * 4
    assert density_score(model, _records(np.array([0.3]))) == -1 + 2


def test_the_score_is_the_integral_written_out() -> None:
    model = _fit([0.1, 0.1, 0.6], 2, (_steps(0.5), 0))
    heights = np.array([2.5, 1.0]) / 3.5 * 2
    validation = np.array([0.2, 0.7, 0.9])
    expected = -float((heights**2 / 2).sum()) + 2 / 3 * float(heights[0] + 2 * heights[1])
    assert float(density_score(model, _records(validation))) == pytest.approx(expected, rel=1e-12)


def test_a_score_needs_validation_records() -> None:
    with pytest.raises(BadParameter, match="no validation records"):
        density_score(_fit([0.1], 2, (0, 0)), _records(np.zeros(0)))


def test_noise_is_exactly_alpha_private() -> None:
    """Two counts move by one: the densities of the rounded noise differ by e^{α/2} each at most."""
    scale = 2 / float(ALPHA) * 2**GRID_BITS

    def mass(k: int) -> float:
        law = stats.laplace(scale=scale)
        return float(law.cdf(k + 0.5) - law.cdf(k - 0.5))

    for k in (-3 * 2**GRID_BITS, -(2**GRID_BITS), 0, 2**GRID_BITS // 2, 5 * 2**GRID_BITS):
        ratio = mass(k) / mass(k - 2**GRID_BITS)
        assert exp(-float(ALPHA) / 2) * (1 - 1e-6) <= ratio <= exp(float(ALPHA) / 2) * (1 + 1e-6)
