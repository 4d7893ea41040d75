"""Candidates of any universe in the order of score + independent noise, made only as far as they are asked for.

Levels: the noises of the M members of a level, in descending order, sit at t = V_1 < V_2 < …. Here
V_k = Σ_{j ≤ k} E_j/(M − j + 1) (see `dpmine.exact.reals`). The members that carry them come in uniform order.
Tail: its noises are made in the same way. Each goes to a uniform candidate of the tail not met before. It is made only
once that noise on the best score that the tail can have would come next.
The output distribution is that of the enumerated universe. Proof: docs/proofs/selection/noisy_max.md.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import accumulate, islice
from sys import maxsize
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias

from dpmine.exact.reals import Ball, Formula, Real, StandardExponential, argmax, exact_ball, float_bounds, less_than
from dpmine.selection.universes.protocol import C, Level, Score, Universe
from dpmine.selection.universes.ranking import BestRanks, Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import GumbelNoise, Noise


_FEW_CANDIDATES = 16  # a universe this small is not worth a tail
_LN_2 = Fraction(7, 10)  # rounded up
_FEWEST_DRAWS, _MOST_DRAWS = 8, 8192  # of candidates of the tail, expected at a floor
_COUNTED_PER_DRAW = 2048  # candidates of the head that are counted in about the time of one draw


def noisy_order(
    universe: Universe[C],
    noise: Noise,
    *,
    bits: BitSource,
    count: int = 1,
    floor: Score | None = None,
    rival: Rival | None = None,
) -> Iterator[C | None]:
    """At most `count` candidates, largest score + noise first, None for a dummy; they end where the rival comes.

    Requires: `universe.size` is known.
    Law: the order of c_i + X_i, X_i independent draws of `noise`, ties of scores included. `floor` (by default one that
    keeps the work small) divides head from tail and changes running time only.
    """
    floor = _worthwhile_floor(universe, noise, count) if floor is None else floor
    return islice(_Contest(universe, noise, floor, rival, bits).in_order(), min(count, maxsize))


def draw_from_best(
    universe: Universe[C], ranking: Ranking[C], kept: int, noise: GumbelNoise, *, bits: BitSource
) -> C | None:
    """One of the `kept` best candidates, P(i) ∝ exp(c_i / noise.scale); None for a dummy."""
    draws = draws_from_best(universe, ranking, kept, noise, places=1, bits=bits)
    return next(draws, None)


def draws_from_best(
    universe: Universe[C],
    ranking: Ranking[C],
    kept: int,
    noise: Noise,
    *,
    places: int,
    bits: BitSource,
    rival: Rival | None = None,
) -> Iterator[C | None]:
    """At most `places` different ones of the `kept` best, by decreasing c_i + noise, None for a dummy.

    They end where the rival comes. Where only a part of a level belongs to the `kept` best, uniform members of the
    whole level are drawn. Ties are broken by a uniform permutation, so every member is in that part equally often.
    """
    taken: set[C] = set()
    for rank in noisy_order(BestRanks(ranking, kept), noise, count=places, bits=bits, rival=rival):
        level = None if rank is None else ranking.level(rank)
        if level is None:
            yield None
            continue
        while (candidate := universe.member(level, bits=bits)) in taken:
            pass  # a uniform one of those left, by rejection
        taken.add(candidate)
        yield candidate


class Rival(Protocol):
    """A noisy score of its own that ends the order; at first perhaps only bounds on it are known."""

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


@dataclass(eq=False, slots=True)
class _Group:
    """Candidates of which only the next noise is made: a level (None: the dummies), or the tail (`unmet`).

    `noisy` is the noisy score of the next one; for the tail, whose best score `score` bounds, a bound on it.
    """

    score: Score
    arrivals: Arrivals
    level: Level | None
    unmet: bool
    noise: Real
    noisy: Real


@dataclass(eq=False, slots=True)
class _Met(Generic[C]):
    """A candidate of the tail whose score was looked up."""

    candidate: C
    noisy: Real


@dataclass(eq=False, slots=True)
class _Rival:
    """The rival, by the upper bound on its noisy score."""

    rival: Rival
    noisy: Real


_Entrant: TypeAlias = "_Group | _Met[C] | _Rival"


class _Contest(Generic[C]):
    """All entrants: what comes next is the best of them."""

    def __init__(self, universe: Universe[C], noise: Noise, floor: Score, rival: Rival | None, bits: BitSource) -> None:
        self._universe = universe
        self._noise = noise
        self._floor = floor
        self._bits = bits
        self._taken: defaultdict[Score, set[C]] = defaultdict(set)
        self._met: set[C] = set()
        head = universe.head(floor)
        self._queue = _Queue[C](self._levels(head), bits)
        left = (universe.size or 0) - sum(level.count for level in head)
        if left > 0:
            self._queue.push(self._group(universe.below(floor), left, unmet=True))
        if rival is not None:
            self._queue.push(_Rival(rival, rival.bounds()[1]))

    def in_order(self) -> Iterator[C | None]:
        """Everything, best first, up to the rival."""
        while (best := self._queue.pop()) is not None:
            if isinstance(best, _Rival):
                if self._is_next(best.rival):
                    return
                self._queue.push(_Rival(best.rival, best.rival.bounds()[1]))
            elif isinstance(best, _Met):
                yield best.candidate
            elif best.unmet:
                self._queue.push(self._newcomer(best))
                self._push_next(best)
            else:
                yield None if best.level is None else self._member(best.level)
                self._push_next(best)

    def _levels(self, head: Sequence[Level]) -> list[_Group]:
        """The levels of the head, and the dummies."""
        groups = [self._group(level.score, level.count, level=level) for level in head]
        padding = self._universe.padding
        return [*groups, self._group(0, padding)] if padding else groups

    def _group(self, score: Score, size: int, *, level: Level | None = None, unmet: bool = False) -> _Group:
        arrivals = Arrivals(size, self._bits)
        quantile = self._noise.quantile
        noise = Formula(lambda step: quantile(step / size), arrivals.step)
        return _Group(score, arrivals, level, unmet, noise, _shifted(score, noise))

    def _push_next(self, group: _Group) -> None:
        """The group's next noise, if it has one more."""
        arrival = group.arrivals.next()
        if arrival is not None:
            group.noise = Formula(self._noise.quantile, arrival)
            group.noisy = _shifted(group.score, group.noise)
            self._queue.push(group)

    def _newcomer(self, tail: _Group) -> _Met[C]:
        """A uniform candidate of the tail that has not been met, with the tail's next noise."""
        while True:
            candidate, score = self._universe.tail(self._floor, bits=self._bits)
            if candidate not in self._met:
                self._met.add(candidate)
                return _Met(candidate, _shifted(score, tail.noise))

    def _member(self, level: Level) -> C:
        """A uniform member of the level that was not taken before."""
        taken = self._taken[level.score]
        while True:
            candidate = self._universe.member(level, bits=self._bits)
            if candidate not in taken:
                taken.add(candidate)
                return candidate

    def _is_next(self, rival: Rival) -> bool:
        """Whether the rival comes before all that is left; where its bounds leave that open, they are sharpened.

        Its place in the queue may be that of older bounds.
        """
        low, high = rival.bounds()
        best = self._queue.best()
        if best is None or less_than(best.noisy, low, bits=self._bits):
            return True
        if low is not high:
            rival.sharpen()
        return False


