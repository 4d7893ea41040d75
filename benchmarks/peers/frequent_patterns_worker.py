"""Times dpmine.frequent_patterns beside mlxtend's own, on frames of the sizes of mlxtend's speed tests.

Called as: python frequent_patterns_worker.py. Five frames: 100 × 20 and 1,500 × 40 independent columns, at 10 and 3 %;
baskets of five groups of items, 2,400 × 90 and 10,000 × 240, up to four items at 4.5 and 3 % of the rows; and
10,000 × 400 columns of which few are frequent, at 1 %. fpmax has no largest size: mlxtend's lists others with one.
Prints a line of JSON for each frame and call: the seconds of either and how many itemsets there are. Rounds alternate.
In each a call is repeated for a fifth of a second, at least once, and the best time counts, as timeit has it. Ends with
an error where the two differ.
"""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from mlxtend import frequent_patterns as theirs

from dpmine import frequent_patterns as ours

ROUNDS = 3
REPEATED = 0.2  # seconds of a call in each round
SEED = 20_261
CALLS = ("fpgrowth", "apriori", "hmine", "fpmax")


def grouped(rows: int, groups: int, width: int = 6) -> pd.DataFrame:
    """Each row has five of the groups, and of each at least two of its items."""
    draws = np.random.default_rng(SEED)
    taken = draws.permuted(np.tile(np.arange(groups) < 5, (rows, 1)), axis=1)
    ranks = draws.random((rows, groups, width)).argsort(axis=2)
    sizes = draws.integers(2, width + 1, size=(rows, groups, 1))
    held = (ranks < sizes) & taken[:, :, None]
    return pd.DataFrame(held.reshape(rows, -1), columns=[f"item {column}" for column in range(groups * width)])


def rare(rows: int = 10_000, columns: int = 400) -> pd.DataFrame:
    """Nine of ten columns are true in less than 1 % of the rows, 4 % of them in more than 10 %."""
    draws = np.random.default_rng(SEED)
    ranges = [(0.0001, 0.009)] * 90 + [(0.01, 0.1)] * 6 + [(0.1, 0.65)] * 4
    shares = [draws.uniform(*ranges[100 * column // columns]) for column in range(columns)]
    return pd.DataFrame(draws.random((rows, columns)) < shares, columns=[f"item {column}" for column in range(columns)])


def independent(rows: int, columns: int, most: float) -> pd.DataFrame:
    draws = np.random.default_rng(SEED)
    held = draws.random((rows, columns)) < draws.uniform(0.05, most, columns)
    return pd.DataFrame(held, columns=[f"item {column}" for column in range(columns)])


def cases() -> Iterator[tuple[str, pd.DataFrame, dict[str, object]]]:
    yield "100 x 20", independent(100, 20, 0.6), {"min_support": 0.1, "max_len": None}
    yield "1500 x 40", independent(1500, 40, 0.5), {"min_support": 0.03, "max_len": None}
    yield "2400 x 90", grouped(2400, 18, 5), {"min_support": 0.045, "max_len": 4}
    yield "10000 x 240", grouped(10_000, 40), {"min_support": 0.03, "max_len": 4}
    yield "10000 x 400", rare(), {"min_support": 0.01, "max_len": None}


now = getattr(time, os.environ.get("BENCH_CLOCK", "perf_counter"))
"""What tells the seconds: see bench_mining.py."""


def timed(call: Callable[[], pd.DataFrame]) -> tuple[float, pd.DataFrame]:
    times: list[float] = []
    while sum(times) < REPEATED:
        start = now()
        found = call()
        times.append(now() - start)
    return min(times), found


def listed(found: pd.DataFrame) -> dict[object, float]:
    return dict(zip(found["itemsets"], found["support"], strict=True))


def main() -> None:
    warnings.simplefilter("ignore")
    for size, frame, parameters in cases():
        for name in CALLS if parameters["max_len"] is None else CALLS[:3]:
            calls = [
                lambda module=module, name=name, frame=frame, parameters=parameters: getattr(module, name)(
                    frame, use_colnames=True, **parameters
                )
                for module in (theirs, ours)
            ]
            rounds = [[timed(call) for call in calls] for _ in range(ROUNDS)]
            if listed(rounds[0][0][1]) != listed(rounds[0][1][1]):
                raise SystemExit(f"{name} of {size}: the itemsets differ")
            slow, fast = (min(found[way][0] for found in rounds) for way in (0, 1))
            itemsets = len(rounds[0][0][1])
            print(json.dumps({"frame": size, "call": name, "itemsets": itemsets, "mlxtend": slow, "dpmine": fast}))


if __name__ == "__main__":
    main()
