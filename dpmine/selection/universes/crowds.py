"""Candidates in crowds: how many there are and how good they can be, which is all that a race must know at first.

An array of scores is cut into bands below its best scores, by arithmetic of floats on all scores at once. An exact
score is made only of a candidate that is met. The cut changes running time, never an output distribution:
docs/proofs/selection/noisy_max.md.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import accumulate, repeat
from math import ceil, exp, log
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmine.exact.reals import Ball, exact_ball, power_of_two, uniform_below
from dpmine.kernels import kernel
from dpmine.later import flint
from dpmine.selection.universes.protocol import C, Crowd, Level, Score, Universe

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dpmine.exact.bits import BitSource

Numbers: TypeAlias = NDArray[Any]
"""An array of numbers of any type, which says what they are as it runs."""
Keys: TypeAlias = NDArray[np.uint8]

_ABOVE = 255  # the key of candidates that are crowds of their own
_DEEPEST = 254
_FEW = 16  # candidates that are all crowds of their own
_WIDEST = 1.0  # of a band, in scales of the noise
_REACH = 6  # scales of the noise beyond ln K: so deep that one candidate in e^6 selections is met there
_NEGLIGIBLE = 1 / 64  # candidates that are expected from the last band, for each one that is asked for
_SLACK = 1 - 2.0**-40  # more than the roundings of a difference and a product
_ROUNDED_POWER = 40  # up to it, integers in all bands but the last have differences that a float holds
_LEAST_FLOAT, _LEAST_POWER = 5e-324, -1000  # factors stay floats above 0
_HALF = np.uint64(1 << 63)

_floats_into = kernel("bands_of_floats")
_integers_into = kernel("bands_of_integers")


class Members:
    """A level of a universe; dummies where `universe` is None."""

    __slots__ = ("_level", "_universe", "size")
    is_level = True

    def __init__(self, level: Level, universe: Universe[Any] | None) -> None:
        self._level = level
        self._universe = universe
        self.size = level.count

    def bound(self) -> Ball:
        """The level's score."""
        return exact_ball(self._level.score)

    def draw(self, *, bits: BitSource) -> tuple[Any, None]:
        """A member."""
        return None if self._universe is None else self._universe.member(self._level, bits=bits), None

    def score(self, drawn: None) -> Ball:  # noqa: ARG002 - the level's, for all
        """The level's."""
        return self.bound()


class Tail:
    """The `size` candidates of a universe that have scores below a floor."""

    __slots__ = ("_best", "_floor", "_universe", "size")
    is_level = False

    def __init__(self, universe: Universe[Any], floor: Score, size: int) -> None:
        self._universe = universe
        self._floor = floor
        self._best = universe.below(floor)
        self.size = size

    def bound(self) -> Ball:
        """The universe's."""
        return exact_ball(self._best)

    def draw(self, *, bits: BitSource) -> tuple[Any, Score]:
        """A candidate of the tail."""
        return self._universe.tail(self._floor, bits=bits)

    def score(self, drawn: Score) -> Ball:
        """As it was looked up."""
        return exact_ball(drawn)


def crowds_of(universe: Universe[C], floor: Score) -> Sequence[Crowd[C]]:
    """The levels of a universe with scores ≥ `floor`, what lies below it, and the dummies."""
    head = universe.head(floor)
    crowds: list[Crowd[C]] = [Members(level, universe) for level in head]
    left = (universe.size or 0) - sum(level.count for level in head)
    if left > 0:
        crowds.append(Tail(universe, floor, left))
    if universe.padding:
        crowds.append(Members(Level(0, universe.padding), None))
    return crowds


