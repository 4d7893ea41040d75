"""A universe of blocks: runs of hypotheses that classify every record alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from dpmine.selection.universes.levels import Levels

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.base import Level, Score

C = TypeVar("C", bound="Hashable")

_HALF_BITS = np.uint64(32)
_HALF = np.uint64(2**32 - 1)
_BOTH_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class Blocks(ABC, Generic[C]):
    """Blocks of candidates with one score each; what a candidate is, a subclass knows.

    Between two neighbouring values in the data, all points of a grid are as good as each other: there are at most as
    many blocks as records, and as many candidates as one likes.
    """

    padding = 0

    def __init__(self, scores: NDArray[np.int64], spans: NDArray[np.uint64]) -> None:
        """`scores`: int64, shape (b,), b ≥ 1; `spans`: uint64, shape (b,), one less than each block has candidates."""
        self._order = np.argsort(-scores, kind="stable")
        ranked = scores[self._order]
        lasts = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self._ends = Ends(spans[self._order])
        self._firsts = [0, *self._ends.at(lasts)]
        counts = (end - first for first, end in pairwise(self._firsts))
        self._levels = Levels(zip(ranked[lasts].tolist(), counts, strict=True))
        self.size = self._levels.size
        self.least = self._levels.least
        self.top = self._levels.top
        self.head = self._levels.head
        self.below = self._levels.below
        self.lower = self._levels.lower

    @abstractmethod
    def candidate(self, block: int, offset: int) -> C:
        """Candidate number `offset` of a block, both counted from 0."""

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform candidate of the level."""
        return self._located(*self._levels.member(level, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate with a score below `floor`."""
        place, score = self._levels.tail(floor, bits=bits)
        return self._located(*place), score

    def _located(self, level: int, number: int) -> C:
        """Candidate `number` of a level."""
        position, offset = self._ends.located(self._firsts[level] + number)
        return self.candidate(int(self._order[position]), offset)


class Ends:
    """Where blocks laid end to end end: sums of sizes up to 2^64 each, as two 64-bit numbers."""

    def __init__(self, spans: NDArray[np.uint64]) -> None:
        """`spans`: uint64, shape (b,), b < 2^31: the sizes less one."""
        lower = np.cumsum((spans & _HALF) + np.uint64(1))  # of numbers up to 2^32
        self._upper = np.cumsum(spans >> _HALF_BITS) + (lower >> _HALF_BITS)
        self._lower = lower & _HALF

    def at(self, positions: NDArray[np.intp]) -> list[int]:
        """The ends of these blocks."""
        pairs = zip(self._upper[positions].tolist(), self._lower[positions].tolist(), strict=True)
        return [(upper << 32) + lower for upper, lower in pairs]

    def located(self, rank: int) -> tuple[int, int]:
        """The block that has place `rank`, and which of its places that is, from 0."""
        upper, lower = np.uint64(rank >> 32), np.uint64(rank & 0xFFFFFFFF)
        first, after = (int(np.searchsorted(self._upper, upper, side=side)) for side in _BOTH_SIDES)
        position = first + int(np.searchsorted(self._lower[first:after], lower, side="right"))
        return position, rank - (self.at(np.array([position - 1]))[0] if position else 0)
