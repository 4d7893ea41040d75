"""Times one itemset miner on one data set, in a process of its own.

Called as: python mining_worker.py '{"miner": …, "path": …, "unit": [columns], "basket": [columns], "item": column,
"clean": …, "cases": [[size, threshold], …], "repeats": …}'. Prints one line of JSON for the loading (seconds to read
and to convert into what the miner takes) and one for each case as soon as it is done (best seconds, itemsets found and
the peak in MiB so far).
With the miner "thresholds", cases are [size, count], and the line holds the threshold that so many itemsets reach.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Transactions = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""int32 item codes, basket starts, unit starts, and the labels of the codes."""
Mine = Callable[[int, int], int]
"""From size and threshold to the number of itemsets."""


def codes(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    encoded = pc.dictionary_encode(column).combine_chunks()
    labels = encoded.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(labels)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels))
    return rank[encoded.indices.to_numpy()], labels[order]


def load(job: dict) -> Transactions:
    """The baskets as arrays, without nulls and repetitions."""
    table = pq.read_table(job["path"], columns=[*job["unit"], *job["basket"], job["item"]])
    if job["clean"]:  # sorted by unit, one basket each, no nulls, no repetitions
        items, labels = codes(table[job["item"]])
        unit = table[job["unit"][0]].to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], unit[1:] != unit[:-1], [True]]))
        return items.astype(np.int32), starts, np.arange(len(starts)), labels
    table = table.drop_null()
    items, labels = codes(table[job["item"]])
    unit = codes(table[job["unit"][0]])[0]
    key = unit * len(items)
    if job["basket"]:
        key += codes(table[job["basket"][0]])[0]
    rows = np.unique(np.unique(key, return_inverse=True)[1] * len(labels) + items)
    baskets = rows // len(labels)
    starts = np.flatnonzero(np.diff(baskets, prepend=-1, append=-1)).astype(np.int64)
    owner = np.unique(key)[baskets[starts[:-1]]] // len(items)
    units = np.flatnonzero(np.diff(owner, prepend=-1, append=-1)).astype(np.int64)
    return (rows % len(labels)).astype(np.int32), starts, units, labels


def lists(data: Transactions) -> list[list]:
    items, starts, _, _ = data
    flat = items.tolist()
    return [flat[begin:end] for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]


def csr(data: Transactions):  # noqa: ANN201 (scipy is imported only where it is used)
    from scipy.sparse import csr_matrix

    items, starts, _, labels = data
    return csr_matrix((np.ones(len(items), np.int8), items, starts), shape=(len(starts) - 1, len(labels)))


def of_size(frame, size: int) -> int:  # noqa: ANN001 (pandas or polars)
    return int((frame["itemsets"].map(len) == size).sum())


def pyfim(algorithm: str, data: Transactions) -> Mine:
    import fim

    baskets, mine = lists(data), getattr(fim, algorithm)
    return lambda size, threshold: len(mine(baskets, target="s", supp=-threshold, zmin=size, zmax=size))


def rusket(data: Transactions) -> Mine:
    from rusket import fpgrowth

    matrix, names = csr(data), [str(label) for label in data[3].tolist()]
    share = 1 / matrix.shape[0]

    def mine(size: int, threshold: int) -> int:
        return len(fpgrowth(matrix, (threshold - 0.5) * share, max_len=size, column_names=names))

    return mine


def rusket_own(job: dict) -> Mine:
    """With its own conversion, from the file."""
    from rusket import fpgrowth, from_transactions_csr

    def mine(size: int, threshold: int) -> int:
        matrix, names = from_transactions_csr(job["path"], job["unit"][0], job["item"])
        return len(fpgrowth(matrix, (threshold - 0.5) / matrix.shape[0], max_len=size, column_names=names))

    return mine


def mlxtend(data: Transactions) -> Mine:
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth

    frame = pd.DataFrame.sparse.from_spmatrix(csr(data).astype(bool))
    return lambda size, threshold: len(fpgrowth(frame, (threshold - 0.5) / len(frame), max_len=size))


def efficient_apriori(data: Transactions) -> Mine:
    from efficient_apriori import itemsets_from_transactions

    baskets = [tuple(basket) for basket in lists(data)]

    def mine(size: int, threshold: int) -> int:
        found, _ = itemsets_from_transactions(baskets, (threshold - 0.5) / len(baskets), max_length=size)
        return len(found.get(size, {}))

    return mine


