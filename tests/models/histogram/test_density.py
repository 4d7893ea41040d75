from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits

from dpmine import BadParameter, Guarantee, Neighbors
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.histogram.density import Density, _drawn_places
from dpmine.models.histogram.training import Axis, Bounds, Grid, NoisyHistogram

if TYPE_CHECKING:
    from collections.abc import Sequence

GUARANTEE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, "row")


def _density(weights: Sequence[int], lower: float = 0, upper: float = 1) -> Density:
    grid = Grid((Axis(Bounds.of(lower, upper), len(weights)),))
    return Density(NoisyHistogram(grid, tuple(weights)), (len(weights), 99), "exponential", GUARANTEE)


def test_pdf() -> None:
    density = _density([3, 0, 1], lower=0, upper=6)
    points = [-1, 0, 1.9, 2, 3.9, 4, 6, 6.1, np.nan, np.inf]
    expected = [0, 3 / 8, 3 / 8, 0, 0, 1 / 8, 1 / 8, 0, np.nan, 0]
    assert density.pdf(points) == pytest.approx(expected, nan_ok=True)
    assert float(density.pdf(1.0)) == 3 / 8


@pytest.mark.parametrize("weights", [(3, 0, 1), (0, 0), (2**40, 1, 2**30, 0)])
def test_pdf_integrates_to_one(weights: tuple[int, ...]) -> None:
    density = _density(weights, lower=-3, upper=5)
    edges = density.histogram.grid.axes[0].edges
    middles = (edges[1:] + edges[:-1]) / 2
    assert float(density.pdf(middles).sum() * density.bin_width) == pytest.approx(1)


def test_counts_are_in_records() -> None:
    assert _density([3 * 2**20, 2**19]).counts.tolist() == [3, 0.5]


@pytest.mark.statistical
def test_samples_are_uniform_inside_a_bin() -> None:
    """Kolmogorov–Smirnov on 20,000 draws. False alarms: 10^−6."""
    from scipy import stats

    drawn = _density([0, 5], lower=-1, upper=3).sample(20_000, bits=NumpyBits(3))
    assert stats.kstest(drawn, stats.uniform(1, 2).cdf).pvalue > 1e-6


def test_samples_stay_inside_their_bins() -> None:
    class Largest:
        def take(self, count: int) -> int:
            return (1 << count) - 2**32 if count >= 64 else (1 << count) - 1

    density = _density([1, 1], lower=0, upper=1)
    drawn = density.sample(1000)
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert (density.sample(3, bits=Largest()) < 1).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1, 2**62, 2**63, 10**60])
@pytest.mark.statistical
def test_samples_fall_into_bins_with_their_probabilities(scale: int) -> None:
    """5,000 draws of bins of probability 3/4, 0 and 1/4, of weights beyond a word too. False alarms: 10^−6."""
    density = _density([3 * scale, 0, scale], upper=3)

    def sampler(bits: BitSource) -> int:
        return int(density.sample(1, bits=bits)[0])

    assert_sampled_law(sampler, {0: 0.75, 1: 0.0, 2: 0.25}, draws=5000)


@every("total", [2**63 - 1, 2**63, 2**63 + 1, 2**64, 2**90])
def test_a_bin_begins_where_the_one_before_ends(total: int) -> None:
    """Sums of weights around the size of a word: the first and the last place of the drawn range."""

    class Fixed:
        def __init__(self, *, ones: bool) -> None:
            self.ones = ones

        def take(self, count: int) -> int:
            if total <= 2**63:  # the word whose remainder is 0; smaller ones are drawn again
                return int.from_bytes(total.to_bytes(8) * (count // 64))
            return (1 << count) - 1 if self.ones and total == 2**count else 0

    weights = [1, total - 2, 1]
    assert _drawn_places(weights, total, 2, bits=Fixed(ones=False)).tolist() == [0, 0]  # type: ignore[arg-type]
    if total in {2**64, 2**90}:
        assert _drawn_places(weights, total, 2, bits=Fixed(ones=True)).tolist() == [2, 2]  # type: ignore[arg-type]


def test_samples_of_nothing_and_bad_sizes() -> None:
    assert _density([1, 1]).sample(0, bits=SystemBits()).shape == (0,)
    for size in (-1, 1.5, None):
        with pytest.raises(BadParameter):
            _density([1, 1]).sample(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [(3, 0, 1), tuple(range(1, 101)), (0, 0)])
def test_plot_shows_the_density_and_its_guarantee(weights: tuple[int, ...]) -> None:
    axes = Figure().subplots()
    assert _density(weights).plot(axes) is axes
    assert "ε = 0.333" in axes.get_title()
    assert axes.get_xlabel()
    assert axes.get_ylabel() == "density"
    drawn: Any = axes.patches[0]
    drawn = drawn.get_data()
    assert drawn.values == pytest.approx(_density(weights).heights)


def test_plot_makes_its_own_axes() -> None:
    assert _density([1, 2]).plot().figure is not None


def test_arrow_table() -> None:
    table = _density([3, 1], upper=4).to_arrow()
    assert table.column_names == ["lower", "upper", "density", "count"]
    assert table.column("upper").to_pylist() == [2, 4]
    assert b'"epsilon_exact": "1/3"' in table.schema.metadata[b"dpmine"]
