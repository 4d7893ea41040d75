"""All k itemsets of a list at once, out of a public catalogue, as a sequence or as a set.

Proofs: docs/proofs/selection/joint.md and lipschitz.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from dpmine.itemsets.ways.way import Chosen, Way
from dpmine.privacy import Zcdp, decimal
from dpmine.selection.distributions.at_once import share_of_best_chosen
from dpmine.selection.mechanisms.joint import JointExponential
from dpmine.selection.mechanisms.lipschitz import CanonicalLipschitz
from dpmine.selection.recommend import Shape, least, stylised
from dpmine.selection.top_k import HALF

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms
    from dpmine.selection.mechanisms.at_once import AtOnce


@dataclass(frozen=True, slots=True)
class ListAtOnce(Way):
    """A list s of k itemsets of a public catalogue, with P(s) ∝ exp(−r g(s)); ε-private, without a δ.

    g(s) is how far the list falls short of the best. r = ε/4, or ε/2 under add_remove; for a single itemset it is ε/2,
    or ε, and this is the exponential mechanism.
    """

    candidates: int | None

    name: ClassVar[str]
    counts_deep: ClassVar[bool] = True
    kind: ClassVar[type[AtOnce]]
    """What chooses."""
    most_places: ClassVar[int]
    """Of a list: its noise grows with k, so that other ways find more of far shorter ones."""

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Where itemsets can be listed, and the list is short."""
        name = cls.name
        if not terms.has_catalogue:
            return (
                f"{name} chooses among all itemsets of a public catalogue: give catalogue (`catalogue=FILE`), or use "
                "a mechanism that needs no catalogue, such as discover."
            )
        if terms.count > cls.most_places:
            return f"{name} lists at most {cls.most_places:,} itemsets: ask for fewer, or use items_first."
        return None

    @classmethod
    def only_by_name(cls, terms: ListTerms) -> bool:  # noqa: ARG003 - the protocol's signature
        """Always: on flat data it finds far less than one shot, and that the data are not flat is not public."""
        return True

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """All of ε; no δ is charged."""
        return cls(terms.count, terms.epsilon, Fraction(0), terms.neighbors, terms.candidates)

    @property
    def mechanism(self) -> AtOnce:
        """What chooses, with its budget."""
        return self.kind(self.count, self.epsilon, self.neighbors)

    @property
    def zcdp(self) -> Zcdp:
        """ε²/8: the privacy loss lies in an interval of length ε."""
        return Zcdp.of_range(self.epsilon)

    def lead(self) -> float:
        """(ln M + 3)/r for M lists: all others weigh at most e^(−r lead) each."""
        mechanism, listed = self.mechanism, max(self.candidates or 1, self.count)
        return (mechanism.outcomes(self.count).log_of_all(listed) + 3) / float(mechanism.rate)

    def lead_over(self) -> str:
        """All others."""
        return "all others"

    def right_from(self) -> int:
        """Where supports fall off by a power law."""
        if not self.candidates:
            return 0
        mechanism, listed = self.mechanism, max(self.candidates, self.count)
        outcomes, rate = mechanism.outcomes(self.count), float(mechanism.rate)

        def half_is_right(support: int) -> bool:
            profile = stylised(Shape.POWER_LAW, support / Shape.POWER_LAW.top, listed)
            return share_of_best_chosen(profile, outcomes, rate) >= HALF

        return least(half_is_right, start=1)

    def rounds(self) -> str:
        """Once for all places."""
        return f"all {self.count:,} places at once at ε = {decimal(self.epsilon)}"

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Out of all itemsets of the universe."""
        return Chosen(self.mechanism.choose(universe, bits=bits))


@dataclass(frozen=True, slots=True)
class Joint(ListAtOnce):
    """A sequence s of k itemsets: g(s) = max_i (c_(i) − c(s_i)), how far a place falls short of its best support.

    For k ≤ 20 and δ = 0 it finds more than one shot where the k best lead clearly. Where many itemsets are nearly as
    good, it finds less. Source: Gillenwater, Joseph, Munoz & Ribero 2022.
    """

    name: ClassVar[str] = "joint"
    kind: ClassVar[type[AtOnce]] = JointExponential
    most_places: ClassVar[int] = 1000


@dataclass(frozen=True, slots=True)
class Lipschitz(ListAtOnce):
    """A set S of k itemsets: g(S) = max(0, the best support outside − the least support inside).

    There are k! times fewer sets than sequences, but a single itemset that is far too rare spoils a set as it does a
    sequence. Source: Shekelyan & Loukides 2022.
    """

    name: ClassVar[str] = "lipschitz"
    kind: ClassVar[type[AtOnce]] = CanonicalLipschitz
    most_places: ClassVar[int] = 200

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Sorted by their items: the choice has no order."""
        return Chosen(tuple(sorted(ListAtOnce.choose(self, universe, bits=bits).itemsets)))
