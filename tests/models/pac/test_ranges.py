"""Thresholds, stumps and intervals against their definitions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from models.pac.oracles import correct_at_least, correct_between, some_records
from support.cases import every
from support.conformance.protocol import (
    check_head,
    check_member,
    check_next_floor,
    check_size,
    check_universe,
    interesting_floors,
)
from support.numpy_bits import NumpyBits

from dpmine import law, select
from dpmine.models.pac.hypothesis import HypothesisClass, Records
from dpmine.models.pac.intervals import Intervals, pairs_by_difference
from dpmine.models.pac.thresholds import CutSide, PublicGrid, Stumps, Thresholds

GRIDS = [PublicGrid.of("-1/2", "5/4", points) for points in (1, 2, 5, 8)]
SMALL = [(size, grid, seed) for seed, size in enumerate((0, 1, 2, 3, 7, 20)) for grid in GRIDS]


def truth_of_thresholds(grid: PublicGrid, records: Records) -> dict[Any, int]:
    return {(0, j, CutSide.AT_LEAST): correct_at_least(grid, records, 0, j) for j in range(grid.points)}


def truth_of_stumps(grids: tuple[PublicGrid, ...], records: Records) -> dict[Any, int]:
    truth: dict[Any, int] = {}
    for column, grid in enumerate(grids):
        for place in range(grid.points):
            correct = correct_at_least(grid, records, column, place)
            truth[column, place, CutSide.AT_LEAST] = correct
            truth[column, place, CutSide.BELOW] = len(records) - correct
    return truth


def truth_of_intervals(grid: PublicGrid, records: Records) -> dict[Any, int]:
    return {ends: correct_between(grid, records, *ends) for ends in combinations(range(grid.points + 1), 2)}


def check_class(hypotheses: HypothesisClass[Any], records: Records, truth: dict[Any, int]) -> None:
    """Levels, size, law and predictions are those of the definition."""
    universe = hypotheses.universe(records)
    assert hypotheses.size == universe.size == len(truth)
    counts = Counter(truth.values())
    assert [(level.score, level.count) for level in universe.head(universe.least)] == sorted(
        counts.items(), reverse=True
    )
    for candidate, correct in truth.items():
        told = hypotheses.hypothesis(candidate).predict(records.features)
        assert int((told == records.positive).sum()) == correct
    lazy = law(universe, mechanism="exponential", epsilon=1)
    dense = law(list(truth.values()), mechanism="exponential", epsilon=1).pmf
    by_level = [
        sum(p for p, c in zip(dense, truth.values(), strict=True) if c == score)
        for score in sorted(counts, reverse=True)
    ]
    assert lazy.pmf == pytest.approx(by_level)


@every(("size", "grid", "seed"), SMALL)
def test_small_classes_are_their_definitions(size: int, grid: PublicGrid, seed: int) -> None:
    records = some_records(size, 1, seed)
    check_class(Thresholds(grid), records, truth_of_thresholds(grid, records))
    check_class(Intervals(grid), records, truth_of_intervals(grid, records))
    wide = some_records(size, 2, seed)
    grids = (grid, PublicGrid.of(0, 1, 3))
    check_class(Stumps(grids, ("a", "b")), wide, truth_of_stumps(grids, wide))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_universes_keep_their_protocol(seed: int) -> None:
    records, grid = some_records(6, 1, seed), PublicGrid.of(-1, 2, 5)
    check_universe(Thresholds(grid).universe(records), truth_of_thresholds(grid, records))
    grids = (grid, PublicGrid.of(0, 1, 2))
    wide = some_records(6, 2, seed)
    check_universe(Stumps(grids, ("a", "b")).universe(wide), truth_of_stumps(grids, wide))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_intervals_keep_the_protocol_of_universes(seed: int) -> None:
    """All but the law of the tail, whose rejections take more bits than can be enumerated."""
    records, grid = some_records(6, 1, seed), PublicGrid.of(-1, 2, 4)
    universe, truth = Intervals(grid).universe(records), truth_of_intervals(grid, records)
    check_size(universe, truth)
    for floor in interesting_floors(truth, universe.least):
        check_head(universe, truth, floor)
        check_next_floor(universe, floor)
    for level in universe.head(universe.least):
        check_member(universe, truth, level)


@pytest.mark.statistical
def test_tails_of_intervals_are_uniform() -> None:
    """χ² at every floor that leaves a tail; false alarms: 10^−6 each."""
    from scipy.stats import chisquare

    records, grid, bits = some_records(6, 1, 5), PublicGrid.of(-1, 2, 4), NumpyBits(1)
    universe, truth = Intervals(grid).universe(records), truth_of_intervals(grid, records)
    for floor in range(min(truth.values()) + 1, max(truth.values()) + 2):
        tail = {ends: score for ends, score in truth.items() if score < floor}
        seen = Counter(universe.tail(floor, bits=bits) for _ in range(200 * len(tail)))
        assert set(seen) <= set(tail.items())
        assert len(tail) == 1 or chisquare([seen[found] for found in tail.items()]).pvalue > 1e-6


@every("floor", [-5, 0, 3, 4, 9, Fraction(7, 2)])
def test_intervals_may_be_asked_in_any_order(floor: Any) -> None:
    records, grid = some_records(9, 1, 4), PublicGrid.of(-1, 2, 6)
    universe = Intervals(grid).universe(records)
    counts = Counter(truth_of_intervals(grid, records).values())
    for asked in (universe.top(), floor, universe.top() - 1, floor):
        told = {level.score: level.count for level in universe.head(asked)}
        assert told == {score: count for score, count in counts.items() if score >= asked}
        assert universe.below(asked) < asked


@pytest.mark.parametrize("prime", [2, 97, 2147483647])
def test_residues_of_pairs(prime: int) -> None:
    generator = np.random.default_rng(8)
    gains = np.cumsum(generator.choice([-1, 0, 1, 2], 60))
    sizes = generator.integers(1, 2**62, 60, dtype=np.uint64)
    truth: Counter[int] = Counter()
    for i, j in combinations(range(60), 2):
        truth[int(gains[j] - gains[i])] += int(sizes[i]) * int(sizes[j])
    for least, most in ((-70, 70), (3, 3), (-2, 5)):
        told = pairs_by_difference(gains, sizes % np.uint64(prime), least, most, prime).tolist()
        assert told == [truth[v] % prime for v in range(least, most + 1)]


def test_counts_beyond_64_bits_are_exact() -> None:
    """Three records cut 2^64 points into four runs: the pairs between and within them, by hand."""
    points = 2**64
    records = Records(np.array([[0.25], [0.5], [0.75]]), np.array([True, True, False]))
    universe = Intervals(PublicGrid.of(0, 1, points)).universe(records)
    quarter = [int(Fraction(k, 4) * (points - 1)) for k in (1, 2, 3)]
    sizes = [quarter[0] + 1, quarter[1] - quarter[0], quarter[2] - quarter[1], points - quarter[2]]
    gains = [0, 1, 2, 1]
    rises = {
        v: sum(sizes[i] * sizes[j] for i, j in combinations(range(4), 2) if gains[j] - gains[i] == v)
        for v in (-1, 0, 1, 2)
    }
    rises[0] += sum(size * (size - 1) // 2 for size in sizes)
    assert {level.score: level.count for level in universe.head(0)} == {
        1 + v: count for v, count in rises.items() if count
    }
    assert sum(rises.values()) == universe.size == points * (points + 1) // 2


@pytest.mark.parametrize("mechanism", ["exponential", "max_of_exponentials", "max_of_laplaces", "large_margin_tight"])
def test_the_best_of_2_to_the_64_is_found_where_it_leads(mechanism: str) -> None:
    generator = np.random.default_rng(0)
    values = generator.random((20_000, 1))
    grid = PublicGrid.of(0, 1, 2**64)
    records = Records(values, values[:, 0] >= 0.371)
    threshold = Thresholds(grid).hypothesis(
        select(Thresholds(grid).universe(records), mechanism=mechanism, epsilon=1).index
    )
    assert float(threshold.threshold) == pytest.approx(0.371, abs=0.02)
    records = Records(values, (values[:, 0] >= 0.371) & (values[:, 0] < 0.7))
    interval = Intervals(grid).hypothesis(
        select(Intervals(grid).universe(records), mechanism=mechanism, epsilon=1).index
    )
    assert float(interval.lower) == pytest.approx(0.371, abs=0.02)
    assert float(interval.upper or 1) == pytest.approx(0.7, abs=0.02)


@pytest.mark.statistical
def test_intervals_are_drawn_by_the_exponential_law() -> None:
    """χ² over the intervals with an expected count of 10 or more; false alarms: 10^−6."""
    from scipy.stats import chisquare

    from dpmine.selection.recommend import build_mechanism
    from dpmine.selection.select import choose

    records, grid = some_records(8, 1, 2), PublicGrid.of(-1, 2, 9)
    truth = truth_of_intervals(grid, records)
    weights = np.array([np.exp(0.4 * correct) for correct in truth.values()])
    mechanism = build_mechanism("exponential", epsilon="0.8", delta=1e-6, neighbors="replace_one")
    bits, draws = NumpyBits(3), 20_000
    seen: Counter[Any] = Counter()
    for _ in range(draws):
        seen[choose(mechanism, Intervals(grid).universe(records), sensitivity=Fraction(1), bits=bits)] += 1
    expected = draws * weights / weights.sum()
    assert expected.min() >= 10
    assert chisquare([seen[ends] for ends in truth], expected).pvalue > 1e-6


def test_rules_can_be_read() -> None:
    grid = PublicGrid.of(0, 120, 121)
    assert str(Thresholds(grid, "age").hypothesis((0, 41, CutSide.AT_LEAST))) == "age >= 41"
    assert str(Stumps((grid, grid), ("age", "hours")).hypothesis((1, 41, CutSide.BELOW))) == "hours < 41"
    assert str(Intervals(grid, "age").hypothesis((18, 65))) == "18 <= age < 65"
    assert str(Intervals(grid, "age").hypothesis((18, 121))) == "age >= 18"
    told = Intervals(PublicGrid.of(0, 1, 4), "x").hypothesis((1, 4)).parameters()
    assert told == {"feature": "x", "lower": 1 / 3, "upper": None, "lower_exact": "1/3", "upper_exact": None}


def test_differences_are_counted_alike_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of them an interrupt is served."""
    generator = np.random.default_rng(4)
    gains, sizes = generator.integers(-30, 30, 200), generator.integers(1, 9, 200).astype(np.uint64)
    whole = pairs_by_difference(gains, sizes, 1, 40, 2147483647)
    monkeypatch.setattr("dpmine.models.pac.intervals._DIFFERENCES", 120)
    assert pairs_by_difference(gains, sizes, 1, 40, 2147483647).tolist() == whole.tolist()
    pairs = [(i, j) for i, j in combinations(range(200), 2) if gains[j] - gains[i] == 40]
    assert whole[-1] == sum(int(sizes[i] * sizes[j]) for i, j in pairs)
