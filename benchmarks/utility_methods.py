"""What bench_utility.py compares: ways to choose k itemsets, and how good a choice is."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from utility_baselines import threshold_items, truncated_scores
from utility_data import ROOT, Case

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.by_items import Discover, ItemsFirst, build_way
from dpmine.itemsets.noisy_supports import noisy
from dpmine.itemsets.support_noise import DiscreteLaplace
from dpmine.itemsets.universe import Itemset, PublicCatalogue
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import OneShot, build_top_k

DELTA = Fraction(1, 10**6)
ANY = 10**6
NONE = Fraction(0)
PEERS = ROOT / ".venv-peers" / "bin" / "python"
WORKER = ROOT / "benchmarks" / "peers" / "top_k_worker.py"
BITS = SystemBits()
Choice = Callable[[], tuple[Itemset, ...]]
Maker = Callable[[Case, "Setting"], tuple[Choice, float]]


@dataclass(frozen=True)
class Setting:
    k: int
    epsilon: Fraction
    neighbors: Neighbors = Neighbors.REPLACE_ONE


class Measured(NamedTuple):
    """All runs of a method on a case.

    `precision`: the share of the k places that a best itemset got; `errors`: mean relative errors of the noisy supports
    of what was chosen, at ε/2 and at ε; `seconds`: a choice, the median; `round_epsilon`: of each round, 0 for unknown.
    """

    section: str
    title: str
    method: str
    k: int
    epsilon: float
    precision: list[float]
    errors: list[tuple[float, float]]
    seconds: float
    round_epsilon: float


class Method(NamedTuple):
    """A name, what makes it, and the largest k it is run at."""

    name: str
    make: Maker
    most: int = ANY


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
            kbar=kbar and kbar(setting.k),
        )
        round_epsilon = float(built.top_k.mechanism.epsilon)
        return lambda: built.top_k.choose(universe, bits=BITS), round_epsilon

    return make


def items_first(*, delta: Fraction = DELTA, known: bool = True) -> Maker:
    def make(case: Case, setting: Setting) -> tuple[Choice, float]:
        way = ItemsFirst.of(
            setting.k,
            setting.epsilon,
            delta,
            setting.neighbors,
            sizes=(case.size, case.size),
            catalogue_size=case.baskets.catalogue_size if known else None,
            kept=max(LEAST_ITEMS, setting.k // 2),
        )
        universe = case.known if known else case.unknown
        return lambda: way.choose(universe, bits=BITS), float(way.itemsets.round_epsilon)

    return make


def truncated(case: Case, setting: Setting) -> tuple[Choice, float]:
    shot = OneShot.of(setting.k, setting.epsilon, DELTA, setting.neighbors)
    universe = truncated_scores(case, shot)
    return lambda: shot.choose(universe, bits=BITS), float(shot.round_epsilon)


def default(case: Case, setting: Setting) -> tuple[Choice, float]:
    """What dpmine takes where nothing is named and no catalogue is given."""
    way = build_way(
        "auto",
        (case.size, case.size),
        PublicCatalogue(None, from_data=False),
        None,
        kbar=None,
        max_items_per_unit=None,
        count=setting.k,
        epsilon=setting.epsilon,
        delta=DELTA,
        neighbors=setting.neighbors,
    ).top_k
    return lambda: way.choose(case.unknown, bits=BITS), float(way.mechanism.epsilon)


LOOKS, ONE_LOOK = (1, 1, 2, 4, 4), (6,)  # twentieths of ρ for items


def discover(looks: tuple[int, ...], items_per_unit: int = 50) -> Maker:
    """With other looks than dpmine's own, too."""

    def make(case: Case, setting: Setting) -> tuple[Choice, float]:
        way = Discover.of(
            setting.k,
            setting.epsilon,
            DELTA,
            setting.neighbors,
            sizes=(case.size, case.size),
            items_per_unit=items_per_unit,
        )
        if looks != LOOKS:
            part = way.zcdp.rho / 20
            discovery = replace(way.discovery, rho=part * sum(looks), looks=looks)
            left = way.zcdp.rho - discovery.rho
            each = Fraction(sqrt(8 * left / setting.k)).limit_denominator(10**6)
            shot = OneShot(setting.k, setting.k * each, NONE, setting.neighbors, each)
            way = replace(way, discovery=discovery, shots=(shot,))
        return lambda: way.choose(case.unknown, bits=BITS), float(way.itemsets.round_epsilon)

    return make


def laplace_threshold(case: Case, setting: Setting) -> tuple[Choice, float]:
    shot, found = threshold_items(case, setting.k, setting.epsilon, DELTA, setting.neighbors)

    def choose() -> tuple[Itemset, ...]:
        codes = found()
        left = case.unknown.among(codes)
        chosen = () if left is None else shot.choose(left, bits=BITS)
        return tuple(tuple(codes[code] for code in itemset) for itemset in chosen)

    return choose, float(shot.round_epsilon)


