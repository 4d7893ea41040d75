"""The net of whole weights, and scores against one product at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import gcd, pi, sqrt
from typing import Any

import numpy as np
import pytest
from support.cases import every

from dpmine import BadParameter
from dpmine.models.pac import separators
from dpmine.models.pac.hypothesis import Records
from dpmine.models.pac.separators import (
    GRID_STEPS,
    MOST_WEIGHTS,
    Separator,
    Separators,
    finest_resolution,
    net_angle,
    net_resolution,
    net_size,
    rounded,
    sign_counts,
)

SHAPES = [(2, 1), (2, 7), (3, 1), (3, 4), (4, 2), (5, 1), (6, 1)]


def _records(dimension: int, count: int, seed: int) -> Records:
    """Random rows, rows that are zero, and rows on the border of many separators."""
    generator = np.random.default_rng(seed)
    rows = [generator.normal(size=(count, dimension)) / 2, generator.integers(-2, 3, (count, dimension)) / 4]
    features = np.concatenate([*rows, np.zeros((2, dimension))])
    return Records(features, generator.random(len(features)) < 0.4)


def _whole_rows(records: Records, bounds: list[Fraction]) -> list[list[int]]:
    """The features in steps of bound/2^20, by exact fractions; half steps to even, as Python rounds."""
    return [
        [
            max(-GRID_STEPS, min(GRID_STEPS, round(Fraction(value) * GRID_STEPS / bound)))
            for value, bound in zip(row, bounds, strict=True)
        ]
        for row in records.features.tolist()
    ]


@every(("dimension", "resolution"), SHAPES)
def test_weights_are_the_surface_of_the_cube_once(dimension: int, resolution: int) -> None:
    everything = product(range(-resolution, resolution + 1), repeat=dimension)
    wanted = {weights for weights in everything if max(map(abs, weights)) == resolution}
    hypotheses = Separators.of(dimension, resolution)
    found = [tuple(row) for row in hypotheses.weights().tolist()]
    assert len(found) == hypotheses.size == net_size(dimension, resolution) == len(wanted)
    assert set(found) == wanted
    directions = {tuple(Fraction(weight, gcd(*row)) for weight in row) for row in found}
    assert len(directions) == len(found)
    half = len(found) // 2
    assert [tuple(-weight for weight in row) for row in found[:half]] == found[half:]
    assert [hypotheses.hypothesis(index).weights for index in range(len(found))] == found


def test_large_resolutions_do_not_overflow() -> None:
    weights = Separators.of(2, 100_000).weights()
    assert np.abs(weights).max(axis=1).min() == 100_000 == np.abs(weights).max()


@pytest.mark.parametrize("dimension", range(2, 7))
def test_every_direction_is_near_the_net(dimension: int) -> None:
    """Random directions, and the worst ones of the proof: one coordinate k, the others halfway between integers."""
    generator = np.random.default_rng(dimension)
    for resolution in range(1, 4 if dimension < 6 else 3):
        weights = Separators.of(dimension, resolution).weights().astype(float)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        worst = [[resolution, *(np.array(half) + 0.5)] for half in product(range(-1, resolution), repeat=dimension - 1)]
        directions = np.concatenate([generator.normal(size=(300, dimension)), np.array(worst)[:200]])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        angles = np.arccos(np.clip(directions @ weights.T, -1, 1)).min(axis=1)
        assert angles.max() <= net_angle(dimension, resolution) + 1e-12
        if dimension > 2 and resolution > 1:  # the lemma is not far from the truth
            assert angles.max() > 0.6 * net_angle(dimension, resolution)


def test_the_angle_by_hand() -> None:
    assert net_angle(2, 1) == pytest.approx(pi / 6)
    assert net_angle(3, 5) == pytest.approx(np.arcsin(sqrt(2) / 10))
    assert net_angle(6, 1) == pi / 2


@every("dimension", range(2, 7))
@every("angle", [2.0, 1.5, 1.0, pi / 6, 0.3, 0.01, 0.001])
def test_the_resolution_is_the_least_that_is_fine_enough(dimension: int, angle: float) -> None:
    found = net_resolution(dimension, angle)
    assert net_angle(dimension, found) <= min(angle, pi / 2)
    assert found == 1 or net_angle(dimension, found - 1) > angle


@every("dimension", range(2, 7))
def test_the_finest_resolution_is_the_largest_that_fits(dimension: int) -> None:
    found = finest_resolution(dimension)
    assert net_size(dimension, found) <= MOST_WEIGHTS < net_size(dimension, found + 1)
    assert finest_resolution(dimension, net_size(dimension, 3)) == 3
    assert finest_resolution(dimension, net_size(dimension, 3) - 1) == 2


@every(("dimension", "resolution"), SHAPES)
@every("bound", [[Fraction(1)], [Fraction(1, 3)], [Fraction(1, 3), Fraction(1, 64), Fraction(2**30)]])
def test_scores_are_exact(dimension: int, resolution: int, bound: list[Fraction]) -> None:
    records = _records(dimension, 40, seed=dimension)
    bounds = (bound * dimension)[:dimension]
    hypotheses = Separators.of(dimension, resolution, bound=bounds if len(bound) > 1 else bound[0])
    rows = _whole_rows(records, bounds)
    wanted = [
        sum(
            (sum(w * z for w, z in zip(weights, row, strict=True)) >= 0) == positive
            for row, positive in zip(rows, records.positive.tolist(), strict=True)
        )
        for weights in hypotheses.weights().tolist()
    ]
    assert hypotheses.correct(records).tolist() == wanted
    universe = hypotheses.universe(records)
    assert universe.size == hypotheses.size
    assert universe.top() == max(wanted)


@every(("dimension", "resolution"), SHAPES)
def test_predictions_are_what_was_counted(dimension: int, resolution: int) -> None:
    records = _records(dimension, 30, seed=10 + dimension)
    hypotheses = Separators.of(dimension, resolution)
    correct = hypotheses.correct(records)
    answers = np.concatenate(list(hypotheses.predictions(records.features)))
    assert answers.shape == (hypotheses.size, len(records))
    for index in range(0, hypotheses.size, 5):
        predicted = hypotheses.hypothesis(index).predict(records.features)
        assert int((predicted == records.positive).sum()) == correct[index]
        assert (predicted == answers[index]).all()


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_signs_are_counted_over_all_parts(rows: int) -> None:
    """More weight vectors than one thread takes at a time."""
    generator = np.random.default_rng(rows)
    weights, points = generator.integers(-5, 6, (9000, 4)), generator.integers(-9, 10, (rows, 4))
    products = weights @ points.T
    above, below = sign_counts(weights.astype(float), points.astype(float))
    assert above.tolist() == (products > 0).sum(axis=1).tolist()
    assert below.tolist() == (products < 0).sum(axis=1).tolist()


def test_features_beyond_the_bound_count_as_the_bound() -> None:
    found = rounded(np.array([[3.0, -1e308], [1.0, 2.0**-21]]), (Fraction(1, 2), Fraction(1, 2)))
    assert found.tolist() == [[GRID_STEPS, -GRID_STEPS], [GRID_STEPS, 1]]
    found = rounded(np.array([[3.0, 3.0], [-1.0, -9.0]]), (Fraction(4), Fraction(2)))
    assert found.tolist() == [[GRID_STEPS * 3 / 4, GRID_STEPS], [-GRID_STEPS / 4, -GRID_STEPS]]


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_features_are_divided_by_their_own_bounds(dimension: int) -> None:
    """Powers of two change no float's digits, so the same rows in other units have the same answers."""
    records = _records(dimension, 30, seed=20 + dimension)
    units = [2.0**power for power in (30, -40, 0, 7, -1, 100)][:dimension]
    scaled = Records(records.features * units, records.positive)
    one, other = Separators.of(dimension, 1), Separators.of(dimension, 1, bound=[Fraction(unit) for unit in units])
    assert one.correct(records).tolist() == other.correct(scaled).tolist()
    assert [rows.tolist() for rows in one.predictions(records.features)] == [
        rows.tolist() for rows in other.predictions(scaled.features)
    ]
    for index in range(0, one.size, 7):
        own = other.hypothesis(index).predict(scaled.features)
        assert own.tolist() == one.hypothesis(index).predict(records.features).tolist()


