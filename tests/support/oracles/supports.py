"""Supports, their noise and measures of rules, written another way: by enumeration, and with decimal numbers."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import exp, inf
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Itemset: TypeAlias = frozenset[Any]
Measures: TypeAlias = dict[str, "Fraction | float"]


def pmf(scale: float, reach: int) -> dict[int, float]:
    """The discrete Laplace law between ±reach, normalised by its own sum: `reach` must be many scales."""
    weights = {k: exp(-abs(k) / scale) for k in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def coverage(width: int, *, count: int, epsilon: Fraction, together: int) -> Decimal:
    """Pr[`together` independent noises of scale count/ε are all within ±width], to about 400 digits."""
    with localcontext(prec=400):
        rate = Decimal(epsilon.numerator) / Decimal(epsilon.denominator) / count
        ratio = (-rate).exp()
        inside = (1 + ratio - 2 * ratio ** (width + 1)) / (1 + ratio)
        return inside**together


def joint_profile(left: dict[int, float], shifts: Sequence[int], epsilon: float) -> float:
    """Σ max(0, P − e^ε P') over noise vectors, for supports that move by `shifts` and noise of law `left` on each."""
    total = 0.0
    for noise in product(left, repeat=len(shifts)):
        here = there = 1.0
        for k, shift in zip(noise, shifts, strict=True):
            here *= left[k]
            there *= left.get(k - shift, 0.0)
        if there:  # beyond the reach of the table there is nothing to compare with
            total += max(0.0, here - exp(epsilon) * there)
    return total


def true_supports(units: Iterable[Sequence[Itemset]], itemsets: Iterable[Itemset]) -> list[int]:
    """How many units, each a list of baskets, have a basket with all of an itemset's items."""
    known = list(units)
    return [sum(any(itemset <= basket for basket in baskets) for baskets in known) for itemset in itemsets]


def all_rules(itemsets: Iterable[Itemset]) -> Iterator[tuple[Itemset, Itemset]]:
    """Antecedent and consequent of every rule, subset by subset of a list of items."""
    for itemset in itemsets:
        items = list(itemset)
        for mask in range(1, 2 ** len(items) - 1):
            antecedent = frozenset(item for place, item in enumerate(items) if mask >> place & 1)
            yield antecedent, itemset - antecedent


def measures(both: int, antecedent: int, consequent: int, units: int | None) -> Measures:
    """Those that exist, straight from their definitions as shares."""
    found: Measures = {}
    if antecedent:
        found["confidence"] = Fraction(both, antecedent)
    if units is None:
        return found
    x, a, c = (Fraction(count, units) for count in (both, antecedent, consequent))
    found["leverage"] = x - a * c
    if a and c:
        found["lift"] = x / a / c
    if a:
        found["conviction"] = (1 - c) / (1 - x / a) if x < a else inf
    return found


def extremes(
    boxes: Sequence[tuple[int, int]], units: int | None
) -> tuple[dict[str, Fraction | float], dict[str, Fraction | float]]:
    """The least and the largest of each measure over all whole supports in three intervals that can occur together."""
    least: Measures = {}
    largest: Measures = {}
    for x, a, c in product(*(range(low, high + 1) for low, high in boxes)):
        if x <= min(a, c) and (units is None or max(a, c) <= units):
            for name, value in measures(x, a, c, units).items():
                least[name] = min(least.get(name, value), value)
                largest[name] = max(largest.get(name, value), value)
    return least, largest


def every_subset(items: Sequence[Any]) -> list[Itemset]:
    """All non-empty ones."""
    return [frozenset(part) for size in range(1, len(items) + 1) for part in combinations(items, size)]
