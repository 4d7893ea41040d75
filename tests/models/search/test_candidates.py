"""Candidates: which there are, and with which probabilities they are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.model_selection import ParameterGrid
from support.cases import every
from support.numpy_bits import NumpyBits
from support.tapes import assert_law

from dpmine.errors import BadParameter
from dpmine.models.search.candidates import Candidates

GRIDS: list[Any] = [{"a": [1, 2], "b": ["x"]}, {"a": [3, 4, 5, 6, 7, 8]}, {"b": np.array([1])}]


def test_lists_are_drawn_uniformly_over_all_combinations() -> None:
    listed = [*GRIDS[:2], {"b": [1]}]
    expected = {str(sorted(one.items())): 1 / 9 for one in ParameterGrid(listed)}
    assert len(expected) == 9
    candidates = Candidates.of(GRIDS)
    assert_law(lambda bits: str(sorted(candidates.draw(bits=bits).items())), expected, depth=12, undecided=0.1)
    assert sorted(str(sorted(one.items())) for one in candidates.checked(bits=NumpyBits(1))) == sorted(expected)


def test_with_a_distribution_mappings_are_drawn_first() -> None:
    class Coin:
        def rvs(self, random_state: int) -> int:
            assert 0 <= random_state < 2**32
            return random_state % 2

    candidates = Candidates.of([{"a": [1, 2]}, {"a": Coin()}])
    found = [candidates.draw(bits=NumpyBits(seed))["a"] for seed in range(200)]
    assert set(found) == {0, 1, 2}
    assert len(list(candidates.checked(bits=NumpyBits(1)))) == 1


def test_scipy_distributions() -> None:
    candidates = Candidates.of({"a": loguniform(0.01, 1)})
    found = [candidates.draw(bits=NumpyBits(seed))["a"] for seed in range(100)]
    assert len(set(found)) == 100
    assert 0.01 <= min(found) < 0.1 < max(found) <= 1


@every("grid", [None, 7, "a", [], {"a": []}, {"a": "xy"}, {"a": 1}, {1: [1]}, [{"a": [1]}, 2], {"a": np.ones((2, 2))}])
def test_unusable_grids(grid: Any) -> None:
    with pytest.raises(BadParameter, match="param_grid"):
        Candidates.of(grid)
