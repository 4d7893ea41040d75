"""The public terms of a validation, its scores, and what one record moves them by."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

from dpmine import BadParameter, law
from dpmine.models.validation.terms import (
    UNIT,
    UTILITY_FAILURE,
    Sensitivities,
    Stability,
    ValidationTerms,
    comparable,
    fixed_point_mean,
    generalised_scores,
    utility_shift,
)
from dpmine.parameters import below_one, exact_share, not_negative

if TYPE_CHECKING:
    from collections.abc import Callable


def _terms(**changes: Any) -> ValidationTerms:
    sizes = {"train_size": 10, "validation_size": 10}
    return ValidationTerms.of(**{**sizes, "failure": 0, "training_epsilon": 1, "selection_epsilon": 1, **changes})


@every(
    ("read", "good", "bad", "hint"),
    [
        (not_negative, [0, "1/3", 10**100], [-1, "-1e-9", float("-inf")], "at least 0|finite"),
        (not_negative, [], [10**101, "1e-101"], "between 1e-100 and 1e100"),
        (below_one, [0, 0.5, "0.999"], [1, -1, "3/2"], "at least 0 and less than 1"),
        (exact_share, ["1e-200", 0.5], [0, 1, 2, -0.5], "strictly between 0 and 1"),
    ],
)
def test_ranges(read: Callable[[str, Any], Fraction], good: list[Any], bad: list[Any], hint: str) -> None:
    for value in good:
        assert read("share", value) == Fraction(value)
    for value in bad:
        with pytest.raises(BadParameter, match=f"share must .*({hint})"):
            read("share", value)


def test_messages_name_the_range_that_holds() -> None:
    assert _terms(caution=0).caution == 0
    with pytest.raises(BadParameter, match="caution must be at least 0"):
        _terms(caution=-1)
    with pytest.raises(BadParameter, match="failure must be at least 0 and less than 1"):
        _terms(failure=1)


def test_names_of_options() -> None:
    for name in ("uniform", Sensitivities.UNIFORM):
        assert _terms(sensitivities=name).sensitivities is Sensitivities.UNIFORM
    with pytest.raises(BadParameter, match="sensitivities must be 'candidate' or 'uniform'"):
        _terms(sensitivities="local")


@every("caution", [0, 1, 3])
@every("largest", [Fraction(2), Fraction(3)])
def test_one_record_moves_comparable_scores_by_their_sensitivity_at_most(caution: int, largest: Fraction) -> None:
    """On either side of the rule that takes the uniform scores, for any caution; scores that move the most."""
    steps = [Fraction(1), largest]
    read = {"epsilon": Fraction(1), "kind": Sensitivities.CANDIDATE, "caution": Fraction(caution)}
    here = comparable([Fraction(0), Fraction(5)], steps, **read)  # type: ignore[arg-type]
    there = comparable([steps[0], 5 - steps[1]], steps, **read)  # type: ignore[arg-type]
    moved = max(abs(one - other) for one, other in zip(here.scores, there.scores, strict=True))
    assert moved == here.sensitivity == there.sensitivity
    assert here.sensitivity == (2 if largest == 2 else 1), "similar sensitivities are taken for equal"


def test_means_are_exact() -> None:
    assert fixed_point_mean([0.5, 0.25, 1.0], least=0, most=1) == Fraction(7, 12)


def test_order_does_not_matter() -> None:
    terms = np.random.default_rng(1).random(10_001)
    assert fixed_point_mean(terms, least=0, most=1) == fixed_point_mean(terms[::-1], least=0, most=1)


def test_terms_outside_the_bounds_and_nan_are_bounded() -> None:
    assert fixed_point_mean([np.nan, np.inf, -np.inf, 7, -7], least=-1, most=2) == Fraction(-1 + 2 - 1 + 2 - 1, 5)


@every("seed", range(20))
def test_one_record_moves_the_mean_by_the_bound_at_most(seed: int) -> None:
    generator = np.random.default_rng(seed)
    terms = generator.normal(size=50)
    other = terms.copy()
    other[7] = generator.choice([np.nan, 1e300, -1e300, 0.3])
    moved = abs(fixed_point_mean(terms, least=-1, most=1) - fixed_point_mean(other, least=-1, most=1))
    assert moved <= Fraction(2, 50)


def test_the_bound_for_one_record_is_attained() -> None:
    assert fixed_point_mean([1, 0], least=-1, most=1) - fixed_point_mean([-1, 0], least=-1, most=1) == 1


@every("seed", range(20))
def test_rounding_adds_one_unit_at_most(seed: int) -> None:
    generator = np.random.default_rng(seed)
    terms = generator.random(100)
    shift = np.ldexp(float(generator.integers(1, 10**6)), -50)
    moved = np.minimum(terms + shift, 1)
    change = fixed_point_mean(moved, least=0, most=1) - fixed_point_mean(terms, least=0, most=1)
    assert abs(change) <= Fraction(shift) + UNIT


def test_sums_do_not_overflow() -> None:
    many = np.full(100_000, 2.0**20)
    assert fixed_point_mean(many, least=-(2**20), most=2**20) == 2**20
    assert fixed_point_mean(-many, least=-(2**20), most=2**20) == -(2**20)


def test_no_terms() -> None:
    with pytest.raises(BadParameter, match="no validation records"):
        fixed_point_mean([], least=0, most=1)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, 2**21)])
def test_unusable_bounds(bounds: tuple[int, int]) -> None:
    with pytest.raises(BadParameter):
        fixed_point_mean([0.5], least=bounds[0], most=bounds[1])


@every("shape", [(2, 1), (7, 3), (64, 5), (1001, 17), (20_000, 40)])
def test_rows_that_are_not_replaced_have_bit_equal_terms(shape: tuple[int, int]) -> None:
    """docs/proofs/models/validation.md assumes it of matrix-vector products: an entry is a function of its own row."""
    generator = np.random.default_rng(shape[0])
    rows, weights = generator.normal(size=shape), generator.normal(size=shape[1])
    here = rows @ weights
    for replaced in {0, shape[0] // 2, shape[0] - 1}:
        for row in (0.0, 1e300, generator.normal(size=shape[1])):
            neighbour = rows.copy()
            neighbour[replaced] = row
            moved = np.flatnonzero((neighbour @ weights).view(np.int64) != here.view(np.int64))
            assert moved.tolist() == [replaced]


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
