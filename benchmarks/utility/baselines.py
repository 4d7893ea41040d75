"""Published ways to choose the k best itemsets, made of dpmine's exact parts: truncated scores, and Laplace keys."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.noise import discrete_laplace
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import OneShot
from dpmine.selection.universes.protocol import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from utility.data import Case

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.selection.universes.protocol import Score

MISS = 0.05  # the probability that γ of the truncated scores is made for

KEYS_SHARE = Fraction(1, 3)  # of ε, for finding items
KEYS_PER_UNIT = 3  # items of a unit that count in finding items: the best of 3, 5, 10, 20, 50 on the tuning data


def laplace_keys(
    case: Case, count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, *, bits: BitSource
) -> Callable[[], tuple[CodedItemset, ...]]:
    """Items of an unknown catalogue by a Laplace threshold, then the k best pairs of these in one shot.

    Each unit counts for at most D of its items, so that one unit moves the counts by D in all (2D where one takes
    another's place). Counts get Laplace noise of that divided by ε/3; items whose noisy count reaches T are found. T is
    the least at which D items of one unit are all below it with probability 1 − δ/2. The pairs get 2ε/3 and δ/2.
    Sources: Korolova et al. 2009; Wilson et al. 2020. Tumult Analytics finds keys in this way.
    """
    moved = KEYS_PER_UNIT * (2 if neighbors is Neighbors.REPLACE_ONE else 1)
    scale = ceil(moved / (epsilon * KEYS_SHARE))
    threshold = key_threshold(scale, float(delta / 2))
    shot = OneShot.of(count, epsilon * (1 - KEYS_SHARE), delta / 2, neighbors)

    def choose() -> tuple[CodedItemset, ...]:
        counts = case.item_counts(KEYS_PER_UNIT)
        held = np.flatnonzero(counts)
        noise = discrete_laplace(np.full(len(held), scale), bits=bits)
        codes = held[counts[held] + noise >= threshold].tolist()
        left = case.unknown.among(codes)
        chosen = () if left is None else shot.choose(left, bits=bits)
        return tuple(tuple(codes[code] for code in itemset) for itemset in chosen)

    return choose


def key_threshold(scale: int, delta: float) -> int:
    """The least T that 1 plus discrete Laplace noise reaches with probability at most 1 − (1 − δ)^(1/D)."""
    allowed = -expm1(log1p(-delta) / KEYS_PER_UNIT)
    return 1 + ceil(-scale * log(allowed * (1 + exp(-1 / scale))))


def truncated_scores(case: Case, shot: OneShot) -> Truncated:
    """γ as in Bhaskar et al. 2010: with probability 0.95 nothing below c(k) − γ is chosen where γ < c(k)."""
    gamma = 2 * float(shot.mechanism.scale) * log(case.candidates * shot.count / MISS)
    return Truncated(case.known, max(0, case.cut_off(shot.count) - int(gamma)))


class Truncated:
    """A universe with the scores max(c, c(k) − γ): truncated frequencies (Bhaskar et al. 2010).

    γ is public; c(k) is private and nothing else about it gets out. One unit more moves every support, and so c(k),
    by 0 to +1, hence their maximum too: sensitivity 1, and together under add_remove. So the exponential mechanism in
    one shot is as private on these scores as on the supports. Candidates at the cut are drawn one by one, which is
    what made the enumeration needless. Where γ ≥ c(k) this is the plain universe.
    """

    padding = 0

    def __init__(self, universe: ItemsetUniverse, cut: int) -> None:
        self._inner = universe
        self._cut = cut
        self.size = universe.size
        self.least = cut

    def top(self) -> int:
        return max(self._cut, self._inner.top())

    def head(self, floor: Score) -> Sequence[Level]:
        if not self._cut or floor > self._cut:
            return self._inner.head(floor)
        above = self._inner.head(self._cut + 1)
        left = (self.size or 0) - sum(level.count for level in above)
        return [*above, Level(self._cut, left)] if left else above

    def below(self, floor: Score) -> Score:
        return max(self._cut, self._inner.below(floor))

    def lower(self, floor: Score) -> Score:
        return max(self._cut, self._inner.lower(floor))

    def member(self, level: Level, *, bits: BitSource) -> CodedItemset:
        if self._cut and level.score == self._cut:
            return self._inner.tail(self._cut + 1, bits=bits)[0]
        return self._inner.member(level, bits=bits)

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[CodedItemset, int]:
        itemset, support = self._inner.tail(floor, bits=bits)
        return itemset, max(self._cut, support)
