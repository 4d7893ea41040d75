"""Noisy supports: the law of the noise, the privacy of the vector, intervals, and supports that agree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp, log
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from support import choices
from support.cases import every
from support.choices import law_of_choices
from support.numpy_bits import NumpyBits
from support.oracles.supports import coverage, every_subset, joint_profile, pmf, true_supports
from support.tapes import TapeBits, TapeExhausted, assert_law

from dpmine.errors import BadParameter
from dpmine.exact import noise as discrete
from dpmine.exact.noise import discrete_laplace_of_scale, exponential_coin, geometric_of_scale
from dpmine.itemsets.release import noise as noise_module
from dpmine.itemsets.release.noise import LEVEL, DiscreteLaplace, l1_sensitivity
from dpmine.itemsets.release.supports import (
    LARGEST_SUPPORT,
    MOST_ITEMS,
    Consistency,
    consistent,
    noisy,
    release,
    with_subsets,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise

    Sampler = Callable[[BitSource], Any]

SUBSETS = every_subset("abcd")
FALSE_ALARM = 1e-7

families = st.lists(st.sampled_from(SUBSETS), unique=True, min_size=1, max_size=9)
units_of_baskets = st.lists(st.lists(st.sampled_from(SUBSETS), max_size=3), max_size=12)


def divided_after_the_sign(scale: Fraction, *, bits: BitSource) -> int:
    """A broken twin: noise of a whole scale, divided when it has a sign already."""
    whole = discrete_laplace_of_scale(Fraction(scale.numerator), bits=bits)
    return int(whole / scale.denominator)


def noisy_as_if_alone(supports: Sequence[int], noise: SupportNoise, *, bits: BitSource) -> tuple[int, ...]:
    """A broken twin: sensitivity 1 for any number of supports."""
    return tuple(support + noise.draw(1, bits=bits) for support in supports)


def laplace(epsilon: float | str | Fraction) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(epsilon))


SCALES = [Fraction(1), Fraction(1, 3), Fraction(2, 5), Fraction(3, 2), Fraction(5, 4), Fraction(3), Fraction(1, 10**9)]


COINS = [(0, 1), (0, 5), (1, 1), (1, 3), (2, 3), (3, 4), (3, 3)]


@pytest.fixture
def numbers_are_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "uniform_below", choices.uniform_below)


@pytest.fixture
def coins_are_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "uniform_below", choices.uniform_below)
    monkeypatch.setattr(discrete, "exponential_coin", choices.exponential_coin)


@pytest.fixture
def distances_are_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "geometric_of_scale", choices.geometric_of_scale)


@pytest.mark.usefixtures("numbers_are_choices")
@every(("numerator", "denominator"), COINS)
def test_law_of_the_coin(numerator: int, denominator: int) -> None:
    happens = exp(-numerator / denominator)
    expected = {True: happens, False: 1 - happens}
    assert_brackets(
        lambda bits: exponential_coin(numerator, denominator, bits=bits), expected, runs=3000, undecided=0.01
    )


def assert_brackets(sampler: Sampler, expected: dict[Any, float], *, runs: int, undecided: float) -> None:
    """Every probability lies in what the choices leave open, and that is little."""
    masses, left = law_of_choices(sampler, runs=runs)
    assert left < undecided, float(left)
    assert set(masses) <= set(expected)
    for outcome, probability in expected.items():
        assert masses.get(outcome, 0) - 1e-9 <= probability <= masses.get(outcome, 0) + left + 1e-9, outcome


@pytest.mark.usefixtures("coins_are_choices")
@every("scale", SCALES)
def test_law_of_the_distance(scale: Fraction) -> None:
    weights = {k: exp(-k / scale) for k in range(200)}
    expected = {k: weight / sum(weights.values()) for k, weight in weights.items()}
    assert_brackets(lambda bits: geometric_of_scale(scale, bits=bits), expected, runs=4000, undecided=0.02)


@pytest.mark.usefixtures("distances_are_choices")
@every("scale", SCALES)
def test_law_of_the_noise(scale: Fraction) -> None:
    expected = pmf(float(scale), 250)
    assert_brackets(lambda bits: discrete_laplace_of_scale(scale, bits=bits), expected, runs=4000, undecided=1e-9)


@pytest.mark.usefixtures("distances_are_choices")
@pytest.mark.parametrize("scale", [Fraction(2, 5), Fraction(3, 2)], ids=str)
def test_the_law_does_not_hold_when_the_sign_comes_too_early(scale: Fraction) -> None:
    masses, left = law_of_choices(lambda bits: divided_after_the_sign(scale, bits=bits), runs=4000)
    assert masses[0] > pmf(float(scale), 250)[0] + 0.04
    assert left < 1e-9


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 3)], ids=str)
def test_law_of_the_noise_bit_by_bit(scale: Fraction) -> None:
    expected = pmf(float(scale), 250)
    assert_law(lambda bits: discrete_laplace_of_scale(scale, bits=bits), expected, depth=40, undecided=0.35)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(10**9, 7), Fraction(22, 7), Fraction(10**30 + 1, 3)], ids=str)
def test_law_of_large_scales(scale: Fraction) -> None:
    bits = NumpyBits(11)
    found = [discrete_laplace_of_scale(scale, bits=bits) for _ in range(6000)]
    edges = [int(scale * Fraction(k, 3)) for k in range(-12, 13)]
    tail = 1 + exp(-1 / scale)
    reached = [exp((k - 1) / scale) / tail if k <= 0 else 1 - exp(-k / scale) / tail for k in edges]  # Pr[X < k]
    observed = np.bincount([sum(draw >= edge for edge in edges) for draw in found], minlength=len(edges) + 1)
    wanted = np.diff([0.0, *reached, 1.0]) * len(found)
    assert stats.chisquare(observed, wanted).pvalue > FALSE_ALARM


def test_noise_is_whole_at_every_magnitude() -> None:
    bits = NumpyBits(2)
    for epsilon in (Fraction(1, 10**9), Fraction(1, 3), Fraction(10**6), Fraction(1, 10**100)):
        found = noisy([2**62] * 30, DiscreteLaplace(epsilon), bits=bits)
        assert {type(value) for value in found} == {int}
    assert noisy([2**62, 0], laplace(10**6), bits=bits) == (2**62, 0)
    assert max(abs(v - 2**62) for v in noisy([2**62] * 9, laplace(Fraction(1, 10**100)), bits=bits)) > 2**64


def test_numpy_counts_become_whole_numbers_without_a_limit() -> None:
    found = noisy(np.array([2**62, 5]), laplace(10**6), bits=NumpyBits(1))  # type: ignore[arg-type]
    assert found == (2**62, 5)
    assert {type(value) for value in found} == {int}


def test_nothing_is_drawn_for_nothing() -> None:
    nothing = TapeBits(0, 0)
    assert noisy([], laplace(1), bits=nothing) == ()
    assert release([], [], noise=laplace(1), bits=nothing).intervals == ()
    with pytest.raises(TapeExhausted):
        noisy([1], laplace(1), bits=nothing)


@pytest.mark.usefixtures("distances_are_choices")
def test_joint_law_is_that_of_independent_noises_of_scale_count_over_epsilon() -> None:
    one = pmf(2 / 3, 20)
    expected = {(5 + j, 9 + k): one[j] * one[k] for j in one for k in one}
    assert_brackets(lambda bits: noisy([5, 9], laplace(3), bits=bits), expected, runs=12_000, undecided=1e-4)


def test_sensitivity_is_the_number_of_supports() -> None:
    assert [l1_sensitivity(count) for count in (0, 1, 7)] == [0, 1, 7]


@given(units_of_baskets, st.lists(st.sampled_from(SUBSETS), max_size=3), st.integers(0, 11))
def test_one_unit_moves_the_vector_by_at_most_the_sensitivity(
    units: list[list[frozenset[str]]], other: list[frozenset[str]], place: int
) -> None:
    here = true_supports(units, SUBSETS)
    added = true_supports([*units, other], SUBSETS)
    replaced = true_supports([other if k == place else baskets for k, baskets in enumerate(units)], SUBSETS)
    for there in (added, replaced):
        assert sum(abs(x - y) for x, y in zip(here, there, strict=True)) <= l1_sensitivity(len(SUBSETS))


@every("shifts", [(1, 1), (1, -1), (-1, -1), (1, 0)])
def test_privacy_profile_of_two_supports(shifts: tuple[int, int]) -> None:
    """The law is the one that the tapes showed: ε is reached where both move, and never exceeded."""
    epsilon = 1.5
    law = pmf(2 / epsilon, 40)
    reached = epsilon * sum(map(abs, shifts)) / 2
    assert joint_profile(law, shifts, epsilon + 1e-9) == 0
    assert joint_profile(law, shifts, reached - 0.01) > 1e-3
    assert joint_profile(law, shifts, reached + 1e-9) == 0


def test_the_profile_catches_noise_for_one_support_only() -> None:
    assert joint_profile(pmf(1 / 1.5, 40), (1, 1), 1.5) > 0.3
    assert joint_profile(pmf(1 / 1.5, 40), (1, 0), 1.5 + 1e-9) == 0  # nothing shows where one support moves


def least_ratio(sampler: Any) -> float:
    """A certain lower bound of Pr[(0, 0)] on (0, 0) over Pr[(0, 0)] on (1, 1)."""
    here, _ = law_of_choices(lambda bits: sampler((0, 0), laplace(2), bits=bits), runs=4000)
    there, left = law_of_choices(lambda bits: sampler((1, 1), laplace(2), bits=bits), runs=4000)
    return float(here[0, 0] / (there.get((0, 0), 0) + left))


@pytest.mark.usefixtures("distances_are_choices")
def test_the_code_with_noise_for_one_support_only_is_caught() -> None:
    """At ε = 2 the twin's ratio is e^4, and certainly above e^2."""
    assert least_ratio(noisy) <= exp(2)
    assert least_ratio(noisy_as_if_alone) > exp(2)


