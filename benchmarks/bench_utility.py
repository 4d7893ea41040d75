"""How good privately chosen top-k itemsets are on real data: dpmine's ways, published ones, and OpenDP.

    python benchmarks/bench_utility.py [--quick] [--out benchmarks/results]

Precision is the share of the k places that one of the k best itemsets gets (any itemset of the k-th best support counts
as one). Every choice is a run of the mechanism itself on a universe that was mined once. Catalogues that nobody
published come first. Data sets that are missing are left out; OpenDP lives in .venv-peers (see the Makefile).
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from utility import peers
from utility.data import SOURCES, Case, case_of
from utility.methods import (
    AUTO,
    BITS,
    DELTA,
    KBARS,
    LOOKS,
    PUBLIC,
    PURE,
    Measured,
    Method,
    Setting,
    items_first,
    library,
    measure,
    requested,
    unknown,
)
from utility.tables import plot, report
from utility.times import times
from utility.verdict import TARGETS

from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.release.supports import noisy
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

ENUMERATED = 500  # items of the catalogue beside OpenDP, whose choices can take minutes on more
TUNED_ON = ("retail", "kosarak_5_25", "bms_webview_2")
REPORTED_ON = ("T10I4D100K", "invoices", "customers")
SHARES = (Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3))
NEAR = 0.25  # a released support this near to the truth is of use
FEW = 20  # units: a pair that fewer have is noise
THREE_TENTHS = Fraction(3, 10)
Task = tuple["Callable[[str, Extent], list[Measured]]", str]


@dataclass(frozen=True)
class Extent:
    """How much is measured: k and ε; runs of the main table, of the others, beside OpenDP, and of cells with a target;
    choices that are timed."""

    counts: tuple[int, ...] = (10, 50, 100)
    epsilons: tuple[Fraction, ...] = (THREE_TENTHS, Fraction(1), Fraction(3))
    runs: int = 10
    others: int = 5
    runs_beside: int = 8
    runs_of_targets: int = 50
    times: int = 20


FULL = Extent()
QUICK = Extent((10, 100), (THREE_TENTHS, Fraction(1)), runs=3, others=2, runs_beside=3, runs_of_targets=5, times=5)


def replaced(name: str, extent: Extent) -> list[Measured]:
    return without_catalogue(name, extent, Neighbors.REPLACE_ONE)


def removed(name: str, extent: Extent) -> list[Measured]:
    return without_catalogue(name, extent, Neighbors.ADD_REMOVE)


def without_catalogue(name: str, extent: Extent, neighbors: Neighbors) -> list[Measured]:
    """All ways for items that nobody published, and OpenDP with the items it finds."""
    case = case_of(name)
    if case is None:
        return []
    wanted = settings(extent, neighbors)
    if name == "customers":
        wanted.append(Setting(50, Fraction(2), neighbors))
    own = chain.from_iterable(unknown("unknown", case, setting, extent.runs) for setting in wanted)
    return [*own, *peers.by_found_items("unknown", case, wanted, extent.runs)]


def settings(extent: Extent, neighbors: Neighbors = Neighbors.REPLACE_ONE) -> list[Setting]:
    return [Setting(k, epsilon, neighbors) for k, epsilon in product(extent.counts, extent.epsilons)]


def grid(section: str, case: Case, methods: list[Method], wanted: list[Setting], runs: int) -> list[Measured]:
    return [measure(section, case, method, setting, runs) for method, setting in product(methods, wanted)]


def public(name: str, extent: Extent) -> list[Measured]:
    """The items that occur, taken as if they were public."""
    case = case_of(name)
    return [] if case is None else grid("public", case, PUBLIC, settings(extent), extent.others)


def beside_opendp(name: str, extent: Extent) -> list[Measured]:
    """On a public catalogue that is short enough to be enumerated; k = 100 and ε = 3 take OpenDP minutes a choice."""
    case = case_of(name, first=ENUMERATED)
    if case is None:
        return []
    wanted = [Setting(k, epsilon) for k, epsilon in product((10, 50), extent.epsilons[:2])]
    own = grid("beside OpenDP", case, [*PURE, *PUBLIC[:2]], wanted, extent.runs_beside)
    return own + peers.enumerated("beside OpenDP", case, wanted, extent.runs_beside)


def kbars(name: str, extent: Extent) -> list[Measured]:
    """Limited domain, the catalogue unknown, by k̄."""
    case = case_of(name)
    methods = [Method(label, library("limited_domain", known=False, kbar=kbar)) for label, kbar in KBARS.items()]
    return [] if case is None else grid("k̄ of limited domain", case, methods, settings(extent), extent.others)


def looks(name: str, extent: Extent) -> list[Measured]:
    """Ways to discover, where the budget is small or the places are many."""
    case = case_of(name)
    wanted = [Setting(k, epsilon) for k, epsilon in product(extent.counts[1:], extent.epsilons[:2])]
    methods = [Method(label, make) for label, make in LOOKS.items()]
    return [] if case is None else grid("looks", case, methods, wanted, extent.others)


def split(name: str, extent: Extent) -> list[Measured]:
    """A total ε, of which a share goes to the supports; what counts is what was found *and* has a near support."""
    case = case_of(name)
    if case is None:
        return []
    ways = {"exponential": library("exponential"), "items first": items_first(), "discover": requested("discover")}
    wanted = [setting for setting in settings(extent) if setting.k < 100 and setting.epsilon <= 1]
    found = []
    for (method, make), share, setting in product(ways.items(), SHARES, wanted):
        useful = useful_places(case, Method(method, make), setting, share, extent.others)
        cell = (setting.k, float(setting.epsilon), setting.neighbors.value)
        found.append(Measured("split", case.title, f"{method}, {share}", *cell, useful, 0.0, 0.0))
    return found


def useful_places(case: Case, method: Method, setting: Setting, share: Fraction, runs: int) -> list[float]:
    """Of each run, the share of places with one of the best and a support within 25 %."""
    choose, _ = method.make(case, Setting(setting.k, setting.epsilon * (1 - share), setting.neighbors))
    threshold, useful = case.cut_off(setting.k), []
    for _ in range(runs):
        supports = np.array([case.support(itemset) for itemset in choose()], np.int64)
        released = np.array(noisy(supports.tolist(), DiscreteLaplace(setting.epsilon * share), bits=BITS))
        near = np.abs(released - supports) <= NEAR * np.maximum(supports, 1)
        useful.append(float((near & (supports >= threshold)).sum()) / setting.k)
    return useful


def noise(name: str, extent: Extent) -> list[Measured]:
    """Of the 20 listed at ε = 1, the share that fewer than 20 units have: in `precision`, run by run."""
    case = case_of(name)
    if case is None:
        return []
    choose, _ = requested(AUTO)(case, Setting(20, Fraction(1)))
    lists = [choose() for _ in range(4 * extent.runs_of_targets)]
    shares = [float(np.mean([case.support(itemset) < FEW for itemset in chosen])) for chosen in lists if chosen]
    return [Measured("noise", case.title, AUTO, 20, 1.0, Neighbors.REPLACE_ONE.value, shares, 0.0, 0.0)]


def targets(name: str, extent: Extent) -> list[Measured]:
    """`auto` in the cells that have a target, in more runs."""
    title, auto = SOURCES[name].title, Method(AUTO, requested(AUTO))
    cells = [Setting(k, Fraction(str(epsilon))) for other, k, epsilon in TARGETS if other == title]
    case = case_of(name)
    return [] if case is None else grid("targets", case, [auto], cells, extent.runs_of_targets)


def tasks(extent: Extent) -> list[Task]:
    """The longest first; times are not among them, because nothing may run beside them."""
    if extent == QUICK:
        return [(replaced, "customers"), (beside_opendp, "mushroom"), (public, "customers"), (noise, "customers")]
    names = ("retail", "kosarak_5_25", "invoices", "T10I4D100K", "bms_webview_2", "customers")
    listed: list[Task] = [(beside_opendp, "bms_webview_2"), *product((replaced, removed), names)]
    listed += [(looks, name) for name in (*TUNED_ON, *REPORTED_ON)]
    listed += [(targets, name) for name in ("retail", *REPORTED_ON)]
    listed += [(split, "retail"), (kbars, "retail"), (noise, "customers"), (beside_opendp, "customers")]
    return [*listed, *((public, name) for name in ("retail", "bms_webview_2", "customers", "mushroom"))]


def run(task: Task, extent: Extent) -> list[Measured]:
    section, name = task
    return section(name, extent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="within three minutes")
    parser.add_argument("--out", type=Path, help="a folder for the figure and all numbers")
    arguments = parser.parse_args()
    extent, start = (QUICK if arguments.quick else FULL), time.perf_counter()
    parts = {-1: times("kosarak_5_25", extent.times)}
    with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run, task, extent): place for place, task in enumerate(tasks(extent))}
        for done in as_completed(running):
            parts[running[done]] = done.result()
            save(found := list(chain.from_iterable(parts[place] for place in sorted(parts))), arguments.out)
    print(report(found))
    print(f"\nδ = {float(DELTA):g}. {time.perf_counter() - start:.0f} s.")
    if arguments.out:
        plot(found, arguments.out)


def save(found: list[Measured], folder: Path | None) -> None:
    """All numbers so far."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "utility.json").write_text(json.dumps([row._asdict() for row in found]))


if __name__ == "__main__":
    main()