class _Queue(Generic[C]):
    """Entrants by decreasing noisy score.

    Mostly only the best few are asked for, so those of the start are put in order once the best of them has gone.
    """

    def __init__(self, start: list[_Group], bits: BitSource) -> None:
        self._bits = bits
        self._heap: list[_Place[C]] = []
        self._first: _Group | None = None
        self._others: list[_Group] = []
        if start:
            best = argmax([group.noisy for group in start], bits=bits)
            self._first, self._others = start[best], start[:best] + start[best + 1 :]
            self.push(self._first)

    def push(self, entrant: _Entrant[C]) -> None:
        """One more."""
        heappush(self._heap, _Place(entrant, self._bits))

    def best(self) -> _Entrant[C] | None:
        """The one with the largest noisy score; None when none is left."""
        if self._others and self._first is None:
            self._heap += [_Place(group, self._bits) for group in self._others]
            heapify(self._heap)
            self._others = []
        return self._heap[0].entrant if self._heap else None

    def pop(self) -> _Entrant[C] | None:
        """The best one, taken out."""
        best = self.best()
        if best is not None:
            heappop(self._heap)
        if best is self._first:
            self._first = None
        return best


class _Place(Generic[C]):
    """An entrant in a heap, which keeps the least first.

    Most comparisons are decided by two floats that certainly enclose the noisy score; the others exactly.
    """

    __slots__ = ("_bits", "_high", "_low", "entrant")

    def __init__(self, entrant: _Entrant[C], bits: BitSource) -> None:
        self.entrant = entrant
        self._bits = bits
        self._low, self._high = float_bounds(entrant.noisy, bits=bits)

    def __lt__(self, other: _Place[C]) -> bool:
        if self._low > other._high:
            return True
        if other._low > self._high:
            return False
        return less_than(other.entrant.noisy, self.entrant.noisy, bits=self._bits)


