"""What is asked of a run, checked before any data are read: what is chosen and how, what is released and charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.release.rules import LiftOf, number_of_units
from dpmine.itemsets.release.supports import MOST_ITEMS, BudgetSplit, most_counts
from dpmine.itemsets.ways.way import OPTIONS, ListTerms, build_way
from dpmine.options.names import AUTO, plain_name
from dpmine.parameters import (
    Sizes,
    below_one,
    count_or_share,
    least_count,
    named,
    parse_sizes,
    positive,
    probability,
    public_count,
    truth,
    whole,
)
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    import pyarrow as pa

    from dpmine.itemsets.ways.way import Way
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee


MOST_PLACES = 100_000
"""Itemsets that one run may choose."""
MOST_RULES = 1_000_000
"""Rules that one run may be asked for: an item of an itemset is on either side, or on none."""
SUPPORTS_SHARE = Fraction(1, 3)
"""Of ε, where the split is left to us: docs/explanation/measured/itemset_lists.md has the measurements."""
_K = "`k`"
FROM_DATA = "from-data"
_LEAKS = "the catalogue was taken from the data, which shows that its items exist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The arguments of a call that chooses itemsets, as they were given, but for those that are about the data.

    `dpmine.top_itemset` explains them.
    """

    k: int = 10
    size: Sizes = 2
    epsilon: Number = 1
    delta: Number = 1e-6
    mechanism: str = AUTO
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE
    catalogue: object = None
    release_support: Number | str | None = None
    rules: bool = False
    lift_of: str | None = None
    min_support: Number | None = None
    units: int | None = None
    kbar: int | None = None
    max_items_per_unit: int | None = None
    not_private: bool = False

    def terms(self, items: pa.Array | None, sizes: tuple[int, int]) -> ListTerms:
        """Those of choosing, with all of ε; a way that is built gets its part. Raises BadParameter."""
        count = whole(_K, self.k)
        if count > MOST_PLACES:
            raise BadParameter(f"{_K} must be at most {MOST_PLACES:,}.")
        return ListTerms(
            count,
            positive("epsilon", self.epsilon),
            delta_of(self.delta),
            Neighbors.parse(self.neighbors),
            sizes,
            None if items is None else len(items),
            from_data=is_from_data(self.catalogue),
            options={name: public_count(name, given) for name in OPTIONS if (given := getattr(self, name)) is not None},
            mechanism=plain_name(self.mechanism),
            not_private=self.not_private,
            unions=self.lift_of is not None,
        )


@dataclass(frozen=True, slots=True)
class Request:
    """The top itemsets of a size, and perhaps their supports: a query that was checked, and what answers it.

    Attributes:
        query: what was asked.
        terms: those of choosing, with all of ε.
        catalogue: the public list of items; None where there is none.
        way: what chooses.
        split: how the budget is split.
        guarantee: that of the whole run, before the unit is known.
        units: a public number of units, which turns supports into shares.
        unions: whether supports of the units' unions are released, too, as lift needs where units have several baskets.
        min_support: the least noisy support that is listed; None for those that are certainly no noise around 0.
    """

    query: Query
    terms: ListTerms
    catalogue: pa.Array | None
    way: Way
    split: BudgetSplit
    guarantee: Guarantee
    units: int | None
    unions: bool
    min_support: int | None

    @classmethod
    def of(cls, query: Query) -> Request:
        """Raises BadParameter, NotPrivate or UnreadableFile (the catalogue)."""
        sizes = parse_sizes(query.size)
        items = public_items(query.catalogue)
        terms = query.terms(items, sizes)
        require_possible(terms)
        way, supports = _built(terms, query.release_support)
        has_supports = way.releases_supports or supports > 0
        if truth("rules", query.rules):
            _require_rules_possible(terms, has_supports=has_supports)
        units = None if query.units is None else number_of_units(query.units)
        unions = _lift_of_unions(query.lift_of, rules=query.rules, units=units)
        least = _least_support(query.min_support, units, has_supports=has_supports)
        most = most_counts(terms.count, sizes[1], subsets=query.rules, unions=unions)
        choice = way.guarantee()
        split = BudgetSplit.of(choice, way.rounds(), epsilon=supports, delta=terms.delta, most=most)
        guarantee = split.guarantee(choice)
        if terms.from_data:
            guarantee = guarantee.without_privacy(_LEAKS)
        return cls(query, terms, items, way, split, guarantee, units, unions, least)

    @property
    def lists_all(self) -> bool:
        """Whether nothing is left out for a small support: where supports were not asked for, but came with the way."""
        return self.min_support is None and self.query.release_support is None

    @property
    def cut(self) -> int | None:
        """The number of items to which every unit is cut before anything is counted; None for no cut."""
        return None if self.way.finds_items else self.terms.options.get("max_items_per_unit")

    def another_way(self, mechanism: str, epsilon: Fraction) -> Way:
        """What would choose at another mechanism or another ε, all else as asked. Raises BadParameter."""
        terms = replace(self.terms, mechanism=mechanism, epsilon=positive("epsilon", epsilon))
        if mechanism != self.way.name:
            terms = replace(terms, options={})
        return _built(terms, self.query.release_support)[0]


