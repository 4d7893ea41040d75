"""How far apart two laws are: the privacy profile, and the ε that they show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import FloatArray

_LARGEST_EXPONENT = 700.0  # of e^ε in float64
_STEPS = 60  # bisection steps: more than the bits of a float64


@dataclass(frozen=True, slots=True)
class Precision:
    """What a float64 law is trusted with: the true mass of an outcome is in p (1 ± relative) ± absolute.

    Measured figures count only what exceeds that, so that rounding never accuses a mechanism that is tight.
    """

    relative: float
    absolute: float


DIRECT = Precision(1e-9, 1e-18)
"""Closed forms, and quadratures of one smooth piece: found within 1e-11 of the exact e^ε where a pair is tight."""
SEARCHED = Precision(1e-9, 1e-10)
"""Laws of a search: their quadrature lets kinks pass that lie under a mass of 1e-11 (see laws/first_stop.py)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The guarantee that is claimed: (ε, δ), as floats."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst seen: δ at the claimed ε, and the least ε at the claimed δ. Lower bounds on the true values."""

    delta: float = 0.0
    epsilon: float = 0.0

    @property
    def rank(self) -> tuple[float, float]:
        """What a search for the worst pair maximises: ε first, because δ may be 0 for long."""
        return self.epsilon, self.delta

    def worst(self, other: Finding) -> Finding:
        """The larger of each figure."""
        return Finding(max(self.delta, other.delta), max(self.epsilon, other.epsilon))


NOTHING = Finding()
"""Nothing seen yet."""


def privacy_profile(left: FloatArray, right: FloatArray, epsilon: float, precision: Precision = DIRECT) -> float:
    """δ(ε) = Σ max(0, P − e^ε P') over outcomes, in the direction from `left` to `right`, both of shape (outcomes,).

    Rounded down by what the laws' precision leaves open: never above the true value.
    Source: Balle, Barthe & Gaboardi 2018, section 2 (the hockey-stick divergence).
    """
    factor = math.exp(min(epsilon, _LARGEST_EXPONENT))
    least = left * (1 - precision.relative) - precision.absolute
    most = right * (1 + precision.relative) + precision.absolute
    return float(np.maximum(0.0, least - factor * most).sum())


def measured_epsilon(
    left: FloatArray, right: FloatArray, delta: float, *, precision: Precision = DIRECT, least: float = 0.0
) -> float:
    """The least ε ≥ `least` with δ(ε) ≤ `delta`, from `left` to `right`; never above the true one.

    A `least` already known from elsewhere saves the search where this pair shows no more.
    """
    low, high = least, max(least, -math.log(precision.absolute))  # at the upper end nothing is left of any outcome
    if privacy_profile(left, right, low, precision) <= delta:
        return least
    for _ in range(_STEPS):
        middle = (low + high) / 2
        holds = privacy_profile(left, right, middle, precision) <= delta
        low, high = (low, middle) if holds else (middle, high)
    return low


def measure(
    left: FloatArray, right: FloatArray, claim: Claim, *, precision: Precision, known: Finding = NOTHING
) -> Finding:
    """The worst of what is `known` and of what the pair of laws shows from `left` to `right`."""
    return Finding(
        max(known.delta, privacy_profile(left, right, claim.epsilon, precision)),
        measured_epsilon(left, right, claim.delta, precision=precision, least=known.epsilon),
    )


def measure_both(
    left: FloatArray, right: FloatArray, claim: Claim, *, precision: Precision, known: Finding = NOTHING
) -> Finding:
    """`measure` in both directions."""
    forth = measure(left, right, claim, precision=precision, known=known)
    return measure(right, left, claim, precision=precision, known=forth)