@every(("count", "epsilon"), [(1, "1"), (1, "1/3"), (4, "0.9"), (9, "2"), (2, "50")])
def test_half_widths_by_adding_probabilities_up(count: int, epsilon: str) -> None:
    law = pmf(float(count / Fraction(epsilon)), 2500)

    def least(power: int) -> int:
        width, inside = 0, law[0]
        while inside**power < 0.95:
            width += 1
            inside += 2 * law[width]
        return width

    assert laplace(epsilon).half_width(count) == least(1)
    assert laplace(epsilon).simultaneous_half_width(count) == least(count)


@given(
    count=st.integers(1, 10_000),
    mantissa=st.integers(1, 999),
    power=st.integers(-9, 4),
    level=st.one_of(st.just(LEVEL), st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.just(1 - LEVEL**40)),
)
def test_half_widths_are_the_least_that_cover(count: int, mantissa: int, power: int, level: Fraction) -> None:
    epsilon = mantissa * Fraction(10) ** power
    wanted = Decimal(level.numerator) / Decimal(level.denominator)
    for width, together in [
        (laplace(epsilon).half_width(count, level), 1),
        (laplace(epsilon).simultaneous_half_width(count, level), count),
    ]:
        slack = Decimal("1e-25")  # of `wanted`, which has 28 digits
        assert coverage(width, count=count, epsilon=epsilon, together=together) >= wanted - slack
        if width:
            assert coverage(width - 1, count=count, epsilon=epsilon, together=together) < wanted + slack


