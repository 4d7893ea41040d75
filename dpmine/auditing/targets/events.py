"""Events to compare: ways to look at an outcome, what they see sorted into bins, and the bins where one side is likely.

A mistake shows in what an outcome is, how large it is, how long, or which bits of a float are used. Each way of looking
is a function of one outcome, so that what it shows, the outcome shows as well. An event is a set of bins, chosen from
some outcomes and measured on others.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from dpmine.auditing.blackbox import joint_bounds, lower_bounds, upper_bounds
from dpmine.auditing.targets.sampling import Raised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpmine.auditing.targets.claims import Claim, Evidence
    from dpmine.selection.distributions.profile import FloatArray, IntArray

    Counts: TypeAlias = "Counter[Hashable]"

_MOST_KINDS = 1000  # of different values that are each a bin
_BINS = 64  # of numbers that are mostly different
_ENTRIES = 12  # of a sequence, looked at one by one
_TYPED = 200  # outcomes of each side whose types decide how to look
_LONGEST = 70  # characters of a value in a text
_OTHER = "anything else"
_LARGEST = int(sys.float_info.max)
_COUNTABLE = frozenset({int, bool, str, type(None)})


@dataclass(frozen=True, slots=True)
class View:
    """One way to look at an outcome: its name, and what is seen."""

    name: str
    see: Callable[[Hashable], Hashable]
    """Of an outcome that is `frozen`."""


@dataclass(frozen=True)
class Bins:
    """Where what is seen belongs: values by themselves, and numbers between edges."""

    values: dict[Hashable, int]
    edges: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """The values, the stretches between edges, and one for all else."""
        return len(self.values) + len(self.edges) + 2

    def place(self, seen: Hashable) -> int:
        """The bin's number."""
        bin_number = self.values.get(seen)
        if bin_number is not None:
            return bin_number
        if self.edges and _is_number(seen):
            return len(self.values) + bisect_left(self.edges, float(seen))
        return self.count - 1

    def counts(self, seen: Counts) -> FloatArray:
        """How often what is seen is in each bin: shape (count,)."""
        places = [self.place(value) for value in seen]
        return np.bincount(places, list(seen.values()), minlength=self.count).astype(np.float64)

    def described(self, places: AbstractSet[int]) -> str:
        """The bins in words."""
        named = {place: value for value, place in self.values.items()}
        parts = [_short(named[place]) for place in sorted(places) if place in named]
        parts += [self._stretch(run) for run in _runs([place - len(self.values) for place in places], len(self.edges))]
        if self.count - 1 in places:
            parts.append(_OTHER)
        shown = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
        return shown if len(parts) == 1 else f"one of: {shown}"

    def _stretch(self, run: tuple[int, int]) -> str:
        first, last = run
        low = "" if first == 0 else f"above {self.edges[first - 1]:.6g}"
        high = "" if last == len(self.edges) else f"at most {self.edges[last]:.6g}"
        return " and ".join(filter(None, (low, high))) or "any number"


@dataclass(frozen=True)
class Event:
    """What is seen of an outcome is in these bins."""

    view: View
    bins: Bins
    places: frozenset[int]

    def hits(self, outcomes: Sequence[object]) -> int:
        """How many outcomes are in the event."""
        found = Counter(map(frozen, outcomes))
        return sum(n for outcome, n in found.items() if self.bins.place(self.view.see(outcome)) in self.places)

    def __str__(self) -> str:
        return f"{self.view.name} is {self.bins.described(self.places)}"


@dataclass(frozen=True)
class EventChoice:
    """An event, whether it is likelier on the second side, and what the outcomes that chose it suggest."""

    event: Event
    backwards: bool
    evidence: Evidence
    considered: int


def choose_event(
    before: Sequence[object], after: Sequence[object], claim: Claim, miss: float, *, bits: bool = True
) -> EventChoice:
    """The event and direction that show most of the claim, by bounds that each fail with probability `miss`.

    That is a choice, not a measurement. Every other outcome puts the bins in order, and the rest choose among the
    beginnings of that order: otherwise bins would count that are likelier by chance. `bits` says whether those of
    floats are looked at. Requires: as many outcomes on both sides, at least 2.
    """
    best, considered = None, 0
    parts = [[Counter(map(frozen, outcomes[start::2])) for outcomes in (before, after)] for start in (0, 1)]
    trials = parts[1][0].total()
    ways = views(list({frozen(outcome) for outcomes in (before, after) for outcome in outcomes[:_TYPED]}), bits=bits)
    for view in [*ways, *_together(ways, *parts[0])]:
        seen = [[_seen(view, outcomes) for outcomes in part] for part in parts]
        bins = _bins(seen[0][0] + seen[0][1] + seen[1][0] + seen[1][1])
        ordering, choosing = ([bins.counts(outcomes) for outcomes in part] for part in seen)
        for backwards in (False, True):
            one, other = (1, 0) if backwards else (0, 1)
            orders = _orders(ordering[one], ordering[other], len(bins.values))
            hits = [np.concatenate([np.cumsum(choosing[side][order]) for order in orders]) for side in (one, other)]
            bounds = lower_bounds(hits[0], trials, miss), upper_bounds(hits[1], trials, miss)
            place, evidence = claim.worst_event(*bounds)
            considered += hits[0].size
            if best is None or evidence.rank > best.evidence.rank:
                best = EventChoice(Event(view, bins, _prefix(orders, place)), backwards, evidence, 0)
    if best is None:
        raise AssertionError  # an outcome can always be looked at as a whole
    return EventChoice(best.event, best.backwards, best.evidence, considered)


