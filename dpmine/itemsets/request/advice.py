"""What to do when nothing stands out: facts of the parameters, never of the data."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from fractions import Fraction
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.itemsets.release.supports import most_counts
from dpmine.itemsets.ways.way import loaded_ways
from dpmine.options.names import AUTO
from dpmine.selection.advice import another_run, with_charge

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.itemsets.request.query import Request
    from dpmine.itemsets.ways.way import Way

BEST_SHARE = 20
"""One unit in this many is assumed to have the best itemset; in the benchmarks' data it is 1 in 3 to 31."""
USUAL_UNITS = 5_000
"""The assumed number of units where none is given."""
_LARGEST_ADVISED = 2
"""Up to this ε, more of it is the first advice; beyond, other ways are named before."""
_LARGEST_COMMON = 10
"""Beyond this ε a guarantee says little, and none is named before a run."""
_LARGE_SIZE, _LARGE_SIZE_IN_DEPTH = 6, 4
"""From here on the itemsets of one long basket are millions; or ways that count deep take a minute."""
_FEW_CANDIDATES = 10_000_000
"""Itemsets of a catalogue that take less than a second to count, in whatever data."""


def advice(request: Request, *, charged: bool) -> str:
    """What more itemsets would have needed, whether the run was charged, and the one step most likely to help."""
    return " ".join(filter(None, [with_charge(request.way.needed(), charged=charged), _step(request)]))


def small_supports(count: int, *, charged: bool) -> str:
    """What a list says where `count` itemsets were chosen, and none is listed."""
    none = "the chosen itemset has" if count == 1 else f"all {count:,} chosen itemsets have"
    said = with_charge(f"{none} too small a noisy support to be listed.", charged=charged)
    return f"{said} Try `min_support=0`, which lists all that is chosen; another run is charged as much again."


def doubt(request: Request) -> str:
    """Why most of the list is expected to be noise, and what helps, from public parameters alone; else ""."""
    if request.way.lists_what_stands_out:
        return ""
    needed, units = request.way.right_from(), request.units
    usual = USUAL_UNITS if units is None else units
    if needed * BEST_SHARE <= usual:
        return ""
    assumed = " are assumed; `units=N` says how many there are" if units is None else ""
    larger = _least_epsilon(request, lambda way: way.right_from(), request.way.name)
    step = f"`epsilon={float(larger):g}` or more" if larger and larger <= _LARGEST_COMMON else "a larger `epsilon=…`"
    return (
        f"if the best itemset is in fewer than about {needed:,} units, fewer than half of the {request.way.count} "
        f"listed are expected to be right: then give {step}, or a smaller `k=…` ({usual:,} units{assumed})."
    )


def long_search(request: Request) -> str:
    """That counting may take long, and what helps, from public parameters alone; else "".

    It is no forecast: numbers of rows and lengths of baskets are private, and what a run says must not show them.
    """
    size, large = request.terms.sizes[1], _LARGE_SIZE_IN_DEPTH if request.way.counts_deep else _LARGE_SIZE
    if size < large or ((known := request.terms.candidates) is not None and known <= _FEW_CANDIDATES):
        return ""
    return (
        f"counting itemsets of {size} items takes seconds in most data, and hours where long baskets have much in "
        f"common: `size={large - 1}` or less is quick. Ctrl-C ends the run at any time; a charge stays."
    )


def counts_of_unions(request: Request, *, several_baskets: bool) -> str:
    """What lift over the units' unions adds to the counts, from public parameters alone; else ""."""
    noise = request.split.supports
    if not request.unions or noise is None:
        return ""
    if not several_baskets:
        return "`lift_of` changes nothing: each unit has one basket, so no further counts are released."
    count, size = request.terms.count, request.terms.sizes[1]
    fewer, most = most_counts(count, size, subsets=True), most_counts(count, size, subsets=True, unions=True)
    before, now = map(noise.simultaneous_half_width, (fewer, most))
    return (
        f"`lift_of` adds counts of units' unions: up to {most:,} counts share the budget of supports instead "
        f"of {fewer:,}. All are within ±{now:,} units instead of ±{before:,}, with probability 0.95."
    )


