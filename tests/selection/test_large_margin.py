from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.effort import draws
from support.oracles.mechanisms import chi_square_p, naive_large_margin, softmax, threshold, two_sample_p

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import Constant, working_precision
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight, _LaplaceTrials, _OneSidedTrials
from dpmine.selection.mechanisms.mechanism import SearchStage

if TYPE_CHECKING:
    from dpmine.selection.universes.protocol import Score

EPSILON, DELTA = 8.0, 0.2


def mechanism(epsilon: float = EPSILON, delta: float = DELTA) -> LargeMargin:
    return LargeMargin(Fraction(repr(epsilon)), Fraction(repr(delta)), Neighbors.REPLACE_ONE)


SHAPES: dict[str, tuple[list[int], int]] = {
    "clear winner": ([45, 3, 2, 1], 0),
    "on the edge": ([27, 4, 4, 3, 1], 0),
    "two ahead": ([40, 39, 12, 11, 10, 1], 0),
    "a run ahead": ([50] * 9 + [8] * 5, 0),
    "staircase": (list(range(60, 0, -4)), 0),
    "flat": ([5] * 12, 0),
    "two candidates": ([24, 0], 0),
    "padded winner": ([45, 3, 2], 300),
    "padded edge": ([27, 24, 1], 300),
    "padded, few dummies": ([60, 58, 30, 29], 3),
    "padded staircase": (list(range(60, 0, -4)), 200),
    "padded, zeros listed": ([38, 4, 0, 0, 0], 50),
    "padded, hopeless": ([4, 3], 150),
}


def chosen_scores(ranked: list[int], padding: int, draws: int, descent: Descent) -> Counter[int | None]:
    universe = LazyUniverse(dict(enumerate(ranked)), least=0, descent=descent, padding=padding)
    large_margin = mechanism()
    winners = (large_margin.choose(universe, bits=SystemBits()) for _ in range(draws))
    return Counter(None if winner is None else ranked[winner] for winner in winners)


@pytest.mark.statistical
@pytest.mark.parametrize("descent", Descent)
@pytest.mark.parametrize("shape", SHAPES)
def test_law_is_that_of_the_printed_loop(shape: str, descent: Descent) -> None:
    """Two-sample chi^2 over the winner's score at a nominal 1e-9 for each of 39 cases."""
    ranked, padding = SHAPES[shape]
    naive = naive_large_margin(ranked, EPSILON, DELTA, draws=1500, dummies=padding)
    assert two_sample_p(chosen_scores(ranked, padding, 500, descent), naive) > 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("shape", SHAPES)
def test_law_is_that_of_the_printed_loop_with_many_draws(shape: str) -> None:
    """Two-sample chi^2, 10,000 draws each, at a nominal 1e-9 for each of 13 cases."""
    ranked, padding = SHAPES[shape]
    naive = naive_large_margin(ranked, EPSILON, DELTA, draws=draws(10_000), dummies=padding, seed=2)
    assert two_sample_p(chosen_scores(ranked, padding, draws(10_000), Descent.HALVE), naive) > 1e-9


@every("kind", [LargeMargin, LargeMarginTight])
def test_the_last_of_close_candidates_can_be_chosen(kind: type[LargeMargin]) -> None:
    """A false alarm is less likely than 1e-9: it has a chance above 0.1."""
    universe = LazyUniverse({0: 6, 1: 5}, least=0, descent=Descent.HALVE, padding=0)
    tried = kind(Fraction(8), Fraction(1, 5), Neighbors.REPLACE_ONE)
    assert {tried.choose(universe, bits=SystemBits()) for _ in range(200)} == {0, 1}


@every("kind", [LargeMargin, LargeMarginTight])
def test_no_stage_spends_more_than_all(kind: type[LargeMargin]) -> None:
    search, *_ = kind(Fraction(8), Fraction(1, 5), Neighbors.REPLACE_ONE).stages()
    assert isinstance(search, SearchStage)
    assert max(search.epsilon, search.first_epsilon) <= 8


