"""What is proved about accuracy, as leads of the best candidate over the second, in sensitivities."""

from __future__ import annotations

from math import exp, expm1, log
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.limited_domain import DEFAULT_KBAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.mechanisms.base import Mechanism
    from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight, MarginMechanism


def proved_gap(mechanism: Mechanism, candidates: int | None, failure: float) -> float:
    """A lead that is proved to suffice for success with probability 1 − `failure`, whatever the rest looks like.

    `candidates` ≥ 1 is the number of public candidates; the mechanisms that work without a list do not ask for it.
    """
    return max(0.0, _THEOREMS[mechanism.name](mechanism, candidates or 1, failure))


def pure_lower_bound(*, epsilon: float, candidates: int | None) -> float | None:
    """A lone winner with a smaller lead is missed with probability ≥ 1/2 by every ε-private mechanism.

    ln((K − 1)/2)/ε; None where the universe is unknown: no lead at all suffices. Holds on some data, and for mechanisms
    that treat all candidates alike on all; under both relations. Source: the large-margin paper, Proposition 1; the
    packing argument (m units make any of K candidates the winner) does not need its ε < 1.
    """
    return None if candidates is None else max(0.0, (log(max(2, candidates - 1)) - log(2)) / epsilon)


def approximate_lower_bound(
    *, epsilon: float, delta: float, candidates: int | None, neighbors: Neighbors, units: int | None = None
) -> float:
    """A lone winner with a smaller lead is missed with probability ≥ 1/2 by every (ε, δ)-private mechanism.

    min(n/2, ln((ℓ − 1)/2)/ε) for every ℓ ≤ K with δ ≤ (1 − e^−ε)/(2(ℓ − 1)), the largest one taken. Source: the
    large-margin paper, Theorem 1, for replace_one. Under add_remove the packing has to pass through data without the
    winner, which costs a factor 2: ln(ℓ/4)/ε.
    """
    most = int(-expm1(-epsilon) / (2 * delta)) + 1
    near = most if candidates is None else min(most, candidates)
    room = near / 4 if neighbors is Neighbors.ADD_REMOVE else (near - 1) / 2
    bound = max(0.0, log(max(1.0, room)) / epsilon)
    return bound if units is None else min(bound, units / 2)


def _exponential(mechanism: Mechanism, candidates: int, failure: float) -> float:
    """(u/ε) ln(K/η): the others weigh at most K e^(−lead·ε/u). McSherry & Talwar 2007, Theorem 6."""
    return float(mechanism.scale) * (log(candidates) - log(failure))


def _max_of_laplaces(mechanism: Mechanism, candidates: int, failure: float) -> float:
    """(2u/ε) ln(K/η): no noise strays further than half of it. Dwork & Roth 2014, Theorem 3.8's argument."""
    return 2 * _exponential(mechanism, candidates, failure)


def _large_margin(mechanism: LargeMargin, _candidates: int, failure: float) -> float:
    """γ* = (21/ε) ln(3/η) + T(1): the winner is drawn alone. The large-margin paper, Theorem 3 with ℓ* = 1."""
    return 21 / float(mechanism.epsilon) * log(3 / failure) + _first_threshold(mechanism)


def _large_margin_tight(mechanism: LargeMarginTight, _candidates: int, failure: float) -> float:
    """T(1) + (u/ε_a) ln(1/η): ρ stays below the lead, so the search stops with the winner alone, as ν ≥ 0."""
    return _first_threshold(mechanism) + float(mechanism.unit / mechanism.shares[0]) * log(1 / failure)


def _limited_domain(mechanism: Mechanism, _candidates: int, failure: float) -> float:
    """(u/ε) ln((k̄/η)(1 + e^ε/δ)): k̄ others at most, and "nothing", at least so far below the winner."""
    nothing = float(mechanism.epsilon) - log(float(mechanism.delta))
    return float(mechanism.scale) * (log(DEFAULT_KBAR / failure) + nothing + log(1 + exp(-nothing)))


def _stable_maximiser(mechanism: Mechanism, _candidates: int, failure: float) -> float:
    """The lead s + (s/ε)(ln(1/2δ) + ln(1/2η)): a Laplace tail, exact for η ≤ 1/2 (larger η gain nothing)."""
    tails = log(1 / (2 * float(mechanism.delta))) + log(1 / (2 * min(failure, 0.5)))
    return float(mechanism.unit) + float(mechanism.scale) * tails


_THEOREMS: dict[str, Callable[[Any, int, float], float]] = {
    "exponential": _exponential,
    "max_of_exponentials": _exponential,
    "max_of_laplaces": _max_of_laplaces,
    "large_margin": _large_margin,
    "large_margin_tight": _large_margin_tight,
    "limited_domain": _limited_domain,
    "stable_maximiser": _stable_maximiser,
}


def _first_threshold(mechanism: MarginMechanism) -> float:
    """T(1)."""
    return float(mechanism.search().threshold(np.ones(1))[0])
