"""Neighbouring inputs to try: score vectors, tables of counts and small sets of rows, under both relations.

A family gives structured pairs first, and changes the worst of them at random afterwards. Nothing of it is data of
anybody. Its randomness is a stream that a seed determines, so that a report can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate, chain, islice, product, repeat
from operator import mul
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.options.explained import explained_by
from dpmine.parameters import Number, exact_number, positive, whole
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from fractions import Fraction

    from dpmine.exact.bits import BitSource

T = TypeVar("T")
Sides: TypeAlias = "tuple[Any, Any]"

_LEADS = (0, 2, 1, 8, 4, 16)  # between scores, in sensitivities
_SIZES = (2, 3, 10, 1, 5)
_MOST_CANDIDATES = 40  # of a pair that a climb proposes


class SeededBits:
    """A stream of bits that its seed determines: for the choice of what to try, never for a release."""

    def __init__(self, seed: int) -> None:
        self._seed, self._next_block, self._buffer, self._bits_left = seed, 0, 0, 0

    def take(self, count: int) -> int:
        """The next `count` bits, of SHA-256 over the seed and a counter."""
        while self._bits_left < count:
            digest = sha256(f"{self._seed}:{self._next_block}".encode()).digest()
            self._next_block, self._bits_left = self._next_block + 1, self._bits_left + 256
            self._buffer = self._buffer << 256 | int.from_bytes(digest, "big")
        self._bits_left -= count
        value = self._buffer >> self._bits_left
        self._buffer &= (1 << self._bits_left) - 1
        return value

    def widths(self) -> Iterator[int]:
        """64, 128, 256 and so on."""
        return accumulate(repeat(2), mul, initial=64)


class Pair(Protocol):
    """Two neighbours."""

    def sides(self) -> Sides:
        """Both data sets, made afresh: a mechanism may change what it is given."""
        ...


@runtime_checkable
class Family(Protocol):
    """Pairs of neighbours to try."""

    def starts(self) -> Iterator[Pair]:
        """Structured pairs, the most telling ones first; it may be endless."""
        ...

    def changed(self, pair: Any, bits: BitSource) -> Pair | None:
        """Another pair, a small change away; None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class GivenPair:
    """Two data sets as they were given."""

    before: object
    after: object

    def sides(self) -> Sides:
        """The two, themselves."""
        return self.before, self.after


@dataclass(frozen=True)
class GivenPairs:
    """Pairs of the caller, which nothing changes."""

    pairs: Iterable[Sides]

    def starts(self) -> Iterator[GivenPair]:
        """One after the other. Raises BadParameter for what is no pair."""
        for pair in self.pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise BadParameter("The neighbours must be pairs (before, after) of data sets.")
            yield GivenPair(*pair)

    def changed(self, _pair: GivenPair, _bits: BitSource) -> None:
        """Nothing."""
        return


@dataclass(frozen=True, slots=True)
class Vectors:
    """Scores, what the unit does to each (−1, 0 or 1, in sensitivities), and the form of both."""

    scores: tuple[Fraction, ...]
    moves: tuple[int, ...]
    family: ScoreVectors

    def sides(self) -> Sides:
        """Before and after."""
        sensitivity = exact_number("sensitivity", self.family.sensitivity)
        after = [score + sensitivity * move for score, move in zip(self.scores, self.moves, strict=True)]
        return self.family.formed(self.scores), self.family.formed(after)


