"""Times one selection of one library on one workload, in a process of its own.

Called as: python selection_worker.py METHOD WORKLOAD K REPEATS; prints one line of JSON: median seconds and peak MiB.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

SCALE = 10.0  # of the noise, in scores of sensitivity 1: ε = 1/5 in the general form


def scores(workload: str, size: int) -> np.ndarray:
    if workload == "needle":
        values = np.zeros(size, dtype=np.int64)
        values[size // 2] = 200
        return values
    if workload == "floats":
        return np.random.default_rng(0).uniform(0, 1000, size)
    return np.arange(size, dtype=np.int64) % 1000


def opendp(kind: str, values: np.ndarray) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    is_float = values.dtype == np.float64
    entry = dp.atom_domain(T="f64", nan=False) if is_float else dp.atom_domain(T="i64")
    space = dp.vector_domain(entry), dp.linf_distance(T="f64" if is_float else "i64")
    measure = dp.max_divergence() if kind == "permute_and_flip" else dp.zero_concentrated_divergence()
    select = dp.m.make_noisy_max(*space, measure, scale=SCALE)
    return lambda: select(values)


def diffprivlib(kind: str, values: np.ndarray) -> Callable[[], object]:
    from diffprivlib.mechanisms import Exponential, PermuteAndFlip

    mechanism = {"exponential": Exponential, "permute_and_flip": PermuteAndFlip}[kind]
    utility = values.astype(float).tolist()
    return lambda: mechanism(epsilon=2 / SCALE, sensitivity=1.0, utility=utility).randomise()


def dpmine(kind: str, values: np.ndarray, *, as_levels: bool) -> Callable[[], object]:
    import dpmine

    name = {"exponential": "exponential", "permute_and_flip": "max_of_exponentials"}[kind]
    epsilon, select = f"{2 / SCALE}", dpmine.select
    if as_levels:
        distinct, counts = np.unique(values, return_counts=True)
        pairs = list(zip(distinct[::-1].tolist(), counts[::-1].tolist(), strict=True))
        levels = dpmine.Levels(pairs)
        return lambda: select(levels, epsilon=epsilon, mechanism=name)
    return lambda: select(values, epsilon=epsilon, mechanism=name)


def main() -> None:
    library, kind = sys.argv[1].split(":")
    values = scores(sys.argv[2], int(sys.argv[3]))
    makers = {
        "opendp": lambda: opendp(kind, values),
        "diffprivlib": lambda: diffprivlib(kind, values),
        "dpmine-levels": lambda: dpmine(kind, values, as_levels=True),
        "dpmine-array": lambda: dpmine(kind, values, as_levels=False),
    }
    run = makers[library]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run()
    run()
    times = []
    for _ in range(int(sys.argv[4])):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": statistics.median(times), "peak": peak / 1024, "added": (peak - before) / 1024}))


if __name__ == "__main__":
    main()
