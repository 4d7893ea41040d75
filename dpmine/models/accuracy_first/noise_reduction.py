"""Noise reduction: one vector under noise that falls, charged for the last value that was seen and not for the sum.

Laplace noise: the published walk is on the real line. Here it runs on a lattice of whole steps, where it can be drawn
exactly: noise k has Pr[k] ∝ e^{−|k|/m}. A coordinate keeps its noise from step t + 1 to step t with probability
S_t/S_{t+1}, S_t = sinh²(1/(2m_t)). As the lattice gets finer this is the published (ε_t/ε_{t+1})².
Source: Koufogiannis, Han & Pappas 2017; Ligett et al. 2017, Algorithm 1. Proof: docs/proofs/models/noise_reduction.md.

Gaussian noise: v + B_t is released for falling times t, where B is a Brownian motion in ℝ^p. So v + B_t has variance t
per coordinate, and given a value the ones before it say nothing more about v.
Proof: docs/proofs/models/brownian_noise_reduction.md.
Source: Whitehouse, Wu, Ramdas & Rogers 2022, "Brownian noise reduction". The mixture on one side only is this
project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil
from operator import mul
from typing import TYPE_CHECKING, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.noise import Integers, discrete_laplace, words
from dpmine.exact.reals import (
    Ball,
    Constant,
    Formula,
    Real,
    Uniform,
    above,
    exact_ball,
    floors_of_sums,
    less_than,
    logarithm,
    power_below,
    standard_normals,
    working_precision,
)
from dpmine.later import flint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats


_FINENESS = 20  # bits: rounding to the lattice adds at most 2^−20 to the sensitivity, where 64 bits allow it
_COARSEST = 4
_WIDEST = 2**56  # lattice steps: noise of this scale wraps around 64 bits with probability e^{−128}
_FARTHEST = 2**61  # lattice steps: values beyond it are taken to be there
_SMALLEST_POWER, _LARGEST_POWER = -1022, 959
"""Of two, for the lattice: within them a step, and 2^64 of them, are ordinary floats."""
_MARGIN = 2.0**-48
"""What a few rounded operations on 53-bit numbers may be wrong by, and more."""
_TABLE_BITS = 128


def require_increasing(epsilons: Sequence[Fraction]) -> None:
    """BadParameter unless 0 < ε_1 < … < ε_T, T ≥ 1."""
    if not epsilons or epsilons[0] <= 0 or any(b <= a for a, b in pairwise(epsilons)):
        raise BadParameter("epsilons must be numbers above 0, each larger than the one before.")


@dataclass(frozen=True, slots=True)
class Lattice:
    """Where noisy values live, and how much noise each privacy level takes.

    Attributes:
        step: g, a power of two, in units of the values.
        scales: m_1 ≥ … ≥ m_T, of the noise, in steps.
    """

    step: Fraction
    scales: tuple[int, ...]

    @classmethod
    def of(cls, epsilons: Sequence[Fraction], *, sensitivity: Fraction, coordinates: int) -> Lattice:
        """m_t = ⌈K/ε_t⌉ with K = ⌊Δ/g⌋ + p: what p rounded values can differ by when the values differ by Δ in L1.

        Raises BadParameter for levels that do not increase, where the smallest is too small for 64 bits, and where the
        step is not a float.
        """
        require_increasing(epsilons)
        room = _WIDEST * epsilons[0] / coordinates
        fineness = min(_FINENESS, power_below(room) - 1)
        if fineness < _COARSEST:
            raise BadParameter("The smallest privacy level is too small for this many numbers: start at a larger one.")
        power = power_below(sensitivity / coordinates) - fineness
        if not _SMALLEST_POWER <= power <= _LARGEST_POWER:
            raise BadParameter("The sensitivity is too small or too large for 64-bit floats: use another unit.")
        step = Fraction(2) ** power
        moved = sensitivity // step + coordinates
        return cls(step, tuple(ceil(moved / epsilon) for epsilon in epsilons))

    def rounded(self, values: Floats) -> Integers:
        """The values in steps, to the nearest."""
        farthest = float(_FARTHEST * self.step)
        return np.rint(np.clip(values, -farthest, farthest) / float(self.step)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class NoisyValues:
    """v_1, …, v_T in turn, the noisiest first; as floats, shape (p,), a new array each.

    A prefix of t arrays is private at level t; looking at one more is charged the difference of the levels.

    Attributes:
        lattice: of p coordinates.
        first: v_1 in steps.
        places: the coordinates whose noise shrinks, shape (J,), by the step after which it does.
        changes: what they lose, in steps, shape (J,).
        starts: where the changes after each step begin in `places`, shape (T + 1,).
    """

    lattice: Lattice
    first: Integers
    places: NDArray[np.intp]
    changes: Integers
    starts: NDArray[np.intp]

    def __iter__(self) -> Iterator[Floats]:
        current, step = self.first.copy(), float(self.lattice.step)
        for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield current.astype(np.float64) * step
            current[self.places[begin:end]] -= self.changes[begin:end]


def noise_reduction(
    values: Floats, sensitivity: Fraction, epsilons: Sequence[Fraction], *, bits: BitSource
) -> NoisyValues:
    """NR(v, Δ, ε_1 < … < ε_T) of finite values, shape (p,), p ≥ 1, whose L1 sensitivity is Δ = `sensitivity` > 0.

    Privacy: the first t of the noisy vectors are ε_t-private, for every t.
    Each coordinate is rounded to a lattice of step g. The last vector v_T adds discrete Laplace noise of scale m_T
    steps. The vector v_t is v_{t+1} with probability S_t/S_{t+1}, otherwise v_{t+1} with more noise, of scale m_t (see
    `Lattice`).
    Raises BadParameter as `Lattice.of`.
    """
    lattice = Lattice.of(epsilons, sensitivity=sensitivity, coordinates=len(values))
    return _walk(lattice.rounded(values), lattice, bits=bits)


def _walk(start: Integers, lattice: Lattice, *, bits: BitSource) -> NoisyValues:
    """The walk from values in steps: the jumps of all coordinates first, then all the noise at once."""
    scales = np.array(lattice.scales, dtype=np.int64)
    places, steps = _all_jumps(_Survival(lattice.scales), len(start), bits=bits)
    order = np.argsort(steps, kind="stable")
    places, steps = places[order], steps[order]
    noise = discrete_laplace(np.concatenate([np.full(len(start), scales[-1]), scales[steps]]), bits=bits)
    changes = noise[len(start) :]
    first = start + noise[: len(start)]
    np.add.at(first, places, changes)
    return NoisyValues(lattice, first, places, changes, np.searchsorted(steps, np.arange(len(scales) + 1)))


def _all_jumps(survival: _Survival, coordinates: int, *, bits: BitSource) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which coordinates get more noise, and at which steps, on the way back from the last step to the first."""
    places, steps = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    going, since = np.arange(coordinates), np.full(coordinates, survival.last)
    while len(going):
        since = survival.next_jumps(since, bits=bits)
        going, since = going[since >= 0], since[since >= 0]
        places.append(going)
        steps.append(since)
    return np.concatenate(places), np.concatenate(steps)


