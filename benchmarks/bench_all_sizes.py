"""Itemsets of any size: what best-first counting finds, and how exact its supports are, beside the other ways.

    python benchmarks/bench_all_sizes.py [--runs 10] [--data NAME …] [SECTION …]

Sections: `best`, the best 100 itemsets of unknown items beside `discover`; `catalogue`, lists of one to four items by
best-first counting and by what "auto" takes else, with and without a public catalogue; `pure`, lists without a δ beside
PrivBasis; `threshold`, all itemsets of some support. δ = 10^-6 but in `pure`. An itemset that ties with the k-th best
one is right, too. The constants of best-first counting were chosen on retail, mushroom, T10I4D100K and bms_webview_2,
those of thresholds also on bms_webview_1 and a made-up shop of other sizes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from utility.data import SOURCES, find
from utility.intervals import betting_interval
from utility.privbasis import MORE_ITEMSETS, privbasis

from dpmine import frequent_itemsets, itemset_supports, top_itemsets
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.ways.best_first import BEST_FIRST, BestFirst
from dpmine.itemsets.ways.discovery import DISCOVER
from dpmine.options.names import AUTO
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.itemsets.release.frequent import FrequentItemsets
    from dpmine.itemsets.release.results import TopItemsets
    from dpmine.itemsets.transactions.interface import Transactions

Itemset = frozenset[Any]
K, DELTA = 100, Fraction(1, 10**6)
LARGEST = 12
"""The most items of an itemset among the best ones."""
EPSILONS = tuple(map(Fraction, ("0.1", "0.25", "0.5", "1")))
SHOP = "made-up shop"
THRESHOLDS = {
    "retail": "1%",
    "bms_webview_1": "1%",
    "groceries": "2%",
    "invoices": "2%",
    "customers": "10%",
    SHOP: "2%",
}


@dataclass(frozen=True)
class Data:
    """A file, and the exact supports of its itemsets."""

    name: str
    path: Path
    columns: Columns

    @cached_property
    def baskets(self) -> Transactions:
        return read_transactions(self.path, self.columns).transactions

    @property
    def options(self) -> dict[str, Any]:
        columns = {"unit": self.columns.unit, "basket": self.columns.basket, "item": self.columns.item}
        return {**columns, "notice": str}

    @cached_property
    def catalogue(self) -> list[Any]:
        """The items that occur."""
        labels: list[Any] = self.baskets.labels.to_pylist()
        return labels

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {label: code for code, label in enumerate(self.catalogue)}

    def support(self, itemset: Itemset) -> int:
        return self.baskets.miner().support(sorted(self._codes[item] for item in itemset))

    def support_in_place(self, place: int, largest: int = LARGEST) -> int:
        """The support of the itemset in this place, among those of up to `largest` items."""
        miner, threshold = self.baskets.miner(), self.baskets.total_units
        found = np.zeros(0, np.int64)
        while len(found) < place:
            threshold = max(1, threshold * 9 // 10)
            found = np.concatenate([miner.itemsets(size, threshold).supports for size in range(1, largest + 1)])
        return int(np.sort(found)[-place])

    @cached_property
    def least_of_best(self) -> int:
        """The support of the last one of the best itemsets."""
        return self.support_in_place(K)

    @cached_property
    def largest_of_best(self) -> int:
        """The most items of one of the best itemsets, at least 2."""
        miner, least = self.baskets.miner(), self.least_of_best
        return max(2, *(size for size in range(1, LARGEST + 1) if len(miner.itemsets(size, least))))

    def missing(self, lists: Iterable[Iterable[Itemset]], largest: int = LARGEST) -> list[float]:
        """Of each list, the share of the best itemsets that it lacks."""
        least = self.support_in_place(K, largest)
        return [1 - sum(self.support(itemset) >= least for itemset in found) / K for found in lists]

    def errors(self, supports: dict[Itemset, int]) -> list[float]:
        """The relative errors of noisy supports."""
        return [abs(noisy / true - 1) for itemset, noisy in supports.items() if (true := self.support(itemset))]

    def errors_of_best(self, supports: dict[Itemset, int]) -> list[float]:
        """The relative errors of the supports of the best itemsets, at most 1, which those have that are not known."""
        least = self.least_of_best
        best = {itemset: noisy for itemset, noisy in supports.items() if self.support(itemset) >= least}
        return [*(min(1.0, error) for error in self.errors(best)), *[1.0] * (K - len(best))]


def best(data: Data, runs: int) -> None:
    """The best 100 of unknown items. `discover` has the whole ε for its choice, or gives supports a part of it.

    It knows how many items the largest of the best itemsets has, and gets at most ten runs.
    """
    largest, fewer = data.largest_of_best, min(runs, 10)
    for neighbors, epsilon in product(Neighbors, EPSILONS):
        terms = {"epsilon": epsilon, "delta": DELTA, "neighbors": neighbors, **data.options}
        found = [frequent_itemsets(data.path, k=K, **terms) for _ in range(runs)]
        terms |= {"mechanism": DISCOVER, "size": (1, largest)}
        chosen = [top_itemsets(data.path, K, **terms) for _ in range(fewer)]
        released = [top_itemsets(data.path, K, release_support=AUTO, **terms) for _ in range(fewer)]
        errors = compared_errors(data, found, released)
        shares = data.missing(found)
        low, high = betting_interval(shares)
        print(
            f"{data.name:14} {neighbors:12} {float(epsilon):4}  missing {fmean(shares):.3f} [{low:.3f}, {high:.3f}], "
            f"{DISCOVER} {fmean(data.missing(chosen)):.3f}; median relative error, beside {DISCOVER}: {errors}",
            flush=True,
        )


def compared_errors(data: Data, found: list[FrequentItemsets], released: list[TopItemsets]) -> str:
    """The median errors of supports: of all that are listed, of those that both list, and of the best ones.

    Shorter lists have only large supports, so the last is the fairest: what is not listed has an error of 1.
    """
    ours = [dict(zip(each, each.noisy_supports, strict=True)) for each in found]
    theirs = [
        {itemset: each.supports.by_itemset[itemset][0] for itemset in each} if each.supports else {}
        for each in released
    ]
    both = set[Itemset]().union(*ours) & set[Itemset]().union(*theirs)
    measures: dict[str, Callable[[dict[Itemset, int]], list[float]]] = {
        "listed": data.errors,
        "both": lambda known: data.errors({s: known[s] for s in both.intersection(known)}),
        "best": data.errors_of_best,
    }

    def middle(measure: Callable[[dict[Itemset, int]], list[float]], lists: list[dict[Itemset, int]]) -> str:
        errors = [error for each in lists for error in measure(each)]
        return f"{median(errors):.2%}" if errors else "none"

    return ", ".join(f"{name} {middle(of, ours)} {middle(of, theirs)}" for name, of in measures.items())


def catalogue(data: Data, runs: int) -> None:
    """Lists of one to four items under replace-one."""
    for items, mechanism in product((None, data.catalogue), (AUTO, BEST_FIRST)):
        terms = {"delta": DELTA, "size": (1, 4), "mechanism": mechanism, "catalogue": items, **data.options}
        with patch.object(BestFirst, "advantage", return_value=None):  # what "auto" takes else
            cells = [
                data.missing((top_itemsets(data.path, K, epsilon=epsilon, **terms) for _ in range(runs)), 4)
                for epsilon in EPSILONS
            ]
        way = "others" if mechanism == AUTO else mechanism
        print(f"{data.name:14} {'public' if items else 'unknown':8} {way:11} {_means(cells)}", flush=True)


def pure(data: Data, runs: int) -> None:
    """The best 100 of public items. PrivBasis knows the true support in place 110, which is not private."""
    for neighbors in Neighbors:
        terms = {"k": K, "delta": 0, "neighbors": neighbors, "catalogue": data.catalogue, **data.options}
        cells = [
            data.missing(frequent_itemsets(data.path, epsilon=epsilon, **terms) for _ in range(runs))
            for epsilon in EPSILONS[1:]
        ]
        print(f"{data.name:14} {neighbors:12} {BEST_FIRST:11} {_means(cells)}", flush=True)
    support = data.support_in_place(ceil(MORE_ITEMSETS * K))
    cells = [
        data.missing(_privbasis(data, float(epsilon), support, run) for run in range(runs)) for epsilon in EPSILONS[1:]
    ]
    print(f"{data.name:14} {Neighbors.ADD_REMOVE:12} {'PrivBasis':11} {_means(cells)}", flush=True)


def _privbasis(data: Data, epsilon: float, support: int, run: int) -> list[Itemset]:
    found = privbasis(data.baskets, K, epsilon, support, np.random.default_rng(run))
    return [frozenset(data.catalogue[code] for code in itemset) for itemset in found]


def _means(cells: list[list[float]]) -> str:
    return "  ".join(f"{fmean(cell):.3f}" for cell in cells)


def threshold(data: Data, runs: int) -> None:
    """All itemsets of some support at ε = 1."""
    if (share := THRESHOLDS.get(data.name)) is None:
        return
    columns = {name: value for name, value in data.options.items() if name != "notice"}
    true = set(itemset_supports(data.path, min_support=share, size="all", **columns)["itemsets"])
    for neighbors in Neighbors:
        figures = []
        for _ in range(runs):
            found = frequent_itemsets(data.path, share, neighbors=neighbors, **data.options)
            right, listed = len(true.intersection(found)), max(1, len(found))
            complete = (found.complete_above or 0) / (found.threshold or 1)
            figures.append([right / len(true), right / listed, sum(found.certain or ()) / listed, complete])
        means = "  ".join(f"{mean:.2f}" for mean in np.mean(figures, axis=0))
        print(
            f"{data.name:14} {share:4} of {len(true)} {neighbors:12} recall, precision, certain, complete: {means}",
            flush=True,
        )


def made_up_shop(path: Path) -> Data:
    """30,000 customers with one to five baskets of 1,500 products, some of which go together."""
    rng, customers, products = np.random.default_rng(11), 30_000, 1500
    popularity = 1 / np.arange(1, products + 1) ** 0.8
    groups = [(0.06, [0, 1]), (0.05, [2, 5]), (0.04, [10, 11, 12]), (0.03, [40, 41]), (0.021, [300, 301, 302])]
    rows = []
    for customer in range(customers):
        for basket in range(rng.integers(1, 6)):
            bought = set(rng.choice(products, 1 + rng.poisson(2.6), p=popularity / popularity.sum()).tolist())
            bought.update(*(group for share, group in groups if rng.random() < share))
            rows += [(customer, basket, product) for product in bought]
    pq.write_table(pa.table(dict(zip(("customer", "basket", "product"), zip(*rows, strict=True), strict=True))), path)
    return Data(SHOP, path, Columns.of(unit="customer", basket="basket", item="product"))


SECTIONS: dict[str, Callable[[Data, int], None]] = {each.__name__: each for each in (best, catalogue, pure, threshold)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", default=list(SECTIONS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=[*SOURCES, SHOP], default=[*SOURCES, SHOP])
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        for name in given.data:
            path = Path(folder) / "shop.parquet" if name == SHOP else find(name)
            if path is None:
                continue
            data = made_up_shop(path) if name == SHOP else Data(name, path, SOURCES[name].columns)
            for section in given.sections:
                print(f"\n{section}: {name}", flush=True)
                SECTIONS[section](data, given.runs)


if __name__ == "__main__":
    main()