def test_a_wide_feature_does_not_hide_a_narrow_one() -> None:
    features = np.array([[0.25, 0.0], [0.75, 0.0], [-0.25, 0.0], [-0.75, 1e9]])
    hypotheses = Separators.of(2, 1, bound=[1, 1e9])
    rules = {separator.weights: separator for separator in map(hypotheses.hypothesis, range(hypotheses.size))}
    assert rules[1, 0].predict(features).tolist() == [True, True, False, False]
    assert rules[1, 1].predict(features).tolist() == [True, True, False, True]
    assert not rounded(features, (Fraction(10**9),) * 2)[:, 0].any()  # one bound for both would hide it


def test_the_largest_products_are_exact() -> None:
    """One step more or less on the border is seen, at the largest weights and features that occur."""
    weights = (131072, 131071)
    separator = Separator(weights, (Fraction(1), Fraction(1)), ("a", "b"))
    features = np.array([[131071, -131072], [131071, -131073], [131072, -131072]]) / GRID_STEPS
    assert separator.predict(features).tolist() == [True, False, True]


def test_separators_can_be_read() -> None:
    separator = Separator((-1, 0, 12, -3), (Fraction(1, 2),) * 4, ("a", "b", "c", "d"))
    assert str(separator) == "- a + 12*c - 3*d >= 0"
    assert str(Separator((1, -1), (Fraction(1), Fraction(1)), ("a", "b"))) == "a - b >= 0"
    assert separator.parameters() == {
        "features": ["a", "b", "c", "d"],
        "weights": [-1, 0, 12, -3],
        "bounds": [0.5] * 4,
        "bounds_exact": ["1/2"] * 4,
    }