class _Survival:
    """When noise ends that began at step j: it lives on down to step i with probability S_i/S_j."""

    def __init__(self, scales: Sequence[int]) -> None:
        self._scales = scales
        with working_precision(_TABLE_BITS):
            self._table = np.array([float(_squared_sinh(scale).mid()) for scale in scales])

    @property
    def last(self) -> int:
        """The last step, counted from 0."""
        return len(self._scales) - 1

    def next_jumps(self, since: NDArray[np.intp], *, bits: BitSource) -> NDArray[np.intp]:
        """The steps i < j that noise from steps j gets more noise at; −1 where it lives on to the first step.

        Law: i is the largest with S_i ≤ U·S_j, U uniform. Floats decide where their rounding cannot matter.
        """
        drawn = words(len(since), np.uint64, bits=bits)
        scaled = self._table[since] * 2.0**-64
        lowest = drawn.astype(np.float64) * scaled * (1.0 - _MARGIN)
        highest = (drawn.astype(np.float64) + 1.0) * scaled * (1.0 + _MARGIN)
        steps = np.searchsorted(self._table, lowest, side="right") - 1  # below `since`, as `lowest` is below its entry
        for place in np.flatnonzero(self._table[steps + 1] <= highest):
            end = min(since[place], np.searchsorted(self._table, highest[place], side="right"))
            candidates = range(int(steps[place]) + 1, int(end))
            steps[place] += self._decided(int(drawn[place]), int(since[place]), candidates, bits=bits)
        return steps

    def _decided(self, drawn: int, since: int, candidates: range, *, bits: BitSource) -> int:
        """How many of the candidates i, which are increasing, have S_i < U·S_j; `drawn` is the first digits of U."""
        uniform = Uniform(drawn, 64, bits=bits)
        for count, step in zip(range(len(candidates), 0, -1), reversed(candidates), strict=True):
            if less_than(self._share(step, since), uniform, bits=bits):
                return count
        return 0

    def _share(self, step: int, since: int) -> Formula:
        scales = self._scales[step], self._scales[since]
        return Formula(lambda: _squared_sinh(scales[0]) / _squared_sinh(scales[1]))


