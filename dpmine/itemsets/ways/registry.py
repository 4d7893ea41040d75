"""Which way a name stands for, and what "auto" takes: it asks the ways, in the order of `dpmine.options.names`.

Every mechanism out of `dpmine.selection` is a way, too: it chooses one itemset alone, k in one shot, or one after the
other. Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from dpmine.errors import BadParameter
from dpmine.itemsets.ways.universe import itemset_count
from dpmine.itemsets.ways.way import Chosen, Way
from dpmine.options import names
from dpmine.options.names import AUTO
from dpmine.selection.advice import needed
from dpmine.selection.recommend import MECHANISMS, no_option, unknown
from dpmine.selection.top_k import build_top_k, in_one_shot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms
    from dpmine.privacy import Guarantee, Zcdp
    from dpmine.selection.top_k import TopK

WAYS = {named.name: named for named in names.WAYS}
"""Those with a name of their own, loaded when they are needed; every mechanism is one, too."""
_OF_MECHANISMS = {option for kind in MECHANISMS.values() if not kind.needs_bounded_units for option in kind.options()}
"""Options of mechanisms that "auto" may take."""
_NO_CATALOGUE = (
    "{} chooses among all itemsets of a public catalogue, because the items seen in the data are private: give "
    "catalogue (`catalogue=FILE`), or give up privacy with `catalogue='from-data'`, or use a "
    "mechanism that needs no catalogue, such as large_margin."
)


@dataclass(frozen=True, slots=True)
class ByMechanism(Way):
    """What a mechanism chooses of all itemsets: `dpmine.selection.top_k` says how.

    Attributes:
        top_k: the choice.
        candidates: the number of public itemsets, None where there is no public list.
    """

    top_k: TopK
    candidates: int | None

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Where candidates can be listed, or need not be."""
        kind = MECHANISMS.get(terms.mechanism)
        listed = kind is None or terms.has_catalogue or not kind.needs_catalogue
        return None if listed else _NO_CATALOGUE.format(terms.mechanism)

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """By the mechanism of that name; for "auto" by the one that needs the smallest lead."""
        candidates = terms.candidates
        top_k = build_top_k(
            terms.mechanism,
            count=terms.count,
            epsilon=terms.epsilon,
            delta=terms.delta,
            neighbors=terms.neighbors,
            candidates=candidates,
            not_private=terms.not_private,
            options=_options(terms),
        )
        budget = top_k.count, top_k.epsilon, top_k.delta, top_k.neighbors
        return cls(*budget, top_k, candidates, reason=top_k.reason)

    @property
    def name(self) -> str:
        """The mechanism's."""
        return self.top_k.name

    @property
    def zcdp(self) -> Zcdp:
        """That of all rounds."""
        return self.top_k.zcdp

    def guarantee(self) -> Guarantee:
        """The mechanism's, which may be none."""
        return self.top_k.guarantee()

    @property
    def lists_what_stands_out(self) -> bool:
        """As the mechanism does."""
        return self.top_k.lists_what_stands_out

    def lead(self) -> float:
        """The mechanism's."""
        return self.top_k.lead(self.candidates or 1)

    def lead_over(self) -> str:
        """The mechanism's."""
        return self.top_k.lead_over()

    def right_from(self) -> int:
        """Where supports fall off by a power law."""
        return self.top_k.right_from(self.candidates or 0)

    def needed(self) -> str:
        """The lead; of a single itemset in the mechanism's own words."""
        if self.count == 1:
            return f"{needed(self.top_k.mechanism, self.candidates, noun='itemset')}."
        return Way.needed(self)

    def rounds(self) -> str:
        """The mechanism's."""
        return self.top_k.rounds()

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Out of all itemsets of the universe."""
        return Chosen(self.top_k.choose(universe, bits=bits))


def _options(terms: ListTerms) -> dict[str, int]:
    """As a mechanism takes them: a unit of n items supports at most as many itemsets as n items have."""
    options = dict(terms.options)
    if "max_items_per_unit" in options:
        options["max_items_per_unit"] = itemset_count(options["max_items_per_unit"], terms.sizes)
        if not options["max_items_per_unit"]:
            raise BadParameter("max_items_per_unit must be at least the size of the itemsets.")
    return options


def loaded_ways() -> dict[str, type[Way]]:
    """All ways by name."""
    return {name: named.load() for name, named in WAYS.items()}


def build_way(terms: ListTerms) -> Way:
    """The way that `terms.mechanism` stands for; of "auto", the one that says it is best, else a mechanism.

    "auto" asks the ways about lists alone: a single itemset is chosen by a mechanism.
    Raises BadParameter where there is none of that name, or it cannot be used; NotPrivate for "exact" without opt-in.
    """
    if terms.mechanism == AUTO:
        for each in _fit(terms) if terms.count > 1 else ():
            if advantage := each.advantage(terms):
                return replace(each.of(terms), reason=advantage)
        _require_options(terms, _OF_MECHANISMS)
        return ByMechanism.of(terms)
    if terms.mechanism not in {*WAYS, *MECHANISMS}:
        raise unknown(terms.mechanism, (AUTO, *sorted(WAYS), *MECHANISMS))
    kind: type[Way] = WAYS[terms.mechanism].load() if terms.mechanism in WAYS else ByMechanism
    _require_options(terms, MECHANISMS[terms.mechanism].options() if kind is ByMechanism else kind.options)
    if why_not := kind.suits(terms):
        raise BadParameter(why_not)
    return kind.of(terms)


def _fit(terms: ListTerms) -> Iterator[type[Way]]:
    """The ways with a name of their own that can be used."""
    fit = (kind for kind in loaded_ways().values() if terms.options.keys() <= kind.options)
    return (kind for kind in fit if kind.suits(terms) is None)


def _require_options(terms: ListTerms, options: Collection[str]) -> None:
    """BadParameter where an option is given that is none of these."""
    for option in terms.options:
        if option not in options:
            having = [way for way, kind in loaded_ways().items() if option in kind.options]
            raise no_option(terms.mechanism, option, having)


def rivals(terms: ListTerms) -> list[Way]:
    """What "auto" compares on these terms: ways, and mechanisms that choose in one shot."""
    fit = (kind for kind in _fit(terms) if not kind.only_by_name(terms))
    shots = in_one_shot(terms.delta, terms.candidates, terms.options)
    return [*(kind.of(terms) for kind in fit), *(ByMechanism.of(replace(terms, mechanism=name)) for name in shots)]
