"""Metrics against counting, covers and packings against all pairs of distances."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import acos, atan, inf, log2, pi
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

from dpmine import BadParameter
from experiments.metrics import (
    TOLERANCE,
    AngleMetric,
    DistanceMetric,
    IntervalMetric,
    LineMetric,
    SampleMetric,
    StumpMetric,
    cover_over_net,
    covering_radius,
    doubling_dimension,
    greedy_cover,
    separation,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.models.entries import Floats

CELLS = 20
"""Positions are whole multiples of 1/CELLS, so that shares of the box can be counted in cells."""


def _near(metric: DistanceMetric, radius: Fraction) -> list[bool]:
    """Which hypotheses are near the first."""
    found: list[bool] = metric.within(0, radius, np.arange(metric.size)).tolist()
    return found


def _matrix(metric: DistanceMetric) -> Floats:
    return np.array([metric.distances(index) for index in range(metric.size)])


def _metrics(seed: int) -> list[DistanceMetric]:
    generator = np.random.default_rng(seed)
    places = np.sort(generator.integers(0, CELLS + 1, (60, 2)), axis=1) / CELLS
    angles = AngleMetric.of(generator.integers(-3, 4, (60, 3)) * 2 + 1)
    return [
        LineMetric(places[:, 0]),
        IntervalMetric(places[:, 0], places[:, 1]),
        StumpMetric(generator.integers(0, 3, 60), places[:, 0], generator.random(60) < 0.5),
        angles,
        SampleMetric.of([generator.random((60, 70)) < 0.2], hypotheses=60, records=70),
    ]


def test_interval_distances_are_lengths_of_symmetric_differences() -> None:
    ends = [(low, high) for low in range(CELLS + 1) for high in range(low, CELLS + 1)]
    metric = IntervalMetric(*(np.array(ends).T / CELLS))
    cells = [frozenset(range(low, high)) for low, high in ends]
    for one in range(0, len(ends), 7):
        wanted = [len(cells[one] ^ other) / CELLS for other in cells]
        assert metric.distances(one) == pytest.approx(wanted, abs=1e-14)


def test_stump_distances_are_shares_of_the_box() -> None:
    """All stumps of two features at a grid's lines, compared on the grid's cells."""
    size = 5
    stumps = [(column, place, side) for column in (0, 1) for place in range(size + 1) for side in (True, False)]
    columns, places, sides = (np.array(part) for part in zip(*stumps, strict=True))
    metric = StumpMetric(columns, places / size, sides)
    cells = np.stack(np.meshgrid(np.arange(size), np.arange(size)), axis=-1).reshape(-1, 2)
    answers = [(cells[:, column] >= place) == side for column, place, side in stumps]
    wanted = [[np.mean(one != other) for other in answers] for one in answers]
    assert _matrix(metric) == pytest.approx(np.array(wanted), abs=1e-14)


def test_angles_are_exact_where_the_cosine_is_not() -> None:
    long = 10**9
    metric = AngleMetric.of(np.array([[long, 0], [long, 1], [0, 7], [-long, 0], [-long, 1]]))
    wanted = [0, atan(1 / long) / pi, 0.5, 1, 1 - atan(1 / long) / pi]
    assert metric.distances(0) == pytest.approx(wanted, rel=1e-12, abs=1e-17)


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_angles_agree_with_the_arc_cosine(dimension: int) -> None:
    vectors = np.random.default_rng(dimension).normal(size=(40, dimension))
    metric = AngleMetric.of(vectors)
    for one in range(40):
        for other in range(40):
            cosine = vectors[one] @ vectors[other] / np.linalg.norm(vectors[one]) / np.linalg.norm(vectors[other])
            assert metric.distances(one)[other] == pytest.approx(acos(max(-1, min(1, cosine))) / pi, abs=1e-7)


def test_angles_on_the_limit_count_as_within() -> None:
    metric = AngleMetric.of(np.array([[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0]]))
    assert _near(metric, Fraction(1, 4)) == [True, True, False, False, False]
    assert _near(metric, Fraction(3, 4)) == [True, True, True, True, False]
    assert _near(metric, Fraction(3, 4) - 4 * TOLERANCE) == [True, True, True, False, False]


@every("records", [1, 7, 64, 65, 200])
def test_disagreements_are_counted(records: int) -> None:
    answers = np.random.default_rng(records).random((30, records)) < 0.4
    metric = SampleMetric.of([answers[:11], answers[11:]], hypotheses=30, records=records)
    for one in range(30):
        assert metric.disagreements(one).tolist() == [int((answers[one] != other).sum()) for other in answers]
        assert metric.distances(one).tolist() == [float(np.mean(answers[one] != other)) for other in answers]


def test_disagreements_on_the_limit_count_as_within() -> None:
    answers = np.tri(11, 10, -1, dtype=bool)
    metric = SampleMetric.of([answers], hypotheses=11, records=10)
    assert sum(_near(metric, Fraction(3, 10))) == 4
    assert sum(_near(metric, Fraction(3, 10) - Fraction(1, 10**30))) == 3


@every("seed", range(5))
@every("kind", range(5))
def test_metrics_are_metrics_and_restrict(kind: int, seed: int) -> None:
    metric = _metrics(seed)[kind]
    matrix = _matrix(metric)
    assert matrix == pytest.approx(matrix.T, abs=1e-12)
    assert np.diag(matrix) == pytest.approx(0, abs=1e-12)
    assert (matrix[:, :, None] + matrix[None, :, :] >= matrix[:, None, :] - 1e-12).all()
    members = np.array([5, 3, 40, 3])
    assert _matrix(metric.restrict(members)) == pytest.approx(matrix[np.ix_(members, members)], abs=1e-15)


@every("radius", [Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 3), Fraction(1)])
@every("seed", range(3))
@every("kind", range(5))
def test_greedy_centres_cover_and_pack(kind: int, seed: int, radius: Fraction) -> None:
    metric = _metrics(seed)[kind]
    matrix = _matrix(metric)
    centres = greedy_cover(metric, radius).tolist()
    assert matrix[:, centres].min(axis=1).max() <= radius + TOLERANCE
    assert all(matrix[one, other] > radius - 1e-12 for one, other in combinations(centres, 2))
    assert centres == _plain_greedy(matrix, float(radius) + 1e-12)
    assert covering_radius(metric, centres) == pytest.approx(matrix[:, centres].min(axis=1).max(), abs=1e-15)
    least = min((matrix[one, other] for one, other in combinations(centres, 2)), default=inf)
    assert separation(metric, np.array(centres)) == pytest.approx(least, abs=1e-15)


def _plain_greedy(matrix: Floats, radius: float) -> list[int]:
    centres: list[int] = []
    for index in range(len(matrix)):
        if all(matrix[index, centre] > radius for centre in centres):
            centres.append(index)
    return centres


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 20), st.integers(0, 3))
def test_equal_distances_are_within(places: list[int], steps: int, halves: int) -> None:
    """On a line of whole steps, the centres are what whole numbers say; a radius between steps changes nothing."""
    radius = Fraction(2 * steps, 100) + Fraction(halves, 600)
    metric = LineMetric(np.array(places) / 50)
    centres: list[int] = []
    for index, place in enumerate(places):
        if all(abs(place - places[centre]) > steps for centre in centres):
            centres.append(index)
    assert greedy_cover(metric, radius).tolist() == centres


def test_a_cover_over_a_net_covers_what_the_net_covers() -> None:
    """Thresholds on [0, 1]: a net at distance 1/200 of all, thinned to radius 1/10."""
    net_radius, radius = Fraction(1, 200), Fraction(1, 10)
    positions = (2 * np.arange(100) + 1) / 200
    centres = positions[cover_over_net(LineMetric(positions), net_radius, radius)]
    everywhere = np.linspace(0, 1, 5001)
    assert np.abs(everywhere[:, None] - centres).min(axis=1).max() <= radius + 1e-12
    assert np.diff(np.sort(centres)).min() > radius - net_radius
    with pytest.raises(BadParameter, match="finer"):
        cover_over_net(LineMetric(positions), radius, radius)


@every("seed", range(8))
def test_the_doubling_dimension_lies_between_its_bounds(seed: int) -> None:
    """The true one by trying all sets of balls."""
    generator = np.random.default_rng(seed)
    answers = generator.random((9, 12)) < 0.3
    metric = SampleMetric.of([answers], hypotheses=9, records=12)
    radii = [Fraction(k, 12) for k in (1, 2, 4, 6)]
    counts = np.array([metric.disagreements(index) for index in range(9)])
    exact = max(log2(_balls(counts, centre, int(12 * radius))) for centre in range(9) for radius in radii)
    found = doubling_dimension(metric, radii)
    assert found.complete
    assert found.lower <= exact <= found.upper
    assert found.upper <= found.lower + 2


def _balls(counts: NDArray[np.int64], centre: int, reach: int) -> int:
    """The fewest balls of half the radius, centred anywhere, that cover the ball around a centre."""
    ball = set(np.flatnonzero(counts[centre] <= reach).tolist())
    small = [set(np.flatnonzero(2 * row <= reach).tolist()) for row in counts]
    return next(
        size
        for size in range(1, len(counts) + 1)
        if any(ball <= set().union(*chosen) for chosen in combinations(small, size))
    )


def test_a_line_has_dimension_about_one_and_a_plane_more() -> None:
    line = doubling_dimension(LineMetric(np.arange(400) / 400), ["0.1", "0.2"])
    assert 1 <= line.upper <= log2(5)
    assert not line.complete
    sphere = AngleMetric.of(np.random.default_rng(1).normal(size=(1500, 3)))
    assert doubling_dimension(sphere, ["0.15"], centres=8).lower > line.lower


def test_a_dimension_needs_hypotheses_and_radii() -> None:
    with pytest.raises(BadParameter, match="hypothesis"):
        doubling_dimension(LineMetric(np.zeros(0)), [1])
    with pytest.raises(BadParameter, match="radius"):
        doubling_dimension(LineMetric(np.zeros(3)), [])
