"""The joint exponential mechanism: k candidates at once, as one sequence out of all sequences of k candidates.

The lead that a sequence lacks is drawn in blocks of values, by an upper bound on how many sequences lack no more. A
uniform sequence of the block is kept if it lacks no more than was drawn. So the output distribution is exact.
Source: Gillenwater, Joseph, Munoz & Ribero 2022; the bound on what is counted is in the spirit of Wu & Zhang 2024.
Proof: docs/proofs/selection/joint.md.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil, log, prod
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Constant,
    Formula,
    StandardExponential,
    Uniform,
    exact_ball,
    less_than,
    uniform_below,
    working_precision,
)
from dpmine.selection.mechanisms.mechanism import unit_reach
from dpmine.selection.universes.protocol import C
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.universes.protocol import Level, Universe

_GRID = 256  # of values at which sequences are counted to decide whether to look deeper
_COUNTED_PER_LOOKUP = 2048  # candidates of the head that are counted in about the time of one that is looked up
_FEWEST, _MOST = 1 / 64, 8.0  # sequences of the tail that may be tried for each one that is chosen
_MOST_FLOAT = 10**300  # numbers of candidates that floats hold; only running time depends on them


@dataclass(frozen=True)
class JointExponential:
    """P(s) ∝ exp(−r g(s)) over all sequences s of k different candidates, g(s) = max_i (c_(i) − c(s_i)).

    c_(1) ≥ c_(2) ≥ … are the scores in order. r = ε/(2u), u = 2, or 1 under add_remove; for k = 1 it is ε/u, and the
    mechanism is the exponential one. ε-private, and ε-bounded-range. Where there are fewer candidates than places, k is
    their number, which is public.
    Requires: scores are counts, whole numbers of sensitivity 1 that move together under add_remove.
    """

    count: int
    epsilon: Fraction
    neighbors: Neighbors

    @cached_property
    def rate(self) -> Fraction:
        """How far the logarithm of a probability falls with each unit that a sequence lacks."""
        return self.epsilon / (unit_reach(self.neighbors) * min(2, self.count))

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """A sequence. Requires: the universe has no dummies, and `size` is known."""
        places = min(self.count, universe.size or 0)
        return _Sequences(universe, places, self.rate).draw(bits) if places else ()


@dataclass(frozen=True, slots=True)
class _Block:
    """All whole values from `start` up to below `end` (None: all), which sequences may lack."""

    start: int
    end: int | None
    ranks: list[int]
    """How many of the best candidates each place may take; no sequence that lacks a value of the block takes others."""

    def weight(self, rate: Fraction) -> Ball:
        """In proportion to the probability that the block is proposed, at the working precision."""
        sequences = prod(ranks - place for place, ranks in enumerate(self.ranks))
        weight = exact_ball(sequences) * exact_ball(-rate * self.start).exp()
        return weight if self.end is None else -weight * exact_ball(rate * (self.start - self.end)).expm1()

    def accepts(self, lack: int, rate: Fraction, *, bits: BitSource) -> bool:
        """Whether a value of the block, drawn with P(v) ∝ exp(−rate v), is at least `lack`."""
        if lack <= self.start:
            return True
        if self.end is None:
            return less_than(Constant(rate * (lack - self.start)), StandardExponential(bits=bits), bits=bits)
        length, left = rate * (self.end - self.start), rate * (self.end - lack)

        def share(uniform: Ball) -> Ball:
            return uniform * exact_ball(-length).expm1() * exact_ball(length - left).exp() - exact_ball(-left).expm1()

        return less_than(Constant(0), Formula(share, Uniform(bits=bits)), bits=bits)


class _Head:
    """The best candidates of a universe, all that have a score ≥ `floor`, and how many sequences they make."""

    def __init__(self, levels: Sequence[Level], floor: int, size: int, places: int) -> None:
        """Requires: at least `places` candidates in the levels."""
        self.levels = levels
        self.floor = floor
        self.size = size
        self.ends = list(accumulate(level.count for level in levels))
        self._scores = np.array([int(level.score) for level in levels], np.int64)
        self._floats = np.array([float(min(end, _MOST_FLOAT)) for end in self.ends])
        self.best = self._scores[[bisect_right(self.ends, rank) for rank in range(places)]]
        self.log_of_all = sum(log(size - place) for place in range(places))
        last = int(self.best[0] - self._scores[-1]) if self.is_all else int(self.best[-1]) - floor + 1
        self.reach = last
        """From here on sequences are not counted: they can be all, or are."""

    @property
    def is_all(self) -> bool:
        """Whether nothing has a lower score."""
        return self.ends[-1] == self.size

    def is_deep(self, rate: float, farthest: int) -> bool:
        """Whether the sequences that lack `reach` or more weigh little enough to be left; none over `farthest`."""
        return self.is_all or self._wanted(rate, farthest) <= self.reach

    def next_floor(self, rate: float, farthest: int) -> int:
        """The floor at which they would be, if those above it were as many as are counted by now."""
        return int(self.best[-1]) + 1 - ceil(self._wanted(rate, farthest))

    def _wanted(self, rate: float, farthest: int) -> float:
        """The reach that is deep enough."""
        values = np.unique(np.linspace(0, self.reach - 1, _GRID).astype(np.int64))
        counted = float(np.max(self.log_sequences(values) - rate * values))
        tried = min(max(_FEWEST, self.ends[-1] / (_COUNTED_PER_LOOKUP * len(self.best))), _MOST)
        return (self.log_of_all - max(counted, self.log_of_all - rate * farthest) - log(tried)) / rate

    def log_sequences(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The logarithm of how many sequences lack at most each value < `reach`, nearly."""
        ranks = self._floats[self._depths(values)] - np.arange(len(self.best))
        return np.asarray(np.log(np.maximum(ranks, 1)).sum(axis=1))

    def blocks(self, rate: float) -> list[_Block]:
        """Blocks whose bounds are about twice the truth together, or less, and what lies beyond `reach`."""
        cuts = [*self._cuts(rate).tolist(), self.reach] if self.reach else []
        depths = self._depths(np.array(cuts[1:], np.int64) - 1).tolist()
        found = [
            _Block(start, end, [self.ends[depth] for depth in row])
            for (start, end), row in zip(pairwise(cuts), depths, strict=True)
        ]
        return [*found, _Block(self.reach, None, [self.size] * len(self.best))]

    def _depths(self, values: NDArray[np.int64]) -> NDArray[np.intp]:
        """For each value and each place, the last level that the place may take."""
        return np.searchsorted(-self._scores, values[:, None] - self.best, side="right") - 1

    def _cuts(self, rate: float) -> NDArray[np.int64]:
        """Where blocks start: those that waste most are halved until half of what they propose would be accepted."""
        starts = np.array([2**power - 1 for power in range(self.reach.bit_length())], np.int64)
        while True:
            ends = np.append(starts[1:], self.reach)
            decay = np.log(-np.expm1(-rate * (ends - starts))) - rate * starts
            most = self.log_sequences(ends - 1) + decay
            top = most.max()
            proposed = np.exp(most - top)
            wasted = proposed - np.exp(self.log_sequences(starts) + decay - top)
            if wasted.sum() <= proposed.sum() / 2:
                return starts
            halved = wasted >= wasted.mean()
            starts = np.sort(np.append(starts, (starts[halved] + ends[halved]) // 2))


def _counted(universe: Universe[Any], places: int, rate: float) -> _Head:
    """As deep as is worth counting."""
    size, least = universe.size or 0, int(universe.least)
    floor = int(Ranking(universe).score(places))
    farthest = int(universe.top()) - least
    head = _Head(universe.head(floor), floor, size, places)
    while not head.is_deep(rate, farthest):
        floor = max(least, int(universe.lower(floor)), head.next_floor(rate, farthest))
        head = _Head(universe.head(floor), floor, size, places)
    return head


class _Sequences(Generic[C]):
    """All sequences of `places` different candidates of a universe."""

    def __init__(self, universe: Universe[C], places: int, rate: Fraction) -> None:
        self._universe = universe
        self._rate = rate
        self._head = _counted(universe, places, float(rate))
        self._blocks = self._head.blocks(float(rate))

    def draw(self, bits: BitSource) -> tuple[C, ...]:
        """A sequence s with P(s) ∝ exp(−rate g(s))."""
        while True:
            block = self._blocks[_drawn(self._weights, bits=bits)]
            ranks = _different_ranks(block.ranks, bits=bits)
            levels = [bisect_right(self._head.ends, rank) for rank in ranks]
            tail = self._of_tail(levels, bits)
            lack = max(
                int(best) - (tail[place][1] if place in tail else int(self._head.levels[level].score))
                for place, (best, level) in enumerate(zip(self._head.best, levels, strict=True))
            )
            if block.accepts(lack, self._rate, bits=bits):
                return self._named(levels, tail, bits)

    def _weights(self) -> list[Ball]:
        return [block.weight(self._rate) for block in self._blocks]

    def _of_tail(self, levels: Sequence[int], bits: BitSource) -> dict[int, tuple[C, int]]:
        """For the places that lie below the head: different candidates, and their scores."""
        met: dict[C, int] = {}
        places = [place for place, level in enumerate(levels) if level == len(self._head.levels)]
        while len(met) < len(places):
            candidate, score = self._universe.tail(self._head.floor, bits=bits)
            met[candidate] = int(score)
        return dict(zip(places, met.items(), strict=True))

    def _named(self, levels: Sequence[int], tail: dict[int, tuple[C, int]], bits: BitSource) -> tuple[C, ...]:
        """Different members of the levels, and those of the tail."""
        chosen: dict[C, None] = {}
        for place, level in enumerate(levels):
            candidate = tail[place][0] if place in tail else None
            while candidate is None or candidate in chosen:
                candidate = self._universe.member(self._head.levels[level], bits=bits)
            chosen[candidate] = None
        return tuple(chosen)


def _different_ranks(bounds: Sequence[int], *, bits: BitSource) -> list[int]:
    """Different ranks from 0, uniform among all lists of them with each below its bound; bounds do not fall."""
    ranks: list[int] = []
    taken: list[int] = []
    for place, bound in enumerate(bounds):
        rank = uniform_below(bound - place, bits=bits)
        for other in taken:
            if other > rank:
                break
            rank += 1
        insort(taken, rank)
        ranks.append(rank)
    return ranks


def _drawn(weights: Callable[[], Sequence[Ball]], *, bits: BitSource) -> int:
    """An index with probability in proportion to its weight, which is computed at the working precision."""
    uniform, widths = Uniform(bits=bits), bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            sums = list(accumulate(weights()))
            point = uniform.ball(width) * sums[-1]
            index = next((index for index, total in enumerate(sums) if point < total), None)
            if index == 0 or (index is not None and sums[index - 1] < point):
                return index