def test_half_widths_at_the_ends() -> None:
    assert laplace("1e6").half_width(1) == laplace("1e9").simultaneous_half_width(10_000) == 0
    assert laplace("1e-9").half_width(1) > 10**9
    assert laplace("1e-100").half_width(10_000, 1 - Fraction(1, 10**90)) > 10**100
    assert laplace(1).half_width(1, "1e-90") == 0
    assert laplace(1).simultaneous_half_width(10_000, 1 - Fraction(1, 10**90)) > laplace(1).simultaneous_half_width(
        10_000
    )
    assert laplace("0.3").simultaneous_half_width(1) == laplace("0.3").half_width(1)


@every(("count", "level"), [(0, LEVEL), (-1, LEVEL), (1, 0), (1, 1), (1, "x")])
def test_half_widths_refuse(count: int, level: Any) -> None:
    for function in (laplace(1).half_width, laplace(1).simultaneous_half_width):
        with pytest.raises(BadParameter):
            function(count, level)


def agreed(itemsets: Sequence[frozenset[str]], values: Sequence[int]) -> list[int]:
    """Another way: over all pairs, and with a fraction."""
    known = dict(zip(itemsets, values, strict=True))
    result = []
    for itemset in itemsets:
        below = min(max(0, value) for other, value in known.items() if other <= itemset)
        above = max(max(0, value) for other, value in known.items() if other >= itemset)
        result.append(int(Fraction(below + above, 2)))
    return result


