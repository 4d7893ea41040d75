"""Numbers of correctly classified records, by the definitions, in exact arithmetic and one hypothesis at a time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.pac.hypothesis import Records

if TYPE_CHECKING:
    from dpmine.models.pac.thresholds import PublicGrid


def some_records(size: int, columns: int, seed: int) -> Records:
    """Values on and around small grids, with repetitions."""
    generator = np.random.default_rng(seed)
    features = generator.integers(-3, 8, (size, columns)) / 4 + generator.choice([0.0, 1e-9, 0.1], (size, columns))
    return Records(features, generator.random(size) < 0.5)


def clipped(grid: PublicGrid, value: float) -> Fraction:
    return min(grid.upper, max(grid.lower, Fraction(value)))


def correct_at_least(grid: PublicGrid, records: Records, column: int, place: int) -> int:
    """x >= t, by the definition."""
    point = grid.point(place)
    answers = [clipped(grid, value) >= point for value in records.features[:, column].tolist()]
    return sum(answer == truth for answer, truth in zip(answers, records.positive.tolist(), strict=True))


def correct_between(grid: PublicGrid, records: Records, first: int, last: int) -> int:
    """a <= x < b, by the definition; `last` may be the place after the last point."""
    answers = [
        grid.point(first) <= clipped(grid, value) and (last == grid.points or clipped(grid, value) < grid.point(last))
        for value in records.features[:, 0].tolist()
    ]
    return sum(answer == truth for answer, truth in zip(answers, records.positive.tolist(), strict=True))
