"""Lists of itemsets by adaptive counts: a way that needs no candidates, and releases supports.

Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

from dpmine.itemsets.best_first.plan import (
    CAPS,
    capped_sensitivity,
    counts_of_best,
)
from dpmine.itemsets.ways.adaptive_counts import LARGEST_SIZE, AdaptiveCounts, released
from dpmine.itemsets.ways.way import Chosen, NoiseLevel, Way
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import NO_DELTA, rounds_of, share_of_best

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms
    from dpmine.privacy import Zcdp

BEST_FIRST = "best_first"
MOST_PLACES = 2000
"""Itemsets that are listed at most: each takes several counts, one after the other."""
FEW_PLACES, SOME_PLACES, MANY_PLACES = 10, 20, 50
"""From one of these on "auto" counts best first: docs/explanation/measured/short_lists.md compares all ways."""
_REASON = (
    f"auto uses {BEST_FIRST}: in lists like this one, it has mostly found more of the best itemsets than other "
    "mechanisms, and releases their supports, too."
)


@dataclass(frozen=True, slots=True)
class BestFirst(Way):
    """The k best itemsets of some sizes by adaptive counts: (ε, δ), half of δ for items that are not public.

    Sources: Gopi et al. 2020 (unknown items); Barak et al. 2007 and Xiao et al. 2023 (counts of parity); Feldman &
    Zrnic 2021 (what each unit may add); this project (the order, the choice among kinds of counts). Proof:
    docs/proofs/best_first.md.
    """

    counting: AdaptiveCounts

    name: ClassVar[str] = BEST_FIRST
    finds_items: ClassVar[bool] = True
    releases_supports: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = frozenset({"max_items_per_unit"})

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """With some δ, or a public catalogue."""
        if terms.from_data:
            return f"{BEST_FIRST} finds the items by itself: leave the catalogue out, or give a public one."
        if terms.unions:
            return f"{BEST_FIRST} counts no unions of baskets: leave `lift_of` out, or name another mechanism."
        if terms.count > MOST_PLACES:
            return f"{BEST_FIRST} lists at most {MOST_PLACES:,} itemsets: give a smaller `k`, or another mechanism."
        if terms.sizes[1] > LARGEST_SIZE:
            return f"{BEST_FIRST} counts all subsets of an itemset: size must be at most {LARGEST_SIZE}."
        return None if terms.delta or terms.catalogue_size is not None else NO_DELTA

    @classmethod
    def only_by_name(cls, terms: ListTerms) -> bool:
        """Where other ways mostly find more, but for itemsets of all sizes: these are what it was made for."""
        smallest, largest = terms.sizes
        return not smallest == 1 < largest and cls.advantage(terms) is None

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:
        """In lists of some places."""
        least = _least_places(terms)
        return _REASON if least is not None and terms.count >= least else None

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """`max_items_per_unit`: how many of its items a unit may weigh; all of them count in supports."""
        counting = AdaptiveCounts.of(terms, terms.count)
        return cls(terms.count, terms.epsilon, terms.delta, terms.neighbors, counting)

    @property
    def zcdp(self) -> Zcdp:
        """All of the budget, however many looks are taken."""
        return self.counting.zcdp

    def _deviation(self) -> float:
        """Of a plain count or a capped one, whichever has less noise, where all looks are taken."""
        counts = min(counts_of_best(self.count, self.counting.sizes[0]), capped_sensitivity(CAPS[-1], self.neighbors))
        return sqrt(self.counting.left().variance(counts))

    def lead(self) -> float:
        """Three deviations of a difference: about what k noises do not exceed."""
        return 3 * sqrt(2) * self._deviation()

    def lead_over(self) -> str:
        """All other itemsets."""
        return "all other itemsets"

    def right_from(self) -> int:
        """Where half of the itemsets exceed two deviations, and their items are found as often as not."""
        found = self.counting.discovery.enough_units if self.counting.delta else 0
        return ceil(max(found, 2 * self._deviation()) / share_of_best(self.count / 2))

    def needed(self) -> str:
        """Of unknown items: what one takes to be found."""
        if not self.counting.delta:
            return Way.needed(self)
        return f"too few items were found. {self.counting.discovery.shortage()}"

    def rounds(self) -> str:
        """All stages."""
        most = counts_of_best(self.count, self.counting.sizes[0])
        return f"items by noisy weights, then about {rounds_of(most)}, each chosen by those before"

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """The best of what was counted, ties by size, then by code."""
        transactions = universe.transactions
        counted = self.counting.count(transactions, several_baskets=universe.several_baskets, bits=bits)
        values, codes, least = counted.bounds.values, counted.codes, self.counting.sizes[0]
        ranked = sorted(values, key=lambda itemset: (-values[itemset], len(itemset), itemset))
        best = [itemset for itemset in ranked if len(itemset) >= least][: self.count]
        listed = tuple(tuple(codes[number] for number in itemset) for itemset in best)
        return Chosen(listed, released(counted, transactions))


def _least_places(terms: ListTerms) -> int | None:
    """From where on it mostly finds more than others; None for never."""
    smallest, largest = terms.sizes
    is_public, replaces = terms.catalogue_size is not None, terms.neighbors is Neighbors.REPLACE_ONE
    noise = terms.noise_of_one_shot()
    if smallest == 1 < largest:
        high = NoiseLevel.VERY_LOW if terms.delta else NoiseLevel.HIGH
        few = noise >= high if is_public else noise < NoiseLevel.LOW
        return FEW_PLACES if few else SOME_PLACES
    if largest == 1:
        return None if not is_public else SOME_PLACES if terms.delta and replaces else MANY_PLACES
    if not is_public or noise < NoiseLevel.HIGH:
        return None
    return MANY_PLACES if terms.delta else FEW_PLACES