def falls(itemsets: Sequence[frozenset[str]], values: Sequence[int]) -> bool:
    pairs = list(zip(itemsets, values, strict=True))
    return all(x >= y for subset, x in pairs for superset, y in pairs if subset <= superset)


@given(families, st.data())
def test_consistent_values(family: list[frozenset[str]], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-20, 20), min_size=len(family), max_size=len(family)))
    found = consistent(family, values)
    assert list(found) == agreed(family, values)
    assert falls(family, found)
    assert min(found) >= 0
    assert consistent(family, found) == found


@given(families, units_of_baskets)
def test_true_supports_are_not_moved(family: list[frozenset[str]], units: list[list[frozenset[str]]]) -> None:
    supports = true_supports(units, family)
    assert list(consistent(family, supports)) == supports


@given(families, units_of_baskets, st.data())
def test_largest_error_does_not_grow(
    family: list[frozenset[str]], units: list[list[frozenset[str]]], data: st.DataObject
) -> None:
    supports = true_supports(units, family)
    noise = data.draw(st.lists(st.integers(-9, 9), min_size=len(family), max_size=len(family)))
    values = [support + error for support, error in zip(supports, noise, strict=True)]
    moved = [abs(value - support) for value, support in zip(consistent(family, values), supports, strict=True)]
    assert max(moved) <= max(map(abs, noise))


@given(families, st.data())
def test_what_agrees_with_its_neighbourhood_is_not_moved(family: list[frozenset[str]], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-5, 20), min_size=len(family), max_size=len(family)))
    found = consistent(family, values)
    for itemset, value, moved in zip(family, values, found, strict=True):
        others = list(zip(family, values, strict=True))
        agrees = value >= 0 and all(
            (other >= value or not subset < itemset) and (other <= value or not itemset < subset)
            for subset, other in others
        )
        assert moved == value or not agrees


def test_one_value_may_get_worse() -> None:
    """Only the largest error is guaranteed not to grow: c of the chain is exact, and is moved."""
    chain = [frozenset("a"), frozenset("ab")]
    assert consistent(chain, [4, 10]) == (7, 7)


def test_large_and_small_itemsets_together() -> None:
    """More subsets than given itemsets: pairs are found the other way."""
    large = frozenset(range(40))
    assert consistent([frozenset([3]), large, frozenset([99])], [5, 9, 100]) == (7, 7, 100)
    assert consistent([], []) == ()


@given(st.lists(st.frozensets(st.integers(-3, 6), max_size=4), max_size=5))
def test_subsets_are_all_listed_once(itemsets: list[frozenset[int]]) -> None:
    found = with_subsets(itemsets)
    pool = every_subset(range(-3, 7))
    assert set(found) == {part for part in pool if any(part <= itemset for itemset in itemsets)}
    assert len(set(found)) == len(found)
    assert [(len(part), sorted(part)) for part in found] == sorted((len(part), sorted(part)) for part in found)


def test_order_of_subsets() -> None:
    names = with_subsets([frozenset({"b", "a"}), frozenset({"", "a,b", "Ä"}), frozenset({"b"})])
    assert [sorted(part) for part in names[:5]] == [[""], ["a"], ["a,b"], ["b"], ["Ä"]]
    assert [sorted(part) for part in names[5:]] == [["", "a,b"], ["", "Ä"], ["a", "b"], ["a,b", "Ä"], ["", "a,b", "Ä"]]
    assert with_subsets([frozenset({10, 9})]) == (frozenset({9}), frozenset({10}), frozenset({9, 10}))


def test_too_many_subsets_are_refused() -> None:
    assert len(with_subsets([frozenset(range(MOST_ITEMS))])) == 2**MOST_ITEMS - 1
    with pytest.raises(BadParameter, match="at most 12"):
        with_subsets([frozenset(range(MOST_ITEMS + 1))])


def with_noise(monkeypatch: pytest.MonkeyPatch, noise: Iterable[int]) -> None:
    """The next noises, in their order."""
    monkeypatch.setattr(noise_module, "discrete_laplace_of_scale", Mock(side_effect=list(noise)))


CHAIN = [frozenset("a"), frozenset("b"), frozenset("ab")]


