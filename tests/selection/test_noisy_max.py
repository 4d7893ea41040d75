from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats
from support.adversary import CountingBits, Descent, LazyUniverse
from support.cases import every
from support.effort import draws
from support.oracles.mechanisms import chi_square_p, exponential_max, laplace_max, softmax, tally
from support.tapes import assert_law

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import Constant, ExponentialNoise, GumbelNoise, LaplaceNoise, Noise, Real, less_than
from dpmine.selection.contest import Arrivals
from dpmine.selection.draws import noisy_order
from dpmine.selection.universes.dense import Dense, Levels

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Score, Universe

SCALE = Fraction(3)
NOISES: dict[str, tuple[Noise, Any]] = {
    "gumbel": (GumbelNoise(SCALE), lambda scores, scale: softmax(scores, 1 / scale)),
    "laplace": (LaplaceNoise(SCALE), laplace_max),
    "exponential": (ExponentialNoise(SCALE), exponential_max),
}
BY_NOISE = pytest.mark.parametrize("kind", NOISES)


def noisy_max(universe: Universe[Any], noise: Noise, *, bits: BitSource, floor: Score | None = None) -> Any:
    """The candidate with the largest score + noise, None for a dummy."""
    return next(noisy_order(universe, noise, bits=bits, floor=floor), None)


@cache
def cached_masses(kind: str, scores: tuple[int, ...]) -> tuple[float, ...]:
    return tuple(NOISES[kind][1](scores, float(SCALE)))


def expected_law(kind: str, truth: dict[Any, int], padding: int = 0) -> dict[Any, float]:
    candidates = [*truth, *[None] * padding]
    masses = cached_masses(kind, (*truth.values(), *[0] * padding))
    law: dict[Any, float] = defaultdict(float)
    for candidate, mass in zip(candidates, masses, strict=True):
        law[candidate] += mass
    return dict(law)


SMALL: dict[str, dict[Any, int]] = {
    "two": {"a": 2, "b": 0},
    "a tie": {"a": 3, "b": 3},
    "negative": {"a": -2, "b": -5},
}
FLOORS: dict[str, Callable[[Score], Score]] = {
    "everything": lambda _: -5,
    "top only": lambda top: top,
    "nothing": lambda top: top + 1,
    "between": lambda top: top - Fraction(1, 2),
    "one below": lambda top: top - 1,
}


@BY_NOISE
@pytest.mark.parametrize("depth", [9, pytest.param(14, marks=pytest.mark.slow)])
@every("floor", FLOORS)
@pytest.mark.parametrize("shape", SMALL)
def test_law_whatever_the_floor(shape: str, floor: str, kind: str, depth: int) -> None:
    """By enumeration of bit tapes, the tail as vague as it may be."""
    truth = SMALL[shape]
    universe = LazyUniverse(truth, least=-5, descent=Descent.CRAWL)
    cut = FLOORS[floor](universe.top())
    assert_law(
        lambda bits: noisy_max(universe, NOISES[kind][0], bits=bits, floor=cut),
        expected_law(kind, truth),
        depth=depth,
        undecided=0.6 if depth == 14 else 0.9,
        runs=4_000,
    )


@pytest.mark.slow
@BY_NOISE
@pytest.mark.parametrize("floor", FLOORS)
def test_law_whatever_the_floor_deeper(floor: str, kind: str) -> None:
    truth = {"a": 4, "b": 2, "c": 0}
    universe = LazyUniverse(truth, least=-5, descent=Descent.CRAWL)
    cut = FLOORS[floor](universe.top())
    assert_law(
        lambda bits: noisy_max(universe, NOISES[kind][0], bits=bits, floor=cut),
        expected_law(kind, truth),
        depth=18,
        undecided=0.7,
        runs=25_000,
    )


@BY_NOISE
def test_law_with_dummies(kind: str) -> None:
    universe = Dense([2, 0], padding=2)
    assert_law(
        lambda bits: noisy_max(universe, NOISES[kind][0], bits=bits),
        expected_law(kind, {0: 2, 1: 0}, padding=2),
        depth=15,
        undecided=0.55,
        runs=4_000,
    )


LARGE: dict[str, dict[Any, int]] = {
    "spread": {i: i % 11 for i in range(60)},
    "needle": {i: 12 if i == 7 else 0 for i in range(80)},
    "flat": dict.fromkeys(range(40), 2),
    "two camps": {i: 9 if i < 4 else -1 for i in range(50)},
}