def test_the_rule_shows_the_units_of_the_weights() -> None:
    names, bounds = ("age", "hours", "tenths"), (Fraction(120), Fraction(99), Fraction(1))
    assert str(Separator((3, -2, 0), bounds, names)) == "3*age/120 - 2*hours/99 >= 0"
    assert str(Separator((3, 0, -1), bounds, names)) == "3*age/120 - tenths >= 0"
    assert str(Separator((0, -5, 0), bounds, names)) == "- 5*hours >= 0"
    assert str(Separator((1, 1, 1), (Fraction(1), Fraction(10**9), Fraction(1, 3)), names)) == (
        "age + hours/1e+09 + tenths/0.333333 >= 0"
    )


def test_candidates_that_the_class_does_not_have_are_rejected() -> None:
    hypotheses = Separators.of(2, 3)
    assert hypotheses.columns == 2
    last = hypotheses.size - 1
    assert hypotheses.hypothesis(last) == hypotheses.hypothesis(np.int64(last))  # type: ignore[arg-type]
    for candidate in (hypotheses.size, 10**30, -1):
        with pytest.raises(IndexError):
            hypotheses.hypothesis(candidate)
    for odd in (True, 1.0, "1", (1,), None):
        with pytest.raises(TypeError):
            hypotheses.hypothesis(odd)  # type: ignore[arg-type]


def test_other_numbers_of_columns_are_rejected() -> None:
    for columns in (1, 3):
        with pytest.raises(BadParameter, match="2 weights: give as many features"):
            Separators.of(2, 1).hypothesis(0).predict(np.zeros((4, columns)))


def test_bounds_of_many_kinds() -> None:
    wanted = (Fraction(1, 3), Fraction(5, 2))
    for bound in (["1/3", 2.5], (Fraction(1, 3), "2.5"), np.array([Fraction(1, 3), Fraction(5, 2)])):
        assert Separators.of(2, 1, bound=bound).bounds == wanted  # type: ignore[arg-type]
    for one in ("0.5", 0.5, np.float64(0.5), Fraction(1, 2)):
        assert Separators.of(2, 1, bound=one).bounds == (Fraction(1, 2), Fraction(1, 2))


def test_unusable_classes_are_rejected() -> None:
    with pytest.raises(BadParameter, match=f"dimension 7 needs {5**7 - 3**7} separators"):
        Separators.of(7, 2)
    with pytest.raises(BadParameter, match=f"makes {net_size(6, 5)} separators.*resolution 4 or less"):
        Separators.of(6, 5)
    with pytest.raises(BadParameter, match="dimension"):
        Separators.of(1, 2)
    with pytest.raises(BadParameter, match="resolution"):
        Separators.of(3, 0)
    with pytest.raises(BadParameter, match="bound"):
        Separators.of(3, 1, bound=0)
    with pytest.raises(BadParameter, match="bound must be greater"):
        Separators.of(3, 1, bound=[1, 1, -1])
    with pytest.raises(BadParameter, match="one number, or 3, one a feature"):
        Separators.of(3, 1, bound=[1, 2])
    with pytest.raises(BadParameter, match="3 names"):
        Separators.of(3, 1, features=["a"])
    with pytest.raises(BadParameter, match="as many features"):
        Separators.of(3, 1).universe(_records(4, 2, seed=0))


def test_signs_are_counted_in_slices_however_many_records_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of them an interrupt is served."""
    products: list[int] = []
    quick = separators._signs

    def noted(weights: Any, columns: Any, *rest: Any) -> int:
        products.append(len(weights) * columns.shape[1])
        return quick(weights, columns, *rest)

    monkeypatch.setattr(separators, "_signs", noted)
    points = np.arange(1.0, 300_001.0)[:, None]
    above, below = sign_counts(np.array([[1.0], [-1.0]] * 100), points)
    assert max(products) <= 20_000_000
    assert above.tolist() == [300_000, 0] * 100
    assert below.tolist() == [0, 300_000] * 100
