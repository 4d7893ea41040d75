"""Score profiles and the laws on them: candidates with equal scores stand together as a level.

Nothing here is read from data.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

_LARGEST_COUNT = 10**300  # still a float64, with room for sums


@dataclass(frozen=True)
class Profile:
    """The levels of a universe: scores in sensitivities, strictly decreasing, and how many candidates have each.

    `dummies` public candidates of score 0 stand first among the zeros (padding for unknown universes); with them, no
    score may be negative. Raises BadParameter where this is not so.
    """

    scores: tuple[float, ...]
    counts: tuple[int, ...]
    dummies: int = 0

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.counts):
            raise BadParameter("A profile needs one multiplicity for each score.")
        if not all(map(math.isfinite, self.scores)):
            raise BadParameter("The scores of a profile must be finite.")
        if any(left <= right for left, right in zip(self.scores, self.scores[1:], strict=False)):
            raise BadParameter("The scores of a profile must be strictly decreasing; merge equal ones into one level.")
        if any(not 1 <= count <= _LARGEST_COUNT for count in self.counts):
            raise BadParameter("The multiplicities of a profile must lie between 1 and 1e300.")
        _check_dummies(self.dummies, self.scores)

    @classmethod
    def of(cls, scores: Iterable[float], dummies: int = 0) -> Profile:
        """The profile of single candidates: equal scores are merged."""
        levels = sorted(Counter(map(float, scores)).items(), reverse=True)
        return cls(tuple(score for score, _ in levels), tuple(count for _, count in levels), dummies)

    def ladder(self, dummies: int | None = None) -> Ladder:
        """All levels in ranking order, `dummies` (the profile's own when None) among them.

        Raises BadParameter when there is neither a candidate nor a dummy, or a score below the dummies' 0.
        """
        number = self.dummies if dummies is None else dummies
        _check_dummies(number, self.scores)
        if not self.scores and not number:
            raise BadParameter("There is no candidate to choose from; give scores, or dummies.")
        scores, counts = list(self.scores), list(self.counts)
        place = len(scores)
        if number:
            place = sum(score > 0 for score in scores)
            scores.insert(place, 0.0)
            counts.insert(place, number)
        return Ladder(np.array(scores), tuple(counts), place)

    def best_or_nothing(self, kept: int, rate: float, slack: float) -> LevelLaw:
        """The law P(i) ∝ exp(rate · score) among the `kept` best, against *nothing*: e^slack times the next best.

        The universe is padded with `kept` + 1 dummies, the profile's own among them, which stand for *nothing* too. A
        level that straddles rank `kept` takes part with the number of its members inside.
        """
        ladder = self.ladder(dummies=max(kept + 1, self.dummies))
        before = accumulate(ladder.counts, initial=0)
        inside = [min(count, max(0, kept - first)) for count, first in zip(ladder.counts, before, strict=False)]
        beyond = next(level for level, count in enumerate(ladder.counts) if inside[level] < count)
        gaps = rate * (ladder.scores - ladder.scores[0])
        with np.errstate(divide="ignore"):  # levels outside the domain: log 0 is their weight 0
            logs = np.log(np.array(inside, dtype=np.float64)) + gaps
        return ladder.softmax(logs, float(gaps[beyond]) + slack)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Levels in ranking order, dummies included.

    `scores` has shape (levels,), `counts` are their exact multiplicities, `place` is the position of the dummies' level
    (the number of levels when there are none).
    """

    scores: FloatArray
    counts: tuple[int, ...]
    place: int

    @property
    def log_counts(self) -> FloatArray:
        """The natural logarithms of the multiplicities, shape (levels,)."""
        return np.log(np.array(self.counts, dtype=np.float64))

    def log_weights(self, rate: float) -> FloatArray:
        """ln(multiplicity · e^{rate · score}) but for a constant, shape (levels,)."""
        return np.asarray(self.log_counts + rate * (self.scores - self.scores[0]))

    def softmax(self, log_weights: FloatArray, log_nothing: float = -math.inf) -> LevelLaw:
        """The law proportional to weights of the levels, shape (levels,), and of *nothing*."""
        logs = np.append(log_weights, log_nothing)
        weights = np.exp(logs - logs.max())
        shares = weights / weights.sum()
        return self.law(shares[:-1], shares[-1])

    def locate(self, rank: int) -> tuple[int, int]:
        """The level of the candidate of this rank, and how many of the level's members have that rank or a smaller one.

        Requires: 1 ≤ rank ≤ the number of candidates, dummies included.
        """
        level = 0
        while rank > self.counts[level]:
            rank -= self.counts[level]
            level += 1
        return level, rank

    def law(self, masses: FloatArray, nothing: float = 0.0) -> LevelLaw:
        """The law on the real levels; what falls on dummies is added to `nothing`. `masses` has shape (levels,)."""
        dummy = masses[self.place : self.place + 1]
        return LevelLaw(np.delete(masses, self.place) if dummy.size else masses, float(nothing + dummy.sum()))


@dataclass(frozen=True, eq=False)
class LevelLaw:
    """The probability of each level of real candidates, shape (levels,), and of choosing nothing.

    Candidates of a level are equally likely: each has mass `masses / counts`.
    """

    masses: FloatArray
    nothing: float


def _check_dummies(dummies: int, scores: tuple[float, ...]) -> None:
    if not 0 <= dummies <= _LARGEST_COUNT:
        raise BadParameter("The number of dummies must lie between 0 and 1e300.")
    if dummies and scores and scores[-1] < 0:
        raise BadParameter("Dummies have score 0, so no score may be negative; shift the scores or leave the dummies.")
