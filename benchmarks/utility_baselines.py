"""A way to choose the k best itemsets after a published one, made of dpmine's exact parts: it draws no noise itself."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from dpmine.selection.universes.base import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from utility_data import Case

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.universe import Itemset, ItemsetUniverse
    from dpmine.selection.top_k import OneShot

MISS = 0.05  # the probability that γ of the truncated scores is made for


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

    def head(self, floor: int) -> Sequence[Level]:
        if not self._cut or floor > self._cut:
            return self._inner.head(floor)
        above = self._inner.head(self._cut + 1)
        left = (self.size or 0) - sum(level.count for level in above)
        return [*above, Level(self._cut, left)] if left else above

    def below(self, floor: int) -> int:
        return max(self._cut, self._inner.below(floor))

    def lower(self, floor: int) -> int:
        return max(self._cut, self._inner.lower(floor))

    def member(self, level: Level, *, bits: BitSource) -> Itemset:
        if self._cut and level.score == self._cut:
            return self._inner.tail(self._cut + 1, bits=bits)[0]
        return self._inner.member(level, bits=bits)

    def tail(self, floor: int, *, bits: BitSource) -> tuple[Itemset, int]:
        itemset, support = self._inner.tail(floor, bits=bits)
        return itemset, max(self._cut, support)
