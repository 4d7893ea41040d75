"""What is minimised: a regularised empirical risk, and everything about it that is public.

Notation: n records with ‖x‖₁ ≤ 1 and |y| ≤ 1, risk L(θ) = (1/n) Σ ℓ(θ, x_i, y_i) + (λ/2)‖θ‖², minimiser θ*.
Bounds are floats, rounded up. Proof: docs/proofs/models/excess_risk.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats

BLOCK = 16_384
"""Rows that are summed at a time: rounding grows with the length of the longest chain of additions."""


class Bounds(Protocol):
    """What one record, and rounding, can do to a risk: functions of n, p and λ alone."""

    @property
    def size(self) -> int:
        """The number n of records."""
        ...

    @property
    def dimension(self) -> int:
        """The number p of weights."""
        ...

    @property
    def ridge(self) -> float:
        """The regulariser λ."""
        ...

    @property
    def radius(self) -> float:
        """B: θ* lies in the ball of this radius, and hypotheses must, before their risk is looked at."""
        ...

    @property
    def trivial(self) -> float:
        """The excess risk of weights of 0 is at most this, whatever the data."""
        ...

    @property
    def rounding(self) -> float:
        """A bound on |computed − exact| of a gap, for hypotheses in the ball."""
        ...

    @property
    def distance(self) -> float:
        """How far one record moves the computed θ*, in ‖·‖₂."""
        ...

    def sensitivities(self, norms: Floats) -> Floats:
        """How far one record moves the computed gap of a hypothesis of each norm, at most B."""
        ...


class Objective(Protocol):
    """The risk on private data."""

    @property
    def bounds(self) -> Bounds:
        """The public side."""
        ...

    @property
    def minimiser(self) -> Floats:
        """θ*, shape (p,), as `Bounds.distance` allows for. Private."""
        ...

    def gaps(self, hypotheses: Floats) -> Floats:
        """L(θ*) − L(θ) for every row θ, shape (k,): minus the excess risk. Private."""
        ...


def additions(size: int) -> int:
    """The longest chain of rounded additions in a sum over n rows, taken block by block."""
    return min(size, BLOCK) + size // BLOCK + 3
