"""Noise reduction: the law of its walk on the lattice, what its prefixes tell, and how it decides."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from flint import arb
from scipy import stats
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits

from dpmine.exact.reals import Ball, exact_ball, working_precision
from dpmine.models.accuracy_first import noise_reduction as module
from dpmine.models.accuracy_first.noise_reduction import Lattice, _squared_sinh, _Survival, _walk, noise_reduction

if TYPE_CHECKING:
    from collections.abc import Mapping


Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

FALSE_ALARM = 1e-7  # for each statistic below that is not `assert_sampled_law`, which has its own; seeds are fixed
DRAWS = 60_000
COARSE = (9, 5, 5, 3, 1)  # scales of noise in steps: so small that rounding to whole steps shows
FAR = 12


def share(scale: int) -> float:
    """S = sinh²(1/(2m))."""
    return math.sinh(0.5 / scale) ** 2


def discrete_laplace_law(scale: int, far: int = FAR) -> dict[int, float]:
    """Pr[k] ∝ e^{−|k|/m} on −far … far, the tails put on the ends."""
    ratio = math.exp(-1 / scale)
    law = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-far, far + 1)}
    law[far] /= 1 - ratio
    law[-far] /= 1 - ratio
    return law


def mixture_law(keep: float, scale: int, far: int = FAR) -> dict[int, float]:
    """0 with probability `keep`, otherwise discrete Laplace."""
    law = {k: (1 - keep) * mass for k, mass in discrete_laplace_law(scale, far).items()}
    law[0] += keep
    return law


def walks(scales: tuple[int, ...], *, seed: int, count: int = DRAWS) -> Array:
    """v_1, …, v_T of many coordinates that begin at 0; shape (T, count), in steps."""
    start = np.zeros(count, dtype=np.int64)
    return np.array(list(_walk(start, Lattice(Fraction(1), scales), bits=NumpyBits(seed)))).astype(np.int64)


def assert_law(draws: Array, law: Mapping[int, float], far: int = FAR) -> None:
    values = iter(np.clip(draws, -far, far).tolist())
    assert_sampled_law(lambda _: next(values), law, draws=len(draws))


# The walk, by its definition


RATIOS = [Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), Fraction(99, 100)]


def exact_law(ratio: Fraction, k: int) -> Fraction:
    return (1 - ratio) / (1 + ratio) * ratio ** abs(k)


def exact_sum_law(p: Fraction, q: Fraction, k: int) -> Fraction:
    """Pr[X + Y = k], k ≥ 0, of independent discrete Laplace numbers: two geometric tails and what lies between them."""
    tails = (p**k + q**k) * p * q / (1 - p * q)
    between = sum((p**j * q ** (k - j) for j in range(k + 1)), Fraction(0))
    return (1 - p) / (1 + p) * (1 - q) / (1 + q) * (tails + between)


def exact_share(ratio: Fraction) -> Fraction:
    """sinh²(x/2) where e^{−x} is the ratio."""
    return (1 - ratio) ** 2 / (4 * ratio)


def mixed(less: Fraction, more: Fraction, keep: Fraction, k: int) -> Fraction:
    """The law of the noisier value: noise of ratio `less` stays with probability `keep`, or gets more on top."""
    return keep * exact_law(less, k) + (1 - keep) * exact_sum_law(less, more, k)


@every(("less", "more"), list(combinations_with_replacement(RATIOS, 2)))
def test_mixture_is_discrete_laplace(less: Fraction, more: Fraction) -> None:
    """An identity of rational numbers: it holds for any e^{−1/m}, not only for whole m."""
    keep = exact_share(more) / exact_share(less)
    assert all(mixed(less, more, keep, k) == exact_law(more, k) for k in range(12))
    assert less == more or mixed(less, more, keep * Fraction(99, 100), 0) != exact_law(more, 0)


@every("scale", [1, 2, 7, 1000, 2**57])
def test_share_is_that_of_the_identity(scale: int) -> None:
    with working_precision(400):
        ratio = (-exact_ball(Fraction(1, scale))).exp()
        wanted = (1 - ratio) ** 2 / (4 * ratio)
        found = _squared_sinh(scale)
        assert found.overlaps(wanted)
        assert (found - wanted).abs_upper() < wanted.abs_lower() * arb(2) ** -150


def test_share_tends_to_the_published_one() -> None:
    """(ε_t/ε_{t+1})² on a fine lattice; what is missing is quadratic in the step."""
    for size in (10**3, 10**6):
        ratio = share(size) / share(size // 5)
        assert ratio == pytest.approx(1 / 25, rel=3 / size**2 + 1e-9)


# What prefixes tell: three steps, ε = 1/4, 1/2, 1 where values differ by K = 2 steps.

TINY, MOVED = (8, 4, 2), 2
WIDE = 300


def prefix_losses(
    scales: tuple[int, ...], keeps: tuple[float, float], more: tuple[int, int]
) -> tuple[float, float, float]:
    """The largest log ratio of the laws of each prefix for values 0 and K, by summing over all paths.

    v_3 has noise of the last scale; v_t is v_{t+1} with probability keeps[t], or else gets noise of scale more[t].
    """
    steps = np.arange(-WIDE, WIDE + 1)

    def law(scale: int, at: Array) -> Array:
        masses: Array = np.tanh(0.5 / scale) * np.exp(-np.abs(at) / scale)
        return masses

    second = (1 - keeps[1]) * law(more[1], steps) + keeps[1] * (steps == 0)
    first = (1 - keeps[0]) * law(more[0], steps) + keeps[0] * (steps == 0)
    losses = []
    for value in (0, MOVED):
        last = law(scales[2], steps - value)
        middle = np.convolve(last, second, mode="same")  # prefix 2: given v_2, v_1 does not depend on the value
        losses.append([np.log(np.convolve(middle, first, mode="same")), np.log(middle), np.log(last)])
    near = slice(WIDE - 40, WIDE + 41)  # the tails that are cut off do not show here
    found = [float(np.abs(a - b)[near].max()) for a, b in zip(*losses, strict=True)]
    return found[0], found[1], found[2]


def table_keeps(scales: tuple[int, ...]) -> tuple[float, float]:
    """The probabilities that the code uses."""
    table = _Survival(scales)._table
    return float(table[0] / table[1]), float(table[1] / table[2])


def test_prefix_costs_its_level_exactly() -> None:
    losses = prefix_losses(TINY, table_keeps(TINY), TINY[:2])
    assert losses == pytest.approx([MOVED / scale for scale in TINY], rel=1e-9)


def test_privacy_test_sees_the_ratio_without_its_square() -> None:
    losses = prefix_losses(TINY, (1 / 2, 1 / 2), TINY[:2])
    assert losses[0] > MOVED / TINY[0] + 0.01
    assert losses[1] > MOVED / TINY[1] + 0.01


def test_privacy_test_sees_too_little_noise() -> None:
    losses = prefix_losses(TINY, table_keeps(TINY), (TINY[1], TINY[2]))
    assert losses[0] > MOVED / TINY[0] + 0.01
    assert losses[1] > MOVED / TINY[1] + 0.01


# The walk, as drawn


@pytest.mark.statistical
@pytest.mark.parametrize("step", range(len(COARSE)))
def test_marginals_are_discrete_laplace(step: int) -> None:
    found = walks(COARSE, seed=1)[step]
    far = 4 * COARSE[step]
    assert_law(found, discrete_laplace_law(COARSE[step], far), far)
    with pytest.raises(AssertionError):
        assert_law(found, discrete_laplace_law(COARSE[step] + 1, far), far)


@pytest.mark.statistical
@pytest.mark.parametrize(("early", "late"), [(i, j) for j in range(5) for i in range(j)])
def test_difference_of_any_two_steps(early: int, late: int) -> None:
    """v_i − v_j is 0 with probability S_i/S_j, otherwise discrete Laplace of scale m_i, however far apart they are."""
    path = walks(COARSE, seed=2)
    keep = share(COARSE[early]) / share(COARSE[late])
    if keep == 1:
        assert (path[early] == path[late]).all()
        return
    assert_law(path[early] - path[late], mixture_law(keep, COARSE[early]))
    with pytest.raises(AssertionError):
        assert_law(path[early] - path[late], mixture_law(keep**0.5, COARSE[early]))


@pytest.mark.statistical
@pytest.mark.parametrize(("early", "late"), [(0, 1), (0, 3), (2, 4), (0, 4)])
def test_noise_survives_as_a_whole(early: int, late: int) -> None:
    """No jump between two steps, counted by jumps and not by differences, as a jump may be of 0 steps."""
    found = _walk(np.zeros(DRAWS, dtype=np.int64), Lattice(Fraction(1), COARSE), bits=NumpyBits(3))
    jumped = np.unique(found.places[found.starts[early] : found.starts[late]])
    keep = share(COARSE[early]) / share(COARSE[late])
    assert stats.binomtest(DRAWS - len(jumped), DRAWS, keep).pvalue > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_jump_is_noise_of_the_scale_of_its_step(step: int) -> None:
    found = _walk(np.zeros(DRAWS, dtype=np.int64), Lattice(Fraction(1), COARSE), bits=NumpyBits(4))
    changes = found.changes[found.starts[step] : found.starts[step + 1]]
    assert_law(changes, discrete_laplace_law(COARSE[step]))
    with pytest.raises(AssertionError):
        assert_law(changes, discrete_laplace_law(COARSE[step + 1] if COARSE[step + 1] < COARSE[step] else 6))


def three_steps(path: Array) -> list[tuple[int, int, int]]:
    """(v_3, v_2 − v_3, v_1 − v_2), cut at ±3."""
    parts = np.clip([path[2], path[1] - path[2], path[0] - path[1]], -3, 3)
    return [(int(a), int(b), int(c)) for a, b, c in parts.T]


def joint_law(keeps: tuple[float, float]) -> dict[tuple[int, int, int], float]:
    last, second, first = (
        discrete_laplace_law(2, 3),
        mixture_law(keeps[1], 4, 3),
        mixture_law(keeps[0], 8, 3),
    )
    return {(a, b, c): last[a] * second[b] * first[c] for a in last for b in second for c in first}


def assert_joint_law(path: Array, law: Mapping[tuple[int, int, int], float]) -> None:
    values = iter(three_steps(path))
    assert_sampled_law(lambda _: next(values), law, draws=path.shape[1])


@pytest.mark.statistical
def test_joint_law_is_that_of_the_definition() -> None:
    """The law whose prefixes are private: last value, and two steps back that know nothing of it."""
    path = walks(TINY, seed=5)
    assert_joint_law(path, joint_law((share(8) / share(4), share(4) / share(2))))
    with pytest.raises(AssertionError):
        assert_joint_law(path, joint_law((1 / 2, 1 / 2)))


def _not_squared(scale: int) -> Ball:
    return exact_ball(Fraction(1, 2 * scale)).sinh()


@pytest.mark.statistical
def test_joint_law_sees_a_survival_without_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_squared_sinh", _not_squared)
    with pytest.raises(AssertionError):
        assert_joint_law(walks(TINY, seed=5), joint_law((share(8) / share(4), share(4) / share(2))))


@pytest.mark.statistical
def test_coordinates_are_independent() -> None:
    """Neighbouring coordinates, and coordinates far apart, of each value and of each change."""
    path = walks(TINY, seed=6).astype(float)
    for row in [*path, path[0] - path[1], path[1] - path[2]]:
        for lag in (1, 2, DRAWS // 2):
            assert stats.spearmanr(row[:-lag], row[lag:]).pvalue > FALSE_ALARM
            assert stats.spearmanr(np.abs(row[:-lag]), np.abs(row[lag:])).pvalue > FALSE_ALARM
    assert stats.spearmanr(np.abs(path[2]), np.abs(path[1] - path[2])).pvalue > FALSE_ALARM


LEVELS = tuple(Fraction(f"{10 ** (-3 + 4 * k / 99):.5e}") for k in range(100))


@pytest.mark.statistical
def test_every_level_has_laplace_noise_of_its_own_size() -> None:
    values = np.linspace(-50, 50, 20_000)
    noisy = list(noise_reduction(values, Fraction(4), LEVELS, bits=NumpyBits(7)))
    assert len(noisy) == 100
    for step in range(9, 100, 10):
        scale = 4 / float(LEVELS[step])
        assert stats.kstest(noisy[step] - values, stats.laplace(scale=scale).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(noisy[step] - values, stats.laplace(scale=1.2 * scale).cdf).pvalue < FALSE_ALARM


@pytest.mark.statistical
def test_noise_survives_as_published() -> None:
    """On a fine lattice: (ε_i/ε_j)², and jumps of 0 steps are too rare to show."""
    noisy = list(noise_reduction(np.zeros(20_000), Fraction(1), LEVELS, bits=NumpyBits(8)))
    for early, late in [(0, 1), (20, 30), (50, 51), (10, 90), (98, 99)]:
        kept = int((noisy[early] == noisy[late]).sum())
        chance = float((LEVELS[early] / LEVELS[late]) ** 2)
        assert stats.binomtest(kept, 20_000, chance).pvalue > FALSE_ALARM