@dataclass(frozen=True)
class ScoreVectors:
    """Vectors of scores: under replace_one each moves by at most `sensitivity`, under add_remove all move one way.

    Attributes:
        sensitivity: the most that one unit moves a score. Scores are integers where it is a whole number, else floats.
        neighbors: the relation.
        sizes: numbers of candidates to start from.
        lowest: no score is below it; None for scores of any sign.
        moving: how many scores the unit moves each way at most; None for all of them.
        form: what makes a data set of a list of scores, such as `numpy.array`.

    Raises BadParameter for unusable values.
    """

    sensitivity: Number = 1
    neighbors: Neighbors | str = Neighbors.REPLACE_ONE
    sizes: Sequence[int] = _SIZES
    lowest: int | None = None
    moving: int | None = None
    form: Callable[[list[Any]], object] = list

    def __post_init__(self) -> None:
        positive("sensitivity", self.sensitivity)
        Neighbors.parse(self.neighbors)
        if self.moving is not None:
            whole("moving", self.moving)
        if not self.sizes or any(whole("sizes", size) > _MOST_CANDIDATES for size in self.sizes):
            raise BadParameter(f"sizes must be numbers of candidates from 1 to {_MOST_CANDIDATES}.")

    def formed(self, scores: Iterable[Fraction]) -> object:
        """A data set of these scores."""
        number_type = int if positive("sensitivity", self.sensitivity).denominator == 1 else float
        return self.form([number_type(score) for score in scores])

    def starts(self) -> Iterator[Vectors]:
        """A leader before a crowd, a crowd before a loser, a ladder, at all leads, with all moves; no repetitions."""
        pairs = (
            self._pair(scores, moves)
            for lead, size in product(_LEADS, self.sizes)
            for scores in _score_shapes(lead, size)
            for moves in self._moves(size)
        )
        return iter(dict.fromkeys(filter(self._admits, pairs)))

    def changed(self, pair: Vectors, bits: BitSource) -> Vectors | None:
        """The `pair` with one score or one move changed, or a candidate more or less, drawn from `bits`."""
        scores, moves, place = list(pair.scores), list(pair.moves), uniform_below(len(pair.scores), bits=bits)
        sensitivity = positive("sensitivity", self.sensitivity)
        match uniform_below(5, bits=bits):
            case 0 if len(scores) < _MOST_CANDIDATES:
                scores.append(scores[place])
                moves.append(moves[place])
            case 1 if len(scores) > 1:
                del scores[place], moves[place]
            case 2 | 3:
                scores[place] += pick((-4, -2, -1, 1, 2, 4), bits) * sensitivity
            case _:
                moves[place] = pick(self._directions, bits)
        proposal = replace(pair, scores=tuple(scores), moves=tuple(moves))
        return proposal if self._admits(proposal) else None

    @property
    def _directions(self) -> tuple[int, ...]:
        return (0, 1) if Neighbors.parse(self.neighbors) is Neighbors.ADD_REMOVE else (-1, 0, 1)

    def _pair(self, heights: Sequence[int], moves: Sequence[int]) -> Vectors:
        sensitivity, lowest = positive("sensitivity", self.sensitivity), self.lowest or 0
        return Vectors(tuple(lowest + sensitivity * height for height in heights), tuple(moves), self)

    def _moves(self, size: int) -> Iterator[tuple[int, ...]]:
        """The first, or the last, against the others, alone or with them; halves apart, in two ways."""
        low, high = min(self._directions), max(self._directions)
        most_moving = size if self.moving is None else self.moving
        opposed, alone, together = (
            ((high, low), (low, high)),
            ((high, 0), (0, high), (low, 0), (0, low)),
            ((high, high),),
        )
        for first, others in dict.fromkeys((*opposed, *alone, *together)):
            moves = (first, *_moved_entries(others, size - 1, most_moving))
            yield from (moves, moves[::-1])
        yield tuple(islice((high, low) * size, size))
        yield tuple(high if 2 * place < size else low for place in range(size))

    def _admits(self, pair: Vectors) -> bool:
        sensitivity = positive("sensitivity", self.sensitivity)
        scores_after = (score + sensitivity * move for score, move in zip(pair.scores, pair.moves, strict=True))
        if not any(pair.moves) or (self.lowest is not None and min(chain(pair.scores, scores_after)) < self.lowest):
            return False
        return self.moving is None or max(pair.moves.count(1), pair.moves.count(-1)) <= self.moving


def _score_shapes(lead: int, size: int) -> Iterator[tuple[int, ...]]:
    """All at least 1, so that every move is allowed, and at 0 for those that appear."""
    yield (1 + lead, *[1] * (size - 1))
    yield (1, *[1 + lead] * (size - 1))
    yield tuple(1 + lead * place for place in range(size))
    yield (lead, *[0] * (size - 1))


