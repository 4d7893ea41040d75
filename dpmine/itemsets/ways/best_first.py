"""Itemsets of any size by counting the likeliest one next, with noise: no candidates have to be listed.

Items come first, with noisy weights. A few counts say how many units there are, and how supports compare to weights.
Then itemsets are counted, each one chosen by what was released before, and the uncertain ones again. The list, its
supports and their intervals are post-processing. Proof: docs/proofs/best_first.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import decimal_below
from dpmine.itemsets.best_first.bounds import Bounds
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Counts
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import Goal, NoisyWeights, Search
from dpmine.itemsets.best_first.plan import (
    AGAIN,
    CAPPED_A_PLACE,
    CAPS,
    COUNTS_A_PLACE,
    LEAST_COUNTS,
    Gauge,
    Plan,
    Planner,
    capped_sensitivity,
    likely_shares,
)
from dpmine.itemsets.best_first.recount import count_again
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.ways.basis import Basis
from dpmine.itemsets.ways.counted import CountedItemsets, Precision, WeighedItems, released
from dpmine.itemsets.ways.discovery import DIGITS, Discovery, items_per_unit
from dpmine.itemsets.ways.pure_weights import PureWeights
from dpmine.itemsets.ways.way import Chosen, Way
from dpmine.privacy import Neighbors, Zcdp
from dpmine.selection.top_k import NO_DELTA, rounds_of, share_of_best
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Interval
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.ways.discovery import Found
    from dpmine.itemsets.ways.universe import ItemsetUniverse
    from dpmine.itemsets.ways.way import ListTerms

BEST_FIRST = "best_first"
LARGEST_SIZE = 12
"""Items of an itemset, at most: all its 4095 subsets are counted before it."""
LOOKS, PURE_LOOKS, _UNITS, _SCALE, _WHOLE = (2, 3, 4), (4,), Fraction(1, 2), Fraction(1, 2), 20
"""Of twenty parts of the budget: for items, look by look; for the number of units; for supports of the heaviest items.

