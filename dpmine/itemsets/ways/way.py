"""What every way to choose a list of itemsets offers; `registry` knows them by name, and `auto` asks them.

A way is asked twice. The class says by public parameters whether it can be used, and whether it is expected to find
more than the others. An instance, with its budget, says what it guarantees and needs, and chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from dpmine.itemsets.ways.universe import itemset_count
from dpmine.options.names import AUTO
from dpmine.privacy import Guarantee
from dpmine.selection.top_k import OneShot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.supports import SupportRelease
    from dpmine.itemsets.ways.universe import Itemset, ItemsetUniverse
    from dpmine.privacy import Neighbors, Zcdp


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
        """The scale of the noise where all places are chosen at once, in units: what "auto" compares with `Noise`."""
        return float(OneShot.of(self.count, self.epsilon, self.delta, self.neighbors).mechanism.scale)


class Noise(IntEnum):
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

    itemsets: tuple[Itemset, ...]
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
        """The number of units that `needed` is about."""
        return ceil(self.lead())

    @abstractmethod
    def rounds(self) -> str:
        """How the budget is spent, in one phrase: facts of the parameters."""

    @abstractmethod
    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """At most `count` itemsets of the universe, or of its transactions."""
