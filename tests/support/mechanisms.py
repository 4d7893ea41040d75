"""Mechanisms with float parameters, for tests that compare them with other formulas; and the names of their kinds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.large_margin import LargeMarginTight
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.mechanism import Mechanism

M = TypeVar("M", bound="Mechanism")

PRIVATE = {name: kind for name, kind in MECHANISMS.items() if kind.private}
PURE = [name for name, kind in PRIVATE.items() if not kind.approximate]
APPROXIMATE = [name for name, kind in PRIVATE.items() if kind.approximate]
UNKNOWN_UNIVERSE = [name for name in APPROXIMATE if not PRIVATE[name].needs_bounded_units]
"""The approximate ones that need nothing of the data."""


def made(
    kind: type[M], epsilon: float, delta: float = 0.0, neighbors: Neighbors = Neighbors.ADD_REMOVE, **options: int
) -> M:
    """The mechanism; under `add_remove` ε is the rate of its scores, and 1/ε the scale of its noise."""
    return kind(Fraction(epsilon), Fraction(delta), neighbors, **options)


class TightEvenly(LargeMarginTight):
    """The same share of ε for the test at every rank."""

    def trial_share(self, rank: int) -> Fraction:
        return self.shares[1]


def tight_by(shares: tuple[float, float, float], share_of_delta: float = 0.5) -> type[LargeMarginTight]:
    """`LargeMarginTight` with another split of its budget."""

    class Split(LargeMarginTight):
        split = (Fraction(shares[0]), Fraction(shares[1]), Fraction(shares[2]))
        delta_share = Fraction(share_of_delta)

    return Split
