"""Draws of k candidates at once, P(s) ∝ exp(−rate · g(s)), where g(s) ≥ 0 is by how much s falls short of the best.

The shortfall that is allowed is drawn in blocks of values, by an upper bound on how many outcomes fall short by no
more. A uniform outcome of the block is kept if it falls short by no more than was drawn. So the output distribution is
exact. What an outcome is, a sequence or a set, and how many there are, says `Outcomes`: each mechanism has its own.
Proofs: docs/proofs/selection/joint.md, docs/proofs/selection/lipschitz.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from dpmine.exact.reals import GUARD_BITS, Ball, Formula, Uniform, exact_ball, floor, working_precision
from dpmine.selection.universes.protocol import C
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Level, Universe

    Floats: TypeAlias = NDArray[np.float64]

_GRID = 256  # of values at which outcomes are counted to decide whether to look deeper
_COUNTED_PER_TRIAL = 256  # candidates of the head that are counted in about the time of an outcome that is tried
_FEWEST, _MOST = 1 / 64, 8192.0  # outcomes that may be tried in vain for each one that is chosen
_MOST_FLOAT = 10**300  # numbers of candidates that floats hold


class Outcomes(ABC):
    """All outcomes of one kind, each of `places` different candidates.

    Every chosen candidate has a *leader*: one of the `leaders` best ranks. An outcome falls short by at most v if no
    choice has a score more than v below that of its leader. So the outcomes are known by `bounds`: for each leader, how
    many of the best candidates have such a score. Bounds do not fall from leader to leader, and each covers its leader.
    """

    def __init__(self, places: int) -> None:
        """Requires: there are as many candidates."""
        self.places = places

    @property
    @abstractmethod
    def leaders(self) -> int:
        """How many of the best scores matter. Where there are fewer candidates, the others count as the least score."""

    @abstractmethod
    def count(self, bounds: Sequence[int]) -> int:
        """How many outcomes take no rank beyond the bounds."""

    @abstractmethod
    def log_count(self, bounds: Floats, beyond: Floats | float = 0.0) -> Floats:
        """The logarithm of `count`, for each row of bounds. `beyond`: what is missing in the bounds' own logarithms."""

    def log_of_all(self, candidates: int) -> float:
        """The logarithm of how many outcomes there are of K candidates."""
        bounds = np.full((1, self.leaders), float(min(candidates, _MOST_FLOAT)))
        return float(self.log_count(bounds, log(candidates) - log(min(candidates, _MOST_FLOAT)))[0])

    @abstractmethod
    def draw(self, bounds: Sequence[int], *, bits: BitSource) -> list[tuple[int, int]]:
        """A uniform one of those that `count` counts: the rank of each place, from 0, and its leader."""

    @abstractmethod
    def right(self, bounds: Floats) -> Floats:
        """How many ranks below `places` are expected in what `draw` draws, for each row of bounds."""


@dataclass(frozen=True, slots=True)
class _Block:
    """All whole values from `start` up to below `end` (None: all), by which outcomes may fall short."""

    start: int
    end: int | None
    bounds: list[int]
    """How many of the best candidates each leader allows: all outcomes that fall short by a value of the block fit."""
    outcomes: int
    """How many fit."""

    def weight(self, rate: Fraction) -> Ball:
        """In proportion to the probability that the block is proposed, at the working precision."""
        weight = exact_ball(self.outcomes) * exact_ball(-rate * self.start).exp()
        return weight if self.end is None else -weight * exact_ball(rate * (self.start - self.end)).expm1()

    def draw(self, rate: Fraction, *, bits: BitSource) -> int:
        """A value of the block, with P(v) ∝ exp(−rate v): an exponential real below the end, rounded down."""

        def beyond_start(uniform: Ball) -> Ball:
            outside = exact_ball(0) if self.end is None else exact_ball(rate * (self.start - self.end)).exp()
            return -(outside + uniform * (1 - outside)).log() / exact_ball(rate)

        return self.start + floor(Formula(beyond_start, Uniform(bits=bits)), bits=bits)


