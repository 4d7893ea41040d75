"""A universe by rank: c(1) ≥ c(2) ≥ …, dummies first among zeros, looked into only as deep as asked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.selection.universes.crowds import exact
from dpmine.selection.universes.dense import Dense
from dpmine.selection.universes.protocol import Array, C, Level, Remaining, Scaled, Score, Universe, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.crowds import Numbers

_FEW_CANDIDATES = 16  # a universe this small is not worth a tail
_LN_2 = Fraction(7, 10)  # rounded up
_FEWEST_DRAWS, _MOST_DRAWS = 8, 8192  # of candidates of the tail, expected at a floor
_COUNTED_PER_DRAW = 2048  # candidates of the head that are counted in about the time of one draw


class Padded(Generic[C]):
    """`universe` with at least `dummies` dummies; scores must be at least 0."""

    def __init__(self, universe: Universe[C], dummies: int) -> None:
        """Raises BadParameter for scores below 0."""
        self.inner = universe
        self.least = universe.least
        if self.least < 0:
            raise BadParameter("This mechanism adds dummies of score 0, so scores must be at least 0.")
        self.size = universe.size
        self.padding = max(universe.padding, dummies)
        self.top = universe.top
        self.head = universe.head
        self.below = universe.below
        self.lower = universe.lower
        self.member = universe.member
        self.tail = universe.tail


class Ranking(Generic[C]):
    """Scores of the ranks 1 … `length` of a universe.

    With dummies only the ranks up to their number count. They hold the candidates with a score above 0 and dummies,
    whatever the number of candidates of score 0, known or unknown.
    """

    def __init__(self, universe: Universe[C]) -> None:
        self._universe = universe
        self._padding = universe.padding
        self._least = universe.least
        self._floor = universe.top()
        self.length: int = universe.padding or universe.size or 0
        self._look(self._floor)

    @property
    def known(self) -> int:
        """The number of ranks whose scores are known by now."""
        return self.length if self._complete else self._ends[-1]

    def score(self, rank: int) -> Score:
        """c(rank), 1 ≤ rank ≤ length; looks deeper into the universe when it has to."""
        while rank > self.known:
            self.deepen()
        run = bisect_left(self._ends, rank)
        return self._levels[run].score if run < len(self._levels) else 0

    def score_at_least(self, rank: int) -> Score:
        """A lower bound on c(rank) that takes no search: the score itself where it is known."""
        return self.score(rank) if rank <= self.known else self.bottom

    def end_of_run(self, rank: int) -> int:
        """The last rank that certainly has the score of the (known) rank `rank`."""
        run = bisect_left(self._ends, rank)
        return min(self._ends[run], self.length) if run < len(self._ends) else self.length

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ `floor`, best first; dummies are a level of score 0 of their own, the last one."""
        if floor < self._floor:
            self._look(floor)
        levels = self._levels[: bisect_right(self._levels, -floor, key=lambda level: -level.score)]
        unlisted = self.length - (self._ends[-1] if self._ends else 0)
        return [*levels, Level(0, unlisted)] if self._padding and floor <= 0 and unlisted > 0 else levels

    def below(self, floor: Score) -> Score:
        """A score that no rank behind `head(floor)` exceeds: the closest that is known."""
        worse = next((level.score for level in self._levels if level.score < floor), None)
        if worse is not None:
            return worse
        if not self._complete:
            return self._universe.below(min(floor, self._floor))
        return 0 if self._padding and floor > 0 else floor

    def lower(self, floor: Score) -> Score:
        """The universe's next floor below `floor`; 0 for the dummies in the end."""
        return self._universe.lower(floor) if floor > self._least else self.bottom

    def score_bounds(self, rank: int) -> tuple[Score, Score]:
        """Bounds on c(rank) that take no search: the score itself, twice, where it is known."""
        least = self.score_at_least(rank)
        return least, least if rank <= self.known else self._universe.below(self._floor)

    def deepen(self, floor: Score | None = None) -> None:
        """Search one step deeper in a universe that is not completely known, but not below `floor`."""
        lower = self._universe.lower(self._floor)
        self._look(lower if floor is None else max(lower, floor))

    def know(self, rank: int, floor: Score) -> None:
        """Find the scores of the ranks up to `rank`, as far as they are at least `floor`."""
        while self.known < rank and self._floor > floor:
            self.deepen(floor)

    def level(self, rank: int) -> Level | None:
        """The level of the universe that holds the (known) rank; None for a dummy."""
        self.score(rank)
        run = bisect_left(self._ends, rank)
        return self._levels[run] if run < len(self._levels) else None

    def best(self, count: int) -> BestRanks[C]:
        """The ranks 1 … `count` as a universe."""
        return BestRanks(self, count)

    @property
    def bottom(self) -> Score:
        """A lower bound on all scores."""
        return 0 if self._padding else self._least

    @property
    def _complete(self) -> bool:
        return self._floor <= self._least

    def _look(self, floor: Score) -> None:
        self._floor = floor
        head = self._universe.head(floor)
        self._levels = [level for level in head if level.score > 0] if self._padding else head
        self._ends = list(accumulate(level.count for level in self._levels))


