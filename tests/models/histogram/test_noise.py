from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from support.numpy_bits import NumpyBits
from support.tapes import assert_law

from dpmine.models.histogram import training as noise
from dpmine.models.histogram.training import GRID, Axis, Bounds, Grid, rounded_laplace

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

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
