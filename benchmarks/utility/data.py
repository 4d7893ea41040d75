"""Data sets of bench_utility.py, with their true supports: what every choice is measured against.

Committed data lie in datasets/, other data sets in ../shared/data beside the project; those that are missing are left
out. The catalogue is the items that occur, taken as if they were public.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import pyarrow as pa

from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import BasketsInMemory, Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.ways.universe import ItemsetUniverse

if TYPE_CHECKING:
    from dpmine.itemsets.transactions.lists import CodedItemset, Itemsets

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "datasets", ROOT.parent / "shared" / "data")
LONG = Columns.of(unit="transaction_id", item="item")
ATTRIBUTES = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income")
"""Of Adult: those whose values are names, but the native country, which nearly all have in common."""


class Source(NamedTuple):
    title: str
    columns: Columns
    file: str = ""
    """Its name, where it is another one."""


SOURCES = {
    "mushroom": Source("Mushroom", LONG),
    "customers": Source(
        "Online Retail, customers",
        Columns.of(unit="CustomerID", basket="InvoiceNo", item="StockCode"),
        "online_retail",
    ),
    "invoices": Source("Online Retail, invoices", Columns.of(unit="InvoiceNo", item="StockCode"), "online_retail"),
    "retail": Source("retail", LONG),
    "T10I4D100K": Source("T10I4D100K", LONG),
    "bms_webview_2": Source("BMS-WebView-2", LONG),
    "kosarak_5_25": Source("kosarak, cut", LONG),
    "bms_webview_1": Source("BMS-WebView-1", LONG),
    "chess": Source("chess", LONG),
    "groceries": Source("groceries", LONG),
    "adult": Source("Adult, attributes", Columns.of(attributes=ATTRIBUTES)),
}


@dataclass(frozen=True, eq=False)
class Weighed(BasketsInMemory):
    """Baskets whose sums of weights are counted once: they do not depend on noise, and take most of a discovery."""

    _sums: dict[bytes, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, baskets: BasketsInMemory) -> Self:
        return cls(**{part.name: getattr(baskets, part.name) for part in fields(baskets) if part.init})

    def item_weights(self, weights: np.ndarray) -> np.ndarray:
        key = weights.tobytes()
        if key not in self._sums:
            self._sums[key] = super().item_weights(weights)
        return self._sums[key]


@dataclass(frozen=True)
class Case:
    """Baskets that are mined once, for many choices of itemsets of one size."""

    title: str
    baskets: BasketsInMemory
    size: int

    @cached_property
    def miner(self) -> Miner:
        return Miner(self.baskets)

    @cached_property
    def known(self) -> ItemsetUniverse:
        """With the catalogue public."""
        return self._universe(catalogue_is_public=True)

    @cached_property
    def unknown(self) -> ItemsetUniverse:
        return self._universe(catalogue_is_public=False)

    def _universe(self, *, catalogue_is_public: bool) -> ItemsetUniverse:
        return ItemsetUniverse(
            self.miner,
            range(self.size, self.size + 1),
            catalogue_is_public=catalogue_is_public,
            transactions=self._weighed,
        )

    @cached_property
    def listing(self) -> Itemsets:
        """The better itemsets, best first."""
        return self.miner.itemsets(self.size, max(1, self.cut_off(1000) // 4))

    @cached_property
    def _weighed(self) -> Weighed:
        return Weighed.of(self.baskets)

    def item_counts(self, items_per_unit: int) -> np.ndarray:
        """int64[N]: how many units have each item among so many of theirs."""
        return self._weighed.item_weights(np.ones(items_per_unit, np.int64))

    @property
    def candidates(self) -> int:
        return comb(self.baskets.catalogue_size, self.size)

    @cached_property
    def best(self) -> list[int]:
        """The supports that occur, best first, each as often as it does, down to the 1,000th at least."""
        floor = max(1, int(self.miner.item_supports.max()))
        while (found := self.miner.histogram(self.size, floor)).total() < min(1000, self.candidates) and floor > 1:
            floor = max(1, floor * 3 // 4)
        return [support for support, count in sorted(found.items(), reverse=True) for _ in range(min(count, 1000))]

    def cut_off(self, k: int) -> int:
        """c(k), the k-th best support: every itemset that has it counts as one of the best."""
        return self.best[k - 1] if len(self.best) >= k else 0

    @cached_property
    def pairs(self) -> dict[int, int]:
        """The support of the better pairs by i N + j."""
        found = self.listing
        keys = found.items[:, 0].astype(np.int64) * self.baskets.catalogue_size + found.items[:, 1]
        return dict(zip(keys.tolist(), found.supports.tolist(), strict=True))

    def support(self, itemset: CodedItemset) -> int:
        """Looked up, where it is one of the better pairs."""
        if self.size == 2:
            noted = self.pairs.get(itemset[0] * self.baskets.catalogue_size + itemset[1])
            if noted is not None:
                return noted
        return self.miner.support(itemset)


def find(name: str) -> Path | None:
    paths = (folder / f"{SOURCES[name].file or name}.parquet" for folder in FOLDERS)
    return next((path for path in paths if path.exists()), None)


def read(name: str) -> BasketsInMemory | None:
    """None where the file is missing."""
    path = find(name)
    if path is None:
        return None
    baskets = read_transactions(path, SOURCES[name].columns).transactions
    if not isinstance(baskets, BasketsInMemory):
        raise TypeError(f"{name} does not fit into memory")
    return baskets


def case_of(name: str, size: int = 2, first: int | None = None) -> Case | None:
    """All of a data set, or (`first`) only its first so many items in the order of the catalogue."""
    baskets = read(name)
    if baskets is None:
        return None
    if first is None or first >= baskets.catalogue_size:
        return Case(SOURCES[name].title, baskets, size)
    return Case(f"{SOURCES[name].title}, first {first:,} items", baskets.projected(range(first)), size)


def with_unsold(baskets: BasketsInMemory, items: int) -> BasketsInMemory:
    """The catalogue filled up to so many items with ones that nobody bought; labels must be numbers."""
    last = baskets.labels[-1].as_py()
    extra = range(last + 1, last + 1 + items - baskets.catalogue_size)
    return replace(baskets, labels=pa.concat_arrays([baskets.labels, pa.array(extra, baskets.labels.type)]))
