"""Exact mining beside pyfim, rusket, mlxtend and efficient-apriori, on the same data in one run.

For every data set and size, the supports that about 10^3 and 10^5 itemsets reach. *Memory*: from arrays (each miner's
own input, its conversion timed apart) to all itemsets of the size; ours builds its index each time. *File*: from
Parquet through the whole library call; the peers' figure is reading, conversion and mining. The floor is Arrow's
reading of the columns. Best of a few runs; every miner is a process of its own, cut off after the limit.
The peers live in .venv-peers-mining (benchmarks/peers/mining_requirements.txt).
Then all sizes at once (--only all-sizes), closed and maximal itemsets (--only closed maximal): from Parquet to Arrow,
beside the mining of the best peer alone, and beside its loading and mining; and mining of baskets in memory beside
mining. Peers are pyfim's algorithms ("eclat o" is its LCM) and, of all sizes, rusket. Runs alternate, and the peers'
search for garbage is off.
Last come one-hot tables of up to 100,000 columns, beside mlxtend on the same frame, and dpmine.frequent_patterns beside
mlxtend's own functions, on frames of the sizes of its speed tests (names for --only: one-hot, frequent-patterns).
With --processor-time, all seconds are those of processors, of all threads together: other work disturbs them less.
Usage: python benchmarks/bench_mining.py [--data FOLDER] [--quick] [--only NAME …] [--limit SECONDS] [--processor-time]
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "peers" / "mining_worker.py"
ONE_HOT_WORKER = ROOT / "benchmarks" / "peers" / "one_hot_worker.py"
PEERS = ROOT / ".venv-peers-mining" / "bin" / "python"
FAST = ("eclat", "fpgrowth", "apriori", "rusket")
SLOW = ("mlxtend", "efficient-apriori")  # only at size 3
OURS = ("dpmine", "dpmine file", "dpmine frame", "floor", "thresholds")
COUNTS = (10**3, 10**5)
PATTERNS_WORKER = ROOT / "benchmarks" / "peers" / "frequent_patterns_worker.py"
PATTERNS = "frequent-patterns"
ONE_HOT = "one-hot"
ALL_SIZES = "all-sizes"
ALL_SIZES_WORKER = ROOT / "benchmarks" / "peers" / "all_sizes_worker.py"
ALL_SIZES_CASES = [
    ("mushroom", 1200),
    ("mushroom", 600),
    ("chess", 2000),
    ("retail", 44),
    ("T10I4D100K", 100),
    ("kosarak_5_25", 250),
    ("bms_webview_1", 40),
    ("bms_webview_2", 40),
    ("groceries", 10),
    ("invoices", 200),
]
ALL_SIZES_WAYS = ("dpmine", "dpmine frame", "dpmine mining")
CLOSED = ("closed", "maximal")
LIST_PEERS = {
    "all": ("eclat", "fpgrowth", "sam", "relim", "rusket"),
    "closed": ("eclat", "eclat o", "fpgrowth", "sam", "relim"),  # rusket's LCM takes more than a minute on retail
    "maximal": ("eclat", "eclat o", "fpgrowth", "sam", "relim"),
}
ONE_HOT_ROWS = (10, 2000)
ONE_HOT_COLUMNS = (1000, 4000, 20_000, 100_000)

Case = tuple[int, int]
"""Size and threshold."""


@dataclass(frozen=True)
class DataSet:
    name: str
    file: str
    unit: str = "transaction_id"
    basket: str | None = None
    item: str = "item"
    sizes: tuple[int, ...] = (2, 3, 4)


SETS = [DataSet(name, name) for name in ("retail", "kosarak_5_25", "T10I4D100K", "bms_webview_1", "bms_webview_2")]
SETS += [DataSet(name, name) for name in ("groceries", "mushroom", "chess")]
SETS += [
    DataSet("invoices", "online_retail", "InvoiceNo", None, "StockCode"),
    DataSet("customers", "online_retail", "CustomerID", "InvoiceNo", "StockCode", (2, 3)),
]


@dataclass
class Run:
    """What one miner did on one data set: seconds, itemsets and MiB by case; None where it was cut off."""

    read: float = 0.0
    convert: float = 0.0
    peak: float = 0.0
    seconds: dict[Case, float | None] = field(default_factory=dict)
    found: dict[Case, int] = field(default_factory=dict)


def answers(command: list[str], limit: float) -> Iterator[dict[str, float]]:
    """The lines of a worker, until one of them takes longer than the limit."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ThreadPoolExecutor(1) as reader:
        try:
            while line := reader.submit(process.stdout.readline).result(timeout=limit):
                yield json.loads(line)
        except TimeoutError:
            pass
        finally:
            process.kill()


