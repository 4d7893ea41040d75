"""What can be selected from: candidates grouped in levels of equal score.

Ties are broken by a fresh uniform permutation. So a mechanism only needs the number of candidates with each score, and
a way to draw a uniform one of them. That is why universes of 10^30 candidates take no more time than small ones.
Views are universes made of another one: without candidates already chosen, or with scaled scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import Ball


Score: TypeAlias = int | Fraction
"""Exact scores. Counts are integers."""

MANY_DUMMIES = 2**128
"""Dummies for an unknown universe: more than any number of real candidates that could be listed."""

C = TypeVar("C", bound="Hashable")
C_co = TypeVar("C_co", bound="Hashable", covariant=True)


@dataclass(frozen=True, slots=True)
class Level:
    """All `count` ≥ 1 candidates that have this score."""

    score: Score
    count: int


@runtime_checkable
class Universe(Protocol[C_co]):
    """Scored candidates, known from the best downwards.

    The *head* above a floor is everything with score ≥ floor, the *tail* is the rest. A lazy universe finds its head
    when it is asked for, and lower floors take longer. The floors that are asked for change the running time, never an
    output distribution.

    Some things must be public, that is the same for all neighbouring data: `padding`; without padding, `size` and the
    list of candidates; and always the meaning of a candidate. `dpmine.select` releases what `member` and `tail` give.
    These must be names that stand for the same thing whatever the data. They must never be a rank, a position in order
    of appearance or the number of a level. Only the scores may depend on data, each moving by the sensitivity at most.

    Example:
        >>> from dpmine import Levels
        >>> isinstance(Levels([(3, 1), (0, 5)]), Universe)
        True

    See Also:
        dpmine.Levels: a universe given by groups of candidates.
    """

    @property
    def size(self) -> int | None:
        """K, the number of candidates, dummies not counted; None when it is not known (then `padding` must be > 0)."""
        ...

    @property
    def padding(self) -> int:
        """Number of public dummies of score 0, first among zeros; 0 when all candidates are public.

        With dummies, scores are ≥ 0, and candidates of score 0 may be left out of the levels.
        """
        ...

    @property
    def least(self) -> Score:
        """A public floor: `head(least)` is everything."""
        ...

    def top(self) -> Score:
        """c(1), the best score; `least` when there is no candidate."""
        ...

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels of the head, best first; complete.

        Args:
            floor: the least score that belongs to the head.
        """
        ...

    def below(self, floor: Score) -> Score:
        """A score that no candidate of the tail exceeds.

        Args:
            floor: where the tail begins: it has the scores below. What is returned is not above it.
        """
        ...

    def lower(self, floor: Score) -> Score:
        """A sensible next floor; `least` in the end.

        Args:
            floor: the last one, above `least`. What is returned is below it.
        """
        ...

    def member(self, level: Level, *, bits: BitSource) -> C_co:
        """A uniform member of a level of the head.

        Args:
            level: one that `head` returned.
            bits: the source of all randomness of the draw.
        """
        ...

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C_co, Score]:
        """A uniform candidate of the tail, and its score. Requires: there is one.

        Args:
            floor: where the tail begins: it has the scores below.
            bits: the source of all randomness of the draw.
        """
        ...


class Crowd(Protocol[C_co]):
    """Candidates of which none has a score above a bound.

    Scores count from an origin that all crowds of a race share.
    """

    @property
    def size(self) -> int:
        """How many there are, at least 1."""
        ...

    @property
    def is_level(self) -> bool:
        """Whether each has the bound for its score."""
        ...

    def bound(self) -> Ball:
        """The bound, at the working precision."""
        ...

    def draw(self, *, bits: BitSource) -> tuple[C_co | None, Any]:
        """A uniform candidate, None for a dummy, and what `score` takes. Those met before may come again."""
        ...

    def score(self, drawn: Any) -> Ball:
        """The score of a candidate that was drawn, at the working precision."""
        ...


class Array(ABC):
    """Numbered candidates whose scores are in memory: any of them can be looked up, and all put into crowds."""

    @abstractmethod
    def crowds(self, scale: Fraction, count: int, gone: Collection[Any]) -> tuple[Score, Sequence[Crowd[int]]] | None:
        """All but those that are gone, for a race with noise of that scale for `count` places, behind their origin.

        None where it cannot.
        """

    @abstractmethod
    def ascending(self, gone: Collection[Any]) -> NDArray[Any] | None:
        """The scores of all but those that are gone, sorted; None where they are not numbers of one type."""

    @abstractmethod
    def score(self, candidate: int) -> Score:
        """Its exact score."""


