"""The ways to choose a list of itemsets by name, and which one "auto" takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter
from dpmine.itemsets.by_items import ITEMS_FIRST, ItemsFirst
from dpmine.itemsets.discovery import DISCOVER, Discover, items_per_unit
from dpmine.itemsets.universe import itemset_count
from dpmine.parameters import below_one, positive, probability, public_count, whole
from dpmine.privacy import Neighbors
from dpmine.selection.select import AUTO
from dpmine.selection.top_k import NO_DELTA, Built, build_top_k

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.itemsets.universe import PublicCatalogue
    from dpmine.selection.top_k import TopK

_TIMES_THE_ITEMS = 4  # by which a catalogue exceeds k where going by way of the items is worth its price
MANY_PLACES = 50
"""From here on "auto" goes by way of the items of a public catalogue: docs/explanation/experiments.md compares."""
DISCOVERED_PLACES = {Neighbors.REPLACE_ONE: 10, Neighbors.ADD_REMOVE: 14}
"""From here on "auto" discovers the items of an unknown catalogue: docs/explanation/experiments.md compares.

Limited domain gains more from add_remove, which halves all of its noise.
"""
_REASONS = {
    ITEMS_FIRST: (
        f"with {MANY_PLACES} places and more, {ITEMS_FIRST} has mostly found more of the best itemsets than the others."
    ),
    DISCOVER: (
        f"without a catalogue and with {DISCOVERED_PLACES[Neighbors.REPLACE_ONE]} places and more "
        f"({DISCOVERED_PLACES[Neighbors.ADD_REMOVE]} under add_remove), {DISCOVER} has mostly found more of the best "
        "itemsets than the others."
    ),
}


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

    An unknown catalogue is discovered from 10 places on (14 under add_remove), a public one is cut from 50 on.
    """
    chosen = name
    if name == AUTO and kbar is None:
        chosen = _by_items(parameters["count"], sizes, known, Neighbors.parse(parameters["neighbors"]))
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


def _by_items(count: int, sizes: tuple[int, int], known: PublicCatalogue, neighbors: Neighbors) -> str:
    """What "auto" takes; itself where going by way of the items does not pay."""
    if not known.is_given:
        return DISCOVER if count >= DISCOVERED_PLACES[neighbors] else AUTO
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


def _itemsets_per_unit(max_items: int | None, sizes: tuple[int, int]) -> int | None:
    """How many itemsets of the sizes a unit of `max_items` items supports at most."""
    if max_items is None:
        return None
    supported = itemset_count(whole("max_items_per_unit", max_items), sizes)
    if not supported:
        raise BadParameter("max_items_per_unit must be at least the size of the itemsets.")
    return supported
