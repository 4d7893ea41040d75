"""Attacks on numbers: rare outcomes, extreme parameters, and the low bits of what is released."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every
from support.mechanisms import PURE
from support.numpy_bits import NumpyBits
from support.tapes import TapeBits, TapeExhausted

from dpmine import BadParameter
from dpmine.models.histogram.bin_search import BinSearch
from dpmine.models.histogram.training import GRID, GRID_BITS, rounded_laplace
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.recommend import MECHANISMS, build_mechanism
from dpmine.selection.select import choose, law
from dpmine.selection.universes.dense import Levels

if TYPE_CHECKING:
    from collections.abc import Callable

RARE = 2.0**-60
TINY = Fraction(1, 10**30)
OPTIONS: dict[str, dict[str, Any]] = {"bounded_growth": {"max_items_per_unit": 3}, "exact": {"not_private": True}}
RATE = Fraction(1)
"""ε of the mechanism below, times 1/2: its noise has scale 1."""


def mechanism(name: str, epsilon: Any, delta: Any = TINY) -> Any:
    return build_mechanism(name, epsilon=epsilon, delta=delta, neighbors="replace_one", **OPTIONS.get(name, {}))


# ---------------------------------------------------------------------------------------------- outcomes of mass 2^-60


def exponential(gap: Fraction) -> Callable[[TapeBits], Any]:
    """One candidate against another one `gap` above it, by noise of scale 1."""
    chooser = Exponential(2 * RATE, Fraction(0), Neighbors.REPLACE_ONE)
    return lambda bits: chooser.choose(Levels([(gap, 1), (0, 1)]), bits=bits)


class FirstThenNext:
    """Two uniforms: the first is held at given digits, the second is read off a tape; widths grow bit by bit.

    The first digits of both are one request, the first real's in the low half. Then they are asked in turn.
    """

    def __init__(self, first: tuple[int, int], second: tuple[int, int]) -> None:
        self._reals = [TapeBits(*first), TapeBits(*second)]
        self._turn = 0

    def take(self, count: int) -> int:
        self._turn += 1
        if self._turn == 1:
            low, high = (real.take(count // 2) for real in self._reals)
            return low | high << count // 2
        return self._reals[self._turn % 2].take(count)

    def widths(self) -> Any:
        return TapeBits(0, 0).widths()


DEPTH = 220


def held(numerator: int, power: int) -> tuple[int, int]:
    """The binary digits of numerator/2^power, then ones and zeros in turn: no round number, so that nothing ties."""
    more = DEPTH - power
    return (numerator << more) + int("01" * (more // 2), 2), DEPTH


def winner(first: tuple[int, int], second: tuple[int, int], gap: Fraction) -> int | None:
    """Which level wins; None where the digits do not decide."""
    try:
        chosen = exponential(gap)(FirstThenNext(first, second))  # type: ignore[arg-type]
    except TapeExhausted:
        return None
    return int(chosen[0])


def threshold_of_the_rival(first: tuple[int, int], gap: Fraction) -> Fraction:
    """Above which uniform of the lower candidate it wins, found by bisection on tapes: 1 − mass, given the first."""
    low, high = 0, 2**DEPTH - 1
    while high - low > 2 ** (DEPTH - 160):
        middle = (low + high) // 2
        place = winner(first, (middle, DEPTH), gap)
        assert place is not None
        low, high = (low, middle) if place == 1 else (middle, high)
    return Fraction(low + high, 2 ** (DEPTH + 1))


@pytest.mark.slow
@pytest.mark.parametrize("digits", [(1, 1), (3, 2), (1, 3), (13, 4)])
@pytest.mark.parametrize("gap", [Fraction(41), Fraction(415888, 10_000), Fraction(60)])
def test_an_outcome_of_mass_2_to_the_minus_60_keeps_it(digits: tuple[int, int], gap: Fraction) -> None:
    """Given U of the leader, the other one wins for V > U^{e^−gap}, about 1 − e^−gap ln(1/U): a sliver.

    With Gumbel noise −ln(−ln U): gap − ln(−ln U) < −ln(−ln V). A float64 uniform has no values in that sliver at all.
    """
    first = held(*digits)
    found = 1 - threshold_of_the_rival(first, gap)
    uniform = Fraction(first[0], 2**DEPTH) + Fraction(1, 2 ** (DEPTH + 1))
    wanted = -math.expm1(-math.exp(-float(gap)) * -math.log(uniform))
    assert 2.0**-90 < wanted < 2.0**-56
    assert float(found) == pytest.approx(wanted, rel=1e-9)
    assert found < Fraction(1, 2**53)  # between the last float64 uniform and 1


def test_a_float_uniform_loses_that_outcome() -> None:
    """The broken twin: no multiple of 2^−53 lies in the sliver, and an outcome of positive mass never happens."""
    largest = 1.0 - 2.0**-53
    leader = 60.0 - math.log(-math.log(0.5))
    assert leader > -math.log(-math.log(largest))
    assert (
        winner(held(1, 1), (2**DEPTH - 2 ** (DEPTH - 100), DEPTH), Fraction(60)) == 1
    )  # the exact draw still gets there


@every("power", [40, 60, 100, 200])
def test_the_mass_of_rare_levels_is_in_the_law(power: int) -> None:
    """Two candidates with log-odds of `power` bits: the rare one has mass 2^−power/(1 + 2^−power), not 0."""
    gap = Fraction(power * 6_931_471_805_599_453, 10**16)
    found = law(Levels([(gap, 1), (0, 1)]), epsilon=2, mechanism="exponential")
    assert found.pmf[1] == pytest.approx(math.exp(-float(gap)), rel=1e-12)
    assert found.pmf[0] + found.pmf[1] == pytest.approx(1)


# ------------------------------------------------------------------------------------------------- extreme parameters

EPSILONS = ("1e-9", "1e-3", "1", "1e3", "1e6")
UNIVERSES = {
    "one": [(7, 1)],
    "two": [(5, 2), (3, 1)],
    "large counts": [(2**62, 1), (2**61, 3), (0, 1)],
    "huge tail": [(200, 1), (17, 3), (0, 10**30)],
}


@every("epsilon", EPSILONS)
@every("name", MECHANISMS)
@every("universe", UNIVERSES)
def test_laws_and_draws_survive_extremes(name: str, universe: str, epsilon: str) -> None:
    """Warnings are errors here: an overflow anywhere fails the test. δ = 10^−30."""
    levels = Levels(UNIVERSES[universe])
    chosen = mechanism(name, epsilon)
    found = law(levels, epsilon=epsilon, delta=TINY, mechanism=name, **OPTIONS.get(name, {}))
    assert np.isfinite(found.pmf).all()
    assert (found.pmf >= 0).all()
    assert found.pmf.sum() + found.nothing == pytest.approx(1, abs=1e-9)
    bits = NumpyBits(1)
    for _ in range(3):
        index = choose(chosen, levels, sensitivity=Fraction(1), bits=bits)
        assert index is None or 0 <= index[1] < UNIVERSES[universe][index[0]][1]


@every("padding", [1, 10**30, 10**200])
@every("epsilon", EPSILONS)
@every("name", ["limited_domain", "limited_domain_permute_and_flip", "large_margin", "large_margin_tight"])
def test_huge_padding(name: str, epsilon: str, padding: int) -> None:
    levels = Levels([(2**61, 1), (2**60, 2)], padding)
    found = law(levels, epsilon=epsilon, delta=TINY, mechanism=name)
    assert found.pmf.sum() + found.nothing == pytest.approx(1, abs=1e-9)
    index = choose(mechanism(name, epsilon), levels, sensitivity=Fraction(1), bits=NumpyBits(2))
    assert index is None or index[0] in {0, 1}


@every("epsilon", ["1e-9", "1e-3", "1", "20"])
def test_ratios_are_what_the_gaps_say(epsilon: str) -> None:
    """Pr[i]/Pr[j] = e^{ε (c_i − c_j)/2}, at counts of 2^40 and with 10^30 candidates at the bottom."""
    top = 2**40
    levels = [(top, 1), (top - 1, 1), (top - 30, 10**30)]
    found = law(Levels(levels), epsilon=epsilon, mechanism="exponential").pmf
    shares = [math.log(mass) - math.log(count) for mass, (_, count) in zip(found, levels, strict=True)]
    for (share, (score, _)), (next_share, (next_score, _)) in pairwise(zip(shares, levels, strict=True)):
        assert share - next_share == pytest.approx(float(epsilon) / 2 * (score - next_score), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", PURE)
def test_draws_depend_on_gaps_alone_up_to_2_to_the_62(name: str) -> None:
    """The same bits choose the same candidate of (9, 7, 0) and of (2^62 + 9, …): in float64 these counts are equal."""
    chosen = mechanism(name, 1)
    assert float(2**62 + 9) == float(2**62)
    for seed in range(60):
        low, high = (
            choose(chosen, Levels([(base + 9, 1), (base + 7, 2), (base, 5)]), sensitivity=Fraction(1), bits=source)
            for base, source in ((0, NumpyBits(seed)), (2**62, NumpyBits(seed)))
        )
        assert low == high


@pytest.mark.statistical
def test_adjacent_counts_near_2_to_the_62_are_told_apart() -> None:
    """2^62 against 2^62 − 1, ε = 2, scale 1: odds of e. A draw in float64 would see a tie. False alarms: 10^−7."""
    chosen, bits, draws = mechanism("exponential", 2), NumpyBits(5), 4000
    levels = Levels([(2**62, 1), (2**62 - 1, 1)])
    wins = sum(choose(chosen, levels, sensitivity=Fraction(1), bits=bits) == (0, 0) for _ in range(draws))
    share, slack = 1 / (1 + math.exp(-1)), 5.4 * 0.5 / math.sqrt(draws)
    assert abs(wins / draws - share) < slack
    assert abs(wins / draws - 0.5) > slack  # the test sees a tie


def test_a_profile_that_float64_cannot_tell_apart_is_refused() -> None:
    """Laws are computed in float64; where its scores would merge they are refused and not wrong."""
    with pytest.raises(BadParameter, match="strictly decreasing"):
        Profile((float(2**62), float(2**62 - 1)), (1, 1))


@every("value", ["1e-101", "1e101", "nan", "inf", "-1e-30", "0e5", "1e99999", "9" * 500])
def test_parameters_beyond_the_extremes_are_refused(value: str) -> None:
    with pytest.raises(BadParameter, match="epsilon"):
        mechanism("exponential", value)


# ------------------------------------------------------------------------------------------------------- released bits

SCALE = Fraction(2)


def naive_laplace(uniform: float, scale: float) -> float:
    """The textbook's sampler in float64, whose outputs betray what they were added to (Mironov 2012)."""
    return -scale * math.copysign(math.log(1 - 2 * abs(uniform)), uniform)


