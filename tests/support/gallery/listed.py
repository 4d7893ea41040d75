"""What the gallery's lists have in common: a target with its claim, and laws of the exponential mechanism in rounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.auditing import Claim
    from support.oracles.itemsets import Units

ONE, NONE = Fraction(1), Fraction(0)
ITEMS = 3
Lists = dict[Any, float]


@dataclass(frozen=True)
class Listed:
    """A list, its claim, and neighbours."""

    target: Any
    claim: Claim
    family: Any


def chosen_lists(supports: Sequence[int], way: Any) -> Mapping[tuple[int, ...], float]:
    """The lists of positions that rounds of the exponential mechanism choose."""
    rate, count = float(way.round_epsilon) / (2 if way.neighbors is Neighbors.REPLACE_ONE else 1), way.count
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(min(count, len(supports))):
        found = {
            (*chosen, place): mass * share
            for chosen, mass in found.items()
            for place, share in _softmax(supports, rate, without=chosen).items()
        }
    return found


def _softmax(supports: Sequence[int], rate: float, *, without: tuple[int, ...]) -> dict[int, float]:
    weights = {place: exp(rate * support) for place, support in enumerate(supports) if place not in without}
    return {place: weight / sum(weights.values()) for place, weight in weights.items()}


def one_basket_each(rows: Sequence[frozenset[int]]) -> Units:
    """Units of which each has one of the rows as its only basket."""
    return [[row] for row in rows]
