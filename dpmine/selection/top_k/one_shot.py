"""The exponential mechanism k times, without replacement, in one shot. Proof: docs/proofs/selection/composition.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Self, TypeVar

from dpmine.privacy import short
from dpmine.selection.composition import bounded_range_rounds
from dpmine.selection.draws.noisy_order import noisy_order
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.top_k.base import TopK

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")


@dataclass(frozen=True, slots=True)
class OneShot(TopK):
    """The k largest of c_i + Gumbel(u/ε_0), in order; u = 2, or 1 under add_remove.

    The same law as k rounds of the exponential mechanism at ε_0, each on what the earlier ones left: only Gumbel noise
    has that property. Each round is ε_0-private and ε_0-bounded-range.
    Source: Durfee & Rogers 2019, Lemma 4.2.
    """

    round_epsilon: Fraction

    @classmethod
    def of(cls, count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> Self:
        """The largest ε_0 for the whole (ε, δ); no δ is charged where basic composition is as good."""
        rounds = bounded_range_rounds(count, epsilon, delta)
        return cls(count, rounds.epsilon, rounds.delta, neighbors, rounds.round_epsilon)

    @property
    def mechanism(self) -> Exponential:
        """At ε_0."""
        return Exponential(self.round_epsilon, Fraction(0), self.neighbors)

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """`count` candidates, or all where there are fewer; a place that a dummy takes is left out."""
        order = noisy_order(universe, self.mechanism.noise(), count=self.count, bits=bits)
        return tuple(candidate for candidate in order if candidate is not None)

    def lead(self, candidates: int) -> float:
        """Scale × (ln(kK) + 3): in each of k rounds the others' weights sum to K e^{−lead/b}."""
        return self.mechanism.lead(candidates) + float(self.mechanism.scale) * log(self.count)

    def rounds(self) -> str:
        """As one mechanism for each place."""
        return f"{self.count} rounds of the exponential mechanism at ε = {short(self.round_epsilon)}"