@pytest.mark.statistical
def test_the_draw_spends_a_sixth_of_epsilon() -> None:
    """Two candidates stand far above the rest, one apart: chi^2 at a nominal 1e-9."""
    seen = chosen_scores([80, 79, 2, 1], 0, 2500, Descent.HALVE)
    assert chi_square_p(seen, dict(zip([80, 79], softmax([80, 79], EPSILON / 6), strict=True))) > 1e-9


@every(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.01), (30.0, 1e-12)])
@every("rank", [1, 2, 17, 10**6])
def test_threshold_of_the_search(rank: int, epsilon: float, delta: float) -> None:
    """At V − c(ℓ+1) = T(ℓ) the trial is a fair coin, on either side it is not."""
    for offset, side in ((-1e-6, -1), (1e-6, 1)):
        v = Constant(Fraction(threshold(rank, epsilon, delta)) + 5 + Fraction(offset))
        step = _LaplaceTrials(Fraction(repr(epsilon)), Fraction(repr(delta)), v)
        with working_precision(200):
            p = step.probability(rank, 5).ball(100)
            survival = step.log_survival(rank, 5).ball(100).exp()
            assert (p > 0.5) == (side > 0)
            assert (p + survival).contains(1)


@every("neighbors", Neighbors)
@every("rank", [1, 2, 3, 50])
@every("excess", [0.25, 3.0])
def test_hazard_of_the_tight_search(rank: int, excess: float, neighbors: Neighbors) -> None:
    """ν_ℓ must pass the threshold, which is `excess` + ρ away: with scale u/ε at rank 1 and u/(0.4 ε) beyond."""
    epsilon, delta, u = 1.5, 1e-4, 1 if neighbors is Neighbors.ADD_REMOVE else 2
    tight = LargeMarginTight(Fraction(3, 2), Fraction(1, 10**4), neighbors)
    share = epsilon if rank == 1 else 0.4 * epsilon
    margin = u + (0 if rank == 1 else u / (0.4 * epsilon) * log((rank - 1) / (delta / 2)))
    threshold = margin + u / share * log(rank * (rank + 1) / (delta / 2))
    lead = Fraction(threshold - excess)
    step = _OneSidedTrials(tight, lead, Constant(0), SystemBits())
    with working_precision(200):
        p = step.probability(rank, 0).ball(100)
        assert float(p) == pytest.approx(exp(-excess * share / u), rel=1e-12)
        assert (p + step.log_survival(rank, 0).ball(100).exp()).contains(1)
    assert not step.is_certain(rank, 0)
    assert step.is_certain(rank, Fraction(-excess - 1))


def test_the_hazard_at_rank_1_may_lie_below_that_at_rank_2() -> None:
    """Far below the thresholds the smaller scale at rank 1 weighs more than the smaller threshold."""
    tight = LargeMarginTight(Fraction(1), Fraction(1, 2), Neighbors.REPLACE_ONE)
    step = _OneSidedTrials(tight, 5, Constant(40), SystemBits())
    with working_precision(200):
        first, *later = (step.probability(rank, 5).ball(100) for rank in range(1, 30))
        assert first < later[0]
        assert all(left > right for left, right in pairwise(later))


@pytest.mark.parametrize(("score", "above"), [(0, 3), (7, 9), (Fraction(1, 2), 1)])
def test_hazard_falls_with_the_score_and_the_rank(score: Score, above: Score) -> None:
    step = _LaplaceTrials(Fraction(1), Fraction(1, 100), Constant(30))

    def hazard(rank: int, c: Score) -> Any:
        with working_precision(200):
            return step.probability(rank, c).ball(100)

    with working_precision(200):
        assert hazard(3, score) > hazard(3, above)
        assert hazard(3, score) > hazard(4, score)
    assert not step.is_certain(1, score)


def test_lead_is_the_gap_where_one_candidate_stands_out() -> None:
    """T(1) and 36/ε of noise: about 415 + 36 at ε = 1, δ = 1e-6."""
    assert mechanism(1.0, 1e-6).lead(10) == pytest.approx(threshold(1, 1.0, 1e-6) + 36)
