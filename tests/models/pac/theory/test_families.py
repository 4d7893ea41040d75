"""Covers of infinite classes: every hypothesis of a dense or random set has a near member, found by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import inf, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import gamma
from support.cases import every

from dpmine import BadParameter
from dpmine.models.pac.hypothesis import Records
from dpmine.models.pac.separators import Separators
from dpmine.models.pac.theory import separator_family
from dpmine.models.pac.theory.families import (
    Family,
    IntervalFamily,
    RealInterval,
    RealThreshold,
    StumpFamily,
    ThresholdFamily,
    threshold_cuts,
)
from dpmine.models.pac.theory.separator_family import ROUNDED_FEATURES, SeparatorFamily
from dpmine.models.pac.thresholds import CutSide

if TYPE_CHECKING:
    from dpmine.models.entries import Floats

RADII = [Fraction(1, 4), Fraction(1, 5), Fraction(1, 7), Fraction(3, 40), Fraction(1, 50)]
LOW, HIGH = Fraction(-1), Fraction(2)
LENGTH = HIGH - LOW
FINE = 60


def _unit(value: Fraction) -> Fraction:
    return (value - LOW) / LENGTH


@every("radius", RADII)
def test_thresholds_cover_and_pack(radius: Fraction) -> None:
    family = ThresholdFamily.of(LOW, HIGH, feature="age")
    cover = family.cover(radius)
    points = [_unit(cover.hypothesis((0, place, CutSide.AT_LEAST)).threshold) for place in range(cover.size)]
    assert cover.size == family.cover_size(radius)
    assert points[0] == 0
    assert cover.features == ("age",)
    assert all(after - before > family.separation(radius) == radius for before, after in pairwise(points))
    assert max(min(abs(Fraction(t, 997) - point) for point in points) for t in range(998)) <= radius
    assert cover.size <= -(-1 // (2 * radius)) + 1


@pytest.mark.parametrize("radius", RADII[:4])
def test_intervals_cover_and_pack(radius: Fraction) -> None:
    """By cells of length 1/(N·FINE), on which all members and all intervals tried are unions of cells."""
    family = IntervalFamily.of(LOW, HIGH)
    cover = family.cover(radius)
    cells = cover.grid.points * FINE
    middles = np.array([[float(LOW + LENGTH * Fraction(2 * cell + 1, 2 * cells))] for cell in range(cells)])
    places = range(cover.grid.points + 1)
    members = np.array([cover.hypothesis(ends).predict(middles) for ends in combinations(places, 2)])
    assert len(members) == cover.size == family.cover_size(radius)
    apart = [int(np.count_nonzero(one != other)) for one, other in combinations(members, 2)]
    assert Fraction(min(apart), cells) > family.separation(radius) == radius / 2
    generator = np.random.default_rng(radius.denominator)
    short = [(start, start + length) for start in range(cells // 2) for length in range(0, FINE + 2, 7)]
    ends = np.sort(generator.integers(0, cells + 1, (300, 2)), axis=1).tolist()
    for low, high in [*short, *ends]:
        inside = (np.arange(cells) >= low) & (np.arange(cells) < high)
        assert Fraction(int((members != inside).sum(axis=1).min()), cells) <= radius


def _stump_distance(one: tuple[int, Fraction, bool], other: tuple[int, Fraction, bool]) -> Fraction:
    """By the probabilities of the four answers of two events that are nested, disjoint or independent."""
    (column, place, side), (column2, place2, side2) = one, other
    if column != column2:
        p, q = (1 - place if side else place), (1 - place2 if side2 else place2)
        return p + q - 2 * p * q
    return abs(place - place2) if side == side2 else 1 - abs(place - place2)


@every("columns", [1, 2, 3])
@every("radius", RADII[:4])
def test_stumps_cover_and_pack(radius: Fraction, columns: int) -> None:
    family = StumpFamily.of([LOW] * columns, [HIGH] * columns)
    cover = family.cover(radius)
    members = [
        (column, _unit(cover.grids[column].point(place)), side)
        for column in range(columns)
        for place in range(cover.grids[column].points)
        for side in (True, False)
    ]
    assert len(members) == cover.size == family.cover_size(radius)
    for column, t, side in product(range(columns), range(0, 240, 7), (True, False)):
        tried = (column, Fraction(t, 239), side)
        assert min(_stump_distance(tried, member) for member in members) <= radius
    pairs = [(one, other, _stump_distance(one, other)) for one, other in combinations(members, 2)]
    near = [(one, other) for one, other, distance in pairs if distance <= radius]
    assert all(one[1] == other[1] == 0 and one[2] == other[2] for one, other in near)  # the constants, once a feature
    assert len(near) == columns * (columns - 1)
    assert family.separation(radius) == (radius if columns == 1 else -radius)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_separators_cover_and_no_two_are_equal(dimension: int) -> None:
    family = SeparatorFamily.of(dimension)
    generator = np.random.default_rng(dimension)
    targets = generator.normal(size=(400, dimension))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    for radius in (Fraction(1, 4), Fraction(1, 9)):
        cover = family.cover(radius)
        weights = np.array([cover.hypothesis(index).weights for index in range(cover.size)], float)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        angles = np.arccos(np.clip(targets @ weights.T, -1, 1)).min(axis=1) / pi
        assert angles.max() <= radius - ROUNDED_FEATURES
        own = np.arccos(np.clip(weights @ weights.T, -1, 1)) / pi + 2 * np.eye(len(weights))
        assert own.min() > float(family.separation(radius)) - 1e-9
        assert cover.size == family.cover_size(radius)


@every("dimension", range(2, 7))
def test_the_allowance_for_rounded_features_is_enough(dimension: int) -> None:
    """Twice the probability of |u·x| ≤ η, one-sided, by quadrature of the density on the sphere."""
    eta = sqrt(dimension) / 2**21 * (1 + 1e-6)
    constant = gamma(dimension / 2) / sqrt(pi) / gamma((dimension - 1) / 2)
    share, _ = integrate.quad(lambda t: constant * (1 - t * t) ** ((dimension - 3) / 2), -eta, eta)
    assert share <= ROUNDED_FEATURES


FAMILIES: list[Any] = [
    ThresholdFamily.of(0, 1),
    IntervalFamily.of(0, 1),
    StumpFamily.of([0, 0], [1, 1]),
    SeparatorFamily.of(2),
    SeparatorFamily.of(3),
    SeparatorFamily.of(6),
]


@every("family", FAMILIES)
def test_sizes_grow_as_radii_shrink_down_to_the_finest(family: Family) -> None:
    radii = [Fraction(1, 4) - (Fraction(1, 4) - family.finest) * Fraction(k, 40) for k in range(41)]
    assert radii[-1] == family.finest
    sizes = [family.cover_size(radius) for radius in radii]
    assert sizes == sorted(sizes)
    for radius in (family.finest * Fraction(999, 1000), Fraction(26, 100)):
        for asked in (family.cover, family.cover_size, family.separation):
            with pytest.raises(BadParameter, match="radius"):
                asked(radius)


def test_the_finest_covers_can_be_made() -> None:
    for family in FAMILIES[:4]:
        assert family.cover(family.finest).size <= family.cover_size(family.finest)
    assert ThresholdFamily.of(0, 1).cover_size(ThresholdFamily.finest) == 2**64
    assert StumpFamily.of([0], [1]).cover_size(StumpFamily.finest) == 2**65
    assert IntervalFamily.of(0, 1).cover(IntervalFamily.finest).grid.points == 2**64
    assert SeparatorFamily.of(6).cover_size(SeparatorFamily.of(6).finest) == 9**6 - 7**6


def test_dimensions() -> None:
    assert [family.vc for family in FAMILIES] == [1, 2, 3, 2, 3, 6]
    assert [StumpFamily.of([0] * d, [1] * d).vc for d in (1, 2, 10, 1000)] == [2, 3, 6, 14]


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_stumps_have_few_labellings(columns: int) -> None:
    records = 12
    features = np.random.default_rng(columns).normal(size=(records, columns))
    found = {
        tuple(((features[:, column] >= cut) == side).tolist())
        for column in range(columns)
        for cut in [*features[:, column].tolist(), inf]
        for side in (True, False)
    }
    most = 2 * columns * (records - 1) + 2
    assert len(found) <= most
    assert columns > 1 or len(found) == most


sample_values = st.lists(st.integers(0, 12), min_size=1, max_size=30)
sample_radii = st.fractions(min_value=Fraction(1, 200), max_value=Fraction(1, 4), max_denominator=200)


@given(sample_values, sample_radii)
def test_threshold_cuts_are_a_smallest_cover_and_a_packing(values: list[int], radius: Fraction) -> None:
    cuts = threshold_cuts(np.array(values, float), radius)
    below = [sum(value < cut for value in values) for cut in cuts]
    labellings = sorted({sum(value < cut for value in values) for cut in [*values, inf]})
    m = len(values)
    assert all(min(abs(count - own) for own in below) <= radius * m for count in labellings)
    assert all(abs(one - other) > radius * m for one, other in combinations(below, 2))
    assert len(cuts) <= ThresholdFamily.of(0, 1).sample_cover_size(radius)
    assert len(cuts) == _fewest(labellings, radius * m)


def _fewest(places: list[int], reach: Fraction) -> int:
    """The size of a smallest cover of places on a line, by dynamic programming over prefixes."""
    best = [0]
    for end in range(1, len(places) + 1):
        best.append(
            min(
                best[start] + 1
                for start in range(end)
                if any(centre - places[start] <= reach >= places[end - 1] - centre for centre in places[start:end])
            )
        )
    return best[-1]


@given(sample_values, sample_radii)
def test_sampled_intervals_are_covered(values: list[int], radius: Fraction) -> None:
    family = IntervalFamily.of(0, 1)
    features = np.array(values, float)[:, None]
    cover = family.sample_cover(features, radius)
    answers = np.array([cover.hypothesis(index).predict(features) for index in range(cover.size)])
    assert cover.size <= family.sample_cover_size(radius)
    ends = [*sorted(set(values)), inf]
    for low, high in [(low, high) for low in ends for high in ends if low <= high]:
        inside = (features[:, 0] >= low) & (features[:, 0] < high)
        assert int((answers != inside).sum(axis=1).min()) <= radius * len(values)


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=1, max_size=25), sample_radii)
def test_sampled_stumps_are_covered(rows: list[tuple[int, int]], radius: Fraction) -> None:
    family = StumpFamily.of([0, 0], [1, 1], features=["a", "b"])
    features = np.array(rows, float)
    cover = family.sample_cover(features, radius)
    answers = np.array([cover.hypothesis(index).predict(features) for index in range(cover.size)])
    assert cover.size <= family.sample_cover_size(radius)
    for column, cut, side in product((0, 1), [*range(10), inf], (True, False)):
        wanted = (features[:, column] >= cut) == side
        assert int((answers != wanted).sum(axis=1).min()) <= radius * len(rows)


@pytest.mark.parametrize("radius", [Fraction(1, 4), Fraction(1, 20), Fraction(1, 100)])
def test_sampled_separators_are_covered(radius: Fraction) -> None:
    family = SeparatorFamily.of(3, resolution=4)
    features = np.random.default_rng(3).normal(size=(70, 3)) / 4
    cover = family.sample_cover(features, radius)
    base = Separators.of(3, 4)
    answers = np.array([cover.hypothesis(index).predict(features) for index in range(cover.size)])
    for index in range(base.size):
        assert int((answers != base.hypothesis(index).predict(features)).sum(axis=1).min()) <= radius * 70
    assert min(int((one != other).sum()) for one, other in combinations(answers, 2)) > radius * 70
    assert cover.size <= family.sample_cover_size(radius) == base.size
    assert f"{base.size} separators" in family.sampled


def test_sampled_separators_are_all_of_them_where_centres_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    family = SeparatorFamily.of(3, resolution=4)
    features = np.random.default_rng(3).normal(size=(70, 3)) / 4
    found = family.sample_cover(features, Fraction(1, 20)).size
    enough = found * 386 * 70
    monkeypatch.setattr(separator_family, "_MOST_COMPARED", enough)
    assert family.sample_cover(features, Fraction(1, 20)).size == found < 386
    monkeypatch.setattr(separator_family, "_MOST_COMPARED", enough - 1)
    assert family.sample_cover(features, Fraction(1, 20)) == Separators.of(3, 4)


def test_sampled_separators_are_all_of_them_where_there_are_too_many_predictions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decided by the size of the class and the number of rows, before a prediction is made."""
    family = SeparatorFamily.of(2, resolution=4, bound=[1, 3])
    features = np.random.default_rng(4).normal(size=(70, 2)) / 4
    base = Separators.of(2, 4, bound=[1, 3])
    monkeypatch.setattr(separator_family, "MOST_PREDICTIONS", base.size * 70)
    assert family.sample_cover(features, Fraction(1, 4)).size < base.size
    monkeypatch.setattr(Separators, "predictions", None)
    monkeypatch.setattr(separator_family, "MOST_PREDICTIONS", base.size * 70 - 1)
    assert family.sample_cover(features, Fraction(1, 4)) == base


