"""What every way to choose a list of itemsets offers; which one a name stands for, and what "auto" takes.

A way is asked twice. The class says by public parameters whether it can be used, and whether it is expected to find
more than the others. An instance, with its budget, says what it guarantees and needs, and chooses. "auto" asks the
ways in the order of `dpmine.options.names`.

Every mechanism out of `dpmine.selection` is a way, too: it chooses one itemset alone, k in one shot, or one after the
other. Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from enum import IntEnum
from math import ceil
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from dpmine.errors import BadParameter
from dpmine.itemsets.ways.universe import itemset_count
from dpmine.options import names
from dpmine.options.names import AUTO
from dpmine.privacy import Guarantee
from dpmine.selection.advice import needed
from dpmine.selection.recommend import MECHANISMS, no_option, unknown
from dpmine.selection.top_k import OneShot, build_top_k, in_one_shot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.supports import SupportRelease
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.privacy import Neighbors, Zcdp
    from dpmine.selection.top_k import TopK


OPTIONS = ("kbar", "max_items_per_unit")
"""How many candidates or items are kept; of a unit's items, how many may count or be named. Public numbers."""


@dataclass(frozen=True, slots=True)
class ListTerms:
    """What is asked of a way, all of it public and read exactly.

    Attributes:
        count: how many itemsets, k ≥ 1.
        epsilon: ε > 0 of the choice.
        delta: δ in [0, 1) of the choice.
        neighbors: the relation.
        sizes: the smallest and the largest size.
        catalogue_size: how many items the public catalogue has; None where there is none.
        from_data: whether the items seen in the data are taken for public, which is not private.
        options: those that some ways alone have, where they are given; see `OPTIONS`.
        mechanism: the way's name, or the mechanism's.
        not_private: whether what is not private was opted in to.
        unions: whether supports of the units' unions are to be released, too.
    """

    count: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    sizes: tuple[int, int] = (2, 2)
    catalogue_size: int | None = None
    from_data: bool = False
    options: Mapping[str, int] = field(default_factory=dict)
    mechanism: str = AUTO
    not_private: bool = False
    unions: bool = False

    @property
    def has_catalogue(self) -> bool:
        """Whether candidates can be listed."""
        return self.from_data or self.catalogue_size is not None

    @property
    def candidates(self) -> int | None:
        """How many itemsets the public catalogue allows; None where there is none."""
        return None if self.catalogue_size is None else itemset_count(self.catalogue_size, self.sizes)

    def noise_of_one_shot(self) -> float:
        """Scale of the noise where all places are chosen at once, in units: "auto" compares it with `NoiseLevel`."""
        return float(OneShot.of(self.count, self.epsilon, self.delta, self.neighbors).mechanism.scale)


class NoiseLevel(IntEnum):
    """Scales of one shot, in units, where what finds most changes: docs/explanation/measured/short_lists.md."""

    VERY_LOW = 10
    LOW = 20
    HIGH = 45


class Chosen(NamedTuple):
    """What a way chose.

    Attributes:
        itemsets: best first; fewer than k where nothing else stands out.
        supports: noisy supports of sets of items (no codes), where the way releases them with its choice: those of
            `itemsets` and of all their subsets, monotone, for rules may be made of them. They are charged with it.
    """

    itemsets: tuple[CodedItemset, ...]
    supports: SupportRelease | None = None


@dataclass(frozen=True, slots=True)
class Way(ABC):
    """A private choice of at most `count` itemsets, of one size or several, best first.

    `epsilon` and `delta` are those of the whole list; `reason` is why "auto" took it, "" where it was named.
    """

    count: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    reason: str = field(default="", kw_only=True, compare=False)

    options: ClassVar[frozenset[str]] = frozenset()
    """Which of `OPTIONS` it has; others are rejected before it is asked."""
    finds_items: ClassVar[bool] = False
    """Whether it finds the items by itself; `max_items_per_unit` then says how many a unit may name, and cuts no data.
    """
    releases_supports: ClassVar[bool] = False
    """Whether noisy supports come with its choice, at no further charge."""
    counts_deep: ClassVar[bool] = False
    """Whether it counts itemsets far below those that it lists, which takes long where they are large."""

    @classmethod
    @abstractmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Why it cannot be used on these terms, as a sentence; None where it can."""

    @classmethod
    def only_by_name(cls, terms: ListTerms) -> bool:  # noqa: ARG003 - the protocol's signature
        """Whether "auto" leaves it out on such terms, though it could be used."""
        return False

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:  # noqa: ARG003 - the protocol's signature
        """Why "auto" takes it, where measurements found more of the best itemsets by it; else None."""
        return None

    @classmethod
    @abstractmethod
    def of(cls, terms: ListTerms) -> Self:
        """With its budget. Requires: it suits the terms. Raises BadParameter where ε or δ are too small for it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As users give it."""

    @property
    @abstractmethod
    def zcdp(self) -> Zcdp:
        """What the whole list is charged under zCDP."""

    def guarantee(self) -> Guarantee:
        """That of one run."""
        return Guarantee(self.epsilon, self.delta, self.neighbors, concentrated=self.zcdp)

    @property
    def lists_what_stands_out(self) -> bool:
        """Whether places stay empty where no candidate leads, in place of being filled by noise."""
        return False

    @property
    def weighs_pairs(self) -> bool:
        """Whether its leads and supports are mostly in units that count in full: others count less."""
        return False

    @abstractmethod
    def lead(self) -> float:
        """How far the k best must lead the others, in units, to be the ones chosen with probability about 0.95."""

    @abstractmethod
    def lead_over(self) -> str:
        """Whom the best itemsets have to lead: what `lead` is measured against."""

    @abstractmethod
    def right_from(self) -> int:
        """The least support of the best itemset at which half of the list is expected to be right; 0 if unknown."""

    def needed(self) -> str:
        """What the best itemsets would have needed where fewer were chosen, as a sentence: facts of the parameters."""
        return f"{self.name} needs the best {self.count} to lead {self.lead_over()} by about {ceil(self.lead()):,}."

    def enough(self) -> int:
        """The number of units that `needed` is about: where items are found first, the support of the best itemset."""
        return self.right_from() if self.finds_items else ceil(self.lead())

    @abstractmethod
    def rounds(self) -> str:
        """How the budget is spent, in one phrase: facts of the parameters."""

    @abstractmethod
    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """At most `count` itemsets of the universe, or of its transactions."""


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
