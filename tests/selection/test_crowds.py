"""Arrays in bands: every score lies below its band's bound, and the law of a race is that of the scores themselves."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import draws, examples
from support.numpy_bits import NumpyBits
from support.oracles import top_k
from support.oracles.mechanisms import chi_square_p, exponential_max, laplace_max, softmax, tally
from support.tapes import assert_law

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import ExponentialNoise, GumbelNoise, LaplaceNoise, Noise, above, below
from dpmine.selection.draws import noisy_order
from dpmine.selection.universes import crowds
from dpmine.selection.universes.crowds import Bands
from dpmine.selection.universes.dense import Dense
from dpmine.selection.universes.protocol import Remaining, Scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SCALE = Fraction(3)
NOISES: dict[str, tuple[Noise, Callable[[Sequence[float], float], list[float]], top_k.Noise]] = {
    "gumbel": (GumbelNoise(SCALE), lambda scores, scale: softmax(scores, 1 / scale), top_k.GUMBEL),
    "laplace": (LaplaceNoise(SCALE), laplace_max, top_k.LAPLACE),
    "exponential": (ExponentialNoise(SCALE), exponential_max, top_k.EXPONENTIAL),
}
BY_NOISE = pytest.mark.parametrize("kind", NOISES)
SCALES = st.fractions(Fraction(1, 10**30), 10**30).filter(bool)
ANY_FLOATS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=17, max_size=40)
CLOSE_FLOATS = st.lists(st.floats(-50, 50), min_size=17, max_size=40)
GRID = st.lists(st.integers(-400, 400).map(lambda k: k / 8), min_size=17, max_size=40)
PRECISE = 4000
"""Bits that hold the difference of any two floats."""


@pytest.fixture
def without_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of arrays of any length: those of a few candidates are single ones otherwise."""
    monkeypatch.setattr(crowds, "_FEW", 0)


def exactly(ball: Callable[[], Any]) -> Fraction:
    """The rational that a ball holds exactly."""
    assert above(ball, PRECISE) == below(ball, PRECISE)
    return above(ball, PRECISE)


def check_bands(scores: NDArray[Any], scale: Fraction, count: int) -> None:
    """Every candidate is in one crowd, which has a bound on its score: equal to it where it says so."""
    bands = Bands(scores, scale, count)
    exact = [Fraction(score.item()) for score in scores]
    origin = sorted(exact, reverse=True)[min(count, len(exact)) - 1]
    seen: list[int] = []
    for crowd in bands.crowds(0):
        places = [crowd._place] if isinstance(crowd, crowds._Single) else bands.places(crowd._key).tolist()  # type: ignore[attr-defined]
        assert len(places) == crowd.size
        bound = exactly(crowd.bound)
        for place in places:
            score = exactly(partial(crowd.score, place))
            assert score == exact[place] - origin
            assert score == bound if crowd.is_level else score <= bound
        seen += places
    assert sorted(seen) == list(range(len(scores)))


@settings(max_examples=examples(150))
@given(st.one_of(ANY_FLOATS, CLOSE_FLOATS, GRID), SCALES, st.integers(1, 45))
def test_floats_lie_below_their_bounds(scores: list[float], scale: Fraction, count: int) -> None:
    check_bands(np.array(scores), scale, count)


@settings(max_examples=examples(100))
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=17, max_size=40), SCALES, st.integers(1, 45))
def test_integers_lie_below_their_bounds(scores: list[int], scale: Fraction, count: int) -> None:
    check_bands(np.array(scores, np.int64), scale, count)
    check_bands(np.array([score + 2**63 for score in scores], np.uint64), scale, count)
    check_bands(np.array([score % 256 for score in scores], np.uint8), scale, count)


@every("scale", [Fraction(1, 7), Fraction(1), Fraction(4), Fraction(2**41), Fraction(2**50 + 1), Fraction(1, 10**400)])
@every("count", [1, 3, 40])
def test_integers_on_the_edges_of_bands(scale: Fraction, count: int) -> None:
    """Multiples of the width, and their neighbours, also where a float cannot tell them apart."""
    for step in (1, 2**20, 2**52 + 1, 2**57):
        edges = np.array([step * k + d for k in range(-20, 21) for d in (-1, 0, 1)], np.int64)
        check_bands(edges, scale, count)


@every(
    "scale",
    [Fraction(1, 10**400), Fraction(10**400), *map(Fraction, (2**1000, 2**1022, 2**1023)), Fraction(1, 2**1000)],
)
def test_scales_beyond_floats(scale: Fraction) -> None:
    tiny, huge = 5e-324, 1.7976931348623157e308
    check_bands(np.array([tiny, -tiny, 0.0, huge, -huge, 1.0, 2.0**-1022] * 4), scale, 1)


@every("power", range(985, 1005))
def test_scales_whose_inverse_is_close_to_the_largest_float(power: int) -> None:
    check_bands(np.arange(-40, 40) * 2.0 ** (-power - 3), Fraction(1, 2**power), 1)


def test_differences_that_are_rounded_upwards() -> None:
    """The float 1 + 2^-53 rounds to 1: in exact numbers these scores lie just above the bound of the next band."""
    width = 2.0**-2
    edge = np.nextafter(-width, 0.0)
    scores = np.array([0.0, *[2.0**-54 - width, edge, -width, np.nextafter(-width, -1.0)] * 5])
    check_bands(scores + 2.0**10, Fraction(1, 4), 1)
    check_bands(scores, Fraction(1, 4), 1)


FLOATS = [0.375, -0.1, 2.5, 2.5, -6.25]


