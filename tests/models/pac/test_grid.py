from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.cases import every
from support.numpy_bits import NumpyBits

from dpmine import BadParameter
from dpmine.models.pac.hypothesis import Records
from dpmine.models.pac.intervals import Intervals
from dpmine.models.pac.thresholds import CutSide, PublicGrid, Runs, Stumps, Thresholds, located

FINITE = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(10**18), 10**18)
SHARES = st.lists(st.floats(0, 1), max_size=6)
POINTS = st.one_of(st.integers(1, 40), st.sampled_from([2**31, 2**53 - 1, 2**53 + 1, 2**63, 2**64 - 1, 2**64]))


def place_by_fractions(grid: PublicGrid, value: float) -> int:
    """The definition: the largest place whose point is not above the clipped value."""
    clipped = min(grid.upper, max(grid.lower, Fraction(value)))
    if grid.points == 1:
        return 0
    place = int((clipped - grid.lower) / (grid.upper - grid.lower) * (grid.points - 1) // 1)
    assert grid.point(place) <= clipped
    assert place == grid.points - 1 or clipped < grid.point(place + 1)
    return place


def with_neighbours(values: list[float]) -> list[float]:
    """And the floats next to them: what lies at a point, just below or just above it."""
    return [x for value in values for x in (np.nextafter(value, -np.inf), value, np.nextafter(value, np.inf))]


def near_points(grid: PublicGrid, shares: list[float]) -> list[float]:
    """Floats at and next to both bounds and some points."""
    places = [int(share * (grid.points - 1)) for share in (0.0, 1.0, *shares)]
    return [x for x in with_neighbours([float(grid.point(place)) for place in places]) if np.isfinite(x)]


def check_places(grid: PublicGrid, values: list[float]) -> None:
    assert grid.places(np.array(values, np.float64)).tolist() == [place_by_fractions(grid, value) for value in values]


@given(FINITE, FINITE, POINTS, st.lists(FINITE, max_size=8))
@example(0.0, 1.0, 11, [0.1, 0.2, 0.3, 0.7, np.nextafter(0.3, 0), -0.0, 5e-324])
@example(-1e308, 1e308, 2**64, [1e307, -1e308, 1e308, 0.0])
@example(1e16, 1e16 + 4, 5, [1e16 + 2])
@example(-1.0, 0.0, 2**64, [-(2.0**-65), -(2.0**-63), -1e-300])
def test_places_are_exact(low: float, high: float, points: int, values: list[float]) -> None:
    if low >= high:
        return
    grid = PublicGrid(Fraction(low), Fraction(high), points)
    check_places(grid, [*values, low, high, float(np.float64(low) + (high / 2 - low / 2))])


DECIMALS = st.builds(lambda digits, power: Fraction(digits) * Fraction(10) ** power, INTEGERS, st.integers(-340, 78))
RATIOS = st.builds(Fraction, INTEGERS, st.integers(1, 10**6))
WIDTHS = st.one_of(DECIMALS, RATIOS, st.builds(lambda power: Fraction(2) ** power, st.integers(-1100, 300)))


@given(st.one_of(DECIMALS, RATIOS, st.just(Fraction(0))), WIDTHS, POINTS, SHARES)
@example(Fraction(0), Fraction("1e-323"), 1002, [0.49])
@example(Fraction(0), Fraction("1.3e-320"), 100_003, [0.3, 0.6])
@example(Fraction(1), Fraction("1e-20"), 11, [])
@example(Fraction(0), Fraction("1e-310"), 2**64, [0.2, 0.7])
@example(Fraction("1e100") / 2, Fraction("1e100") / 3, 2**64, [0.2, 0.7])
def test_places_are_exact_for_bounds_that_are_no_floats(
    low: Fraction, width: Fraction, points: int, shares: list[float]
) -> None:
    if width:
        grid = PublicGrid.of(low, low + abs(width), points)
        check_places(grid, near_points(grid, shares))


@given(st.integers(-50, 50), st.integers(2, 50), st.integers(1, 1000), st.integers(1, 2**58), st.data())
@example(21, 43, 103, 182_524_523_056_696_711, None)
def test_points_that_are_floats_are_their_own_places(
    low: int, known: int, apart: int, between: int, data: st.DataObject | None
) -> None:
    """Every `between`-th point is a whole number; no estimate can tell on which side of such a point a float is."""
    grid = PublicGrid.of(low, low + known * apart, known * between + 1)
    numbers = range(known + 1) if data is None else data.draw(st.lists(st.integers(0, known), max_size=6))
    at_points = np.array([low + apart * number for number in numbers], np.float64)
    assert grid.places(at_points).tolist() == [between * number for number in numbers]
    check_places(grid, with_neighbours(at_points.tolist()))


@pytest.mark.parametrize("bounds", [(0, 1), ("-1/3", "1e3"), ("1e6", "1000000.001"), ("-1e-30", "1e-300")])
@pytest.mark.parametrize("points", [1001, 10**15, 2**64])
@pytest.mark.parametrize("size", [5000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_places_of_many_numbers(bounds: tuple[Any, Any], points: int, size: int) -> None:
    grid = PublicGrid.of(*bounds, points)
    low, high = float(grid.lower), float(grid.upper)
    check_places(grid, np.random.default_rng(3).uniform(1.1 * low - 0.1 * high, 1.1 * high - 0.1 * low, size).tolist())


@given(st.fractions(-30, 29), st.fractions(1, 40), st.integers(2, 60), st.data())
def test_cuts_of_whole_numbers_say_the_same_as_the_points(
    lower: Fraction, width: Fraction, points: int, data: st.DataObject
) -> None:
    """For every whole number between the bounds; other numbers are placed as the rule reads."""
    grid, real = (PublicGrid.of(lower, lower + width, points, only_whole=whole) for whole in (True, False))
    place = data.draw(st.integers(0, points - 1))
    assert grid.cut(place).denominator == 1
    assert grid.written(place) == str(grid.cut(place))
    for number in range(ceil(lower), floor(lower + width) + 1):
        assert (number >= grid.cut(place)) == (number >= real.cut(place))
    values = np.arange(-40.0, 80.0, 0.25)
    assert (grid.places(values) == real.places(np.floor(values))).all()
    inside = values[(values >= float(lower)) & (values <= float(lower + width))]
    if place:
        assert ((grid.places(inside) >= place) == (inside >= float(grid.cut(place)))).all()


def test_numbers_that_are_not_finite() -> None:
    """Infinities count as bounds; what is no number has no place."""
    for grid in (PublicGrid.of(0, 1, 11), PublicGrid.of(0, "1e-320", 11)):
        with pytest.raises(ValueError, match="NaN"):
            grid.places(np.array([0.5, np.nan]))
        assert grid.places(np.array([np.inf, -np.inf])).tolist() == [10, 0]


def test_values_at_points_of_decimal_grids() -> None:
    """0.3 as a float lies below 3/10: whoever means the decimal grid gets the place below."""
    grid = PublicGrid.of(0, 1, 11)
    assert grid.places(np.array([0.3, 0.5, 0.7])).tolist() == [2, 5, 6]
    assert [grid.point(place) for place in (0, 3, 10)] == [0, Fraction(3, 10), 1]


@every(
    ("bounds", "hint"),
    [
        ((1, 0, 5), "less than upper"),
        ((1, 1, 5), "less than upper"),
        ((0, 1, 0), "grid must be a whole number of at least 1"),
        ((0, 1, 2**64 + 1), "at most 2"),
        ((0, 1, 2.5), "grid must be a whole number"),
        (("low", 1, 5), "lower must be a finite number"),
        ((0, float("inf"), 5), "upper must be a finite number"),
        ((0, "1e400", 5), "between -1e100 and 1e100"),
        (("-1.1e100", 0, 5), "between -1e100 and 1e100"),
    ],
)
def test_bad_grids(bounds: tuple[Any, Any, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        PublicGrid.of(*bounds)


@given(st.lists(st.tuples(st.floats(-1, 2), st.booleans()), max_size=12), st.integers(1, 9))
def test_runs_are_the_grid_cut_at_the_data(rows: list[tuple[float, bool]], points: int) -> None:
    grid = PublicGrid.of("-0.5", "1.25", points)
    values, positive = np.array([x for x, _ in rows]), np.array([y for _, y in rows], bool)
    runs, shorter = (Runs.of(grid, values, positive, last) for last in (points, points - 1))
    below = [
        sum(
            (1 if y else -1)
            for x, y in rows
            if place == points or Fraction(max(-0.5, min(1.25, x))) < grid.point(place)
        )
        for place in range(points + 1)
    ]
    assert gains_of_places(runs) == below
    assert [runs.gains[runs.run_of(place)] for place in range(points + 1)] == below
    assert gains_of_places(shorter) == below[:-1]
    check_runs(runs, points)
    check_runs(shorter, points - 1)


def gains_of_places(runs: Runs) -> list[int]:
    return [gain for gain, size in zip(runs.gains.tolist(), runs.sizes, strict=True) for _ in range(size)]


def check_runs(runs: Runs, last: int) -> None:
    """What runs say of themselves fits together, and they lie end to end from 0 to the last place."""
    starts, sizes = runs.starts, runs.sizes
    assert [*starts, last + 1] == [sum(sizes[:run]) for run in range(len(runs) + 1)]
    assert len(starts) == len(sizes) == len(runs.gains)
    assert min(sizes) > 0
    for run, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        assert [runs.run_of(start), runs.run_of(start + size // 2), runs.run_of(start + size - 1)] == [run] * 3


@every("values", [[], [0.0], [1.0], [0.0, 1.0], [0.5, 0.5, 1 / 3], [0.0, np.nextafter(0.0, 1), 1.0]])
def test_runs_of_2_to_the_64_points(values: list[float]) -> None:
    """Where runs, and the place after the last, do not fit 64 bits."""
    for last in (2**64, 2**64 - 1):
        check_runs(Runs.of(PublicGrid.of(0, 1, 2**64), np.array(values, float), np.ones(len(values), bool), last), last)


@given(
    st.lists(st.one_of(st.integers(1, 2**64), st.sampled_from([1, 2**32, 2**64])), min_size=1, max_size=9), st.data()
)
def test_places_in_sizes_laid_end_to_end(sizes: list[int], data: st.DataObject) -> None:
    ends = list(accumulate(sizes))
    for rank in (0, ends[-1] - 1, *ends[:-1], *(end - 1 for end in ends), data.draw(st.integers(0, ends[-1] - 1))):
        position, offset = located(rank, sizes)
        assert sum(sizes[:position]) + offset == rank
        assert 0 <= offset < sizes[position]
    with pytest.raises(LookupError):
        located(ends[-1], sizes)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_blocks_of_2_to_the_64_places(value: float) -> None:
    """One record at a bound leaves 2^64 places in one block, and two features and sides have more than 64 bits."""
    bits, points, records = NumpyBits(4), 2**64, Records(np.full((1, 2), value), np.array([True]))
    grid = PublicGrid.of(0, 1, points)
    universe = Stumps((grid, grid), ("a", "b")).universe(records)
    reached = place_by_fractions(grid, value) + 1  # so many thresholds
    assert {level.score: level.count for level in universe.head(0)} == {1: 2 * points, 0: 2 * points}
    for level in universe.head(0):
        for _ in range(20):
            column, place, side = universe.member(level, bits=bits)
            answer = (place < reached) == (side is CutSide.AT_LEAST)
            assert (column in {0, 1}, 0 <= place < points, int(answer)) == (True, True, level.score)


GRID = PublicGrid.of(0, 1, 5)
BAD_PLACES: list[Any] = [
    (0, 5, CutSide.AT_LEAST),
    (0, -1, CutSide.AT_LEAST),
    (0, 1.0, CutSide.AT_LEAST),
    (0, True, CutSide.AT_LEAST),
    (0, "1", CutSide.AT_LEAST),
    (0, 1, ">="),
    (0, 1, None),
    (0, 1, 1),
    (-1, 1, CutSide.AT_LEAST),
    (2, 1, CutSide.AT_LEAST),
    (99, 5, CutSide.AT_LEAST),
    (0, 1),
    (0, 1, CutSide.AT_LEAST, 1),
    3,
    None,
    ">=<",
]


@every("candidate", [*BAD_PLACES, (1, 1, CutSide.AT_LEAST), (0, 1, CutSide.BELOW)])
def test_what_is_no_threshold(candidate: Any) -> None:
    with pytest.raises((LookupError, ValueError, TypeError)):
        Thresholds(GRID).hypothesis(candidate)


@every("candidate", BAD_PLACES)
def test_what_is_no_stump(candidate: Any) -> None:
    with pytest.raises((LookupError, ValueError, TypeError)):
        Stumps((GRID, GRID), ("a", "b")).hypothesis(candidate)


@every(
    "candidate",
    [
        (0, 6),
        (5, 6),
        (2, 2),
        (3, 2),
        (-1, 2),
        (0, 1.0),
        (True, 2),
        (0, "1"),
        (1,),
        (0, 1, 2),
        7,
        None,
        (0, CutSide.BELOW),
    ],
)
def test_what_is_no_interval(candidate: Any) -> None:
    with pytest.raises((LookupError, ValueError, TypeError)):
        Intervals(GRID).hypothesis(candidate)


def test_how_many_features_classes_see() -> None:
    stumps = Stumps((GRID, GRID, GRID), ("a", "b", "c"))
    assert [Thresholds(GRID).columns, Intervals(GRID).columns, stumps.columns] == [1, 1, 3]
