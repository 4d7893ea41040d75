"""Exact laws of discrete Gaussian noise and of discoveries, by their definitions, and what their privacy may be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.privacy import Neighbors, Zcdp
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpmine.itemsets.ways.discovery import Discovery
    from support.oracles.itemsets import Units

RELATIONS = (Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
Law = dict[Any, float]


def masses(scale: int) -> tuple[np.ndarray, np.ndarray]:
    """The discrete Gaussian law, by its definition."""
    numbers = np.arange(-40 * scale - 40, 40 * scale + 41)
    weights = np.exp(-(numbers**2) / (2 * scale**2))
    return numbers, weights / weights.sum()


def at_once(found: Discovery, weight: int) -> float:
    """The probability that one look releases an item of this weight, accurate however rare."""
    numbers, shares = masses(found.scales[0])
    return float(shares[numbers >= found.thresholds[0] - weight].sum()) if weight else 0.0


def law_of_sets(found: Discovery, sums: Sequence[int], chance: Callable[..., float] = at_once) -> Law:
    """Of all sets of items: they are released independently."""
    chances = [chance(found, int(weight)) for weight in sums]
    law = {}
    for kept in product((False, True), repeat=len(sums)):
        parts = (each if keep else 1 - each for keep, each in zip(kept, chances, strict=True))
        law[tuple(np.flatnonzero(kept).tolist())] = float(np.prod(list(parts)))
    return law


def excess(law: Law, other: Law, found: Zcdp) -> float:
    """By how much the privacy of two laws falls short of what (ρ, δ) implies; at most 0 where the claim holds."""
    worst = -1.0
    for epsilon, (one, two) in product(EPSILONS, [(law, other), (other, law)]):
        apart = sum(max(0.0, mass - exp(epsilon) * two.get(outcome, 0.0)) for outcome, mass in one.items())
        worst = max(worst, apart - float(found.delta) - float(delta_at(found.rho, Fraction(epsilon))))
    return worst


def neighbours(units: Units, relation: Neighbors) -> Iterator[Units]:
    others: list[list[set[int]]] = [[], [{0}], [{0, 1}], [{1, 2}], [{0, 1, 2}]]
    for place, other in product(range(len(units)), others):
        left = [*units[:place], *units[place + 1 :]]
        yield [*left, other] if relation is Neighbors.REPLACE_ONE else left


SOME: Units = [[{0, 1}], [{0}], [{0}, {2}], [{0, 2}], [{0, 1, 2}]]
