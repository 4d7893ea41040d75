"""The k best itemsets by way of their items: items are chosen first, then itemsets of these alone.

Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, TypeVar, cast

from dpmine.errors import BadParameter
from dpmine.itemsets.universe import ItemsetUniverse, itemset_count
from dpmine.selection.composition import bounded_range_stages
from dpmine.selection.top_k import LimitedDomainTopK, OneShot, TopK

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.mechanisms.report_noisy_max import Exponential
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")

ITEMS_FIRST = "items_first"
ITEMS_SHARE = Fraction(1, 3)
"""Of the budget, for the items, whose supports are larger and stand more noise.

Measured: docs/explanation/experiments.md.
"""
_MORE_ITEMS = 10
_KBAR = 2**14  # items that an unknown catalogue is cut to: few shops sell more that matter


@dataclass(frozen=True, slots=True)
class ItemsFirst(TopK):
    """m items in one shot, then k itemsets of these items in one shot.

    There are far fewer itemsets of m items than of all, so that far fewer of no support come first by noise alone; an
    itemset with an item that was not chosen is lost. The items come out of a public catalogue by the exponential
    mechanism, or out of an unknown one by the limited-domain mechanism; all itemsets of chosen items are public.
    Source: Li, Qardaji, Su & Cao 2012 (the idea, with other mechanisms).
    """

    sizes: tuple[int, int]
    items: TopK
    itemsets: OneShot

    @classmethod
    def of(
        cls,
        count: int,
        epsilon: Fraction,
        delta: Fraction,
        neighbors: Neighbors,
        *,
        sizes: tuple[int, int],
        catalogue_size: int | None,
        kept: int | None = None,
    ) -> Self:
        """`kept` is m, by default k + 10; `catalogue_size` is None where the items are not public.

        Raises BadParameter where the itemsets of m items are fewer than k.
        """
        wanted = count + _MORE_ITEMS if kept is None else kept
        number = wanted if catalogue_size is None else min(wanted, catalogue_size)
        if itemset_count(number, sizes) < count:
            raise BadParameter(
                "kbar, the number of items that items_first keeps, allows fewer itemsets than k (--top)."
            )
        rest = delta if catalogue_size is not None else delta / 2
        stages = bounded_range_stages(number, count, ITEMS_SHARE, epsilon, rest)
        none, first, second = Fraction(0), stages.first_epsilon, stages.second_epsilon
        itemsets = OneShot(count, count * second, none, neighbors, second)
        if catalogue_size is not None:
            items: TopK = OneShot(number, number * first, none, neighbors, first)
            return cls(count, epsilon, stages.delta, neighbors, sizes, items, itemsets)
        slack = delta - stages.delta
        items = LimitedDomainTopK(number, number * first, slack, neighbors, first, slack, max(_KBAR, number))
        return cls(count, epsilon, delta, neighbors, sizes, items, itemsets)

    @property
    def name(self) -> str:
        """Its own."""
        return ITEMS_FIRST

    @property
    def mechanism(self) -> Exponential:
        """That of the last stage, at its ε_0."""
        return self.itemsets.mechanism

    @property
    def needs_catalogue(self) -> bool:
        """Whether the items have to be public."""
        return self.items.needs_catalogue

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most k itemsets. Raises BadParameter for a universe of anything but itemsets."""
        itemsets: object = universe  # that a universe of C is one of itemsets is nothing a type can say here
        if not isinstance(itemsets, ItemsetUniverse):
            raise BadParameter("items_first chooses itemsets only.")
        found = self.items.choose(itemsets.of_items(), bits=bits)
        codes = sorted(code for (code,) in found)
        left = itemsets.among(codes)
        chosen = () if left is None else self.itemsets.choose(left, bits=bits)
        return cast("tuple[C, ...]", tuple(tuple(codes[code] for code in itemset) for itemset in chosen))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - only the itemsets of chosen items are rivals
        """The itemsets' own; the items' is another matter."""
        return self.itemsets.lead(itemset_count(self.items.count, self.sizes))

    def lead_over(self) -> str:
        """The itemsets of chosen items."""
        return f"the other itemsets of the {self.items.count} items that are kept"

    def rounds(self) -> str:
        """Both stages."""
        return f"items: {self.items.rounds()}; itemsets of these: {self.itemsets.rounds()}"
