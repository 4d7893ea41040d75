"""Training examples, and losses of linear classifiers as functions of their margins z = y wᵀx.

Requires, of every loss: convex, continuously differentiable, |ℓ'| ≤ 1, ℓ' Lipschitz with constant `smoothness`.
The plain hinge loss has no such constant, so it is not among them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.linear.sensitivities import ROUNDOFF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.models.entries import Floats


_FEW = 32.0 * ROUNDOFF
"""A few units in the last place of numbers up to 1; the exponential is taken to be right to some of them."""
NARROWEST = Fraction(1, 1000)
"""The least h: a narrower corner is hardly another loss, takes the solver longer, and rounding grows with 1/h."""
_LARGEST_MARGIN = 700.0  # e^z stays finite; the derivative beyond it is below 10^-300


class Loss:
    """A loss of the margin; hashable, equal when it is the same function."""

    __slots__ = ()
    name: ClassVar[str]
    """The name users know it by."""
    fading: ClassVar[bool] = False
    """Whether ℓ'' ≤ a(1 − a) where ℓ' = −a: the loss bends little where it pulls hard."""

    @property
    def columns(self) -> int:
        """Weights for each column of the rows."""
        return 1

    @property
    def chain(self) -> int:
        """Rounded operations on the way from weights and a row to ℓ', beside those of one margin."""
        return 0

    @property
    @abstractmethod
    def smoothness(self) -> Fraction:
        """Lipschitz constant c of ℓ'."""

    @property
    def bend(self) -> Fraction:
        """Bound on the trace of a Hessian by the margins: c where there is one margin."""
        return self.smoothness

    @property
    def rounding(self) -> float:
        """Bound on what rounding does to `derivative` at a given float: here a few units in the last place."""
        return _FEW

    @abstractmethod
    def derivative(self, margins: Floats) -> Floats:
        """ℓ'(z), in [−1, 0]; rounding moves it by at most `rounding`."""

    @abstractmethod
    def curvature(self, margins: Floats) -> Floats:
        """ℓ''(z) where it exists, in [0, c]."""


@dataclass(frozen=True, slots=True)
class LogisticLoss(Loss):
    """ℓ(z) = ln(1 + e^{−z}); c = 1/4."""

    name: ClassVar[str] = "logistic"
    fading: ClassVar[bool] = True

    @property
    def smoothness(self) -> Fraction:
        """1/4, reached at z = 0."""
        return Fraction(1, 4)

    def value(self, margins: Floats) -> Floats:
        """ln(1 + e^{−z}), right to a few roundings of numbers up to 1 + |z|; several times faster than logaddexp."""
        return np.asarray(np.log(1.0 + np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0))

    def derivative(self, margins: Floats) -> Floats:
        """−1/(1 + e^z)."""
        return -1.0 / (1.0 + np.exp(np.minimum(margins, _LARGEST_MARGIN)))

    def curvature(self, margins: Floats) -> Floats:
        """p(1 − p) with p = 1/(1 + e^z)."""
        slope = self.derivative(margins)
        return -slope * (1.0 + slope)


@dataclass(frozen=True, slots=True)
class CappedLogisticLoss(Loss):
    """ℓ(z) = 2 ln(1 + e^{−z}) for z ≥ 0, 2 ln 2 − z below; c = 1/2.

    Twice the logistic loss, without slopes beyond that at z = 0. Noise is for slopes of 1, and the logistic loss has
    1/2 where weights are small. So half of the noise would protect against records that do not exist.
    """

    name: ClassVar[str] = "capped"

    @property
    def smoothness(self) -> Fraction:
        """1/2, next to z = 0."""
        return Fraction(1, 2)

    def derivative(self, margins: Floats) -> Floats:
        """−min(1, 2/(1 + e^z))."""
        return -np.minimum(1.0, 2.0 / (1.0 + np.exp(np.minimum(margins, _LARGEST_MARGIN))))

    def curvature(self, margins: Floats) -> Floats:
        """2p(1 − p) with p = 1/(1 + e^z) for z > 0, 0 below."""
        shares = 1.0 / (1.0 + np.exp(np.clip(margins, 0.0, _LARGEST_MARGIN)))
        return np.where(margins > 0.0, 2.0 * shares * (1.0 - shares), 0.0)