class Arrivals:
    """The points V_1 < V_2 < … at which the noises of `size` ≥ 1 candidates are met, largest noise first.

    The sums are kept in a list for each width, because a chain of nested reals could outgrow the interpreter's stack.
    """

    __slots__ = ("_bits", "_later", "_size", "_sums", "step")

    def __init__(self, size: int, bits: BitSource) -> None:
        self._size = size
        self._bits = bits
        self.step: Real = StandardExponential(bits=bits)
        """E_1: V_1 is a `size`-th of it."""
        self._later: list[Real] = []
        self._sums: dict[int, list[Ball]] = {}

    def next(self) -> Real | None:
        """V_2 at first, then the one behind the last that was made; None behind V_size."""
        if len(self._later) == self._size - 1:
            return None
        self._later.append(StandardExponential(bits=self._bits))
        return _Arrival(self, len(self._later))

    def ball(self, k: int, width: int) -> Ball:
        """V_{k+1}."""
        sums = self._sums.setdefault(width, [self.step.ball(width) / self._size])
        while len(sums) <= k:
            sums.append(sums[-1] + self._later[len(sums) - 1].ball(width) / (self._size - len(sums)))
        return sums[k]


class _Arrival(Real):
    __slots__ = ("_arrivals", "_k")

    def __init__(self, arrivals: Arrivals, k: int) -> None:
        super().__init__()
        self._arrivals = arrivals
        self._k = k

    def _enclosure(self, width: int) -> Ball:
        return self._arrivals.ball(self._k, width)


def _shifted(score: Score, noise: Real) -> Real:
    return Formula(lambda ball: exact_ball(score) + ball, noise) if score else noise


def _worthwhile_floor(universe: Universe[C], noise: Noise, count: int) -> Score:
    """A floor that balances the candidates above it, which are counted, with those below it that will be drawn.

    The universe is looked into step by step, as long as the known levels ask for a floor that lies deeper. A floor 2b
    above the lowest score suffices in any case, because the tail's own noises compete. No floor is rounded up, as
    scores need not be whole numbers. Source: docs/proofs/selection/noisy_max.md.
    """
    size = universe.size or 0
    if size <= _FEW_CANDIDATES:
        return universe.least
    ranking = Ranking(universe)
    known = last = ranking.score(min(count, ranking.length))
    lowest = universe.least + 2 * noise.scale
    while (floor := max(lowest, min(last, _floor_by(universe, known, last, noise.scale, count)))) < known:
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
