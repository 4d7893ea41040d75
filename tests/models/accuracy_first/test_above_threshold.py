"""The test with exponential noise: what holds of every AboveThreshold, its closed forms, and its exact numbers."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.conformance.above_threshold import (
    ACCURACY,
    CHECKS,
    COUNTS,
    FAILURES,
    TENTH,
    VECTORS,
    attained,
    check_law,
    false_acceptance,
    stops,
)

from dpmine.models.accuracy_first.threshold_search import exponential_test

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("check", CHECKS)
def test_it_is_an_above_threshold(check: Callable[..., None]) -> None:
    check(exponential_test)


@pytest.mark.statistical
@pytest.mark.parametrize("queries", VECTORS[1:])
def test_the_law_of_the_place(queries: list[float]) -> None:
    check_law(exponential_test, queries)


def test_one_query_in_closed_form() -> None:
    """Pr[ν > c + ρ] for c ≥ 0."""
    test = exponential_test(Fraction(20), tests=5, failure=TENTH)
    scale, mean = float(test.each.scale), float(test.once.scale)
    wanted = math.exp(-float(test.threshold) / scale) / (1 + mean / scale)
    assert stops(test, [0.0])[0] == pytest.approx(wanted, abs=ACCURACY)


def test_some_pair_loses_nearly_the_charge() -> None:
    test = exponential_test(Fraction(20), tests=5, failure=TENTH)
    high = float(test.threshold) + 1.0
    queries, rejected = [high] * 4 + [float(test.threshold)], [high] * 5
    assert attained(test, queries, [high + 1] * 4 + [queries[-1] - 1])[0] >= 0.9999
    assert attained(test, rejected, [high + 1] * 5)[1] >= 0.9999


def test_not_much_of_the_failure_probability_is_given_away() -> None:
    for count, failure in product(COUNTS, FAILURES):
        assert false_acceptance(exponential_test, count, failure) >= float(failure) * (0.999 if count == 1 else 0.6)


@given(
    slack=st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**9),
    tests=st.integers(1, 10**6),
    failure=st.fractions(Fraction(1, 10**12), 1 - Fraction(1, 10**9), max_denominator=10**12),
)
def test_rounded_numbers_keep_both_guarantees(slack: Fraction, tests: int, failure: Fraction) -> None:
    """In 60 digits: T·Pr[ν > W + ρ] ≤ γ and Pr[ρ > slack − W] ≤ γ."""
    test = exponential_test(slack, tests=tests, failure=failure)
    with localcontext(prec=60):
        bar, first = number(test.threshold), 1 / number(test.once.scale)
        rate = 1 / number(test.each.scale)
        assert tests * (-rate * bar).exp() / (1 + rate / first) <= number(failure)
        assert (-first * (number(slack) - bar)).exp() <= number(failure)
    assert test.charge == 1 / test.once.scale + 2 / test.each.scale
    assert test.charge_of_none == 1 / test.once.scale
    assert decimals(test.charge_of_none)
    assert decimals(test.charge - test.charge_of_none)


def number(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def decimals(value: Fraction) -> bool:
    """Whether six significant digits write it out."""
    return Fraction(f"{float(value):.5e}") == value


@every("failure", [*FAILURES, 1 - Fraction(1, 10**30), Fraction(1, 10**400)])
def test_any_failure_probability_can_be_asked_for(failure: Fraction) -> None:
    assert exponential_test(Fraction(1), tests=10, failure=failure).charge > 0


@every(("tests", "failure"), [(1, TENTH), (10, TENTH), (1000, TENTH), (1000, Fraction(1, 10**6))])
def test_no_other_split_is_much_cheaper(tests: int, failure: Fraction) -> None:
    """For every ratio r = ε_b/ε_a the least charge in closed form; the best of a grid saves less than 2 %."""
    found = float(exponential_test(Fraction(1), tests=tests, failure=failure).charge)
    miss = -math.log(failure)
    ratios = np.geomspace(0.01, 100, 4001)
    bars = np.maximum(0.0, math.log(tests) + miss - np.log1p(ratios / 2))
    least = float(((1 + ratios) * (miss + 2 / ratios * bars)).min())
    assert least * (1 - 1e-6) <= found <= 1.02 * least
