from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.cases import every

from dpmine import BadData, BadParameter
from dpmine.models.histogram.training import MOST_BINS, Axis, Bounds, Grid, Records, Space, as_records


@every("bounds", [(0, 1), (-3.7, 12.9), ("1e-9", "2e-9"), (1e9, 1e9 + 1)])
@every("bins", [2, 3, 10, 100])
def test_counts_are_those_of_numpy(bounds: tuple[Any, Any], bins: int) -> None:
    grid = Grid((Axis(Bounds.of(*bounds), bins),))
    edges = grid.axes[0].edges
    low, high = float(bounds[0]), float(bounds[1])
    values = np.random.default_rng(3).uniform(low, high, 500)
    values = np.clip(
        np.concatenate([values, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]), low, high
    )
    assert grid.counts(Records.of(values[:, np.newaxis])).tolist() == np.histogram(values, edges)[0].tolist()


def test_every_record_is_counted_by_itself() -> None:
    """Counts of all are the sum of the counts of each: nothing of the others enters."""
    space = Space.of([7], 0, 1)
    values = space.clipped([0.1, 1 / 7, 2 / 7, 0.9999, 1, -3, np.nan, np.inf, -np.inf])
    together = space.grids[0].counts(Records.of(values))
    alone = sum(space.grids[0].counts(Records.of(values[i : i + 1])) for i in range(len(values)))
    assert together.tolist() == np.asarray(alone).tolist()


def test_clipping_is_total() -> None:
    wild = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.5])
    assert Bounds.of("0.25", 1).clipped(wild).tolist() == [0.25, 1, 0.25, 1, 0.25, 0.25, 0.5]


@every(
    "bounds",
    [(1, 1), (2, 1), ("nan", 1), (0, "inf"), (0, None), (0, True), (0, "1e301"), (1, 1 + Fraction(1, 10**30))],
)
def test_unusable_bounds(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(BadParameter):
        Bounds.of(*bounds)


def test_bins_narrower_than_floats_are_rejected() -> None:
    with pytest.raises(BadParameter, match="narrow"):
        _ = Axis(Bounds.of(10**16, 10**16 + 4), 16).edges


@every("bins", [[1], [0], [-4], [2.0], [4.5], ["4"], [True], [None], [], 4, "48", None, [4, 4], [MOST_BINS + 1]])
def test_unusable_numbers_of_bins(bins: Any) -> None:
    with pytest.raises(BadParameter, match="bins"):
        Space.of(bins, 0, 1)


def test_numbers_of_bins() -> None:
    assert Space.of(np.array([16, 4]), 0, 1).candidates == (16, 4)
    assert Space.of(range(2, 5), 0, 1).candidates == (2, 3, 4)


@every(
    "x",
    [
        [1, 2.5, None],
        (1, 2.5, float("nan")),
        np.array([1, 2.5, np.nan], np.float32),
        np.array([[1], [2.5], [np.nan]]),
        np.ma.MaskedArray([1, 2.5, 7], mask=[False, False, True]),
        pd.Series([1, 2.5, None]),
        pd.Series([1, 2.5, None], dtype="Float64"),
        [Fraction(1), Decimal("2.5"), None],
        [1, 2.5, "2"],
        [1, 2.5, {"a": 1}],
    ],
)
def test_numbers_of_all_kinds(x: Any) -> None:
    values = as_records(x, 1)[:, 0]
    assert values.dtype == np.float64
    assert values[:2].tolist() == [1, 2.5]
    assert np.isnan(values[2])


def test_integers_and_booleans() -> None:
    assert as_records(np.array([1, 2], np.uint8), 1).ravel().tolist() == [1, 2]
    assert as_records([True, False], 1).ravel().tolist() == [1, 0]


def test_integers_beyond_floats_are_infinite_not_an_error() -> None:
    assert as_records([10**400, -(10**400), 3], 1).ravel().tolist() == [np.inf, -np.inf, 3]


@every(
    "x",
    [np.array(["kanarienvogel"]), [[1, 2], [3, 4]], 3, "12", {1: 2}, np.array([1j]), np.array(["2020"], "M8")],
)
def test_what_is_not_numbers_is_rejected_without_a_word_of_it(x: Any) -> None:
    with pytest.raises(BadData) as caught:
        as_records(x, 1)
    assert "kanarienvogel" not in str(caught.value)
    assert caught.value.__cause__ is None
