"""Report-noisy-max over any universe: every candidate's score plus independent noise, the largest wins.

Levels: the largest noise among the M members of a level is one draw at t = E/M (see `dpmine.exact.noise`), and the
member that carries it is uniform. Tail: its noises are made in descending order (at t = V_1 < V_2 < … , where
V_k = Σ_{j ≤ k} E_j/(M − j + 1)), each given to a uniform candidate of the tail not met before, until the next noise
on the best score the tail can have would not win. Proof that the law is that of the enumerated universe:
docs/proofs/noisy_max.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dpmine.exact.balls import Ball, exact_ball
from dpmine.exact.decisions import argmax, less_than
from dpmine.exact.noise import Noise, largest_of
from dpmine.exact.reals import Formula, Real, StandardExponential
from dpmine.selection.universe import Level, Score, Universe

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from dpmine.exact.bits import BitSource

C = TypeVar("C", bound="Hashable")

_FEW_CANDIDATES = 16  # a universe this small is not worth a tail
_LN_2 = Fraction(7, 10)  # rounded up


class _Nothing(Enum):
    """The winner was a public dummy, or the rival."""

    NOTHING = 0


_NOTHING = _Nothing.NOTHING


def noisy_max(
    universe: Universe[C], noise: Noise, *, bits: BitSource, floor: Score | None = None, rival: Rival | None = None
) -> C | None:
    """The candidate with the largest score + noise, or None when a dummy or the rival wins.

    Requires: at least one candidate or dummy; `universe.size` is known.
    Law: argmax_i c_i + X_i, X_i independent draws of `noise`, ties of scores included. `floor` (by default one that
    keeps the work small) divides head from tail and changes running time only.
    """
    contest = _Contest(universe, noise, bits)
    floor = _worthwhile_floor(universe, noise) if floor is None else floor
    contest.enter_head(floor)
    contest.enter_tail(floor)
    if rival is not None:
        contest.meet(rival)
    winner = contest.winner
    if isinstance(winner, Level):
        return universe.member(winner, bits=bits)
    return None if isinstance(winner, _Nothing) else winner


class Rival(Protocol):
    """A noisy score of its own that stands for nothing; at first perhaps only bounds on it are known."""

    def bounds(self) -> tuple[Real, Real]:
        """Two reals that enclose the noisy score: the same real twice once it is known."""
        ...

    def sharpen(self) -> None:
        """Find out more. Called only while the bounds differ."""
        ...


@dataclass(frozen=True, slots=True)
class KnownRival:
    """A rival whose noisy score is known."""

    noisy_score: Real

    def bounds(self) -> tuple[Real, Real]:
        """The noisy score, twice."""
        return self.noisy_score, self.noisy_score

    def sharpen(self) -> None:
        """Nothing is left to find out."""


class _Contest(Generic[C]):
    """The best noisy score met so far, and who has it."""

    def __init__(self, universe: Universe[C], noise: Noise, bits: BitSource) -> None:
        self._universe = universe
        self._noise = noise
        self._bits = bits
        self._best: Real | None = None
        self.winner: Level | _Nothing | C

    def enter_head(self, floor: Score) -> None:
        """All levels from `floor` upwards, and the dummies, at once."""
        head = self._universe.head(floor)
        self._head_size = sum(level.count for level in head)
        entrants: list[Level | _Nothing] = [*head]
        noisy = [self._largest(level.score, level.count) for level in head]
        if self._universe.padding:
            entrants.append(_NOTHING)
            noisy.append(self._largest(0, self._universe.padding))
        if entrants:
            best = argmax(noisy, bits=self._bits)
            self.winner, self._best = entrants[best], noisy[best]

    def enter_tail(self, floor: Score) -> None:
        """The candidates below `floor`, largest noise first, as long as one of them can still win."""
        size = (self._universe.size or 0) - self._head_size
        ceiling = self._universe.below(floor)
        met: set[C] = set()
        for arrival in _Arrivals(size, self._bits):
            noise = Formula(self._noise.quantile, arrival)
            if self._best is not None and less_than(_shifted(ceiling, noise), self._best, bits=self._bits):
                return
            self._challenge(*self._newcomer(floor, met), noise)

    def meet(self, rival: Rival) -> None:
        """The rival wins or loses by its bounds, made as sharp as need be."""
        while True:
            low, high = rival.bounds()
            if self._best is None or less_than(self._best, low, bits=self._bits):
                self.winner = _NOTHING
                return
            if less_than(high, self._best, bits=self._bits):
                return
            rival.sharpen()

    def _largest(self, score: Score, count: int) -> Real:
        """The largest noisy score among `count` candidates of equal score."""
        return _shifted(score, largest_of(self._noise, count, bits=self._bits))

    def _newcomer(self, floor: Score, met: set[C]) -> tuple[C, Score]:
        """A uniform candidate of the tail that has not been met."""
        while True:
            candidate, score = self._universe.tail(floor, bits=self._bits)
            if candidate not in met:
                met.add(candidate)
                return candidate, score

    def _challenge(self, candidate: C, score: Score, noise: Real) -> None:
        noisy = _shifted(score, noise)
        if self._best is None or less_than(self._best, noisy, bits=self._bits):
            self.winner, self._best = candidate, noisy


class _Arrivals:
    """The points V_1 < V_2 < … at which the noises of `size` candidates are met, largest noise first.

    The sums are kept in a list for each width, because a chain of nested reals could outgrow the interpreter's stack.
    """

    def __init__(self, size: int, bits: BitSource) -> None:
        self._size = size
        self._bits = bits
        self._steps: list[Real] = []
        self._sums: dict[int, list[Ball]] = {}

    def __iter__(self) -> Iterator[Real]:
        for k in range(self._size):
            self._steps.append(StandardExponential(bits=self._bits))
            yield _Arrival(self, k)

    def ball(self, k: int, width: int) -> Ball:
        """V_{k+1}."""
        sums = self._sums.setdefault(width, [])
        while len(sums) <= k:
            step = self._steps[len(sums)].ball(width) / (self._size - len(sums))
            sums.append(sums[-1] + step if sums else step)
        return sums[k]


class _Arrival(Real):
    __slots__ = ("_arrivals", "_k")

    def __init__(self, arrivals: _Arrivals, k: int) -> None:
        super().__init__()
        self._arrivals = arrivals
        self._k = k

    def _enclosure(self, width: int) -> Ball:
        return self._arrivals.ball(self._k, width)


def _shifted(score: Score, noise: Real) -> Real:
    return Formula(lambda ball: exact_ball(score) + ball, noise) if score else noise


def _worthwhile_floor(universe: Universe[C], noise: Noise) -> Score:
    """A floor below which few candidates will have to be drawn one by one.

    With M candidates at the top, the best noisy score is about top + b ln M, and the tail yields about
    (K/M) e^{−(top − floor)/b} draws that could win, but never more than about e^{(floor − least)/b}. One of the two is
    kept below about e².
    """
    size = universe.size or 0
    if size <= _FEW_CANDIDATES:
        return universe.least
    top = universe.top()
    best = sum(level.count for level in universe.head(top))
    few = ceil(2 * noise.scale)
    reach = ceil(noise.scale * _LN_2 * (size.bit_length() - best.bit_length() + 1)) - few
    floor = max(top - max(0, reach), universe.least + few)
    return max(universe.least, floor)
