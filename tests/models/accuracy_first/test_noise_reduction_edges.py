"""Noise reduction: which decisions are exact, what rounding to the lattice costs, and its edges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.numpy_bits import NumpyBits
from support.tapes import TapeBits

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import less_than, working_precision
from dpmine.models.accuracy_first import noise_reduction as module
from dpmine.models.accuracy_first.noise_reduction import Lattice, NoisyValues, _Survival, _walk, noise_reduction

if TYPE_CHECKING:
    from collections.abc import Iterator


Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

COARSE = (9, 5, 5, 3, 1)
LEVELS = tuple(Fraction(f"{10 ** (-3 + 4 * k / 99):.5e}") for k in range(100))


# Decisions


def ends_at(scales: tuple[int, ...], since: int, word: int, more: int, more_bits: int = 1000) -> int:
    """The step at which the code ends noise, given the first 64 digits of U and those that follow."""
    bits = TapeBits((word << more_bits) | more, 64 + more_bits)
    return int(_Survival(scales).next_jumps(np.array([since]), bits=bits)[0])


def brute_force(scales: tuple[int, ...], since: int, word: int, more: int) -> int:
    """The largest i < j with sinh²(1/(2m_i)) ≤ U sinh²(1/(2m_j)), U in all its digits."""
    with working_precision(3000):
        ends = -1
        for step in range(since):
            ratio = (arb(1) / (2 * scales[step])).sinh() ** 2 / (arb(1) / (2 * scales[since])).sinh() ** 2
            if ratio < (arb(word) * arb(2) ** 1000 + more) / arb(2) ** 1064:
                ends = step
    return ends


def boundary(scales: tuple[int, ...], step: int, since: int) -> int:
    """The first 64 binary digits of S_i/S_j."""
    with working_precision(2000):
        ratio = (arb(1) / (2 * scales[step])).sinh() ** 2 / (arb(1) / (2 * scales[since])).sinh() ** 2
        digits = (ratio * arb(2) ** 64).floor().unique_fmpz()
    return 2**64 - 1 if digits is None else int(digits)  # equal scales: the ratio is 1


scales_lists = st.lists(
    st.one_of(st.integers(1, 30), st.integers(1, 2**57), st.integers(2**40, 2**40 + 5)), min_size=2, max_size=9
).map(lambda found: tuple(sorted(found, reverse=True)))


@given(scales_lists, st.data())
def test_noise_ends_where_the_exact_rule_says(scales: tuple[int, ...], data: st.DataObject) -> None:
    """Words next to a boundary are as likely here as any, so that all digits are asked for often."""
    since = data.draw(st.integers(0, len(scales) - 1))
    near = [boundary(scales, step, since) for step in range(since)] + [0, 2**64 - 1]
    word = data.draw(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from(near)))
    word = min(max(word + data.draw(st.integers(-1, 1)), 0), 2**64 - 1)
    more = data.draw(st.sampled_from([1, 2**999, 2**1000 - 2]))
    assert ends_at(scales, since, word, more) == brute_force(scales, since, word, more)


def test_a_word_on_the_boundary_asks_for_more_digits() -> None:
    word = boundary((7, 3), 0, 1)
    assert ends_at((7, 3), 1, word, 1) == -1
    assert ends_at((7, 3), 1, word, 2**1000 - 1) == 0
    assert ends_at((7, 3), 1, word - 1, 2**1000 - 1) == -1
    assert ends_at((7, 3), 1, word + 1, 0, 0) == 0


def same(left: NoisyValues, right: NoisyValues) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_exact_decisions_are_the_fast_ones(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With a wide margin a share of the decisions is exact. The same words decide them in the same way."""
    fast = noise_reduction(np.arange(50.0), Fraction(3), LEVELS, bits=NumpyBits(seed))
    asked = []

    def counted(*reals: Any, **source: Any) -> bool:
        asked.append(reals)
        return less_than(*reals, **source)

    monkeypatch.setattr(module, "less_than", counted)
    assert same(noise_reduction(np.arange(50.0), Fraction(3), LEVELS, bits=NumpyBits(seed)), fast)
    assert not asked
    monkeypatch.setattr(module, "_MARGIN", 0.2)
    assert same(noise_reduction(np.arange(50.0), Fraction(3), LEVELS, bits=NumpyBits(seed)), fast)
    assert len(asked) > 100


