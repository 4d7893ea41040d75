"""Losses of linear classifiers as functions of the margin z = y wᵀx, and the score that validates them.

Requires, of every loss: convex, continuously differentiable, |ℓ'| ≤ 1, ℓ' Lipschitz with constant `smoothness`.
The plain hinge loss has no such constant, so it is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats

_ROUNDOFF = 2.0**-53
_FEW = 32.0 * _ROUNDOFF
"""A few units in the last place of numbers up to 1; the exponential is taken to be right to some of them."""
NARROWEST = Fraction(1, 1000)
"""The least h: a narrower corner is hardly another loss, takes the solver longer, and rounding grows with 1/h."""
_LARGEST_MARGIN = 700.0  # e^z stays finite; the derivative beyond it is below 10^-300


class Loss(Protocol):
    """A loss of the margin; hashable, equal when it is the same function."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The name users know it by."""
        ...

    @property
    def smoothness(self) -> Fraction:
        """Lipschitz constant c of ℓ'."""
        ...

    @property
    def rounding(self) -> float:
        """Bound on what rounding does to `derivative` at a given float."""
        ...

    def value(self, margins: Floats) -> Floats:
        """ℓ(z), entry by entry."""
        ...

    def derivative(self, margins: Floats) -> Floats:
        """ℓ'(z), in [−1, 0]; rounding moves it by at most `rounding`."""
        ...

    def curvature(self, margins: Floats) -> Floats:
        """ℓ''(z) where it exists, in [0, c]."""
        ...


@dataclass(frozen=True, slots=True)
class LogisticLoss:
    """ℓ(z) = ln(1 + e^{−z}); c = 1/4."""

    @property
    def name(self) -> str:
        """The name users know it by."""
        return "logistic"

    @property
    def smoothness(self) -> Fraction:
        """1/4, reached at z = 0."""
        return Fraction(1, 4)

    @property
    def rounding(self) -> float:
        """A few units in the last place."""
        return _FEW

    def value(self, margins: Floats) -> Floats:
        """ln(1 + e^{−z})."""
        return np.logaddexp(0.0, -margins)

    def derivative(self, margins: Floats) -> Floats:
        """−1/(1 + e^z)."""
        return -1.0 / (1.0 + np.exp(np.minimum(margins, _LARGEST_MARGIN)))

    def curvature(self, margins: Floats) -> Floats:
        """p(1 − p) with p = 1/(1 + e^z)."""
        slope = self.derivative(margins)
        return -slope * (1.0 + slope)


@dataclass(frozen=True, slots=True)
class HuberLoss:
    """The hinge loss with its corner rounded over [1 − h, 1 + h]; c = 1/(2h).

    0 for z > 1 + h; (1 + h − z)²/(4h) for |1 − z| ≤ h; 1 − z below.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, section 3.4.2.
    """

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
    def name(self) -> str:
        """The name users know it by."""
        return "huber"

    @property
    def smoothness(self) -> Fraction:
        """1/(2h)."""
        return 1 / (2 * self.width)

    @property
    def rounding(self) -> float:
        """(1 + h)u/(2h) for the sum 1 + h, u = 2^−53, and a few units in the last place for the rest."""
        return (1.0 + float(self.width)) * float(self.smoothness) * _ROUNDOFF + _FEW

    def value(self, margins: Floats) -> Floats:
        """The three pieces as one: with t = min(2h, max(0, 1 + h − z)), t²/(4h) plus the straight part beyond it."""
        h = float(self.width)
        distance = np.maximum(0.0, 1.0 + h - margins)
        bent = np.minimum(distance, 2.0 * h)
        return np.asarray(bent * bent / (4.0 * h) + (distance - bent))

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
