"""Which items may be named at all: those that many units have, found with Gaussian noise, where no catalogue is public.

Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, isqrt, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.noise import LARGEST_SCALE, discrete_gaussian_array, whole_scale
from dpmine.exact.reals import decimal_below, exact_ball, working_precision
from dpmine.itemsets.release.noise import DiscreteGaussian
from dpmine.itemsets.ways.items_first import ByItems, shot_among
from dpmine.itemsets.ways.universe import itemset_count
from dpmine.itemsets.ways.way import Chosen
from dpmine.itemsets.ways.weighted_pairs import MOST_WEIGHTED_ITEMS, WeightedPairs
from dpmine.parameters import whole
from dpmine.privacy import Neighbors, Zcdp, decimal
from dpmine.selection.recommend import least
from dpmine.selection.top_k import NO_DELTA, OneShot, rounds_of, share_of_best
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import Ball
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms


DISCOVER = "discover"
ITEMS_PER_UNIT = 50
"""How many of its items a unit may name, by default: docs/explanation/measured/itemset_lists.md compares."""
MOST_ITEMS_PER_UNIT = 10_000
LARGEST_WEIGHT = 1 << 20  # S: what a unit gives to its items, in length
_LOOKS, _REST = (1, 1, 2, 4, 4), 8  # twentieths of ρ: 1/20, 1/10, 1/5, 2/5 or 3/5 goes into the discovery
_ENOUGH, _TIMES_THE_PLACES = 60, 4  # items at which it ends, or those with this many itemsets per place
_WEIGHTED_PLACES, _WEIGHTED_SCALE = 50, 66
"""From which on weighted pairs found more: docs/explanation/measured/itemset_lists.md."""
DISCOVERED_PLACES = {Neighbors.REPLACE_ONE: 5, Neighbors.ADD_REMOVE: 10}
"""From here on "auto" discovers the items of an unknown catalogue: docs/explanation/measured/short_lists.md compares.

