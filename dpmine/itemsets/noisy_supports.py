"""Supports of itemsets that were released already, with noise: whole numbers, and intervals that hold the true ones.

One privacy unit changes each of m supports by at most 1, under both relations, so their vector has L1 sensitivity m.
Every support gets independent discrete Laplace noise of scale m/ε. Everything after that looks at no data.
Proof: docs/proofs/noisy_supports.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import chain, combinations
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from dpmine.errors import BadParameter
from dpmine.exact.noise import discrete_laplace_of_scale
from dpmine.exact.reals import above, below, exact_ball
from dpmine.itemsets.transactions.base import sort_key
from dpmine.parameters import exact_share, named, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import Ball
    from dpmine.parameters import Number

Itemset: TypeAlias = frozenset[Any]
Interval: TypeAlias = tuple[int, int]

LEVEL = Fraction(95, 100)
"""How probable it is, at least, that an interval holds the true support."""
LARGEST_SUPPORT = 2**63 - 1
"""Units are counted in 64 bits: no support is larger."""
MOST_ITEMS = 12
"""Of an itemset whose subsets are all listed: it has 4095 of them and 523,250 rules."""
_FIRST_BITS = 128


class Consistency(StrEnum):
    """What is done to noisy supports before they are released; it costs no privacy."""

    AS_DRAWN = "as_drawn"
    """Negative values are raised to 0; a superset's value may exceed that of its subset."""
    MONOTONE = "monotone"
    """Never negative, and never above that of a subset: what association rules need."""


@dataclass(frozen=True, slots=True)
class SupportRelease:
    """Noisy supports of itemsets.

    Attributes:
        itemsets: as they were given.
        values: their noisy supports, in units, 0 where noise made one negative: no true support is below.
        intervals: for each the least and the largest true support that is plausible, both included; holds the value.
        epsilon: the privacy loss of all values together.
        consistency: whether the values were made to agree with each other.
        level: as drawn, each interval holds its true support with at least this probability; monotone, all of them
            together do.
    """

    itemsets: tuple[Itemset, ...]
    values: tuple[int, ...]
    intervals: tuple[Interval, ...]
    epsilon: Fraction
    consistency: Consistency
    level: Fraction = LEVEL


def release(
    itemsets: Sequence[Itemset],
    supports: Sequence[int],
    *,
    epsilon: Number,
    consistency: Consistency = Consistency.AS_DRAWN,
    bits: BitSource,
) -> SupportRelease:
    """Noisy supports with their intervals, ε-differentially private under replace_one and add_remove.

    Requires: the itemsets are public by now, each occurs once, and `supports` are their true supports, in units and in
    the same order. Values and ends of intervals fit into 64 bits.
    Raises BadParameter where there are not as many supports as itemsets, or an itemset occurs twice.
    """
    loss = positive("epsilon", epsilon)
    kind = named(Consistency, "consistency", consistency)
    given = tuple(itemsets)
    if len(given) != len(supports) or len(set(given)) != len(given):
        raise BadParameter("supports must be one for each itemset, and every itemset must be given once.")
    values = tuple(_cut(value) for value in noisy(supports, epsilon=loss, bits=bits))
    if not given:
        return SupportRelease((), (), (), loss, kind)
    if kind is Consistency.MONOTONE:
        values, width = consistent(given, values), simultaneous_half_width(len(given), loss)
    else:
        width = half_width(len(given), loss)
    intervals = tuple(_interval(value, width) for value in values)
    return SupportRelease(given, tuple(max(0, value) for value in values), intervals, loss, kind)


def noisy(supports: Sequence[int], *, epsilon: Fraction, bits: BitSource) -> tuple[int, ...]:
    """Every support plus independent discrete Laplace noise, Pr[x] ∝ e^{−ε|x|/m} for m supports: ε-private.

    Requires: ε > 0; one unit changes every support by at most 1.
    Source: Ghosh, Roughgarden & Sundararajan 2012 (the law); Canonne, Kamath & Steinke 2020, algorithm 2 (the draw).
    """
    scale = l1_sensitivity(len(supports)) / epsilon
    return tuple(int(support) + discrete_laplace_of_scale(scale, bits=bits) for support in supports)


def l1_sensitivity(count: int) -> Fraction:
    """How far one unit moves a vector of `count` supports, in all: by 1 each, under replace_one and add_remove."""
    return Fraction(count)


