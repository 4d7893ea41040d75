"""What is asked of a run, checked before any data are read: what is chosen, what is released, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from dpmine.accounting.amounts import Amount
from dpmine.errors import BadParameter
from dpmine.itemsets.expected import BEST_SHARE, USUAL_UNITS, support_needed
from dpmine.itemsets.items_first import ITEMS_FIRST, ItemsFirst
from dpmine.itemsets.noisy_supports import MOST_ITEMS
from dpmine.itemsets.public_catalogue import PublicCatalogue, itemset_count
from dpmine.itemsets.rules import number_of_units
from dpmine.itemsets.sizes import Sizes, parse_sizes
from dpmine.parameters import below_one, positive, probability, public_count, whole
from dpmine.privacy import Neighbors
from dpmine.selection.engine import AUTO, advice, plain_name
from dpmine.selection.pure import NoisyMaxMechanism
from dpmine.selection.top_k.build import Built, build_top_k

if TYPE_CHECKING:
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee
    from dpmine.selection.top_k.top_k import TopK

MOST_PLACES = 100_000
"""Itemsets that one run may choose."""
MOST_RULES = 1_000_000
"""Rules that one run may be asked for: an item of an itemset is on either side, or on none."""
_TIMES_THE_ITEMS = 4  # by which a catalogue exceeds k where going by way of the items is worth its price
MANY_PLACES = 50
"""From here on "auto" goes by way of the items: docs/explanation/experiments.md has the measurements."""
SUPPORTS_SHARE = Fraction(1, 3)
"""Of ε, where the split is left to us: docs/explanation/experiments.md has the measurements."""
_K = "k (--top)"

_NO_CATALOGUE = (
    "{} chooses among all itemsets of a public catalogue, because the items seen in the data are private: give "
    "catalogue (--catalogue FILE), or give up privacy with catalogue='from-data' (--catalogue-from-data), or use a "
    "mechanism that needs no catalogue, such as large_margin."
)


@dataclass(frozen=True, slots=True)
class Budget:
    """How a run's budget is split: the parts add up to the guarantee.

    Attributes:
        selection: what choosing the itemsets costs.
        supports: what their noisy supports cost; None where none are released.
        rounds: how the selection's part is spent, in words.
    """

    selection: Amount
    supports: Amount | None
    rounds: str

    @property
    def total(self) -> Amount:
        """The sum."""
        return self.selection if self.supports is None else self.selection + self.supports

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        supports = None if self.supports is None else self.supports.to_dict()
        return {"selection": self.selection.to_dict(), "supports": supports, "rounds": self.rounds}

    def __str__(self) -> str:
        if self.supports is None:
            return f"selection: {self.rounds}"
        return f"selection {self.selection} ({self.rounds}); supports {self.supports}"


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
        budget: how the budget is split.
        subsets: whether the supports of all subsets are released, too, as rules need.
        units: a public number of units, which turns supports into shares.
    """

    sizes: tuple[int, int]
    catalogue: PublicCatalogue
    top_k: TopK
    requested: str
    reason: str
    max_items_per_unit: int | None
    budget: Budget
    subsets: bool
    units: int | None

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
    ) -> Request:
        """The arguments of `top_itemsets`. Raises BadParameter, NotPrivate or UnreadableFile (the catalogue)."""
        sizes = parse_sizes(size)
        count = whole(_K, k)
        if count > MOST_PLACES:
            raise BadParameter(f"{_K} must be at most {MOST_PLACES:,}.")
        selection, supports = _split(epsilon, release_support)
        if rules:
            _require_rules_possible(count, sizes, supports)
        public_units = None if units is None else number_of_units(units)
        known = PublicCatalogue.of(catalogue, sizes)
        candidates = known.candidates(sizes)
        if candidates is not None and count > candidates:
            raise BadParameter(f"{_K} must not exceed the {candidates} itemsets of the catalogue.")
        built = _built(
            mechanism,
            sizes,
            known,
            count=count,
            epsilon=selection,
            delta=delta,
            neighbors=neighbors,
            not_private=not_private,
            kbar=kbar,
            max_items_per_unit=_itemsets_per_unit(max_items_per_unit, sizes),
        )
        if built.top_k.needs_catalogue and not known.is_given:
            raise BadParameter(_NO_CATALOGUE.format(built.top_k.name))
        return cls(
            sizes,
            known,
            built.top_k,
            plain_name(mechanism),
            built.reason,
            max_items_per_unit,
            _budget(built.top_k, supports),
            rules,
            public_units,
        )

    @property
    def promise(self) -> Guarantee:
        """What the whole run promises, before the unit is known."""
        released = self.budget.supports
        promise = self.catalogue.promise(self.top_k.guarantee())
        return promise if released is None else promise.adding(released.epsilon)

    def advice(self) -> str:
        """What would have been needed for more to stand out: facts of the parameters, never of the data."""
        candidates = self.catalogue.candidates(self.sizes)
        if self.top_k.count == 1 and not isinstance(self.top_k, ItemsFirst):
            return advice(self.top_k.mechanism, candidates)
        lead = ceil(self.top_k.lead(candidates or 1))
        return (
            f"{self.top_k.name} needs the best {self.top_k.count} to lead {self.top_k.lead_over()} by about {lead:,}."
        )

    def doubt(self) -> str:
        """Why most of the list is expected to be noise, and what helps, from public parameters alone; else ""."""
        way = self.top_k.itemsets if isinstance(self.top_k, ItemsFirst) else self.top_k
        if not isinstance(way.mechanism, NoisyMaxMechanism):  # where nothing stands out, the others list nothing
            return ""
        items = self.top_k.items.count if isinstance(self.top_k, ItemsFirst) else len(self.catalogue.items or ())
        candidates = itemset_count(items, self.sizes)
        needed = support_needed(way.count, float(way.mechanism.scale), candidates) if candidates else 0
        units = USUAL_UNITS if self.units is None else self.units
        if needed * BEST_SHARE <= units:
            return ""
        assumed = " are assumed; --units N says how many there are" if self.units is None else ""
        return (
            f"fewer than half of the {way.count} listed are expected to be right unless the best has a support of "
            f"about {needed:,} or more ({units:,} units{assumed}). Noise fills the list otherwise: give a larger "
            "--epsilon, or a smaller --top."
        )


