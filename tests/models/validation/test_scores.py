from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.cases import every

from dpmine import BadParameter
from dpmine.models.validation.terms import UNIT, fixed_point_mean


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
