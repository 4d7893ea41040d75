"""Does every mechanism find the true top itemset of real data when the budget is huge? Prints a table.

Run: python benchmarks/check_datasets.py [--sizes 1,2,3]

The truth is mlxtend's fpgrowth where its one-hot frame is small and a unit has one basket, and otherwise dpmine's own
exact supports, which the tests compare with other tools. Retail is left out where the shared folder is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import dpmine
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
EPSILON = 1000
LARGEST_FRAME = 20_000_000
"""Cells of a one-hot frame that mlxtend gets; beyond it minutes go by."""

SHARES = {1: 0.04, 2: 0.02, 3: 0.01}
"""Every data set has itemsets above these shares of its units; the search for the truth starts there."""


@dataclass(frozen=True, eq=False)
class Transactions:
    """A table, and the options that say how to read it."""

    name: str
    table: Any
    options: dict[str, Any]

    @property
    def item(self) -> str:
        """The column of the items."""
        return str(self.options["item"])


def online_retail(*, unit: str, basket: str | None) -> Transactions:
    """The shop's invoices: of customers, or each for itself."""
    options = {"unit": unit, "item": "Item"} | ({"basket": basket} if basket else {})
    table = pq.read_table(ROOT / "datasets" / "online_retail.parquet", columns=list(options.values()))
    return Transactions(f"Online Retail, {'customers' if basket else 'invoices'}", table, options)


def long_file(name: str, path: Path) -> Transactions:
    """A file with one basket a unit."""
    return Transactions(name, pq.read_table(path), {"unit": "transaction_id", "item": "item"})


def quest() -> Transactions:
    """100,000 synthetic baskets over 1,000 items (Agrawal & Srikant 1994)."""
    spec = importlib.util.spec_from_file_location("generate_baskets", ROOT / "datasets" / "generate.py")
    if spec is None or spec.loader is None:
        raise SystemExit("datasets/generate.py is missing.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    recipe = module.Recipe(100_000, 1000, basket_length=10.0, pattern_length=4.0, patterns=200, seed=3)
    table = pa.concat_tables(module.blocks(recipe)).combine_chunks()
    return Transactions("Quest, synthetic", table, {"unit": "transaction_id", "item": "item"})


def all_data() -> Iterator[Transactions]:
    """The data sets, one at a time."""
    yield online_retail(unit="CustomerID", basket="InvoiceNo")
    yield online_retail(unit="InvoiceNo", basket=None)
    shared = ROOT.parent / "shared" / "data" / "retail.parquet"
    if shared.exists():
        yield long_file("retail", shared)
    yield quest()
    yield long_file("Mushroom", ROOT / "datasets" / "mushroom.parquet")


def truth(data: Transactions, size: int) -> tuple[set[frozenset[Any]], str]:
    """The top itemsets, several where they tie, and who says so."""
    if "basket" not in data.options:
        rows = data.table.select([data.options["unit"], data.item]).to_pandas().dropna().drop_duplicates()
        rows.columns = ["unit", "item"]
        supports = rows["item"].value_counts()
        frequent = supports.index[supports >= SHARES[size] * rows["unit"].nunique()]
        if len(frequent) * rows["unit"].nunique() <= LARGEST_FRAME:
            return _by_mlxtend(rows, list(frequent), size), "mlxtend"
    frame = dpmine.itemset_supports(data.table, size=size, min_support=SHARES[size], **data.options)
    return _best(frame), "exact supports"


def _by_mlxtend(rows: pd.DataFrame, frequent: list[Any], size: int) -> set[frozenset[Any]]:
    from mlxtend.frequent_patterns import fpgrowth

    units, names = pd.factorize(rows["unit"])
    columns = {item: np.zeros(len(names), bool) for item in frequent}
    for item, places in rows.assign(unit=units).groupby("item")["unit"]:
        if item in columns:
            columns[item][places.to_numpy()] = True
    # Half the best single support at a time: at once, dense data have more itemsets than memory holds.
    share = max(float(column.mean()) for column in columns.values())
    while True:
        found = fpgrowth(pd.DataFrame(columns), min_support=share, use_colnames=True, max_len=size)
        found = found[found["itemsets"].map(len) == size]
        if len(found):
            return _best(found)
        share /= 2


def _best(frame: pd.DataFrame) -> set[frozenset[Any]]:
    return set(frame["itemsets"][frame["support"] == frame["support"].max()])


def private_tops(data: Transactions, size: int) -> Iterator[tuple[str, frozenset[Any] | None, float]]:
    """What every private mechanism returns, and in how many seconds; the items seen serve as public catalogue."""
    catalogue = [item for item in data.table[data.item].unique().to_pylist() if item is not None]
    for name, mechanism in MECHANISMS.items():
        if not mechanism.private or name == "bounded_growth":  # it cuts the data first, so its truth is another
            continue
        begin = time.perf_counter()
        result = dpmine.top_itemset(
            data.table,
            size=size,
            epsilon=EPSILON,
            mechanism=name,
            catalogue=catalogue if mechanism.needs_catalogue else None,
            **data.options,
        )
        yield name, result.itemset, time.perf_counter() - begin


def verdict(chosen: frozenset[Any] | None, tops: set[frozenset[Any]]) -> str:
    """How the choice compares with the truth."""
    if chosen is None:
        return "nothing (a tie)" if len(tops) > 1 else "NOTHING"
    return "true top" if chosen in tops else "WRONG"


def report(data: Transactions, size: int, show: Callable[[str], None]) -> bool:
    """Print the rows of one data set and size; returns whether all is well."""
    tops, source = truth(data, size)
    well = True
    for name, chosen, seconds in private_tops(data, size):
        told = verdict(chosen, tops)
        well = well and not told.isupper()
        show(f"{data.name:26} {size:4}  {name:20} {told:16} {seconds:8.2f}  {source}")
    return well


def main() -> int:
    """Print the table; the status is 1 when a mechanism misses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="1,2,3", help="sizes of the itemsets (1,2,3)")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    dpmine.top_itemset([["a", "b"]] * 3, mechanism="large_margin")  # loads the compiled kernels
    print(f"epsilon = {EPSILON}, replace-one")
    print(f"{'data':26} {'size':4}  {'mechanism':20} {'returned':16} {'seconds':>8}  truth")
    outcomes = [report(data, size, print) for data in all_data() for size in sizes]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
