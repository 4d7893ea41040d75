"""Data of the tests: files of the folder beside the project, and transactions with the options that read them."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"


def shared_path(relative: str) -> Path:
    """`relative` inside the shared folder; the calling test is skipped where that folder is missing."""
    path = ROOT.parent / "shared" / relative
    if not path.exists():
        pytest.skip(f"needs shared/{relative} beside the project")
    return path


@dataclass(frozen=True, eq=False)
class Transactions:
    """A table, the options that say how to read it, and a share of the units that the top itemsets exceed."""

    table: Any
    item: str
    options: dict[str, Any]
    shares: dict[int, float] = field(default_factory=dict)

    @property
    def catalogue(self) -> list[Any]:
        """All items that occur, for the use as a public list."""
        return [item for item in self.table[self.item].unique().to_pylist() if item is not None]


def generator() -> Any:
    """datasets/generate.py as a module: the folder is no package."""
    name = "generate_baskets"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, DATASETS / "generate.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@cache
def mushroom() -> Transactions:
    table = pq.read_table(DATASETS / "mushroom.parquet")
    return Transactions(table, "item", {"unit": "transaction_id", "item": "item"}, {1: 0.9, 2: 0.9, 3: 0.9})


@cache
def online_retail_customers() -> Transactions:
    table = pq.read_table(DATASETS / "online_retail.parquet", columns=["CustomerID", "InvoiceNo", "Item"])
    options = {"unit": "CustomerID", "basket": "InvoiceNo", "item": "Item"}
    return Transactions(table, "Item", options, {1: 0.1, 2: 0.05, 3: 0.03})


@cache
def online_retail_invoices() -> Transactions:
    table = pq.read_table(DATASETS / "online_retail.parquet", columns=["InvoiceNo", "Item"])
    return Transactions(table, "Item", {"unit": "InvoiceNo", "item": "Item"}, {1: 0.05, 2: 0.02, 3: 0.01})


@cache
def quest() -> Transactions:
    """20,000 synthetic baskets over 300 items (Agrawal & Srikant 1994)."""
    generate = generator()
    recipe = generate.Recipe(baskets=20_000, items=300, basket_length=8.0, pattern_length=4.0, seed=3, patterns=100)
    table = pa.concat_tables(generate.blocks(recipe)).combine_chunks()
    return Transactions(table, "item", {"unit": "transaction_id", "item": "item"}, {1: 0.05, 2: 0.02, 3: 0.01})


@cache
def retail() -> Transactions:
    """Needs the shared folder: skips where it is missing."""
    table = pq.read_table(shared_path("data/retail.parquet"))
    return Transactions(table, "item", {"unit": "transaction_id", "item": "item"}, {1: 0.3, 2: 0.1, 3: 0.05})


NAMED = {
    "mushroom": mushroom,
    "Online Retail, customers": online_retail_customers,
    "Online Retail, invoices": online_retail_invoices,
    "Quest": quest,
    "retail": retail,
}
