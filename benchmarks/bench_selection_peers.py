"""One selection beside OpenDP and diffprivlib, on the same scores in one run; then dpmine alone up to 10^30 candidates.

Noise of scale 10 on scores of sensitivity 1. Workloads: *uniform* (scores 0 … 999), *floats* (distinct ones from 0 to
1000, all mantissas full) and *needle* (all 0, one 200). The peers live in .venv-peers (see the Makefile). Each
measurement is a process of its own; the libraries take turns, and the ratio is that of the medians of ROUNDS turns.
All but dpmine-levels start from an array of numpy: its conversion is included.
Usage: python benchmarks/bench_selection_peers.py [--largest 1000000] [--plot growth.svg]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import dpmine
from dpmine.exact.bits import SystemBits
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import OneShot
from dpmine.selection.universes.dense import Dense

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "peers" / "selection_worker.py"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
METHODS = [
    (library, kind)
    for kind in ("exponential", "permute_and_flip")
    for library in ("dpmine-levels", "dpmine-array", "opendp", "diffprivlib")
]
NAMES = (
    "exponential",
    "max_of_exponentials",
    "max_of_laplaces",
    "large_margin",
    "large_margin_tight",
    "limited_domain",
    "stable_maximiser",
)
ROUNDS = 3
TIMEOUT = 240  # seconds for one measurement; longer is reported as such


def measure(library: str, kind: str, workload: str, size: int) -> dict[str, float] | None:
    python = sys.executable if library.startswith("dpmine") else str(PEERS)
    repeats = "101" if size <= 10**4 else ("21" if library.startswith("dpmine") else ("5" if size <= 10**5 else "3"))
    command = [python, str(WORKER), f"{library}:{kind}", workload, str(size), repeats]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def compare(workload: str, sizes: list[int]) -> None:
    methods = [method for method in METHODS if workload != "floats" or method[0] != "dpmine-levels"]
    for size in sizes:
        turns = [{method: measure(*method, workload, size) for method in methods} for _ in range(ROUNDS)]
        print(f"\n{workload}, K = {size:,}")
        print(f"{'library':<16}{'mechanism':<18}{'ms':>12}{'peak MiB':>10}{'ratio to dpmine-array':>24}")
        base = {kind: middle(turns, ("dpmine-array", kind)) for _, kind in methods}
        for library, kind in methods:
            result = middle(turns, (library, kind))
            if result is None:
                print(f"{library:<16}{kind:<18}{'> ' + str(TIMEOUT) + ' s':>12}")
                continue
            ratio = result["seconds"] / base[kind]["seconds"]
            print(f"{library:<16}{kind:<18}{1000 * result['seconds']:>12.3f}{result['peak']:>10.0f}{ratio:>24.1f}")


def middle(turns: list[dict], method: tuple[str, str]) -> dict[str, float] | None:
    """The turn with the median time; None where a turn took too long."""
    results = [turn[method] for turn in turns]
    return None if None in results else sorted(results, key=lambda result: result["seconds"])[len(results) // 2]


def print_lists() -> None:
    """Seconds for the 100 best of a million candidates, at once: medians of 5."""
    way = OneShot.of(100, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
    workloads = {
        "integers": np.arange(10**6) % 1000,
        "floats": np.random.default_rng(0).uniform(0, 1000, 10**6),
        "power law": 1e5 / np.arange(1, 10**6 + 1) ** 0.7,
    }
    print("\n100 of 1,000,000 candidates at once, dpmine alone: median seconds of 5")
    for name, scores in workloads.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            way.choose(Dense(scores), bits=SystemBits())
            times.append(time.perf_counter() - start)
        print(f"{name:<16}{statistics.median(times):>8.3f}")


def growth() -> list[tuple[int, str, float]]:
    """Median milliseconds of a needle at noise scale 10 among K candidates."""
    rows = []
    for exponent in range(3, 31, 3):
        universe = dpmine.Levels([(200, 1), (0, 10**exponent - 1)])
        rows += [(exponent, name, milliseconds(universe, name)) for name in NAMES]
    return rows


def milliseconds(universe: dpmine.Levels, name: str) -> float:
    times = []
    for _ in range(100):
        start = time.perf_counter()
        dpmine.select(universe, mechanism=name, epsilon="0.2")
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def print_growth(rows: list[tuple[int, str, float]]) -> None:
    names = list(dict.fromkeys(name for _, name, _ in rows))
    print("\nneedle, dpmine alone: median ms of 100\n" + f"{'K':<8}" + "".join(f"{name:>22}" for name in names))
    for exponent in sorted({exponent for exponent, _, _ in rows}):
        cells = [value for power, _, value in rows if power == exponent]
        print(f"10^{exponent:<5}" + "".join(f"{value:>22.3f}" for value in cells))


def plot(rows: list[tuple[int, str, float]], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(name for _, name, _ in rows):
        points = [(10.0**exponent, value) for exponent, other, value in rows if other == name]
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xscale="log", xlabel="candidates", ylabel="ms a selection", ylim=(0, None))
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    if PEERS.exists():
        sizes = [size for size in (10**3, 10**4, 10**5, 10**6) if size <= arguments.largest]
        for workload in ("uniform", "floats", "needle"):
            compare(workload, sizes)
    else:
        print("No .venv-peers: run make bench-selection, which makes it.")
    print_lists()
    rows = growth()
    print_growth(rows)
    if arguments.plot:
        plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
