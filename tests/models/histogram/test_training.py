"""Bins and their noisy counts, and numerical checks of the bounds that the privacy of the choice rests on."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from support.cases import every
from support.numpy_bits import NumpyBits
from support.tapes import assert_law

from dpmine import BadData, BadParameter
from dpmine.models.histogram import training as noise
from dpmine.models.histogram.training import (
    GRID,
    GRID_BITS,
    MOST_BINS,
    Axis,
    Bounds,
    Grid,
    HistogramTraining,
    NoisyHistogram,
    Records,
    Space,
    as_records,
    density_score,
    records_lost,
    records_needed,
    rounded_laplace,
    stabilities,
)

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource


@every("bounds", [(0, 1), (-3.7, 12.9), ("1e-9", "2e-9"), (1e9, 1e9 + 1)])
@every("bins", [2, 3, 10, 100])
def test_counts_are_those_of_numpy(bounds: tuple[Any, Any], bins: int) -> None:
    grid = Grid((Axis(Bounds.of(*bounds), bins),))
    edges = grid.axes[0].edges
    low, high = float(bounds[0]), float(bounds[1])
    values = np.random.default_rng(3).uniform(low, high, 500)
    values = np.clip(
        np.concatenate([values, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]), low, high
    )
    assert grid.counts(Records.of(values[:, np.newaxis])).tolist() == np.histogram(values, edges)[0].tolist()


def test_every_record_is_counted_by_itself() -> None:
    """Counts of all are the sum of the counts of each: nothing of the others enters."""
    space = Space.of([7], 0, 1)
    values = space.clipped([0.1, 1 / 7, 2 / 7, 0.9999, 1, -3, np.nan, np.inf, -np.inf])
    together = space.grids[0].counts(Records.of(values))
    alone = sum(space.grids[0].counts(Records.of(values[i : i + 1])) for i in range(len(values)))
    assert together.tolist() == np.asarray(alone).tolist()


def test_clipping_is_total() -> None:
    wild = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.5])
    assert Bounds.of("0.25", 1).clipped(wild).tolist() == [0.25, 1, 0.25, 1, 0.25, 0.25, 0.5]


@every(
    "bounds",
    [(1, 1), (2, 1), ("nan", 1), (0, "inf"), (0, None), (0, True), (0, "1e301"), (1, 1 + Fraction(1, 10**30))],
)
def test_unusable_bounds(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(BadParameter):
        Bounds.of(*bounds)


def test_bins_narrower_than_floats_are_rejected() -> None:
    with pytest.raises(BadParameter, match="narrow"):
        _ = Axis(Bounds.of(10**16, 10**16 + 4), 16).edges


@every("bins", [[1], [0], [-4], [2.0], [4.5], ["4"], [True], [None], [], 4, "48", None, [4, 4], [MOST_BINS + 1]])
def test_unusable_numbers_of_bins(bins: Any) -> None:
    with pytest.raises(BadParameter, match="bins"):
        Space.of(bins, 0, 1)


def test_numbers_of_bins() -> None:
    assert Space.of(np.array([16, 4]), 0, 1).candidates == (16, 4)
    assert Space.of(range(2, 5), 0, 1).candidates == (2, 3, 4)


@every(
    "x",
    [
        [1, 2.5, None],
        (1, 2.5, float("nan")),
        np.array([1, 2.5, np.nan], np.float32),
        np.array([[1], [2.5], [np.nan]]),
        np.ma.MaskedArray([1, 2.5, 7], mask=[False, False, True]),
        pd.Series([1, 2.5, None]),
        pd.Series([1, 2.5, None], dtype="Float64"),
        [Fraction(1), Decimal("2.5"), None],
        [1, 2.5, "2"],
        [1, 2.5, {"a": 1}],
    ],
)
def test_numbers_of_all_kinds(x: Any) -> None:
    values = as_records(x, 1)[:, 0]
    assert values.dtype == np.float64
    assert values[:2].tolist() == [1, 2.5]
    assert np.isnan(values[2])


def test_integers_and_booleans() -> None:
    assert as_records(np.array([1, 2], np.uint8), 1).ravel().tolist() == [1, 2]
    assert as_records([True, False], 1).ravel().tolist() == [1, 0]


def test_integers_beyond_floats_are_infinite_not_an_error() -> None:
    assert as_records([10**400, -(10**400), 3], 1).ravel().tolist() == [np.inf, -np.inf, 3]


@every(
    "x",
    [np.array(["kanarienvogel"]), [[1, 2], [3, 4]], 3, "12", {1: 2}, np.array([1j]), np.array(["2020"], "M8")],
)
def test_what_is_not_numbers_is_rejected_without_a_word_of_it(x: Any) -> None:
    with pytest.raises(BadData) as caught:
        as_records(x, 1)
    assert "kanarienvogel" not in str(caught.value)
    assert caught.value.__cause__ is None


SCALE = Fraction(3, 2)


def test_law_of_the_rounded_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bit tape, on a grid of one record so that few outcomes carry all the mass."""
    monkeypatch.setattr(noise, "GRID", Fraction(1))
    law = stats.laplace(scale=float(SCALE))
    expected = {k: float(law.cdf(k + 0.5) - law.cdf(k - 0.5)) for k in range(-40, 41)}

    def sampler(bits: BitSource) -> int:
        return rounded_laplace(SCALE, bits=bits)

    assert_law(sampler, expected, depth=16, undecided=0.01)


@pytest.mark.statistical
def test_the_noise_is_laplace() -> None:
    """Kolmogorov–Smirnov on 5000 draws; the grid is far below what it sees. False alarms: 10^−6."""
    bits = NumpyBits(11)
    drawn = np.array([float(rounded_laplace(SCALE, bits=bits) * GRID) for _ in range(5000)])
    assert stats.kstest(drawn, stats.laplace(scale=float(SCALE)).cdf).pvalue > 1e-6
    assert stats.kstest(drawn, stats.laplace(scale=0.8 * float(SCALE)).cdf).pvalue < 1e-6


def test_counts_have_the_noise_of_two_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing one record moves two counts."""
    scales: list[Fraction] = []

    def noted(scale: Fraction, *, bits: BitSource) -> int:  # noqa: ARG001 - as it is called
        scales.append(scale)
        return 0

    monkeypatch.setattr(noise, "rounded_laplace", noted)
    noise.HistogramTraining().draw(Grid((Axis(Bounds.of(0, 1), 3),)), Fraction(1, 4), bits=NumpyBits(1))
    assert scales == [8, 8, 8]


def test_masses_decay_as_they_must() -> None:
    """Pr[k + 1/g]/Pr[k] = e^{−1/scale} for k ≥ 1: the noise of one record more."""
    law = stats.laplace(scale=float(SCALE / GRID))
    steps = int(1 / GRID)
    near, far = (float(law.sf(k - 0.5) - law.sf(k + 0.5)) for k in (5, 5 + steps))
    assert far / near == pytest.approx(exp(-1 / float(SCALE)), rel=1e-4)


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