def measure(miner: str, data: DataSet, folder: Path, cases: list[Case], limit: float) -> Run:
    """Runs the worker again behind a case that was cut off."""
    run, left = Run(), list(cases)
    python = sys.executable if miner in OURS else str(PEERS)
    while left:
        job = {
            "miner": miner,
            "path": str(folder / f"{data.file}.parquet"),
            "unit": [data.unit],
            "basket": [data.basket] if data.basket else [],
            "item": data.item,
            "clean": data.file != "online_retail",
            "cases": left,
            "repeats": 5,
        }
        lines = answers([python, str(WORKER), json.dumps(job)], limit)
        loading = next(lines, None)
        if loading is None:
            return run
        run.read, run.convert = loading["read"], loading["convert"]
        for answer in lines:
            case, *left = left
            run.seconds[case], run.found[case] = answer["seconds"], int(answer["found"])
            run.peak = max(run.peak, answer["peak"])
        if left:
            run.seconds[left[0]] = None
            left = left[1:]
    return run


def thresholds(data: DataSet, folder: Path, sizes: tuple[int, ...], limit: float) -> list[Case]:
    asked = [(size, count) for size in sizes for count in COUNTS]
    found = measure("thresholds", data, folder, asked, limit).found
    return list(dict.fromkeys((size, max(1, found[size, count])) for size, count in asked if (size, count) in found))


def run_set(data: DataSet, folder: Path, sizes: tuple[int, ...], limit: float) -> dict[str, Run]:
    cases = thresholds(data, folder, sizes, limit)
    runs = {miner: measure(miner, data, folder, cases, limit) for miner in OURS[:4]}
    if data.basket is None and PEERS.exists():
        own = () if data.file == "online_retail" else ("rusket own",)  # it drops neither nulls nor repetitions
        for miner in FAST + own:
            runs[miner] = measure(miner, data, folder, cases, limit)
        for miner in SLOW:
            runs[miner] = measure(miner, data, folder, [case for case in cases if case[0] == 3], limit)
    return runs


def from_file(run: Run, case: Case) -> float | None:
    seconds = run.seconds.get(case)
    return None if seconds is None else seconds + run.read + run.convert


def fastest(runs: dict[str, Run], case: Case, *, files: bool) -> tuple[str, float] | None:
    """The best of the fast peers; from files, rusket with its own conversion wherever that gives the same baskets."""
    left_out = "rusket" if files and "rusket own" in runs else "" if files else "rusket own"
    names = [name for name in (*FAST, "rusket own") if name in runs and name != left_out]
    times = [(from_file(runs[name], case) if files else runs[name].seconds.get(case), name) for name in names]
    known = [(seconds, name) for seconds, name in times if seconds is not None]
    return min(known)[::-1] if known else None


def cell(runs: dict[str, Run], miner: str, case: Case) -> str:
    if miner not in runs or case not in runs[miner].seconds:
        return "-"
    seconds = runs[miner].seconds[case]
    return "cut off" if seconds is None else f"{1000 * seconds:.1f}"


def table(data: DataSet, runs: dict[str, Run], ratios: dict[str, list[float]]) -> None:
    miners = [
        name for name in ("dpmine", *FAST, *SLOW, "dpmine file", "dpmine frame", "rusket own", "floor") if name in runs
    ]
    print(f"\n{data.name}: milliseconds")
    print(
        f"{'r':>2}{'support':>9}{'itemsets':>10}"
        + "".join(f"{name[:11]:>12}" for name in miners)
        + "    best/ours  file"
    )
    for case in runs["dpmine"].seconds:
        found = runs["dpmine"].found.get(case, 0)
        row = "".join(f"{cell(runs, name, case)[:11]:>12}" for name in miners)
        print(f"{case[0]:>2}{case[1]:>9}{found:>10}{row}    {compared(runs, case, ratios)}")
    for what in ("read", "convert", "peak"):
        scale, unit = (1, "MiB") if what == "peak" else (1000, "ms")
        row = "".join(f"{scale * getattr(runs[name], what):>12.0f}" for name in miners)
        print(f"{what + ', ' + unit:>21}{row}", flush=True)