def _squared_sinh(scale: int) -> Ball:
    """sinh²(1/(2m))."""
    return (exact_ball(Fraction(1, 2 * scale))).sinh() ** 2


_PRECISION = 128
"""Bits for the balls of the privacy loss."""
_DIGITS = 16
"""Binary digits of a time: the loss of the next shorter one differs by less than 2^−15 of itself."""
_ROUNDS = 64
"""Of r ← ln(1 + r) + C; each shrinks the error by 1 + r ≥ 2."""


@dataclass(frozen=True, slots=True)
class BrownianLoss:
    """What is charged for v + B_t and everything before it, v of L2 sensitivity Δ₂, at every time t > 0.

    E(t) = Δ₂²/(2t) + (Δ₂/t) √(t + κ) x(t), rounded up. Here x solves
    x²/2 + ln(1 + erf(x/√2)) = ln((t + κ)/κ)/2 + ln(1/δ). This is close to the published bound with 2δ for δ. The loss
    exceeds E at any time of the path with probability at most δ. So E may be charged at a time that is chosen by
    looking at the path.
    Source: Whitehouse, Wu, Ramdas & Rogers 2022, the mixture boundary; section 6 of the proof note.
    """

    sensitivity: Fraction
    """Δ₂ > 0."""
    delta: Fraction
    """δ, once for the whole path."""
    mixture: Fraction
    """κ > 0, a public constant in units of time; any is valid, `tuned` takes a good one."""

    @classmethod
    def tuned(cls, sensitivity: Fraction, delta: Fraction, epsilon: Fraction) -> Self:
        """The loss whose κ makes the time that is charged `epsilon` shortest; all three are public.

        κ = t/r with r = ln(1 + r) + 2 ln(1/(2δ)), t the time that is charged `epsilon`; r ≈ 30 at δ = 1e-6.
        Take half of the largest ε that may be charged. This was measured at δ = 1e-6 and charges from 0.05 to 10. κ
        tuned at 5 takes at most 1.27 times the noise variance of a κ tuned for the charge itself. It is 1.11 on average
        over ln ε, and 1.03 at 10. Tuned at 10 it is 1.31 (1.14, 1), at 2.5 it is 1.23 (1.09, 1.18). Too small an ε is
        much worse. Tuned at the geometric middle, 0.71, it is 2.4 at 10; tuned at 0.05 it is 26.
        Requires: positive numbers, a delta below 1.
        """
        return cls(sensitivity, delta, sensitivity**2 * _tuned(delta, epsilon))

    def at(self, time: Fraction) -> Fraction:
        """E(time) for the value of variance `time` > 0 per coordinate: an ε, rounded up."""
        return above(lambda: self._balls()(exact_ball(time)), _PRECISION)

    def time_for(self, epsilon: Fraction) -> Fraction:
        """The shortest time of 16 binary digits with E(time) ≤ `epsilon`, which is above 0.

        E falls as time grows (section 9 of the proof note). Only how good the time is hangs on that: its own E is
        compared.
        """
        power = power_below(self.sensitivity**2 / epsilon)
        with working_precision(_PRECISION):
            loss, most = self._balls(), exact_ball(epsilon)
            while not loss(flint.arb((1, power))) <= most:
                power += 1
            while loss(flint.arb((1, power - 1))) <= most:
                power -= 1
            low, high = 1 << (_DIGITS - 1), 1 << _DIGITS
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if loss(flint.arb((middle, power - _DIGITS))) <= most else (middle, high)
        while self.at(_binary(high, power - _DIGITS)) > epsilon:
            high += 1  # at most once: `at` rounds the end of the ball up
        return _binary(high, power - _DIGITS)

    def _balls(self) -> Callable[[Ball], Ball]:
        """E at the working precision."""
        width, rarity, mixture = exact_ball(self.sensitivity), -logarithm(self.delta), exact_ball(self.mixture)

        def loss(time: Ball) -> Ball:
            square = (time + mixture) * _squared_boundary((time / mixture).log1p() / 2 + rarity)
            return width * (width / 2 + square.sqrt()) / time

        return loss


