"""Times one miner on the itemsets of all sizes of one data set, a run for every line of stdin: so runs alternate.

Called as: python all_sizes_worker.py '{"miner": …, "path": …, "unit": [column], "basket": [], "item": column,
"clean": …, "threshold": …}'. Prints one line of JSON for the loading, and one for each run: seconds and itemsets.
"""

import gc
import json
import sys
from collections.abc import Callable

from mining_worker import lists, load, timed


def pyfim(job: dict, baskets: list[list]) -> Callable[[], int]:
    import fim

    mine = getattr(fim, job["miner"])
    return lambda: len(mine(baskets, target="s", supp=-job["threshold"], zmin=1))


def dpmine(job: dict) -> Callable[[], int]:
    """From the file to Arrow batches, or to a frame of frozensets."""
    from dpmine.itemsets.exact_supports import list_supports

    asked = {"unit": job["unit"], "item": job["item"], "size": "all", "min_support": job["threshold"]}
    if job["miner"] == "dpmine frame":
        return lambda: len(list_supports(job["path"], **asked, as_objects=True).frame())
    return lambda: sum(map(len, list_supports(job["path"], **asked).batches(as_objects=False)))


def main() -> None:
    job = json.loads(sys.argv[1])
    if job["miner"].startswith("dpmine"):
        loading, mine = 0.0, dpmine(job)
    else:
        load(job)  # warms up
        loading, baskets = timed(lambda: lists(load(job)))
        mine = pyfim(job, baskets)
    print(json.dumps({"seconds": loading}), flush=True)
    for _ in sys.stdin:
        gc.collect()
        gc.disable()  # else it looks through the results of pyfim again and again while these grow
        seconds, found = timed(mine)
        gc.enable()
        print(json.dumps({"seconds": seconds, "found": found}), flush=True)


if __name__ == "__main__":
    main()