class Bands:
    """All of an array's scores in bands of equal width, counted from the score of rank `count` downwards.

    Better candidates are crowds of their own. The last band holds all that lies deeper. Bands are narrower than the
    noise's scale, so most candidates that are met are the winner, and only some twenty bands matter.
    """

    def __init__(self, scores: Numbers, scale: Fraction, count: int) -> None:
        """`scores`: int or float64, finite and at least one; `scale`: of the noise that is to come."""
        self._scores = scores
        self.rank = rank = max(1, min(count, len(scores))) if len(scores) > _FEW else len(scores)
        best = scores.max() if rank == 1 else np.partition(scores, len(scores) - rank)[len(scores) - rank]
        self._origin: int | float = best.item()
        power, share = _power(scale)
        self._width = power_of_two(power)
        self._keys, sizes = _keys(scores, best, power, min(ceil((log(len(scores)) + _REACH) / share), _DEEPEST))
        self._above: list[int] = []
        if rank > 1:
            above = np.flatnonzero(scores > best)
            sizes[0] -= len(above)
            self._above = above.tolist()
        self._sizes: list[int] = sizes.tolist()
        last = _last_that_matters(self._sizes, exp(-share), rank)
        self._sizes[last:] = [sum(self._sizes[last:])]
        np.minimum(self._keys, last, out=self._keys)
        if self._above:
            self._keys[above] = _ABOVE
        exact_to = last if scores.dtype.kind != "f" and power <= 0 else 0
        self._levels = max(exact_to, rank == len(scores))  # behind the last rank nothing is left but its equals
        self._places: dict[int, NDArray[np.intp]] = {}

    def crowds(self, padding: int, gone: Collection[int] = ()) -> Sequence[Crowd[int]]:
        """All of them, and that of `padding` dummies of score 0.

        Those that are `gone` are not counted; a band may still draw them.
        """
        sizes, above = self._sizes, self._above
        if gone:
            above = [place for place in above if place not in gone]
            keys = Counter(self._keys[list(gone)].tolist())
            sizes = [size - keys[key] for key, size in enumerate(sizes)]
        bands = [_Band(self, key, size, is_level=key < self._levels) for key, size in enumerate(sizes) if size]
        dummies = [Members(Level(-self.origin, padding), None)] if padding else []
        return [*[_Single(self, place) for place in above], *bands, *dummies]

    @property
    def origin(self) -> Score:
        """The score of rank `count`."""
        return exact(self._origin)

    def score(self, place: int) -> Ball:
        """The score at a place, counted from the origin."""
        value = self._scores[place].item()
        if isinstance(value, float):
            return flint.arb(value) - flint.arb(self._origin)  # a ball holds a float exactly
        return exact_ball(value - self._origin)

    def depth(self, key: int) -> Ball:
        """How far a band lies below the origin."""
        return self._width * key

    def places(self, key: int) -> NDArray[np.intp]:
        """The places of a band's candidates."""
        if key not in self._places:
            self._places[key] = np.flatnonzero(self._keys == key)
        return self._places[key]


class _Band:
    __slots__ = ("_bands", "_key", "is_level", "score", "size")

    def __init__(self, bands: Bands, key: int, size: int, *, is_level: bool) -> None:
        self._bands = bands
        self._key = key
        self.size = size
        self.is_level = is_level
        self.score = bands.score

    def bound(self) -> Ball:
        return -self._bands.depth(self._key)

    def draw(self, *, bits: BitSource) -> tuple[int, int]:
        places = self._bands.places(self._key)  # with those that are gone, which `size` does not count
        place = int(places[uniform_below(len(places), bits=bits)])
        return place, place


class _Single:
    __slots__ = ("_place", "score")
    size = 1
    is_level = True

    def __init__(self, bands: Bands, place: int) -> None:
        self._place = place
        self.score = bands.score

    def bound(self) -> Ball:
        return self.score(self._place)

    def draw(self, *, bits: BitSource) -> tuple[int, int]:  # noqa: ARG002 - there is no choice
        return self._place, self._place


def exact(value: Any) -> Score:
    """The exact score that a number of an array stands for, a float being the dyadic number it is."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, float):
        return plain  # type: ignore[no-any-return]
    return int(plain) if plain.is_integer() else Fraction(plain)


def _power(scale: Fraction) -> tuple[int, float]:
    """The width of a band as a power of two, and as a share of the scale: from _WIDEST/2 to _WIDEST."""
    above, below = scale.numerator, scale.denominator
    power = above.bit_length() - below.bit_length()  # within a factor of 2
    share = (below << power) / above if power >= 0 else below / (above << -power)
    while share > _WIDEST:
        power, share = power - 1, share / 2
    return power, share


def _keys(scores: Numbers, best: Any, power: int, last: int) -> tuple[Keys, NDArray[np.int64]]:
    """For each score at most `best` a k with score ≤ best − k · 2^power, k ≤ `last`; how often each k occurs.

    Better scores get 0. k is ⌊y⌋ for a y that is certainly not above (best − score)/2^power: differences and products
    are wrong by a factor of at most 1 + 2^−53 each, so a smaller factor than 2^−power is taken. Where the product is
    rounded to a subnormal number, or the factor is rounded, y < 1. Integers that are not far apart have exact
    differences; equality holds for theirs where 2^power ≤ 1 and k < `last`.
    """
    are_floats = scores.dtype.kind == "f"
    slack = _SLACK if are_floats or power > _ROUNDED_POWER else 1
    factor = max(2.0 ** -max(power, _LEAST_POWER) * slack, _LEAST_FLOAT)
    keys, counts = np.empty(len(scores), np.uint8), np.empty(last + 1, np.int64)
    if scores.dtype == np.uint64:  # less 2^63, which leaves the differences
        scores, best = (scores ^ _HALF).view(np.int64), int(best) - int(_HALF)
    into = _floats_into if are_floats else _integers_into
    into(scores, np.array([best], np.float64 if are_floats else np.int64), np.array([factor]), keys, counts)
    return keys, counts


def _last_that_matters(sizes: list[int], decay: float, rank: int) -> int:
    """The first band behind which all others may be one with it: few of its candidates will be met.

    The weights are those of the exponential mechanism, for `rank` candidates that are asked for.
    """
    weights = list(accumulate(repeat(decay, len(sizes) - 1), mul, initial=1.0))
    few = _NEGLIGIBLE * (sum(map(mul, sizes, weights)) + rank - 1) / rank
    left = sum(sizes)
    for key, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        if left * weight <= few:
            return key
        left -= size
    return len(sizes) - 1