The rest is for itemsets. Laplace noise of several looks adds up to more than that of one.
"""
MOST_PLACES = 2000
"""Itemsets that are listed at most: each takes several counts, one after the other."""
MANY_PLACES = 10
"""From here on "auto" counts best first, for all sizes: docs/explanation/measured/itemset_lists.md compares."""
_REASON = (
    f"auto uses {BEST_FIRST}: in lists of {MANY_PLACES} or more of all sizes, it has mostly found more of the best "
    "itemsets than other mechanisms, and releases their supports, too."
)
_SURELY = 1.5
"""Deviations above the threshold: an item of such a weight is taken to be found for sure."""
_GAUGED = 5
"""Items of the largest weights, whose supports are counted to learn what weights say of supports."""
_MOST_ITEMS = 2000
"""Of which itemsets are made, at most."""
_SIZES_OF_FORECASTS = 3
"""How many sizes of itemsets a forecast names."""
_LEVEL_OF_COUNTS, _LEVEL_OF_UNITS = Fraction(955, 1000), Fraction(995, 1000)
"""Of the counts' intervals, all together, and of that of the number of units: both hold with probability 0.95."""


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
        looks: at items, at most: twentieths of the budget.
    """

    sizes: tuple[int, int]
    k: int | None
    noise: SupportNoise
    delta: Fraction
    neighbors: Neighbors
    items_per_unit: int
    support: int | Fraction = 0
    looks: tuple[int, ...] = LOOKS

    @classmethod
    def of(cls, terms: ListTerms, k: int | None, support: int | Fraction = 0) -> Self:
        """Within (ε, δ); half of δ is for items that are not public. Raises BadParameter where ε or δ are too small.

        Without δ, which needs public items, all noise is Laplace noise.
        """
        slack = Fraction(0) if terms.catalogue_size is not None else terms.delta / 2
        noise, most = _noise(terms.epsilon, terms.delta - slack), items_per_unit(terms.max_items_per_unit)
        looks = LOOKS if terms.delta else PURE_LOOKS
        counting = cls(terms.sizes, k, noise, slack, terms.neighbors, most, support, looks)
        _ = counting.discovery  # before anything is charged
        return counting

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

    def precision(self, *, several_baskets: bool) -> Precision | None:
        """By public numbers; None where the least support is a share of units that have to be counted."""
        if isinstance(self.support, Fraction):
            return None
        noise, goal = self.left(), Goal(self.sizes, self.k, self.support)
        plan = Planner(goal, noise.variance, self.neighbors, several_baskets).uncapped()
        errors = self._errors(noise, plan)
        sizes = range(1, min(self.sizes[1], _SIZES_OF_FORECASTS) + 1)
        return Precision(plan.counts, tuple(ceil(plan.kind.reach(tuple(range(size)), *errors)) for size in sizes))

    def count(self, transactions: Transactions, *, several_baskets: bool, bits: BitSource) -> CountedItemsets:
        """Everything but the list. `several_baskets`: whether a unit may have more than one, a fact of the layout."""
        units = transactions.total_units + self._units_noise.draw(1, bits=bits)
        items, gauge = self._items(transactions, units, bits)
        codes, goal = items.codes.tolist(), self._goal(gauge)
        planner = Planner(goal, items.noise.variance, self.neighbors, several_baskets)
        holdings = Holdings(transactions.baskets_of(codes), codes)
        if size := planner.basis(items.weights.tolist(), gauge):
            basis = Basis(size, self.neighbors, items.noise, planner.cells_sensitivity)
            return self._counted_in_cells(holdings, basis, items, gauge, bits)
        return self._counted(holdings, items, gauge, planner, bits)

    def _goal(self, gauge: Gauge) -> Goal:
        """In units, where a share of them is wanted."""
        support = self.support * gauge.units if isinstance(self.support, Fraction) else self.support
        return Goal(self.sizes, self.k, float(support))

    def _items(self, transactions: Transactions, units: int, bits: BitSource) -> tuple[WeighedItems, Gauge]:
        """Those that the discovery releases, the heaviest alone: as many looks as find the items that matter."""
        looks = self.discovery.each_look(transactions.item_weights(self.discovery.weights), bits=bits)
        items = self._weighed(next(looks))
        gauge = self._gauge(transactions, units, items, bits)
        while items.looks < len(self.looks) and not self._suffices(items, gauge):
            items = self._weighed(next(looks))
        return items, gauge

    def _weighed(self, released: Found) -> WeighedItems:
        """The heaviest of the items, and what the looks leave of the budget."""
        looks = released.looks
        weights = released.totals / (self.discovery.weight * sum(self.looks[:looks]))
        most = _MOST_ITEMS if self.k is None else min(_MOST_ITEMS, ceil(CAPPED_A_PLACE * self.k))
        best = np.sort(np.argsort(-weights, kind="stable")[:most])
        return WeighedItems(
            released.codes[best], weights[best], self.discovery.reach(looks)[1], self.left(looks), looks
        )

    def _suffices(self, items: WeighedItems, gauge: Gauge) -> bool:
        """Whether every item of an itemset that is wanted is likely to be found by now."""
        threshold, deviation = self.discovery.reach(items.looks)
        sure = (threshold + _SURELY * deviation) * gauge.scale
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
        variance = float(self._units_noise.variance(1))
        largest = self.discovery.weight / int(self.discovery.weights[-1])
        return Gauge(units, variance, min(max(1.0, scale), largest))

    def _counted(
        self, holdings: Holdings, items: WeighedItems, gauge: Gauge, planner: Planner, bits: BitSource
    ) -> CountedItemsets:
        """The itemsets that were counted, all their parts among them, with intervals that hold together."""
        plan, goal = planner.plan(items.weights.tolist(), gauge), planner.goal
        noise, sensitivity = items.noise, plan.sensitivity
        exact = plan.kind.exact(holdings)
        variance = float(noise.variance(sensitivity))
        counts = Counts(plan.kind, exact.count, lambda: noise.draw(sensitivity, bits=bits), variance, plan.counts)
        counts.answers[EVERYBODY] = Answers(gauge.variance, gauge.number, 1)
        search = Search(counts, NoisyWeights(items.weights.tolist(), items.deviation), goal, gauge.scale)
        search.run(plan.counts - int(AGAIN * plan.counts))
        count_again(counts, search.counted, goal)
        error, of_units = self._errors(noise, plan)
        hidden = 0 if exact.hidden is None else max(0, exact.hidden() + noise.draw(sensitivity, bits=bits) + error)
        units = self._units(gauge)
        bounds = Bounds.of(counts, search.counted, error, of_units, hidden)
        above = bounds.largest(search.frontier) if search.counted else None
        return CountedItemsets(tuple(items.codes.tolist()), bounds, units, above, noise)

    def _counted_in_cells(
        self, holdings: Holdings, basis: Basis, items: WeighedItems, gauge: Gauge, bits: BitSource
    ) -> CountedItemsets:
        """All itemsets of a few items: none of these was not counted."""
        codes, wanted = tuple(items.codes.tolist()), self.sizes[1]
        level = _LEVEL_OF_COUNTS
        bounds = basis.count(holdings, len(codes), largest=wanted, units=gauge.number, level=level, bits=bits)
        return CountedItemsets(codes, bounds, self._units(gauge), 0, basis.noise)

    def _units(self, gauge: Gauge) -> tuple[int, Interval]:
        """Their noisy number, and its interval."""
        width, number = self._units_noise.half_width(1, _LEVEL_OF_UNITS), gauge.number
        return max(0, number), (max(0, number - width), max(0, number + width))

    def _errors(self, noise: SupportNoise, plan: Plan) -> tuple[int, int]:
        """The largest noise that is plausible of any count, and of the number of units."""
        error = noise.half_width(plan.sensitivity, 1 - (1 - _LEVEL_OF_COUNTS) / (plan.counts + 1))
        return error, self._units_noise.half_width(1, _LEVEL_OF_UNITS)


@dataclass(frozen=True, slots=True)
class BestFirst(Way):
    """The k best itemsets of some sizes by adaptive counts: (ε, δ), half of δ for items that are not public.

    Sources: Gopi et al. 2020 (unknown items); Barak et al. 2007 and Xiao et al. 2023 (counts of parity); Feldman &
    Zrnic 2021 (what each unit may add); this project (the order, the choice among kinds of counts). Proof:
    docs/proofs/best_first.md.
    """

    counting: AdaptiveCounts

    finds_items: ClassVar[bool] = True
    releases_supports: ClassVar[bool] = True

    @classmethod
    def suits(cls, terms: ListTerms) -> str | None:
        """With some δ, or a public catalogue."""
        if terms.from_data:
            return f"{BEST_FIRST} finds the items by itself: leave the catalogue out, or give a public one."
        if terms.kbar is not None:
            return f"{BEST_FIRST} has no option kbar: it keeps as many items as it finds."
        if terms.unions:
            return f"{BEST_FIRST} counts no unions of baskets: leave `lift_of` out, or name another mechanism."
        if terms.count > MOST_PLACES:
            return f"{BEST_FIRST} lists at most {MOST_PLACES:,} itemsets: give a smaller `k`, or another mechanism."
        if terms.sizes[1] > LARGEST_SIZE:
            return f"{BEST_FIRST} counts all subsets of an itemset: size must be at most {LARGEST_SIZE}."
        return None if terms.delta or terms.catalogue_size is not None else NO_DELTA

    @classmethod
    def only_by_name(cls, terms: ListTerms) -> bool:
        """But for all sizes from single items on: larger itemsets alone do not repay the counts of their parts."""
        smallest, largest = terms.sizes
        return not smallest == 1 < largest

    @classmethod
    def advantage(cls, terms: ListTerms) -> str | None:
        """In lists of some places."""
        return None if cls.only_by_name(terms) or terms.count < MANY_PLACES else _REASON

    @classmethod
    def of(cls, terms: ListTerms) -> Self:
        """`max_items_per_unit`: how many of its items a unit may weigh; all of them count in supports."""
        counting = AdaptiveCounts.of(terms, terms.count)
        return cls(terms.count, terms.epsilon, terms.delta, terms.neighbors, counting)

    @property
    def name(self) -> str:
        """Its own."""
        return BEST_FIRST

    @property
    def zcdp(self) -> Zcdp:
        """All of the budget, however many looks are taken."""
        return self.counting.zcdp

    def _deviation(self) -> float:
        """Of a plain count or a capped one, whichever has less noise, where all looks are taken."""
        counts = min(ceil(COUNTS_A_PLACE * self.count), capped_sensitivity(CAPS[-1], self.neighbors))
        return sqrt(self.counting.left().variance(counts))

    def lead(self) -> float:
        """Three deviations of a difference: about what k noises do not exceed."""
        return 3 * sqrt(2) * self._deviation()

    def lead_over(self) -> str:
        """All other itemsets."""
        return "all other itemsets"

    def right_from(self) -> int:
        """Where half of the itemsets exceed two deviations, and their items are found as often as not."""
        found = self.counting.discovery.enough_units if self.counting.delta else 0
        return ceil(max(found, 2 * self._deviation()) / share_of_best(self.count / 2))

    def needed(self) -> str:
        """Of unknown items: what one takes to be found."""
        if not self.counting.delta:
            return Way.needed(self)
        return f"too few items were found. {self.counting.discovery.shortage()}"

    def enough(self) -> int:
        """The support of the best itemset."""
        return self.right_from()

    def rounds(self) -> str:
        """All stages."""
        most = ceil(COUNTS_A_PLACE * self.count)
        return f"items by noisy weights, then about {rounds_of(most)}, each chosen by those before"

    def choose(self, universe: ItemsetUniverse, *, bits: BitSource) -> Chosen:
        """The best of what was counted, ties by size, then by code."""
        transactions = universe.transactions
        counted = self.counting.count(transactions, several_baskets=universe.several_baskets, bits=bits)
        values, codes, least = counted.bounds.values, counted.codes, self.counting.sizes[0]
        ranked = sorted(values, key=lambda itemset: (-values[itemset], len(itemset), itemset))
        best = [itemset for itemset in ranked if len(itemset) >= least][: self.count]
        listed = tuple(tuple(codes[number] for number in itemset) for itemset in best)
        return Chosen(listed, released(counted, transactions))


def _noise(epsilon: Fraction, delta: Fraction) -> SupportNoise:
    """Gaussian noise whose ρ gives (ε, δ); Laplace noise for δ = 0. Raises BadParameter where they are too small."""
    if not delta:
        return DiscreteLaplace(epsilon)
    rho = decimal_below(rho_at(epsilon, delta), DIGITS)
    if not rho:
        raise BadParameter("epsilon is too small to count itemsets at this delta: give a larger one.")
    return DiscreteGaussian(rho)