@pytest.mark.usefixtures("without_few")
@BY_NOISE
@pytest.mark.parametrize("depth", [12, pytest.param(18, marks=pytest.mark.slow)])
def test_law_of_two_floats_in_a_band(kind: str, depth: int) -> None:
    """By enumeration of bit tapes: who is met is not yet chosen."""
    scores = [0.0, -1.625]
    noise, oracle, _ = NOISES[kind]
    assert len(Bands(np.array(scores), SCALE, 1).crowds(0)) == 1
    law: dict[int | None, float] = dict(enumerate(oracle(scores, float(SCALE))))
    assert_law(
        lambda bits: next(noisy_order(Dense(np.array(scores)), noise, bits=bits)),
        law,
        depth=depth,
        undecided=0.8 if depth == 18 else 0.95,
        runs=25_000,
    )


@pytest.mark.statistical
@BY_NOISE
@every("as_ints", [False, True])
def test_law_of_many_floats(kind: str, *, as_ints: bool) -> None:
    """Chi^2 over candidates at a nominal 1e-9 for each of 6 cases; the integers have 64 bits and no equals."""
    noise, oracle, _ = NOISES[kind]
    exact = np.random.default_rng(5).uniform(-25, 5, 60)
    scores = np.round(exact * 2**10).astype(np.int64) + 2**62 if as_ints else exact
    wide = type(noise)(SCALE * 2**10) if as_ints else noise  # type: ignore[call-arg]
    law = dict(enumerate(oracle((scores - scores.max()).tolist(), float(wide.scale))))
    bits = NumpyBits(8)
    assert chi_square_p(tally(lambda: next(noisy_order(Dense(scores), wide, bits=bits)), draws(8_000)), law) > 1e-9


@pytest.mark.statistical
@pytest.mark.usefixtures("without_few")
@BY_NOISE
@every("padding", [0, 2])
def test_law_of_the_best_two(kind: str, padding: int) -> None:
    """Ordered pairs, dummies included. Chi^2 at a nominal 1e-9 for each of 6 cases."""
    noise, _, oracle = NOISES[kind]
    scores = [score + 6.25 for score in FLOATS]
    law: dict[Any, float] = defaultdict(float)
    for pair, mass in top_k.one_shot([*scores, *[0.0] * padding], 2, float(1 / SCALE), oracle).items():
        law[tuple(place if place is not None and place < len(scores) else None for place in pair)] += mass
    bits = NumpyBits(9)
    universe = Dense(np.array(scores), padding)
    seen = tally(lambda: tuple(noisy_order(universe, noise, bits=bits, count=2)), draws(4_000))
    assert chi_square_p(seen, law) > 1e-9


@pytest.mark.statistical
@pytest.mark.usefixtures("without_few")
@BY_NOISE
def test_law_of_scaled_scores_without_some(kind: str) -> None:
    """Views of an array have its bands. Chi^2 at a nominal 1e-9 for each of 3 cases."""
    noise, oracle, _ = NOISES[kind]
    sensitivity = Fraction(5, 2)
    left = [0, 1, 3, 4]
    law = dict(zip(left, oracle([FLOATS[place] / float(sensitivity) for place in left], float(SCALE)), strict=True))
    bits = NumpyBits(10)
    inside, outside = Remaining(Dense(np.array(FLOATS))), Remaining(Scaled(Dense(np.array(FLOATS)), sensitivity))
    for remaining, universe in ((inside, Scaled(inside, sensitivity)), (outside, outside)):
        remaining.take(2)
        seen = tally(lambda universe=universe: next(noisy_order(universe, noise, bits=bits)), draws(2_000))  # type: ignore[misc]
        assert chi_square_p(seen, law) > 1e-9


def test_a_band_draws_all_that_are_left() -> None:
    """Also those behind as many places as are left. One is missed with a probability below 1e-20."""
    (band,) = Bands(np.zeros(20), SCALE, 1).crowds(0, gone=range(10))
    assert band.size == 10
    assert {band.draw(bits=SystemBits())[0] for _ in range(1000)} >= set(range(10, 20))


@BY_NOISE
def test_law_of_equals_without_some(kind: str) -> None:
    """The last of a band is chosen as often as others: it is missed with a probability below 1e-20."""
    left = Remaining(Dense(np.zeros(20)))
    for place in range(17):
        left.take(place)
    assert {next(noisy_order(left, NOISES[kind][0], bits=SystemBits())) for _ in range(150)} == {17, 18, 19}


@BY_NOISE
@every("count", [1, 7, 300, 1000])
def test_all_of_an_array_is_a_permutation(kind: str, count: int) -> None:
    scores = np.random.default_rng(3).normal(0, 4, 300)
    order = list(noisy_order(Dense(scores), NOISES[kind][0], bits=SystemBits(), count=count))
    assert len(set(order)) == len(order) == min(count, 300)


@BY_NOISE
def test_floats_far_apart_come_in_their_order(kind: str) -> None:
    scores = np.random.default_rng(4).permutation(np.arange(200) * 1e9 + 0.125)
    order = list(noisy_order(Dense(scores), NOISES[kind][0], bits=SystemBits(), count=30))
    assert order == np.argsort(-scores)[:30].tolist()


@every("size", [10**3, 10**5])
def test_few_candidates_are_met(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of distinct floats: an exact number is made of the best one and of those that are met."""
    met: list[int] = []
    score = Bands.score

    def noted(self: Bands, place: int) -> Any:
        met.append(place)
        return score(self, place)

    monkeypatch.setattr(Bands, "score", noted)
    universe = Dense(np.random.default_rng(6).uniform(0, 1000, size))
    for _ in range(20):
        next(noisy_order(universe, NOISES["gumbel"][0], bits=SystemBits()))
    assert len(met) < 20 * 8
