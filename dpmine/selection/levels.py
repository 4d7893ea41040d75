"""A universe given by its levels: scores and how many candidates have each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isfinite
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.decisions import uniform_below
from dpmine.parameters import exact_number, whole
from dpmine.selection.universe import Level, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.parameters import Number


class Levels:
    """A universe given by its levels; a candidate is the pair (level, member), both counted from 0.

    >>> Levels([(200, 1), (0, 10**30)]).size
    1000000000000000000000000000001
    """

    def __init__(self, levels: Iterable[tuple[Number, int]], padding: int = 0) -> None:
        """`levels`: (score, multiplicity) pairs, scores strictly decreasing; `padding`: public dummies of score 0.

        Raises BadParameter when the levels are out of order, a multiplicity is below 1, or dummies meet scores below 0.
        """
        known = [Level(exact_score(score), whole("multiplicity", count)) for score, count in levels]
        if any(upper.score <= lower.score for upper, lower in pairwise(known)):
            raise BadParameter("Levels must be given with strictly decreasing scores.")
        self._padding = whole("padding", padding, least=0)
        if not known and not padding:
            raise BadParameter("There is nothing to select from: give at least one candidate.")
        if padding and known and known[-1].score < 0:
            raise BadParameter("A universe with dummies needs scores of at least 0.")
        self._levels = known
        self._descending = [-level.score for level in known]
        self._ends = list(accumulate(level.count for level in known))

    @classmethod
    def of(cls, levels: Iterable[Level], padding: int = 0) -> Levels:
        """The universe of these levels."""
        return cls([(level.score, level.count) for level in levels], padding)

    @property
    def size(self) -> int:
        """K, dummies not counted."""
        return self._ends[-1] if self._ends else 0

    @property
    def padding(self) -> int:
        """Number of dummies."""
        return self._padding

    @property
    def least(self) -> Score:
        """The lowest score."""
        return self._levels[-1].score if self._levels else 0

    def top(self) -> Score:
        """The best score."""
        return self._levels[0].score if self._levels else 0

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ floor."""
        return self._levels[: self._depth(floor)]

    def below(self, floor: Score) -> Score:
        """The best score below `floor`."""
        depth = self._depth(floor)
        return self._levels[depth].score if depth < len(self._levels) else floor

    def lower(self, floor: Score) -> Score:  # noqa: ARG002 - everything is known, so the next floor is the last
        """The lowest score."""
        return self.least

    def member(self, level: Level, *, bits: BitSource) -> tuple[int, int]:
        """A uniform member of the level."""
        return bisect_left(self._descending, -level.score), uniform_below(level.count, bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[tuple[int, int], Score]:
        """A uniform candidate below `floor`."""
        depth = self._depth(floor)
        above = self._ends[depth - 1] if depth else 0
        rank = above + uniform_below(self.size - above, bits=bits)
        level = bisect_right(self._ends, rank)
        first = self._ends[level - 1] if level else 0
        return (level, rank - first), self._levels[level].score

    def _depth(self, floor: Score) -> int:
        return bisect_right(self._descending, -floor)


def exact_score(value: Number) -> Score:
    """The exact score that a number stands for, a float being the dyadic number it is; BadParameter otherwise."""
    if type(value) is int:
        return value
    if isinstance(value, float) and isfinite(value):
        value = Fraction(float(value))
    score = exact_number("score", value)
    return int(score) if score.denominator == 1 else Fraction(score)