def half_width(count: int, epsilon: Number, level: Number = LEVEL, *, together: int = 1) -> int:
    """The least whole t ≥ 0 with Pr[|X| ≤ t] ≥ `level`, for X the noise of one of `count` supports, in units.

    With `together`, of that many independent ones at once. Pr[|X| > t] = 2 q^{t+1}/(1 + q) for q = e^{−ε/m}, which is
    at most β where t + 1 ≥ ln(2/((1 + q) β))/(ε/m). Exact: ball arithmetic is refined until the answer is certain.
    Raises BadParameter for a count below 1, ε ≤ 0 or a level that is not strictly between 0 and 1.
    """
    share = exact_share("level", level)
    rate = positive("epsilon", epsilon) / whole("count", count)

    def formula() -> Ball:
        inside = (-exact_ball(1 - share)).log1p() / together
        outside = -inside.expm1()  # β = 1 − level^{1/together}, without a loss of digits where it is small
        base = (exact_ball(2) / (1 + (-exact_ball(rate)).exp())).log()
        return (base - outside.log()) / exact_ball(rate)

    return _ceiling(formula) - 1


def simultaneous_half_width(count: int, epsilon: Number, level: Number = LEVEL) -> int:
    """The least whole t ≥ 0 with Pr[all of `count` independent noises within ±t] ≥ `level`, in units; as above."""
    return half_width(count, epsilon, level, together=count)


def consistent(itemsets: Sequence[Itemset], values: Sequence[int]) -> tuple[int, ...]:
    """The values, moved so that none is negative and none is above that of a subset among `itemsets`.

    Midway, rounded down, between the least value of the given subsets and the largest of the given supersets, negative
    values counted as 0. The largest error does not grow, and what agrees already is not moved.
    Requires: distinct itemsets, in the order of the values.
    """
    lifted = [max(0, value) for value in values]
    least, largest = lifted.copy(), lifted.copy()
    for subset, superset in _inclusions(itemsets):
        least[superset] = min(least[superset], lifted[subset])
        largest[subset] = max(largest[subset], lifted[superset])
    return tuple((low + high) // 2 for low, high in zip(least, largest, strict=True))


def with_subsets(itemsets: Sequence[Itemset]) -> tuple[Itemset, ...]:
    """All non-empty subsets of the itemsets, themselves included, each once: by size, then by their sorted items.

    Requires: items that are integers or texts. Raises BadParameter for an itemset of more than `MOST_ITEMS` items.
    """
    if any(len(itemset) > MOST_ITEMS for itemset in itemsets):
        raise BadParameter(f"size must be at most {MOST_ITEMS} where the supports of all subsets are released.")
    found = {frozenset(part) for itemset in itemsets for part in _parts(itemset, len(itemset))}
    return tuple(sorted(found, key=lambda subset: (len(subset), sort_key(subset))))


def _cut(value: int) -> int:
    """To 64 bits: that brings no value farther from a support."""
    return max(-LARGEST_SUPPORT, min(value, LARGEST_SUPPORT))


def _interval(value: int, width: int) -> Interval:
    return max(0, value - width), max(0, _cut(value + width))


def _ceiling(formula: Callable[[], Ball]) -> int:
    """The least whole number that is not below a real number; that must not be whole itself."""
    bits = _FIRST_BITS
    while True:
        with suppress(OverflowError):  # so few digits that a logarithm's ball touched 0
            low, high = ceil(below(formula, bits)), ceil(above(formula, bits))
            if low == high:
                return high
        bits *= 2


def _inclusions(itemsets: Sequence[Itemset]) -> Iterator[tuple[int, int]]:
    """The places of all pairs of given itemsets, the first one a proper subset of the second."""
    places = {itemset: place for place, itemset in enumerate(itemsets)}
    for superset, place in places.items():
        candidates = _parts(superset, len(superset) - 1) if 2 ** len(superset) <= len(places) else iter(places)
        for candidate in candidates:
            subset = frozenset(candidate)
            if subset in places and subset < superset:
                yield places[subset], place


def _parts(itemset: Itemset, largest: int) -> Iterator[tuple[Any, ...]]:
    """The non-empty parts of an itemset, of up to `largest` items."""
    return chain.from_iterable(combinations(itemset, size) for size in range(1, largest + 1))