def delta_of(given: Number) -> Fraction:
    """δ in [0, 1): 0 asks for a pure guarantee. Raises BadParameter."""
    delta = below_one("delta", given)
    return probability("delta", delta) if delta else delta


def public_items(catalogue: object) -> pa.Array | None:
    """The public list; None where there is none."""
    if catalogue is None or is_from_data(catalogue):
        return None
    from dpmine.itemsets.ingest.catalogue import read_catalogue

    return read_catalogue(catalogue)


def is_from_data(catalogue: object) -> bool:
    """Whether the items that are seen are asked for, which is not private."""
    return isinstance(catalogue, str) and catalogue == FROM_DATA


def require_possible(terms: ListTerms) -> None:
    """BadParameter where a public catalogue has fewer items than an itemset, or fewer itemsets than are wanted."""
    items, most = terms.catalogue_size, terms.candidates
    if items is not None and terms.sizes[1] > items:
        raise BadParameter(
            f"size must not exceed the {items} items of the catalogue: give at most that (`size={items}`), or a longer "
            "catalogue."
        )
    if most is not None and terms.count > most:
        raise BadParameter(f"{_K} must not exceed the {most} itemsets of the catalogue: give at most `k={most}`.")


def _built(terms: ListTerms, release_support: Number | str | None) -> tuple[Way, Fraction]:
    """The way with its part of ε, and the part of supports: 0 for none, and where the way has all and releases them."""
    selection, supports = _split(terms.epsilon, release_support)
    way = build_way(replace(terms, epsilon=selection))
    if supports and way.releases_supports:
        # by name: with more of ε, "auto" might take one that releases none
        whole = build_way(replace(terms, epsilon=selection + supports, mechanism=way.name))
        return replace(whole, reason=way.reason), Fraction(0)
    return way, supports


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


def _least_support(given: Number | None, units: int | None, *, has_supports: bool) -> int | None:
    """The count of units from which on itemsets are listed.

    Raises BadParameter for what is no support, where no supports are released, and for a share of unknown units.
    """
    if given is None:
        return None
    if not has_supports:
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


def _lift_of_unions(lift_of: str | None, *, rules: bool, units: int | None) -> bool:
    """Whether lift of the units' unions is asked for; BadParameter for an unknown name, and where there is no lift."""
    if lift_of is None:
        return False
    named(LiftOf, "lift_of", lift_of)
    if not rules:
        raise BadParameter(
            "lift_of is about rules: give release_support (`release_support=EPS`, or auto) and `rules`, too."
        )
    if units is None:
        raise BadParameter("lift_of needs a public number of units: give units (`units=N`), too.")
    return True


def _require_rules_possible(terms: ListTerms, *, has_supports: bool) -> None:
    largest = terms.sizes[1]
    if not has_supports:
        raise BadParameter(
            "rules are made of released supports: give release_support (`release_support=EPS`, or auto), too."
        )
    if largest < 2:
        raise BadParameter("rules need itemsets of at least 2 items: give a larger size.")
    if largest > MOST_ITEMS:
        raise BadParameter(f"size must be at most {MOST_ITEMS} where the supports of all subsets are released.")
    if terms.count * 3**largest > MOST_RULES:
        raise BadParameter(f"k itemsets of size r have up to k·3^r rules, and {MOST_RULES:,} are the most: give less.")
