"""Lists of itemsets of one to four items: what of the best k is missing, by best-first counting and by other ways.

    python benchmarks/bench_all_sizes.py [--runs 10] [NAME …]

Then all itemsets of some support: recall and precision. Every transaction is a unit of its own; δ = 10^-6.
An itemset that ties with the k-th best one is right, too. Data are those of ../shared; the constants of best-first
counting were chosen on retail, mushroom, T10I4D100K and bms_webview_2.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from dpmine import frequent_itemsets
from dpmine.exact.bits import SystemBits
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.ways.best_first import BEST_FIRST, BestFirst
from dpmine.itemsets.ways.registry import build_way
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms
from dpmine.options.names import AUTO
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from dpmine.itemsets.transactions.interface import Transactions

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
NAMES = ("retail", "mushroom", "T10I4D100K", "bms_webview_1", "groceries")
EPSILONS = tuple(map(Fraction, ("0.1", "0.5", "1")))
SIZES, K, DELTA = (1, 4), 100, Fraction(1, 10**6)
THRESHOLDS = {"retail": "1%", "groceries": "2%"}
LARGEST = 12


def path_of(name: str) -> Path:
    return DATA / f"{name}.parquet"


def missing(baskets: Transactions, *, is_public: bool, mechanism: str, epsilon: Fraction, runs: int) -> float:
    """The mean share of the best itemsets that a list lacks."""
    miner = baskets.miner()
    items = baskets.catalogue_size if is_public else None
    terms = ListTerms(K, epsilon, DELTA, Neighbors.REPLACE_ONE, SIZES, items, mechanism=mechanism)
    way, least, right = build_way(terms), kth_support(baskets), 0
    for _ in range(runs):
        universe = ItemsetUniverse(
            miner,
            range(SIZES[0], SIZES[1] + 1),
            catalogue_is_public=is_public,
            transactions=baskets,
            several_baskets=False,
        )
        chosen = way.choose(universe, bits=SystemBits()).itemsets
        right += sum(miner.support(itemset) >= least for itemset in chosen)
    return 1 - right / (runs * K)


def kth_support(baskets: Transactions) -> int:
    miner, threshold = baskets.miner(), baskets.total_units
    found = np.zeros(0, np.int64)
    while len(found) < K:
        threshold = max(1, threshold * 4 // 5)
        found = np.concatenate([miner.itemsets(size, threshold).supports for size in range(SIZES[0], SIZES[1] + 1)])
    return int(np.sort(found)[-K])


def of_some_support(name: str, baskets: Transactions, neighbors: Neighbors, runs: int) -> list[float]:
    """Recall, precision, the share that is certain, and how often the threshold `complete_above` is."""
    miner, share = baskets.miner(), Fraction(THRESHOLDS[name].rstrip("%")) / 100
    least = -int(-share * baskets.total_units // 1)
    codes = {label: code for code, label in enumerate(baskets.labels.to_pylist())}
    true = sum(len(miner.itemsets(size, least)) for size in range(1, LARGEST + 1))
    figures = []
    for _ in range(runs):
        found = frequent_itemsets(
            path_of(name), THRESHOLDS[name], neighbors=neighbors, unit="transaction_id", item="item", notice=str
        )
        right = sum(miner.support([codes[item] for item in itemset]) >= least for itemset in found)
        ratio = (found.complete_above or 0) / (found.threshold or 1)
        figures.append([right / true, right / len(found), sum(found.certain or ()) / len(found), ratio])
    return [float(mean) for mean in np.mean(figures, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    columns = Columns.of(unit="transaction_id", item="item")
    for name in given.names:
        baskets = read_transactions(path_of(name), columns, catalogue=None).transactions
        for is_public, mechanism in product((False, True), (AUTO, BEST_FIRST)):
            started = time.perf_counter()
            with patch.object(BestFirst, "advantage", return_value=None):  # what "auto" takes besides
                shares = [
                    missing(baskets, is_public=is_public, mechanism=mechanism, epsilon=epsilon, runs=given.runs)
                    for epsilon in EPSILONS
                ]
            seconds = (time.perf_counter() - started) / (given.runs * len(EPSILONS))
            label = "others" if mechanism == AUTO else mechanism
            cells = "  ".join(f"{share:.2f}" for share in shares)
            print(f"{name:14} {'public' if is_public else 'unknown':8} {label:11} {cells}  {seconds:.2f} s", flush=True)
        for neighbors in Neighbors if name in THRESHOLDS else ():
            figures = "  ".join(f"{figure:.2f}" for figure in of_some_support(name, baskets, neighbors, given.runs))
            print(
                f"{name:14} {THRESHOLDS[name]} {neighbors:12} recall, precision, certain, complete: {figures}",
                flush=True,
            )


if __name__ == "__main__":
    main()
