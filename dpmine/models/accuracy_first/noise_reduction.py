"""Noise reduction: one vector at many privacy levels, each release costing its own level and not the sum.

The published walk has Laplace noise on the real line. Here it runs on a lattice of whole steps, where its law can be
drawn exactly: noise k with Pr[k] ∝ e^{−|k|/m}, and a coordinate keeps its noise from step t + 1 to step t with
probability S_t/S_{t+1}, S_t = sinh²(1/(2m_t)). As the lattice gets finer this is the published (ε_t/ε_{t+1})².
Source: Koufogiannis, Han & Pappas 2017; Ligett et al. 2017, Algorithm 1. Proof: docs/proofs/models/noise_reduction.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.noise import discrete_laplace, words
from dpmine.exact.reals import Formula, Uniform, exact_ball, less_than, power_below, working_precision

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.exact.noise import Integers
    from dpmine.exact.reals import Ball
    from dpmine.models.supervised import Floats

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
            raise BadParameter("The smallest privacy level is too small for so many numbers: start at a larger one.")
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

    A prefix of t arrays is private at level t; looking at one more costs the difference of the levels.

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
    Law: each coordinate is rounded to a lattice of step g; v_T adds discrete Laplace noise of scale m_T steps; v_t is
    v_{t+1} with probability S_t/S_{t+1}, otherwise v_{t+1} with more noise, of scale m_t (see `Lattice`).
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
        least = drawn.astype(np.float64) * scaled * (1.0 - _MARGIN)
        largest = (drawn.astype(np.float64) + 1.0) * scaled * (1.0 + _MARGIN)
        steps = np.searchsorted(self._table, least, side="right") - 1  # below `since`, as `least` is below its entry
        for place in np.flatnonzero(self._table[steps + 1] <= largest):
            end = min(since[place], np.searchsorted(self._table, largest[place], side="right"))
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
