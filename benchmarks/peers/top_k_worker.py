"""OpenDP's make_noisy_top_k in a process of its own, on supports that are all enumerated or on items that OpenDP found.

Called as: python top_k_worker.py SUPPORTS; reads one line of JSON, a list of jobs
{"form": "pure" | "zcdp" | "found", "k", "epsilon", "delta", "monotonic", "runs"}; prints one line of JSON for each job:
the scale of the choice, the supports chosen in every run, and median seconds. A job ends early after 6 seconds, but not
before three runs.

SUPPORTS is the .npy of all supports, or for "found" an .npz: `counts` of items, to which each unit adds at most 1 for
each of `items_per_unit` items; `items` and `supports` of all pairs that occur.

Supports move by at most 1 each: an L∞ distance of 1. Under replace_one some go up and some down, so the metric is not
monotonic and OpenDP doubles the distance; under add_remove all move together, and it does not.
"""

import json
import statistics
import sys
import time
from math import sqrt

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib", "idealized-numerics")
LONG = 6.0  # seconds for the runs of one job
LEAST_RUNS = 3
KEYS_SHARE = 0.3  # of ρ, for finding items: dpmine spends as much on average
DRAWN = 5_000  # pairs up to which OpenDP draws by itself: its choice takes a minute on 300,000
COUNTS = dp.map_domain(dp.atom_domain(T="i32"), dp.atom_domain(T="f64", nan=False))
DISTANCE = dp.l02inf_distance(dp.absolute_distance(T="f64"))
LARGEST = 1e7  # beyond every threshold


def space(job: dict) -> tuple:
    return dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32", monotonic=job["monotonic"])


def make(job: dict, scale: float) -> dp.Measurement:
    if job["form"] == "pure":
        return dp.m.make_noisy_top_k(*space(job), dp.max_divergence(), k=job["k"], scale=scale)
    return approximate(concentrated(job, scale), job["delta"])


def concentrated(job: dict, scale: float) -> dp.Measurement:
    return dp.m.make_noisy_top_k(*space(job), dp.zero_concentrated_divergence(), k=job["k"], scale=scale)


def approximate(measurement: dp.Measurement, delta: float) -> dp.Measurement:
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(measurement), delta=delta)


def rho_at(epsilon: float, delta: float) -> float:
    """The ρ that OpenDP itself takes for (ε, δ): that of the Gaussian noise it finds."""
    number = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")
    scale = dp.binary_search_param(
        lambda scale: approximate(dp.m.make_gaussian(*number, scale=scale), delta), d_in=1, d_out=(epsilon, delta)
    )
    return dp.m.make_gaussian(*number, scale=scale).map(1)


def key_selection(job: dict, rho: float, delta: float) -> dp.Measurement:
    """Stable keys: counts with Gaussian noise above the least threshold that OpenDP charges δ for."""
    moved = job["items_per_unit"] * (1 if job["monotonic"] else 2)
    distance = moved, sqrt(moved), 1.0
    scale = sqrt(moved / (2 * rho)) * (1 + 1e-9)
    low, high = 1.0, LARGEST
    while high - low > 0.01:
        middle = (low + high) / 2
        tried = dp.m.make_gaussian_threshold(COUNTS, DISTANCE, scale=scale, threshold=middle)
        low, high = (low, middle) if tried.map(distance)[1] <= delta else (middle, high)
    return dp.m.make_gaussian_threshold(COUNTS, DISTANCE, scale=scale, threshold=high)


def by_found_items(job: dict, data: dict) -> tuple:
    """Half of δ for the keys, half for the conversion of ρ; three tenths of ρ for the keys."""
    rho = rho_at(job["epsilon"], job["delta"] / 2)
    keys = key_selection(job, KEYS_SHARE * rho, job["delta"] / 2)
    left = (1 - KEYS_SHARE) * rho
    scale = dp.binary_search_param(lambda scale: concentrated(job, scale), d_in=1, d_out=left, T=float)
    counts = {int(item): float(data["counts"][item]) for item in np.flatnonzero(data["counts"])}
    choose_best = concentrated(job, scale)

    def choose() -> list[int]:
        scores = among(data, np.array(sorted(keys(counts)), np.int64))
        if len(scores) <= job["k"]:
            return scores.tolist()
        if len(scores) <= DRAWN:
            return scores[choose_best(scores)].tolist()
        noisy = scores + np.random.default_rng().gumbel(size=len(scores), scale=scale)  # the same law, in floats
        return scores[np.argpartition(-noisy, job["k"])[: job["k"]]].tolist()

    return scale, choose


def among(data: dict, found: np.ndarray) -> np.ndarray:
    """int32: the supports of all pairs of these items, those of 0 too."""
    code, count = np.full(len(data["counts"]), -1), len(found)
    code[found] = np.arange(count)
    pairs = code[data["items"]]
    kept = (pairs >= 0).all(axis=1)
    pairs = np.sort(pairs[kept], axis=1)
    scores = np.zeros(count * (count - 1) // 2, np.int32)
    i, j = pairs[:, 0], pairs[:, 1]
    scores[i * count - i * (i + 1) // 2 + j - i - 1] = data["supports"][kept]
    return scores


def enumerated(job: dict, supports: np.ndarray) -> tuple:
    budget = job["epsilon"] if job["form"] == "pure" else (job["epsilon"], job["delta"])
    scale = dp.binary_search_param(lambda scale: make(job, scale), d_in=1, d_out=budget, T=float)
    choice = make(job, scale)

    def choose() -> list[int]:
        return supports[choice(supports)].tolist()

    return scale, choose


def run(job: dict, data: dict) -> dict:
    scale, choose = by_found_items(job, data) if job["form"] == "found" else enumerated(job, data)
    chosen, times = [], []
    for _ in range(job["runs"]):
        start = time.perf_counter()
        chosen.append(choose())
        times.append(time.perf_counter() - start)
        if sum(times) > LONG and len(times) >= LEAST_RUNS and job["form"] != "found":
            break
    return {"scale": scale, "chosen": chosen, "seconds": statistics.median(times)}


def main() -> None:
    loaded = np.load(sys.argv[1])
    data = {name: loaded[name] for name in loaded.files} if sys.argv[1].endswith(".npz") else loaded
    for job in json.loads(sys.stdin.readline()):
        print(json.dumps(run(job, data)), flush=True)


if __name__ == "__main__":
    main()
