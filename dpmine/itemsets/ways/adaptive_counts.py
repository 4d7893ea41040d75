"""Itemsets of any size by counting the likeliest one next, with noise: no candidates have to be listed.

Items come first, with noisy weights. A few counts say how many units there are, and how supports compare to weights.
Then itemsets are counted, each one chosen by what was released before, and the uncertain ones again. The list, its
supports and their intervals are post-processing. Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.io.python_values import items_at
from dpmine.itemsets.best_first.bounds import Bounds, Errors
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Counts
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import BestFirstSearch, Goal, NoisyWeights, count_again, learn_from_weights
from dpmine.itemsets.best_first.plan import (
    LEAST_COUNTS,
    CountingPlan,
    Gauge,
    Planner,
    changes,
    items_of_best,
    likely_shares,
)
from dpmine.itemsets.best_first.together import Likely, Together
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.release.supports import LARGEST_SUPPORT, Consistency, SupportRelease
from dpmine.itemsets.ways.basis import Basis
from dpmine.itemsets.ways.discovery import Discovery, items_per_unit
from dpmine.itemsets.ways.pure_weights import PureWeights
from dpmine.privacy import Neighbors, Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.best_first.together import Support
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Interval
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.discovery import Found
    from dpmine.itemsets.ways.way import ListTerms

LARGEST_SIZE = 12
"""Items of an itemset, at most: all its 4095 subsets are counted before it."""
_LOOKS, _PURE_LOOKS, _UNITS, _SCALE, _WHOLE = (2, 3, 4), (4,), Fraction(1, 2), Fraction(1, 2), 20
"""Of twenty parts of the budget: for items, look by look; for the number of units; for supports of the heaviest items.

The rest is for itemsets. Laplace noise of several looks adds up to more than that of one.
"""
_SURELY, _APART_FROM_NOISE = 1.5, 5.0
"""Deviations above the threshold: an item of such a weight is taken to be found for sure.

A threshold of public items, which are released whatever they weigh: from there on a weight is not all noise.
"""
_GAUGED = 5
"""Items of the largest weights, whose supports are counted to learn what weights say of supports."""
_MOST_ITEMS = 2000
"""Of which itemsets are made, at most."""
_SIZES_OF_FORECASTS = 3
"""How many sizes of itemsets a forecast names."""
_LEVEL_OF_COUNTS, _LEVEL_OF_UNITS = Fraction(955, 1000), Fraction(995, 1000)
"""Of the counts' intervals, all together, and of that of the number of units: both hold with probability 0.95."""


class WeighedItems(NamedTuple):
    """Items that are public by now.

    Attributes:
        codes: int64[m].
        weights: float64[m], what units gave to each, with noise.
        deviation: of that noise.
        noise: by what is left of the budget for the itemsets' counts.
        looks: how many the discovery took.
    """

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    deviation: float
    noise: SupportNoise
    looks: int


class CountedItemsets(NamedTuple):
    """What was counted, in numbers of items: places in `codes`.

    Attributes:
        codes: of the items.
        bounds: supports and their intervals.
        units: how many there are: with noise, and its interval.
        complete_above: the largest support that an itemset of counted items may have that was not counted; None where
            no item was counted.
        noise: of the counts.
    """

    codes: tuple[int, ...]
    bounds: Bounds
    units: tuple[int, Interval]
    complete_above: int | None
    noise: SupportNoise


class Precision(NamedTuple):
    """How exactly supports are counted where the items take all looks.

    Attributes:
        counts: how many are taken, about.
        half_widths: of the intervals of itemsets of 1, 2, … items, which hold together, in units; of a capped count
            without what the cap may hide.
    """

    counts: int
    half_widths: tuple[int, ...]


class Precisions(NamedTuple):
    """Two ends, by public parameters alone: what is released of the data decides what is counted.

    In between, where units have some ten likely itemsets, more is counted, and intervals may be several times as wide.

    Attributes:
        if_many: where units have many of the itemsets that are counted: no cap applies.
        if_few: where they have hardly any.
    """

    if_many: Precision
    if_few: Precision


