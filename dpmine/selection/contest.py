"""A contest of noisy scores, and what takes part in it: the next of each crowd, the candidates met, and a rival.

Most comparisons are decided by two floats that certainly enclose a noisy score; the others exactly. Random reals are
made of those alone that need them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol

from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Noise,
    Real,
    StandardExponential,
    argmax,
    dyadic_interval,
    float_bounds,
    float_ends,
    less_than,
    working_precision,
)
from dpmine.selection.universes.protocol import C

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Crowd


class Rival(Protocol):
    """A noisy score of its own that ends the order; at first perhaps only bounds on it are known."""

    def bounds(self) -> tuple[Real, Real]:
        """Two reals that enclose the noisy score: the same real twice once it is known."""
        ...

    def sharpen(self) -> None:
        """Find out more. Called only while the bounds differ."""
        ...


class Contest(Generic[C]):
    """All entrants: what comes next is the best of them."""

    def __init__(
        self,
        crowds: Sequence[Crowd[C]],
        noise: Noise,
        bits: BitSource,
        *,
        rival: Rival | None = None,
        gone: Iterable[C] = (),
    ) -> None:
        """`gone`: candidates that crowds may draw, and that do not take part."""
        self._bits = bits
        self._width = next(bits.widths())
        self._met = set(gone)
        self._queue = Queue(groups(crowds, noise, bits=bits))
        if rival is not None:
            self._queue.push(_End(rival, bits))

    def in_order(self) -> Iterator[C | None]:
        """Everything, best first, up to the rival."""
        queue = self._queue
        while (best := queue.pop()) is not None:
            if isinstance(best, Group):
                candidate, drawn = self._newcomer(best.crowd)
                if best.crowd.is_level:
                    yield candidate
                with working_precision(self._width + GUARD_BITS):
                    if not best.crowd.is_level:
                        queue.push(Met(candidate, drawn, best))
                    if best.advance(self._width):
                        queue.push(best)
            elif isinstance(best, Met):
                yield best.candidate
            elif isinstance(best, _End):
                if self._is_next(best.rival):
                    return
                queue.push(_End(best.rival, self._bits))

    def _newcomer(self, crowd: Crowd[C]) -> tuple[C | None, Any]:
        """A uniform candidate of the crowd that has not been met, and what its score is made of."""
        while True:
            candidate, drawn = crowd.draw(bits=self._bits)
            if candidate is None:
                return candidate, drawn
            if candidate not in self._met:
                self._met.add(candidate)
                return candidate, drawn

    def _is_next(self, rival: Rival) -> bool:
        """Whether the rival comes before all that is left; where its bounds leave that open, they are sharpened.

        Its place in the queue may be that of older bounds.
        """
        low, high = rival.bounds()
        best = self._queue.best()
        if best is None or less_than(best.noisy(), low, bits=self._bits):
            return True
        if low is not high:
            rival.sharpen()
        return False


class Entrant(ABC):
    """A noisy score, or an upper bound on those that come of it; a heap has the largest first."""

    __slots__ = ("bits", "high", "low")

    def __init__(self, low: float, high: float, bits: BitSource) -> None:
        """Two floats with the noisy score certainly between them."""
        self.low = low
        self.high = high
        self.bits = bits

    @abstractmethod
    def noisy(self) -> Real:
        """The noisy score."""

    def __lt__(self, other: Entrant) -> bool:
        if self.low > other.high:
            return True
        if other.low > self.high:
            return False
        return less_than(other.noisy(), self.noisy(), bits=self.bits)


class Known(Entrant):
    """A noisy score that is known: at first by two floats."""

    __slots__ = ("_noisy",)

    def __init__(self, noisy: Real, bits: BitSource) -> None:
        super().__init__(*float_bounds(noisy, bits=bits), bits)
        self._noisy = noisy

    def noisy(self) -> Real:
        """It."""
        return self._noisy


class _End(Known):
    """A rival, by the upper bound on its noisy score."""

    __slots__ = ("rival",)

    def __init__(self, rival: Rival, bits: BitSource) -> None:
        super().__init__(rival.bounds()[1], bits)
        self.rival = rival


class Met(Entrant, Generic[C]):
    """A candidate with its exact score and the noise that its group had next when it was met."""

    __slots__ = ("_drawn", "_group", "_rank", "candidate")

    def __init__(self, candidate: C | None, drawn: Any, group: Group) -> None:
        """`drawn`: what its crowd gave with it. Requires the working precision of `group`."""
        low, high = float_ends(group.crowd.score(drawn) + group.noise)
        super().__init__(low, high, group.bits)
        self.candidate = candidate
        self._drawn = drawn
        self._group = group
        self._rank = group.rank

    def noisy(self) -> Real:
        """The score, with the noise."""
        score, drawn = self._group.crowd.score, self._drawn
        return _Noisy(lambda: score(drawn), self._group, self._rank)


class Group(Entrant):
    """A crowd of which only the next noise is made: by its bound with that noise."""

    __slots__ = ("_arrivals", "_digits", "_known", "crowd", "law", "noise", "rank")

    def __init__(self, crowd: Crowd[Any], law: Noise, digits: int, known: int, bits: BitSource) -> None:
        """By the first `known` digits of the uniform real behind the largest noise, at a working precision for them."""
        self.noise = law.quantile(-dyadic_interval(digits, known).log() / crowd.size)
        """A ball of the next noise, from the first digits alone."""
        super().__init__(*float_ends(crowd.bound() + self.noise), bits)
        self.crowd = crowd
        self.law = law
        self.rank = 0
        """How many noises came before."""
        self._digits = digits
        self._known = known
        self._arrivals: Arrivals | None = None

    def noisy(self) -> Real:
        """The bound, with the next noise."""
        return _Noisy(self.crowd.bound, self, self.rank)

    def advance(self, width: int) -> bool:
        """Go on to the noise behind the next one; False where that was the last. Requires the precision of `width`."""
        if self.rank + 1 == self.crowd.size:
            return False
        self.rank += 1
        self.noise = self.law.quantile(self.arrivals.ball(self.rank, width))
        self.low, self.high = float_ends(self.crowd.bound() + self.noise)
        return True

    @property
    def arrivals(self) -> Arrivals:
        """Where the noises are."""
        if self._arrivals is None:
            self._arrivals = Arrivals(self.crowd.size, self.bits, self._digits, self._known)
        return self._arrivals


class _Noisy(Real):
    """A score with one of a group's noises."""

    __slots__ = ("_group", "_rank", "_score")

    def __init__(self, score: Callable[[], Ball], group: Group, rank: int) -> None:
        super().__init__()
        self._score = score
        self._group = group
        self._rank = rank

    def _enclosure(self, width: int) -> Ball:
        return self._score() + self._group.law.quantile(self._group.arrivals.ball(self._rank, width))