@dataclass(frozen=True, slots=True)
class HuberLoss(Loss):
    """The hinge loss with its corner rounded over [1 − h, 1 + h]; c = 1/(2h).

    0 for z > 1 + h; (1 + h − z)²/(4h) for |1 − z| ≤ h; 1 − z below.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, section 3.4.2.
    """

    name: ClassVar[str] = "huber"
    width: Fraction
    """h ≥ 1/1000."""

    def __post_init__(self) -> None:
        """Raises BadParameter for a corner that is too narrow."""
        if self.width < NARROWEST:
            raise BadParameter(
                "huber must be at least 0.001: a narrower corner hardly changes the loss, and its rounding and the "
                "work of the solver grow without bound."
            )

    @property
    def smoothness(self) -> Fraction:
        """1/(2h)."""
        return 1 / (2 * self.width)

    @property
    def rounding(self) -> float:
        """(1 + h)u/(2h) for the sum 1 + h, u = 2^−53, and a few units in the last place for the rest."""
        return (1.0 + float(self.width)) * float(self.smoothness) * ROUNDOFF + _FEW

    def derivative(self, margins: Floats) -> Floats:
        """−min(1, max(0, (1 + h − z)/(2h)))."""
        h = float(self.width)
        return -np.clip((1.0 + h - margins) / (2.0 * h), 0.0, 1.0)

    def curvature(self, margins: Floats) -> Floats:
        """1/(2h) on the rounded corner, 0 elsewhere."""
        h = float(self.width)
        return np.where(np.abs(1.0 - margins) <= h, 1.0 / (2.0 * h), 0.0)


def ramp(margins: Floats) -> Floats:
    """g(z) = min(1, max(0, 1 − z)): Lipschitz with constant 1, values in [0, 1], g(0) = 1."""
    return np.clip(1.0 - margins, 0.0, 1.0)


_SMALLEST_BLOCK = 256
THINNING = 16
"""A thin sample has every sixteenth row."""


class Examples:
    """Rows y_i x_i with labels y_i ∈ {−1, 1} and exact norms ‖x_i‖₂ ≤ 1 (see `dpmine.models.linear.preprocessing`).

    All losses depend on the margin y wᵀx alone, so labels need no column of their own; a sign is exact in floats.
    """

    def __init__(self, signed: Floats, each: int = 1, weights: Floats | None = None) -> None:
        """`signed`: shape (n, d), n ≥ 1, float64; `each` consecutive rows are one unit's, zeros where it has fewer.

        `weights`, shape (n,), in (0, 1], multiply the losses of the rows; None: 1 for all.
        """
        self.signed = np.ascontiguousarray(signed, dtype=np.float64)
        self.each = each
        self.weights = weights

    @property
    def size(self) -> int:
        """The number n of examples."""
        return len(self.signed)

    @property
    def units(self) -> int:
        """The number of privacy units."""
        return self.size // self.each

    @property
    def dimension(self) -> int:
        """The length d of a row."""
        return int(self.signed.shape[1])

    def take(self, rows: slice | np.ndarray[tuple[int], np.dtype[np.intp]]) -> Examples:
        """The examples at those positions."""
        return Examples(self.signed[rows], self.each, None if self.weights is None else self.weights[rows])

    def weighed(self, values: Floats) -> Floats:
        """Values of the rows, shape (n,) or (n, k), times the rows' weights."""
        if self.weights is None:
            return values
        return np.asarray((values.T * self.weights).T)

    @cached_property
    def thinned(self) -> Examples:
        """Every sixteenth example: a rough picture, shared by every candidate that is trained on these."""
        return self.take(slice(None, None, THINNING))

    @cached_property
    def gram(self) -> Floats:
        """(1/n) Σ x xᵀ, shared as well."""
        return self.signed.T @ self.signed / self.size

    def margins(self, weights: Floats) -> Floats:
        """The margin y wᵀx of every row, shape (n,)."""
        return np.asarray(self.signed @ weights)

    def weighted_mean(self, weights: Floats) -> Floats:
        """(1/n) Σ weight_i · row_i, summed in blocks of about √n rows so that rounding grows with √n, not with n."""
        block = block_of(self.size)
        whole = self.size // block * block
        blocks = self.signed[:whole].reshape(-1, block, self.dimension)
        parts = np.matmul(weights[:whole].reshape(-1, 1, block), blocks)[:, 0, :]
        return np.asarray((parts.sum(axis=0) + weights[whole:] @ self.signed[whole:]) / self.size)


def additions(size: int) -> int:
    """The longest chain of rounded operations behind one entry of `weighted_mean` of n examples: public."""
    block = block_of(size)
    return block + size // block + 3


def block_of(size: int) -> int:
    """The number of rows that are summed at a time."""
    return max(_SMALLEST_BLOCK, isqrt(size))


def in_blocks(size: int) -> Iterator[slice]:
    """The rows of one block after the other."""
    block = block_of(size)
    return (slice(start, start + block) for start in range(0, size, block))
