"""Counting on Spark, natively and by SQL, beside the local engine and MLlib's FPGrowth, on the same baskets in one run.

Usage: .venv-spark/bin/python benchmarks/bench_spark.py [--quick] [--rows 1,10,50] [--keep FOLDER] [--cluster] [--lists]

Pairs and triples above a threshold of 2 per mille of the baskets (datasets/generate.py: 10,000 items, ten in each).
Every measurement is a process of its own, and the kinds take turns. Seconds include reading, and exclude the start of
Java and of the executors' Python, which is printed apart. `shuffled` is the same data with its rows in random order.
Then, for the native way: bytes written to shuffles beside the estimate
(docs/explanation/spark.md), and the memory of the driver and of tasks. `--cluster` runs executors as processes of their
own, so that the driver's heap holds nothing of theirs. `--lists` measures lists of all sizes alone (frequent_itemsets,
k = 100) in one process, where both engines and two bare passes of Spark over the same rows take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "spark_worker.py"
MILLION = 10**6
BASKET_LENGTH = 10
PER_MILLE = 2
WARM_UP = 0.1  # million rows
PATIENCE = 600  # seconds for one measurement
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")]),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
}
COMPRESSED = 0.3
"""What is left of small or sorted integers after Spark's LZ4: most bytes are 0, or those of their neighbours."""
LINE_BYTES = 6
"""Of a line that is dealt, before compression: four of the unit, two of the item."""


def generate(folder: Path, millions: float) -> Path:
    """A file of about that number of rows in millions; an existing one is kept."""
    path = folder / f"baskets-{millions:g}.parquet"
    if not path.exists():
        options = ["--baskets", str(int(millions * MILLION / BASKET_LENGTH)), "--items", "10000", "--seed", "1"]
        command = [sys.executable, str(ROOT / "datasets" / "generate.py"), *options, "-o", str(path)]
        subprocess.run(command, check=True)
    return path


def shuffled(path: Path) -> Path:
    """The same rows in random order; an existing file is kept."""
    mixed = path.with_stem(f"{path.stem}-shuffled")
    if not mixed.exists():
        table = pq.read_table(path)
        pq.write_table(table.take(np.random.default_rng(1).permutation(len(table))), mixed)
    return mixed


