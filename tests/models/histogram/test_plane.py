"""Histograms of two numbers a record."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits

from dpmine import BadData, BadParameter, Guarantee, Neighbors
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.histogram.bin_search import least_records
from dpmine.models.histogram.density import Density
from dpmine.models.histogram.estimator import PrivateHistogram
from dpmine.models.histogram.training import (
    GRID,
    GRID_BITS,
    MOST_BINS,
    Axis,
    Bounds,
    Grid,
    HistogramTraining,
    NoisyHistogram,
    Records,
    Space,
    density_score,
    records_needed,
)

GUARANTEE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, "row")
ALPHA = Fraction(1, 2)
PAIRS = np.random.default_rng(7).beta(2, 5, (6000, 2))


def _grid(first: int, second: int, lower: float = 0, upper: float = 1) -> Grid:
    bounds = Bounds.of(lower, upper)
    return Grid((Axis(bounds, first), Axis(bounds, second)))


def _points(pairs: Any) -> Records:
    return Records.of(np.asarray(pairs, np.float64).reshape(-1, 2))


def _density(weights: Any, lower: float = 0, upper: float = 1) -> Density:
    given = np.array(weights)
    first, second = given.shape
    histogram = NoisyHistogram(_grid(first, second, lower, upper), tuple(given.ravel().tolist()))
    return Density(histogram, ((9, 9),), "exponential", GUARANTEE)


def _model(**changes: Any) -> PrivateHistogram:
    return PrivateHistogram(**{"bins": [2, (8, 4)], "lower": (0, 0), "upper": 1, **changes})


@every("shape", [(2, 2), (3, 7), (10, 2), (40, 30)])
def test_counts_are_those_of_numpy(shape: tuple[int, int]) -> None:
    grid = _grid(*shape, lower=-3.7, upper=12.9)
    first, second = (axis.edges for axis in grid.axes)
    drawn = np.random.default_rng(3).uniform(-3.7, 12.9, (500, 2))
    corners = np.array([(a, b) for a in first for b in second])
    pairs = np.clip(np.concatenate([drawn, corners, np.nextafter(corners, -np.inf)]), -3.7, 12.9)
    expected = np.histogram2d(pairs[:, 0], pairs[:, 1], bins=[first, second])[0]
    assert grid.counts(_points(pairs)).reshape(shape).tolist() == expected.tolist()


def test_every_record_is_counted_by_itself() -> None:
    """Counts of all are the sum of the counts of each: nothing of the others enters."""
    plane = Space.of([(7, 3)], -1, (1, 2))
    wild = [(0.1, 1 / 3), (np.nan, 0.2), (np.inf, -np.inf), (1, 2), (-1, -1), (1e308, 5e-324), (-5, np.nan)]
    clipped = plane.clipped(wild)
    together = plane.grids[0].counts(Records.of(clipped))
    alone = sum(plane.grids[0].counts(Records.of(clipped[i : i + 1])) for i in range(len(wild)))
    assert together.tolist() == np.asarray(alone).tolist()
    assert together.sum() == len(wild)
    assert clipped[1].tolist() == [-1, 0.2]  # missing: the lower bound of this number
    assert clipped[2].tolist() == [1, -1]


def test_it_is_the_histogram_of_the_cells_numbers() -> None:
    """Given the same bits, a rectangle's counts are those of an interval on which the cells lie side by side."""
    grid = _grid(4, 3)
    cells = np.random.default_rng(1).integers(0, 12, 500)
    pairs = np.column_stack([(cells // 3 + 0.5) / 4, (cells % 3 + 0.5) / 3])
    here: Any = _model(bins=[(4, 3)])._fit(pairs, None, bits=NumpyBits(5)).result_.histogram
    there: Any = _model(bins=[12], lower=0)._fit((cells + 0.5) / 12, None, bits=NumpyBits(5)).result_.histogram
    assert here.grid.shape == grid.shape
    assert here.weights == there.weights
    checked = np.random.default_rng(2).integers(0, 12, 40)
    own = density_score(here, _points(np.column_stack([(checked // 3 + 0.5) / 4, (checked % 3 + 0.5) / 3])))
    assert own == density_score(there, Records.of((checked[:, np.newaxis] + 0.5) / 12))


def _random_pairs(generator: np.random.Generator, count: int) -> np.ndarray:
    spread = generator.choice([0.01, 0.2, 1.0])
    return np.asarray(np.clip(generator.random(2) + spread * generator.normal(size=(count, 2)), 0, 1))


def _neighbour(generator: np.random.Generator, pairs: np.ndarray) -> np.ndarray:
    other = pairs.copy()
    other[generator.integers(len(pairs))] = generator.random(2)
    return other


@every("seed", range(60))
def test_another_record_moves_the_score_within_the_bounds(seed: int) -> None:
    """|q − q'| ≤ 4s/max(ñ, ñ') for a training record, 2s/m for a validation record, s the number of cells."""
    generator = np.random.default_rng(seed)
    for _ in range(10):
        grid = _grid(*(int(count) for count in generator.integers(2, 5, 2)))
        train, checked = (_random_pairs(generator, int(size)) for size in generator.integers(1, 30, 2))
        noise = tuple(np.rint(generator.laplace(size=grid.bins) * 2**GRID_BITS).astype(int).tolist())
        here, there = (
            HistogramTraining().fit(_points(pairs), grid, ALPHA, noise)
            for pairs in (train, _neighbour(generator, train))
        )
        largest = max(sum(here.weights), sum(there.weights)) * GRID
        score = density_score(here, _points(checked))
        if largest:
            assert abs(score - density_score(there, _points(checked))) <= 4 * grid.bins / largest
        moved = density_score(here, _points(_neighbour(generator, checked)))
        assert abs(score - moved) <= Fraction(2 * grid.bins, len(checked))


def test_the_score_is_the_integral_written_out() -> None:
    density = _density([[3 << 20, 0], [1 << 20, 4 << 20]])
    assert density.heights.tolist() == [[1.5, 0], [0.5, 2]]
    expected = -(1.5**2 + 0.5**2 + 2**2) / 4 + (1.5 + 2) * 2 / 3
    checked = _points([(0.2, 0.3), (0.2, 0.9), (0.9, 1)])
    assert float(density_score(density.histogram, checked)) == pytest.approx(expected, rel=1e-12)


def test_the_shape_of_what_is_learnt() -> None:
    model = _model(upper=(1, 3)).fit(PAIRS * [1, 3])
    assert model.density_.shape in {(2, 2), (8, 4)}
    first, second = model.edges_
    assert model.density_.shape == (len(first) - 1, len(second) - 1) == model.counts_.shape
    assert model.bin_width_ == (1 / (len(first) - 1), 3 / (len(second) - 1))
    assert float(model.density_.sum()) * np.prod(model.bin_width_) == pytest.approx(1)
    assert model.n_features_in_ == 2
    guarantee = model.guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (Fraction(1), Fraction(1, 10**6), "row")
    assert _model(bins=[(2, 3)]).fit(PAIRS[:4]).guarantee_.delta == 0


def test_structure_is_found_along_the_number_that_has_it() -> None:
    """A comb of 8 teeth in the first number, nothing in the second."""
    generator = np.random.default_rng(1)
    comb = np.column_stack([(generator.integers(0, 4, 40_000) * 2 + 0.5) / 8, generator.random(40_000)])
    model = _model(bins=[(2, 2), (8, 2), (2, 8)], epsilon=5)
    assert model._fit(comb, None, bits=NumpyBits(1)).density_.shape == (8, 2)
    assert model._fit(comb[:, ::-1], None, bits=NumpyBits(1)).density_.shape == (2, 8)


def test_too_few_records_are_rejected_by_the_number_of_cells() -> None:
    needed = least_records(records_needed((4, 32), alpha=ALPHA, failure=Fraction(1, 10**6)), Fraction(1, 2))
    with pytest.raises(BadData, match=f"at least {needed}[.]"):
        _model().fit(PAIRS[: needed - 1])
    _model().fit(PAIRS[:needed])


def test_a_unit_gives_as_many_records_as_it_may() -> None:
    units = np.repeat(np.arange(1000), np.resize([1, 2, 9], 1000))
    model = _model(epsilon=90, delta="0.01", rows_per_unit=2).fit(np.resize(PAIRS, (len(units), 2)), units=units)
    assert model.counts_.sum() == pytest.approx(334 + 333 * 4, abs=20)


@every(
    "changes",
    [
        {"bins": [(2, 2, 2)]},
        {"bins": [(2,)]},
        {"bins": [(2, 1)]},
        {"bins": [(2, 2.0)]},
        {"bins": ["22"]},
        {"bins": [(4, 4), 4]},
        {"bins": [(MOST_BINS, 2)]},
        {"bins": []},
        {"lower": (0, 0, 0)},
        {"lower": (0, 1)},
        {"upper": (1, 0)},
        {"upper": (1, float("nan"))},
        {"upper": (1, "text")},
        {"lower": (10**16, 0), "upper": (10**16 + 4, 1), "bins": [16]},
    ],
)
def test_unusable_parameters_are_rejected_before_data_are_read(changes: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        _model(**changes).fit(None)  # BadData once it is read


def test_one_number_stands_for_two() -> None:
    space = Space.of([4, (2, 3)], 0, (1, 2))
    assert space.features == 2
    assert space.candidates == ((4, 4), (2, 3))
    assert [bounds.lower for bounds in space.bounds] == [0, 0]
    assert [bounds.upper for bounds in space.bounds] == [1, 2]
    assert Space.of(np.array([[4, 4]]), 0, 1) == Space.of([(4, 4)], (0, 0), (1, 1))
    assert Space.of([4], 0, 1).features == 1


@every("x", [[1.0, 2.0], [[1.0]], [[1.0, 2.0, 3.0]], [["kanarienvogel", 1]], [[1j, 2]], 3, np.zeros((2, 2, 2))])
def test_what_is_not_pairs_is_rejected_without_a_word_of_it(x: Any) -> None:
    with pytest.raises(BadData) as caught:
        _model().fit(x)
    assert "kanarienvogel" not in str(caught.value)


@every(
    "x",
    [
        [[1, 2.5], [None, 3]],
        np.ma.MaskedArray([[1, 2.5], [7, 3]], mask=[[False, False], [True, False]]),
        pd.DataFrame({"a": [1, None], "b": [2.5, 3]}),
    ],
)
def test_pairs_of_all_kinds(x: Any) -> None:
    assert Space.of([(2, 2)], 0, 9).clipped(x).tolist() == [[1, 2.5], [0, 3]]


def test_pdf() -> None:
    density = _density([[3, 0], [1, 4]], upper=2)
    points = [(0, 0), (0.9, 1), (1, 0.5), (2, 2), (2.1, 1), (0.5, -0.1), (np.nan, 1), (1, np.nan)]
    expected = [3 / 8, 0, 1 / 8, 1 / 2, 0, 0, np.nan, np.nan]
    assert density.pdf(points) == pytest.approx(expected, nan_ok=True)
    assert float(density.pdf((1, 1))) == 1 / 2
    for odd in (1.0, [1.0, 2.0, 3.0]):
        with pytest.raises(BadData, match="two numbers"):
            density.pdf(odd)


@pytest.mark.statistical
def test_samples_fall_into_cells_with_their_probabilities() -> None:
    """False alarms: 10^−6."""
    density = _density([[3, 0], [1, 4]], upper=2)

    def sampler(bits: BitSource) -> tuple[int, int]:
        first, second = density.sample(1, bits=bits)[0]
        return int(first), int(second)

    assert_sampled_law(sampler, {(0, 0): 3 / 8, (0, 1): 0.0, (1, 0): 1 / 8, (1, 1): 1 / 2}, draws=3000)


@pytest.mark.statistical
def test_samples_are_uniform_inside_a_cell() -> None:
    """Kolmogorov–Smirnov on 20,000 draws of each number, and their correlation. False alarms: 3·10^−6."""
    from scipy import stats

    drawn = _density([[0, 0], [0, 5]], lower=-1, upper=3).sample(20_000, bits=NumpyBits(3))
    for column in drawn.T:
        assert stats.kstest(column, stats.uniform(1, 2).cdf).pvalue > 1e-6
    assert stats.pearsonr(*drawn.T).pvalue > 1e-6
    assert _density([[1, 1], [1, 1]]).sample(0, bits=SystemBits()).shape == (0, 2)


def test_results_as_text_json_and_arrow() -> None:
    density = _density([[3, 1], [2, 0]], upper=4)
    document = json.loads(density.to_json())
    assert document["bins"] == 4
    assert document["shape"] == [2, 2]
    assert document["density"] == [[1 / 8, 1 / 24], [1 / 12, 0]]
    assert document["candidates"] == [[9, 9]]
    table = density.to_arrow().to_pylist()
    assert [(row["lower"], row["upper"], row["second_lower"], row["second_upper"]) for row in table] == [
        (0, 2, 0, 2), (0, 2, 2, 4), (2, 4, 0, 2), (2, 4, 2, 4),
    ]  # fmt: skip
    assert [row["density"] for row in table] == [1 / 8, 1 / 24, 1 / 12, 0]
    lines = str(density).splitlines()
    assert lines[0].startswith("[0, 2)\t[0, 2)\t0.125\t█")
    assert lines[4] == f"(2 x 2 cells, chosen by exponential; {GUARANTEE})"


def test_plot_shows_the_density_and_its_guarantee() -> None:
    axes = Figure().subplots()
    density = _density([[3, 1, 0], [2, 0, 5]])
    assert density.plot(axes) is axes
    assert "2 x 3 cells (ε = 0.333" in axes.get_title()
    drawn = axes.collections[0].get_array()
    assert pytest.approx(density.heights) == np.asarray(drawn).T
    assert density.plot().figure is not None
