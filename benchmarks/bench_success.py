"""How often each mechanism finds the true top itemset of real data, by its exact law on the exact supports.

    python benchmarks/bench_success.py

A cell is Pr[the released itemset is a best one] / E[its support, 0 for nothing] ÷ the best support. `*` marks the
mechanism that is recommended from public parameters, `!` one that clearly beats it (by more than 0.05). The known
catalogue is the items that occur, taken as if they were public. Reads the data sets in ../shared/data; those that are
missing are left out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.recommend import MECHANISMS, recommend, usable
from dpmine.selection.universes.protocol import MANY_DUMMIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.itemsets.transactions.interface import Baskets
    from dpmine.selection.mechanisms.mechanism import Mechanism

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = {
    "Online Retail, customers": (
        "online_retail",
        Columns.of(unit="CustomerID", basket="InvoiceNo", item="StockCode"),
    ),
    "Online Retail, invoices": ("online_retail", Columns.of(unit="InvoiceNo", item="StockCode")),
    "retail": ("retail", Columns.of(unit="transaction_id", item="item")),
    "BMS-WebView-2": ("bms_webview_2", Columns.of(unit="transaction_id", item="item")),
}
SIZES = (2, 3)
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
DELTA = Fraction(1, 10**6)
CLEARLY = 0.05
NAMES = [
    name for name, kind in MECHANISMS.items() if kind.private and not kind.only_by_name and not kind.needs_bounded_units
]
WIDTH = 15


@dataclass(frozen=True)
class Case:
    """The supports of one data set, size and kind of universe; how many candidates are public (None: unknown)."""

    title: str
    profile: Profile
    candidates: int | None


@dataclass(frozen=True)
class Outcome:
    """How well a mechanism does: Pr[a best itemset is released], E[released support] ÷ the best."""

    success: float
    support: float


def all_cases() -> Iterator[Case]:
    for name, (file, columns) in SETS.items():
        path = DATA / f"{file}.parquet"
        if path.exists():
            baskets = read_transactions(path, columns).transactions
            for size in SIZES:
                yield from cases(f"{name}, size {size}", baskets, size)


def cases(title: str, baskets: Baskets, size: int) -> Iterator[Case]:
    """The unknown and the known universe."""
    levels = sorted(Miner(baskets).histogram(size, 1).items(), reverse=True)
    supports, counts = tuple(float(support) for support, _ in levels), tuple(count for _, count in levels)
    yield Case(f"{title}, unknown", Profile(supports, counts, MANY_DUMMIES), None)
    candidates = comb(baskets.catalogue_size, size)
    yield Case(f"{title}, known", Profile((*supports, 0.0), (*counts, candidates - sum(counts))), candidates)


def outcome(mechanism: Mechanism, profile: Profile) -> Outcome:
    """By the exact law; all best itemsets together are a success."""
    law = mechanism.distribution(profile)
    scores = np.array(profile.scores)
    return Outcome(float(law.masses[0]), float(law.masses @ scores) / profile.scores[0])


def outcomes(case: Case, epsilon: Fraction, neighbors: Neighbors) -> tuple[str, dict[str, Outcome]]:
    """The recommended mechanism, and how well each does."""
    chosen = recommend(epsilon=epsilon, delta=DELTA, neighbors=neighbors, candidates=case.candidates)
    every = usable(epsilon, DELTA, neighbors, candidates=case.candidates)
    able = [mechanism for mechanism in every if not mechanism.only_by_name]
    return chosen.mechanism, {mechanism.name: outcome(mechanism, case.profile) for mechanism in able}


def beaten_by(chosen: str, found: dict[str, Outcome]) -> list[str]:
    """The mechanisms that are clearly better than the recommended one."""
    return [name for name, other in found.items() if other.success > found[chosen].success + CLEARLY]


def cell(name: str, chosen: str, found: dict[str, Outcome]) -> str:
    if name not in found:
        return "-".rjust(WIDTH)
    mark = "*" if name == chosen else "!" if name in beaten_by(chosen, found) else " "
    return f"{found[name].success:.3f}/{found[name].support:.3f}{mark}".rjust(WIDTH)


def row(case: Case, epsilon: Fraction, neighbors: Neighbors) -> tuple[str, bool]:
    """The line of the table, and whether the recommended mechanism is clearly beaten."""
    chosen, found = outcomes(case, epsilon, neighbors)
    cells = " ".join(cell(name, chosen, found) for name in NAMES)
    return f"{case.title}, ε = {float(epsilon):g}".ljust(58) + cells, bool(beaten_by(chosen, found))


def main() -> None:
    listed = list(all_cases())
    if not listed:
        sys.exit("No data: shared/data is missing beside the project.")
    beaten = []
    for neighbors in Neighbors:
        print(f"\n{str(neighbors).replace('_', '-')}, δ = {float(DELTA):g}")
        print(" " * 58 + " ".join(name[:WIDTH].rjust(WIDTH) for name in NAMES))
        for case in listed:
            for epsilon in EPSILONS:
                line, is_beaten = row(case, epsilon, neighbors)
                print(line)
                beaten.append(is_beaten)
    print(f"\nRecommendations that are clearly beaten: {sum(beaten)} of {len(beaten)}.")


if __name__ == "__main__":
    main()