# Lattice


positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)


@given(positive, st.lists(positive, min_size=1, max_size=5, unique=True).map(sorted), st.integers(1, 5000))
def test_lattice_is_fine_and_is_charged_for_rounding(
    sensitivity: Fraction, epsilons: list[Fraction], coordinates: int
) -> None:
    lattice = Lattice.of(epsilons, sensitivity=sensitivity, coordinates=coordinates)
    assert math.log2(lattice.step).is_integer()
    assert Fraction(float(lattice.step)) == lattice.step
    moved = sensitivity // lattice.step + coordinates
    assert sensitivity < moved * lattice.step <= sensitivity * (1 + Fraction(1, 2**20))
    for scale, epsilon in zip(lattice.scales, epsilons, strict=True):
        assert 0 <= scale - moved / epsilon < 1
    assert max(lattice.scales) <= 2**57


small = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(small, small), min_size=1, max_size=6), st.sampled_from([Fraction(1), Fraction(1, 10**9)]))
def test_rounded_values_differ_by_what_is_charged_for(pairs: list[tuple[float, float]], extra: Fraction) -> None:
    """K, for the smallest sensitivity that the two vectors allow, and nearly so."""
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    distance = sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), Fraction(0)) + extra / 10**6
    lattice = Lattice.of([Fraction(1)], sensitivity=distance, coordinates=len(pairs))
    moved = np.abs(lattice.rounded(left) - lattice.rounded(right)).sum()
    assert moved <= distance // lattice.step + len(pairs)


def test_rounding_can_cost_all_that_is_charged_for() -> None:
    lattice = Lattice.of([Fraction(1)], sensitivity=Fraction(4), coordinates=4)
    half, size = float(lattice.step) / 2, 2**20
    left = np.array([half, half, half, half])  # to even: all to 0
    right = left + 2 * half * np.array([size + 0.0, size, size, size])
    assert float(np.abs(left - right).sum()) == 4
    gained = np.abs(lattice.rounded(left) - lattice.rounded(right)).sum()
    assert 4 * size <= gained <= 4 * size + 4
    odd = left + 2 * half * np.array([size - 1, size + 1, size - 1, size + 1])
    assert np.abs(lattice.rounded(left) - lattice.rounded(odd)).sum() == 4 * size + 4  # K, reached


def test_rounding_is_to_the_nearest_and_clipped() -> None:
    lattice = Lattice(Fraction(1, 4), (1,))
    values = np.array([0.3, -0.3, 0.374, 0.376, 1e300, -1e300, 2.0**58, 2.0**59, -(2.0**60), 5e-324])
    wanted = [1, -1, 1, 2, 2**61, -(2**61), 2**60, 2**61, -(2**61), 0]
    assert lattice.rounded(values).tolist() == wanted


def test_tiny_steps_do_not_overflow() -> None:
    lattice = Lattice.of([Fraction(1)], sensitivity=Fraction(1, 10**300), coordinates=1)
    assert lattice.rounded(np.array([1e300, -1e300, 1.0])).tolist() == [2**61, -(2**61), 2**61]


@every(
    "epsilons",
    [
        [],
        [Fraction(0), Fraction(1)],
        [Fraction(-1), Fraction(1)],
        [Fraction(1), Fraction(1)],
        [Fraction(2), Fraction(1)],
        [Fraction(1, 2**51)],  # 4 bits of fineness are left at 2^-51 for one coordinate, not below
    ],
)
def test_levels_that_are_refused(epsilons: list[Fraction]) -> None:
    with pytest.raises(BadParameter):
        noise_reduction(np.zeros(2), Fraction(1), epsilons, bits=SystemBits())


@pytest.mark.parametrize("sensitivity", [Fraction(1, 10**320), Fraction(10) ** 300])
def test_sensitivities_that_are_refused(sensitivity: Fraction) -> None:
    with pytest.raises(BadParameter):
        noise_reduction(np.zeros(2), sensitivity, [Fraction(1)], bits=SystemBits())


