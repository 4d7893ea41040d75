"""How much each of k adaptive rounds may spend when all of them together have a budget.

Every per-round ε that is returned was certified by ball arithmetic at that very number; where nothing better can be
certified, it is basic composition. Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, log1p, sqrt
from typing import TYPE_CHECKING

from dpmine.exact.reals import Ball, below, decimal_below, exact_ball, working_precision
from dpmine.parameters import below_one, positive, whole
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from collections.abc import Callable


_BITS = 192  # of the balls; sums of 10^4 products lose about 20 of them
_DIGITS = 6  # of a round's ε, a decimal number
_LEAST_GAIN = Fraction(101, 100)  # what δ, or half of the rounds' δ_0, must buy; else basic composition stays
_STEPS = 60  # of bisections
_NARROW = 1e-8  # relative width at which a bisection ends, far below the digits kept
_REMEMBERED = 256
_BOUNDED_RANGE, _PURE = 8, 2  # a round is ε_0²/8-zCDP if it is ε_0-bounded-range, and ε_0²/2-zCDP if it is ε_0-private
_MOST_TERMS = 10_000  # rounds, beyond which the optimal theorem would take seconds; zCDP is then as good


@dataclass(frozen=True, slots=True)
class Rounds:
    """`count` adaptive rounds, each (round_epsilon, round_delta)-private, are together (epsilon, delta)-private.

    (epsilon, delta) is what is charged; delta may be smaller than the one asked for, and is 0 where pure rounds add up.
    """

    count: int
    epsilon: Fraction
    delta: Fraction
    round_epsilon: Fraction
    round_delta: Fraction


@lru_cache(_REMEMBERED)
def bounded_range_rounds(count: int, epsilon: Fraction, delta: Fraction) -> Rounds:
    """Rounds that are ε_0-private and ε_0-bounded-range, as those of the exponential mechanism are.

    ε_0 = max(ε/k, √(8ρ/k)), rounded down, with the largest ρ for which ρ-zCDP is (ε, δ)-private. δ = 0 asks for basic
    composition. Where the second is not at least 1 % larger, ε_0 = ε/k exactly and no δ is charged.

    Args:
        count: the number of rounds k ≥ 1.
        epsilon: ε > 0 of all rounds together.
        delta: δ in [0, 1) of all rounds together.

    Raises BadParameter for other values.
    Source: Durfee & Rogers 2019 (bounded range); Cesar & Rogers 2021 (it is ε_0²/8-zCDP); Canonne, Kamath & Steinke
    2020 (the conversion).
    """
    basic = _basic(count, epsilon, delta)
    found = _concentrated(count, epsilon, delta, _BOUNDED_RANGE) if delta else None
    return _pure(basic, delta, found)


@dataclass(frozen=True, slots=True)
class Stages:
    """Rounds at one ε, then rounds at another, are together (epsilon, delta)-private; delta as in `Rounds`."""

    epsilon: Fraction
    delta: Fraction
    first_epsilon: Fraction
    second_epsilon: Fraction


def bounded_range_stages(first: int, second: int, share: Fraction, epsilon: Fraction, delta: Fraction) -> Stages:
    """`first` rounds and then `second` ones, all bounded-range, with a `share` of the budget for those that come first.

    Let k = `first` + `second` rounds at ε_0 keep the budget. By basic composition, so do rounds with Σ ε_i ≤ kε_0; by
    zCDP, rounds with Σ ε_i² ≤ kε_0². The share is one of that sum.
    Arguments and errors as of `bounded_range_rounds`; 0 < share < 1.
    """
    count = first + second
    rounds = bounded_range_rounds(count, epsilon, delta)
    one, two = share * count / first, (1 - share) * count / second
    if rounds.delta:
        one, two = _root(one), _root(two)
    each = one * rounds.round_epsilon, two * rounds.round_epsilon
    return Stages(
        rounds.epsilon, rounds.delta, *((decimal_below(one, _DIGITS) for one in each) if rounds.delta else each)
    )


def _root(value: Fraction) -> Fraction:
    """√value, rounded down."""
    return below(lambda: exact_ball(value).sqrt(), _BITS)


@lru_cache(_REMEMBERED)
def pure_rounds(count: int, epsilon: Fraction, delta: Fraction) -> Rounds:
    """Rounds that are only known to be ε_0-private: the largest ε_0 of the optimal composition theorem, rounded down.

    δ = 0 asks for basic composition. Where the theorem's ε_0 is not at least 1 % larger than ε/k, ε_0 = ε/k exactly and
    no δ is charged. Arguments and errors as of `bounded_range_rounds`.
    Source: Kairouz, Oh & Viswanath 2015, Theorem 3.3 with δ_0 = 0.
    """
    basic = _basic(count, epsilon, delta)
    return _pure(basic, delta, _optimal(count, epsilon, delta) if delta else None)


@lru_cache(_REMEMBERED)
def approximate_rounds(count: int, epsilon: Fraction, delta: Fraction) -> Rounds:
    """Rounds that are only known to be (ε_0, δ_0)-private; all of (ε, δ) is charged.

    (ε_0, δ_0) = (ε/k, δ/k), or δ_0 = δ/(2k) and the ε_0 of the optimal composition theorem at δ/2 where that is at
    least 1 % larger. One round has exactly (ε, δ). Arguments and errors as of `bounded_range_rounds`.
    Source: Kairouz, Oh & Viswanath 2015, Theorem 3.3.
    """
    basic = _basic(count, epsilon, delta)
    found = _optimal(count, epsilon, delta / 2) if delta and count > 1 else None
    if found is None or found < _LEAST_GAIN * basic.round_epsilon:
        return Rounds(count, epsilon, delta, basic.round_epsilon, delta / count)
    return Rounds(count, epsilon, delta, found, delta / (2 * count))


def _basic(count: int, epsilon: Fraction, delta: Fraction) -> Rounds:
    """Pure rounds whose ε add up."""
    whole("count", count)
    positive("epsilon", epsilon)
    below_one("delta", delta)
    return Rounds(count, epsilon, Fraction(0), epsilon / count, Fraction(0))


def _pure(basic: Rounds, delta: Fraction, found: Fraction | None) -> Rounds:
    """Rounds at the ε found, if that is worth δ."""
    if found is None or found < _LEAST_GAIN * basic.round_epsilon:
        return basic
    return Rounds(basic.count, basic.epsilon, delta, found, Fraction(0))


def _concentrated(count: int, epsilon: Fraction, delta: Fraction, share: int) -> Fraction | None:
    """The largest ε_0 such that k rounds that are ε_0²/share-zCDP are (ε, δ)-private, rounded down; None for 0."""
    rho = rho_at(epsilon, delta)
    return decimal_below(below(lambda: exact_ball(share * rho / count).sqrt(), _BITS), _DIGITS) if rho else None


def _optimal(count: int, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """The largest ε_0 whose k-fold composition is (ε, δ)-private, rounded down; None if bisection finds none."""
    if count > _MOST_TERMS:
        return _concentrated(count, epsilon, delta, _PURE)
    low, high = float(epsilon / count), _one_round(float(epsilon), float(delta))
    for _ in range(_STEPS):
        if high - low <= _NARROW * low:
            break
        middle = sqrt(low) * sqrt(high) if high > 2 * low else (low + high) / 2
        holds = _certainly_at_most(_profile(count, Fraction(middle), epsilon), delta)
        low, high = (middle, high) if holds else (low, middle)
    found = decimal_below(Fraction(low), _DIGITS)
    return found if _certainly_at_most(_profile(count, found, epsilon), delta) else None


def _one_round(epsilon: float, delta: float) -> float:
    """An ε_0 that a single round of (ε, δ) exceeds by little, hence more rounds by more: where to stop looking."""
    return (epsilon + log1p(delta * exp(-epsilon)) - log1p(-min(delta, 1 - 1e-12))) * (1 + _NARROW)


def _profile(count: int, round_epsilon: Fraction, epsilon: Fraction) -> Callable[[], Ball]:
    """δ(ε) of k rounds of randomised response at ε_0: the formula, to be evaluated at a precision.

    Σ_j C(k, j) max(0, e^{jε_0} − e^{ε + (k−j)ε_0})/(1 + e^{ε_0})^k. Which terms are positive is decided exactly.
    """
    least = floor((count + epsilon / round_epsilon) / 2) + 1  # the least j with (2j − k) ε_0 > ε

    def delta() -> Ball:
        growth = exact_ball(round_epsilon).exp()
        shrink, mass = 1 / growth, (1 + 1 / growth) ** -count  # mass: of j = k
        ratio, step = exact_ball(epsilon - count * round_epsilon).exp(), growth * growth
        total = exact_ball(0)
        for j in range(count, least - 1, -1):
            total += mass * (1 - ratio)
            ratio *= step
            mass = mass * shrink * j / (count - j + 1)
        return total

    return delta


def _certainly_at_most(formula: Callable[[], Ball], bound: Fraction) -> bool:
    """Whether the number is ≤ the bound without doubt: an undecided comparison is a no."""
    with working_precision(_BITS):
        return bool(formula() <= exact_ball(bound))
