"""What each run of a search may spend, given the privacy budget of the whole search: certified, rounded to be private.

Proof: docs/proofs/models/search.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import log, log1p
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.exact.reals import Ball, above, below, decimal_below, exact_ball, logarithm
from dpmine.models.search.stopping import NegativeBinomial
from dpmine.privacy import Zcdp
from dpmine.zcdp import RenyiBounds, best_order, epsilon_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.search.stopping import Stopping
    from dpmine.privacy import Guarantee

_BITS = 192
_DIGITS = 9  # of a run's ε and ρ, decimal numbers
_STEPS = 60  # of bisections
_REMEMBERED = 256
_BASE = Fraction(1, 6)
"""Of ε: for what trainings spend at every Rényi order alike, such as the change of a determinant."""
_TOO_SMALL = "Each run would get nothing: epsilon is too small for this many runs, or delta too large. Give fewer runs."


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What each run may spend: (epsilon, delta), or ρ of zero-concentrated privacy where `rho` is given.

    With `bounds`, a training keeps to these, which imply (epsilon, delta), and its score has `rho`.
    A run is a training and its score. They see different units, so each of them may spend all of it.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    bounds: RenyiBounds | None = None

    def guarantee(self, whole: Guarantee) -> Guarantee:
        """That of one run, in a search that guarantees the `whole`: ρ is quoted at the δ of that."""
        if self.rho is None or self.bounds is not None:
            return replace(whole, epsilon=self.epsilon, delta=self.delta)
        return replace(whole, epsilon=epsilon_at(self.rho, whole.delta), concentrated=Zcdp(self.rho))


def total_epsilon(stopping: Stopping, run: RunBudget) -> Fraction:
    """The ε of the best of K runs that are (ε_0, δ_0)-private, rounded up; its δ is δ_0 E[K].

    Law: ε_0 + ln of the largest f'(x)/f'(x') that (ε_0, δ_0)-private runs allow; attained where δ_0 = 0.

    Example:
        >>> from dpmine.models.search.stopping import NegativeBinomial
        >>> geometric = NegativeBinomial(Fraction(1), Fraction(1, 10))
        >>> float(total_epsilon(geometric, RunBudget(Fraction(1, 2))))
        1.312546...
    """
    return above(lambda: exact_ball(run.epsilon) + stopping.log_change(run.epsilon, run.delta), _BITS)


def renyi_epsilon(stopping: Stopping, rho: Fraction, delta: Fraction) -> Fraction:
    """An ε for which the best of K ρ-zCDP runs is (ε, δ)-private, rounded up.

    The least over Rényi orders α, found in floats, of
    αρ + change + (ln E[K] − ln(αδ))/(α − 1) + ln(1 − 1/α); every order is valid.
    """
    odds = stopping.mean_above() / delta
    order = _order(odds, rho)

    def bound() -> Ball:
        conversion = logarithm(odds / order) / exact_ball(order - 1) + logarithm(1 - 1 / order)
        return exact_ball(order * rho) + stopping.renyi_change(rho) + conversion

    return above(bound, _BITS)


def _order(odds: Fraction, rho: Fraction) -> Fraction:
    """About the best α for ρ; `odds` are E[K]/δ."""
    log_odds = log(odds.numerator) - log(odds.denominator)
    return best_order(lambda a, over: a * float(rho) + (log_odds - log(a)) / over - log1p(1 / over))


@lru_cache(_REMEMBERED)
def run_budget(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget:
    """The (ε_0, δ_0) of each run for (ε, δ) in total: δ_0 = δ/E[K], and the largest ε_0, rounded down.

    Requires: ε > 0, 0 ≤ δ < 1. Raises BadParameter where there is none.
    """
    share = below(lambda: exact_ball(delta) / stopping.mean(), _BITS) if delta else Fraction(0)
    found = _largest(lambda run: total_epsilon(stopping, RunBudget(run, share)) <= epsilon, float(epsilon))
    return RunBudget(found, share)


@lru_cache(_REMEMBERED)
def run_rho(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget:
    """The ρ of each run for (ε, δ) in total, 0 < δ < 1: the largest, rounded down.

    Raises BadParameter where there is none.
    """
    return RunBudget(rho=_largest(lambda rho: renyi_epsilon(stopping, rho, delta) <= epsilon, float(epsilon)))


@lru_cache(_REMEMBERED)
def run_bounds(stopping: Stopping, epsilon: Fraction, delta: Fraction) -> RunBudget | None:
    """Bounds on each run's divergences at the two orders that a total of (ε, δ) rests on, 0 < δ < 1.

    ξ counts once at the order α and (η + 1)(1 − 1/β) times at β, less than η + 2 times in all.
    None where the total rests on more orders. Raises BadParameter where ε is too small.
    """
    if not isinstance(stopping, NegativeBinomial):
        return None
    rho = _largest(lambda rho: renyi_epsilon(stopping, rho, delta) <= epsilon * (1 - _BASE), float(epsilon))
    orders = sorted({_order(stopping.mean_above() / delta, rho), stopping.renyi_order(rho)} - {1})
    bounds = RenyiBounds(epsilon * _BASE / (stopping.shape + 2), rho, tuple(orders))
    return RunBudget(bounds.epsilon_at(delta), delta, rho, bounds)


def _largest(allowed: Callable[[Fraction], bool], most: float) -> Fraction:
    """About the largest decimal number up to `most` that is certainly allowed."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(Fraction(middle)) else (low, middle)
    found = decimal_below(Fraction(low), _DIGITS) if low else Fraction(0)
    if not found or not allowed(found):
        raise BadParameter(_TOO_SMALL)
    return found
