"""The selection step of top_itemset on triples of a 41,270-item catalogue, mining excluded.

Synthetic baskets; each mechanism runs on a fresh universe, so that it mines as deep as it asks; the time spent in the
miner's searches (histograms, drawing a member) is measured apart. Usage: python benchmarks/bench_itemset_selection.py
"""

import statistics
import subprocess
import sys
import tempfile
import time
from math import comb
from pathlib import Path
from typing import Any

from dpmine.exact.bits import SystemBits
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.selection.mechanisms.registry import MECHANISMS
from dpmine.selection.recommend import build_mechanism

ROOT = Path(__file__).resolve().parents[1]
ITEMS = 41_270
RUNS = 21
OPTIONS = {"bounded_growth": {"max_items_per_unit": comb(30, 3)}}


class TimedMiner:
    """A miner that keeps the time of its searches."""

    def __init__(self, miner: Miner) -> None:
        self._miner = miner
        self.item_supports = miner.item_supports
        self.support = miner.support
        self.seconds = 0.0

    def histogram(self, *arguments: Any) -> Any:
        return self._timed(self._miner.histogram, *arguments)

    def nth(self, *arguments: Any) -> Any:
        return self._timed(self._miner.nth, *arguments)

    def _timed(self, method: Any, *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def load() -> Miner:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baskets.parquet"
        generator = [
            sys.executable,
            str(ROOT / "datasets" / "generate.py"),
            "--baskets",
            "100000",
            "--items",
            str(ITEMS),
        ]
        subprocess.run([*generator, "--basket-length", "8", "--seed", "1", "-o", str(path)], check=True)
        catalogue = read_catalogue(list(range(ITEMS)))
        return Miner(read_transactions(path, Columns.of(), catalogue=catalogue).transactions)


def measure(miner: Miner, name: str, *, public: bool) -> tuple[float, float]:
    """Median seconds of the selection without and with its searches."""
    mechanism = build_mechanism(
        name, epsilon=1, delta=1e-6, neighbors="replace_one", not_private=True, **OPTIONS.get(name, {})
    )
    alone, whole = [], []
    for _ in range(RUNS):
        timed = TimedMiner(miner)
        start = time.perf_counter()
        mechanism.choose(ItemsetUniverse(timed, [3], catalogue_is_public=public), bits=SystemBits())  # type: ignore[arg-type]
        whole.append(time.perf_counter() - start)
        alone.append(whole[-1] - timed.seconds)
    return statistics.median(alone), statistics.median(whole)


def main() -> None:
    miner = load()
    print(f"{comb(ITEMS, 3):.2e} triples of {ITEMS:,} items, ε = 1, δ = 1e-6: median ms of {RUNS}")
    print(f"{'mechanism':<22}{'universe':<10}{'selection':>10}{'with mining':>13}")
    for name, kind in MECHANISMS.items():
        for public in (True, False):
            if public or not kind.needs_catalogue:
                alone, whole = measure(miner, name, public=public)
                universe = "known" if public else "unknown"
                print(f"{name:<22}{universe:<10}{1000 * alone:>10.2f}{1000 * whole:>13.2f}")


if __name__ == "__main__":
    main()