def test_separators_of_more_than_a_million_rows_are_covered() -> None:
    family = SeparatorFamily.of(2)
    rows = 2**20 + 1
    assert family.sample_cover_size(Fraction(1, 40)) * rows > 2**32
    assert family.sample_cover(np.zeros((rows, 2)), Fraction(1, 40)).size == family.sample_cover_size(Fraction(1, 40))


def test_separators_of_unequal_bounds_cover_by_the_share_of_the_scaled_sphere() -> None:
    """Every v·x >= 0, answered without rounding, has a member that answers nearly as many rows alike."""
    generator = np.random.default_rng(6)
    bounds, radius = np.array([1e-3, 1.0, 1e6]), Fraction(1, 8)
    points = generator.normal(size=(4000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    cover = SeparatorFamily.of(3, bound=bounds.tolist()).cover(radius)
    answers = np.array([cover.hypothesis(index).predict(points * bounds) for index in range(cover.size)])
    for target in generator.normal(size=(60, 3)):
        wanted = (points * bounds) @ (target / bounds) >= 0
        assert np.mean(answers != wanted, axis=1).min() <= float(radius) + 0.02


def test_sample_covers_score_what_they_predict() -> None:
    generator = np.random.default_rng(5)
    features = generator.random((40, 2))
    records = Records(features, generator.random(40) < 0.5)
    for family, columns in (
        (ThresholdFamily.of(0, 1), 1),
        (IntervalFamily.of(0, 1), 1),
        (StumpFamily.of([0, 0], [1, 1]), 2),
    ):
        own = Records(features[:, :columns], records.positive)
        cover = family.sample_cover(own.features, Fraction(1, 20))
        answers = [cover.hypothesis(index).predict(own.features) for index in range(cover.size)]
        correct = sorted(int((answer == own.positive).sum()) for answer in answers)
        levels = cover.universe(own).head(0)
        assert [score for level in reversed(levels) for score in [level.score] * level.count] == correct


def test_cuts_can_be_read() -> None:
    assert str(RealThreshold(2.5, feature="age")) == "age >= 2.5"
    assert str(RealThreshold(2.5, CutSide.BELOW)) == "x < 2.5"
    assert [str(RealThreshold(inf, side)) for side in CutSide] == ["never", "always"]
    assert [str(RealInterval(*ends)) for ends in ((1, 2), (1, inf), (inf, inf))] == ["1 <= x < 2", "x >= 1", "never"]
    assert RealThreshold(inf).parameters() == {"feature": "x", "side": ">=", "threshold": None}
    assert RealInterval(1.5, inf, "age").parameters() == {"feature": "age", "lower": 1.5, "upper": None}


def test_the_margin_of_thresholds_outside_the_bounds() -> None:
    """The first threshold stands for all rows, those below the bounds included."""
    cover = ThresholdFamily.of(0, 1).cover(Fraction(1, 4))
    rows: Floats = np.array([[-5.0], [0.0], [0.3], [1.0], [7.0]])
    assert cover.hypothesis((0, 0, CutSide.AT_LEAST)).predict(rows).all()
    assert cover.hypothesis((0, cover.size - 1, CutSide.AT_LEAST)).predict(rows).tolist() == [False] * 3 + [True] * 2


def test_unusable_families_are_rejected() -> None:
    with pytest.raises(BadParameter, match="less than upper"):
        ThresholdFamily.of(1, 1)
    with pytest.raises(BadParameter, match="less than upper"):
        IntervalFamily.of(1, 0)
    with pytest.raises(BadParameter, match="as many"):
        StumpFamily.of([0, 0], [1])
    with pytest.raises(BadParameter, match="as many"):
        StumpFamily.of([], [])
    with pytest.raises(BadParameter, match="practical for at most 6"):
        SeparatorFamily.of(7)
    with pytest.raises(BadParameter, match="resolution"):
        SeparatorFamily.of(3, resolution=0)
    with pytest.raises(BadParameter, match="bound"):
        SeparatorFamily.of(3, bound=[1, 1])
