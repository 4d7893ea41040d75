"""Times one-hot tables of random booleans: dpmine from pandas and from Parquet beside mlxtend's fpgrowth on the frame.

Called as: python one_hot_worker.py '{"rows": …, "columns": …, "sizes": […], "repeats": …}'. Each column's share of true
values is drawn from Beta(0.3, 20), as few items are frequent; the threshold is 1 % of the rows, at least 2. Prints one
line of JSON per size: for each way the best seconds of runs that alternate with the others', after one that is not
timed. "read" is Arrow's reading of the file alone. mlxtend is left out above 10^7 cells, where it takes minutes.
"""

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import dpmine

MOST_CELLS = 10**7


def table(rows: int, columns: int) -> pd.DataFrame:
    draws = np.random.default_rng(rows + columns)
    flags = draws.random((rows, columns), dtype=np.float32) < draws.beta(0.3, 20, columns).astype(np.float32)
    return pd.DataFrame(flags, columns=[f"item{column}" for column in range(columns)])


def ways(frame: pd.DataFrame, path: Path, size: int) -> dict[str, Callable[[], object]]:
    support = max(2, len(frame) // 100)
    found: dict[str, Callable[[], object]] = {}
    if frame.size <= MOST_CELLS:
        from mlxtend.frequent_patterns import fpgrowth

        found["mlxtend"] = lambda: fpgrowth(frame, support / len(frame), use_colnames=True, max_len=size)
    for name, data in (("pandas", frame), ("parquet", path)):
        found[f"{name} top"] = lambda data=data: dpmine.top_itemset(data, size=size, mechanism="large_margin")
        found[f"{name} supports"] = lambda data=data: dpmine.itemset_supports(
            data, size=f"1-{size}", min_support=support
        )
    found["read"] = lambda: pq.read_table(path)
    return found


now = getattr(time, os.environ.get("BENCH_CLOCK", "perf_counter"))
"""What tells the seconds: see bench_mining.py."""


def timed(run: Callable[[], object]) -> float:
    start = now()
    run()
    return now() - start


def main() -> None:
    warnings.simplefilter("ignore")  # of the layout that is found, and of mlxtend
    job = json.loads(sys.argv[1])
    frame = table(job["rows"], job["columns"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        for size in job["sizes"]:
            runs = ways(frame, path, size)
            first = {name: timed(run) for name, run in runs.items()}
            repeats = job["repeats"] if sum(first.values()) < 2 else 1
            rounds = [{name: timed(run) for name, run in runs.items()} for _ in range(repeats)]
            print(json.dumps({name: min(seconds[name] for seconds in rounds) for name in runs}), flush=True)


if __name__ == "__main__":
    main()
