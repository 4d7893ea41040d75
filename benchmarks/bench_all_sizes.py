"""Lists of itemsets of one to four items: what of the best k is missing, by best-first counting and by other ways.

    python benchmarks/bench_all_sizes.py [--runs 10] [--no-delta] [NAME …]

Then all itemsets of some support: recall and precision. Every transaction is a unit of its own; δ = 10^-6. Before
both, lists of any size without a δ, of public items: beside PrivBasis, too.
An itemset that ties with the k-th best one is right, too. Data are those of ../shared; the constants of best-first
counting were chosen on retail, mushroom, T10I4D100K and bms_webview_2, of thresholds also on bms_webview_1.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from utility.privbasis import MORE_ITEMSETS, privbasis

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
    from collections.abc import Sequence

    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.ways.universe import Itemset

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
NAMES = ("retail", "mushroom", "T10I4D100K", "bms_webview_1", "groceries")
EPSILONS = tuple(map(Fraction, ("0.1", "0.5", "1")))
SIZES, K, DELTA = (1, 4), 100, Fraction(1, 10**6)
PURE_EPSILONS, ANY_SIZE = tuple(map(Fraction, ("0.25", "0.5", "1"))), (1, 12)
THRESHOLDS = {"retail": "1%", "bms_webview_1": "1%", "groceries": "2%"}


def path_of(name: str) -> Path:
    return DATA / f"{name}.parquet"


def terms_of(baskets: Transactions, *, is_public: bool, mechanism: str, epsilon: Fraction) -> ListTerms:
    items = baskets.catalogue_size if is_public else None
    return ListTerms(K, epsilon, DELTA, Neighbors.REPLACE_ONE, SIZES, items, mechanism=mechanism)


def missing(baskets: Transactions, terms: ListTerms, runs: int) -> float:
    """The mean share of the best itemsets that a list lacks."""
    way, smallest, largest = build_way(terms), *terms.sizes
    universe = ItemsetUniverse(
        baskets.miner(),
        range(smallest, largest + 1),
        catalogue_is_public=terms.catalogue_size is not None,
        transactions=baskets,
        several_baskets=False,
    )
    return wrong(baskets, terms.sizes, [way.choose(universe, bits=SystemBits()).itemsets for _ in range(runs)])


def wrong(baskets: Transactions, sizes: tuple[int, int], lists: Sequence[Sequence[Itemset]]) -> float:
    miner, least = baskets.miner(), support_in_place(baskets, K, sizes)
    return 1 - sum(miner.support(itemset) >= least for chosen in lists for itemset in chosen) / (len(lists) * K)


def support_in_place(baskets: Transactions, place: int, sizes: tuple[int, int]) -> int:
    miner, threshold = baskets.miner(), baskets.total_units
    found = np.zeros(0, np.int64)
    while len(found) < place:
        threshold = max(1, threshold * 9 // 10)
        found = np.concatenate([miner.itemsets(size, threshold).supports for size in range(sizes[0], sizes[1] + 1)])
    return int(np.sort(found)[-place])


def without_delta(name: str, baskets: Transactions, runs: int) -> None:
    for neighbors in Neighbors:
        items = baskets.catalogue_size
        terms = [ListTerms(K, epsilon, Fraction(0), neighbors, ANY_SIZE, items) for epsilon in PURE_EPSILONS]
        found = {BEST_FIRST: [missing(baskets, each, runs) for each in terms]}
        if neighbors is Neighbors.ADD_REMOVE:
            support = support_in_place(baskets, ceil(MORE_ITEMSETS * K), ANY_SIZE)
            found["privbasis"] = [
                wrong(baskets, ANY_SIZE, [privbasis(baskets, K, float(epsilon), support, rng) for rng in rngs(runs)])
                for epsilon in PURE_EPSILONS
            ]
        for label, shares in found.items():
            cells = "  ".join(f"{share:.3f}" for share in shares)
            print(f"{name:14} no delta, {neighbors:12} {label:11} {cells}", flush=True)


def rngs(runs: int) -> list[np.random.Generator]:
    return [np.random.default_rng(run) for run in range(runs)]


def of_some_support(name: str, baskets: Transactions, neighbors: Neighbors, runs: int) -> list[float]:
    """Recall, precision, the share that is certain, and how often the threshold `complete_above` is."""
    miner, share = baskets.miner(), Fraction(THRESHOLDS[name].rstrip("%")) / 100
    least = -int(-share * baskets.total_units // 1)
    codes = {label: code for code, label in enumerate(baskets.labels.to_pylist())}
    true = sum(len(miner.itemsets(size, least)) for size in range(1, ANY_SIZE[1] + 1))
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
    parser.add_argument("--no-delta", action="store_true", help="lists without a delta alone")
    given = parser.parse_args()
    columns = Columns.of(unit="transaction_id", item="item")
    for name in given.names:
        baskets = read_transactions(path_of(name), columns, catalogue=None).transactions
        without_delta(name, baskets, given.runs)
        if given.no_delta:
            continue
        for is_public, mechanism in product((False, True), (AUTO, BEST_FIRST)):
            started = time.perf_counter()
            with patch.object(BestFirst, "advantage", return_value=None):  # what "auto" takes besides
                shares = [
                    missing(
                        baskets,
                        terms_of(baskets, is_public=is_public, mechanism=mechanism, epsilon=epsilon),
                        given.runs,
                    )
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