class ArrayRanking:
    """The same of an array's candidates: a rank's score is looked up among the sorted ones, and no level is made."""

    def __init__(self, ascending: Numbers, sensitivity: Fraction, padding: int) -> None:
        """`ascending`: all scores, to be divided by `sensitivity`; only those above 0 count where there are dummies."""
        first = int(np.searchsorted(ascending, 0, side="right")) if padding else 0
        self._scores = ascending[first:]
        self._sensitivity = sensitivity
        self.length: int = padding or len(ascending)
        self.known = self.length
        """Everything is."""

    def score(self, rank: int) -> Score:
        """c(rank), 1 ≤ rank ≤ length."""
        return plain(Fraction(exact(self._scores[-rank])) / self._sensitivity) if rank <= len(self._scores) else 0

    def score_at_least(self, rank: int) -> Score:
        """The score."""
        return self.score(rank)

    def score_bounds(self, rank: int) -> tuple[Score, Score]:
        """The score, twice."""
        score = self.score(rank)
        return score, score

    def deepen(self) -> None:
        """Nothing is left to find out."""

    def end_of_run(self, rank: int) -> int:
        """The last rank that has the score of the rank `rank`."""
        if rank > len(self._scores):
            return self.length
        return min(len(self._scores) - self._begin(rank), self.length)

    def level(self, rank: int) -> Level | None:
        """The level that holds the rank; None for a dummy."""
        if rank > len(self._scores):
            return None
        end = int(np.searchsorted(self._scores, self._scores[-rank], side="right"))
        return Level(self.score(rank), end - self._begin(rank))

    def best(self, count: int) -> Scaled[int]:
        """The ranks 1 … `count` as an array of its own, with dummies."""
        kept = self._scores[max(0, len(self._scores) - count) :]
        return Scaled(Dense(np.ascontiguousarray(kept[::-1]), count - len(kept)), self._sensitivity)

    def _begin(self, rank: int) -> int:
        """The first place in ascending order that has the score of the rank."""
        return int(np.searchsorted(self._scores, self._scores[-rank]))


def array_behind(universe: object) -> tuple[Array | None, Fraction, set[Any]]:
    """The array that views are made of, None for others; what its scores are divided by; candidates that are gone."""
    sensitivity, gone = Fraction(1), set[Any]()
    while isinstance(universe, Scaled | Remaining):
        if isinstance(universe, Remaining):
            gone |= universe.taken.keys()
        else:
            sensitivity *= universe.sensitivity
        universe = universe.inner
    return universe if isinstance(universe, Array) else None, sensitivity, gone


AnyRanking: TypeAlias = Ranking[C] | ArrayRanking