@pytest.mark.statistical
@BY_NOISE
@every("floor", ["default", *FLOORS])
@every("shape", LARGE)
def test_law_on_large_universes(shape: str, floor: str, kind: str) -> None:
    """Chi^2 over scores at a nominal 1e-10 for each of 72 cases."""
    truth = LARGE[shape]
    universe = LazyUniverse(truth, least=-5, descent=Descent.CRAWL)
    cut = None if floor == "default" else FLOORS[floor](universe.top())
    by_score: dict[int, float] = defaultdict(float)
    for candidate, mass in expected_law(kind, truth).items():
        by_score[truth[candidate]] += mass
    times = 400 if floor == "default" else 150
    seen = tally(lambda: truth[noisy_max(universe, NOISES[kind][0], bits=SystemBits(), floor=cut)], times)
    assert chi_square_p(seen, by_score) > 1e-10


@pytest.mark.statistical
@BY_NOISE
@pytest.mark.parametrize("floor", [0, 3, 8, 12, None])
def test_law_on_large_universes_with_many_draws(floor: int | None, kind: str) -> None:
    """Chi^2 over candidates, 10,000 draws, at a nominal 1e-9 for each of 15 cases."""
    truth = LARGE["spread"]
    universe = Dense(list(truth.values()))
    seen = tally(lambda: noisy_max(universe, NOISES[kind][0], bits=SystemBits(), floor=floor), draws(10_000))
    assert chi_square_p(seen, expected_law(kind, truth)) > 1e-9


@pytest.mark.statistical
@BY_NOISE
def test_members_of_a_level_are_equally_likely(kind: str) -> None:
    """A head level, and the same candidates met in the tail, at a nominal 1e-9 each."""
    universe = Dense([1] * 10)
    for floor in (1, 2):
        seen = tally(partial(noisy_max, universe, NOISES[kind][0], bits=SystemBits(), floor=floor), 600)
        assert chi_square_p(seen, dict.fromkeys(range(10), 0.1)) > 1e-9


@BY_NOISE
def test_one_candidate(kind: str) -> None:
    for floor in (None, 4, 5):
        assert noisy_max(Dense([4]), NOISES[kind][0], bits=SystemBits(), floor=floor) == 0


@BY_NOISE
def test_only_dummies(kind: str) -> None:
    assert noisy_max(Levels([], padding=10**30), NOISES[kind][0], bits=SystemBits()) is None


@BY_NOISE
@every("size", [10**3, 10**9, 10**30])
def test_work_does_not_grow_with_the_universe(size: int, kind: str) -> None:
    """One winner above `size` others: bits are spent on few candidates."""
    bits = CountingBits()
    for _ in range(20):
        noisy_max(Levels([(200, 1), (0, size)]), NOISES[kind][0], bits=bits)
    assert bits.taken < 20 * 64 * 600


@BY_NOISE
def test_a_tail_drawn_to_its_end(kind: str) -> None:
    """An empty head and a noise so large that the whole tail has to be met."""
    wide = type(NOISES[kind][0])(Fraction(10**6))  # type: ignore[call-arg]
    universe: Universe[Any] = LazyUniverse({i: i for i in range(12)}, least=0, descent=Descent.CRAWL)
    assert noisy_max(universe, wide, bits=SystemBits(), floor=12) in range(12)


class Arrival(Real):
    """V_k."""

    def __init__(self, arrivals: Arrivals, k: int) -> None:
        super().__init__()
        self._arrivals = arrivals
        self._k = k

    def _enclosure(self, width: int) -> Any:
        return self._arrivals.ball(self._k - 1, width)


@pytest.mark.statistical
@every(("k", "size"), [(1, 5), (3, 5), (5, 5), (1, 10**30)])
def test_arrivals_are_ordered_exponentials(k: int, size: int) -> None:
    """Pr[V_k < x] = Pr[at least k of `size` standard exponentials are below x], at a nominal 1e-9 each."""
    x = Fraction(k, size)
    below = float(stats.binom.sf(k - 1, size, -math.expm1(-x))) if size < 100 else 1 - math.exp(-1)

    def arrives() -> bool:
        return less_than(Arrival(Arrivals(size, SystemBits()), k), Constant(x), bits=SystemBits())

    assert chi_square_p(tally(arrives, 1000), {True: below, False: 1 - below}) > 1e-9