@dataclass(frozen=True)
class AdaptiveCounts:
    """All stages, whose noises are parts of one: Gaussian by ρ, which with δ gives (ε, δ), or Laplace by ε alone.

    Attributes:
        sizes: the smallest and the largest size.
        k: the number of itemsets that are wanted; None for all that have `support`.
        noise: by the budget of all stages.
        delta: δ in (0, 1) of the discovery; 0 where the items are public.
        neighbors: the relation.
        items_per_unit: D ≥ 1: how many of its items a unit may weigh.
        support: the least support that is wanted: a count, or as a fraction a share of all units. 0 for the best k.
    """

    sizes: tuple[int, int]
    k: int | None
    noise: SupportNoise
    delta: Fraction
    neighbors: Neighbors
    items_per_unit: int
    support: int | Fraction = 0

    @classmethod
    def of(cls, terms: ListTerms, k: int | None, support: int | Fraction = 0) -> Self:
        """Within (ε, δ); half of δ is for items that are not public. Raises BadParameter where ε or δ are too small.

        Without δ, which needs public items, all noise is Laplace noise.
        """
        finding_delta = Fraction(0) if terms.catalogue_size is not None else terms.delta / 2
        noise = _noise(terms.epsilon, terms.delta - finding_delta)
        most = items_per_unit(terms.options.get("max_items_per_unit"))
        counting = cls(terms.sizes, k, noise, finding_delta, terms.neighbors, most, support)
        _ = counting.discovery  # before anything is charged
        return counting

    @property
    def looks(self) -> tuple[int, ...]:
        """At items, at most: twentieths of the budget."""
        return _PURE_LOOKS if isinstance(self.noise, DiscreteLaplace) else _LOOKS

    @cached_property
    def discovery(self) -> Discovery:
        """What weighs the items. Raises BadParameter where the budget is too small."""
        noise = self.noise.part(Fraction(sum(self.looks), _WHOLE))
        rest = self.delta, self.neighbors, self.items_per_unit, self.looks
        if isinstance(noise, DiscreteLaplace):
            return PureWeights(noise.epsilon, *rest)
        return Discovery(noise.zcdp.rho, *rest)

    @property
    def _units_noise(self) -> SupportNoise:
        return self.noise.part(_UNITS / _WHOLE)

    @property
    def zcdp(self) -> Zcdp:
        """(ρ, δ)."""
        return Zcdp(self.noise.zcdp.rho, self.delta)

    def left(self, looks: int | None = None) -> SupportNoise:
        """The noise of the itemsets' counts, after this number of looks; after all of them, if not given."""
        return self.noise.part((_WHOLE - sum(self.looks[:looks]) - _UNITS - _SCALE) / _WHOLE)

    def least_support(self) -> int:
        """What stands out from noise: two standard deviations of a count, where as few as possible are taken."""
        deviation = sqrt(self.left().variance(LEAST_COUNTS))
        return ceil(2 * deviation if self.neighbors is Neighbors.REPLACE_ONE else deviation)

    def precisions(self, *, several_baskets: bool) -> Precisions | None:
        """By public numbers; None where the least support is a share of units that have to be counted."""
        if isinstance(self.support, Fraction):
            return None
        noise, goal = self.left(), Goal(self.sizes, self.k, self.support)
        planner = Planner(goal, noise.variance, self.neighbors, several_baskets)
        plans = planner.uncapped(), planner.plan((), self._measured(1, 1.0))
        return Precisions(*(self._precision(noise, plan) for plan in plans))

    def _precision(self, noise: SupportNoise, plan: CountingPlan) -> Precision:
        error = _errors_of_means(noise.part(1 - plan.together), plan)(1)
        itemsets = [tuple(range(size)) for size in range(1, min(self.sizes[1], _SIZES_OF_FORECASTS) + 1)]

        def error_of(part: CodedItemset) -> int:
            return error if part else self._units_error

        return Precision(plan.counts, tuple(ceil(plan.kind.reach(itemset, error_of)) for itemset in itemsets))

    def count(self, transactions: Transactions, *, several_baskets: bool, bits: BitSource) -> CountedItemsets:
        """Everything but the list. `several_baskets`: whether a unit may have more than one, a fact of the layout."""
        units = transactions.total_units + self._units_noise.draw(1, bits=bits)
        items, gauge = self._items(transactions, units, bits)
        codes, goal = items.codes.tolist(), self._goal(gauge)
        planner = Planner(goal, items.noise.variance, self.neighbors, several_baskets)
        holdings = Holdings(transactions.baskets_of(codes), codes)
        if size := planner.basis(items.weights.tolist(), gauge):
            basis = Basis(size, self.neighbors, items.noise, changes(self.neighbors))
            return self._counted_in_cells(holdings, basis, items, gauge, bits)
        return self._counted(holdings, items, gauge, planner, bits)

    def _goal(self, gauge: Gauge) -> Goal:
        """In units; where a share of them is wanted, at least what stands out from noise."""
        support = self.support
        if isinstance(support, Fraction):
            support = max(support * gauge.units, Fraction(self.least_support()))
        return Goal(self.sizes, self.k, float(support))

    def _items(self, transactions: Transactions, units: int, bits: BitSource) -> tuple[WeighedItems, Gauge]:
        """Those that the discovery releases, the heaviest alone: as many looks as find the items that matter.

        Until some are found, nothing says how large the supports are of items that a look may have missed.
        """
        looks = self.discovery.each_look(transactions.item_weights(self.discovery.weights), bits=bits)
        items, enough = self._weighed(next(looks)), _GAUGED if self.k is None else 1
        while self.delta and items.looks < len(self.looks) and len(items.codes) < enough:
            items = self._weighed(next(looks))
        gauge = self._gauge(transactions, units, items, bits)
        while items.looks < len(self.looks) and not self._suffices(items, gauge):
            items = self._weighed(next(looks))
        return items, gauge

    def _weighed(self, released: Found) -> WeighedItems:
        """The heaviest of the items, and what the looks leave of the budget."""
        looks = released.looks
        weights = released.totals / (self.discovery.weight * sum(self.looks[:looks]))
        most = _MOST_ITEMS if self.k is None else min(_MOST_ITEMS, items_of_best(self.k, self.sizes[0]))
        best = np.sort(np.argsort(-weights, kind="stable")[:most])
        return WeighedItems(
            released.codes[best], weights[best], self.discovery.reach(looks)[1], self.left(looks), looks
        )

    def _suffices(self, items: WeighedItems, gauge: Gauge) -> bool:
        """Whether every item of an itemset that is wanted is likely to be found by now."""
        threshold, deviation = self.discovery.reach(items.looks)
        sure = (max(threshold, _APART_FROM_NOISE * deviation) + _SURELY * deviation) * gauge.scale
        if self.k is None:
            return self._goal(gauge).support >= sure
        shares = likely_shares((items.weights * gauge.scale / gauge.units).clip(0, 1).tolist(), self.k)
        return len(shares) == self.k and shares[-1] * gauge.units >= sure

    def _gauge(self, transactions: Transactions, units: int, items: WeighedItems, bits: BitSource) -> Gauge:
        """The supports of the heaviest items, as multiples of their weights."""
        noise = self.noise.part(_SCALE / _WHOLE)
        heaviest = np.argsort(-items.weights, kind="stable")[:_GAUGED]
        exact = transactions.supports_of_items()[items.codes[heaviest]].tolist()
        supports = sum(support + noise.draw(_GAUGED, bits=bits) for support in exact)
        scale = supports / max(1.0, float(items.weights[heaviest].sum()))
        largest = self.discovery.weight / int(self.discovery.weights[-1])
        return self._measured(units, min(max(1.0, scale), largest))

    def _measured(self, units: int, scale: float) -> Gauge:
        return Gauge(units, float(self._units_noise.variance(1)), scale)

    def _counted(
        self, holdings: Holdings, items: WeighedItems, gauge: Gauge, planner: Planner, bits: BitSource
    ) -> CountedItemsets:
        """The itemsets that were counted, all their parts among them, with intervals that hold together."""
        plan, goal = planner.plan(items.weights.tolist(), gauge), planner.goal
        noise, sensitivity, exact = items.noise.part(1 - plan.together), plan.sensitivity, plan.kind.exact(holdings)

        def draw() -> int:
            return noise.draw(sensitivity, bits=bits)

        counts = Counts(plan.kind, exact.count, draw, float(noise.variance(sensitivity)), plan.counts)
        counts.answers[EVERYBODY] = Answers(gauge.variance, gauge.number, 1)
        weights = NoisyWeights(items.weights.tolist(), items.deviation)
        search = BestFirstSearch(counts, weights, goal, gauge.scale)
        search.run(plan.counts - plan.again)
        learn_from_weights(counts, search.counted, weights)
        if plan.again:
            count_again(counts, search.counted, goal)
        exhausted = 0 if exact.hidden is None else max(0, exact.hidden() + draw())
        whole = 0 if plan.again else exact.whole
        of_mean = _errors_of_means(noise, plan)
        left_out: dict[CodedItemset, int] = {}
        if exact.hidden is not None:
            left_out = dict.fromkeys(search.counted[whole:], exhausted + _error_of_exhausted(noise, plan, of_mean(1)))
        errors = Errors(of_mean, self._units_error, left_out)
        supports: dict[CodedItemset, Support] = {}
        if plan.together:
            likely = Likely.of(counts, search.counted, goal, exhausted, whole)
            budget, times, level = items.noise.part(plan.together), changes(self.neighbors), 1 - _outside(plan)
            together = Together.planned(budget, times, level, holdings, likely, bits=bits)
            supports = together.count(holdings, counts, likely, bits)
        bounds = Bounds.of(counts, search.counted, errors, supports)
        above = bounds.largest(search.frontier) if search.counted else None
        return CountedItemsets(tuple(items.codes.tolist()), bounds, self._units(gauge), above, items.noise)

    def _counted_in_cells(
        self, holdings: Holdings, basis: Basis, items: WeighedItems, gauge: Gauge, bits: BitSource
    ) -> CountedItemsets:
        """All itemsets of a few items: none of these was not counted."""
        codes, wanted = tuple(items.codes.tolist()), self.sizes[1]
        level = _LEVEL_OF_COUNTS
        bounds = basis.count(holdings, len(codes), largest=wanted, units=gauge.number, level=level, bits=bits)
        return CountedItemsets(codes, bounds, self._units(gauge), 0, basis.noise)

    @cached_property
    def _units_error(self) -> int:
        return self._units_noise.half_width(1, _LEVEL_OF_UNITS)

    def _units(self, gauge: Gauge) -> tuple[int, Interval]:
        """Their noisy number, and its interval: within what 64 bits count."""
        width = self._units_error
        low, number, high = (min(max(0, gauge.number + off), LARGEST_SUPPORT) for off in (-width, 0, width))
        return number, (low, high)