@dataclass(frozen=True)
class EventMeasurement:
    """What fresh outcomes show of the chosen event.

    Attributes:
        evidence: the figure, from below.
        shares: how often the event occurred on both sides.
        corners: see `joint_bounds`.
    """

    evidence: Evidence
    shares: tuple[float, float]
    corners: tuple[FloatArray, FloatArray]

    def delta(self, epsilon: float) -> float:
        """A lower bound on δ(ε), at least 0."""
        above, below = self.corners
        return max(0.0, float((above - math.exp(epsilon) * below).min()))


def measure_event(
    chosen: EventChoice, left: Sequence[object], right: Sequence[object], claim: Claim, miss: float
) -> EventMeasurement:
    """What fresh outcomes show of the chosen event.

    Law: if the claim is true, the evidence refutes it with probability at most `miss`.
    """
    sides = (right, left) if chosen.backwards else (left, right)
    hits, hits_neighbor = (chosen.event.hits(outcomes) for outcomes in sides)
    corners = joint_bounds(hits, hits_neighbor, len(left), miss)
    return EventMeasurement(claim.least(*corners), (hits / len(left), hits_neighbor / len(left)), corners)


def _orders(left: FloatArray, right: FloatArray, values: int) -> list[IntArray]:
    """Bins one after the other, whose beginnings are the events.

    By likelihood ratio, where the best event is; each alone; numbers from below and from above. Of the bins found only.
    """
    occupied = np.flatnonzero(left + right)
    ranked = occupied[np.argsort(-(left[occupied] + 0.5) / (right[occupied] + 0.5), kind="stable")]
    stretches = occupied[occupied >= values]
    return [ranked, *ranked[1:, None], *([stretches, stretches[::-1]] if stretches.size > 1 else [])]


def _prefix(orders: list[IntArray], place: int) -> frozenset[int]:
    """The bins of the event of that number, counted through all orders."""
    for order in orders:
        if place < order.size:
            return frozenset(order[: place + 1].tolist())
        place -= order.size
    raise AssertionError


def _seen(view: View, outcomes: Counts) -> Counts:
    sightings: Counts = Counter()
    for outcome, count in outcomes.items():
        sightings[view.see(outcome)] += count
    return sightings


def _bins(seen: Counts) -> Bins:
    """Values that are frequent have bins of their own; other numbers lie between quantiles."""
    if len(seen) <= _MOST_KINDS:
        return _each(seen)
    numbers = [float(value) for value in seen.elements() if _is_number(value)]
    if 2 * len(numbers) < seen.total():  # texts or lists that are mostly different
        return _each([value for value, count in seen.most_common(_MOST_KINDS) if count > 1])
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, _BINS + 1), method="inverted_cdf"))
    frequent = [value for value, count in seen.most_common(_MOST_KINDS) if count >= seen.total() / 100]
    return Bins(_each(frequent).values, tuple(edges.tolist()))


def _each(values: Iterable[Hashable]) -> Bins:
    """A bin for every value, in an order that is the same every time."""
    return Bins({value: place for place, value in enumerate(sorted(values, key=_order))})


def views(outcomes: Sequence[object], *, bits: bool = True) -> list[View]:
    """The ways to look at such outcomes, which are `frozen`: as a whole, by length, entries and bits of floats."""
    ways = [View("the outcome", lambda outcome: outcome)]
    if any(isinstance(outcome, tuple) for outcome in outcomes):
        ways += _of_many(outcomes)
    if any(isinstance(outcome, _Table) for outcome in outcomes):
        ways += _of_mappings(outcomes)
    return [*ways, *(more for view in ways if bits for more in _of_floats(view, outcomes))]


def _of_floats(view: View, outcomes: Sequence[object]) -> Iterator[View]:
    """What else is seen where a view sees floats."""
    if any(isinstance(view.see(outcome), float) for outcome in outcomes):
        yield View(f"the lowest bit of {view.name}, as a power of 2,", lambda outcome: _lowest_bit(view.see(outcome)))
        yield View(f"the fraction of {view.name}", lambda outcome: _fraction(view.see(outcome)))


def _of_many(outcomes: Sequence[object]) -> list[View]:
    longest = max(len(outcome) for outcome in outcomes if isinstance(outcome, tuple))
    ways = [View("the number of entries", _length)]
    ways += [View(f"entry {place}", _Entry(place)) for place in range(min(longest, _ENTRIES))]
    if longest > 1:
        ways += [
            View("the sum of all entries", lambda outcome: sum(_numbers(outcome))),
            View("the largest entry", lambda outcome: max(_numbers(outcome), default=None)),
            View("the place of the largest entry", _place_of_largest),
        ]
    return ways


