"""Baskets on Spark for tests, and what is asked of whoever counts them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    import pyarrow as pa

    from support.conformance.sources import Row

LONG = Columns(unit=("u",), basket=("b",), item="i")
ONE_BASKET = Columns(unit=("u",), item="i")


def require_spark() -> None:
    """Skips, with the reason, where Spark cannot run."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs pyspark: make test-spark runs these tests in .venv-spark")
    java = shutil.which("java", path=os.pathsep.join([f"{os.environ.get('JAVA_HOME', '')}/bin", os.environ["PATH"]]))
    if java is None or subprocess.run([java, "-version"], capture_output=True, check=False).returncode:
        pytest.skip("needs Java 17 or newer")


def random_rows(seed: int, *, units: int = 25, baskets: int = 3, items: int = 8, length: int = 5) -> list[Row]:
    """Units with 1 to `baskets` baskets, low items more often, some rows twice and some with nulls."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for unit in range(units):
        for basket in range(generator.integers(1, baskets + 1)):
            codes = (items * generator.random(generator.integers(length + 1)) ** 2).astype(int).tolist()
            rows += [(unit, basket, item) for item in codes]
    return [*rows, *rows[::7], (None, 1, 1), (1, None, 2), (1, 1, None)]


def on_spark(spark: Any, table: pa.Table, columns: Columns, *, partitions: int = 3, **options: Any) -> Any:
    """What is read of a table that lies in several partitions."""
    return read_transactions(spark.createDataFrame(table).repartition(partitions), columns, **options)


def miner_on_spark(spark: Any, table: pa.Table, columns: Columns) -> Any:
    return on_spark(spark, table, columns).transactions.miner()


def answers(miner: Any, size: int, threshold: int) -> tuple[Any, ...]:
    """Everything about the itemsets above a threshold, to be compared."""
    found = miner.itemsets(size, threshold)
    return miner.histogram(size, threshold), found.supports.tolist(), found.items.tolist()


THRESHOLDS: dict[str, dict[int, tuple[int, ...]]] = {
    "mushroom": {2: (6000, 3000), 3: (7000, 5000)},
    "Online Retail, customers": {2: (280, 200)},  # by SQL its triples took the longest of all
    "Online Retail, invoices": {2: (700, 300), 3: (400,)},
    "Quest": {2: (900, 300), 3: (400,)},
}
"""Of the data sets in `support.datasets`: by size, from shallow to deep."""


def require_equal(miner: Any, local: Any, thresholds: dict[int, tuple[int, ...]]) -> None:
    """Both have the same supports at these thresholds of each size, to the last count."""
    assert miner.item_supports.tolist() == local.item_supports.tolist()
    for size, asked in thresholds.items():
        for threshold in asked:
            assert answers(miner, size, threshold) == answers(local, size, threshold)


def listed(data: Any, **options: Any) -> list[tuple[int, list[Any]]]:
    """All items and pairs of some data, by their supports."""
    found = dpmine.itemset_supports(data, size="1-2", min_support=1, **options)
    return sorted((support, sorted(itemset)) for support, itemset in found.itertuples(index=False))