def groups(crowds: Sequence[Crowd[Any]], law: Noise, *, bits: BitSource) -> list[Group]:
    """One of each crowd, the first bits of their largest noises drawn."""
    width = next(bits.widths())
    drawn, digits = bits.take(width * len(crowds)), (1 << width) - 1
    with working_precision(width + GUARD_BITS):
        return [Group(crowd, law, drawn >> width * place & digits, width, bits) for place, crowd in enumerate(crowds)]


class Queue:
    """Entrants by decreasing noisy score.

    Mostly only the best few are asked for, so those of the start are put in order once the best of them has gone.
    """

    __slots__ = ("_first", "_heap", "_others")

    def __init__(self, start: list[Group]) -> None:
        self._heap: list[Entrant] = []
        self._first: Entrant | None = None
        self._others: list[Group] = start
        if start:
            self._first = best = _leader(start)
            start.remove(best)
            self._heap.append(best)

    def push(self, entrant: Entrant) -> None:
        """One more."""
        heappush(self._heap, entrant)

    def best(self) -> Entrant | None:
        """The one with the largest noisy score; None when none is left."""
        if self._others and self._first is None:
            self._heap += self._others
            heapify(self._heap)
            self._others = []
        return self._heap[0] if self._heap else None

    def pop(self) -> Entrant | None:
        """The best one, taken out."""
        best = self.best()
        if best is not None:
            heappop(self._heap)
        if best is self._first:
            self._first = None
        return best


def _leader(groups: list[Group]) -> Group:
    """The one with the largest noisy score; those that certainly have a smaller one are not looked at closely."""
    best = max(groups, key=attrgetter("low"))
    contenders = [group for group in groups if group.high >= best.low]
    if len(contenders) == 1:
        return best
    return contenders[argmax([group.noisy() for group in contenders], bits=best.bits)]


class Arrivals:
    """The points V_1 < V_2 < … at which the noises of `size` ≥ 1 candidates are met, largest noise first.

    The sums are kept in a list for each width, because a chain of nested reals could outgrow the interpreter's stack.
    """

    __slots__ = ("_bits", "_size", "_steps", "_sums")

    def __init__(self, size: int, bits: BitSource, digits: int = 0, known: int = 0) -> None:
        """With the first `known` digits of the first uniform real given."""
        self._size = size
        self._bits = bits
        self._steps = [StandardExponential(digits, known, bits=bits)]
        self._sums: dict[int, list[Ball]] = {}

    def ball(self, k: int, width: int) -> Ball:
        """V_{k+1}, for k < `size`, at the working precision of `width`."""
        sums = self._sums.setdefault(width, [])
        while len(sums) <= k:
            made = len(sums)
            if made == len(self._steps):
                self._steps.append(StandardExponential(bits=self._bits))
            step = self._steps[made].ball(width) / (self._size - made)
            sums.append(sums[-1] + step if sums else step)
        return sums[k]
