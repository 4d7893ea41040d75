"""OpenDP's make_noisy_top_k on supports that are all enumerated, in a process of its own.

Called as: python top_k_worker.py SUPPORTS.npy; reads one line of JSON, a list of jobs
{"form": "pure" | "zcdp", "k", "epsilon", "delta", "monotonic", "runs"}; prints one line of JSON for each job: the scale
that OpenDP's own search finds, the places chosen in every run, median seconds, and the peak in MiB. A job ends early
after 6 seconds, but not before three runs.

Supports move by at most 1 each: an L∞ distance of 1. Under replace_one some go up and some down, so the metric is not
monotonic and OpenDP doubles the distance; under add_remove all move together, and it does not.
"""

import json
import resource
import statistics
import sys
import time

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
LONG = 6.0  # seconds for the runs of one job
LEAST_RUNS = 3


def make(job: dict, scale: float) -> dp.Measurement:
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32", monotonic=job["monotonic"])
    if job["form"] == "pure":
        return dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=job["k"], scale=scale)
    choice = dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k=job["k"], scale=scale)
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(choice), delta=job["delta"])


def run(job: dict, supports: np.ndarray) -> dict:
    budget = job["epsilon"] if job["form"] == "pure" else (job["epsilon"], job["delta"])
    scale = dp.binary_search_param(lambda scale: make(job, scale), d_in=1, d_out=budget, T=float)
    choice = make(job, scale)
    chosen, times = [], []
    for _ in range(job["runs"]):
        start = time.perf_counter()
        chosen.append(list(map(int, choice(supports))))
        times.append(time.perf_counter() - start)
        if sum(times) > LONG and len(times) >= LEAST_RUNS:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"scale": scale, "chosen": chosen, "seconds": statistics.median(times), "peak": peak}


def main() -> None:
    supports = np.load(sys.argv[1])
    for job in json.loads(sys.stdin.readline()):
        print(json.dumps(run(job, supports)), flush=True)


if __name__ == "__main__":
    main()
