"""Universes given by scores: of every candidate, which is its position, or of groups, with their sizes."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby
from math import ceil, inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.parameters import Number, exact_number, whole
from dpmine.selection.universes.crowds import Bands, Numbers, exact
from dpmine.selection.universes.protocol import Array, Level, Score

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Crowd


class Levels:
    """A universe given by groups of candidates that share a score; a candidate is the pair (group, member), from 0.

    What must be public: how many groups there are, their order, and how many candidates each has. All three must be the
    same for all neighbouring data; only the scores may move, each by the sensitivity at most. Groups may come in any
    order and may have equal scores: a pair always counts in the order given here.

    Groups that are found in the data, such as a histogram of supports, are not public. One unit can make a group, empty
    it or split it, and the groups behind it move up. Pass `candidates="unknown"` for these, or give `padding`. Then
    `dpmine.select` says whether something was chosen, and nothing else. The chosen group's score is not released
    either: one unit moves it, so no exact score is private, not even with a δ.

    Args:
        levels: pairs (score, number of candidates), the groups.
        padding: the number of public dummies of score 0, which stand for candidates that no group has.

    Raises BadParameter for groups without candidates, nothing to select from, and dummies beside scores below 0.

    Example:
        >>> Levels([(40, 2**62), (900, 2**62), (310, 2**62)]).top()
        900

    See Also:
        dpmine.Universe: what to implement where candidates are not groups.
        dpmine.select: takes either.
    """

    def __init__(self, levels: Iterable[tuple[Number, int]], padding: int = 0) -> None:
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
        """The universe of these levels, with `padding` dummies."""
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
        """The lowest score, whatever the `floor`."""
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
        """The lowest score, whatever the `floor`."""
        return self.least

    def member(self, level: Level, *, bits: BitSource) -> tuple[int, int]:
        """A uniform member of the level, drawn from `bits`."""
        return self._at(self._above(self._depth(level.score) - 1) + uniform_below(level.count, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[tuple[int, int], Score]:
        """A uniform candidate below `floor` and its score, drawn from `bits`."""
        above = self._above(self._depth(floor))
        candidate = self._at(above + uniform_below(self.size - above, bits=bits))
        return candidate, self._groups[candidate[0]].score

    def spread(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The `masses` of levels (best first), divided among their groups by size.

        One entry per group, in the order in which they were given.
        """
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


_DEEPER = 16  # times as many candidates above the next floor
_COUNTABLE_SPREAD = 4  # integer scores spread over fewer than this many values a candidate are counted, not sorted


