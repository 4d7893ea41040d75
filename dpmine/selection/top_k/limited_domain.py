"""The k best of an unknown universe: the limited-domain mechanism in one shot.

Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Self, TypeVar

from dpmine.errors import BadParameter
from dpmine.privacy import short
from dpmine.selection.composition import bounded_range_rounds
from dpmine.selection.mechanisms.limited_domain import DEFAULT_KBAR, LimitedDomain
from dpmine.selection.top_k.base import TopK

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")

_KEPT_A_PLACE = 100


@dataclass(frozen=True, slots=True)
class LimitedDomainTopK(TopK):
    """The k largest of c_i + Gumbel(u/ε_0) over the k̄ best candidates, up to where "nothing" comes.

    "Nothing" has the score c(k̄+1) + u + (u/ε_0) ln(k̄/δ_1), u = 2, or 1 under add_remove, and noise as all have; a
    dummy that comes takes its place, and is left out. δ_1 is paid once for all places.
    Source: Durfee & Rogers 2019, Algorithm 1, with dummies.
    """

    round_epsilon: Fraction
    slack: Fraction
    kbar: int

    @classmethod
    def of(cls, count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, kbar: int | None = None) -> Self:
        """δ_1 is all of δ where the rounds add up without any, else half of it; one round has exactly (ε, δ).

        k̄ is 100k unless given, for k > 1: docs/explanation/experiments.md compares.
        Raises BadParameter where fewer candidates are kept than wanted.
        """
        kept = kbar or (DEFAULT_KBAR if count == 1 else _KEPT_A_PLACE * count)
        if kept < count:
            raise BadParameter("kbar must be at least the number of candidates wanted: they come out of those kept.")
        rounds = bounded_range_rounds(count, epsilon, delta / 2 if count > 1 else Fraction(0))
        return cls(count, epsilon, delta, neighbors, rounds.round_epsilon, delta - rounds.delta, kept)

    @property
    def mechanism(self) -> LimitedDomain:
        """At ε_0 and δ_1."""
        return LimitedDomain(self.round_epsilon, self.slack, self.neighbors, self.kbar)

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most `count` candidates."""
        draws = self.mechanism.draws(universe, self.count, bits=bits)
        return tuple(candidate for candidate in draws if candidate is not None)

    def lead(self, candidates: int) -> float:
        """Above the (k̄+1)-th score: what beats "nothing", k times."""
        return self.mechanism.lead(candidates) + log(self.count) * float(self.mechanism.scale)

    def rounds(self) -> str:
        """As one mechanism for each place, and δ_1 once."""
        return (
            f"{self.count} rounds of the exponential mechanism at ε = {short(self.round_epsilon)} among the "
            f"{self.kbar:,} best, and δ = {short(self.slack)} once for leaving out the others"
        )
