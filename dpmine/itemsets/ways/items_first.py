"""Items first, then itemsets of these alone: far fewer candidates, none of which is of an item that few units have.

Here the items come out of a public catalogue or of the limited domain; `discovery` has another way.
Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from dpmine.itemsets.ways.universe import itemset_count
from dpmine.itemsets.ways.way import Chosen, NoiseLevel, Way
from dpmine.parameters import probability
from dpmine.selection.composition import bounded_range_stages
from dpmine.selection.top_k import LimitedDomainTopK, OneShot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms
    from dpmine.privacy import Zcdp
    from dpmine.selection.top_k import TopK

ITEMS_FIRST = "items_first"
ITEMS_SHARE = Fraction(1, 3)
"""Of the budget of `items_first`, for the items, whose supports are larger and stand more noise.

Measured: docs/explanation/measured/itemset_lists.md.
"""
ALL_SIZES, LARGER, MANY_LARGER = 10, 20, 50
"""From one of these on "auto" goes by way of a catalogue's items: docs/explanation/measured/short_lists.md compares.

The first is for itemsets of all sizes, the others for larger ones, where the noise of one shot is high, or not low.
"""
_TIMES_THE_ITEMS = 4  # by which a catalogue exceeds k where choosing the items first gains more than it uses
_MORE_ITEMS = 10
_KBAR = 2**14  # items that an unknown catalogue is cut to: few shops sell more that matter


@dataclass(frozen=True, slots=True)
class ByItems(Way):
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
    def candidates(self) -> int:
        """How many itemsets the last stage is expected to choose from."""
        return itemset_count(self.kept, self.sizes)

    def lead(self) -> float:
        """The itemsets' own, over the itemsets of chosen items alone; the items' is another matter."""
        return self.itemsets.lead(self.candidates)

    def lead_over(self) -> str:
        """The itemsets of chosen items."""
        return f"the other itemsets of the {self.kept} items that are kept"

    def right_from(self) -> int:
        """That of the last stage: the items of the best itemsets are taken to be among those that are kept."""
        return self.itemsets.right_from(self.candidates)


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

    name: ClassVar[str] = ITEMS_FIRST
    options: ClassVar[frozenset[str]] = frozenset({"kbar"})

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Where the items that are kept have as many itemsets as are wanted."""
        if itemset_count(_kept(terms), terms.sizes) < terms.count:
            return "kbar, the number of items that items_first keeps, allows fewer itemsets than `k`."
        return None

    @classmethod
    def only_by_name(cls, terms: ListTerms) -> bool:
        """Without a catalogue."""
        return not terms.has_catalogue

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:
        """In lists of some places out of a large catalogue."""
        large = terms.catalogue_size is None or terms.catalogue_size >= _TIMES_THE_ITEMS * terms.count
        is_left_out = cls.only_by_name(terms) or bool(terms.options) or not large
        return None if is_left_out or not _finds_more(terms) else _REASON

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """The option kbar is m, by default k + 10."""
        count, epsilon, delta, neighbors = terms.count, terms.epsilon, terms.delta, terms.neighbors
        number, is_public = _kept(terms), terms.catalogue_size is not None
        rest = delta if is_public else probability("delta", delta) / 2
        stages = bounded_range_stages(number, count, ITEMS_SHARE, epsilon, rest)
        first, itemsets = stages.first_epsilon, OneShot.of_rounds(count, stages.second_epsilon, neighbors)
        if is_public:
            items: TopK = OneShot.of_rounds(number, first, neighbors)
            return cls(count, epsilon, stages.delta, neighbors, terms.sizes, items, itemsets)
        leaving = delta - stages.delta
        items = LimitedDomainTopK(number, number * first, leaving, neighbors, first, leaving, max(_KBAR, number))
        return cls(count, epsilon, delta, neighbors, terms.sizes, items, itemsets)

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

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Of the items of the first stage."""
        items = self.items.choose(universe.of_items(), bits=bits)
        return Chosen(shot_among(universe, sorted(code for (code,) in items), self.itemsets, bits=bits))

    def rounds(self) -> str:
        """Both stages."""
        return f"items: {self.items.rounds()}; itemsets of these: {self.itemsets.rounds()}"


_REASON = (
    f"auto uses {ITEMS_FIRST}: in lists like this one, it has mostly found more of the best itemsets than other "
    "mechanisms."
)


def _finds_more(terms: ListTerms) -> bool:
    """Whether choosing the items first mostly gains more than it uses."""
    (smallest, largest), noise = terms.sizes, terms.noise_of_one_shot()
    if smallest == 1:
        return largest > 1 and terms.count >= ALL_SIZES and bool(terms.delta) and noise < NoiseLevel.VERY_LOW
    return terms.count >= (LARGER if noise >= NoiseLevel.HIGH else MANY_LARGER) and noise >= NoiseLevel.LOW


def _kept(terms: ListTerms) -> int:
    """m, at most the number of items of a public catalogue."""
    wanted = terms.options.get("kbar", terms.count + _MORE_ITEMS)
    return wanted if terms.catalogue_size is None else min(wanted, terms.catalogue_size)


def shot_among(
    itemsets: ItemsetUniverse, codes: Sequence[int], shot: OneShot, *, bits: BitSource
) -> tuple[CodedItemset, ...]:
    """What the shot chooses of the itemsets of the items `codes`, increasing."""
    left = itemsets.among(codes)
    chosen = () if left is None else shot.choose(left, bits=bits)
    return tuple(tuple(codes[code] for code in itemset) for itemset in chosen)