def reachable_naively(count: int, uniforms: np.ndarray[Any, Any]) -> set[float]:
    return {count + naive_laplace(float(uniform), float(SCALE)) for uniform in uniforms}


def noisy_counts(count: int, steps: range) -> set[Fraction]:
    """What a count can be released as, over noise of so many steps of the grid."""
    return {Fraction((count << GRID_BITS) + step, 2**GRID_BITS) for step in steps}


def decided(tape: int, length: int) -> int | None:
    try:
        return rounded_laplace(SCALE, bits=TapeBits(tape, length))
    except TapeExhausted:
        return None


def test_every_step_of_the_grid_is_reached() -> None:
    """For each of many steps k there is a uniform, hence a tape, whose noise is k: no holes, far into both tails."""
    scale = float(SCALE / GRID)
    for step in [*range(-200, 201), *(sign * (2**20 * far + 1) for far in (1, 5, 20) for sign in (-1, 1))]:
        below = 0.5 * math.exp(step / scale) if step < 0 else 1 - 0.5 * math.exp(-step / scale)
        tape = round(below * 2**52) << 128
        assert decided(tape + 2**127 + 12345, 180) == step


def test_released_sets_of_neighbouring_counts_are_the_same() -> None:
    """Counts c and c + 1 have the same outputs: a whole record is a whole number of steps, so the sets are shifts."""
    steps_a_record = 2**GRID_BITS
    reach = range(-3 * steps_a_record, 3 * steps_a_record, 977)
    shifted = range(reach.start - steps_a_record, reach.stop - steps_a_record, 977)
    assert noisy_counts(10, reach) == noisy_counts(11, shifted)
    assert all(value % GRID == 0 for value in noisy_counts(10, reach))