def test_release_as_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with_noise(monkeypatch, [-30, 4, 9])
    found = release(CHAIN, [2, 5, 50], noise=laplace("0.5"), bits=TapeBits(0, 0))
    width = laplace("0.5").half_width(3)
    assert width == 18
    assert found.values == (0, 9, 59)  # −28, 9, 59 were drawn, and no support is negative
    assert found.intervals == ((0, 0), (0, 9 + width), (59 - width, 59 + width))
    assert (found.itemsets, found.noise, found.level) == (tuple(CHAIN), laplace("0.5"), Fraction(19, 20))
    assert found.consistency is Consistency.AS_DRAWN


def test_release_that_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    with_noise(monkeypatch, [3, 0, 10])
    found = release(CHAIN, [50, 90, 49], noise=laplace(6), consistency=Consistency.MONOTONE, bits=TapeBits(0, 0))
    width = laplace(6).simultaneous_half_width(3)
    assert width > laplace(6).half_width(3)
    assert found.values == (56, 90, 56)
    assert found.intervals == tuple((value - width, value + width) for value in found.values)


@given(units_of_baskets, st.data())
def test_intervals_hold_together_when_no_noise_is_above_the_width(
    units: list[list[frozenset[str]]], data: st.DataObject
) -> None:
    supports = true_supports(units, SUBSETS)
    width = laplace(40).simultaneous_half_width(len(SUBSETS))
    assume(width)
    noise = data.draw(st.lists(st.integers(-width, width), min_size=len(supports), max_size=len(supports)))
    with pytest.MonkeyPatch.context() as patch:
        with_noise(patch, noise)
        found = release(SUBSETS, supports, noise=laplace(40), consistency=Consistency.MONOTONE, bits=TapeBits(0, 0))
    assert all(low <= support <= high for support, (low, high) in zip(supports, found.intervals, strict=True))


@pytest.mark.statistical
def test_share_of_intervals_that_hold() -> None:
    """False alarm below 1e-7; the coverage itself is exact, and tested above."""
    bits, runs, supports = NumpyBits(6), 800, [40, 30, 20]
    alone = together = 0
    for _ in range(runs):
        one = release(CHAIN, supports, noise=laplace(1), bits=bits)
        alone += one.intervals[1][0] <= 30 <= one.intervals[1][1]
        both = release(CHAIN, supports, noise=laplace(1), consistency=Consistency.MONOTONE, bits=bits)
        ends = zip(supports, both.intervals, strict=True)
        together += all(low <= support <= high for support, (low, high) in ends)
    for held in (alone, together):
        assert stats.binomtest(held, runs, 0.95, alternative="less").pvalue > FALSE_ALARM
    assert alone < runs


def test_everything_fits_into_64_bits() -> None:
    for consistency in Consistency:
        found = release(SUBSETS, [2**62] * 15, noise=laplace("1e-100"), consistency=consistency, bits=NumpyBits(4))
        assert all(abs(value) <= LARGEST_SUPPORT for value in found.values)
        assert all(0 <= low <= 2**62 <= high <= LARGEST_SUPPORT for low, high in found.intervals)


def test_release_refuses() -> None:
    secret = 918273
    for itemsets, supports in [(CHAIN, [secret]), ([CHAIN[0], CHAIN[0]], [secret, secret])]:
        with pytest.raises(BadParameter) as caught:
            release(itemsets, supports, noise=laplace(1), bits=TapeBits(0, 0))
        assert str(secret) not in str(caught.value)
    with pytest.raises(BadParameter):
        release(CHAIN, [1, 1, 1], noise=laplace(1), bits=TapeBits(0, 0), consistency="sometimes")  # type: ignore[arg-type]


def test_consistency_may_be_named() -> None:
    found = release(CHAIN, [9, 9, 9], noise=laplace(1), consistency="monotone", bits=NumpyBits(0))  # type: ignore[arg-type]
    assert found.consistency is Consistency.MONOTONE


def test_noise_is_fresh_for_every_support() -> None:
    found = np.array(
        [noisy([0, 0], laplace(Fraction(1, 50)), bits=bits) for bits in [NumpyBits(9)] for _ in range(2000)]
    )
    assert abs(stats.spearmanr(found[:, 0], found[:, 1]).statistic) < 5.5 / np.sqrt(2000)
    assert log(np.mean(np.abs(found))) == pytest.approx(log(100), abs=0.1)  # E|X| is nearly m/ε