Limited domain gains more from add_remove, which halves all of its noise.
"""
_PLACES_OF_ITEMS, _SMALL_EPSILON = 14, Fraction(1, 2)
"""Under add_remove, in lists of single items at a smaller ε than that."""
_REASON = (
    f"auto uses {DISCOVER}: without a catalogue, in lists of {DISCOVERED_PLACES[Neighbors.REPLACE_ONE]} or more "
    f"({DISCOVERED_PLACES[Neighbors.ADD_REMOVE]} under add-remove), it has mostly found more of the best itemsets "
    "than other mechanisms."
)
_STANDS_OUT = 3
_BITS = 192
DIGITS = 12
"""Of ρ, a decimal number."""


@dataclass(frozen=True, slots=True)
class Found:
    """The items that were released, and what was spent on them.

    Attributes:
        codes: int64[m], increasing.
        looks: how many were taken.
        totals: int64[m], the noisy sums that the last look compared with its threshold.
    """

    codes: NDArray[np.int64]
    looks: int
    totals: NDArray[np.int64]


@dataclass(frozen=True)
class Discovery:
    """Items whose noisy weight reaches a threshold that an item of a single unit reaches with probability at most δ.

    A unit with n ≤ D items gives each the weight ⌊S/√n⌋, so that its weights have length S at most, whatever n is. The
    sums of the units' weights get discrete Gaussian noise. A look adds a further noisy copy of the sums to those of the
    looks before, and releases the items that reach its threshold. There is another look only while fewer than `enough`
    items are released. δ-approximate ρ-zCDP for all looks together; the first l of them use Σ_{j ≤ l} `budgets`[j].

    Attributes:
        budget: ρ > 0 of all looks.
        delta: δ in (0, 1) of all looks; 0 where the items are public: all of them are released.
        neighbors: the relation.
        items_per_unit: D ≥ 1, public.
        looks: how ρ is divided among the looks: whole numbers that stand in the ratio of their parts.
        enough: how many items end the search.

    Raises BadParameter where ρ is so small that a unit's weights would all be 0.
    Source: Gopi et al. 2020 (the weights, the threshold); this project (whole numbers, looks).
    """

    budget: Fraction
    delta: Fraction
    neighbors: Neighbors
    items_per_unit: int = ITEMS_PER_UNIT
    looks: tuple[int, ...] = (1,)
    enough: int = 0

    def __post_init__(self) -> None:
        if not self.weights[-1]:
            raise BadParameter("epsilon is too small to discover any item: give a larger one, or a catalogue.")
        _ = self.thresholds  # before anything is charged

    def shortage(self) -> str:
        """What an item would have needed to be found: facts of the parameters."""
        most, alone = self.items_per_unit, ceil(self.enough_alone)
        return (
            f"To be found with probability 1/2, an item needs about {alone:,} units that have nothing else, or about "
            f"{self.enough_units:,} units with {most:,} items each."
        )

    @property
    def enough_units(self) -> int:
        """How many units an item needs to be found with probability 1/2, where each has the most items."""
        return ceil(self.enough_alone * sqrt(self.items_per_unit))

    @property
    def enough_alone(self) -> float:
        """The same, where they have nothing else, and not rounded."""
        return self.thresholds[-1] / sum(self.looks) / self.weight

    @property
    def zcdp(self) -> Zcdp:
        """(ρ, δ)."""
        return Zcdp(self.budget, self.delta)

    @cached_property
    def budgets(self) -> tuple[Fraction, ...]:
        """The most that each look may use."""
        return tuple(self.budget * part / sum(self.looks) for part in self.looks)

    @cached_property
    def weight(self) -> int:
        """S: 2^20, or less where the noise would be too large for 64 bits."""
        return min(LARGEST_WEIGHT, isqrt(int(self._squared_reach(min(self.budgets)) * LARGEST_SCALE**2)))

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """int64[D]: what each item gets of a unit that has 1, 2, … D items. Rounded down, or a unit could give more."""
        square = self.weight**2
        return np.array([isqrt(square // count) for count in range(1, self.items_per_unit + 1)], np.int64)

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """σ_j, a whole number: with noise of this scale the look uses at most its part of ρ."""
        return tuple(whole_scale(Fraction(self.weight**2) / self._squared_reach(rho)) for rho in self.budgets)

    def _squared_reach(self, rho: Fraction) -> Fraction:
        """(S/σ)² for a budget of ρ. The sums of neighbours are at most S apart, or √2 S where a unit is replaced."""
        return rho if self.neighbors is Neighbors.REPLACE_ONE else 2 * rho

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """T_j, of the sum Σ_{i ≤ j} looks_i·(W + X_i) of the noisy copies so far. Certified.

        A unit gives an item the weight w. An item of this unit alone reaches T_j with probability at most
        1 − (1 − δ_j)^{1/n}, for every n ≤ D, where δ_j = δ/`len(looks)`. The sum of the noises is no larger than
        Gaussian noise of variance Σ looks_i² σ_i², plus Σ looks_i. Of public items, three deviations of the noise.
        """
        copies = tuple(accumulate(self.looks))
        variances = accumulate(
            part**2 * self._variance(scale) for part, scale in zip(self.looks, self.scales, strict=True)
        )
        return tuple(self._threshold(number, variance) for number, variance in zip(copies, variances, strict=True))

    def _threshold(self, copies: int, variance: int) -> int:
        """The least whole T with Φ̄((T − copies·(⌊S/√n⌋ + 1))/σ) ≤ 1 − (1 − δ_j)^{1/n} for every n ≤ D.

        Certified: an undecided comparison is a no. The largest n, which mostly decides, comes first.
        """
        delta, threshold = self.delta / len(self.looks), 0
        if not delta:
            return isqrt(_STANDS_OUT**2 * variance)
        with working_precision(_BITS):
            spread = exact_ball(2 * variance).sqrt()
            for count in range(self.items_per_unit, 0, -1):
                allowed = -((-exact_ball(delta)).log1p() / count).expm1()
                start = copies * (int(self.weights[count - 1]) + 1)
                threshold = max(threshold, start + _least_rare(spread, allowed, known=threshold - start))
        return threshold

    def find(self, transactions: Transactions, *, bits: BitSource) -> Found:
        """The items of the transactions; takes one pass over them."""
        return self.release(transactions.item_weights(self.weights), bits=bits)

    def release(self, sums: NDArray[np.int64], *, bits: BitSource) -> Found:
        """The items of these sums of weights (int64[N]), after as many looks as find enough."""
        looks = self.each_look(sums, bits=bits)
        found = next(looks)
        while found.looks < len(self.looks) and len(found.codes) < self.enough:
            found = next(looks)
        return found

    def each_look(self, sums: NDArray[np.int64], *, bits: BitSource) -> Iterator[Found]:
        """The items of these sums after one look, two, …, each of which is taken when it is asked for.

        One of weight 0 is never released, as if it did not exist, unless items are public.
        """
        held = np.flatnonzero(sums) if self.delta else np.arange(len(sums))
        total, found = np.zeros(len(held), np.int64), np.full(len(held), not self.delta)
        for look, (part, scale) in enumerate(zip(self.looks, self.scales, strict=True)):
            total = total + part * (sums[held] + self._noise(len(held), scale, bits=bits))
            found |= total >= self.thresholds[look]
            yield Found(held[found], look + 1, total[found])

    def _noise(self, count: int, scale: int, *, bits: BitSource) -> NDArray[np.int64]:
        """Of `count` sums, of a look of this scale."""
        return discrete_gaussian_array(count, scale, bits=bits)

    def _variance(self, scale: int) -> int:
        """About that of the noise."""
        return scale**2

    def reach(self, looks: int) -> tuple[float, float]:
        """The threshold after some looks, and the deviation of the noise, in units that have one item alone."""
        parts = self.looks[:looks]
        unit = self.weight * sum(parts)
        variance = sum(part**2 * self._variance(scale) for part, scale in zip(parts, self.scales, strict=False))
        return self.thresholds[looks - 1] / unit, sqrt(variance) / unit


@dataclass(frozen=True, slots=True)
class Discover(ByItems):
    """The items that a discovery finds, then k itemsets of these items: for items that are not public.

    Half of δ is for the discovery, the other half turns ρ into ε. The discovery takes as many looks as it needs to find
    enough items. The itemsets get what it leaves of ρ: the more units have the items, the less noise they get.
    Itemsets are chosen in one shot. The exception is many pairs at a small ε, where the noise of a shot is the larger
    one: these are chosen by their noisy weights, unless too many items were found.
    Sources: Gopi et al. 2020 (discovery); Durfee & Rogers 2019 (one shot). Proof: docs/proofs/discovery.md.
    """

    discovery: Discovery
    shots: tuple[OneShot, ...]
    """What chooses the itemsets after 1, 2, … looks."""
    weighted: tuple[WeightedPairs | None, ...]
    """What chooses them in place of a shot; None after as many looks as leave enough for the shot."""

    name: ClassVar[str] = DISCOVER
    finds_items: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = frozenset({"max_items_per_unit"})

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """Where the items are not public."""
        if terms.has_catalogue:
            return f"{DISCOVER} is for items that are not public: leave the catalogue out, or the mechanism."
        return None if terms.delta else NO_DELTA

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:
        """In lists of some places."""
        places = DISCOVERED_PLACES[terms.neighbors]
        if terms.neighbors is Neighbors.ADD_REMOVE and terms.sizes[1] == 1 and terms.epsilon < _SMALL_EPSILON:
            places = _PLACES_OF_ITEMS
        return _REASON if terms.count >= places else None

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """`max_items_per_unit`: how many of its items a unit may name; all of them count in supports."""
        count, delta, neighbors = terms.count, terms.delta, terms.neighbors
        named = delta / 2
        rho = decimal_below(rho_at(terms.epsilon, delta - named), DIGITS)
        if not rho:
            raise BadParameter(f"epsilon is too small for {DISCOVER} at this delta: give a larger one.")
        part = rho / (sum(_LOOKS) + _REST)
        places = _TIMES_THE_PLACES * count
        enough = max(_ENOUGH, least(lambda items: itemset_count(items, terms.sizes) >= places, start=1))
        most = items_per_unit(terms.options.get("max_items_per_unit"))
        discovery = Discovery(part * sum(_LOOKS), named, neighbors, most, _LOOKS, enough)
        left = [rho - part * spent for spent in accumulate(_LOOKS)]
        shots = tuple(_shot(count, rest, neighbors) for rest in left)
        pairs = terms.sizes == (2, 2) and count >= _WEIGHTED_PLACES
        weighted = tuple(
            WeightedPairs(count, rest, neighbors) if pairs and shot.mechanism.scale >= _WEIGHTED_SCALE else None
            for rest, shot in zip(left, shots, strict=True)
        )
        return cls(count, terms.epsilon, delta, neighbors, terms.sizes, discovery, shots, weighted)

    @property
    def itemsets(self) -> OneShot:
        """The shot after half of the looks."""
        return self.shots[len(self.shots) // 2]

    @property
    def kept(self) -> int:
        """The number of items at which the discovery ends."""
        return self.discovery.enough

    @property
    def zcdp(self) -> Zcdp:
        """All of ρ, however many looks are taken."""
        return Zcdp(self.discovery.budget * (sum(_LOOKS) + _REST) / sum(_LOOKS), self.discovery.delta)

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """Of the items that the discovery found, with what it left of ρ."""
        discovered = self.discovery.find(universe.transactions, bits=bits)
        codes, last = discovered.codes.tolist(), discovered.looks - 1
        weighted = self.weighted[last]
        if weighted is None or len(codes) > MOST_WEIGHTED_ITEMS:
            return Chosen(shot_among(universe, codes, self.shots[last], bits=bits))
        return Chosen(weighted.choose(universe.transactions, codes, bits=bits))

    @property
    def usual_pairs(self) -> WeightedPairs | None:
        """What chooses the pairs after half of the looks, as is usual; None where the shot does."""
        return self.weighted[len(self.shots) // 2]

    @property
    def weighs_pairs(self) -> bool:
        """As is usual."""
        return self.usual_pairs is not None

    def lead(self) -> float:
        """The itemsets' own; the items' is another matter."""
        return (self.usual_pairs or self.itemsets).lead(self.candidates)

    def right_from(self) -> int:
        """Where half of the itemsets are right, and the items of the one in the middle are found as often as not.

        Units are taken to have as many items as they may name, and pairs with weights to count in full.
        """
        units = self.discovery.enough_alone * sqrt(self.discovery.items_per_unit)
        items_found = ceil(units / share_of_best(self.count / 2))
        return max(items_found, (self.usual_pairs or self.itemsets).right_from(self.candidates))

    def needed(self) -> str:
        """Of the items alone."""
        return f"too few items were found. {self.discovery.shortage()}"

    def rounds(self) -> str:
        """Both stages."""
        first, last = (float(shot.round_epsilon) for shot in (self.shots[0], self.shots[-1]))
        shots = f"{rounds_of(self.count)} at ε between {min(first, last):.3g} and {max(first, last):.3g}"
        if any(self.weighted):
            once = "" if all(self.weighted) else "after an early look, or "
            shots = f"Gaussian noise on weighted counts, or, {once}with more than {MOST_WEIGHTED_ITEMS} items, {shots}"
        return f"items: Gaussian noise, δ = {decimal(self.discovery.delta)}; itemsets of these: {shots}"


def _shot(count: int, rho: Fraction, neighbors: Neighbors) -> OneShot:
    """The exponential mechanism in k rounds that use ρ together: ε_0 = √(8ρ/k), rounded down."""
    return OneShot.of_rounds(count, DiscreteGaussian(rho).exponential_rounds(count), neighbors)


def items_per_unit(wanted: int | None) -> int:
    """How many of its items a unit may name in a discovery; BadParameter for what is no such number."""
    most = ITEMS_PER_UNIT if wanted is None else whole("max_items_per_unit", wanted)
    if most > MOST_ITEMS_PER_UNIT:
        raise BadParameter(f"max_items_per_unit must be at most {MOST_ITEMS_PER_UNIT:,} where items are discovered.")
    return most


def _least_rare(spread: Ball, allowed: Ball, *, known: int) -> int:
    """The least whole x ≥ 0 with Φ̄(x√2/spread) ≤ `allowed`; `known` where that suffices, which is a bound then."""

    def suffices(x: int) -> bool:
        return bool((exact_ball(x) / spread).erfc() / 2 <= allowed)

    if known >= 0 and suffices(known):
        return known
    end = spread * (-allowed.log()).sqrt()  # Φ̄(y) ≤ e^{−y²/2}/2
    return least(suffices, start=0, end=int(end.ceil().upper().unique_fmpz()) + 1)