class Dense(Array):
    """The scores of candidates 0 … K − 1: a 1-D array or a sequence of integers, floats or Fractions.

    Floats of every width are taken for the exact dyadic numbers they are. Levels are made as deep as asked for.
    """

    def __init__(self, scores: Sequence[Number] | Numbers, padding: int = 0) -> None:
        """Raises BadParameter for scores that are not finite numbers, shapes other than 1-D, and no scores."""
        self._scores = _exact_array(scores)
        self.size = len(self._scores)
        self.padding = padding
        if not self.size and not padding:
            raise BadParameter("There is nothing to select from: give at least one candidate.")
        if padding and self.least < 0:
            raise BadParameter("A universe with dummies needs scores of at least 0.")
        # What was found is replaced as a whole and read once: threads that share a universe never see halves of it.
        self._head: tuple[Score, list[Level]] | None = None
        self._bands: tuple[Fraction, Bands] | None = None
        self._tail: tuple[Score, NDArray[np.intp]] | None = None

    @cached_property
    def least(self) -> Score:
        """The lowest score, whatever the `floor`."""
        return exact(self._scores.min()) if self.size else 0

    def top(self) -> Score:
        """The best score."""
        return exact(self._scores.max()) if self.size else 0

    def score(self, candidate: int) -> Score:
        """Its exact score."""
        return exact(self._scores[candidate])

    def crowds(
        self, scale: Fraction, count: int, gone: Collection[Any] = ()
    ) -> tuple[Score, Sequence[Crowd[int]]] | None:
        """All candidates but those gone, and dummies, for a race with noise of that scale; None of objects.

        Bands that are made without the first ones of a list serve the next ones, too.
        """
        if self._scores.dtype.kind == "O" or not self.size:
            return None
        rank, found = count + len(gone), self._bands
        if found is None or found[0] != scale or found[1].rank < min(rank, self.size):
            found = self._bands = scale, Bands(self._scores, scale, 2 * rank if gone else rank)
        return found[1].origin, found[1].crowds(self.padding, gone)

    def ascending(self, gone: Collection[Any] = ()) -> Numbers | None:
        """The scores of all candidates but those gone, sorted; None of objects."""
        if self._scores.dtype.kind == "O":
            return None
        return np.sort(np.delete(self._scores, list(gone))) if gone else self._sorted

    @cached_property
    def _sorted(self) -> Numbers:
        return np.sort(self._scores)

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ floor."""
        found = self._head
        if found is None or floor < found[0]:
            everything = self._scores.dtype.kind == "O" or floor <= self.least
            levels = _levels(self._scores if everything else self._scores[self._scores >= self._cut(floor)])
            found = self._head = (self.least if everything else floor), levels
        return found[1][: bisect_right(found[1], -floor, key=lambda level: -level.score)]

    def below(self, floor: Score) -> Score:
        """The best score below `floor`."""
        places = self._below(floor)
        return exact(self._scores[places].max()) if len(places) else floor

    def lower(self, floor: Score) -> Score:
        """A floor above which there are many times as many candidates."""
        rank = _DEEPER * max(_DEEPER, sum(level.count for level in self.head(floor)))
        if rank >= self.size or self._scores.dtype.kind == "O":
            return self.least
        return exact(np.partition(self._scores, self.size - rank)[self.size - rank])

    def member(self, level: Level, *, bits: BitSource) -> int:
        """A uniform position among those with the level's score."""
        value = float(level.score) if self._scores.dtype.kind == "f" else level.score
        return int(np.flatnonzero(self._scores == value)[uniform_below(level.count, bits=bits)])

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[int, Score]:
        """A uniform position among those with a score below `floor`."""
        places = self._below(floor)
        place = int(places[uniform_below(len(places), bits=bits)])
        return place, exact(self._scores[place])

    def _below(self, floor: Score) -> NDArray[np.intp]:
        """The positions of scores below `floor`, kept for the next call."""
        found = self._tail
        if found is None or found[0] != floor:
            found = self._tail = floor, np.flatnonzero(self._scores < self._cut(floor))
        return found[1]

    def _cut(self, floor: Score) -> Score | float:
        """What is above the same scores, and of their type where they are floats."""
        if self._scores.dtype.kind == "O":
            return floor
        if self._scores.dtype.kind in "iu":
            return ceil(floor)
        try:
            near = float(floor)
        except OverflowError:
            return inf if floor > 0 else -inf
        return near if near >= floor else nextafter(near, inf)

    def spread(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Masses of levels (best first), shared out equally to their members: one entry a candidate."""
        _, level_of, counts = np.unique(self._scores, return_inverse=True, return_counts=True)
        return (masses[::-1] / counts)[level_of]


def _exact_array(scores: Sequence[Number] | Numbers) -> Numbers:
    """A 1-D array of integers or float64, in the order of bytes of this machine, or of exact Python numbers."""
    array = scores if isinstance(scores, np.ndarray) else _from_sequence(scores)
    if array.ndim != 1 or array.dtype.kind not in "iufO" or isinstance(array, np.ma.MaskedArray):
        raise BadParameter("scores must be a one-dimensional array of integers, floats or Fractions, none masked.")
    if array.dtype.kind == "f" and np.can_cast(array.dtype, np.float64):
        array = array.astype(np.float64, copy=False)
        if len(array) and not (np.isfinite(array.min()) and np.isfinite(array.max())):  # NaN is the least of all
            raise BadParameter("scores must be finite numbers.")
    elif array.dtype.kind not in "iu":  # floats wider than float64 too
        return _array_of_objects([exact_score(score) for score in array])
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _from_sequence(scores: Sequence[Any]) -> Numbers:
    """An array of one type where all entries share it; exact Python numbers otherwise."""
    kinds = {type(score) for score in scores}
    if kinds <= {int} and all(-(2**63) <= score < 2**63 for score in scores):
        return np.array(scores, dtype=np.int64)
    if kinds == {float}:
        return np.array(scores, dtype=np.float64)
    return _array_of_objects(scores)


def _array_of_objects(values: Sequence[Number]) -> Numbers:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _levels(scores: Numbers) -> list[Level]:
    if scores.dtype.kind == "O":
        return [Level(score, count) for score, count in sorted(Counter(scores).items(), reverse=True)]
    values, counts = _distinct(scores)
    return [
        Level(exact(value), count) for value, count in zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True)
    ]


def _distinct(scores: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The distinct scores in increasing order, and how often each occurs."""
    if scores.dtype.kind in "iu" and len(scores):
        low, high = int(scores.min()), int(scores.max())
        if high - low < _COUNTABLE_SPREAD * len(scores) and low >= -(2**63) and high < 2**63:
            counts = np.bincount(scores.astype(np.int64, copy=False) - low)
            present = np.flatnonzero(counts)
            return present + low, counts[present]
    return np.unique(scores, return_counts=True)
