"""Items first, then itemsets of these alone: far fewer candidates, none of which is of an item that few units have.

Items come out of a public catalogue or of the limited domain (`ItemsFirst`), or out of a discovery (`Discover`).
Proofs: docs/proofs/selection/composition.md, docs/proofs/discovery.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from dpmine.errors import BadParameter
from dpmine.exact.reals import below, decimal_below, exact_ball
from dpmine.itemsets.discovery import ITEMS_PER_UNIT, MOST_ITEMS_PER_UNIT, Discovery
from dpmine.itemsets.universe import ItemsetUniverse, itemset_count
from dpmine.parameters import below_one, positive, probability, public_count, whole
from dpmine.privacy import Neighbors, Zcdp, short
from dpmine.selection.composition import bounded_range_stages
from dpmine.selection.recommend import least
from dpmine.selection.select import AUTO
from dpmine.selection.top_k import NO_DELTA, Built, LimitedDomainTopK, OneShot, TopK, build_top_k
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.universe import PublicCatalogue
    from dpmine.selection.mechanisms.report_noisy_max import Exponential
    from dpmine.selection.universes.base import Universe


C = TypeVar("C", bound="Hashable")

ITEMS_FIRST = "items_first"
DISCOVER = "discover"
ITEMS_SHARE = Fraction(1, 3)
"""Of the budget of `items_first`, for the items, whose supports are larger and stand more noise.

Measured: docs/explanation/experiments.md.
"""
_MORE_ITEMS = 10
_KBAR = 2**14  # items that an unknown catalogue is cut to: few shops sell more that matter
_LOOKS, _REST = (1, 1, 2, 4, 4), 8  # twentieths of ρ: 1/20, 1/10, 1/5, 2/5 or 3/5 goes into the discovery
_ENOUGH, _TIMES_THE_PLACES = 60, 4  # items at which it ends, or those that have so many itemsets for each place
_BITS = 192
DIGITS = 12
"""Of ρ, a decimal number."""
_ROUND_DIGITS = 6  # of a round's ε
_TIMES_THE_ITEMS = 4  # by which a catalogue exceeds k where going by way of the items is worth its price
MANY_PLACES = 50
"""From here on "auto" goes by way of the items of a public catalogue: docs/explanation/experiments.md compares."""
DISCOVERED_PLACES = 10
"""From here on "auto" discovers the items of an unknown catalogue: docs/explanation/experiments.md compares."""
_REASONS = {
    ITEMS_FIRST: (
        f"with {MANY_PLACES} places and more, {ITEMS_FIRST} has mostly found more of the best itemsets than the others."
    ),
    DISCOVER: (
        f"without a catalogue and with {DISCOVERED_PLACES} places and more, {DISCOVER} has mostly found more of the "
        "best itemsets than the others."
    ),
}


@dataclass(frozen=True, slots=True)
class ByItems(TopK):
    """Items are chosen, then k itemsets of these items in one shot: all itemsets of chosen items are public."""

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
    def chosen_items(self, universe: ItemsetUniverse, *, bits: BitSource) -> tuple[Sequence[int], OneShot]:
        """The codes of the items, increasing, and what chooses itemsets of these."""

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most k itemsets. Raises BadParameter for a universe of anything but itemsets."""
        itemsets: object = universe  # that a universe of C is one of itemsets is nothing a type can say here
        if not isinstance(itemsets, ItemsetUniverse):
            raise BadParameter(f"{self.name} chooses itemsets only.")
        codes, shot = self.chosen_items(itemsets, bits=bits)
        left = itemsets.among(codes)
        chosen = () if left is None else shot.choose(left, bits=bits)
        return cast("tuple[C, ...]", tuple(tuple(codes[code] for code in itemset) for itemset in chosen))

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - only the itemsets of chosen items are rivals
        """The itemsets' own; the items' is another matter."""
        return self.itemsets.lead(self.candidates)

    def lead_over(self) -> str:
        """The itemsets of chosen items."""
        return f"the other itemsets of the {self.kept} items that are kept"


