"""Discrete Laplace noise: its law, and the laws of the coins that it is made of."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.cases import every
from support.numpy_bits import NumpyBits
from support.tapes import TapeBits, TapeExhausted

from dpmine.exact.noise import discrete_laplace, happen_exponentially, uniforms_below, words

if TYPE_CHECKING:
    from collections.abc import Iterable

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

FALSE_ALARM = 1e-7  # for each of the statistics below; seeds are fixed
DRAWS = 200_000
BOUNDS = [1, 2, 3, 8, 2**32, 2**62, 2**62 + 1, 2**63, 2**64 - 1]


def below(k: int, scale: float) -> float:
    """Pr[X < k] of the discrete Laplace law, by summing its geometric tails."""
    tail = 1.0 + math.exp(-1.0 / scale)
    return 1.0 - math.exp(-k / scale) / tail if k > 0 else math.exp((k - 1) / scale) / tail


def p_value(draws: Array, edges: Iterable[int], scale: float) -> float:
    """Of a chi-squared test: cells [edge, next edge), open at both ends."""
    inner = list(edges)
    cells = np.searchsorted(np.array(inner), draws, side="right")
    observed = np.bincount(cells, minlength=len(inner) + 1)
    reached = [0.0, *(below(edge, scale) for edge in inner), 1.0]
    return float(stats.chisquare(observed, np.diff(reached) * len(draws)).pvalue)


def draw(scale: int, *, seed: int, count: int = DRAWS) -> Array:
    return discrete_laplace(np.full(count, scale), bits=NumpyBits(seed))


def cells_of(scale: int) -> list[int]:
    """Every whole number near 0 for a small scale, about fifty cells for a large one."""
    return list(range(-4 * scale, 4 * scale + 2, max(1, scale // 6)))


def test_the_tails_sum_what_the_law_says() -> None:
    """The oracle's own oracle: e^{−|k|/m}, normalised by brute force."""
    for scale in (1, 3):
        weights = {k: math.exp(-abs(k) / scale) for k in range(-300, 301)}
        for k in (-5, -1, 0, 1, 2, 9):
            wanted = sum(weight for j, weight in weights.items() if j < k) / sum(weights.values())
            assert below(k, scale) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1, 2, 7, 1000, 2**40])
def test_law_is_discrete_laplace(scale: int) -> None:
    found = draw(scale, seed=scale)
    assert p_value(found, cells_of(scale), scale) > FALSE_ALARM
    assert p_value(found, cells_of(scale), 1.05 * scale) < FALSE_ALARM  # the test sees a twentieth


@pytest.mark.statistical
def test_zero_does_not_come_twice_as_often() -> None:
    found = draw(2, seed=5)
    zero = math.tanh(1 / 4)
    assert stats.binomtest(int((found == 0).sum()), DRAWS, zero).pvalue > FALSE_ALARM
    assert stats.binomtest(int((found == 0).sum()), DRAWS, 2 * zero / (1 + zero)).pvalue < FALSE_ALARM
    assert stats.binomtest(int((found > 0).sum()), int((found != 0).sum())).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_each_place_has_its_own_scale() -> None:
    scales = np.tile([1, 50, 2**50], DRAWS)
    found = discrete_laplace(scales, bits=NumpyBits(3))
    for scale in (1, 50, 2**50):
        assert p_value(found[scales == scale], cells_of(scale), scale) > FALSE_ALARM


@pytest.mark.statistical
def test_neighbouring_places_are_independent() -> None:
    found = draw(30, seed=8).astype(float)
    for left, right in [(found[:-1], found[1:]), (np.abs(found[:-1]), np.abs(found[1:]))]:
        assert stats.spearmanr(left, right).pvalue > FALSE_ALARM
    assert stats.spearmanr(np.abs(found), found).pvalue > FALSE_ALARM  # the sign does not know the size


@pytest.mark.statistical
def test_the_largest_scale_wraps_around() -> None:
    """Warnings are errors here. The law is that of the noise modulo 2^64, four scales."""
    found = draw(2**62, seed=4)
    edges = np.linspace(-2, 2, 17)

    def folded(x: float) -> float:
        return float(sum(stats.laplace.cdf(x + 4 * k) - stats.laplace.cdf(-2 + 4 * k) for k in range(-20, 21)))

    observed = np.histogram(found / 2.0**62, edges)[0]
    wanted = np.diff([folded(x) for x in edges]) * DRAWS
    assert observed.sum() == DRAWS
    assert stats.chisquare(observed, wanted / wanted.sum() * DRAWS).pvalue > FALSE_ALARM
    cut = stats.laplace.cdf(edges[1:]) - stats.laplace.cdf(edges[:-1])
    assert stats.chisquare(observed, cut / cut.sum() * DRAWS).pvalue < FALSE_ALARM  # not the law that is cut off


