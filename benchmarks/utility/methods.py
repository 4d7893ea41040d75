"""What bench_utility.py compares: ways to choose k itemsets, and how good a choice is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from utility.baselines import laplace_keys, truncated_scores

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.transactions.lists import CodedItemset
from dpmine.itemsets.ways.discovery import Discover
from dpmine.itemsets.ways.items_first import ByItems, ItemsFirst
from dpmine.itemsets.ways.way import ByMechanism, ListTerms, Way, build_way
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import OneShot, TopK, build_top_k

if TYPE_CHECKING:
    from utility.data import Case

    from dpmine.itemsets.ways.universe import ItemsetUniverse

DELTA = Fraction(1, 10**6)
NONE = Fraction(0)
BITS = SystemBits()
Choice = Callable[[], tuple[CodedItemset, ...]]
Maker = Callable[["Case", "Setting"], tuple[Choice, float]]


@dataclass(frozen=True)
class Setting:
    k: int
    epsilon: Fraction
    neighbors: Neighbors = Neighbors.REPLACE_ONE


class Measured(NamedTuple):
    """All runs of a method on a case.

    `precision`: of each run, the share of the k places that a best itemset got; `seconds`: a choice, the median;
    `round_epsilon`: of each round, 0 for unknown.
    """

    section: str
    title: str
    method: str
    k: int
    epsilon: float
    neighbors: str
    precision: list[float]
    seconds: float
    round_epsilon: float


class Method(NamedTuple):
    name: str
    make: Maker


def library(
    mechanism: str, *, delta: Fraction = DELTA, known: bool = True, kbar: Callable[[int], int] | None = None
) -> Maker:
    """One of dpmine's own: the catalogue public or unknown, δ perhaps 0, k̄ perhaps a function of k."""

    def make(case: Case, setting: Setting) -> tuple[Choice, float]:
        universe = case.known if known else case.unknown
        built = build_top_k(
            mechanism,
            count=setting.k,
            epsilon=setting.epsilon,
            delta=delta,
            neighbors=setting.neighbors,
            candidates=universe.size,
            options={"kbar": kbar(setting.k)} if kbar else {},
        )
        return _by(built, universe, built.mechanism.epsilon)

    return make


