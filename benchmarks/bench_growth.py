"""Does time grow with the data and no faster, within a limit of memory?

Usage: python benchmarks/bench_growth.py [--memory 4GB] [--rows 1,10,100] [--largest] [--keep FOLDER] [--beside]

Synthetic baskets (datasets/generate.py, 10,000 items, 10 items a basket on average, long layout, sorted by basket) of
1, 10 and 100 million rows, with --largest 300 million, are written to a temporary folder; then `dpmine top-itemset` is
run on each as a process. Printed: elapsed and processor time, peak resident memory, and the ratio to linear growth
from the size before. Targets: 100 million rows within 1.5 times 10 of the 10-million run, below the limit of memory.

With --beside, other runs on the same files, in turn: a bare pass over the columns, the best pair without a limit and
with it, and the best 100 with supports and rules, without and with it. Targets: a pair takes at most 6 times a bare
pass, and no more without a limit than with one; a list within the limit takes at most 3 times one without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
MILLION = 10**6
BASKET_LENGTH = 10


@dataclass(frozen=True)
class Run:
    """Seconds and bytes of a process."""

    elapsed: float
    processor: float
    peak: int


def generate(folder: Path, millions: int) -> Path:
    """A file of about so many million rows; an existing one is kept."""
    path = folder / f"baskets-{millions}.parquet"
    if not path.exists():
        baskets = str(millions * MILLION // BASKET_LENGTH)
        options = ["--baskets", baskets, "--items", "10000", "--basket-length", str(BASKET_LENGTH), "--seed", "1"]
        command = [sys.executable, str(ROOT / "datasets" / "generate.py"), *options, "-o", str(path)]
        subprocess.run(command, check=True)
    return path


BARE_PASS = """
import sys, pyarrow.parquet
for _ in pyarrow.parquet.ParquetFile(sys.argv[1]).iter_batches(columns=["transaction_id", "item"]): pass
"""
LIST = ("--top", "100", "--release-support", "0.5", "--rules")
ROUNDS = 3


def top_itemset(path: Path, memory: str, *options: str) -> Run:
    """One run of the command line; no limit where `memory` is empty."""
    limit = ("--memory", memory) if memory else ()
    return timed("-m", "dpmine_cli.main", "top-itemset", str(path), *limit, "--quiet", *options)


def timed(*arguments: str) -> Run:
    """One run of Python."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with status {process.returncode}")
    return Run(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def beside(folder: Path, sizes: list[int], memory: str) -> None:
    """Medians of runs in turn, and how many times the processor time of a bare pass they take."""
    for millions in sizes:
        path = generate(folder, millions)
        works: dict[str, Callable[[], Run]] = {
            "a bare pass": lambda path=path: timed("-c", BARE_PASS, str(path)),
            "the best pair": lambda path=path: top_itemset(path, ""),
            f"the same, --memory {memory}": lambda path=path: top_itemset(path, memory),
            "the best 100": lambda path=path: top_itemset(path, "", *LIST),
            f"the best 100, --memory {memory}": lambda path=path: top_itemset(path, memory, *LIST),
        }
        runs = [{name: work() for name, work in works.items()} for _ in range(ROUNDS)]
        bare = median(run["a bare pass"].processor for run in runs)
        print(f"{millions}M rows {'':25} {'elapsed s':>10} {'cpu s':>8} {'cpu / bare':>11} {'peak MB':>8}")
        for name in works:
            elapsed = median(run[name].elapsed for run in runs)
            processor = median(run[name].processor for run in runs)
            peak = max(run[name].peak for run in runs) / MILLION
            print(f"{name:35} {elapsed:10.1f} {processor:8.1f} {processor / bare:11.1f} {peak:8.0f}", flush=True)


def report(folder: Path, sizes: list[int], memory: str) -> None:
    """One line a size."""
    print(f"{'rows':>8} {'elapsed s':>10} {'cpu s':>8} {'peak MB':>8} {'elapsed / linear':>17} {'cpu / linear':>13}")
    before: tuple[int, Run] | None = None
    for millions in sizes:
        path = generate(folder, millions)
        top_itemset(path, memory) if before is None else None  # the disk's cache is warm
        run = top_itemset(path, memory)
        ratios = ""
        if before is not None:
            growth = millions / before[0]
            elapsed, processor = run.elapsed / before[1].elapsed / growth, run.processor / before[1].processor / growth
            ratios = f"{elapsed:17.2f} {processor:13.2f}"
        line = f"{millions:>7}M {run.elapsed:10.1f} {run.processor:8.1f} {run.peak / MILLION:8.0f} {ratios}"
        print(line, flush=True)
        before = millions, run


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--rows", default="1,10,100", help="million rows, separated by commas")
    parser.add_argument("--largest", action="store_true", help="300 million rows as well")
    parser.add_argument("--beside", action="store_true", help="beside a bare pass, with and without the limit")
    parser.add_argument("--keep", type=Path, help="folder for the files, which stay there")
    options = parser.parse_args()
    sizes = [int(number) for number in options.rows.split(",")] + ([300] if options.largest else [])
    with tempfile.TemporaryDirectory(prefix="dpmine-bench-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (beside if options.beside else report)(folder, sizes, options.memory)


if __name__ == "__main__":
    main()
