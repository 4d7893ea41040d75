from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from flint import arb
from scipy import stats
from support.adversary import PlayedBits
from support.cases import every
from support.tapes import assert_law

from dpmine.exact.reals import (
    GUARD_BITS,
    Constant,
    ExponentialNoise,
    Formula,
    GumbelNoise,
    LaplaceNoise,
    Noise,
    Real,
    StandardExponential,
    draw,
    dyadic_interval,
    exact_ball,
    laplace_cdf,
    laplace_log_survival,
    less_than,
    working_precision,
)

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

SCALE = Fraction(7, 3)
NOISES: list[tuple[Noise, Any]] = [
    (LaplaceNoise(SCALE), stats.laplace(scale=7 / 3)),
    (ExponentialNoise(SCALE), stats.expon(scale=7 / 3)),
    (GumbelNoise(SCALE), stats.gumbel_r(scale=7 / 3)),
]
NAMES = ["laplace", "exponential", "gumbel"]
BY_NAME = pytest.mark.parametrize(("noise", "peer"), NOISES, ids=NAMES)
EACH_NOISE = pytest.mark.parametrize("noise", [noise for noise, _ in NOISES], ids=NAMES)
T_VALUES = [Fraction(t) for t in ("1/1000000", "1/50", "1/2", "69/100", "7/10", "1", "3", "40")]


def largest_of(noise: Noise, count: int, *, bits: BitSource) -> Real:
    """The largest of `count` independent draws, as one real: what a level's first noise is."""
    return Formula(lambda e: noise.quantile(e / count), StandardExponential(bits=bits))


@BY_NAME
@every("t", T_VALUES)
def test_quantiles_agree_with_scipy(noise: Noise, peer: Any, t: Fraction) -> None:
    with working_precision(200):
        ball = noise.quantile(exact_ball(t))
    q = math.exp(-t)
    expected = float(peer.isf(-math.expm1(-t)) if q > 0.5 else peer.ppf(q))
    assert float(ball.mid()) == pytest.approx(expected, rel=1e-12)
    assert float(ball.rad()) < 1e-40


@EACH_NOISE
def test_quantiles_fall_with_t(noise: Noise) -> None:
    with working_precision(100):
        values = [noise.quantile(exact_ball(t)) for t in T_VALUES]
    assert all(right < left for left, right in pairwise(values))


@EACH_NOISE
def test_a_ball_of_t_gives_a_ball_around_all_quantiles(noise: Noise) -> None:
    """Wide balls of t, those around the median of the Laplace distribution included."""
    for width in range(1, 12):
        for digits in range(1, min(2**width, 64)):
            with working_precision(width + GUARD_BITS):
                ball = noise.quantile(dyadic_interval(digits, width))
                ends = [noise.quantile(exact_ball(Fraction(end, 2**width))) for end in (digits, digits + 1)]
                middle = noise.quantile(exact_ball(Fraction(2 * digits + 1, 2 ** (width + 1))))
            assert all(ball.overlaps(value) for value in (*ends, middle)), (digits, width)


def test_the_ball_around_the_median_shrinks() -> None:
    """Balls that hold ln 2, where the two branches of the quantile meet."""
    radii = []
    for width in (4, 16, 64, 256):
        with working_precision(width + GUARD_BITS):
            t = arb.const_log2() + arb(0, 2.0**-width)
            ball = LaplaceNoise(SCALE).quantile(t)
            assert ball.contains(0)
        radii.append(float(ball.rad()))
    assert radii == sorted(radii, reverse=True)
    assert radii[-1] < 1e-70


@BY_NAME
def test_a_ball_that_touches_zero_settles_nothing(noise: Noise, peer: Any) -> None:
    with working_precision(100):
        ball = noise.quantile(dyadic_interval(0, 3))
        assert not ball < 10**6
        assert not ball > float(peer.ppf(math.exp(-1 / 8))) + 1e-9


@BY_NAME
@every("count", [1, 2, 1000, 2**64 + 1, 2**128, 10**30])
def test_the_largest_of_many(noise: Noise, peer: Any, count: int) -> None:
    """With U = 2/3: the quantile at U^(1/count), that is at t = ln(3/2)/count."""
    largest = largest_of(noise, count, bits=PlayedBits())
    with working_precision(256 + GUARD_BITS):
        ball = largest.ball(256)
    t = math.log(1.5) / count
    assert float(ball.mid()) == pytest.approx(float(peer.isf(-math.expm1(-t))), rel=1e-9)
    assert float(ball.rad()) < 1e-30


@BY_NAME
def test_balls_of_a_draw_close_in_on_it(noise: Noise, peer: Any) -> None:
    x = draw(noise, bits=PlayedBits(0b1001, 4))
    enclosures = []
    for width in (2, 4, 8, 16, 64, 256):
        with working_precision(width + GUARD_BITS):
            enclosures.append(x.ball(width))
    radii = [float(ball.rad()) for ball in enclosures]
    assert all(ball.overlaps(enclosures[-1]) for ball in enclosures)
    assert radii == sorted(radii, reverse=True)
    assert float(peer.cdf(float(enclosures[-1].mid()))) == pytest.approx((9 + 2 / 3) / 16)


@BY_NAME
@every("count", [1, 2, 5])
def test_law_of_the_largest(noise: Noise, peer: Any, count: int) -> None:
    """Pr[max ≤ x] = F(x)^count, from bit tapes."""
    for x in (Fraction(-1, 3), Fraction(1), Fraction(4)):

        def below(bits: BitSource, x: Fraction = x) -> bool:
            return less_than(largest_of(noise, count, bits=bits), Constant(x), bits=bits)

        mass = float(peer.cdf(float(x))) ** count
        assert_law(below, {True: mass, False: 1 - mass}, depth=11, undecided=0.01)


Y_VALUES = [-(10**6), -700, -40, -3, Fraction(-1, 1000), Fraction(1, 1000), 2, 45, 800, 10**7]


@every("y", Y_VALUES)
def test_laplace_cdf_and_survival(y: Fraction) -> None:
    """Relatively accurate however far out."""
    with working_precision(128):
        cdf, log_survival = laplace_cdf(exact_ball(y)), laplace_log_survival(exact_ball(y))
    assert cdf > 0
    assert log_survival < 0
    assert float(cdf.rel_accuracy_bits()) > 60
    assert float(log_survival.rel_accuracy_bits()) > 60
    assert float(cdf.mid()) == pytest.approx(float(stats.laplace.cdf(float(y))), rel=1e-12, abs=1e-300)
    if -30 < y < 700:
        assert float(log_survival.mid()) == pytest.approx(float(stats.laplace.logsf(float(y))), rel=1e-9)


def test_laplace_cdf_and_survival_around_the_median() -> None:
    for width in (1, 4, 20, 100):
        with working_precision(width + GUARD_BITS):
            around = arb(0, 2.0**-width)
            assert laplace_cdf(around).contains(arb(1) / 2)
            assert laplace_log_survival(around).overlaps(-arb.const_log2())
            assert float(laplace_cdf(around).rad()) <= 2.0**-width * 4