def baskets(data: Transactions):  # noqa: ANN201 (dpmine is missing from the peers' environment)
    from dpmine.itemsets.transactions.interface import Baskets

    items, starts, units, labels = data
    items = items[np.lexsort((items, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))]
    return Baskets(pa.array(labels.tolist()), items, starts, units, "unit")


def dpmine(data: Transactions) -> Mine:
    from dpmine.itemsets.counting.miner import Miner

    ready = baskets(data)
    return lambda size, threshold: len(Miner(ready).itemsets(size, threshold))


def thresholds(data: Transactions) -> Mine:
    from dpmine.itemsets.counting.miner import Miner

    miner = Miner(baskets(data))

    def reached(size: int, count: int) -> int:
        floor = int(miner.item_supports.max(initial=1))
        levels = miner.histogram(size, floor)
        while levels.total() < count and floor > 1:
            floor = max(1, floor // 2)
            levels = miner.histogram(size, floor)
        supports = (support for support, number in sorted(levels.items(), reverse=True) for _ in range(number))
        return next(islice(supports, count - 1, None), 0)

    return reached


def dpmine_file(job: dict) -> Mine:
    """The itemsets as Arrow batches, as the command line writes them."""
    from dpmine.itemsets.exact_supports import list_supports

    named = {"unit": job["unit"], "basket": job["basket"] or None, "item": job["item"]}

    def mine(size: int, threshold: int) -> int:
        listed = list_supports(job["path"], **named, size=size, min_support=threshold)
        return sum(map(len, listed.batches(as_objects=False)))

    return mine


def dpmine_frame(job: dict) -> Mine:
    """The itemsets as a pandas frame of frozensets."""
    import dpmine

    columns = {"unit": job["unit"], "basket": job["basket"] or None, "item": job["item"]}
    return lambda size, threshold: len(
        dpmine.itemset_supports(job["path"], size=size, min_support=threshold, **columns)
    )


def floor(job: dict) -> Mine:
    """Nothing but Arrow's reading of the columns."""
    names = [*job["unit"], *job["basket"], job["item"]]
    return lambda _size, _threshold: pq.read_table(job["path"], columns=names).num_rows


FROM_ARRAYS = {
    "eclat": lambda data: pyfim("eclat", data),
    "fpgrowth": lambda data: pyfim("fpgrowth", data),
    "apriori": lambda data: pyfim("apriori", data),
    "rusket": rusket,
    "mlxtend": mlxtend,
    "efficient-apriori": efficient_apriori,
    "dpmine": dpmine,
    "thresholds": thresholds,
}
FROM_FILES = {"rusket own": rusket_own, "dpmine file": dpmine_file, "dpmine frame": dpmine_frame, "floor": floor}


def say(**facts: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**facts, "peak": peak}), flush=True)


now = getattr(time, os.environ.get("BENCH_CLOCK", "perf_counter"))
"""What tells the seconds: see bench_mining.py."""


def timed(run: Callable[[], object]) -> tuple[float, object]:
    start = now()
    result = run()
    return now() - start, result


def best(mine: Mine, size: int, threshold: int, repeats: int) -> tuple[float, int]:
    """The best of some runs; of two, when one takes seconds (the first run may have loaded something)."""
    seconds, found = timed(lambda: mine(size, threshold))
    for _ in range(repeats if seconds < 2 else 1):
        seconds = min(seconds, timed(lambda: mine(size, threshold))[0])
    return seconds, found


def main() -> None:
    job = json.loads(sys.argv[1])
    read, convert = 0.0, 0.0
    if job["miner"] in FROM_FILES:
        mine = FROM_FILES[job["miner"]](job)
    else:
        FROM_ARRAYS[job["miner"]](load(job))  # imports and warms up
        read, data = timed(lambda: load(job))
        convert, mine = timed(lambda: FROM_ARRAYS[job["miner"]](data))
    say(read=read, convert=convert)
    for size, threshold in job["cases"]:
        seconds, found = best(mine, size, threshold, job["repeats"])
        say(seconds=seconds, found=found)


if __name__ == "__main__":
    main()