class _Head:
    """The best candidates of a universe, all that have a score ≥ `floor`, and how many outcomes they make."""

    def __init__(self, levels: Sequence[Level], lowest: int, universe: Universe[Any], outcomes: Outcomes) -> None:
        """`lowest` is the floor. Requires: all leaders are in the levels, as far as there are as many candidates."""
        self.levels = levels
        self.floor = lowest
        self.size = universe.size or 0
        self.ends = list(accumulate(level.count for level in levels))
        self._outcomes = outcomes
        self._least = int(universe.least)
        self._scores = np.array([int(level.score) for level in levels], np.int64)
        bounds = [*self.ends, self.size]
        self._floats = np.array([float(min(bound, _MOST_FLOAT)) for bound in bounds])
        self._logs_beyond = np.array([log(bound) - log(min(bound, _MOST_FLOAT)) for bound in bounds])
        ranks = (bisect_right(self.ends, rank) for rank in range(outcomes.leaders))
        self.best = np.append(self._scores, self._least)[[min(rank, len(levels)) for rank in ranks]]
        self.farthest = int(self.best[0]) - self._least
        """By how much outcomes fall short at most."""

    def deep_floor(self, rate: float) -> int:
        """The highest floor that is deep enough, if those above it were as many as are counted by now.

        Below it are the candidates that places may take in proposals only. Of these, as many outcomes may be tried in
        vain as take the time of counting so far.
        """
        log_tried = log(min(max(_FEWEST, self.ends[-1] / _COUNTED_PER_TRIAL), _MOST))

        def is_deep(lowest: int) -> bool:
            starts = np.append(self.best - lowest + 1, np.linspace(0, self.farthest, _GRID).astype(np.int64))
            values = np.unique(starts.clip(0, self.farthest))
            proposed, certain = self.log_outcomes(values, lowest), self.log_outcomes(values, self._least + 1)
            in_vain = np.where(proposed > certain, proposed - rate * values, -np.inf)
            return bool(in_vain.max() <= (certain - rate * values).max() + log_tried)

        return self._least + bisect_left(range(self._least + 1, self.floor + 1), True, key=lambda low: not is_deep(low))

    def log_outcomes(self, values: NDArray[np.int64], lowest: int) -> Floats:
        """The logarithm of how many outcomes fall short by at most each value, nearly.

        All candidates below `lowest` are taken in. Those between it and the floor are left out.
        """
        depths = self._depths(values, lowest)
        return self._outcomes.log_count(self._floats[depths], self._logs_beyond[depths])

    def blocks(self, rate: float) -> list[_Block]:
        """Blocks whose bounds are about twice the truth together, or less, as far as candidates are counted."""
        cuts = [*self._cuts(rate).tolist(), self.farthest] if self.farthest else []
        depths = self._depths(np.array(cuts[1:], np.int64) - 1, self.floor).tolist()
        bounds = [*self.ends, self.size]
        rows = [[bounds[depth] for depth in row] for row in depths]
        found = [
            _Block(start, end, row, self._outcomes.count(row))
            for (start, end), row in zip(pairwise(cuts), rows, strict=True)
        ]
        all_of_them = [self.size] * len(self.best)
        return [*found, _Block(self.farthest, None, all_of_them, self._outcomes.count(all_of_them))]

    def _depths(self, values: NDArray[np.int64], lowest: int) -> NDArray[np.intp]:
        """For each value and leader, the last level that is allowed; one more for all below `lowest`, too."""
        needed = self.best - values[:, None]
        return np.where(needed < lowest, len(self.ends), np.searchsorted(-self._scores, -needed, side="right") - 1)

    def _cuts(self, rate: float) -> NDArray[np.int64]:
        """Where blocks start: those that waste most are halved until half of what they propose would be accepted."""
        starts = np.array([2**power - 1 for power in range(self.farthest.bit_length())], np.int64)
        while True:
            ends = np.append(starts[1:], self.farthest)
            decay = np.log(-np.expm1(-rate * (ends - starts))) - rate * starts
            most = self.log_outcomes(ends - 1, self.floor) + decay
            top = most.max()
            proposed = np.exp(most - top)
            wasted = proposed - np.exp(self.log_outcomes(starts, self.floor) + decay - top)
            halved = wasted >= wasted.mean()
            if wasted.sum() <= proposed.sum() / 2 or not halved.any():  # none where the rate is below all floats
                return starts
            starts = np.sort(np.append(starts, (starts[halved] + ends[halved]) // 2))


def _counted(universe: Universe[Any], outcomes: Outcomes, rate: float) -> _Head:
    """As deep as is worth counting."""
    ranking, least = Ranking(universe), int(universe.least)
    lowest = int(ranking.score(min(outcomes.leaders, ranking.length)))
    head = _Head(universe.head(lowest), lowest, universe, outcomes)
    while lowest > least and (enough := head.deep_floor(rate)) < lowest:
        lowest = max(least, int(universe.lower(lowest)), enough)
        head = _Head(universe.head(lowest), lowest, universe, outcomes)
    return head


class Draws(Generic[C]):
    """Draws out of all outcomes that a universe has; what is counted is kept for the next one."""

    def __init__(self, universe: Universe[C], outcomes: Outcomes, rate: Fraction) -> None:
        """Requires: the universe has no dummies, and at least as many candidates as there are places, one or more."""
        self._universe = universe
        self._outcomes = outcomes
        self._rate = rate
        self._head = _counted(universe, outcomes, float(rate))
        self._blocks = self._head.blocks(float(rate))
        self._sums_at: dict[int, list[Ball]] = {}

    def draw(self, bits: BitSource) -> tuple[C, ...]:
        """An outcome s with P(s) ∝ exp(−rate g(s)), place by place."""
        while True:
            block = self._blocks[_drawn(self._sums, bits=bits)]
            value = block.draw(self._rate, bits=bits)
            chosen = self._outcomes.draw(block.bounds, bits=bits)
            levels = [bisect_right(self._head.ends, rank) for rank, _ in chosen]
            needed = [int(self._head.best[leader]) - value for _, leader in chosen]
            tail = self._tail_within(levels, needed, bits)
            if tail is not None:
                return self._named(levels, tail, bits)

    def _sums(self, precision: int) -> list[Ball]:
        """Of the blocks' weights up to each one, kept: they are the same for all outcomes that are tried."""
        if precision not in self._sums_at:
            with working_precision(precision):
                self._sums_at[precision] = list(accumulate(block.weight(self._rate) for block in self._blocks))
        return self._sums_at[precision]

    def _tail_within(self, levels: Sequence[int], needed: Sequence[int], bits: BitSource) -> dict[int, C] | None:
        """For the places that lie below the head: different candidates; None where a score is less than is needed."""
        head, met = self._head, dict[C, int]()
        for place, (level, least) in enumerate(zip(levels, needed, strict=True)):
            if level < len(head.levels):
                score = int(head.levels[level].score)
            else:
                candidate, score = self._untaken(met, bits)
                met[candidate] = place
            if score < least:
                return None
        return {place: candidate for candidate, place in met.items()}

    def _untaken(self, met: Container[C], bits: BitSource) -> tuple[C, int]:
        """A uniform candidate of the tail that was not met, and its score."""
        while True:
            candidate, score = self._universe.tail(self._head.floor, bits=bits)
            if candidate not in met:
                return candidate, int(score)

    def _named(self, levels: Sequence[int], tail: dict[int, C], bits: BitSource) -> tuple[C, ...]:
        """Different members of the levels, and those of the tail."""
        chosen: dict[C, None] = {}
        for place, level in enumerate(levels):
            candidate = tail.get(place)
            while candidate is None or candidate in chosen:
                candidate = self._universe.member(self._head.levels[level], bits=bits)
            chosen[candidate] = None
        return tuple(chosen)


def _drawn(sums_at: Callable[[int], Sequence[Ball]], *, bits: BitSource) -> int:
    """An index with probability in proportion to its weight: `sums_at` a precision, each with those before it."""
    uniform, widths = Uniform(bits=bits), bits.widths()
    while True:
        width = next(widths)
        sums = sums_at(width + GUARD_BITS)
        with working_precision(width + GUARD_BITS):
            point = uniform.ball(width) * sums[-1]
            index = next((index for index, total in enumerate(sums) if point < total), None)
            if index == 0 or (index is not None and sums[index - 1] < point):
                return index