def ranking_of(universe: Universe[C]) -> AnyRanking[C]:
    """The ranking that takes the least time."""
    array, sensitivity, gone = array_behind(universe.inner if isinstance(universe, Padded) else universe)
    ascending = None if array is None else array.ascending(gone)
    return Ranking(universe) if ascending is None else ArrayRanking(ascending, sensitivity, universe.padding)


class BestRanks(Generic[C]):
    """Ranks 1 … `count` of a ranking, numbered from 0. Dummies among them are ordinary candidates here."""

    padding = 0

    def __init__(self, ranking: Ranking[C], count: int) -> None:
        self._ranking = ranking
        self.size = count
        self.least = ranking.bottom

    def top(self) -> Score:
        """The score of rank 1."""
        return self._ranking.score(1)

    def head(self, floor: Score) -> Sequence[Level]:
        """The levels with score ≥ `floor`, the last one cut at `count`: what comes behind is not looked at."""
        levels, left = [], self.size
        self._ranking.know(self.size, floor)
        known = max(floor, self._ranking.score(self.size)) if self._ranking.known >= self.size else floor
        for level in self._ranking.head(known):
            if left:
                levels.append(Level(level.score, min(level.count, left)))
                left -= levels[-1].count
        return levels

    def below(self, floor: Score) -> Score:
        """What no rank behind the head exceeds."""
        return self._ranking.below(floor)

    def lower(self, floor: Score) -> Score:
        """The universe's next floor."""
        return self._ranking.lower(floor)

    def member(self, level: Level, *, bits: BitSource) -> int:
        """A uniform one of the level."""
        before = sum(better.count for better in self._ranking.head(level.score) if better.score > level.score)
        return before + uniform_below(level.count, bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[int, Score]:
        """A uniform one behind the head, and its score: this may look deeper into the universe."""
        before = sum(level.count for level in self.head(floor))
        place = before + uniform_below(self.size - before, bits=bits)
        return place, self._ranking.score(place + 1)


def worthwhile_floor(universe: Universe[C], scale: Fraction, count: int) -> Score:
    """A floor that balances the candidates above it, which are counted, with those below it that will be drawn.

    `scale` is that of the noise on each score, of which the `count` largest sums are asked for.
    The universe is looked into step by step, as long as the known levels ask for a floor that lies deeper. A floor 2b
    above the lowest score suffices in any case, because the tail's own noises compete. No floor is rounded up, as
    scores need not be whole numbers. Source: docs/proofs/selection/noisy_max.md.
    """
    size = universe.size or 0
    if size <= _FEW_CANDIDATES:
        return universe.least
    ranking = Ranking(universe)
    known = last = ranking.score(min(count, ranking.length))
    lowest = universe.least + 2 * scale
    while (floor := max(lowest, min(last, _floor_by(universe, known, last, scale, count)))) < known:
        known = max(universe.lower(known), floor)
    return known


def _floor_by(universe: Universe[C], known: Score, last: Score, scale: Fraction, count: int) -> Score:
    """The floor that is expected to leave D draws, by the levels down to `known` ≤ c(k) = `last`, k = `count`.

    With M of K candidates at or above c ≤ c(k), the k-th best noisy score is about c + b ln(M/k) or more. So a floor
    b (ln(kK/M) − ln D) below c leaves about D draws. All K candidates have at least the lowest score.
    """
    size, levels = universe.size or 0, universe.head(known)
    ends = list(accumulate(level.count for level in levels))
    counted = ends[-1] if ends else 0
    draws = min(max(_FEWEST_DRAWS, counted // _COUNTED_PER_DRAW), _MOST_DRAWS)
    steps = [(level.score, end) for level, end in zip(levels, ends, strict=True) if level.score <= last]
    most_bits = (count * size).bit_length() + 2 - draws.bit_length()
    return max(
        score - scale * _LN_2 * (most_bits - end.bit_length()) for score, end in [*steps, (universe.least, size)]
    )
