"""How far a released count may be from the true one."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from support.numpy_bits import NumpyBits

from dpmine.models.histogram.density import Density
from dpmine.models.histogram.estimator import PrivateHistogram

if TYPE_CHECKING:
    from dpmine.models.histogram.bin_search import BinSearch


def search(**options: Any) -> BinSearch:
    return PrivateHistogram(**{"lower": 0, "upper": 1, "delta": 0, **options}).search()


@pytest.mark.parametrize(
    ("asked", "alpha"),
    [
        ({"bins": [20], "epsilon": "0.15"}, 0.15),  # all of ε
        ({"bins": [4, 8], "epsilon": 1, "delta": 1e-6, "selection_share": "0.25"}, 0.75),
    ],
)
def test_it_is_the_least_whole_number_with_its_level(asked: dict[str, Any], alpha: float) -> None:
    error = search(**asked).count_error
    outside = [exp(-t * alpha / 2) for t in (error, error - 1)]  # of Laplace noise of scale 2/α
    assert outside[0] <= 0.05 < outside[1]


def test_rows_of_a_unit_share_its_budget() -> None:
    one = PrivateHistogram(bins=[20], lower=0, upper=1, epsilon=1, delta=0)
    assert one.search(1).count_error == 6
    assert one.search(3).count_error == 18


@pytest.mark.statistical
def test_released_counts_keep_to_it() -> None:
    """4,000 bins without records: half of 5 % are beyond it, because negative counts are raised to 0.

    False alarms: 10^−6.
    """
    found = search(bins=[4000], epsilon=1)
    density = found.density(np.zeros(10), bits=NumpyBits(7))
    assert isinstance(density, Density)
    beyond = int((density.counts[1:] > found.count_error).sum())
    expected = exp(-found.count_error / 2) / 2
    assert stats.binomtest(beyond, 3999, expected).pvalue > 1e-6
    assert stats.binomtest(beyond, 3999, expected * 2).pvalue < 1e-6
