"""Discrete Gaussian noise: its law by exact arithmetic and by samples, and a twin that is broken."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, isqrt, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits
from support.tapes import TapeBits, assert_law

from dpmine.exact import noise
from dpmine.exact.noise import discrete_gaussian

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

SMALL = [Fraction(1, 3), Fraction(1), Fraction(9, 4)]


def law_of(variance: Fraction, reach: int = 40) -> dict[int, float]:
    """By brute force."""
    weights = {k: exp(-k * k / (2 * float(variance))) for k in range(-reach, reach + 1)}
    return {k: weight / sum(weights.values()) for k, weight in weights.items()}


def attempt(variance: Fraction, proposed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Fraction, Fraction]:
    """The scale that proposals get, and the exponent x of the probability e^{−x} that `proposed` is kept with."""
    seen: list[Fraction] = []

    def propose(scale: Fraction, **_: BitSource) -> int:
        seen.append(scale)
        return proposed

    def keep(exponent: Fraction, **_: BitSource) -> bool:
        seen.append(exponent)
        return True

    monkeypatch.setattr(noise, "discrete_laplace_of_scale", propose)
    monkeypatch.setattr(noise, "_coin", keep)
    assert noise.discrete_gaussian(variance, bits=TapeBits(0, 0)) == proposed
    scale, exponent = seen
    return scale, exponent


def excess(variance: Fraction, proposed: int, scale: Fraction, exponent: Fraction) -> Fraction:
    """|k|/t + x − k²/(2σ²): the law is right if and only if it is the same for every k."""
    return abs(proposed) / scale + exponent - proposed**2 / (2 * variance)


@every("variance", [*SMALL, Fraction(1780), Fraction(10**12), Fraction(10**30, 7)])
def test_proposal_and_acceptance_make_the_law(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for proposed in (-1000, -3, -1, 0, 1, 2, 50):
        scale, exponent = attempt(variance, proposed, monkeypatch)
        assert (scale - 1) ** 2 <= variance < scale**2
        found.add(excess(variance, proposed, scale, exponent))
    assert len(found) == 1


@every("variance", SMALL)
def test_an_acceptance_without_the_shift_is_caught(variance: Fraction) -> None:
    scale = Fraction(isqrt(int(variance)) + 1)
    assert len({excess(variance, k, scale, k**2 / (2 * variance)) for k in range(3)}) > 1


@every("exponent", [Fraction(n) for n in ("0", "1/3", "1", "5/4", "3")])
def test_coins(exponent: Fraction) -> None:
    happens = exp(-exponent)
    law = {True: happens, False: 1 - happens} if exponent else {True: 1.0}
    assert_law(lambda bits: noise._coin(exponent, bits=bits), law, depth=14, undecided=0.05)


def test_coins_of_arrays_with_a_whole_part() -> None:
    """Against e^{−3/2}; a false alarm is less likely than 1e-9."""
    happened = int(noise._coins(np.full(20_000, 3, np.uint64), np.uint64(2), bits=NumpyBits(5)).sum())
    assert stats.binomtest(happened, 20_000, exp(-1.5)).pvalue > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [*SMALL, Fraction(100, 7)])
def test_law_by_samples(variance: Fraction) -> None:
    assert_sampled_law(lambda bits: discrete_gaussian(variance, bits=bits), law_of(variance), draws=20_000)


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [Fraction(1780), Fraction(10**12)])
def test_large_variances(variance: Fraction) -> None:
    """Against the normal law, in whose cells of a quarter σ whole numbers make no difference that the test sees."""
    sigma, bits = sqrt(variance), NumpyBits(7)
    drawn = [discrete_gaussian(variance, bits=bits) for _ in range(10_000)]
    edges = [round(sigma * quarter / 4) + 0.5 for quarter in range(-10, 11)]
    cells = [0] * (len(edges) + 1)
    for value in drawn:
        cells[sum(value > edge for edge in edges)] += 1

    def p_value(scale: float) -> float:
        reached = [0.0, *(float(stats.norm.cdf(edge / scale)) for edge in edges), 1.0]
        wanted = [len(drawn) * (b - a) for a, b in pairwise(reached)]
        return float(stats.chisquare(cells, wanted).pvalue)

    assert p_value(sigma) > 1e-6
    assert p_value(1.1 * sigma) < 1e-6  # the test sees a tenth
