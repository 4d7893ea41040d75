"""Columns of bench_choice.py: what is asked for, which ways can answer, and how much of the best each one misses.

A column is k, sizes, δ, a public catalogue or none, the relation and ε: all that `auto` may look at. Made-up data are
drawn from fixed seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from utility.data import LONG, SOURCES, Weighed, read

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ByMechanism, ListTerms, build_way, loaded_ways
from dpmine.options.names import AUTO
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS
from dpmine.selection.universes.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.itemsets.transactions.lists import CodedItemset
    from dpmine.itemsets.ways.way import Way

BITS = SystemBits()
CHOSEN_ON = ("retail", "bms_webview_2", "mushroom", "customers", "downloads", "groceries")
REPORTED_ON = ("adult", "shop", "bms_webview_1")
"""They had no part in the choice of a way, nor of the constants of lists of k."""
COUNTS, SIZES = (1, 5, 10, 20, 50, 100), ((1, 1), (2, 2), (1, 4))
FEWEST_OF_ALL_SIZES = 10
EPSILONS = (Fraction(1, 4), Fraction(1))
DELTA = Fraction(1, 10**6)
_SINGLE = (
    "max_of_exponentials",
    "exponential",
    "limited_domain",
    "limited_domain_permute_and_flip",
    "stable_maximiser",
)
_LISTS = ("exponential", "limited_domain")
_PEELED, _MOST_PEELED = ("max_of_exponentials",), 20


@dataclass(frozen=True)
class Column:
    """What is asked for."""

    k: int
    sizes: tuple[int, int]
    delta: Fraction
    is_public: bool
    neighbors: Neighbors
    epsilon: Fraction

    def terms(self, catalogue_size: int, mechanism: str) -> ListTerms:
        size = catalogue_size if self.is_public else None
        return ListTerms(self.k, self.epsilon, self.delta, self.neighbors, self.sizes, size, mechanism=mechanism)

    def __str__(self) -> str:
        sizes = {(1, 1): "items", (2, 2): "pairs", (1, 4): "1-4"}[self.sizes]
        known = "public" if self.is_public else "unknown"
        delta = "1e-6" if self.delta else "0"
        return f"{sizes} | {self.k} | {known} | {delta} | {self.neighbors} | {float(self.epsilon):g}"


def columns() -> Iterator[Column]:
    """All of them: lists of all sizes have some places."""
    for sizes, k, (is_public, delta), neighbors, epsilon in product(
        SIZES, COUNTS, ((True, Fraction(0)), (True, DELTA), (False, DELTA)), Neighbors, EPSILONS
    ):
        if sizes[1] <= 2 or k >= FEWEST_OF_ALL_SIZES:
            yield Column(k, sizes, delta, is_public, neighbors, epsilon)


class Cell(NamedTuple):
    """A way on a data set of that many items: of each list, the share of the best that is missing."""

    column: str
    data: str
    items: int
    way: str
    missing: list[float]


@dataclass
class MinedData:
    """A data set, mined once."""

    name: str
    lists: int | None = None
    """Of each cell; None for as many as `draws` says."""
    _universes: dict[tuple[tuple[int, int], bool], ItemsetUniverse] = field(default_factory=dict)
    _supports: dict[CodedItemset, int] = field(default_factory=dict)

    @cached_property
    def baskets(self) -> Weighed | None:
        made = {"downloads": downloads, "shop": shop}.get(self.name)
        found = read(self.name) if made is None else read_transactions(made(), LONG).transactions
        return None if found is None else Weighed.of(found)

    @cached_property
    def _miner(self) -> object:
        return self.baskets.miner()

    def universe(self, sizes: tuple[int, int], *, is_public: bool) -> ItemsetUniverse:
        if (sizes, is_public) not in self._universes:
            several = self.name in SOURCES and bool(SOURCES[self.name].columns.basket)
            self._universes[sizes, is_public] = ItemsetUniverse(
                self._miner,
                range(sizes[0], sizes[1] + 1),
                catalogue_is_public=is_public,
                transactions=self.baskets,
                several_baskets=several,
            )
        return self._universes[sizes, is_public]

    def missing(self, chosen: tuple[CodedItemset, ...], k: int, least: int) -> float:
        return 1 - sum(self._support(itemset) >= least for itemset in chosen) / k

    def _support(self, itemset: CodedItemset) -> int:
        if itemset not in self._supports:
            self._supports[itemset] = self._miner.support(itemset)
        return self._supports[itemset]

    def cells(self, column: Column) -> Iterator[Cell]:
        """Of all ways by name. None where there are too few itemsets."""
        items = self.baskets.catalogue_size
        if self.universe(column.sizes, is_public=True).size < column.k:
            return
        least = int(Ranking(self.universe(column.sizes, is_public=True)).score(column.k))
        for way in rivals(column, items):
            yield Cell(str(column), self.name, items, way.name, self._lists(way, column, least))

    def _lists(self, way: Way, column: Column, least: int) -> list[float]:
        """As many in each cell, whatever they miss: to stop at the first that are alike would leave out rare misses."""
        universe = self.universe(column.sizes, is_public=column.is_public)
        chosen = (way.choose(universe, bits=BITS).itemsets for _ in range(self.lists or draws(column.k)))
        return [self.missing(itemsets, column.k, least) for itemsets in chosen]


def draws(k: int) -> int:
    """Lists of a cell, fewer where each has more places."""
    return max(4, 40 // k)


def rivals(column: Column, catalogue_size: int) -> Iterator[Way]:
    """All ways that can answer, by name."""
    peeled = _PEELED if 1 < column.k <= _MOST_PEELED else ()
    for name in (*(_SINGLE if column.k == 1 else _LISTS), *peeled, *loaded_ways()):
        kind = loaded_ways().get(name, ByMechanism)
        terms = column.terms(catalogue_size, name)
        if name in MECHANISMS and MECHANISMS[name].approximate and not column.delta:
            continue
        if kind.suits(terms) is None:
            try:
                yield kind.of(terms)
            except BadParameter:
                continue


def with_auto(cells: Sequence[Cell]) -> list[Cell]:
    """These, and `auto`: the same lists as the way that it is. So a rule is judged by what was measured by name."""
    by_name, found = {str(column): column for column in columns()}, list(cells)
    for cell in cells:
        column = by_name[cell.column]
        if build_way(column.terms(cell.items, AUTO)) == build_way(column.terms(cell.items, cell.way)):
            found.append(cell._replace(way=AUTO))
    return found


def downloads(seed: int = 1) -> pa.Table:
    """Sessions that have few items each, none of which stands out."""
    random = np.random.default_rng(seed)
    sessions, items = 15_729, 936
    weights = (np.arange(items) + 20.0) ** -0.6
    lengths = random.geometric(1 / 1.7, sessions)
    units = np.repeat(np.arange(sessions), lengths)
    return _table(units, random.choice(items, len(units), p=weights / weights.sum()))


def shop(seed: int = 2) -> pa.Table:
    """30,000 baskets of 2,500 products by a power law, with 300 pairs that are bought together."""
    random = np.random.default_rng(seed)
    baskets, items, pairs = 30_000, 2_500, 300
    weights = (np.arange(items) + 3.0) ** -0.9
    units = np.repeat(np.arange(baskets), 1 + random.poisson(6, baskets))
    bought = random.choice(items, len(units), p=weights / weights.sum())
    partner = np.arange(items)
    partner[random.choice(items // 4, pairs, replace=False)] = random.choice(items // 4, pairs)
    together = random.random(len(units)) < 0.4
    return _table(np.concatenate([units, units[together]]), np.concatenate([bought, partner[bought[together]]]))


def _table(units: np.ndarray, items: np.ndarray) -> pa.Table:
    """Without repetitions."""
    rows = np.unique(np.stack([units, items], 1), axis=0)
    return pa.table({"transaction_id": rows[:, 0], "item": rows[:, 1]})
