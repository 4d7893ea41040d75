"""Two ways to choose the k best itemsets after published ones, made of dpmine's exact parts.

Both are post-combinations: nothing here draws noise by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, log
from typing import TYPE_CHECKING

from dpmine.itemsets.projection import projected
from dpmine.itemsets.supports import Miner
from dpmine.itemsets.universe import Itemset, ItemsetUniverse
from dpmine.selection.composition import bounded_range_rounds
from dpmine.selection.top_k.limited_domain import LimitedDomainTopK
from dpmine.selection.top_k.one_shot import OneShot
from dpmine.selection.universe import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from utility_data import Case

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors

ITEMS_SHARE = Fraction(1, 3)  # of the budget, for the items
LEAST_ITEMS = 20
KBAR = 10_000  # of single items, where the catalogue is not public
DIGITS = 12
MISS = 0.05  # the probability that γ of the truncated scores is made for


@dataclass(frozen=True)
class ItemsFirst:
    """Choose m items, then k itemsets among the C(m, r) of these items: after PrivBasis (Li et al. 2012), one basis.

    m is public, a function of k. Both steps are the exponential mechanism in one shot: m rounds that are ε_1-private
    and ε_1-bounded-range, then k such rounds at ε_2 on a universe that only the released items define. Adaptive rounds
    add up, and Σ ε_i²/8 ≤ (m + k) ε_0²/8, where ε_0 is certified for m + k rounds within (ε, δ): hence (ε, δ)-private.
    Where ε_0 rests on basic composition, Σ ε_i ≤ ε. Without a public catalogue the items come from the limited-domain
    mechanism, which pays half of δ once. Supports of items move as those of itemsets do: by one at most, and together
    under add_remove. Published PrivBasis finds m with a part of the budget, has Laplace noise on the supports of all
    subsets, and pays with ε only; all of this is left out.
    """

    items: int
    choose_items: OneShot | LimitedDomainTopK
    choose_itemsets: OneShot

    @classmethod
    def of(
        cls,
        case: Case,
        k: int,
        epsilon: Fraction,
        delta: Fraction,
        neighbors: Neighbors,
        *,
        known: bool = True,
        items: int | None = None,
        share: Fraction = ITEMS_SHARE,
    ) -> ItemsFirst:
        m = min(items or max(LEAST_ITEMS, k // 2), case.baskets.catalogue_size)
        first, second = _split(m, k, epsilon, delta if known else delta / 2, share)
        shot = OneShot(m, epsilon, delta, neighbors, first)
        by_domain = LimitedDomainTopK(m, epsilon, delta, neighbors, first, delta / 2, KBAR)
        return cls(m, shot if known else by_domain, OneShot(k, epsilon, delta, neighbors, second))

    def choose(self, case: Case, *, bits: BitSource) -> tuple[Itemset, ...]:
        known = isinstance(self.choose_items, OneShot)
        singles = ItemsetUniverse(case.miner, range(1, 2), catalogue_is_public=known)
        codes = sorted(code for (code,) in self.choose_items.choose(singles, bits=bits))
        if len(codes) < case.size:
            return ()
        among = Miner(projected(case.baskets, codes))
        universe = ItemsetUniverse(among, range(case.size, case.size + 1), catalogue_is_public=True)
        chosen = self.choose_itemsets.choose(universe, bits=bits)
        return tuple(tuple(codes[place] for place in itemset) for itemset in chosen)


def _split(m: int, k: int, epsilon: Fraction, delta: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
    """ε_1 of m rounds and ε_2 of k rounds: of the sum of squares where δ is used, else of the sum."""
    together = bounded_range_rounds(m + k, epsilon, delta)
    if together.delta == 0:
        return share * epsilon / m, (1 - share) * epsilon / k
    squares = (m + k) * together.round_epsilon**2
    return _root_below(share * squares / m), _root_below((1 - share) * squares / k)


def _root_below(value: Fraction) -> Fraction:
    unit = 10**DIGITS
    return Fraction(isqrt(value.numerator * unit**2 // value.denominator), unit)


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