def test_the_smallest_level_there_is() -> None:
    lattice = Lattice.of([Fraction(1, 2**51), Fraction(1)], sensitivity=Fraction(1), coordinates=1)
    assert lattice.step == Fraction(1, 16)
    assert lattice.scales == (17 * 2**51, 17)
    noisy = list(noise_reduction(np.zeros(1), Fraction(1), [Fraction(1, 2**51), Fraction(1)], bits=NumpyBits(1)))
    assert abs(noisy[0][0]) > 1e10


# Shapes and edges


def test_one_level() -> None:
    found = noise_reduction(np.array([3.0, -4.0]), Fraction(1), [Fraction(10**6)], bits=NumpyBits(1))
    assert len(found.places) == 0
    (only,) = list(found)
    assert only == pytest.approx([3.0, -4.0], abs=1e-4)


def test_levels_that_share_a_scale_share_their_noise() -> None:
    epsilons = [Fraction(1), Fraction(10**9), Fraction(10**9) + 1, Fraction(10**12)]
    found = noise_reduction(np.zeros(500), Fraction(1), epsilons, bits=NumpyBits(2))
    assert found.lattice.scales[1:] == (1, 1, 1)
    _, second, third, last = found
    assert (second == third).all()
    assert (third == last).all()


def test_one_coordinate() -> None:
    noisy = list(noise_reduction(np.array([7.0]), Fraction(1), LEVELS, bits=NumpyBits(3)))
    assert [array.shape for array in noisy] == [(1,)] * 100
    assert abs(noisy[-1][0] - 7) < 4


def test_huge_values_stay_finite() -> None:
    """Taken to be 2^61 steps away. Warnings are errors here."""
    values = np.array([1e308, -1e308, 1e19, -0.0])
    found = noise_reduction(values, Fraction(1), [Fraction(1, 10), Fraction(1)], bits=NumpyBits(4))
    edge = 2.0**61 * float(found.lattice.step)
    for array in found:
        assert array == pytest.approx([edge, -edge, edge, 0.0], rel=1e-4, abs=1e3)


def test_every_array_is_new() -> None:
    found = noise_reduction(np.zeros(20), Fraction(1), LEVELS, bits=NumpyBits(5))
    before = list(found)
    copies = [array.copy() for array in before]
    for array in found:
        array[:] = np.nan
    assert all((a == b).all() for a, b in zip(before, copies, strict=True))
    assert all((a == b).all() for a, b in zip(found, copies, strict=True))


def test_values_are_not_touched() -> None:
    values = np.arange(5.0)
    list(noise_reduction(values, Fraction(1), LEVELS, bits=NumpyBits(6)))
    assert values.tolist() == [0, 1, 2, 3, 4]


def slices(found: NoisyValues) -> Iterator[slice]:
    return (slice(a, b) for a, b in zip(found.starts[:-1], found.starts[1:], strict=True))


@settings(max_examples=examples(60))
@given(scales_lists, st.integers(1, 30), st.integers(0, 2**30))
def test_walks_are_well_formed(scales: tuple[int, ...], coordinates: int, seed: int) -> None:
    start = np.arange(coordinates, dtype=np.int64) - 7
    found = _walk(start, Lattice(Fraction(1), scales), bits=NumpyBits(seed))
    assert found.starts.tolist() == sorted(found.starts.tolist())
    assert (len(found.starts), found.starts[0], found.starts[-1]) == (len(scales) + 1, 0, len(found.places))
    assert found.starts[-2] == found.starts[-1]  # no noise shrinks after the last step
    assert len(found.changes) == len(found.places)
    current = found.first.copy()
    for part, array in zip(slices(found), found, strict=True):
        places = found.places[part]
        assert len(np.unique(places)) == len(places)
        assert array.tolist() == current.astype(float).tolist()
        current[places] -= found.changes[part]


def test_same_bits_same_noise_whatever_the_values() -> None:
    """No decision hangs on the values: they are only added."""

    def noise(start: Array) -> Array:
        walk = _walk(start, Lattice(Fraction(1), COARSE), bits=NumpyBits(9))
        return np.array(list(walk)) - start

    assert (noise(np.zeros(50, dtype=np.int64)) == noise(np.arange(50) * 1000)).all()
