"""Supports of the uncertain itemsets, counted once more and all at once: units that hold many of them add less to each.

A unit that holds h of them adds √(B/h) of itself, at most 1, to each support. So its squares sum to B at most, however
many itemsets there are. One number more says how much is missing. Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dpmine.itemsets.best_first.holdings import WORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.best_first.counts import Counts, Itemset
    from dpmine.itemsets.best_first.holdings import HeldItems, Holdings
    from dpmine.itemsets.best_first.order import Goal

WHOLE = 1 << 20
"""What a unit adds that holds few of the itemsets."""
HELD = 15
"""B: of the itemsets, as many as a unit may hold and add a whole to each."""
_NEAR = 2.0
"""Deviations: the distance from the border of the list within which an itemset is uncertain."""
_LACK = 0.1
"""Of the exhausted units: what a capped support is taken to lack."""


class Noise(Protocol):
    """By ρ, for numbers that one unit moves by some squared distance `count`, all of them together."""

    def draw(self, count: int, *, bits: BitSource) -> int:
        """The noise of one of them."""
        ...

    def variance(self, count: int) -> Fraction:
        """Of it."""
        ...

    def half_width(self, count: int, level: Fraction) -> int:
        """What it does not exceed, with that probability."""
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


@dataclass(frozen=True, slots=True)
class Together:
    """How uncertain itemsets are counted at once.

    Attributes:
        noise: by ρ of all of them together.
        times: 1 where one unit comes or goes, 2 where it takes the place of another one.
        level: with which probability each noise is within what intervals allow for, at least.
        held: B ≥ 1.
        whole: what stands for a whole unit, as shares of it are whole numbers.
    """

    noise: Noise
    times: int
    level: Fraction
    held: int = HELD
    whole: int = WHOLE

    def count(
        self, holdings: Holdings, counts: Counts, itemsets: Sequence[Itemset], lack: float, bits: BitSource
    ) -> dict[Itemset, Support]:
        """The supports.

        Args:
            holdings: who holds what. Private.
            counts: what was counted before.
            itemsets: those that are counted now; chosen by what was released.
            lack: what supports of `counts` are taken to lack.
            bits: of the noise.
        """
        if not itemsets:
            return {}
        sums, missing = self.released(holdings, itemsets, bits)
        squares = self.squared_sensitivity(len(itemsets))
        variance = float(self.noise.variance(squares)) / self.whole**2
        error = self.noise.half_width(squares, self.level)
        most = max(0, missing + error)

        def support(itemset: Itemset, total: int) -> Support:
            before, known = counts.deviation(itemset) ** 2 + lack**2, counts.support(itemset)
            value = known + before / (before + variance) * (total / self.whole - known)
            return Support(value, (total - error) / self.whole, (total + error + most) / self.whole)

        return {itemset: support(itemset, total) for itemset, total in zip(itemsets, sums, strict=True)}

    def released(self, holdings: Holdings, itemsets: Sequence[Itemset], bits: BitSource) -> tuple[list[int], int]:
        """What units add to each of the itemsets, and what is missing, with noise: as multiples of 1/`whole`."""
        squares, shares = self.squared_sensitivity(len(itemsets)), self.shares(len(itemsets))
        exact = shared_supports(holdings.parts, itemsets, shares)
        *sums, missing = (each + self.noise.draw(squares, bits=bits) for each in exact)
        return sums, missing

    def squared_sensitivity(self, itemsets: int) -> int:
        """How far one unit moves all sums, and what is missing, in L2."""
        return (min(self.times * self.held, itemsets) + 1) * self.whole**2

    def shares(self, itemsets: int) -> list[int]:
        """What a unit adds that holds 0, 1, … of the itemsets: a share of √(B/h), rounded down, at most the whole."""
        square = self.whole**2 * self.held
        return [min(self.whole, isqrt(square // max(1, held))) for held in range(itemsets + 1)]


def uncertain(counts: Counts, itemsets: Iterable[Itemset], goal: Goal, exhausted: int) -> tuple[list[Itemset], float]:
    """Those of the itemsets near the border of what is wanted, and what their supports are taken to lack."""
    lack = _LACK * exhausted
    wanted = [itemset for itemset in itemsets if len(itemset) >= goal.sizes[0]]
    border = goal.border(sorted(map(counts.support, wanted)))

    def is_near(itemset: Itemset) -> bool:
        return border is None or abs(counts.support(itemset) - border) < _NEAR * counts.deviation(itemset) + lack

    return list(filter(is_near, wanted)), lack


def shared_supports(parts: Iterable[HeldItems], itemsets: Sequence[Itemset], shares: Sequence[int]) -> list[int]:
    """What all units add to each of the itemsets, and at last what is missing: of each unit the whole, less its share.

    Args:
        parts: who holds what. Private.
        itemsets: that are counted.
        shares: what a unit adds that holds 0, 1, … of them.
    """
    totals = [0] * (len(itemsets) + 1)
    for part in parts:
        held = np.zeros(part.width * WORD, np.uint16)
        for itemset in itemsets:
            held += _bits(part, itemset)
        for place, itemset in enumerate(itemsets):
            totals[place] += part.times * _sum_of(shares, held[_bits(part, itemset).view(np.bool_)])
        totals[-1] += part.times * _sum_of([shares[0] - share for share in shares], held)
    return totals


def _sum_of(values: Sequence[int], places: NDArray[np.uint16]) -> int:
    """Exact, of any number of places."""
    numbers = np.bincount(places, minlength=len(values)).tolist()
    return sum(value * number for value, number in zip(values, numbers, strict=True))


def _bits(part: HeldItems, itemset: Itemset) -> NDArray[np.uint8]:
    return np.unpackbits(part.holders(itemset).view(np.uint8), bitorder="little")
