"""Does time grow with the data and no faster, within a limit of memory?

Usage: python benchmarks/bench_growth.py [--memory 4GB] [--rows 1,10,100] [--largest] [--keep FOLDER]

Synthetic baskets (datasets/generate.py, 10,000 items, 10 items a basket on average, long layout, sorted by basket) of
1, 10 and 100 million rows, with --largest 300 million, are written to a temporary folder; then `dpmine top-itemset` is
run on each as a process. Printed: elapsed and processor time, peak resident memory, and the ratio to linear growth
from the size before. Targets: 100 million rows within 1.5 times 10 of the 10-million run, below the limit of memory.
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


def top_itemset(path: Path, memory: str) -> Run:
    """One run of the command line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    command = [sys.executable, "-m", "dpmine_cli.main", "top-itemset", str(path), "--memory", memory, "--quiet"]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"dpmine top-itemset ended with status {process.returncode}")
    return Run(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


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
    parser.add_argument("--keep", type=Path, help="folder for the files, which stay there")
    options = parser.parse_args()
    sizes = [int(number) for number in options.rows.split(",")] + ([300] if options.largest else [])
    with tempfile.TemporaryDirectory(prefix="dpmine-bench-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report(folder, sizes, options.memory)


if __name__ == "__main__":
    main()
