"""A universe given by the score of every candidate; a candidate is its position."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.selection.universes.base import Level, Score
from dpmine.selection.universes.levels import Levels, exact_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource

_COUNTABLE_SPREAD = 4  # integer scores spread over fewer than this many values a candidate are counted, not sorted


class Dense:
    """The scores of candidates 0 … K − 1: a 1-D array or a sequence of integers, floats or Fractions.

    Floats of every width are taken for the exact dyadic numbers they are.
    """

    def __init__(self, scores: Sequence[Any] | NDArray[Any], padding: int = 0) -> None:
        """Raises BadParameter for scores that are not finite numbers, shapes other than 1-D, and no scores."""
        self._scores = _exact_array(scores)
        self._levels = Levels.of(_levels(self._scores), padding)
        self.size = self._levels.size
        self.padding = padding
        self.least = self._levels.least
        self.top = self._levels.top
        self.head = self._levels.head
        self.below = self._levels.below
        self.lower = self._levels.lower

    def member(self, level: Level, *, bits: BitSource) -> int:
        """A uniform position among those with the level's score."""
        return self._position(level.score, uniform_below(level.count, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[int, Score]:
        """A uniform position among those with a score below `floor`."""
        (_, member), score = self._levels.tail(floor, bits=bits)
        return self._position(score, member), score

    def spread(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Masses of levels (best first), shared out equally to their members: one entry a candidate."""
        _, level_of, counts = np.unique(self._scores, return_inverse=True, return_counts=True)
        return (masses[::-1] / counts)[level_of]

    def _position(self, score: Score, member: int) -> int:
        value = float(score) if self._scores.dtype.kind == "f" else score
        return int(np.flatnonzero(self._scores == value)[member])


def _exact_array(scores: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """A 1-D array of integers, float64 or exact Python numbers."""
    array = scores if isinstance(scores, np.ndarray) else _from_sequence(scores)
    if array.ndim != 1 or array.dtype.kind not in "iufO" or isinstance(array, np.ma.MaskedArray):
        raise BadParameter("scores must be a one-dimensional array of integers, floats or Fractions, none masked.")
    if array.dtype.kind == "f" and np.can_cast(array.dtype, np.float64):
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise BadParameter("scores must be finite numbers.")
    elif array.dtype.kind not in "iu":  # floats wider than float64 too
        return _array_of_objects([exact_score(score) for score in array])
    return array


def _from_sequence(scores: Sequence[Any]) -> NDArray[Any]:
    """An array of one type where all entries share it; exact Python numbers otherwise."""
    kinds = {type(score) for score in scores}
    if kinds <= {int} and all(-(2**63) <= score < 2**63 for score in scores):
        return np.array(scores, dtype=np.int64)
    if kinds == {float}:
        return np.array(scores, dtype=np.float64)
    return _array_of_objects(scores)


def _array_of_objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _levels(scores: NDArray[Any]) -> list[Level]:
    if scores.dtype.kind == "O":
        return [Level(score, count) for score, count in sorted(Counter(scores).items(), reverse=True)]
    values, counts = _distinct(scores)
    exact = int if scores.dtype.kind in "iu" else _exact_float
    return [Level(exact(value), int(count)) for value, count in zip(values[::-1], counts[::-1], strict=True)]


def _distinct(scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct scores in increasing order, and how often each occurs."""
    if scores.dtype.kind in "iu" and len(scores):
        low, high = int(scores.min()), int(scores.max())
        if high - low < _COUNTABLE_SPREAD * len(scores) and low >= -(2**63) and high < 2**63:
            counts = np.bincount(scores.astype(np.int64, copy=False) - low)
            present = np.flatnonzero(counts)
            return present + low, counts[present]
    return np.unique(scores, return_counts=True)


def _exact_float(value: float) -> Score:
    score = Fraction(float(value))
    return int(score) if score.denominator == 1 else score
