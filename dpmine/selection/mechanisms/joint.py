"""The joint exponential mechanism: k candidates at once, as one sequence out of all sequences of k candidates.

The lead that a sequence lacks is drawn in blocks of values, by an upper bound on how many sequences lack no more. A
uniform sequence of the block is kept if it lacks no more than was drawn. So the output distribution is exact.
Source: Gillenwater, Joseph, Munoz & Ribero 2022; the bound on what is counted is in the spirit of Wu & Zhang 2024.
Proof: docs/proofs/selection/joint.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import log, prod
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Formula,
    Uniform,
    exact_ball,
    floor,
    uniform_below,
    working_precision,
)
from dpmine.selection.mechanisms.mechanism import unit_reach
from dpmine.selection.universes.protocol import C
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.universes.protocol import Level, Universe

_GRID = 256  # of values at which sequences are counted to decide whether to look deeper
_COUNTED_PER_TRIAL = 256  # candidates of the head that are counted in about the time of a sequence that is tried
_FEWEST, _MOST = 1 / 64, 8192.0  # sequences that may be tried in vain for each one that is chosen
_MOST_FLOAT = 10**300  # numbers of candidates that floats hold


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

    def draw(self, rate: Fraction, *, bits: BitSource) -> int:
        """A value of the block, with P(v) ∝ exp(−rate v): an exponential real below the end, rounded down."""

        def beyond_start(uniform: Ball) -> Ball:
            outside = exact_ball(0) if self.end is None else exact_ball(rate * (self.start - self.end)).exp()
            return -(outside + uniform * (1 - outside)).log() / exact_ball(rate)

        return self.start + floor(Formula(beyond_start, Uniform(bits=bits)), bits=bits)


class _Head:
    """The best candidates of a universe, all that have a score ≥ `floor`, and how many sequences they make."""

    def __init__(self, levels: Sequence[Level], lowest: int, universe: Universe[Any], places: int) -> None:
        """`lowest` is the floor. Requires: at least `places` candidates in the levels."""
        self.levels = levels
        self.floor = lowest
        self.size = universe.size or 0
        self.ends = list(accumulate(level.count for level in levels))
        self._least = int(universe.least)
        self._scores = np.array([int(level.score) for level in levels], np.int64)
        bounds = [*self.ends, self.size]
        self._floats = np.array([float(min(bound, _MOST_FLOAT)) for bound in bounds])
        self._logs_beyond = np.array([log(bound) - log(min(bound, _MOST_FLOAT)) for bound in bounds])
        self.best = self._scores[[bisect_right(self.ends, rank) for rank in range(places)]]
        self.farthest = int(self.best[0]) - self._least
        """What sequences lack at most."""

    def deep_floor(self, rate: float) -> int:
        """The highest floor that is deep enough, if those above it were as many as are counted by now.

        Below it are the candidates that places may take in proposals only. Of these, as many sequences may be tried in
        vain as take the time of counting so far.
        """
        log_tried = log(min(max(_FEWEST, self.ends[-1] / _COUNTED_PER_TRIAL), _MOST))

        def is_deep(lowest: int) -> bool:
            starts = np.append(self.best - lowest + 1, np.linspace(0, self.farthest, _GRID).astype(np.int64))
            values = np.unique(starts.clip(0, self.farthest))
            proposed, certain = self.log_sequences(values, lowest), self.log_sequences(values, self._least + 1)
            in_vain = np.where(proposed > certain, proposed - rate * values, -np.inf)
            return bool(in_vain.max() <= (certain - rate * values).max() + log_tried)

        return self._least + bisect_left(range(self._least + 1, self.floor + 1), True, key=lambda low: not is_deep(low))

    def log_sequences(self, values: NDArray[np.int64], lowest: int) -> NDArray[np.float64]:
        """The logarithm of how many sequences lack at most each value, nearly, where all below `lowest` are taken in.

        Those between it and the floor are left out.
        """
        depths = self._depths(values, lowest)
        ranks = self._floats[depths] - np.arange(len(self.best))
        return np.asarray((np.log(np.maximum(ranks, 1)) + self._logs_beyond[depths]).sum(axis=1))

    def blocks(self, rate: float) -> list[_Block]:
        """Blocks whose bounds are about twice the truth together, or less, as far as candidates are counted."""
        cuts = [*self._cuts(rate).tolist(), self.farthest] if self.farthest else []
        depths = self._depths(np.array(cuts[1:], np.int64) - 1, self.floor).tolist()
        bounds = [*self.ends, self.size]
        found = [
            _Block(start, end, [bounds[depth] for depth in row])
            for (start, end), row in zip(pairwise(cuts), depths, strict=True)
        ]
        return [*found, _Block(self.farthest, None, [self.size] * len(self.best))]

    def _depths(self, values: NDArray[np.int64], lowest: int) -> NDArray[np.intp]:
        """For each value and place, the last level that the place may take; one more for all below `lowest`, too."""
        needed = self.best - values[:, None]
        return np.where(needed < lowest, len(self.ends), np.searchsorted(-self._scores, -needed, side="right") - 1)

    def _cuts(self, rate: float) -> NDArray[np.int64]:
        """Where blocks start: those that waste most are halved until half of what they propose would be accepted."""
        starts = np.array([2**power - 1 for power in range(self.farthest.bit_length())], np.int64)
        while True:
            ends = np.append(starts[1:], self.farthest)
            decay = np.log(-np.expm1(-rate * (ends - starts))) - rate * starts
            most = self.log_sequences(ends - 1, self.floor) + decay
            top = most.max()
            proposed = np.exp(most - top)
            wasted = proposed - np.exp(self.log_sequences(starts, self.floor) + decay - top)
            if wasted.sum() <= proposed.sum() / 2:
                return starts
            halved = wasted >= wasted.mean()
            starts = np.sort(np.append(starts, (starts[halved] + ends[halved]) // 2))


def _counted(universe: Universe[Any], places: int, rate: float) -> _Head:
    """As deep as is worth counting."""
    lowest, least = int(Ranking(universe).score(places)), int(universe.least)
    head = _Head(universe.head(lowest), lowest, universe, places)
    while lowest > least and (enough := head.deep_floor(rate)) < lowest:
        lowest = max(least, int(universe.lower(lowest)), enough)
        head = _Head(universe.head(lowest), lowest, universe, places)
    return head


class _Sequences(Generic[C]):
    """All sequences of `places` different candidates of a universe."""

    def __init__(self, universe: Universe[C], places: int, rate: Fraction) -> None:
        self._universe = universe
        self._rate = rate
        self._head = _counted(universe, places, float(rate))
        self._blocks = self._head.blocks(float(rate))
        self._sums_at: dict[int, list[Ball]] = {}

    def draw(self, bits: BitSource) -> tuple[C, ...]:
        """A sequence s with P(s) ∝ exp(−rate g(s))."""
        while True:
            block = self._blocks[_drawn(self._sums, bits=bits)]
            value = block.draw(self._rate, bits=bits)
            ranks = _different_ranks(block.ranks, bits=bits)
            levels = [bisect_right(self._head.ends, rank) for rank in ranks]
            tail = self._tail_within(levels, value, bits)
            if tail is not None:
                return self._named(levels, tail, bits)

    def _sums(self, precision: int) -> list[Ball]:
        """Of the blocks' weights up to each one, kept: they are the same for all sequences that are tried."""
        if precision not in self._sums_at:
            with working_precision(precision):
                self._sums_at[precision] = list(accumulate(block.weight(self._rate) for block in self._blocks))
        return self._sums_at[precision]

    def _tail_within(self, levels: Sequence[int], most: int, bits: BitSource) -> dict[int, C] | None:
        """For the places that lie below the head: different candidates; None where a place lacks more than `most`."""
        head, met = self._head, dict[C, int]()
        for place, (level, best) in enumerate(zip(levels, head.best.tolist(), strict=True)):
            if level < len(head.levels):
                score = int(head.levels[level].score)
            else:
                candidate, score = self._untaken(met, bits)
                met[candidate] = place
            if best - score > most:
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
