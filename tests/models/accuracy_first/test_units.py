"""Clipping and scaling to the unit ball, and the way back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from models.accuracy_first.lines import exact_norm
from support.cases import every

from dpmine.models.accuracy_first.settings import UnitBox

ALL_FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)
BOUNDS = st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(10), Fraction(1, 10**100), Fraction(10**100)])
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 9))

ADVERSARIAL = [
    [1.0, 0.0, 0.0],
    [1 / 3, 1 / 3, 1 / 3],
    [0.1] * 3,
    [1e308] * 3,
    [1.7e308, 0.0, 0.0],
    [1.7e308, 1.7e308, -1.7e308],
    [1e308, 5e-324, -1e-300],
    [5e-324] * 3,
    [2.2e-308, -1e-310, 0.0],
    [np.nextafter(1, 2), 0.0, 0.0],
    [1 + 2**-29, 2**-60, -(2**-60)],
    [1e16, 1.0, -1.0],
    [0.0] * 3,
]


@every("intercept", [True, False])
@every("bound", [Fraction(1), Fraction(1, 7), Fraction(10**100), Fraction(1, 10**100)])
def test_no_row_is_longer_than_one(bound: Fraction, intercept: bool) -> None:
    rows = UnitBox(bound, None, intercept).rows(np.array(ADVERSARIAL))
    assert rows.shape == (len(ADVERSARIAL), 3 + intercept)
    assert max(map(exact_norm, rows)) <= 1


@given(arrays(np.float64, SHAPES, elements=ALL_FLOATS), BOUNDS, st.booleans())
def test_rows_of_any_floats(features: Any, bound: Fraction, intercept: bool) -> None:
    """In the ball, shortened by no more than it takes, and each by itself."""
    units = UnitBox(bound, None, intercept)
    rows = units.rows(features)
    for given_row, row in zip(features, rows, strict=True):
        assert exact_norm(row) <= 1
        assert (np.sign(row[: len(given_row)]) * np.sign(given_row) >= 0).all()
        assert units.rows(given_row[np.newaxis])[0].tolist() == row.tolist()
        inside = Fraction(1, 2) if intercept else Fraction(1)
        if bound <= exact_norm(given_row) <= 10**308:
            assert exact_norm(row) >= 1 - Fraction(1, 10**8)
            assert exact_norm(row[: len(given_row)]) >= inside - Fraction(1, 10**8)


def test_many_small_entries() -> None:
    """Whose rounded sum may be below the exact one."""
    generator = np.random.default_rng(0)
    wide = generator.exponential(size=(2, 20_000)) ** 3
    assert max(map(exact_norm, UnitBox(Fraction(1), None, False).rows(wide))) <= 1


def test_rows_within_the_bound_are_only_scaled() -> None:
    units = UnitBox(Fraction(5, 2), None, False)
    features = np.array([[1.0, -1.5], [0.25, 0.0]])
    assert np.allclose(units.rows(features), features / 2.5, rtol=1e-8)
    assert np.allclose(units.rows(2 * features)[0], features[0] / 2.5, rtol=1e-8)


def test_signs_turn_whole_rows() -> None:
    features, signs = np.array([[0.5, -0.2], [3.0, 4.0]]), np.array([1.0, -1.0])
    for intercept in (True, False):
        units = UnitBox(Fraction(1), None, intercept)
        assert (units.rows(features, signs) == units.rows(features) * signs[:, np.newaxis]).all()


@given(st.lists(ALL_FLOATS, min_size=2, max_size=9), BOUNDS)
def test_targets(values: list[float], bound: Fraction) -> None:
    """In [−1, 1], in the same order, odd; those within the bound are scaled."""
    units = UnitBox(Fraction(1), bound, False)
    targets = units.targets(np.array(sorted(values)))
    assert (np.abs(targets) <= 1).all()
    assert (np.diff(targets) >= 0).all()
    assert (units.targets(-np.array(sorted(values))) == -targets).all()
    for value, target in zip(sorted(values), targets, strict=True):
        clipped = max(-bound, min(bound, Fraction(value)))
        assert abs(Fraction(float(target)) - clipped / bound) <= Fraction(1, 10**8)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_predict_the_same_in_the_users_units(intercept: bool) -> None:
    units = UnitBox(Fraction(5, 2), Fraction(7), intercept)
    rows = np.random.default_rng(1).uniform(-0.8, 0.8, (20, 3))
    weights = np.arange(1.0, 4.0 + intercept)
    coefficients, constant = units.split(weights)
    inside = units.rows(rows) @ weights * float(units.y_unit)
    assert np.allclose(inside, rows @ coefficients + constant)
    assert (constant == 0) == (not intercept)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_risk_is_the_users_over_the_square_of_the_targets_unit(intercept: bool) -> None:
    """Penalty and loss, with the constant column, of value x_bound, among the features."""
    units = UnitBox(Fraction(5, 2), Fraction(7), intercept)
    generator = np.random.default_rng(2)
    features, y = generator.uniform(-0.8, 0.8, (20, 3)), generator.uniform(-6, 6, 20)
    weights = generator.normal(size=3 + intercept)
    ridge = Fraction(3, 10)
    inside: Any = np.mean((units.targets(y) - units.rows(features) @ weights) ** 2) / 2
    inside += float(units.regularization(ridge)) / 2 * weights @ weights
    coefficients, constant = units.split(weights)
    outside: Any = np.mean((y - features @ coefficients - constant) ** 2) / 2
    outside += 0.3 / 2 * (coefficients @ coefficients + (constant / 2.5) ** 2)
    assert inside == pytest.approx(float(units.risk(Fraction(1))) * outside)