def measured(kind: str, small: Path, path: Path, threshold: int, master: str) -> dict[str, Any] | None:
    """What a worker prints; None where it fails, or takes too long."""
    with tempfile.TemporaryDirectory() as events:
        command = [sys.executable, str(WORKER), kind, str(small), str(path), str(threshold), events, master]
        try:
            done = subprocess.run(
                command,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT,
                timeout=PATIENCE,
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def pair_seconds(run: dict[str, Any]) -> float:
    """Of reading and pairs."""
    return float(run["seconds"].get("read", 0) + run["seconds"]["pairs"])


def triple_seconds(run: dict[str, Any]) -> float:
    """Of reading, pairs and triples."""
    return pair_seconds(run) + float(run["seconds"].get("triples", 0))


Runs = dict[tuple[float, str], list[dict[str, Any]]]


def compare(folder: Path, plan: list[tuple[float, list[str]]], master: str) -> Runs:
    """Measures every size and kind of a plan, and prints a line each."""
    small, runs = generate(folder, WARM_UP), Runs()
    print(f"{'rows':>7} {'kind':>16} {'start s':>8} {'pairs s':>8} {'triples s':>9}", flush=True)
    for millions, kinds in plan:
        path = generate(folder, millions)
        threshold = int(millions * MILLION / BASKET_LENGTH) * PER_MILLE // 1000
        for kind in kinds:
            name, mixed = kind.removesuffix(" shuffled"), kind.endswith("shuffled")
            run = measured(name, small, shuffled(path) if mixed else path, threshold, master)
            if run is None:
                print(f"{millions:>6g}M {kind:>16}    failed, or took more than {PATIENCE} s", flush=True)
                continue
            runs.setdefault((millions, kind), []).append(run)
            print(
                f"{millions:>6g}M {kind:>16} {run['start']:8.1f} {pair_seconds(run):8.2f} {triple_seconds(run):9.2f}",
                flush=True,
            )
        found = [run for (size, _), each in runs.items() if size == millions for run in each]
        if len({run["pairs"] for run in found}) > 1 or len({run["triples"] for run in found if "triples" in run}) > 1:
            raise SystemExit("the miners disagree about the number of itemsets")
    return runs


def report_ratios(runs: Runs) -> None:
    """Medians, as multiples of the local engine's time on the same file."""
    print(f"\n{'rows':>7} {'kind':>16} {'pairs s':>8} {'x local':>8} {'triples s':>9} {'x local':>8}")
    for (millions, kind), found in runs.items():
        beside = runs[millions, "local shuffled" if kind.endswith("shuffled") else "local"]
        pairs, triples = _medians(found)
        local_pairs, local_triples = _medians(beside)
        more = f"{triples:9.2f} {triples / local_triples:8.1f}" if kind != "mllib" else ""
        print(f"{millions:>6g}M {kind:>16} {pairs:8.2f} {pairs / local_pairs:8.1f} {more}")


def _medians(found: list[dict[str, Any]]) -> tuple[float, float]:
    return median(map(pair_seconds, found)), median(map(triple_seconds, found))


def report_margins(runs: Runs) -> None:
    """What a further million rows takes, between the two largest sizes."""
    sizes = sorted({size for size, _ in runs})[-2:]
    if len(sizes) < 2:
        return
    print(f"\na further million rows, from {sizes[0]:g} to {sizes[1]:g} million: pairs s, triples s")
    for kind in ("local", "native", "sql", "local shuffled", "native shuffled"):
        if all((size, kind) in runs for size in sizes):
            ends = [_medians(runs[size, kind]) for size in sizes]
            slopes = [(late - early) / (sizes[1] - sizes[0]) for early, late in zip(*ends, strict=True)]
            print(f"{kind:>16} {slopes[0]:8.3f} {slopes[1]:8.3f}")


def planned(sizes: dict[str, int], lines: float, *, mixed: bool) -> dict[str, float]:
    """Bytes written to the shuffles of each native step: see docs/explanation/spark.md."""
    blocks = sizes["blocks"]
    return {
        "read": LINE_BYTES * lines * (1 if mixed else COMPRESSED) + sizes["items"] * blocks * _row(2),
        "pairs": sizes["pairs"] * blocks * (_row(4) + _row(2)),
        "triples": sizes["triples"] * blocks * _row(2),
    }


def _row(fields: int) -> float:
    """Bytes of a row of that number of integers in a shuffle: 8 for each, 8 for nulls, 4 for the length, compressed."""
    return COMPRESSED * (8 * fields + 8 + 4)


def report_shuffles(runs: Runs) -> None:
    """Bytes by step of the native way, beside the estimate."""
    print(f"\n{'rows':>7} {'kind':>16} {'step':>8} {'MB':>9} {'estimate':>9} {'ratio':>6}")
    for (millions, kind), found in runs.items():
        if not kind.startswith("native"):
            continue
        steps = planned(found[0]["sizes"], millions * MILLION, mixed=kind.endswith("shuffled"))
        for step, expected in steps.items():
            written = found[0]["shuffled"].get(step, 0)
            print(
                f"{millions:>6g}M {kind:>16} {step:>8} {written / MILLION:9.3f} {expected / MILLION:9.3f} "
                f"{written / expected:6.2f}"
            )


def report_memory(runs: Runs) -> None:
    """Of the driver, and of the Python process of a task."""
    print(f"\n{'rows':>7} {'kind':>16} {'driver Python MB':>17} {'driver heap MB':>15} {'task Python MB':>15}")
    for (millions, kind), found in runs.items():
        if "heap" in found[0]:
            memory = [max(run[name] for run in found) / MILLION for name in ("peak", "heap", "task")]
            print(f"{millions:>6g}M {kind:>16} {memory[0]:17.0f} {memory[1]:15.0f} {memory[2]:15.0f}")


def report_lists(folder: Path, millions: float, turns: int, master: str) -> None:
    """Seconds of each turn, and their medians as multiples of the local engine's."""
    run = measured("lists", generate(folder, WARM_UP), generate(folder, millions), turns, master)
    if run is None:
        raise SystemExit(f"failed, or took more than {PATIENCE} s")
    local = median(run["seconds"][f"local {turn}"] for turn in range(turns))
    for kind in ("local", "spark", "rows of units", "items of units"):
        seconds = [run["seconds"][f"{kind} {turn}"] for turn in range(turns)]
        each = " ".join(f"{value:.2f}" for value in seconds)
        print(f"{millions:>6g}M {kind:>16} {median(seconds) / local:8.1f} x local, seconds {each}", flush=True)
    print(f"{millions:>6g}M memory in MB: driver Python {run['peak'] / MILLION:.0f}, task {run['task'] / MILLION:.0f}")


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", default="1,10,50", help="sizes in millions")
    parser.add_argument("--quick", action="store_true", help="1 and 10 million, one turn, no shuffled rows")
    parser.add_argument("--kinds", default="sql,mllib,shuffled", help="what runs beside the local engine and native")
    parser.add_argument("--turns", type=int, default=3, help="runs of the local engine and of the native way")
    parser.add_argument("--keep", type=Path, help="a folder for the data, kept")
    parser.add_argument("--cluster", action="store_true", help="executors as processes of their own")
    parser.add_argument("--lists", action="store_true", help="lists of all sizes alone")
    options = parser.parse_args()
    sizes = [1.0, 10.0] if options.quick else [float(size) for size in options.rows.split(",")]
    kinds = ["local", "native"] * (1 if options.quick else options.turns)
    if "shuffled" in options.kinds and not options.quick:
        kinds += ["local shuffled", "native shuffled"]
    if "sql" in options.kinds:
        kinds.append("sql")
    # FPGrowth has no bound on the sizes of itemsets.
    plan = [(size, [*kinds, *(["mllib"] if "mllib" in options.kinds and size <= 10 else [])]) for size in sizes]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        master = "local-cluster[2,1,1024]" if options.cluster else "local[2]"
        if options.lists:
            for size in sizes:
                report_lists(folder, size, options.turns, master)
            return
        runs = compare(folder, plan, master)
    report_ratios(runs)
    report_margins(runs)
    report_shuffles(runs)
    report_memory(runs)


if __name__ == "__main__":
    main()
