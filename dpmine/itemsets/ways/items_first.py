"""Items first, then itemsets of these alone: far fewer candidates, none of which is of an item that few units have.

Here the items come out of a public catalogue or of the limited domain; `discovery` has another way.
Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, TypeVar, cast

from dpmine.errors import BadParameter
from dpmine.itemsets.ways.universe import ItemsetUniverse, itemset_count
from dpmine.selection.composition import bounded_range_stages
from dpmine.selection.top_k import LimitedDomainTopK, OneShot, TopK

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import Itemset
    from dpmine.privacy import Neighbors, Zcdp
    from dpmine.selection.mechanisms.report_noisy_max import Exponential
    from dpmine.selection.universes.base import Universe


C = TypeVar("C", bound="Hashable")

ITEMS_FIRST = "items_first"
ITEMS_SHARE = Fraction(1, 3)
"""Of the budget of `items_first`, for the items, whose supports are larger and stand more noise.

Measured: docs/explanation/measured/itemset_lists.md.
"""
_MORE_ITEMS = 10
_KBAR = 2**14  # items that an unknown catalogue is cut to: few shops sell more that matter


@dataclass(frozen=True, slots=True)
class ByItems(TopK):
    """Items are chosen, then k itemsets of these items: all itemsets of chosen items are public."""

    sizes: tuple[int, int]

    @property
    @abstractmethod
    def itemsets(self) -> OneShot:
        """The last stage; where it depends on the one before, the usual one."""

    @property
    @abstractmethod
    def kept(self) -> int:
        """How many items are expected to be chosen."""

    @property
    def mechanism(self) -> Exponential:
        """That of the last stage, at its ε_0."""
        return self.itemsets.mechanism

    @property
    def candidates(self) -> int:
        """How many itemsets the last stage is expected to choose from."""
        return itemset_count(self.kept, self.sizes)

    @abstractmethod
    def choose_itemsets(self, universe: ItemsetUniverse, *, bits: BitSource) -> list[Itemset]:
        """At most k itemsets."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most k itemsets. Raises BadParameter for a universe of anything but itemsets."""
        itemsets: object = universe  # that a universe of C is one of itemsets is nothing a type can say here
        if not isinstance(itemsets, ItemsetUniverse):
            raise BadParameter(f"{self.name} chooses itemsets only.")
        return tuple(cast("list[C]", self.choose_itemsets(itemsets, bits=bits)))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - only the itemsets of chosen items are rivals
        """The itemsets' own; the items' is another matter."""
        return self.itemsets.lead(self.candidates)

    def lead_over(self) -> str:
        """The itemsets of chosen items."""
        return f"the other itemsets of the {self.kept} items that are kept"


@dataclass(frozen=True, slots=True)
class ItemsFirst(ByItems):
    """m items in one shot, then k itemsets of these items in one shot.

    There are far fewer itemsets of m items than of all. So far fewer itemsets without support come first by noise
    alone. An itemset with an item that was not chosen is lost. The items are chosen from a public catalogue by the
    exponential mechanism, or from an unknown one by the limited-domain mechanism.
    Source: Li, Qardaji, Su & Cao 2012 (the idea, with other mechanisms).
    """

    items: TopK
    last: OneShot

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
            raise BadParameter("kbar, the number of items that items_first keeps, allows fewer itemsets than `k`.")
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
    def itemsets(self) -> OneShot:
        """The second stage."""
        return self.last

    @property
    def kept(self) -> int:
        """How many items the first stage keeps."""
        return self.items.count

    @property
    def zcdp(self) -> Zcdp:
        """That of both stages."""
        return self.items.zcdp + self.itemsets.zcdp

    @property
    def needs_catalogue(self) -> bool:
        """Whether the items have to be public."""
        return self.items.needs_catalogue

    def choose_itemsets(self, universe: ItemsetUniverse, *, bits: BitSource) -> list[Itemset]:
        """Of the items of the first stage."""
        found = self.items.choose(universe.of_items(), bits=bits)
        return shot_among(universe, sorted(code for (code,) in found), self.itemsets, bits=bits)

    def rounds(self) -> str:
        """Both stages."""
        return f"items: {self.items.rounds()}; itemsets of these: {self.itemsets.rounds()}"


def shot_among(itemsets: ItemsetUniverse, codes: Sequence[int], shot: OneShot, *, bits: BitSource) -> list[Itemset]:
    """What the shot chooses of the itemsets of the items `codes`, increasing."""
    left = itemsets.among(codes)
    chosen = () if left is None else shot.choose(left, bits=bits)
    return [tuple(codes[code] for code in itemset) for itemset in chosen]