@dataclass(frozen=True, slots=True)
class ItemsFirst(ByItems):
    """m items in one shot, then k itemsets of these items in one shot.

    There are far fewer itemsets of m items than of all, so that far fewer of no support come first by noise alone; an
    itemset with an item that was not chosen is lost. The items come out of a public catalogue by the exponential
    mechanism, or out of an unknown one by the limited-domain mechanism.
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

    def chosen_items(self, universe: ItemsetUniverse, *, bits: BitSource) -> tuple[Sequence[int], OneShot]:
        """Those of the first stage, and the second one."""
        found = self.items.choose(universe.of_items(), bits=bits)
        return sorted(code for (code,) in found), self.itemsets

    def rounds(self) -> str:
        """Both stages."""
        return f"items: {self.items.rounds()}; itemsets of these: {self.itemsets.rounds()}"


@dataclass(frozen=True, slots=True)
class Discover(ByItems):
    """The items that a discovery finds, then k itemsets of these items in one shot: for items that are not public.

    Half of δ is for the discovery, the other half turns ρ into ε. The discovery takes as many looks as it needs to find
    enough items, and the itemsets get what it leaves of ρ: the more units have the items, the less noise they get.
    Sources: Gopi et al. 2020 (discovery); Durfee & Rogers 2019 (one shot). Proof: docs/proofs/discovery.md.
    """

    discovery: Discovery
    shots: tuple[OneShot, ...]
    """What chooses the itemsets after 1, 2, … looks."""

    @classmethod
    def of(
        cls,
        count: int,
        epsilon: Fraction,
        delta: Fraction,
        neighbors: Neighbors,
        *,
        sizes: tuple[int, int],
        items_per_unit: int = ITEMS_PER_UNIT,
    ) -> Self:
        """`items_per_unit`: how many of its items a unit may name in the discovery; all of them count in supports.

        Requires: δ > 0. Raises BadParameter where ε is too small to discover anything.
        """
        named = delta / 2
        rho = decimal_below(rho_at(epsilon, delta - named), DIGITS)
        if not rho:
            raise BadParameter(f"epsilon is too small for {DISCOVER} at this delta: give a larger one.")
        part = rho / (sum(_LOOKS) + _REST)
        enough = max(_ENOUGH, least(lambda items: itemset_count(items, sizes) >= _TIMES_THE_PLACES * count, start=1))
        discovery = Discovery(part * sum(_LOOKS), named, neighbors, items_per_unit, _LOOKS, enough)
        left = (rho - part * spent for spent in accumulate(_LOOKS))
        shots = tuple(_shot(count, rest, neighbors) for rest in left)
        return cls(count, epsilon, delta, neighbors, sizes, discovery, shots)

    @property
    def name(self) -> str:
        """Its own."""
        return DISCOVER

    @property
    def itemsets(self) -> OneShot:
        """After half of the looks, as is usual."""
        return self.shots[len(self.shots) // 2]

    @property
    def kept(self) -> int:
        """The number of items at which the discovery ends."""
        return self.discovery.enough

    @property
    def zcdp(self) -> Zcdp:
        """All of ρ, however many looks are taken."""
        return Zcdp(self.discovery.rho * (sum(_LOOKS) + _REST) / sum(_LOOKS), self.discovery.delta)

    @property
    def needs_catalogue(self) -> bool:
        """It finds one."""
        return False

    def chosen_items(self, universe: ItemsetUniverse, *, bits: BitSource) -> tuple[Sequence[int], OneShot]:
        """What the discovery found, and the shot for what it left."""
        found = self.discovery.find(universe.transactions, bits=bits)
        return found.codes.tolist(), self.shots[found.looks - 1]

    def rounds(self) -> str:
        """Both stages."""
        spent = f"ρ = {float(self.discovery.rhos[0]):.3g} to {float(self.discovery.rho):.3g}"
        first, last = (float(shot.round_epsilon) for shot in (self.shots[0], self.shots[-1]))
        return (
            f"items: Gaussian noise, {spent} as they are found, δ = {short(self.discovery.delta)}; itemsets of these: "
            f"{self.count} rounds of the exponential mechanism at ε = {first:.3g} to {last:.3g}"
        )


def _shot(count: int, rho: Fraction, neighbors: Neighbors) -> OneShot:
    """K rounds of the exponential mechanism that cost ρ together: ε_0 = √(8ρ/k), rounded down."""
    each = decimal_below(below(lambda: exact_ball(8 * rho / count).sqrt(), _BITS), _ROUND_DIGITS)
    return OneShot(count, count * each, Fraction(0), neighbors, each)


def build_way(
    name: str,
    sizes: tuple[int, int],
    known: PublicCatalogue,
    candidates: int | None,
    *,
    kbar: int | None,
    max_items_per_unit: int | None,
    **parameters: Any,
) -> Built:
    """The way that the mechanism's plain name stands for; "auto" goes by way of the items where there are more places.

    An unknown catalogue is discovered from 10 places on, a public one is cut from 50 on.
    """
    chosen = name
    if name == AUTO and kbar is None:
        chosen = _by_items(parameters["count"], sizes, known)
        if chosen == ITEMS_FIRST and max_items_per_unit is not None:
            chosen = AUTO
    if chosen == DISCOVER:
        way: TopK = _discover(sizes, known, kbar, max_items_per_unit, **parameters)
    elif chosen == ITEMS_FIRST:
        way = _items_first(sizes, known, kbar, max_items_per_unit, **parameters)
    else:
        most = _itemsets_per_unit(max_items_per_unit, sizes)
        return build_top_k(name, candidates=candidates, kbar=kbar, max_items_per_unit=most, **parameters)
    return Built(way, _REASONS[chosen] if name == AUTO else "")


def _by_items(count: int, sizes: tuple[int, int], known: PublicCatalogue) -> str:
    """What "auto" takes; itself where going by way of the items does not pay."""
    if count < DISCOVERED_PLACES:
        return AUTO
    if not known.is_given:
        return DISCOVER
    large = known.items is None or len(known.items) >= _TIMES_THE_ITEMS * count
    return ITEMS_FIRST if large and count >= MANY_PLACES and sizes[0] > 1 else AUTO


def _items_first(
    sizes: tuple[int, int], known: PublicCatalogue, kbar: int | None, max_items: int | None, **parameters: Any
) -> ItemsFirst:
    if max_items is not None:
        raise BadParameter(f"{ITEMS_FIRST} has no option max_items_per_unit: name the mechanism that has it.")
    return ItemsFirst.of(
        parameters["count"],
        positive("epsilon", parameters["epsilon"]),
        (probability if known.items is None else below_one)("delta", parameters["delta"]),
        Neighbors.parse(parameters["neighbors"]),
        sizes=sizes,
        catalogue_size=None if known.items is None else len(known.items),
        kept=None if kbar is None else public_count("kbar", kbar),
    )


def _discover(
    sizes: tuple[int, int], known: PublicCatalogue, kbar: int | None, max_items: int | None, **parameters: Any
) -> Discover:
    if known.is_given:
        raise BadParameter(f"{DISCOVER} is for items that are not public: leave the catalogue out, or the mechanism.")
    if kbar is not None:
        raise BadParameter(f"{DISCOVER} has no option kbar: it keeps as many items as it finds.")
    return Discover.of(
        parameters["count"],
        positive("epsilon", parameters["epsilon"]),
        _some_delta(parameters["delta"]),
        Neighbors.parse(parameters["neighbors"]),
        sizes=sizes,
        items_per_unit=items_per_unit(max_items),
    )


def _some_delta(delta: Any) -> Fraction:
    """δ above 0; BadParameter that says what else would do."""
    found = below_one("delta", delta)
    if not found:
        raise BadParameter(NO_DELTA)
    return found


def items_per_unit(wanted: int | None) -> int:
    """How many of its items a unit may name in a discovery; BadParameter for what is no such number."""
    most = ITEMS_PER_UNIT if wanted is None else whole("max_items_per_unit", wanted)
    if most > MOST_ITEMS_PER_UNIT:
        raise BadParameter(f"max_items_per_unit must be at most {MOST_ITEMS_PER_UNIT:,} where items are discovered.")
    return most


def _itemsets_per_unit(max_items: int | None, sizes: tuple[int, int]) -> int | None:
    """How many itemsets of the sizes a unit of `max_items` items supports at most."""
    if max_items is None:
        return None
    supported = itemset_count(whole("max_items_per_unit", max_items), sizes)
    if not supported:
        raise BadParameter("max_items_per_unit must be at least the size of the itemsets.")
    return supported