def _outside(plan: CountingPlan) -> Fraction:
    """How probable it may be that one noise is larger than its interval allows for."""
    return (1 - _LEVEL_OF_COUNTS) / ((plan.counts + 1) * (2 if plan.together else 1))


def _errors_of_means(noise: SupportNoise, plan: CountingPlan) -> Callable[[int], int]:
    """The largest noise that is plausible of any count, or of the mean of several answers."""

    @cache
    def of_mean(times: int) -> int:
        level = 1 - _outside(plan) / (times * (times + 1) if plan.again else 1)
        if times == 1:
            return noise.half_width(plan.sensitivity, level)
        return ceil(noise.sum_half_width(plan.sensitivity, times, level) / times)

    return of_mean


def _error_of_exhausted(noise: SupportNoise, plan: CountingPlan, alone: int) -> int:
    """How many more units may be exhausted than their noisy number says, beside what a count is off by: `alone`.

    Both noises together go less far than one and the other.
    """
    return alone if plan.again else min(alone, noise.sum_half_width(plan.sensitivity, 2, 1 - _outside(plan)) - alone)


def released(counted: CountedItemsets, transactions: Transactions) -> SupportRelease:
    """The supports and intervals of all that was counted, of items in place of their numbers."""
    names = items_at(transactions.labels, counted.codes)
    bounds, itemsets = counted.bounds, tuple(counted.bounds.values)
    return SupportRelease(
        tuple(frozenset(names[number] for number in itemset) for itemset in itemsets),
        tuple(bounds.values[itemset] for itemset in itemsets),
        tuple((bounds.lows[itemset], bounds.highs[itemset]) for itemset in itemsets),
        counted.noise,
        Consistency.MONOTONE,
    )


def _noise(epsilon: Fraction, delta: Fraction) -> SupportNoise:
    """Gaussian noise whose ρ gives (ε, δ); Laplace noise for δ = 0. Raises BadParameter where they are too small."""
    if not delta:
        return DiscreteLaplace(epsilon)
    noise = DiscreteGaussian.within(epsilon, delta)
    if noise is None:
        raise BadParameter("epsilon is too small to count itemsets at this delta: give a larger one.")
    return noise
