from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.adversary import CountingBits, Descent, LazyUniverse
from support.cases import every
from support.effort import draws
from support.oracles.mechanisms import chi_square_p, first_stop_law, tally
from support.tapes import assert_law

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import Constant, Formula, Real
from dpmine.selection.mechanisms.first_stop import first_stop
from dpmine.selection.universes.dense import Levels
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.selection.universes.protocol import Score, Universe

NUDGE = Fraction(1, 10**9 + 7)  # no hazard of a test may equal a constant that it is compared with


class RationalHazard:
    """p_ℓ(c) = min(1, strength · 2^−c / ℓ), which falls with ℓ and rises when the score falls."""

    def __init__(self, strength: Fraction) -> None:
        self._strength = strength + NUDGE

    def value(self, rank: int, score: Score) -> Fraction:
        return min(Fraction(1), self._strength / Fraction(2) ** int(score) / rank)

    def probability(self, rank: int, score: Score) -> Real:
        return Constant(self.value(rank, score))

    def log_survival(self, rank: int, score: Score) -> Real:
        return Formula(lambda p: (1 - p).log(), self.probability(rank, score))

    def is_certain(self, rank: int, score: Score) -> bool:
        return self.value(rank, score) == 1


def expected_law(hazard: RationalHazard, ranked: Sequence[int], length: int) -> dict[int | None, float]:
    """`ranked`: c(1) ≥ c(2) ≥ …; zeros follow up to `length`."""
    scores = [*ranked, *[0] * length][:length]
    return first_stop_law(float(hazard.value(rank, scores[rank])) for rank in range(1, length))


def universe_of(ranked: Sequence[int], descent: Descent, padding: int) -> Universe[Any]:
    return LazyUniverse(dict(enumerate(ranked)), least=0, descent=descent, padding=padding)


SMALL = {
    "steps": ([3, 2, 1, 0], 0),
    "a run": ([2, 1, 1, 1], 0),
    "all equal": ([1, 1, 1, 1, 1], 0),
    "one": ([4], 0),
    "dummies": ([2, 1], 5),
    "more candidates than dummies": ([2, 1, 1, 1, 1], 3),
    "only dummies": ([], 4),
}


@pytest.mark.parametrize("depth", [8, pytest.param(13, marks=pytest.mark.slow)])
@every("descent", Descent)
@every("strength", [Fraction(1, 3), Fraction(2)])
@pytest.mark.parametrize("shape", SMALL)
def test_law_on_small_universes(shape: str, strength: Fraction, descent: Descent, depth: int) -> None:
    """By enumeration of bit tapes; the strength of 2 makes some stops certain."""
    ranked, padding = SMALL[shape]
    hazard = RationalHazard(strength)
    expected = expected_law(hazard, ranked, padding or len(ranked))
    assert_law(
        lambda bits: first_stop(hazard, Ranking(universe_of(ranked, descent, padding)), bits=bits),
        expected,
        depth=depth,
        undecided=0.25 if depth == 13 else 0.75,
        runs=4_000,
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", SMALL)
def test_law_on_small_universes_deeper(shape: str) -> None:
    ranked, padding = SMALL[shape]
    hazard = RationalHazard(Fraction(2, 3))
    expected = expected_law(hazard, ranked, padding or len(ranked))
    assert_law(
        lambda bits: first_stop(hazard, Ranking(universe_of(ranked, Descent.CRAWL, padding)), bits=bits),
        expected,
        depth=18,
        undecided=0.2,
        runs=40_000,
    )


class LateHazard(RationalHazard):
    """As above, but at rank 1 a quarter of it: less than at rank 2."""

    def value(self, rank: int, score: Score) -> Fraction:
        return super().value(rank, score) / (4 if rank == 1 else 1)


@every("descent", Descent)
@pytest.mark.parametrize("shape", SMALL)
def test_the_first_hazard_may_be_smaller_than_the_second(shape: str, descent: Descent) -> None:
    ranked, padding = SMALL[shape]
    hazard = LateHazard(Fraction(1))
    assert_law(
        lambda bits: first_stop(hazard, Ranking(universe_of(ranked, descent, padding)), bits=bits),
        expected_law(hazard, ranked, padding or len(ranked)),
        depth=9,
        undecided=0.75,
        runs=4_000,
    )


LARGE = {
    "staircase": (list(range(14, -1, -1)), 0),
    "runs": ([8] * 20 + [6] * 60 + [5] * 200 + [3] * 100, 0),
    "a sudden drop": ([9] * 150 + [0] * 50, 0),
    "one above many": ([9] + [1] * 300, 0),
    "dummies": ([9, 8, 7, 7, 7, 4, 2], 400),
}


@pytest.mark.statistical
@pytest.mark.parametrize("descent", Descent)
@pytest.mark.parametrize("strength", [Fraction(1, 2), Fraction(30)])
@pytest.mark.parametrize("shape", LARGE)
def test_law_on_large_universes(shape: str, strength: Fraction, descent: Descent) -> None:
    """Chi^2 at a nominal 1e-9 for each of 30 cases."""
    ranked, padding = LARGE[shape]
    hazard = RationalHazard(strength)
    ranking = Ranking(universe_of(ranked, descent, padding))
    expected = expected_law(hazard, ranked, ranking.length)
    seen = tally(lambda: first_stop(hazard, ranking_like(ranked, descent, padding), bits=SystemBits()), 800)
    assert chi_square_p(seen, expected) > 1e-9


def ranking_like(ranked: Sequence[int], descent: Descent, padding: int) -> Ranking[Any]:
    return Ranking(universe_of(ranked, descent, padding))


@pytest.mark.statistical
@pytest.mark.parametrize("shape", LARGE)
def test_law_on_large_universes_with_many_draws(shape: str) -> None:
    """Chi^2 of 15,000 draws at a nominal 1e-9 for each of 5 cases."""
    ranked, padding = LARGE[shape]
    times = draws(15_000)
    hazard = RationalHazard(Fraction(7))
    expected = expected_law(hazard, ranked, padding or len(ranked))
    seen = tally(lambda: first_stop(hazard, ranking_like(ranked, Descent.HALVE, padding), bits=SystemBits()), times)
    assert chi_square_p(seen, expected) > 1e-9


def test_nothing_to_try() -> None:
    hazard = RationalHazard(Fraction(1, 3))
    assert first_stop(hazard, Ranking(Levels([(3, 1)])), bits=SystemBits()) is None
    assert first_stop(hazard, Ranking(Levels([(3, 1)], padding=1)), bits=SystemBits()) is None


def test_hopeless_searches_through_2_to_the_128_dummies_are_short() -> None:
    bits = CountingBits()
    hazard = RationalHazard(Fraction(1, 2**200))
    for _ in range(20):
        assert first_stop(hazard, Ranking(Levels([(50, 1)], padding=2**128)), bits=bits) is None
    assert bits.taken <= 20 * 64 * 40


def test_supports_that_cannot_matter_are_never_looked_up() -> None:
    """With hazards this small almost no proposal lands, so nothing below the top is mined."""
    universe = LazyUniverse({i: 40 - i for i in range(30)}, least=0, descent=Descent.CRAWL, padding=2**128)
    assert first_stop(RationalHazard(Fraction(1, 2**180)), Ranking(universe), bits=SystemBits()) is None
    assert universe.floors == [40]