def _of_mappings(outcomes: Sequence[object]) -> list[View]:
    keys = Counter(key for outcome in outcomes if isinstance(outcome, _Table) for key, _ in outcome)
    found = [
        View("the number of keys", _length),
        View("the set of keys", lambda outcome: frozenset(dict(outcome)) if isinstance(outcome, _Table) else None),
    ]
    return [*found, *(View(f"the value of {_short(key)}", _Value(key)) for key, _ in keys.most_common(_ENTRIES))]


def _together(ways: Sequence[View], left: Counts, right: Counts) -> Iterator[View]:
    """What single entries say for one side, added up as if they were independent of each other: for several entries."""
    parts = []
    for view in ways:
        if isinstance(view.see, _Entry | _Value):
            seen = [_seen(view, outcomes) for outcomes in (left, right)]
            bins = _bins(seen[0] + seen[1])
            one, other = (bins.counts(each) for each in seen)
            parts.append((view, bins, np.log((one + 0.5) / (other + 0.5)).tolist()))
    if len(parts) > 1:
        yield View("ln of the ratio of probabilities that the entries suggest", _Sum(tuple(parts)))


@dataclass(frozen=True)
class _Sum:
    """The sum of what entries suggest, to a quarter."""

    parts: tuple[tuple[View, Bins, list[float]], ...]

    def __call__(self, outcome: Hashable) -> float:
        return round(4 * sum(weights[bins.place(view.see(outcome))] for view, bins, weights in self.parts)) / 4


@dataclass(frozen=True, slots=True)
class _Entry:
    """The entry at a place of a sequence; None where there is none."""

    place: int

    def __call__(self, outcome: Hashable) -> Hashable:
        return outcome[self.place] if isinstance(outcome, tuple) and self.place < len(outcome) else None


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of a key; None where there is none."""

    key: Hashable

    def __call__(self, outcome: Hashable) -> Hashable:
        return dict(outcome).get(self.key) if isinstance(outcome, _Table) else None


class _Table(frozenset[tuple[Hashable, Hashable]]):
    """A mapping as the set of its pairs."""

    __slots__ = ()


def frozen(outcome: object) -> Hashable:
    """The outcome as something that can be counted: lists and arrays as tuples, mappings as tables, NaN as a text."""
    if type(outcome) in _COUNTABLE:
        return outcome
    if isinstance(outcome, np.generic | np.ndarray):
        outcome = outcome.tolist()
    if isinstance(outcome, float):
        return float(outcome) if outcome == outcome else "not a number"  # noqa: PLR0124 - NaN is unequal to itself
    if isinstance(outcome, list | tuple):
        return tuple([frozen(entry) for entry in outcome])
    if isinstance(outcome, Mapping):
        return _Table((frozen(key), frozen(value)) for key, value in outcome.items())
    if isinstance(outcome, AbstractSet):
        return frozenset(outcome)
    return outcome if isinstance(outcome, Hashable) else repr(outcome)


def _is_number(seen: object) -> TypeGuard[float]:
    """A float, or another number that has one near it."""
    kind = type(seen)
    if kind is float:
        return True
    return kind is not bool and isinstance(seen, Real) and seen <= _LARGEST and not seen < -_LARGEST


def _length(outcome: Hashable) -> int:
    return len(outcome) if isinstance(outcome, tuple | _Table) else -1


def _numbers(outcome: Hashable) -> list[float]:
    return [entry for entry in outcome if _is_number(entry)] if isinstance(outcome, tuple) else []


def _place_of_largest(outcome: Hashable) -> int | None:
    numbers = _numbers(outcome)
    return numbers.index(max(numbers)) if numbers else None


def _lowest_bit(value: Hashable) -> Hashable:
    """The exponent of the lowest bit that a float has set: noise made carelessly leaves a trace in it."""
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        return None
    mantissa, exponent = math.frexp(value)
    whole = int(mantissa * 2**53)
    return exponent - 53 + (whole & -whole).bit_length() - 1


def _fraction(value: Hashable) -> Hashable:
    return math.fmod(value, 1) % 1 if isinstance(value, float) and math.isfinite(value) else None


def _order(value: Hashable) -> tuple[bool, float, str]:
    """Numbers by size, then all else by its text: the same order every time."""
    return (False, float(value), "") if _is_number(value) else (True, 0.0, _short(value))


def _runs(places: Sequence[int], last: int) -> list[tuple[int, int]]:
    """Stretches of numbers in a row, as (first, last), of those from 0 to `last`."""
    inside = sorted(place for place in places if 0 <= place <= last)
    if not inside:
        return []
    breaks = [place for place, (one, other) in enumerate(pairwise(inside), start=1) if other != one + 1]
    cuts = [0, *breaks, len(inside)]
    return [(inside[start], inside[end - 1]) for start, end in pairwise(cuts)]


def _short(value: object) -> str:
    if isinstance(value, Raised):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "{" + ", ".join(sorted(map(repr, value))) + "}" if isinstance(value, frozenset) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