def _squared_boundary(right: Ball) -> Ball:
    """Not below x², where x²/2 + ln(1 + erf(x/√2)) = right > 0: x² with a lower bound of x put into the erf."""
    half_square = (right - flint.arb.const_log2()).nonnegative_part()
    return 2 * (right - half_square.sqrt().erf().log1p())


def _tuned(delta: Fraction, epsilon: Fraction) -> Fraction:
    """A κ for sensitivity 1: near the best, and some positive number in any case."""
    doubled = max(0.0, -2.0 * math.log(2.0 * float(delta)))
    ratio = 1.0
    for _ in range(_ROUNDS):
        ratio = max(1.0, math.log1p(ratio) + doubled)
    slope = math.sqrt(1.0 + ratio)
    target = float(epsilon)
    root = 2.0 * target / (slope + math.sqrt(slope * slope + 2.0 * target))  # of s²/2 + slope·s = ε, s = 1/√t
    return _short(1.0 / (root * root * ratio))


def _short(value: float) -> Fraction:
    """A positive float to 16 binary digits."""
    mantissa, power = math.frexp(value)
    return _binary(round(mantissa * 2.0**_DIGITS), power - _DIGITS)


def _binary(mantissa: int, power: int) -> Fraction:
    return mantissa * Fraction(2) ** power


def brownian_reduction(values: Floats, times: Sequence[Fraction], grid: Fraction, *, bits: BitSource) -> Floats:
    """The values v + B_t at `times`, shape (T, p), each rounded exactly to the nearest multiple of `grid`.

    Requires: `values` is v, shape (p,), finite; `times` fall strictly and are positive; `grid` is a power of two. What
    is released is a first part of the rows: k rows are charged `BrownianLoss.at(times[k - 1])`.
    The coordinates of B are independent Brownian motions, that is normal processes with mean 0 and
    Cov(B_s, B_t) = min(s, t). Where a multiple of the grid has more than 53 bits, the nearest float stands for it.
    Raises BadParameter for times that do not fall, or a grid that is no power of two.
    Source: Whitehouse, Wu, Ramdas & Rogers 2022, the Brownian mechanism; section 8 of the proof note, on the rounding.
    """
    _check(times, grid)
    rising = list(reversed(times))
    steps = [rising[0], *(late - soon for soon, late in pairwise(rising))]
    deviations = [Formula(partial(_square_root, step / grid**2)) for step in steps]
    columns = [_rounded_path(Fraction(float(value)) / grid, deviations, bits=bits) for value in values]
    return np.array([[float(whole * grid) for whole in column] for column in columns]).reshape(-1, len(times)).T


def _check(times: Sequence[Fraction], grid: Fraction) -> None:
    if not times or times[-1] <= 0 or any(late <= soon for late, soon in pairwise(times)):
        raise BadParameter("times must fall strictly, from the first one to a last one greater than 0.")
    if grid <= 0 or (grid.numerator * grid.denominator).bit_count() != 1:
        raise BadParameter("grid must be a power of two.")


def _rounded_path(start: Fraction, deviations: Sequence[Real], *, bits: BitSource) -> list[int]:
    """The nearest whole numbers to start + B_t, from the last, least noisy time to the first."""
    normals = standard_normals(len(deviations), bits=bits)
    steps = [Formula(mul, scale, normal) for scale, normal in zip(deviations, normals, strict=True)]
    origin = Constant(start + Fraction(1, 2))  # the floor of a number plus 1/2 is the nearest whole number
    return floors_of_sums([origin, *steps], bits=bits)[:0:-1]


def _square_root(variance: Fraction) -> Ball:
    return exact_ball(variance).sqrt()