def items_first(*, delta: Fraction = DELTA, known: bool = True, half: bool = False) -> Maker:
    """As the library does it by itself, or (`half`) with max(20, k/2) items."""

    def make(case: Case, setting: Setting) -> tuple[Choice, float]:
        size = case.baskets.catalogue_size if known else None
        kept = {"kbar": max(LEAST_ITEMS, setting.k // 2)} if half else {}
        return _chosen_by(ItemsFirst.of(replace(terms(case, setting, delta), catalogue_size=size, options=kept)), case)

    return make


def terms(case: Case, setting: Setting, delta: Fraction = DELTA) -> ListTerms:
    """Without a catalogue."""
    return ListTerms(setting.k, setting.epsilon, delta, setting.neighbors, (case.size, case.size))


def default_way(case: Case, setting: Setting, mechanism: str = "auto") -> Way:
    """What `dpmine.top_itemsets` runs without a catalogue."""
    return build_way(replace(terms(case, setting), mechanism=mechanism))


def requested(mechanism: str) -> Maker:
    return lambda case, setting: _chosen_by(default_way(case, setting, mechanism), case)


def looking(share: Fraction | None, items_per_unit: int) -> Maker:
    """Discovery with D of the caller's; in one look that gets this share of ρ, or in those of the library."""

    def make(case: Case, setting: Setting) -> tuple[Choice, float]:
        way = Discover.of(replace(terms(case, setting), options={"max_items_per_unit": items_per_unit}))
        if share is None:
            return _chosen_by(way, case)
        rho = way.zcdp.rho
        each = Fraction(int(10**6 * sqrt(8 * (1 - share) * rho / setting.k)), 10**6)
        shot = OneShot.of_rounds(setting.k, each, setting.neighbors)
        discovery = replace(way.discovery, rho=share * rho, looks=(1,))
        return _chosen_by(replace(way, discovery=discovery, shots=(shot,)), case)

    return make


def _by(choice: TopK, universe: ItemsetUniverse, round_epsilon: Fraction) -> tuple[Choice, float]:
    return lambda: choice.choose(universe, bits=BITS), float(round_epsilon)


def _chosen_by(way: Way, case: Case) -> tuple[Choice, float]:
    """Items of a discovery are looked for in the unknown catalogue, and so is all that has no public one."""
    if isinstance(way, ByMechanism):
        return _by(way.top_k, case.unknown, way.top_k.mechanism.epsilon)
    last = way.itemsets.round_epsilon if isinstance(way, ByItems) else NONE
    is_public = isinstance(way, ItemsFirst) and isinstance(way.items, OneShot)
    universe = case.known if is_public else case.unknown
    return lambda: way.choose(universe, bits=BITS).itemsets, float(last)


def truncated(case: Case, setting: Setting) -> tuple[Choice, float]:
    shot = OneShot.of(setting.k, setting.epsilon, DELTA, setting.neighbors)
    universe = truncated_scores(case, shot)
    return lambda: shot.choose(universe, bits=BITS), float(shot.round_epsilon)


def laplace(case: Case, setting: Setting) -> tuple[Choice, float]:
    return laplace_keys(case, setting.k, setting.epsilon, DELTA, setting.neighbors, bits=BITS), 0.0


LEAST_ITEMS = 20  # else half of k
AUTO, DISCOVER, LAPLACE = "auto", "discover", "Laplace keys"
OLD = [
    Method("limited domain", library("limited_domain", known=False, kbar=lambda k: 100 * k)),
    Method("items first", items_first(known=False)),
    Method("items first, k/2", items_first(known=False, half=True)),
]
"""What there was for unknown catalogues before discovery."""
PUBLIC = [
    Method("exponential", library("exponential")),
    Method("items first", items_first()),
    Method("truncated", truncated),
]
PURE = [
    Method("max of exponentials, δ = 0", library("max_of_exponentials", delta=NONE)),
    Method("items first, δ = 0", items_first(delta=NONE)),
]
KBARS: dict[str, Callable[[int], int]] = {
    "k": lambda k: k,
    "10 k": lambda k: 10 * k,
    "100 k": lambda k: 100 * k,
    "1000 k": lambda k: 1000 * k,
    "2^20": lambda _: 2**20,
}
LOOKS = {
    "one look, D = 50": looking(Fraction(3, 10), 50),
    "D = 10": looking(None, 10),
    "D = 20": looking(None, 20),
    "D = 50": looking(None, 50),
    "D = 100": looking(None, 100),
}


def measure(section: str, case: Case, method: Method, setting: Setting, runs: int) -> Measured:
    choose, round_epsilon = method.make(case, setting)
    threshold = case.cut_off(setting.k)
    precision, times = [], []
    for _ in range(runs):
        start = time.perf_counter()
        chosen = choose()
        times.append(time.perf_counter() - start)
        precision.append(sum(case.support(itemset) >= threshold for itemset in chosen) / setting.k)
    cell = (setting.k, float(setting.epsilon), setting.neighbors.value)
    return Measured(section, case.title, method.name, *cell, precision, median(times), round_epsilon)


def unknown(section: str, case: Case, setting: Setting, runs: int) -> list[Measured]:
    """`auto` and all else that needs no catalogue; `discover` is the same runs where `auto` takes just that."""
    auto = measure(section, case, Method(AUTO, requested(AUTO)), setting, runs)
    if default_way(case, setting) == default_way(case, setting, DISCOVER):
        discover = auto._replace(method=DISCOVER)
    else:
        discover = measure(section, case, Method(DISCOVER, requested(DISCOVER)), setting, runs)
    others = [*OLD, Method(LAPLACE, laplace)]
    return [auto, discover, *(measure(section, case, method, setting, runs) for method in others)]
