"""Counting on Spark beside dpmine's own miner and MLlib's FPGrowth, on the same synthetic baskets, in one run.

Usage: .venv-spark/bin/python benchmarks/bench_spark.py [--quick] [--rows 0.1,1,10] [--keep FOLDER] [--cluster]

All pairs above a threshold of 2 per mille of the baskets (datasets/generate.py: 10,000 items, 10 items a basket). Every
measurement is a process of its own: seconds without the start of Python and Java, which are printed apart. Then, for
Spark: bytes written to shuffles by step beside the plan on paper (docs/explanation/spark.md), and what lives on the
driver, which must not grow with the rows. `--cluster` runs executors as processes of their own, so that the driver's
heap holds nothing of theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from math import nan
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "spark_worker.py"
MILLION = 10**6
BASKET_LENGTH = 10
PER_MILLE = 2
DAY = 86_400.0
MLLIB_UP_TO = 1.0  # millions of rows: it has no bound on the sizes of itemsets, and takes too long beyond
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")]),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
}
LOCAL = """
import json, sys, time
from dpmine.itemsets.read import read_transactions
from dpmine.io.source import Columns
columns = Columns(unit=("transaction_id",), item="item")
read_transactions(sys.argv[1], columns).transactions.miner().histogram(2, 10**9)
start = time.monotonic()
levels = read_transactions(sys.argv[1], columns).transactions.miner().histogram(2, int(sys.argv[2]))
print(json.dumps({"seconds": {"all": time.monotonic() - start}, "above": int(levels.counts.sum())}))
"""
COMPRESSED = 0.3
"""What is left of a row of small integers after Spark's LZ4: most of its bytes are 0."""
RANK = 2.5
"""Bytes of an item in a basket's array, of 4 before compression."""


def generate(folder: Path, millions: float) -> Path:
    """A file of about so many million rows; an existing one is kept."""
    path = folder / f"baskets-{millions:g}.parquet"
    if not path.exists():
        options = ["--baskets", str(int(millions * MILLION / BASKET_LENGTH)), "--items", "10000", "--seed", "1"]
        command = [sys.executable, str(ROOT / "datasets" / "generate.py"), *options, "-o", str(path)]
        subprocess.run(command, check=True)
    return path


def measured(kind: str, path: Path, threshold: int, master: str) -> dict[str, Any]:
    """What a worker prints."""
    with tempfile.TemporaryDirectory() as events:
        command = [sys.executable, str(WORKER), kind, str(path), str(threshold), events, master]
        if kind == "local":
            command = [sys.executable, "-c", LOCAL, str(path), str(threshold)]
        start = time.monotonic()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["process"] = time.monotonic() - start
    return found


def planned(sizes: dict[str, int]) -> dict[str, float]:
    """Bytes written to the shuffles of each step, on paper: the formulas of docs/explanation/spark.md."""
    items, tasks = sizes["items"], sizes["tasks"]
    counts = min(sizes["occurrences"], sizes["pairs"] * tasks)
    return {
        "items": sizes["rows"] * _row(2) + items * sizes["readers"] * _row(2),
        "baskets": sizes["baskets"] * _row(3) + sizes["stored"] * RANK + items * tasks * _row(4),
        "pairs": counts * _row(3),
    }


def _row(fields: int) -> float:
    """Bytes of a row of so many numbers in a shuffle: 8 for each, 8 for nulls, 4 for the length, compressed."""
    return COMPRESSED * (8 * fields + 8 + 4)


def seconds(found: dict[str, Any]) -> float:
    """Of the work alone."""
    return sum(float(value) for name, value in found["seconds"].items() if name not in {"start", "checks"})


def compare(folder: Path, sizes: list[float], master: str) -> list[tuple[float, dict[str, dict[str, Any]]]]:
    """One line a size; returns all that was measured."""
    print("  rows    pairs  local s  spark s  mllib s  spark/local  mllib/spark")
    runs = []
    for millions in sizes:
        path = generate(folder, millions)
        threshold = max(2, int(millions * MILLION / BASKET_LENGTH) * PER_MILLE // 1000)
        kinds = ("local", "dpmine", "mllib") if millions <= MLLIB_UP_TO else ("local", "dpmine")
        found = {kind: measured(kind, path, threshold, master) for kind in kinds}
        if len({run["above"] for run in found.values()}) > 1:
            raise SystemExit("the miners disagree about the number of pairs")
        local, spark, mllib = (seconds(found[kind]) if kind in found else nan for kind in ("local", "dpmine", "mllib"))
        above = found["local"]["above"]
        print(
            f"{millions:>5g}M {above:8} {local:8.2f} {spark:8.1f} {mllib:8.1f} {spark / local:12.1f} "
            f"{mllib / spark:12.2f}",
            flush=True,
        )
        runs.append((millions, found))
    return runs


def report_shuffles(runs: list[tuple[float, dict[str, dict[str, Any]]]]) -> None:
    """Bytes by step, beside the plan."""
    print("\n  rows     step  seconds      records        MB  MB planned  measured/planned")
    for millions, found in runs:
        run = found["dpmine"]
        plan = planned(run["sizes"])
        for step, expected in plan.items():
            written = run["shuffled"].get(step, {"bytes": 0, "records": 0})
            print(
                f"{millions:>5g}M {step:>8} {run['seconds'][step]:8.1f} {written['records']:12,} "
                f"{written['bytes'] / MILLION:9.2f} {expected / MILLION:11.2f} {written['bytes'] / expected:17.2f}"
            )


def report_driver(runs: list[tuple[float, dict[str, dict[str, Any]]]], master: str) -> None:
    """What the driver holds."""
    where = "the driver's alone" if master.startswith("local-cluster") else "the executors' in it, too"
    print(f"\n{'rows':>6} {'Python peak MB':>15} {'JVM heap after GC MB':>21}   (heap: {where})")
    for millions, found in runs:
        run = found["dpmine"]
        print(f"{millions:>5g}M {run['peak'] / MILLION:15.0f} {run['heap'] / MILLION:21.0f}")


def report_future(runs: list[tuple[float, dict[str, dict[str, Any]]]], cores: int) -> None:
    """Straight lines through the two largest sizes, drawn on."""
    if len(runs) < 2:
        return
    (first, early), (last, late) = runs[-2:]
    slopes = {
        kind: max(seconds(late[kind]) - seconds(early[kind]), 0.001) / (last - first) for kind in ("local", "dpmine")
    }
    cluster = slopes["dpmine"] * cores / slopes["local"]
    print(
        f"\nOne more million rows takes this machine {slopes['local']:.2f} s itself and {slopes['dpmine']:.2f} s by "
        f"Spark on {cores} cores: a cluster is faster from about {cluster:.0f} cores on. In a day this machine counts "
        f"{MILLION * DAY / slopes['local']:.0e} rows; beyond, or beyond its disk, a cluster is the only way."
    )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", default="0.1,1,10", help="sizes in millions")
    parser.add_argument("--quick", action="store_true", help="0.1 and 1 million only")
    parser.add_argument("--keep", type=Path, help="a folder for the data, kept")
    parser.add_argument("--cluster", action="store_true", help="executors as processes of their own")
    options = parser.parse_args()
    sizes = [0.1, 1.0] if options.quick else [float(size) for size in options.rows.split(",")]
    master, cores = ("local-cluster[2,1,1024]", 2) if options.cluster else ("local[2]", 2)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runs = compare(folder, sizes, master)
    report_shuffles(runs)
    report_driver(runs, master)
    report_future(runs, cores)


if __name__ == "__main__":
    main()
