"""What is asked of a run, checked before any data are read: what is chosen and how, what is released and charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter
from dpmine.itemsets.release.budget_split import BudgetSplit
from dpmine.itemsets.release.rules import number_of_units
from dpmine.itemsets.release.supports import MOST_ITEMS
from dpmine.itemsets.request.catalogue import PublicCatalogue, Sizes, parse_sizes
from dpmine.itemsets.ways.discovery import DISCOVER, Discover, items_per_unit
from dpmine.itemsets.ways.items_first import ITEMS_FIRST, ItemsFirst
from dpmine.itemsets.ways.universe import itemset_count
from dpmine.options.names import AUTO, plain_name
from dpmine.parameters import below_one, count_or_share, least_count, positive, probability, public_count, whole
from dpmine.privacy import Neighbors, Zcdp
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.recommend import unknown
from dpmine.selection.top_k import NO_DELTA, Built, build_top_k

if TYPE_CHECKING:
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee
    from dpmine.selection.top_k import TopK


MOST_PLACES = 100_000
"""Itemsets that one run may choose."""
MOST_RULES = 1_000_000
"""Rules that one run may be asked for: an item of an itemset is on either side, or on none."""
SUPPORTS_SHARE = Fraction(1, 3)
"""Of ε, where the split is left to us: docs/explanation/measured/itemset_lists.md has the measurements."""
_TIMES_THE_ITEMS = 4  # by which a catalogue exceeds k where choosing the items first gains more than it uses
MANY_PLACES = 50
"""From here on "auto" goes by way of a catalogue's items: docs/explanation/measured/itemset_lists.md compares."""
DISCOVERED_PLACES = {Neighbors.REPLACE_ONE: 10, Neighbors.ADD_REMOVE: 14}
"""From here on "auto" discovers the items of an unknown catalogue: docs/explanation/measured/itemset_lists.md compares.

Limited domain gains more from add_remove, which halves all of its noise.
"""
_REASONS = {
    ITEMS_FIRST: (
        f"auto uses {ITEMS_FIRST}: in lists of {MANY_PLACES} or more, it has mostly found more of the best itemsets "
        "than other mechanisms."
    ),
    DISCOVER: (
        f"auto uses {DISCOVER}: without a catalogue, in lists of {DISCOVERED_PLACES[Neighbors.REPLACE_ONE]} or more "
        f"({DISCOVERED_PLACES[Neighbors.ADD_REMOVE]} under add-remove), it has mostly found more of the best itemsets "
        "than other mechanisms."
    ),
}
_K = "`k`"
_RELEASE = "give release_support (`release_support=EPS`, or auto), too."
_NO_CATALOGUE = (
    "{} chooses among all itemsets of a public catalogue, because the items seen in the data are private: give "
    "catalogue (`catalogue=FILE`), or give up privacy with `catalogue='from-data'`, or use a "
    "mechanism that needs no catalogue, such as large_margin."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """ε and the supports' part as they were given, and the arguments of `build_way` beside ε."""

    epsilon: Fraction
    release_support: Number | str | None
    way: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """The top itemsets of a size, and perhaps their supports.

    Attributes:
        sizes: the smallest and the largest size.
        catalogue: what is public about the items.
        top_k: what chooses.
        requested: the mechanism that was asked for.
        reason: why "auto" takes its mechanism; else "".
        max_items_per_unit: to which every unit is cut before anything is counted; None for no cut.
        split: how the budget is split.
        subsets: whether the supports of all subsets are released, too, as rules need.
        units: a public number of units, which turns supports into shares.
        min_support: the least noisy support that is listed; None for those that are certainly no noise around 0.
        asked: from which another way can be built, to be compared.
    """

    sizes: tuple[int, int]
    catalogue: PublicCatalogue
    top_k: TopK
    requested: str
    reason: str
    max_items_per_unit: int | None
    split: BudgetSplit
    subsets: bool
    units: int | None
    min_support: int | None
    asked: Asked

    @classmethod
    def of(
        cls,
        *,
        k: int,
        size: Sizes,
        epsilon: Number,
        delta: Number,
        mechanism: str,
        neighbors: str | Neighbors,
        catalogue: Any,
        kbar: int | None,
        max_items_per_unit: int | None,
        release_support: Number | str | None,
        rules: bool,
        units: int | None,
        not_private: bool,
        min_support: Number | None = None,
    ) -> Request:
        """The arguments of `top_itemsets`. Raises BadParameter, NotPrivate or UnreadableFile (the catalogue)."""
        requested, sizes = plain_name(mechanism), parse_sizes(size)
        count = whole(_K, k)
        if count > MOST_PLACES:
            raise BadParameter(f"{_K} must be at most {MOST_PLACES:,}.")
        total = positive("epsilon", epsilon)
        selection, supports = _split(total, release_support)
        if rules:
            _require_rules_possible(count, sizes, supports)
        public_units = None if units is None else number_of_units(units)
        least = _least_support(min_support, supports, public_units)
        known = PublicCatalogue.of(catalogue, sizes)
        candidates = known.candidates(sizes)
        if candidates is not None and count > candidates:
            raise BadParameter(
                f"{_K} must not exceed the {candidates} itemsets of the catalogue: give at most `k={candidates}`."
            )
        way: dict[str, Any] = {
            "count": count,
            "delta": delta,
            "neighbors": Neighbors.parse(neighbors),
            "not_private": not_private,
            "kbar": kbar,
            "max_items_per_unit": max_items_per_unit,
        }
        built = build_way(requested, sizes, known, candidates, **way, epsilon=selection)
        top_k = built.top_k
        if top_k.needs_catalogue and not known.is_given:
            raise BadParameter(_NO_CATALOGUE.format(top_k.name))
        return cls(
            sizes,
            known,
            top_k,
            requested,
            built.reason,
            None if top_k.name == DISCOVER else max_items_per_unit,
            BudgetSplit.of(top_k, supports, below_one("delta", delta), _most_supports(count, sizes, subsets=rules)),
            rules,
            public_units,
            least,
            Asked(total, release_support, way),
        )

    @property
    def guarantee(self) -> Guarantee:
        """That of the whole run, before the unit is known."""
        total = self.split.total
        both = replace(
            self.top_k.guarantee(),
            epsilon=total.epsilon,
            delta=total.delta,
            concentrated=Zcdp(total.rho, total.approximate_delta),
        )
        return self.catalogue.weakened(both)

    def way(self, mechanism: str, epsilon: Fraction) -> TopK:
        """What would choose at another mechanism or another ε, all else as asked. Raises BadParameter."""
        asked = self.asked
        built = build_way(
            mechanism,
            self.sizes,
            self.catalogue,
            self.catalogue.candidates(self.sizes),
            **(asked.way if mechanism == self.top_k.name else {**asked.way, "kbar": None, "max_items_per_unit": None}),
            epsilon=_split(positive("epsilon", epsilon), asked.release_support)[0],
        )
        return built.top_k

    @property
    def epsilon(self) -> Fraction:
        """As it was given: that of the selection, or of all where the split was left to us."""
        return self.asked.epsilon


def _split(total: Fraction, release_support: Number | str | None) -> tuple[Fraction, Fraction]:
    """ε for the selection and for the supports; "auto" divides what is given, a number adds to it; 0 for none."""
    if release_support is None:
        return total, Fraction(0)
    if isinstance(release_support, str) and plain_name(release_support) == AUTO:
        return total * (1 - SUPPORTS_SHARE), total * SUPPORTS_SHARE
    try:
        return total, positive("release_support", release_support)
    except BadParameter as wrong:
        raise BadParameter(f"{str(wrong).rstrip('.')}, or auto.") from None


def _least_support(given: Number | None, supports: Fraction, units: int | None) -> int | None:
    """The count of units from which on itemsets are listed.

    Raises BadParameter for what is no support, where no supports are released, and for a share of unknown units.
    """
    if given is None:
        return None
    if not supports:
        raise BadParameter(
            "min_support is about released supports: give release_support (`release_support=EPS`, or auto), too."
        )
    least = count_or_share("min_support", given, least=0)
    if isinstance(least, int):
        return least
    if units is None:
        raise BadParameter(
            "min_support is a share of the units: give their number, units (`units=N`), or a count, such as 100."
        )
    return least_count(least, units)


def _most_supports(count: int, sizes: tuple[int, int], *, subsets: bool) -> int:
    """How many supports `count` itemsets have at most, with those of all their subsets where they are wanted."""
    return count * (2 ** sizes[1] - 1) if subsets else count


def _require_rules_possible(count: int, sizes: tuple[int, int], supports: Fraction) -> None:
    if not supports:
        raise BadParameter(
            "rules are made of released supports: give release_support (`release_support=EPS`, or auto), too."
        )
    if sizes[1] < 2:
        raise BadParameter("rules need itemsets of at least 2 items: give a larger size.")
    if sizes[1] > MOST_ITEMS:
        raise BadParameter(f"size must be at most {MOST_ITEMS} where the supports of all subsets are released.")
    if count * 3 ** sizes[1] > MOST_RULES:
        raise BadParameter(f"k itemsets of size r have up to k·3^r rules, and {MOST_RULES:,} are the most: give less.")


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
    chosen, known_names = name, (AUTO, DISCOVER, ITEMS_FIRST, *MECHANISMS)
    if name not in known_names:
        raise unknown(name, known_names)
    if name == AUTO and kbar is None:
        chosen = _by_items(parameters["count"], sizes, known, parameters["neighbors"])
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
    """What "auto" takes; "auto" itself where choosing the items first gains nothing."""
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
        parameters["neighbors"],
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
        parameters["neighbors"],
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