def _moved_entries(move: int, size: int, most: int) -> list[int]:
    """A move of a number of entries, of which only some may move."""
    return [move] * min(size, most) + [0] * max(0, size - most)


@explained_by(ScoreVectors.__doc__)
@dataclass(frozen=True)
class CountTables(ScoreVectors):
    """Tables of counts: one unit adds 1 to at most `moving` counts, or under replace_one moves as many each way.

    Attributes:
        moving: how many counts one unit adds to; None for all of them.
        sparse: whether a table is a dict without the labels whose count is 0, as grouping data gives it. Else a list.
    """

    lowest: int | None = 0
    moving: int | None = 1
    sparse: bool = False

    def formed(self, scores: Iterable[Fraction]) -> object:
        """The `scores` as a list, or as a dict with labels such as "a0"."""
        counts = [int(score) for score in scores]
        return {f"a{place}": count for place, count in enumerate(counts) if count} if self.sparse else self.form(counts)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that stay, and the unit's row on each side (none where it is absent)."""

    rows: tuple[Hashable, ...]
    left: tuple[Hashable, ...]
    right: tuple[Hashable, ...]
    form: Callable[[list[Any]], object]

    def sides(self) -> Sides:
        """Before and after."""
        return self.form([*self.rows, *self.left]), self.form([*self.rows, *self.right])


@dataclass(frozen=True)
class RowSets:
    """Small lists of rows, each out of a public list of values: a row is replaced, or added.

    Attributes:
        values: the values that a row may have; put the extremes first.
        neighbors: the relation.
        sizes: numbers of rows, beside the one of the unit.
        form: what makes a data set of a list of rows.

    Raises BadParameter for less than two values under replace_one, or none.
    """

    values: Sequence[Hashable]
    neighbors: Neighbors | str = Neighbors.REPLACE_ONE
    sizes: Sequence[int] = (0, 1, 2, 4, 9)
    form: Callable[[list[Any]], object] = list

    def __post_init__(self) -> None:
        needed = 1 if Neighbors.parse(self.neighbors) is Neighbors.ADD_REMOVE else 2
        if len(self.values) < needed:
            raise BadParameter(f"values must hold at least {needed} values of a row.")

    def starts(self) -> Iterator[Rows]:
        """Equal rows, and the unit's row; no repetitions."""
        pairs = (
            Rows((base,) * size, left, right, self.form)
            for size, base in product(self.sizes, self.values[:4])
            for left, right in self._unit_rows()
        )
        return iter(dict.fromkeys(pairs))

    def changed(self, pair: Rows, bits: BitSource) -> Rows | None:
        """The `pair` with one row changed, more or less, or the unit's; drawn from `bits`."""
        rows = list(pair.rows)
        match uniform_below(4, bits=bits):
            case 0 if rows:
                rows[uniform_below(len(rows), bits=bits)] = pick(self.values, bits)
            case 1 if rows:
                del rows[uniform_below(len(rows), bits=bits)]
            case 2 if len(rows) < _MOST_CANDIDATES:
                rows.append(pick(self.values, bits))
            case _:
                left, right = pick(self._unit_rows(), bits)
                return replace(pair, left=left, right=right)
        return replace(pair, rows=tuple(rows))

    def _unit_rows(self) -> list[tuple[tuple[Hashable, ...], tuple[Hashable, ...]]]:
        if Neighbors.parse(self.neighbors) is Neighbors.ADD_REMOVE:
            return [((), (value,)) for value in self.values]
        base, *others = self.values
        return [((base,), (other,)) for other in others]


def as_family(neighbors: Family | Iterable[Sides]) -> Family:
    """A family as it is, and any other iterable as pairs of the caller. Raises BadParameter for anything else."""
    if isinstance(neighbors, Family):
        return neighbors
    if not isinstance(neighbors, Iterable):
        raise BadParameter("The neighbours must be a family, such as ScoreVectors(), or pairs (before, after).")
    return GivenPairs(neighbors)


def pick(choices: Sequence[T], bits: BitSource) -> T:
    """One of them. Requires: there is one."""
    return choices[uniform_below(len(choices), bits=bits)]
