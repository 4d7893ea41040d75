"""What can be selected from: candidates grouped in levels of equal score.

Ties are broken by a fresh uniform permutation, so a mechanism only ever needs to know how many candidates have each
score, and how to draw a uniform one of them. That is why universes of 10^30 candidates cost no more than small ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource

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
    when it is asked for, and lower floors cost more; which floors are asked for changes running time, never a law.

    What must be public, that is the same for all neighbouring data: `padding`; without padding, `size` and the list of
    candidates; and always the meaning of a candidate. `dpmine.select` releases what `member` and `tail` give, so these
    must be names that stand for the same thing whatever the data: never a rank, a position in order of appearance or
    the number of a level. Only the scores may depend on data, each moving by the sensitivity at most.

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
        """All levels with score ≥ floor, best first; complete."""
        ...

    def below(self, floor: Score) -> Score:
        """A score that no candidate of the tail exceeds; not above `floor`."""
        ...

    def lower(self, floor: Score) -> Score:
        """A sensible next floor below `floor` > least; `least` in the end."""
        ...

    def member(self, level: Level, *, bits: BitSource) -> C_co:
        """A uniform member of a level of the head."""
        ...

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C_co, Score]:
        """A uniform candidate among those with score < floor, and its score. Requires: there is one."""
        ...
