"""How good privately chosen top-k itemsets are on real data: dpmine's ways, two published ones, and OpenDP.

    python benchmarks/bench_utility.py [--quick] [--out benchmarks/results]

Precision is the share of the k places that one of the k best itemsets gets (any itemset of the k-th best support counts
as one), ± its standard error. Every choice is a run of the mechanism itself on a universe that was mined once. Data
sets that are missing are left out; OpenDP lives in .venv-peers (see the Makefile).
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
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from utility_data import SOURCES, Case, case_of, read, with_unsold
from utility_methods import (
    DEFAULT,
    DELTA,
    KBARS,
    KNOWN,
    LOOKS,
    UNKNOWN,
    Measured,
    Method,
    Setting,
    discover,
    items_first,
    library,
    measure,
    opendp,
)
from utility_tables import beside_before, markdown, plot, verdict

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.by_items import Discover
from dpmine.itemsets.noisy_supports import noisy
from dpmine.itemsets.support_noise import DiscreteLaplace
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

ENUMERATED = 500  # items of the catalogue beside OpenDP, whose choices can take seconds on so many
CATALOGUE = 41_270  # items of the whole kosarak, most of which the cut data set does not have
SHARES = (Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3))
NEAR = 0.25  # a released support this near to the truth is of use
DATA = ("retail", "kosarak_5_25", "bms_webview_2", "t10", "invoices", "online_retail", "bms_webview_1")
"""The first three were looked at while looks and shares were chosen, the others were not."""
UNPUBLISHED = "unknown catalogue"
TARGETS: dict[str, list[tuple[int, Fraction]]] = {
    "retail": [(50, Fraction(3, 10)), (100, Fraction(1))],
    "t10": [(10, Fraction(3, 10))],
    "invoices": [(50, Fraction(1))],
    "online_retail": [(50, Fraction(2)), (10, Fraction(3))],
}
BY_NAME = {method.name: method for method in (*KNOWN, *UNKNOWN)}
Task = tuple["Callable[[str, Plan], list[Measured]]", str]


@dataclass(frozen=True)
class Plan:
    """How much is measured: k and ε, runs, runs beside OpenDP, choices that are timed."""

    counts: tuple[int, ...] = (10, 50, 100)
    epsilons: tuple[Fraction, ...] = (Fraction(3, 10), Fraction(1), Fraction(3))
    runs: int = 8
    runs_beside: int = 12
    times: int = 20


FULL = Plan()
QUICK = Plan((10, 100), (Fraction(1), Fraction(3)), runs=3, runs_beside=3, times=5)


def unknown(name: str, plan: Plan) -> list[Measured]:
    """What is there for items that nobody published: the main table."""
    case = case_of(name)
    return [] if case is None else grid(UNPUBLISHED, case, UNKNOWN, plan)


def add_remove(name: str, plan: Plan) -> list[Measured]:
    case = case_of(name)
    methods = [method for method in UNKNOWN if method.name != "one look"]
    return [] if case is None else grid(f"{UNPUBLISHED}, add_remove", case, methods, plan, Neighbors.ADD_REMOVE)


def targets(name: str, plan: Plan) -> list[Measured]:
    """The default, in a few cells with many runs."""
    case = case_of(name)
    wanted = [] if case is None else TARGETS.get(name, [])
    return [
        measure("default, many runs", case, BY_NAME[DEFAULT], Setting(k, epsilon), 5 * plan.runs)
        for k, epsilon in wanted
        if case is not None
    ]


def items_named(name: str, plan: Plan) -> list[Measured]:
    """By the number of items that a unit may name."""
    case = case_of(name)
    methods = [Method(f"{most} items", discover(LOOKS, most)) for most in (10, 20, 50, 100)]
    return [] if case is None else grid("items per unit", case, methods, plan)


def choosers(name: str, plan: Plan) -> list[Measured]:
    """All ways on the whole catalogue, as if it were public."""
    case = case_of(name)
    return [] if case is None else grid("whole catalogue", case, KNOWN, plan)


def triples(name: str, plan: Plan) -> list[Measured]:
    case = case_of(name, size=3)
    names = ("exponential", "items first", "discover", "limited domain, 100 k", "items first, unknown")
    return [] if case is None else grid("triples", case, [BY_NAME[method] for method in names], plan)


def grid(
    section: str, case: Case, methods: list[Method], plan: Plan, neighbors: Neighbors = Neighbors.REPLACE_ONE
) -> list[Measured]:
    found = []
    for method, setting in product(methods, settings(plan, neighbors)):
        if setting.k <= method.most:
            found.append(measure(section, case, method, setting, plan.runs))
    return found


def settings(plan: Plan, neighbors: Neighbors = Neighbors.REPLACE_ONE) -> list[Setting]:
    return [Setting(k, epsilon, neighbors) for k, epsilon in product(plan.counts, plan.epsilons)]


def beside_opendp(name: str, plan: Plan) -> list[Measured]:
    """On a catalogue that is short enough to be enumerated."""
    case = case_of(name, first=ENUMERATED)
    if case is None:
        return []
    runs, wanted = plan.runs_beside, settings(plan)  # OpenDP's end after a while: see the worker
    own = [measure("beside OpenDP", case, method, setting, runs) for method, setting in product(KNOWN, wanted)]
    return own + opendp("beside OpenDP", case, wanted, runs)


def kbars(name: str, plan: Plan) -> list[Measured]:
    """Limited domain, the catalogue unknown, by k̄."""
    case = case_of(name)
    methods = [Method(label, library("limited_domain", known=False, kbar=kbar)) for label, kbar in KBARS.items()]
    return [] if case is None else grid("k̄ of limited domain", case, methods, plan)


def split(name: str, plan: Plan) -> list[Measured]:
    """A total ε, of which a share goes to the supports; what counts is what was found *and* has a near support."""
    case = case_of(name)
    if case is None:
        return []
    ways = {"exponential": library("exponential"), "items first": items_first()}
    found = []
    wanted = [setting for setting in settings(plan) if setting.k < plan.counts[-1]]
    for (name_of, make), share, setting in product(ways.items(), SHARES, wanted):
        useful = split_runs(case, Method(name_of, make), setting, share, plan.runs)
        found.append(useful._replace(method=f"{name_of}, {share}"))
    return found


def split_runs(case: Case, method: Method, setting: Setting, share: Fraction, runs: int) -> Measured:
    """`precision` is the share of places with one of the best and a support within 25 %; `errors` has, run by run, the
    share of places with one of the best, and the mean relative error."""
    selection = Setting(setting.k, setting.epsilon * (1 - share), setting.neighbors)
    choose, round_epsilon = method.make(case, selection)
    threshold, useful, parts = case.cut_off(setting.k), [], []
    for _ in range(runs):
        supports = np.array([case.support(itemset) for itemset in choose()])
        released = np.array(noisy(supports.tolist(), DiscreteLaplace(setting.epsilon * share), bits=SystemBits()))
        errors = np.abs(released - supports) / np.maximum(supports, 1)
        best = supports >= threshold
        useful.append(float((best & (errors <= NEAR)).sum()) / setting.k)
        parts.append((float(best.sum()) / setting.k, float(errors.mean())))
    epsilon = float(setting.epsilon)
    return Measured("split", case.title, method.name, setting.k, epsilon, useful, parts, 0.0, round_epsilon)


def times(name: str, plan: Plan) -> list[Measured]:
    """100 triples after mining, with a catalogue of 41,270 items and with none."""
    baskets = read(name)
    if baskets is None:
        return []
    filled = with_unsold(baskets, CATALOGUE)
    case = Case(f"{SOURCES[name].title}, {CATALOGUE:,} items", filled, 3)
    labels = ("exponential", "limited domain, 100 k", "discover", "items first")
    return [timed(case, label, plan) for label in labels]


def timed(case: Case, label: str, plan: Plan) -> Measured:
    choose, _ = BY_NAME[label].make(case, Setting(100, Fraction(1)))
    return Measured("time", case.title, label, 100, 1.0, [], [], seconds(choose, plan), 0.0)


def discovery_times(plan: Plan) -> list[Measured]:
    """The noise of 41,270 items of 990,000 units, and 100 pairs of 10,000 items that are known to be listed."""
    generator = np.random.default_rng(1)
    units = 990_000
    ranks = np.minimum(generator.zipf(1.3, 8 * units) - 1, CATALOGUE - 1)
    weights = np.bincount(ranks, minlength=CATALOGUE) * (1 << 18)
    way = Discover.of(100, Fraction(1), DELTA, Neighbors.REPLACE_ONE, sizes=(2, 2))
    found = Measured("time", f"{CATALOGUE:,} items of {units:,} units", "discovery", 100, 1.0, [], [], 0.0, 0.0)
    finding = seconds(lambda: way.discovery.release(weights, bits=SystemBits()), plan)
    baskets = read("kosarak_5_25")
    if baskets is None:
        return [found._replace(seconds=finding)]
    case = Case("10,000 items, 505,217 units", with_unsold(baskets, 10_000), 2)
    choosing = seconds(lambda: way.itemsets.choose(case.known, bits=SystemBits()), plan)
    return [
        found._replace(seconds=finding),
        found._replace(title=case.title, method="pairs of found items", seconds=choosing),
    ]


def seconds(action: Callable[[], object], plan: Plan) -> float:
    """The median, after a first time."""
    action()
    spent = []
    for _ in range(plan.times):
        start = time.perf_counter()
        action()
        spent.append(time.perf_counter() - start)
    return median(spent)


def tasks(plan: Plan) -> list[Task]:
    """The longest first; times are not among them, because nothing may run beside them."""
    if plan == QUICK:
        return [(unknown, "mushroom"), (beside_opendp, "mushroom"), (unknown, "online_retail")]
    listed: list[Task] = [(unknown, name) for name in DATA] + [(targets, name) for name in TARGETS]
    listed += [(add_remove, name) for name in DATA] + [(items_named, name) for name in ("retail", "online_retail")]
    listed += [(choosers, name) for name in ("retail", "bms_webview_2")] + [(triples, "bms_webview_2")]
    listed += [(beside_opendp, name) for name in ("bms_webview_2", "mushroom")]
    return [*listed, (kbars, "retail"), (split, "bms_webview_2")]


def run(task: Task, plan: Plan) -> list[Measured]:
    section, name = task
    return section(name, plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="within three minutes")
    parser.add_argument("--out", type=Path, help="a folder for the figure and all numbers")
    arguments = parser.parse_args()
    plan, start = (QUICK if arguments.quick else FULL), time.perf_counter()
    parts = {-1: [*times("kosarak_5_25", plan), *discovery_times(plan)]}
    with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run, task, plan): place for place, task in enumerate(tasks(plan))}
        for done in as_completed(running):
            parts[running[done]] = done.result()
            save(found := list(chain.from_iterable(parts[place] for place in sorted(parts))), arguments.out)
    print(markdown(found))
    print(beside_before(found))
    print(verdict(found))
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