def compared(runs: dict[str, Run], case: Case, ratios: dict[str, list[float]]) -> str:
    """How many times faster than the best fast peer, from memory and from a file; noted in `ratios` too."""
    words = []
    for kind, ours, files in (("memory", "dpmine", False), ("file", "dpmine file", True)):
        seconds, peer = runs[ours].seconds.get(case), fastest(runs, case, files=files)
        if seconds and peer:
            ratios.setdefault(kind, []).append(peer[1] / seconds)
            words.append(f"{peer[1] / seconds:6.1f} {peer[0]}")
    for slow in SLOW:
        theirs, ours_there = runs[slow].seconds.get(case) if slow in runs else None, runs["dpmine"].seconds.get(case)
        if theirs and ours_there:
            ratios.setdefault(slow, []).append(theirs / ours_there)
    allowed = 4 * (runs["floor"].seconds.get(case) or 0) + 0.05
    if case == first_of(runs, case[0]) and (runs["dpmine file"].seconds.get(case) or 0) > allowed:
        words.append(f"above 4 floors + 50 ms = {1000 * allowed:.0f} ms")
    check(runs, case)
    return "  ".join(words)


def first_of(runs: dict[str, Run], size: int) -> Case:
    """The case of this size with about 10^3 itemsets."""
    return next(case for case in runs["dpmine"].seconds if case[0] == size)


def check(runs: dict[str, Run], case: Case) -> None:
    """pyfim counts the same itemsets; those of items in all transactions it drops, but no data set here has any."""
    counts = {name: runs[name].found[case] for name in FAST[:3] if name in runs and case in runs[name].found}
    for name, count in counts.items():
        if count != runs["dpmine"].found.get(case):
            print(f"   {name} found {count} itemsets")


def summary(ratios: dict[str, list[float]]) -> None:
    print("\ntimes faster than the best of pyfim and rusket (memory, file), than each slow peer where it finished:")
    for kind, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{kind:<20} geometric mean {mean:7.2f}   least {min(values):7.2f}   of {len(values)} cases")


def one_hot_tables(columns: tuple[int, ...], limit: float) -> None:
    """Times, the ratio to mlxtend, and growth: milliseconds per column beside those of the table with fewest."""
    print("\none-hot tables: milliseconds (times mlxtend's; per column, times that of the narrowest table)")
    for rows in ONE_HOT_ROWS:
        narrowest: dict[tuple[int, str], float] = {}
        for wide in columns:
            job = {"rows": rows, "columns": wide, "sizes": [1, 2], "repeats": 9}
            command = [sys.executable, str(ONE_HOT_WORKER), json.dumps(job)]
            for size, seconds in enumerate(answers(command, 10 * limit), start=1):
                cells = []
                for way, taken in seconds.items():
                    ratio = f"{taken / seconds['mlxtend']:.2f}" if "mlxtend" in seconds else "-"
                    growth = taken / wide / narrowest.setdefault((size, way), taken / wide)
                    cells.append(f"{way} {1000 * taken:.1f} ({ratio}; {growth:.1f})")
                print(f"{rows:>5} x {wide:<7} size {size}: {', '.join(cells)}", flush=True)


