"""A universe given by groups of candidates: the score of each group, and how many candidates it has."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.parameters import Number, exact_number, whole
from dpmine.selection.universes.base import Level, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource


class Levels:
    """A universe given by groups of candidates that share a score; a candidate is the pair (group, member), from 0.

    What must be public: how many groups there are, their order, and how many candidates each has. All three must be the
    same for all neighbouring data; only the scores may move, each by the sensitivity at most. Groups may come in any
    order and may have equal scores: a pair always counts in the order given here.

    Groups that are found in the data, such as a histogram of supports, are not public: one unit can make a group, empty
    it or split it, and the groups behind it move up. Pass `candidates="unknown"` for these, or give `padding`:
    `dpmine.select` then says whether something was chosen, and nothing else. The chosen group's score is not released
    either: one unit moves it, so no exact score is private, not even with a δ.

    Example:
        >>> Levels([(40, 2**62), (900, 2**62), (310, 2**62)]).top()
        900

    See Also:
        dpmine.Universe: what to implement where candidates are not groups.
        dpmine.select: takes either.
    """

    def __init__(self, levels: Iterable[tuple[Number, int]], padding: int = 0) -> None:
        """`levels`: (score, multiplicity) pairs, the groups; `padding`: public dummies of score 0.

        Raises BadParameter for multiplicities below 1, nothing to select from, and dummies beside scores below 0.
        """
        groups = [Level(exact_score(score), whole("multiplicity", count)) for score, count in levels]
        self._padding = whole("padding", padding, least=0)
        if not groups and not padding:
            raise BadParameter("There is nothing to select from: give at least one candidate.")
        self._groups = groups
        self._order = sorted(range(len(groups)), key=lambda place: groups[place].score, reverse=True)
        self._group_ends = list(accumulate(groups[place].count for place in self._order))
        self._levels = [
            Level(score, sum(groups[place].count for place in places))
            for score, places in groupby(self._order, key=lambda place: groups[place].score)
        ]
        if padding and self.least < 0:
            raise BadParameter("A universe with dummies needs scores of at least 0.")
        self._descending = [-level.score for level in self._levels]
        self._ends = list(accumulate(level.count for level in self._levels))

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
        return self._at(self._above(self._depth(level.score) - 1) + uniform_below(level.count, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[tuple[int, int], Score]:
        """A uniform candidate below `floor`."""
        above = self._above(self._depth(floor))
        candidate = self._at(above + uniform_below(self.size - above, bits=bits))
        return candidate, self._groups[candidate[0]].score

    def spread(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Masses of levels (best first), shared out to their groups by size: one entry a group, as they were given."""
        found = np.empty(len(self._groups))
        for place, group in enumerate(self._groups):
            level = self._depth(group.score) - 1
            found[place] = masses[level] * (group.count / self._levels[level].count)
        return found

    def _at(self, rank: int) -> tuple[int, int]:
        """The candidate at a place of the order by score, counted from 0."""
        run = bisect_right(self._group_ends, rank)
        return self._order[run], rank - (self._group_ends[run - 1] if run else 0)

    def _above(self, depth: int) -> int:
        """How many candidates the first `depth` levels hold."""
        return self._ends[depth - 1] if depth else 0

    def _depth(self, floor: Score) -> int:
        return bisect_right(self._descending, -floor)


def exact_score(value: Number) -> Score:
    """The exact score that a number stands for, a float being the dyadic number it is; BadParameter otherwise."""
    if type(value) is int:
        return value
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise BadParameter("scores must be finite numbers.")
        value = Fraction(*value.as_integer_ratio())
    score = exact_number("score", value)
    return int(score) if score.denominator == 1 else Fraction(score)
