"""How long bench_utility.py's ways take, with nothing beside them: a discovery, and choices after mining."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from utility.data import SOURCES, Case, read, with_unsold
from utility.methods import BITS, DELTA, Measured, Setting, default_way, items_first, library

from dpmine.itemsets.ways.discovery import Discover
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.itemsets.ways.discovery import Discovery

CATALOGUE = 41_270  # items of the whole kosarak, most of which the cut data set does not have
UNITS = 990_000
BASKET = 8  # items of each unit of the made-up sums of weights
DISCOVERED = 10_000


def times(name: str, runs: int) -> list[Measured]:
    """Medians. Those of choices are left out where the data set is missing."""
    found = [discovery(runs, all_looks=all_looks) for all_looks in (False, True)]
    baskets = read(name)
    if baskets is None:
        return found
    title = SOURCES[name].title
    pairs = Case(f"{title}, 100 pairs among {DISCOVERED:,} discovered items", with_unsold(baskets, DISCOVERED), 2)
    shot = Discover.of(ListTerms(100, Fraction(1), DELTA, Neighbors.REPLACE_ONE)).itemsets
    found.append(timed(pairs.title, "after mining", lambda: shot.choose(pairs.known, bits=BITS), runs))
    whole = Case(f"{title}, 100 pairs, the catalogue unknown", baskets, 2)
    way = default_way(whole, Setting(100, Fraction(1)))
    label = f"auto ({way.name}) after counting"
    found.append(timed(whole.title, label, lambda: way.choose(whole.unknown, bits=BITS), runs))
    triples = Case(f"{title}, 100 triples of {CATALOGUE:,} items", with_unsold(baskets, CATALOGUE), 3)
    makers = {
        "exponential": library("exponential"),
        "limited domain": library("limited_domain", known=False, kbar=lambda k: 100 * k),
        "items first": items_first(),
    }
    for label, make in makers.items():
        choose, _ = make(triples, Setting(100, Fraction(1)))
        found.append(timed(triples.title, label, choose, runs))
    return found


def discovery(runs: int, *, all_looks: bool) -> Measured:
    """The items of made-up sums of weights, most items rare: after counting."""
    search = Discover.of(ListTerms(100, Fraction(1), DELTA, Neighbors.REPLACE_ONE)).discovery
    search = replace(search, enough=CATALOGUE + 1) if all_looks else search
    sums = zipf_sums(search)
    looks = search.release(sums, bits=BITS).looks
    title = f"discovery among {CATALOGUE:,} items of {UNITS:,} units"
    return timed(title, f"{looks} look(s)", lambda: search.release(sums, bits=BITS), runs)


def zipf_sums(search: Discovery) -> np.ndarray:
    """int64[N]: item r has a number of units that falls as 1/r."""
    shares = 1 / np.arange(1, CATALOGUE + 1)
    units = np.maximum(1, UNITS * BASKET * shares / shares.sum()).astype(np.int64)
    return np.asarray(np.minimum(units, UNITS) * search.weights[BASKET - 1])


def timed(title: str, label: str, choose: Callable[[], object], runs: int) -> Measured:
    choose()
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        choose()
        spent.append(time.perf_counter() - start)
    return Measured("time", title, label, 100, 1.0, Neighbors.REPLACE_ONE.value, [], median(spent), 0.0)
