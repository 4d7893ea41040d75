"""The compiled loop behind the scores of separators: signs of inner products, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled
from dpmine.itemsets.counting.arrays import in_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.models.supervised import Floats

MOST_COLUMNS = 6
"""The loop is written out for six coordinates; fewer are filled up with zeros."""
_PART = 4096  # weight vectors a thread takes at a time


def sign_counts(weights: Floats, points: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many points have w·x > 0, and how many w·x < 0, for every w: two int64 arrays of shape (k,).

    `weights`: (k, d), `points`: (n, d), d ≤ 6, whole numbers so small that every w·x is exact in float64.
    Memory: O(k + n), whatever k·n is.
    """
    columns = np.zeros((MOST_COLUMNS, len(points)))
    columns[: points.shape[1]] = points.T
    filled = np.zeros((len(weights), MOST_COLUMNS))
    filled[:, : weights.shape[1]] = weights
    above, below = np.zeros(len(weights), np.int64), np.zeros(len(weights), np.int64)

    def count(start: int) -> None:
        part = slice(start, start + _PART)
        _count_signs(filled[part], columns, above[part], below[part])

    in_parallel(count, range(0, len(weights), _PART))
    return above, below


@compiled
def _count_signs(weights: Floats, columns: Floats, above: NDArray[np.int64], below: NDArray[np.int64]) -> None:
    """One pass over the points a weight vector; the sums are exact, so their order does not matter."""
    for row in range(weights.shape[0]):
        w0, w1, w2 = weights[row, 0], weights[row, 1], weights[row, 2]
        w3, w4, w5 = weights[row, 3], weights[row, 4], weights[row, 5]
        more = np.int64(0)
        less = np.int64(0)
        for i in range(columns.shape[1]):
            product = w0 * columns[0, i] + w1 * columns[1, i] + w2 * columns[2, i]
            product += w3 * columns[3, i] + w4 * columns[4, i] + w5 * columns[5, i]
            more += np.int64(product > 0)
            less += np.int64(product < 0)
        above[row] = more
        below[row] = less