def test_nothing_is_asked_for_nothing() -> None:
    empty, nothing = np.empty(0, dtype=np.uint64), TapeBits(0, 0)
    assert discrete_laplace(np.empty(0, dtype=np.int64), bits=nothing).tolist() == []
    assert uniforms_below(empty, bits=nothing).tolist() == []
    assert happen_exponentially(empty, empty, bits=nothing).tolist() == []
    assert words(0, np.uint64, bits=nothing).tolist() == []


def test_types() -> None:
    assert discrete_laplace(np.array([1]), bits=NumpyBits(0)).dtype == np.int64
    assert uniforms_below(np.array([9], dtype=np.uint8), bits=NumpyBits(0)).dtype == np.uint8


@every(
    ("kind", "wanted"),
    [
        (np.uint8, [1, 2, 3, 4, 0xFD, 6, 7, 8]),
        (np.uint16, [0x0102, 0x0304, 0xFD06, 0x0708]),
        (np.uint32, [0x01020304, 0xFD060708]),
        (np.uint64, [0x01020304FD060708]),
    ],
)
def test_words_are_the_bits_in_their_order(kind: type[np.unsignedinteger[Any]], wanted: list[int]) -> None:
    found = words(len(wanted), kind, bits=TapeBits(0x01020304FD060708, 64))
    assert found.tolist() == wanted
    assert found.dtype == np.dtype(kind)
    assert found.dtype.isnative


def one_below(bound: int, kind: type[np.unsignedinteger[Any]], word: int) -> int | None:
    """The outcome at one word; None where that word is drawn again."""
    width = 8 * np.dtype(kind).itemsize
    try:
        return int(uniforms_below(np.array([bound], dtype=kind), bits=TapeBits(word, width))[0])
    except TapeExhausted:
        return None


@every("bound", [1, 2, 3, 7, 100, 128, 129, 254, 255])
def test_bytes_below_a_bound_are_exactly_uniform(bound: int) -> None:
    """All 256 words: every outcome comes as often as the others, and as many words as possible are used."""
    found = Counter(one_below(bound, np.uint8, word) for word in range(256))
    assert {outcome for outcome in found if outcome is not None} == set(range(bound))
    assert all(found[outcome] == 256 // bound for outcome in range(bound))
    assert found[None] == 256 % bound


@given(st.one_of(st.integers(1, 2**64 - 1), st.sampled_from(BOUNDS)), st.data())
def test_words_below_a_bound_are_exactly_uniform(bound: int, data: st.DataObject) -> None:
    """Those that are used are a whole multiple of the bound, and their remainders come equally often."""
    unused = 2**64 - 2**64 // bound * bound
    edges = [word for word in (0, unused - 1, unused, 2**64 - 1) if word >= 0]
    word = data.draw(st.one_of(st.integers(0, 2**64 - 1), st.sampled_from(edges)))
    assert one_below(bound, np.uint64, word) == (None if word < unused else word % bound)


def test_a_rejected_word_is_replaced_where_it_stood() -> None:
    """Of the words, 0 alone is not used below 3; the third place is unlucky twice."""
    drawn = [0, 4, 0, 2, 5, 0, 7]
    tape = int.from_bytes(b"".join(word.to_bytes(8, "big") for word in drawn), "big")
    found = uniforms_below(np.full(4, 3, dtype=np.uint64), bits=TapeBits(tape, 64 * len(drawn)))
    assert found.tolist() == [5 % 3, 4 % 3, 7 % 3, 2]


@pytest.mark.statistical
@pytest.mark.parametrize("bound", BOUNDS)
def test_uniforms_are_uniform(bound: int) -> None:
    found = uniforms_below(np.full(DRAWS, bound, dtype=np.uint64), bits=NumpyBits(17))
    assert int(found.max()) < bound
    if bound > 10:
        assert stats.kstest(found / float(bound), stats.uniform.cdf).pvalue > FALSE_ALARM
    elif bound > 1:
        assert stats.chisquare(np.bincount(found.astype(int), minlength=bound)).pvalue > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (1, 1), (1, 2), (2, 3), (1, 100), (99, 100), (250, 250)]
)
def test_coins_fall_exponentially(kind: type[np.unsignedinteger[Any]], numerator: int, denominator: int) -> None:
    coins = np.full(DRAWS, numerator, dtype=kind), np.full(DRAWS, denominator, dtype=kind)
    found = int(happen_exponentially(*coins, bits=NumpyBits(23)).sum())
    chance = math.exp(-numerator / denominator)
    assert stats.binomtest(found, DRAWS, chance).pvalue > FALSE_ALARM
    assert stats.binomtest(found, DRAWS, 0.95 * chance).pvalue < FALSE_ALARM


@pytest.mark.statistical
def test_coins_of_huge_fractions() -> None:
    numerators = np.full(DRAWS, 2**61, dtype=np.uint64)
    found = happen_exponentially(numerators, numerators * np.uint64(2), bits=NumpyBits(29))
    assert stats.binomtest(int(found.sum()), DRAWS, math.exp(-0.5)).pvalue > FALSE_ALARM
