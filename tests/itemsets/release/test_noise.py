"""Noise for supports: certified tails, the choice between two kinds, and what Gaussian supports give away."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import erfc, exp, sqrt

import pytest
from numpy import convolve
from scipy import stats
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.exact.reals import working_precision
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, GaussianTail, narrower
from dpmine.zcdp import delta_at, rho_at

WITHIN = [
    ("1", 0, "0.39894227826686170558"),
    ("1", 2, "0.99086565716439349468"),
    ("2.25", 5, "0.99981126924311835577"),
    ("100", 25, "0.9892605043972505161"),
    ("0.25", 1, "0.99947224588823734818"),
    ("1780", 120, "0.9957124257264528556"),
]


def beyond(variance: Fraction, width: int) -> float:
    """Pr[|X| > width], by decimals of 40 digits."""
    with localcontext() as context:
        context.prec = 40
        twice = 2 * Decimal(variance.numerator) / Decimal(variance.denominator)
        reach = width + 40 * int(sqrt(variance)) + 40
        weights = [(-(x * x) / twice).exp() for x in range(reach)]
        return float(2 * sum(weights[width + 1 :]) / (2 * sum(weights) - 1))


@every(("variance", "width", "probability"), WITHIN)
def test_reference_tails(variance: str, width: int, probability: str) -> None:
    with working_precision(128):
        tail = GaussianTail(Fraction(variance)).beyond(width)
    assert float(tail.mid()) == pytest.approx(1 - float(probability), rel=1e-9)


@every("variance", [Fraction(1, 7), Fraction(1, 2), Fraction(3), Fraction(500, 3)])
@every("width", [0, 1, 4, 30])
def test_tails_against_sums(variance: Fraction, width: int) -> None:
    with working_precision(128):
        tail = GaussianTail(variance).beyond(width)
    assert float(tail.mid()) == pytest.approx(beyond(variance, width), rel=1e-9, abs=1e-30)


@every("sigma", [2000, 3000, 10**6])
@every("times", [3, 5])
def test_far_tails_are_on_the_safe_side(sigma: int, times: int) -> None:
    """For so large a σ, Pr[|X| > w] is that of the normal law beyond w + 1/2, to a relative (times/σ)²."""
    width = max(times * sigma, 4097)
    with working_precision(128):
        tail = GaussianTail(Fraction(sigma**2)).beyond(width)
    assert float(tail.mid()) == pytest.approx(erfc((width + 0.5) / sigma / sqrt(2)), rel=1e-5)


def test_the_bound_beyond_the_sum_is_above_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    with working_precision(128):
        summed = [GaussianTail(Fraction(100)).beyond(width) for width in (5, 10, 20, 40)]
        monkeypatch.setattr("dpmine.itemsets.release.noise._SUMMED", -1)
        bounds = [GaussianTail(Fraction(100)).beyond(width) for width in (5, 10, 20, 40)]
    assert all(bound > tail for bound, tail in zip(bounds, summed, strict=True))
    assert all(bound < tail * 1.2 for bound, tail in zip(bounds, summed, strict=True))


@every("count", [1, 3, 30])
def test_half_widths_are_the_least(count: int) -> None:
    noise = DiscreteGaussian(Fraction(1, 20))
    for together, width in ((1, noise.half_width(count)), (count, noise.simultaneous_half_width(count))):
        variance = noise.variance(count)
        assert (1 - beyond(variance, width)) ** together >= 0.95
        assert (1 - beyond(variance, width - 1)) ** together < 0.95


@pytest.mark.statistical
@every(("epsilon", "count"), [(Fraction(1), 40), (Fraction(1), 1)])
def test_coverage(epsilon: Fraction, count: int) -> None:
    """In 2,000 runs, all supports at once are within the joint half width at least 19 times of 20."""
    noise, bits = DiscreteGaussian(rho_at(epsilon, Fraction(1, 10**6))), NumpyBits(11)
    width = noise.simultaneous_half_width(count)
    covered = sum(max(abs(noise.draw(count, bits=bits)) for _ in range(count)) <= width for _ in range(2_000))
    assert stats.binom.cdf(covered, 2_000, 0.95) > 1e-6
    assert stats.binom.sf(covered, 2_000, 0.97) > 1e-6


@every("rho", ["1e50", "1e-40", "1e-100"])
def test_extreme_noise_has_a_half_width(rho: str) -> None:
    noise = DiscreteGaussian(Fraction(rho))
    for count in (1, 3, 2**62):
        width, sigma = noise.simultaneous_half_width(count), sqrt(noise.variance(count))
        assert width == 0 if sigma < 1e-3 else sigma < width < 15 * sigma


def test_many_supports_get_gaussian_noise() -> None:
    laplace = DiscreteLaplace(Fraction(1))
    gaussian = DiscreteGaussian(rho_at(Fraction(1), Fraction(1, 10**6)))
    assert narrower(laplace, gaussian, 1) is laplace
    assert narrower(laplace, gaussian, 100) is gaussian
    assert narrower(laplace, None, 100) is laplace


def profile(variance: float, shift: int, epsilon: float, reach: int = 400) -> float:
    """δ(ε) of one discrete Gaussian number moved by `shift`: Σ max(0, P − e^ε Q)."""
    weights = {x: exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    pairs = ((mass, weights.get(x - shift, 0.0)) for x, mass in weights.items())
    return sum(max(0.0, mass - exp(epsilon) * other) for mass, other in pairs) / total


def joint_profile(variance: float, count: int, epsilon: float, reach: int = 60) -> float:
    """The same for `count` supports all moved by 1: the loss is a function of their noises' sum alone."""
    single = {x: exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    total = sum(single.values())
    law = {0: 1.0}
    for _ in range(count):
        after: dict[int, float] = {}
        for before, mass in law.items():
            for x, weight in single.items():
                after[before + x] = after.get(before + x, 0.0) + mass * weight / total
        law = after
    losses = ((mass, (count - 2 * place) / (2 * variance)) for place, mass in law.items())
    return sum(mass * max(0.0, 1 - exp(epsilon - loss)) for mass, loss in losses)


@every("rho", [Fraction(1, 50), Fraction(1, 5)])
@every("count", [1, 2, 5])
@every("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_privacy_of_joint_supports(rho: Fraction, count: int, epsilon: Fraction) -> None:
    variance = float(DiscreteGaussian(rho).variance(count))
    assert joint_profile(variance, count, float(epsilon)) <= float(delta_at(rho, epsilon))


def test_noise_for_one_support_is_not_enough_for_five() -> None:
    rho, epsilon = Fraction(1, 5), Fraction(1)
    variance = float(DiscreteGaussian(rho).variance(1))
    assert joint_profile(variance, 1, 1.0) == pytest.approx(profile(variance, 1, 1.0))
    assert joint_profile(variance, 5, 1.0) > 2 * float(delta_at(rho, epsilon))


@every("times", [1, 2, 5, 12])
def test_means_of_several_noises_are_within_their_half_width(times: int) -> None:
    """Against the law of the sum; of several noises the width is at most a third too large."""
    noise, level, reach = DiscreteGaussian(Fraction(1, 18)), Fraction(999, 1000), 60
    law = stats.norm.pdf(range(-reach, reach + 1), scale=3)
    law /= law.sum()
    total = law
    for _ in range(times - 1):
        total = convolve(total, law)

    def within(width: float) -> float:
        middle, far = len(total) // 2, int(width * times)
        return float(total[middle - far : middle + far + 1].sum())

    width = noise.mean_half_width(1, times, level)
    assert within(width) >= level
    assert within(0.75 * (width - 1)) < level