def test_the_naive_twin_is_caught() -> None:
    """Laplace noise in float64: many a value that count 10 reaches is one that 11 can never reach.

    Every value is inverted as the attack does: the uniforms of 2^−53 steps around its preimage are tried, and it can
    have come from 11 only if one of them gives it to the last bit.
    """
    generator = np.random.default_rng(7)
    uniforms = generator.random(2000) - 0.5
    released = sorted(reachable_naively(10, uniforms))
    impossible = sum(not _reachable(value, 11) for value in released)
    assert all(_reachable(value, 10) for value in released)  # the attack never blames the true count
    assert impossible > 200  # and clears it of many others


def _reachable(value: float, count: int) -> bool:
    """Whether a uniform multiple of 2^−53 gives that value for the count; 64 on each side of the preimage are tried."""
    noise = value - count
    scale = float(SCALE)
    centre = math.copysign(math.expm1(-abs(noise) / scale) / 2, -noise)
    step = 2.0**-53
    first = round(centre / step)
    return any(count + naive_laplace((first + k) * step, scale) == value for k in range(-64, 65))


@every("epsilon", ["1e-6", "0.5", "1e6"])
@every("records", [1, 3, 1000])
def test_every_released_count_is_on_the_grid(records: int, epsilon: str) -> None:
    """Through the whole estimator: counts are multiples of 2^−20, whatever the data."""
    search = BinSearch.of(**{**DEFAULTS, "epsilon": epsilon})
    data = [0.1 * (i % 7) for i in range(records)]
    for seed in range(5):
        released = search.density(data, bits=NumpyBits(seed))
        steps = np.ldexp(released.counts, GRID_BITS)
        assert (steps == np.floor(steps)).all()
        assert [Fraction(count) % GRID for count in released.counts] == [0] * 4


def test_one_record_moves_the_released_numbers_by_whole_records() -> None:
    """With the same bits, a record moved from one bin to another moves two counts by exactly 1 where 0 does not cut."""
    search = BinSearch.of(**DEFAULTS)
    before = search.density([0.1] * 500 + [0.6] * 500, bits=NumpyBits(9)).counts
    after = search.density([0.1] * 499 + [0.6] * 501, bits=NumpyBits(9)).counts
    assert sorted((after - before).tolist()) == [-1.0, 0.0, 0.0, 1.0]


def test_bins_know_no_order_of_records() -> None:
    """Sums of floats depend on their order; counts do not."""
    search = BinSearch.of(**DEFAULTS)
    values = [0.1, 1e300, -1e300, math.nan, 0.9, 5e-324, math.inf, -0.0] * 50
    forward, backward = (search.density(data, bits=NumpyBits(3)).to_dict() for data in (values, values[::-1]))
    assert forward == backward


DEFAULTS: dict[str, Any] = {
    "bins": [4],
    "lower": 0,
    "upper": 1,
    "epsilon": 1,
    "delta": "1e-6",
    "train_share": "0.5",
    "mechanism": "max_of_exponentials",
    "selection_share": "0.5",
    "neighbors": "replace_one",
}
