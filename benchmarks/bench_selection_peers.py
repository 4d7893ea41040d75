"""One selection beside OpenDP and diffprivlib, on the same scores in one run; then dpmine alone up to 10^30 candidates.

Noise of scale 10 on scores of sensitivity 1. Workloads: *uniform* (scores 0 … 999) and *needle* (all 0, one 200).
The peers live in .venv-peers (see the Makefile) and each measurement is a process of its own.
Usage: python benchmarks/bench_selection_peers.py [--largest 1000000] [--plot growth.svg]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import dpmine

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
TIMEOUT = 240  # seconds for one measurement; longer is reported as such


def measure(library: str, kind: str, workload: str, size: int) -> dict[str, float] | None:
    python = sys.executable if library.startswith("dpmine") else str(PEERS)
    repeats = "21" if library.startswith("dpmine") else ("5" if size <= 10**5 else "3")
    command = [python, str(WORKER), f"{library}:{kind}", workload, str(size), repeats]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def compare(workload: str, sizes: list[int]) -> None:
    for size in sizes:
        results = {method: measure(*method, workload, size) for method in METHODS}
        print(f"\n{workload}, K = {size:,}")
        print(f"{'library':<16}{'mechanism':<18}{'ms':>12}{'peak MiB':>10}{'ratio to dpmine-levels':>24}")
        for (library, kind), result in results.items():
            base = results["dpmine-levels", kind]
            if result is None or base is None:
                print(f"{library:<16}{kind:<18}{'> ' + str(TIMEOUT) + ' s':>12}")
                continue
            ratio = result["seconds"] / base["seconds"]
            print(f"{library:<16}{kind:<18}{1000 * result['seconds']:>12.3f}{result['peak']:>10.0f}{ratio:>24.1f}")


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
        for workload in ("uniform", "needle"):
            compare(workload, sizes)
    else:
        print("No .venv-peers: run make bench-selection, which makes it.")
    rows = growth()
    print_growth(rows)
    if arguments.plot:
        plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
