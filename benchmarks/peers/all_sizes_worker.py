"""Times one miner on the itemsets of all sizes of one data set, a run for every line of stdin: so runs alternate.

Called as: python all_sizes_worker.py '{"miner": …, "path": …, "unit": [column], "basket": [], "item": column,
"clean": …, "threshold": …, "target": "all" | "closed" | "maximal"}'. Prints one line of JSON for the loading, and one
for each run: seconds and itemsets.
"""

import gc
import json
import sys
from collections.abc import Callable

from mining_worker import Transactions, baskets, csr, lists, load, timed

TARGETS = {"all": "s", "closed": "c", "maximal": "m"}  # of pyfim


def pyfim(job: dict, data: Transactions) -> Callable[[], int]:
    """Of "eclat o", o is the variant of the algorithm: what LCM does."""
    import fim

    name, *variant = job["miner"].split()
    mine, baskets = getattr(fim, name), lists(data)
    asked = {"target": TARGETS[job["target"]], "supp": -job["threshold"], "zmin": 1}
    return lambda: len(mine(baskets, **asked, **({"algo": variant[0]} if variant else {})))


def rusket(job: dict, data: Transactions) -> Callable[[], int]:
    """The algorithm that it chooses by itself, of all sizes."""
    from rusket import fpgrowth

    matrix, names = csr(data), [str(label) for label in data[3].tolist()]
    share = (job["threshold"] - 0.5) / matrix.shape[0]
    return lambda: len(fpgrowth(matrix, share, column_names=names))


def dpmine(job: dict) -> Callable[[], int]:
    """From the file to Arrow batches, or to a frame of frozensets."""
    from dpmine.itemsets.exact_supports import list_supports

    asked = {"unit": job["unit"], "item": job["item"], "size": "all", "min_support": job["threshold"]}
    if job["target"] != "all":
        asked[job["target"]] = True
    if job["miner"] == "dpmine frame":
        return lambda: len(list_supports(job["path"], **asked, as_objects=True).frame())
    return lambda: sum(map(len, list_supports(job["path"], **asked).batches(as_objects=False)))


def dpmine_mining(job: dict, data: Transactions) -> Callable[[], int]:
    """From baskets in memory, as the peers' mining; the itemsets in order."""
    from dpmine.itemsets.counting.lists import order_of
    from dpmine.itemsets.counting.miner import Miner
    from dpmine.itemsets.transactions.lists import ListRoom

    ready, sizes = baskets(data), (1, 999_999_999)

    def mine() -> int:
        room, miner = ListRoom(1 << 34, sizes[1], "", as_objects=False), Miner(ready)
        if job["target"] == "all":
            return len(order_of(miner.lists(sizes, job["threshold"], room)))
        return len(order_of(miner.closed(sizes, job["threshold"], room, maximal=job["target"] == "maximal")))

    return mine


MINING = {"rusket": rusket, "dpmine mining": dpmine_mining}


def main() -> None:
    job = json.loads(sys.argv[1])
    if job["miner"] in {"dpmine", "dpmine frame"}:
        loading, mine = 0.0, dpmine(job)
    else:
        load(job)  # warms up
        loading, mine = timed(lambda: MINING.get(job["miner"], pyfim)(job, load(job)))
    print(json.dumps({"seconds": loading}), flush=True)
    for _ in sys.stdin:
        gc.collect()
        gc.disable()  # else it looks through the results of pyfim again and again while these grow
        seconds, found = timed(mine)
        gc.enable()
        print(json.dumps({"seconds": seconds, "found": found}), flush=True)


if __name__ == "__main__":
    main()