class Remaining(Generic[C]):
    """What is left of `universe`. Nothing is counted again: the score of a candidate is noted when it is handed out."""

    def __init__(self, universe: Universe[C]) -> None:
        self.inner = universe
        self._scores: dict[C, Score] = {}
        self.taken: dict[C, Score] = {}
        self._gone: Counter[Score] = Counter()
        self.padding = universe.padding

    def take(self, candidate: C) -> None:
        """Take out a candidate that `member` or `tail` handed out, or any one of an array."""
        if candidate not in self._scores:
            self._scores[candidate] = _looked_up(self.inner, candidate)
        self.taken[candidate] = self._scores[candidate]
        self._gone[self._scores[candidate]] += 1

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to choose, not even a dummy."""
        return self.size == 0 and not self.padding

    @property
    def size(self) -> int | None:
        """How many are left."""
        return None if self.inner.size is None else self.inner.size - len(self.taken)

    @property
    def least(self) -> Score:
        """The universe's."""
        return self.inner.least

    def top(self) -> Score:
        """The best score that is left."""
        floor = self.inner.top()
        while not (levels := self.head(floor)) and floor > self.least:
            floor = self.inner.lower(floor)
        return levels[0].score if levels else self.least

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ floor, without those taken."""
        levels = (Level(level.score, level.count - self._gone[level.score]) for level in self.inner.head(floor))
        return [level for level in levels if level.count]

    def below(self, floor: Score) -> Score:
        """What no candidate of the tail exceeds: the universe's bound."""
        return self.inner.below(floor)

    def lower(self, floor: Score) -> Score:
        """The universe's next floor."""
        return self.inner.lower(floor)

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform member of the level that is left."""
        whole = Level(level.score, level.count + self._gone[level.score])
        while True:
            candidate = self.inner.member(whole, bits=bits)
            if candidate not in self.taken:
                self._scores[candidate] = level.score
                return candidate

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate that is left, among those with score < floor."""
        while True:
            candidate, score = self.inner.tail(floor, bits=bits)
            if candidate not in self.taken:
                self._scores[candidate] = score
                return candidate, score


class Scaled(Generic[C]):
    """`universe` with every score divided by `sensitivity` > 0, exactly."""

    def __init__(self, universe: Universe[C], sensitivity: Fraction) -> None:
        self.inner = universe
        self.sensitivity = sensitivity
        self.size = universe.size
        self.padding = universe.padding

    @property
    def least(self) -> Score:
        """The lowest score in units of the sensitivity."""
        return self._down(self.inner.least)

    def top(self) -> Score:
        """The best score in units of the sensitivity."""
        return self._down(self.inner.top())

    def head(self, floor: Score) -> Sequence[Level]:
        """The levels above `floor`."""
        return [Level(self._down(level.score), level.count) for level in self.inner.head(self._up(floor))]

    def below(self, floor: Score) -> Score:
        """What no candidate of the tail exceeds."""
        return self._down(self.inner.below(self._up(floor)))

    def lower(self, floor: Score) -> Score:
        """The next floor."""
        return self._down(self.inner.lower(self._up(floor)))

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform member of the level."""
        return self.inner.member(Level(self._up(level.score), level.count), bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate below `floor`."""
        candidate, score = self.inner.tail(self._up(floor), bits=bits)
        return candidate, self._down(score)

    def _down(self, score: Score) -> Score:
        return plain(Fraction(score) / self.sensitivity)

    def _up(self, score: Score) -> Score:
        return plain(score * self.sensitivity)


def _looked_up(universe: object, candidate: Any) -> Score:
    """The score of an array's candidate. Raises KeyError for other universes."""
    if isinstance(universe, Scaled):
        return plain(_looked_up(universe.inner, candidate) / universe.sensitivity)
    if isinstance(universe, Remaining):
        return _looked_up(universe.inner, candidate)
    if isinstance(universe, Array):
        return universe.score(candidate)
    raise KeyError


def plain(score: Fraction) -> Score:
    """Integers as int, so that levels of integers compare and print as integers."""
    return int(score) if score.denominator == 1 else score