LEAST_ITEMS = 20  # that items first keeps; else half of k
KNOWN = [
    Method("exponential, δ = 0", library("exponential", delta=NONE)),
    Method("max of exponentials, δ = 0", library("max_of_exponentials", delta=NONE)),
    Method("items first, δ = 0", items_first(delta=NONE)),
    Method("exponential", library("exponential")),
    Method("truncated", truncated),
    Method("items first", items_first()),
]
DEFAULT = "default"
BEFORE = ("limited domain, 100 k", "items first, unknown")
"""The better of these is what there was before items were discovered."""
UNKNOWN = [
    Method(DEFAULT, default),
    Method("discover", discover(LOOKS)),
    Method("one look", discover(ONE_LOOK)),
    Method(BEFORE[0], library("limited_domain", known=False, kbar=lambda k: 100 * k)),
    Method(BEFORE[1], items_first(known=False)),
    Method("Laplace threshold", laplace_threshold),
]
KBARS: dict[str, Callable[[int], int]] = {
    "k": lambda k: k,
    "2 k": lambda k: 2 * k,
    "10 k": lambda k: 10 * k,
    "100 k": lambda k: 100 * k,
    "1000 k": lambda k: 1000 * k,
    "10,000": lambda _: 10_000,
    "100,000": lambda _: 100_000,
    "2^20": lambda _: 2**20,
}
OPENDP = {"pure": "OpenDP, pure", "zcdp": "OpenDP, zCDP"}


def measure(section: str, case: Case, method: Method, setting: Setting, runs: int) -> Measured:
    choose, round_epsilon = method.make(case, setting)
    threshold = case.cut_off(setting.k)
    precision, errors, times = [], [], []
    for _ in range(runs):
        start = time.perf_counter()
        chosen = choose()
        times.append(time.perf_counter() - start)
        supports = [case.support(itemset) for itemset in chosen]
        precision.append(sum(support >= threshold for support in supports) / setting.k)
        if supports:
            errors.append((error(supports, setting.epsilon / 2), error(supports, setting.epsilon)))
    epsilon = float(setting.epsilon)
    return Measured(
        section, case.title, method.name, setting.k, epsilon, precision, errors, median(times), round_epsilon
    )


def error(supports: list[int], epsilon: Fraction) -> float:
    """Mean |noisy − true| ÷ true; a support of 0 counts as 1."""
    values = noisy(supports, DiscreteLaplace(epsilon), bits=BITS)
    return float(np.mean([abs(value - true) / max(true, 1) for value, true in zip(values, supports, strict=True)]))


def opendp(section: str, case: Case, settings: list[Setting], runs: int) -> list[Measured]:
    """Both forms of OpenDP at these settings, in one process; nothing where it is not installed."""
    if not PEERS.exists():
        return []
    jobs = [_job(form, setting, runs) for form in OPENDP for setting in settings]
    supports = enumerated(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "supports.npy"
        np.save(path, supports)
        command = [str(PEERS), str(WORKER), str(path)]
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True)
    answers = map(json.loads, done.stdout.splitlines())
    return [_peer(section, case, job, answer, supports) for job, answer in zip(jobs, answers, strict=True)]


def _job(form: str, setting: Setting, runs: int) -> dict[str, Any]:
    monotonic = setting.neighbors is Neighbors.ADD_REMOVE
    budget = {"epsilon": float(setting.epsilon), "delta": float(DELTA)}
    return {"form": form, "k": setting.k, **budget, "monotonic": monotonic, "runs": runs}


def _peer(section: str, case: Case, job: dict[str, Any], answer: dict[str, Any], supports: np.ndarray) -> Measured:
    threshold = case.cut_off(job["k"])
    precision = [float((supports[chosen] >= threshold).mean()) for chosen in answer["chosen"]]
    round_epsilon = (1 if job["monotonic"] else 2) / answer["scale"]
    name = OPENDP[job["form"]]
    return Measured(
        section, case.title, name, job["k"], job["epsilon"], precision, [], answer["seconds"], round_epsilon
    )


def enumerated(case: Case) -> np.ndarray:
    """int32[C(N, 2)]: the supports of all pairs, those of 0 too."""
    n = case.baskets.catalogue_size
    found = case.miner.itemsets(2, 1)
    supports = np.zeros(n * (n - 1) // 2, np.int32)
    i, j = found.items[:, 0].astype(np.int64), found.items[:, 1].astype(np.int64)
    supports[i * n - i * (i + 1) // 2 + j - i - 1] = found.supports
    return supports