def all_sizes(folder: Path, rounds: int, target: str) -> None:
    """The ratios of best times; the peers' slow algorithms run once."""
    print(f"\n{target}: milliseconds from Parquet to Arrow and to a frame, of the best peer's loading, of its mining")
    known, ratios = {data.name: data for data in SETS}, {"mining": [], "loading and mining": [], "both mining": []}
    peers = LIST_PEERS[target]
    miners = (*ALL_SIZES_WAYS, *peers)
    for name, threshold in ALL_SIZES_CASES:
        data = known[name]
        job = {"path": str(folder / f"{data.file}.parquet"), "unit": [data.unit], "basket": [], "item": data.item}
        job |= {"clean": data.file != "online_retail", "threshold": threshold, "target": target}
        workers = {miner: started({**job, "miner": miner}) for miner in miners}
        loading = {miner: reply(workers[miner])["seconds"] for miner in miners}
        best, found = dict.fromkeys(miners, math.inf), {}
        for _ in range(rounds):
            fast = 2 * min(best[miner] for miner in peers)
            for miner in miners:
                if best[miner] == math.inf or miner not in peers or best[miner] <= fast:
                    answer = reply(workers[miner], ask=True)
                    best[miner], found[miner] = min(best[miner], answer["seconds"]), answer["found"]
        for worker in workers.values():
            worker.kill()
        peer, ours = min(peers, key=best.__getitem__), best["dpmine"]
        whole = min(best[miner] + loading[miner] for miner in peers)
        for kind, theirs in (("mining", best[peer]), ("loading and mining", whole)):
            ratios[kind].append(theirs / ours)
        ratios["both mining"].append(best[peer] / best["dpmine mining"])
        times = [1000 * each for each in (ours, best["dpmine frame"], loading[peer], best[peer])]
        print(
            f"{name:>14} {threshold:>5}{found['dpmine']:>8} itemsets: {', '.join(f'{each:.0f}' for each in times)} "
            f"{peer}: {best[peer] / ours:.2f} times, frame {best[peer] / best['dpmine frame']:.2f}, "
            f"mining beside mining {ratios['both mining'][-1]:.2f}",
            flush=True,
        )
        if abs(found["dpmine"] - found[peer]) > 1:  # pyfim drops the empty set alone, and items of all baskets
            print(f"   {peer} found {found[peer]} itemsets")
    summary(ratios)


def started(job: dict[str, object]) -> subprocess.Popen[str]:
    python = sys.executable if str(job["miner"]).startswith("dpmine") else str(PEERS)
    command = [python, str(ALL_SIZES_WORKER), json.dumps(job)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def reply(worker: subprocess.Popen[str], *, ask: bool = False) -> dict[str, float]:
    if ask:
        worker.stdin.write("\n")
        worker.stdin.flush()
    return json.loads(worker.stdout.readline())


def frequent_patterns(limit: float) -> None:
    """How many times as fast as mlxtend's functions of the same names."""
    print("\nmlxtend's calls: milliseconds of mlxtend and of dpmine")
    for answer in answers([sys.executable, str(PATTERNS_WORKER)], 10 * limit):
        slow, fast = 1000 * answer["mlxtend"], 1000 * answer["dpmine"]
        named = f"{answer['frame']:>12} {answer['call']:<9}{answer['itemsets']:>6} itemsets"
        print(f"{named}: {slow:.1f}, {fast:.1f} ({slow / fast:.0f} times)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--quick", action="store_true", help="triples of three data sets, 10 seconds a case")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--limit", type=float, default=30, help="seconds for one case with its repetitions")
    parser.add_argument("--processor-time", action="store_true", help="measure processor time instead of elapsed time")
    arguments = parser.parse_args()
    os.environ["BENCH_CLOCK"] = "process_time" if arguments.processor_time else "perf_counter"  # the workers inherit it
    wanted = arguments.only or (["groceries", "chess", "bms_webview_1"] if arguments.quick else None)
    ratios: dict[str, list[float]] = {}
    for data in SETS:
        if wanted is not None and data.name not in wanted:
            continue
        if not (arguments.data / f"{data.file}.parquet").exists():
            print(f"{data.name}: no {data.file}.parquet in the data folder")
            continue
        sizes = (3,) if arguments.quick else data.sizes
        limit = min(arguments.limit, 10) if arguments.quick else arguments.limit
        table(data, run_set(data, arguments.data, sizes, limit), ratios)
    if ratios:
        summary(ratios)
    for target, name in zip(LIST_PEERS, (ALL_SIZES, *CLOSED), strict=True):
        if PEERS.exists() and (wanted is None or name in wanted):
            all_sizes(arguments.data, 7, target)
    if wanted is None or ONE_HOT in wanted:
        one_hot_tables(ONE_HOT_COLUMNS, arguments.limit)
    if wanted is None or PATTERNS in wanted:
        frequent_patterns(arguments.limit)
    elif arguments.quick:
        one_hot_tables(ONE_HOT_COLUMNS[:2], arguments.limit)


if __name__ == "__main__":
    main()