def _step(request: Request) -> str:
    """The option most likely to help, and what it adds; that none is expected to, where none is.

    Where supports are unknown, the best is assumed to be that of 1 unit in 20.
    """
    if not request.way.guarantee().private:
        return ""
    text, epsilon = _option(request)
    if not text:
        units = "the units" if request.units is not None else f"{USUAL_UNITS:,} units"
        return f"No other option is expected to help, if the best is in 1 of {BEST_SHARE} of {units}: stop here."
    first = request.split.total.epsilon
    return f"{text} {another_run(first, first + epsilon - request.terms.epsilon)}"


def _option(request: Request) -> tuple[str, Fraction]:
    """What to try, and its ε: one step that is enough by itself where there is one; "" where none helps."""
    unlisted, present = not request.terms.has_catalogue, request.terms.epsilon
    better = _better(request)
    name = better or request.way.name
    larger = _least_epsilon(request, lambda way: way.enough(), name)
    if larger and larger <= _LARGEST_ADVISED:
        return _with_epsilon(request, name, larger), larger
    if better:
        return f"Try {_named(better)}: it is expected to need smaller supports here.", present
    if request.terms.sizes[0] > 1:
        return f"Try `size={request.terms.sizes[0] - 1}`: smaller itemsets have larger supports.", present
    if unlisted and not request.way.finds_items:
        return "Try a public list of the items, `catalogue=FILE`, such as a price list.", present
    if larger and larger <= _LARGEST_COMMON:
        return _with_epsilon(request, name, larger), larger
    return "", present


def _named(mechanism: str) -> str:
    return f"`mechanism={mechanism!r}`"


def _with_epsilon(request: Request, name: str, epsilon: Fraction) -> str:
    enough = request.another_way(name, epsilon).enough()
    other = "" if name == request.way.name else f"{_named(name)} "
    return f"Try {other}`epsilon={float(epsilon):g}`, with which about {enough:,} are enough: {_expected(request)}."


def _expected(request: Request) -> str:
    """What an advised ε rests on."""
    if request.units is not None:
        return f"fewer than 1 in {BEST_SHARE} of the units, a guess for the best"
    return f"fewer than 1 in {BEST_SHARE} of {USUAL_UNITS:,} units, a guess for the best (`units=N` for your number)"


def _for_half(way: Way) -> int:
    """The support that the best needs where half of the list is to be right; the lead where that is unknown."""
    return way.right_from() or ceil(way.lead())


def _better(request: Request) -> str:
    """The way that needs less, of what "auto" takes and of those that find items; "" where none does."""
    enough = {request.way.name: _for_half(request.way)}
    ways, terms = loaded_ways(), request.terms
    finding = (name for name, kind in ways.items() if kind.finds_items and not kind.only_by_name(terms))
    for name in (AUTO, *finding):
        with suppress(BadParameter):  # a discovery needs a δ, not too small an ε, and items that are not listed
            way = request.another_way(name, request.terms.epsilon)
            enough.setdefault(way.name, _for_half(way))
    best = min(enough, key=enough.__getitem__)
    return "" if best == request.way.name else best


@cache
def _two_digits() -> list[Fraction]:
    """The numbers of two digits from 10^-9 on: what an ε is advised from."""
    return [Fraction(digits, 10) * Fraction(10) ** power for power in range(-9, 4) for digits in range(10, 100)]


def _least_epsilon(request: Request, enough: Callable[[Way], int], name: str) -> Fraction | None:
    """The least ε of two digits at which what is expected is `enough` for the mechanism of this name.

    None where it is enough already, or never.
    """
    expected = (USUAL_UNITS if request.units is None else request.units) // BEST_SHARE
    if enough(request.another_way(name, request.terms.epsilon)) <= expected:
        return None
    larger = _two_digits()[bisect_right(_two_digits(), request.terms.epsilon) :]
    place = bisect_right(larger, 0, key=lambda epsilon: enough(request.another_way(name, epsilon)) <= expected)
    return larger[place] if place < len(larger) else None
