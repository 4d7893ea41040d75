from __future__ import annotations

from fractions import Fraction

import numpy as np
from support.cases import every

from dpmine import law
from dpmine.models.validation.terms import (
    UTILITY_FAILURE,
    Sensitivities,
    Stability,
    comparable,
    generalised_scores,
    utility_shift,
)

EPSILON = Fraction(1, 2)


def _random_case(seed: int) -> tuple[list[Fraction], list[Fraction], np.random.Generator]:
    generator = np.random.default_rng(seed)
    k = int(generator.integers(2, 8))
    scores = [Fraction(int(value), 1000) for value in generator.integers(-3000, 3000, k)]
    steps = [Fraction(int(value), 10_000) for value in 10 ** generator.uniform(0, 4, k)]
    return scores, steps, generator


@every("seed", range(40))
def test_one_record_moves_generalised_scores_by_at_most_one(seed: int) -> None:
    scores, steps, generator = _random_case(seed)
    shift = Fraction(int(generator.integers(0, 50)))
    for _ in range(20):
        moves = [int(move) for move in generator.choice([-4, -1, 0, 3, 4], len(scores))]
        moved = [q + Fraction(move, 4) * step for q, step, move in zip(scores, steps, moves, strict=True)]
        pairs = zip(generalised_scores(scores, steps, shift), generalised_scores(moved, steps, shift), strict=True)
        assert max(abs(s - t) for s, t in pairs) <= 1


def test_the_bound_on_generalised_scores_is_attained() -> None:
    steps = [Fraction(1), Fraction(100)]
    before = generalised_scores([Fraction(0), Fraction(500)], steps, Fraction(0))
    after = generalised_scores([Fraction(1), Fraction(400)], steps, Fraction(0))
    assert after[0] - before[0] == 1


def test_generalised_scores_by_hand() -> None:
    """t = 2: lowered scores 5 − 2 = 3 and 9 − 6 = 3 − … so that the first leads."""
    scores = [Fraction(5), Fraction(8), Fraction(0)]
    steps = [Fraction(1), Fraction(3), Fraction(1)]
    assert generalised_scores(scores, steps, Fraction(2)) == (Fraction(0), Fraction(-1, 4), Fraction(-5, 2))


@every("caution", [Fraction(0), Fraction(1, 2), Fraction(1)])
@every("mechanism", ["exponential", "max_of_exponentials"])
@every("seed", range(10))
def test_utility_of_generalised_scores(mechanism: str, seed: int, caution: Fraction) -> None:
    """Pr[q_chosen + (T − t)Δ_chosen < max_j (q_j − (T + t)Δ_j)] ≤ η, by the exact law."""
    scores, steps, _ = _random_case(seed)
    full = utility_shift(len(scores), EPSILON)
    shift = caution * full
    pmf = law(list(generalised_scores(scores, steps, shift)), epsilon=EPSILON, mechanism=mechanism).pmf
    bound = max(q - (full + shift) * step for q, step in zip(scores, steps, strict=True))
    lifted = [q + (full - shift) * step for q, step in zip(scores, steps, strict=True)]
    failure = sum(float(p) for p, q in zip(pmf, lifted, strict=True) if q < bound)
    assert failure <= float(UTILITY_FAILURE)


def test_an_unstable_candidate_does_not_hide_the_others() -> None:
    """One candidate of a thousand times the sensitivity, as the smallest regulariser of a classifier has."""
    scores = [Fraction(0), Fraction(1, 2), Fraction(2, 5)]
    steps = [Fraction(1), Fraction(1, 1000), Fraction(1, 1000)]
    chances = {}
    for kind in Sensitivities:
        found = comparable(scores, steps, epsilon=Fraction(1), kind=kind)
        chances[kind] = law(
            list(found.scores), epsilon=1, mechanism="max_of_exponentials", sensitivity=found.sensitivity
        ).pmf[1]
    assert chances[Sensitivities.UNIFORM] < 0.45
    assert chances[Sensitivities.CANDIDATE] > 0.99


def test_sensitivity_is_that_of_the_weaker_side() -> None:
    stability = Stability(Fraction(4), Fraction(2))
    assert stability.sensitivity(100, 10) == Fraction(1, 5)
    assert stability.sensitivity(10, 100) == Fraction(2, 5)
