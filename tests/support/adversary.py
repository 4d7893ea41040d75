"""Adversaries: universes that tell as little as they may, bits that are counted or played back."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from enum import Enum, auto
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import uniform_below
from dpmine.selection.universes.protocol import Level, Score

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from dpmine.exact.bits import BitSource

C = TypeVar("C", bound="Hashable")


class Descent(Enum):
    """How far a lazy universe looks when it is asked for more."""

    CRAWL = auto()
    """One below the floor: as little as possible."""
    HALVE = auto()
    """Half way down."""
    PLUNGE = auto()
    """Everything at once."""


class LazyUniverse(Generic[C]):
    """A universe that shows nothing below the floors it was asked for, and bounds its tail as loosely as it may.

    `truth` are the candidates' scores. With `padding` the size is unknown, and candidates of score 0 are left out.
    """

    def __init__(self, truth: Mapping[C, Score], *, least: Score, descent: Descent, padding: int = 0) -> None:
        self._truth = dict(truth)
        self._descent = descent
        self.least = least
        self.padding = padding
        self.size = None if padding else len(self._truth)
        self.floors: list[Score] = []

    def top(self) -> Score:
        return max(self._truth.values(), default=self.least)

    def head(self, floor: Score) -> Sequence[Level]:
        self.floors.append(floor)
        counts = Counter(score for score in self._truth.values() if score >= floor and (score or not self.padding))
        return [Level(score, count) for score, count in sorted(counts.items(), reverse=True)]

    def below(self, floor: Score) -> Score:
        return floor

    def lower(self, floor: Score) -> Score:
        step = {Descent.CRAWL: floor - 1, Descent.HALVE: Fraction(floor + self.least, 2), Descent.PLUNGE: self.least}
        lower = step[self._descent]
        return self.least if lower - self.least < Fraction(1, 2) else lower

    def member(self, level: Level, *, bits: BitSource) -> C:
        members = [candidate for candidate, score in self._truth.items() if score == level.score]
        assert len(members) == level.count
        return members[uniform_below(len(members), bits=bits)]

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        members = [candidate for candidate, score in self._truth.items() if score < floor]
        candidate = members[uniform_below(len(members), bits=bits)]
        return candidate, self._truth[candidate]


class CountingBits:
    """The system's bits, counted; `by_bit` reveals uniforms bit by bit, as tapes do."""

    def __init__(self, *, by_bit: bool = False) -> None:
        self._inner = SystemBits()
        self._by_bit = by_bit
        self.taken = 0

    def take(self, count: int) -> int:
        self.taken += count
        return self._inner.take(count)

    def widths(self) -> Iterator[int]:
        width = 0
        while self._by_bit:
            width += 1
            yield width
        yield from self._inner.widths()


class PlayedBits:
    """Given bits first, zeros and ones in turn after them: the same numbers in every run, for ever."""

    def __init__(self, first: int = 0, length: int = 0) -> None:
        self._first = first
        self._left = length
        self._turn = 0

    def take(self, count: int) -> int:
        value = 0
        for _ in range(count):
            value = 2 * value + self._bit()
        return value

    def widths(self) -> Iterator[int]:
        return SystemBits().widths()

    def _bit(self) -> int:
        if self._left:
            self._left -= 1
            return self._first >> self._left & 1
        self._turn ^= 1
        return self._turn


def quiet_fork() -> int:
    """`os.fork` without the warning that newer Pythons give beside threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
