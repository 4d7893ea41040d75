"""All k itemsets of a list at once, by the joint exponential mechanism. Proof: docs/proofs/selection/joint.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, ClassVar, Self

from dpmine.itemsets.ways.way import Chosen, Way
from dpmine.privacy import Zcdp, decimal
from dpmine.selection.distributions.joint import share_of_best_chosen
from dpmine.selection.mechanisms.joint import JointExponential
from dpmine.selection.recommend import Shape, least, stylised
from dpmine.selection.top_k import HALF

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms

JOINT = "joint"
MOST_PLACES = 1000
"""Of a list: its noise grows with k, so that other ways find more of far shorter ones."""


@dataclass(frozen=True, slots=True)
class Joint(Way):
    """A list s of k itemsets of a public catalogue, with P(s) ∝ exp(−r g(s)); ε-private, without a δ.

    g(s) = max_i (c_(i) − c(s_i)) is how far a place falls short of the support that it could have at best. r = ε/4, or
    ε/2 under add_remove; for a single itemset it is ε/2, or ε, and this is the exponential mechanism. It finds more
    than one shot where the k best lead clearly, k ≤ 20 and δ = 0, and less where many itemsets are nearly as good.
    Source: Gillenwater, Joseph, Munoz & Ribero 2022.
    """

    candidates: int | None

    counts_deep: ClassVar[bool] = True

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Where itemsets can be listed, and the list is short."""
        if not terms.has_catalogue:
            return (
                f"{JOINT} chooses among all itemsets of a public catalogue: give catalogue (`catalogue=FILE`), or use "
                "a mechanism that needs no catalogue, such as discover."
            )
        if terms.kbar is not None or terms.max_items_per_unit is not None:
            return f"{JOINT} has no option kbar or max_items_per_unit: leave them out."
        if terms.count > MOST_PLACES:
            return f"{JOINT} lists at most {MOST_PLACES:,} itemsets: ask for fewer, or use items_first."
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
    def mechanism(self) -> JointExponential:
        """What chooses."""
        return JointExponential(self.count, self.epsilon, self.neighbors)

    @property
    def name(self) -> str:
        """Its own."""
        return JOINT

    @property
    def zcdp(self) -> Zcdp:
        """ε²/8: the privacy loss lies in an interval of length ε."""
        return Zcdp(self.epsilon**2 / 8, Fraction(0))

    def lead(self) -> float:
        """(ln(K!/(K − k)!) + 3)/r: all other sequences weigh at most e^(−r lead) each."""
        listed = max(self.candidates or 1, self.count)
        return (sum(log(listed - place) for place in range(self.count)) + 3) / float(self.mechanism.rate)

    def lead_over(self) -> str:
        """All others."""
        return "all others"

    def right_from(self) -> int:
        """Where supports fall off by a power law."""
        listed, rate = max(self.candidates or 0, self.count), float(self.mechanism.rate)
        if not self.candidates:
            return 0

        def half_is_right(support: int) -> bool:
            profile = stylised(Shape.POWER_LAW, support / Shape.POWER_LAW.top, listed)
            return share_of_best_chosen(profile, self.count, rate) >= HALF

        return least(half_is_right, start=1)

    def rounds(self) -> str:
        """Once for all places."""
        return f"all {self.count:,} places at once at ε = {decimal(self.epsilon)}"

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Out of all itemsets of the universe."""
        return Chosen(self.mechanism.choose(universe, bits=bits))
