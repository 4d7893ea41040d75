"""Exact output distributions of k candidates chosen at once, over all outcomes, listed; at 50 digits.

Candidates are their positions in a sequence of scores. A sequence is a tuple of them; a set is one in ascending order.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

Outcome = tuple[int, ...]
MECHANISMS = ("joint", "lipschitz")
ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
RATES = {(1, ADD): 1, (1, REPLACE): 2, (2, ADD): 2, (2, REPLACE): 4}
"""By what ε is divided, for one place and for more."""


def law(
    mechanism: str, scores: Sequence[int], count: int, epsilon: Fraction, relation: Neighbors
) -> dict[Outcome, float]:
    """Of all outcomes."""
    shortfall = _of_sequence if mechanism == "joint" else _of_set
    with localcontext(prec=50):
        rate = Decimal(epsilon.numerator) / epsilon.denominator / RATES[min(count, 2), relation]
        weights = {each: (-rate * shortfall(scores, each)).exp() for each in _outcomes(mechanism, len(scores), count)}
        total = sum(weights.values())
        return {outcome: float(weight / total) for outcome, weight in weights.items()}


def outcome(mechanism: str, chosen: Sequence[int]) -> Outcome:
    """What a drawn list stands for."""
    return tuple(chosen if mechanism == "joint" else sorted(chosen))


def _outcomes(mechanism: str, candidates: int, count: int) -> Iterable[Outcome]:
    return (permutations if mechanism == "joint" else combinations)(range(candidates), count)


def _of_sequence(scores: Sequence[int], places: Outcome) -> int:
    best = sorted(scores, reverse=True)
    return max(best[i] - scores[place] for i, place in enumerate(places))


def _of_set(scores: Sequence[int], inside: Outcome) -> int:
    outside = [score for place, score in enumerate(scores) if place not in inside]
    return max(0, max(outside) - min(scores[place] for place in inside)) if outside else 0
