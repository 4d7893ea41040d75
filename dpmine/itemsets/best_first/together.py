"""Supports of the likely itemsets, counted once more and all at once. Units that hold many of them add less to each.

Each itemset has a weight, the smaller the more units have it: so no relative error is much larger than others. A unit's
load is the sum of the squared weights of those it holds. A unit of load q adds √(B/q) of its weights, at most 1. So its
squares sum to B at most, however many itemsets there are. One number more says how much is missing. B is
chosen by a noisy histogram of loads. Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import hypot, isqrt, sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from dpmine.exact.reals import above, exact_ball
from dpmine.itemsets.best_first.holdings import WORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.best_first.counts import Counts
    from dpmine.itemsets.best_first.holdings import HeldItems, Holdings
    from dpmine.itemsets.best_first.order import Goal
    from dpmine.itemsets.transactions.lists import CodedItemset

    Numbers = NDArray[np.int64]

WHOLE = 1 << 20
"""What a unit of a small load adds."""
HEAVIEST = 64
"""The largest weight."""
LOADS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
"""Where classes of loads end, and what B may be: in squares of the heaviest weight."""
OF_LOADS = Fraction(1, 20)
"""Of the budget, for the histogram of loads."""
_POWER = 0.75
"""Of the support, to which the weight is inversely proportional: about what makes the mean relative error least."""
_MOST_LOADS = 1 << 16
"""Whose shares are kept: those of most data."""
_LOSS = 1.5
"""What a mean loss counts beside a deviation: itemsets lose unlike parts."""
_NEAR = 2.0
"""Deviations below the border of the list within which an itemset may be wanted."""
_BITS = 128  # of a quantile: rounded up, it is far closer than the counts
_LACK = 0.1
"""Of the exhausted units: what a capped support is taken to lack."""


class Noise(Protocol):
    """Gaussian by ρ, for numbers that one unit moves by some squared distance `count`, all of them together."""

    def draw(self, count: int, *, bits: BitSource) -> int:
        """The noise of one of them."""
        ...

    def variance(self, count: int) -> Fraction:
        """Of it."""
        ...

    def half_width(self, count: int, level: Fraction) -> int:
        """What it does not exceed, with that probability."""
        ...

    def part(self, share: Fraction) -> Self:
        """By this share of ρ."""
        ...


class Support(NamedTuple):
    """The support of an itemset that was counted with others.

    Attributes:
        value: the estimate, by all that was counted.
        low: the least plausible support, by what was counted together.
        high: the largest one.
    """

    value: float
    low: float
    high: float


class Likely(NamedTuple):
    """What is counted together, chosen by what was released.

    Attributes:
        itemsets: that may be wanted.
        weights: of each, from 1 to `heaviest`.
        supports: about, at least 1.
        least: the support up to which itemsets have the largest weight.
        lacks: what each of the earlier counts is taken to lack.
        heaviest: the weight of the itemsets of least support.
    """

    itemsets: Sequence[CodedItemset]
    weights: Sequence[int]
    supports: Sequence[float]
    least: float
    lacks: Sequence[float]
    heaviest: int = HEAVIEST

    @classmethod
    def of(cls, counts: Counts, itemsets: Sequence[CodedItemset], goal: Goal, exhausted: int, whole: int) -> Likely:
        """Those of the itemsets that are wanted, or near the border of what is.

        Args:
            counts: what was counted.
            itemsets: all of these, in their order.
            goal: what is wanted.
            exhausted: how many units a cap kept from counting, with noise.
            whole: how many of the itemsets, the first ones, no unit was kept from.
        """
        lacks = dict.fromkeys(itemsets[whole:], _LACK * exhausted)
        sized = [itemset for itemset in itemsets if len(itemset) >= goal.sizes[0]]
        border = goal.border(sorted(map(counts.support, sized)))

        def may_be_wanted(itemset: CodedItemset) -> bool:
            near = _NEAR * counts.deviation(itemset) + lacks.get(itemset, 0.0)
            return border is None or border - counts.support(itemset) < near

        likely = list(filter(may_be_wanted, sized))
        supports = [max(1.0, counts.support(itemset)) for itemset in likely]
        least = max(1.0, min(supports, default=1.0) if border is None else border)
        weights = [max(1, round(HEAVIEST * min(1.0, (least / support) ** _POWER))) for support in supports]
        return cls(likely, weights, supports, least, [lacks.get(itemset, 0.0) for itemset in likely])


@dataclass(frozen=True, slots=True)
class Together:
    """How likely itemsets are counted at once.

    Attributes:
        noise: by ρ of all of them together.
        times: 1 where one unit comes or goes, 2 where it takes the place of another one.
        level: with which probability each noise is within what intervals allow for, at least.
        limit: B ≥ 1, the largest load of a unit that adds whole weights: in squares of the heaviest weight.
        whole: what stands for a whole unit, as shares of it are whole numbers.
        heavy: about how many units have larger loads.
    """

    noise: Noise
    times: int
    level: Fraction
    limit: int
    whole: int = WHOLE
    heavy: int = 0

    @classmethod
    def planned(
        cls, noise: Noise, times: int, level: Fraction, holdings: Holdings, likely: Likely, *, bits: BitSource
    ) -> Together:
        """With the limit that a noisy histogram of loads makes best; that takes its part of the ρ of `noise`."""
        histogram, rest = noise.part(OF_LOADS), noise.part(1 - OF_LOADS)
        noisy = noisy_loads(holdings, likely, histogram, times, bits=bits)
        limit = best_limit(noisy, likely, rest, times)
        heavy = sum(max(0, units) for end, units in zip(LOADS, noisy, strict=True) if end >= limit)
        return cls(rest, times, level, limit, heavy=heavy)

    def count(self, holdings: Holdings, counts: Counts, likely: Likely, bits: BitSource) -> dict[CodedItemset, Support]:
        """The supports.

        Args:
            holdings: who holds what. Private.
            counts: what was counted before.
            likely: what is counted now.
            bits: of the noise.
        """
        if not likely.itemsets:
            return {}
        sums, missing = self.released(holdings, likely, bits)
        squares, units = self.squared_sensitivity(likely), [self.whole * weight for weight in likely.weights]
        variance, error = float(self.noise.variance(squares)), self.noise.half_width(squares, self.level)
        joint, share = self._deviations() * sqrt(variance), 1 / (self.whole * likely.heaviest)
        parts = [total / unit for total, unit in zip(sums, units, strict=True)]
        sure = max(0.0, missing - sqrt(variance)) / (self.whole * likely.heaviest)
        lost = self.lost(parts, sure, likely)

        def support(place: int, itemset: CodedItemset) -> Support:
            total, unit = sums[place], units[place]
            before, known = counts.deviation(itemset) ** 2 + likely.lacks[place] ** 2, counts.support(itemset)
            value = known + before / (before + variance / unit**2) * (parts[place] + lost[place] - known)
            hidden = joint * hypot(1 / unit, share) + 1 / unit + share  # by both noises: σ ≥ 1, as `whole` is large
            return Support(value, (total - error) / unit, parts[place] + missing * share + hidden)

        return {itemset: support(place, itemset) for place, itemset in enumerate(likely.itemsets)}

    def _deviations(self) -> float:
        """How many of them the sum of some Gaussian noises is within, of either sign, with probability `level`."""
        return float(above(lambda: exact_ball(2).sqrt() * exact_ball(1 - self.level).erfcinv(), _BITS))

    def lost(self, parts: Sequence[float], missing: float, likely: Likely) -> list[float]:
        """What supports lack in the mean, if it is in proportion to what units added to each.

        Units of larger loads add 1 − `missing`/`heavy` of their weights, so their load is about B over its square.

        Args:
            parts: of the supports, what units added.
            missing: of whole units.
            likely: what is counted.
        """
        squares = [(weight / likely.heaviest) ** 2 for weight in likely.weights]
        load = sum(square * max(0.0, part) for square, part in zip(squares, parts, strict=True))
        added = max(1 - missing / max(1, self.heavy), sqrt(self.limit / max(self.limit, sum(squares))))
        return [min(missing, missing * self.limit / added**2 * max(0.0, part) / max(1.0, load)) for part in parts]

    def released(self, holdings: Holdings, likely: Likely, bits: BitSource) -> tuple[list[int], int]:
        """What units add to each of the itemsets, and what is missing, with noise: as multiples of 1/`whole`."""
        squares = self.squared_sensitivity(likely)
        exact = shared_supports(holdings.parts, likely, self.limit, self.whole)
        *sums, missing = (each + self.noise.draw(squares, bits=bits) for each in exact)
        return sums, missing

    def squared_sensitivity(self, likely: Likely) -> int:
        """How far one unit moves all sums, and what is missing, in L2."""
        square = likely.heaviest**2
        moved = min(self.times * self.limit * square, sum(weight**2 for weight in likely.weights))
        return (moved + square) * self.whole**2


def noisy_loads(
    holdings: Holdings, likely: Likely, noise: Noise, times: int, *, bits: BitSource, ends: Sequence[int] = LOADS
) -> list[int]:
    """How many units have a load beyond each end, up to the next one."""
    exact = loads_of_units(holdings.parts, likely, ends)
    return [each + noise.draw(times, bits=bits) for each in exact]


def best_limit(histogram: Sequence[float], likely: Likely, noise: Noise, times: int) -> int:
    """The one of `LOADS` with the least noise, and the least that units of larger loads leave out.

    Args:
        histogram: of loads, with noise.
        likely: what is counted.
        noise: that the sums get.
        times: how many units' contributions come or go.
    """
    rows = zip(likely.supports, likely.weights, strict=True)
    load = max(1.0, sum(support * (weight / likely.heaviest) ** 2 for support, weight in rows))
    middles = [sqrt(low * high) for low, high in zip(LOADS, (*LOADS[1:], 2 * LOADS[-1]), strict=True)]
    beyond = list(zip(middles, histogram, strict=True))

    def error(limit: int) -> float:
        lost = sum(max(0.0, units) * (middle - sqrt(middle * limit)) for middle, units in beyond if middle > limit)
        return float(noise.variance(times * limit + 1)) / likely.least**2 + (_LOSS * lost / load) ** 2

    return min(LOADS, key=error)


def loads_of_units(parts: Iterable[HeldItems], likely: Likely, ends: Sequence[int]) -> list[int]:
    """Without noise, in squares of the heaviest weight. Private.

    Smaller loads are not counted: places without a unit have none, and how many there are is private.
    """
    totals = np.zeros(len(ends) + 1, np.int64)
    for part in parts:
        classes = np.searchsorted(np.array(ends) * likely.heaviest**2, _loads(part, likely))
        totals += part.times * np.bincount(classes, minlength=len(totals))
    return [int(total) for total in totals[1:]]


def shared_supports(parts: Iterable[HeldItems], likely: Likely, limit: int, whole: int) -> list[int]:
    """What all units add to each of the itemsets, and at last what is missing: of each unit the whole, less its share.

    Args:
        parts: who holds what. Private.
        likely: what is counted.
        limit: the largest load of a unit that adds whole weights, in squares of the heaviest weight.
        whole: what it adds, times the weight.
    """
    totals = [0] * (len(likely.itemsets) + 1)
    share_of = _share_of(limit * likely.heaviest**2, whole)
    for part in parts:
        values, places = np.unique(_loads(part, likely), return_inverse=True)
        shares = np.array(list(map(share_of, values.tolist())), np.int64)[places]
        for place, (itemset, weight) in enumerate(zip(likely.itemsets, likely.weights, strict=True)):
            totals[place] += part.times * weight * int(shares[_holders(part, itemset)].sum())
        totals[-1] += part.times * likely.heaviest * int((whole - shares).sum())
    return totals


def _loads(part: HeldItems, likely: Likely) -> Numbers:
    """Of each unit; 0 in places behind the last one."""
    loads = np.zeros(part.width * WORD, np.int64)
    for itemset, weight in zip(likely.itemsets, likely.weights, strict=True):
        np.add(loads, weight**2, out=loads, where=_holders(part, itemset))
    return loads


def _share_of(limit: int, whole: int) -> Callable[[int], int]:
    """Of a load q, what the unit adds times a weight: √(limit/q) of the whole, rounded down, at most the whole."""
    square = whole**2 * limit

    @lru_cache(_MOST_LOADS)  # parts have the same ones
    def share(load: int) -> int:
        return min(whole, isqrt(square // max(1, load)))

    return share


def _holders(part: HeldItems, itemset: CodedItemset) -> NDArray[np.bool_]:
    return np.unpackbits(part.holders(itemset).view(np.uint8), bitorder="little").view(np.bool_)