def _built(
    mechanism: str, sizes: tuple[int, int], known: PublicCatalogue, *, kbar: int | None, **parameters: Any
) -> Built:
    """The way that the mechanism's name stands for; with many places "auto" goes by way of the items."""
    name, count, cut = plain_name(mechanism), parameters["count"], parameters["max_items_per_unit"]
    pays = known.items is None or len(known.items) >= _TIMES_THE_ITEMS * count
    by_default = name == AUTO and count >= MANY_PLACES and sizes[0] > 1 and kbar is None and cut is None and pays
    if name == ITEMS_FIRST and cut is not None:
        raise BadParameter(f"{ITEMS_FIRST} has no option max_items_per_unit: name the mechanism that has it.")
    if name != ITEMS_FIRST and not by_default:
        candidates = known.candidates(sizes)
        return build_top_k(mechanism, candidates=candidates, kbar=kbar, **parameters)
    reason = (
        f"with {MANY_PLACES} places and more, items_first has mostly found more of the best itemsets than the others."
    )
    way = ItemsFirst.of(
        count,
        positive("epsilon", parameters["epsilon"]),
        (probability if known.items is None else below_one)("delta", parameters["delta"]),
        Neighbors.parse(parameters["neighbors"]),
        sizes=sizes,
        catalogue_size=None if known.items is None else len(known.items),
        kept=None if kbar is None else public_count("kbar", kbar),
    )
    return Built(way, reason if name == AUTO else "")


def _split(epsilon: Number, release_support: Number | str | None) -> tuple[Fraction, Fraction]:
    """ε for the selection and for the supports; "auto" divides what is given, a number adds to it; 0 for none."""
    total = positive("epsilon", epsilon)
    if release_support is None:
        return total, Fraction(0)
    if isinstance(release_support, str) and plain_name(release_support) == AUTO:
        return total * (1 - SUPPORTS_SHARE), total * SUPPORTS_SHARE
    return total, positive("release_support", release_support)


def _require_rules_possible(count: int, sizes: tuple[int, int], supports: Fraction) -> None:
    if not supports:
        raise BadParameter(
            "rules are made of released supports: give release_support (--release-support EPS, or auto), too."
        )
    if sizes[1] < 2:
        raise BadParameter("rules need itemsets of at least 2 items: give a larger size.")
    if sizes[1] > MOST_ITEMS:
        raise BadParameter(f"size must be at most {MOST_ITEMS} where the supports of all subsets are released.")
    if count * 3 ** sizes[1] > MOST_RULES:
        raise BadParameter(f"k itemsets of size r have up to k·3^r rules, and {MOST_RULES:,} are the most: give less.")


def _budget(top_k: TopK, supports: Fraction) -> Budget:
    return Budget(Amount(top_k.epsilon, top_k.delta), Amount(supports) if supports else None, top_k.rounds())


def _itemsets_per_unit(max_items: int | None, sizes: tuple[int, int]) -> int | None:
    """How many itemsets of the sizes a unit of `max_items` items supports at most."""
    if max_items is None:
        return None
    supported = itemset_count(whole("max_items_per_unit", max_items), sizes)
    if not supported:
        raise BadParameter("max_items_per_unit must be at least the size of the itemsets.")
    return supported
