"""Zero-concentrated differential privacy (zCDP): what ρ and (ε, δ) say about each other, certified.

Every conversion is an infimum over Rényi orders α > 1, and each single order gives a valid bound. So the order is found
in floats, and the bound is computed at that order in balls, rounded to the safe side.
Proof: docs/proofs/zcdp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log, log1p
from typing import TYPE_CHECKING

from dpmine.exact.reals import Ball, above, below, exact_ball, logarithm
from dpmine.parameters import exact_share, not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = 192  # of the balls
_LOG_ORDERS = (-40.0, 60.0)  # where ln(α − 1) is searched: ε from 10^-9 to 10^6 and δ from 10^-300 have theirs inside
_GRID = 400
_STEPS = 60  # of the search for an order
_REMEMBERED = 256
_LEAST_LOG = -(2**14)  # of a factor of δ: δ is rounded up to it, or its digits could fill the memory


@lru_cache(_REMEMBERED)
def delta_at(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A δ for which ρ-zCDP implies (ε, δ)-privacy: the least that the orders give, rounded up.

    Raises BadParameter for ρ < 0 or ε ≤ 0. Source: Canonne, Kamath & Steinke 2020, Proposition 7.

    Example:
        >>> float(delta_at(Fraction(1, 10), Fraction(1)))
        0.008933245771818...
    """
    loss, most = not_negative("rho", rho), positive("epsilon", epsilon)
    if not loss:
        return Fraction(0)
    order = best_order(lambda a, over: over * (a * float(loss) - float(most)) + over * _log_shrink(over) - log(a))

    def bound() -> Ball:
        """(1 − 1/α)^{α−1}/α · e^{(α−1)(αρ−ε)}."""
        exponent = exact_ball(max(Fraction(_LEAST_LOG), (order - 1) * (order * loss - most)))
        return (exponent + exact_ball(order - 1) * logarithm(1 - 1 / order)).exp() / exact_ball(order)

    return min(Fraction(1), above(bound, _BITS))


@lru_cache(_REMEMBERED)
def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε for which ρ-zCDP implies (ε, δ)-privacy: the least that the orders give, rounded up; 0 at the least.

    Raises BadParameter for ρ < 0 or a δ that is not between 0 and 1.
    """
    loss, exact_delta = not_negative("rho", rho), exact_share("delta", delta)
    if not loss:
        return Fraction(0)
    log_delta = _log(exact_delta)
    order = best_order(lambda a, over: a * float(loss) - (log(a) + log_delta) / over + _log_shrink(over))

    def bound() -> Ball:
        """αρ − ln(αδ)/(α − 1) + ln(1 − 1/α)."""
        return exact_ball(order * loss) - _room(order, exact_delta)

    return max(Fraction(0), above(bound, _BITS))


@lru_cache(_REMEMBERED)
def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ for which ρ-zCDP implies (ε, δ)-privacy: the largest that the orders give, rounded down; 0 if none is.

    Raises BadParameter for ε ≤ 0 or a δ that is not between 0 and 1.
    """
    most, exact_delta = positive("epsilon", epsilon), exact_share("delta", delta)
    log_delta = _log(exact_delta)
    order = best_order(lambda a, over: -(float(most) + (log(a) + log_delta) / over - _log_shrink(over)) / a)
    return max(Fraction(0), below(lambda: (exact_ball(most) + _room(order, exact_delta)) / exact_ball(order), _BITS))


@dataclass(frozen=True, slots=True)
class RenyiBounds:
    """Rényi divergences of at most ξ + ρα at a few orders α: (ξ, ρ)-zCDP, but only there.

    Mechanisms whose divergence is no multiple of the order can keep to such bounds. Source: Bun & Steinke 2016,
    Definition 8.1.

    Attributes:
        base: ξ ≥ 0.
        rho: ρ > 0.
        orders: at least one, each above 1.
    """

    base: Fraction
    rho: Fraction
    orders: tuple[Fraction, ...]

    def at(self, order: Fraction) -> Fraction:
        """ξ + ρα."""
        return self.base + self.rho * order

    @property
    def least(self) -> Fraction:
        """The smallest of the bounds."""
        return self.at(min(self.orders))

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """An ε for which they imply (ε, δ)-privacy: the least that one of the orders gives, rounded up.

        Requires: 0 < δ < 1.
        """

        def of(order: Fraction) -> Fraction:
            return above(lambda: exact_ball(self.at(order)) - _room(order, delta), _BITS)

        return max(Fraction(0), min(map(of, self.orders)))


def _room(order: Fraction, delta: Fraction) -> Ball:
    """What αρ ≤ ε + room leaves beside ε: ln(αδ)/(α − 1) − ln(1 − 1/α)."""
    return logarithm(order * delta) / exact_ball(order - 1) - logarithm(1 - 1 / order)


def best_order(cost: Callable[[float, float], float]) -> Fraction:
    """An α for which `cost(α, α − 1)` is about the least; every α > 1 is valid, so floats do.

    Searched over t = ln(α − 1), on a grid first.
    """

    def of(t: float) -> float:
        over = exp(t)
        return cost(1 + over, over)

    low, high = _LOG_ORDERS
    best = min((low + (high - low) * step / _GRID for step in range(_GRID + 1)), key=of)
    low, high = best - 0.25, best + 0.25
    for _ in range(_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if of(left) < of(right) else (left, high)
    return 1 + Fraction(exp((low + high) / 2))


def _log_shrink(over: float) -> float:
    """ln(1 − 1/α), for α − 1 = `over`, without a loss of digits."""
    return -log1p(1 / over)


def _log(value: Fraction) -> float:
    """Ln value as a float, for values that floats cannot hold too."""
    return log(value.numerator) - log(value.denominator)
