"""Brownian noise reduction: its charge, the law of its path, and the rounding of the path."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine.errors import BadParameter
from dpmine.exact.reals import Constant, Formula, floors_of_sums, standard_normals, working_precision
from dpmine.models.accuracy_first.noise_reduction import BrownianLoss, brownian_reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

FALSE_ALARM = 1e-7  # for each of the statistics below; seeds are fixed
DELTA = 0.05  # large, so that a share of paths shows it
MICRO = Fraction(1, 10**6)
FINE = Fraction(1, 2**30)


def tuned(*numbers: Any) -> BrownianLoss:
    """The loss for a sensitivity, a δ and an ε, of whatever type."""
    return BrownianLoss.tuned(*map(Fraction, numbers))


class TinyWidths(NumpyBits):
    """Reveals uniforms bit by bit, so that nothing is decided at the first attempt."""

    def widths(self) -> Iterator[int]:
        yield from range(1, 1000)


class WideWidths(NumpyBits):
    """Reveals so many digits at once that one attempt is enough."""

    def widths(self) -> Iterator[int]:
        yield 1024


def mixture(x: float, time: float, kappa: float) -> float:
    """M_t at β = x√(t + κ), by integrating e^{λβ − λ²t/2} over half a normal law of variance 1/κ."""
    beta = x * math.sqrt(time + kappa)
    height = 2 * math.sqrt(kappa / (2 * math.pi))
    spread = 12 / math.sqrt(time + kappa)
    peak = max(0.0, beta / (time + kappa))
    value, _ = integrate.quad(
        lambda rate: height * math.exp(rate * beta - rate**2 * time / 2 - kappa * rate**2 / 2),
        max(0.0, peak - spread),
        peak + spread,
        epsabs=0,
        epsrel=1e-11,
    )
    return float(value)


def oracle(time: float, delta: float, kappa: float) -> float:
    """E for Δ₂ = 1: the β at which the mixture reaches 1/δ."""
    x = optimize.brentq(lambda x: math.log(mixture(x, time, kappa) * delta), 0.0, 12.0, xtol=1e-13)
    return 1 / (2 * time) + float(x) * math.sqrt(time + kappa) / time


@every("delta", ["1e-6", "0.01", "0.3"])
@every("kappa", ["0.01", "1", "30"])
def test_charge_is_where_the_mixture_reaches_its_bound(kappa: str, delta: str) -> None:
    loss = BrownianLoss(Fraction(1), Fraction(delta), Fraction(kappa))
    slack = 0.05 if delta == "0.3" else 1e-4  # the erf is taken at a lower bound of its argument
    for time in (0.1, 1.0, 25.0, 1000.0):
        wanted = oracle(time, float(delta), float(kappa))
        assert wanted * (1 - 1e-9) <= float(loss.at(Fraction(time))) <= wanted * (1 + slack)


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.01"])
def test_one_side_gains_nearly_a_factor_of_two_in_delta(delta: str) -> None:
    loss = BrownianLoss(Fraction(1), Fraction(delta), Fraction(2))
    for time in (0.5, 8.0, 300.0):
        published, doubled = (
            1 / (2 * time) + math.sqrt((time + 2) * (math.log((time + 2) / 2) - 2 * math.log(d))) / time
            for d in (float(delta), 2 * float(delta))
        )
        assert doubled < float(loss.at(Fraction(time))) < published
        assert float(loss.at(Fraction(time))) == pytest.approx(doubled, rel=1e-2 if delta == "0.01" else 1e-5)


@given(
    st.fractions(Fraction(1, 10**4), 10**4),
    st.fractions(Fraction(1, 10**3), 10**3),
    st.sampled_from([Fraction(1, 2), Fraction(1, 10), MICRO, MICRO**2]),
    st.fractions(Fraction(1, 10**3), 10**3),
)
def test_charge_falls_with_time_and_scales(time: Fraction, kappa: Fraction, delta: Fraction, size: Fraction) -> None:
    loss = BrownianLoss(size, delta, kappa)
    assert loss.at(time * Fraction(1001, 1000)) < loss.at(time)
    scaled = BrownianLoss(Fraction(1), delta, kappa / size**2).at(time / size**2)
    assert float(loss.at(time)) == pytest.approx(float(scaled), rel=1e-14)


@given(
    st.fractions(Fraction(1, 10**4), 10**4),
    st.fractions(Fraction(1, 10**6), 10**6),
    st.sampled_from([Fraction(1, 2), Fraction(1, 10), MICRO]),
    st.fractions(Fraction(1, 10**6), 10**3),
)
def test_time_for_is_short_and_costs_no_more(
    epsilon: Fraction, kappa: Fraction, delta: Fraction, size: Fraction
) -> None:
    loss = BrownianLoss(size, delta, kappa)
    time = loss.time_for(epsilon)
    assert epsilon * (1 - Fraction(1, 2**14)) <= loss.at(time) <= epsilon
    assert time.denominator.bit_count() == 1
    assert (time.numerator // (time.numerator & -time.numerator)).bit_length() <= 17


@every("epsilon", ["1e-90", "0.05", "1", "1e90"])
@every("delta", ["1e-100", "1e-6", "0.5", "0.9"])
def test_tuned_takes_a_good_constant(delta: str, epsilon: str) -> None:
    loss = tuned("0.01", delta, epsilon)
    best = loss.time_for(Fraction(epsilon))
    for factor in (Fraction(1, 4), Fraction(4)) if float(delta) < 0.1 else ():
        other = BrownianLoss(loss.sensitivity, loss.delta, loss.mixture * factor)
        assert other.time_for(Fraction(epsilon)) >= best
    assert loss.at(best) <= Fraction(epsilon)


def test_tuned_at_half_of_the_largest_charge() -> None:
    """The numbers that the docstring gives."""
    loss = tuned(1, MICRO, 5)
    charges = [Fraction(math.exp(x)) for x in np.linspace(math.log(0.05), math.log(10), 21)]
    excess = [float(loss.time_for(e) / tuned(1, MICRO, e).time_for(e)) for e in charges]
    assert max(excess) == pytest.approx(1.27, abs=0.005)
    assert np.mean(excess) == pytest.approx(1.11, abs=0.005)
    assert excess[-1] == pytest.approx(1.03, abs=0.005)


# The bound holds at all times at once.


@cache
def highest_ratios() -> tuple[Array, Array]:
    """Of 20000 Brownian paths on a fine grid of times: the largest β/√(2t ln(1/δ)), and the largest loss over E."""
    rng = np.random.default_rng(2022)
    times = np.exp(np.linspace(math.log(1e-2), math.log(1e6), 3000))
    loss = BrownianLoss(Fraction(1), Fraction(str(DELTA)), Fraction(1))
    steps = np.sqrt(np.diff(times, prepend=0.0))
    path, pointwise, charged = np.zeros(20000), np.full(20000, -np.inf), np.full(20000, -np.inf)
    for time, step in zip(times, steps, strict=True):
        path += step * rng.standard_normal(20000)
        np.maximum(pointwise, path / math.sqrt(2 * time * math.log(1 / DELTA)), out=pointwise)
        loss_now = 1 / (2 * time) + path / time
        np.maximum(charged, loss_now / float(loss.at(Fraction(time))), out=charged)
    return pointwise, charged


@pytest.mark.statistical
def test_paths_exceed_the_charge_with_probability_at_most_delta() -> None:
    """False alarm: 1e-7 if the probability is δ; that it is near δ shows that one side is all there is to cover."""
    _, charged = highest_ratios()
    exceeded = int((charged > 1).sum())
    assert stats.binom.sf(exceeded, charged.size, DELTA) > FALSE_ALARM
    assert exceeded > 0.7 * DELTA * charged.size


@pytest.mark.statistical
def test_a_bound_for_one_time_fails_for_all_of_them() -> None:
    pointwise, _ = highest_ratios()
    exceeded = int((pointwise > 1).sum())
    assert stats.binom.sf(exceeded, pointwise.size, 2 * DELTA) < FALSE_ALARM


def test_loss_of_a_prefix_is_that_of_its_last_value() -> None:
    rng = np.random.default_rng(3)
    times, v, other = np.array([9.0, 4.0, 3.5, 0.5]), 0.3, -0.6
    for k in range(1, 5):
        seen = v + rng.standard_normal(k)
        covariance = np.minimum.outer(times[:k], times[:k])
        densities = [stats.multivariate_normal(np.full(k, m), covariance).logpdf(seen) for m in (v, other)]
        beta, time = seen[-1] - v, times[k - 1]
        assert densities[0] - densities[1] == pytest.approx((v - other) ** 2 / (2 * time) + (v - other) / time * beta)


# The path.

TIMES = (Fraction(5), Fraction(2), Fraction(7, 4), Fraction(1, 3))


@cache
def paths() -> Array:
    """4000 paths of two coordinates, shape (T, 8000), without their start."""
    start = np.array([1e3, -0.1])
    found = brownian_reduction(np.tile(start, 4000), TIMES, Fraction(1, 2**20), bits=NumpyBits(7))
    return np.asarray(found - np.tile(start, 4000))


@pytest.mark.statistical
def test_values_are_normal_with_the_variance_of_their_time() -> None:
    for time, noise in zip(TIMES, paths(), strict=True):
        deviation = math.sqrt(time)
        assert stats.kstest(noise, stats.norm(scale=deviation).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(noise, stats.norm(scale=1.2 * deviation).cdf).pvalue < FALSE_ALARM


@pytest.mark.statistical
def test_increments_are_independent_normals() -> None:
    noise = paths()
    parts = [*(noise[:-1] - noise[1:]), noise[-1]]
    variances = [*(late - soon for late, soon in pairwise(TIMES)), TIMES[-1]]
    for part, variance in zip(parts, variances, strict=True):
        assert stats.kstest(part, stats.norm(scale=math.sqrt(variance)).cdf).pvalue > FALSE_ALARM
    for i, left in enumerate(parts):
        for right in parts[:i]:
            assert stats.pearsonr(left, right).pvalue > FALSE_ALARM
            assert stats.pearsonr(left**2, right**2).pvalue > FALSE_ALARM
    assert stats.pearsonr(noise[0, 0::2], noise[0, 1::2]).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_covariance_is_the_smaller_time() -> None:
    """The error of an entry has a deviation of √(c_ii c_jj + c_ij²)/√n; 5.4 of them are exceeded in 1e-7 of cases."""
    wanted = np.minimum.outer(np.array(TIMES, float), np.array(TIMES, float))
    deviation = np.sqrt((np.outer(wanted.diagonal(), wanted.diagonal()) + wanted**2) / paths().shape[1])
    assert (np.abs(np.cov(paths()) - wanted) < 5.4 * deviation).all()


def exact_sums(bits: NumpyBits, steps: list[Fraction]) -> list[Fraction]:
    """B at growing times, from the same uniforms, to 2^−200."""
    sums, total = [], Fraction(0)
    for normal, step in zip(standard_normals(len(steps), bits=bits), steps, strict=True):
        with working_precision(1088):
            ball = normal.ball(1024) * (Formula(lambda step=step: Constant(step).ball(1).sqrt()).ball(1))
            mantissa, power = ball.mid().man_exp()
        total += Fraction(int(mantissa)) * Fraction(2) ** int(power)
        sums.append(total)
    return sums


@every("grid", [Fraction(4), Fraction(1), Fraction(1, 8), FINE])
def test_every_value_is_the_nearest_multiple(grid: Fraction) -> None:
    start = 0.7
    found = brownian_reduction(np.array([start]), TIMES, grid, bits=WideWidths(11))[:, 0]
    steps = [TIMES[3], TIMES[2] - TIMES[3], TIMES[1] - TIMES[2], TIMES[0] - TIMES[1]]
    for value, noise in zip(found[::-1], exact_sums(WideWidths(11), steps), strict=True):
        assert Fraction(value) / grid == round((Fraction(start) + noise) / grid)


@every("seed", range(20))
def test_refining_bit_by_bit_ends_at_the_same_floors(seed: int) -> None:
    """Sums that are decided at the first digits wait for the one that is not; all are of the same numbers."""
    bits = TinyWidths(seed)
    normals = standard_normals(7, bits=bits)
    found = floors_of_sums(normals, bits=bits)
    parts = [float(normal_value(normal)) for normal in normals]
    sums = np.cumsum(parts)
    assert np.abs(sums - np.rint(sums)).min() > 1e-9  # floats settle these floors
    assert found == [math.floor(total) for total in sums]


def normal_value(normal: Formula | Any) -> Fraction:
    with working_precision(700):
        mantissa, power = normal.ball(600).mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


def test_a_thousand_times_are_no_deep_recursion() -> None:
    times = [Fraction(1001 - k) for k in range(1, 1001)]
    path = brownian_reduction(np.zeros(2), times, FINE, bits=NumpyBits(1))
    assert path.shape == (1000, 2)
    assert len(np.unique(path)) == 2000


def test_shape_and_one_time() -> None:
    assert brownian_reduction(np.zeros(3), [Fraction(1)], FINE, bits=NumpyBits(1)).shape == (1, 3)
    assert brownian_reduction(np.zeros(0), TIMES, FINE, bits=NumpyBits(1)).shape == (4, 0)


def test_little_noise_leaves_the_values() -> None:
    start = np.array([0.25, -3.0, 1e6])
    tiny = [Fraction(1, 10**20), Fraction(1, 10**21)]
    assert (brownian_reduction(start, tiny, Fraction(1, 4), bits=NumpyBits(2)) == start).all()


BAD: list[tuple[list[Fraction], Fraction]] = [
    ([], FINE),
    ([Fraction(1), Fraction(1)], FINE),
    ([Fraction(1), Fraction(2)], FINE),
    ([Fraction(1), Fraction(0)], FINE),
    ([Fraction(-1)], FINE),
    ([Fraction(1)], Fraction(0)),
    ([Fraction(1)], Fraction(-2)),
    ([Fraction(1)], Fraction(3)),
    ([Fraction(1)], Fraction(2, 3)),
]


@every(("times", "grid"), BAD)
def test_path_rejects_what_is_no_path(times: list[Fraction], grid: Fraction) -> None:
    with pytest.raises(BadParameter):
        brownian_reduction(np.zeros(1), times, grid, bits=NumpyBits(1))


def laplace_wins(p: int, epsilon: float, choose: Callable[[float], BrownianLoss]) -> bool:
    time = float(choose(epsilon).time_for(Fraction(epsilon)))
    return 2 * p**2 / epsilon**2 < p * time


@pytest.mark.parametrize(("epsilon", "last"), [(0.05, 15), (1.0, 15), (10.0, 20)])
def test_less_noise_than_laplace_from_some_dimension(epsilon: float, last: int) -> None:
    """The dimensions that the proof note gives, at δ = 1e-6, κ tuned for the charge itself."""

    def choose(target: float) -> BrownianLoss:
        return tuned(1, MICRO, target)

    assert laplace_wins(last, epsilon, choose)
    assert not laplace_wins(last + 1, epsilon, choose)
