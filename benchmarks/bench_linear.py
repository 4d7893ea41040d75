"""Private logistic regression beside diffprivlib: AUC at equal budget and ridge, and seconds a fit, in one run.

The same training rows (80 %) and test rows for both; rows have norm at most 1. diffprivlib's C and our λ are matched:
its ridge is 1/(Cn) on x, ours λ on [x, 1]/√2, so λ = 1/(2Cn). Then beside its default, C = 1: λ by our public rule, λ
chosen privately of three around it (with a tenth of ε, and with half), and of a list far above it.
The peer lives in .venv-peers (see the Makefile).
Usage: python benchmarks/bench_linear.py [--data ../shared/data] [--runs 20]
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from dpmine import PrivateLogisticRegression
from experiments.linear_data import adult, magic

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
WORKER = ROOT / "benchmarks" / "peers" / "linear_worker.py"
EPSILONS = (0.3, 1.0, 3.0)
LAMBDAS = (0.0001, 0.001, 0.01)
TEN = tuple(np.geomspace(1e-4, 1, 10))
SPLIT_SEED = 2013


def split(features: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    features = features / np.maximum(1, np.linalg.norm(features, axis=1))[:, np.newaxis]
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    train, test = np.split(order, [len(order) * 4 // 5])
    return {"train": features[train], "labels": labels[train], "test": features[test], "truth": labels[test]}


def ours(arrays: dict[str, np.ndarray], runs: int, **parameters: object) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"auc": [], "seconds": []}
    for _ in range(runs):
        # The loss and the noise of diffprivlib's.
        model = PrivateLogisticRegression(noise="gamma", loss="logistic", **parameters)
        start = time.perf_counter()
        model.fit(arrays["train"], arrays["labels"])
        found["seconds"].append(time.perf_counter() - start)
        found["auc"].append(float(roc_auc_score(arrays["truth"], model.decision_function(arrays["test"]))))
    return found


def theirs(arrays: dict[str, np.ndarray], tasks: list[dict[str, float]]) -> list[dict[str, list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **arrays)
        command = [str(PEERS), str(WORKER), str(path)]
        done = subprocess.run(command, input=json.dumps(tasks), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def cell(found: dict[str, list[float]]) -> str:
    error = statistics.stdev(found["auc"]) / len(found["auc"]) ** 0.5
    return f"{statistics.mean(found['auc']):>10.4f} ±{error:.4f}{1000 * statistics.median(found['seconds']):>9.0f} ms"


def row(name: str, epsilon: float, mine: dict[str, list[float]], other: dict[str, list[float]]) -> None:
    ratio = statistics.median(other["seconds"]) / statistics.median(mine["seconds"])
    gain = statistics.mean(mine["auc"]) - statistics.mean(other["auc"])
    print(f"{epsilon:<6}{name:<22}{cell(mine)}{cell(other)}{ratio:>9.1f}{gain:>+10.4f}", flush=True)


def compare(name: str, arrays: dict[str, np.ndarray], runs: int) -> None:
    size = len(arrays["labels"])
    print(
        f"\n{name}: {size:,} training rows, {arrays['train'].shape[1]} features; mean AUC ± standard error, {runs} runs"
    )
    print(f"{'ε':<6}{'λ':<22}{'dpmine':>18}{'a fit':>12}{'diffprivlib':>18}{'a fit':>12}{'faster':>9}{'gain':>10}")
    for epsilon in EPSILONS:
        tasks = [{"epsilon": epsilon, "C": 1 / (2 * value * size), "runs": runs} for value in LAMBDAS]
        results = theirs(arrays, [*tasks, {"epsilon": epsilon, "C": 1.0, "runs": runs}])
        for value, other in zip(LAMBDAS, results[:-1], strict=True):
            row(f"{value:g} fixed", epsilon, ours(arrays, runs, lambdas=value, epsilon=epsilon), other)
        middle = (arrays["train"].shape[1] + 1) / (10 * size * epsilon)
        near = [middle / 2, middle, 2 * middle]
        for label, parameters in {
            "its default, fixed": {"lambdas": 1 / (2 * size)},
            "auto": {"lambdas": "auto"},
            "chosen, near auto": {"lambdas": near},
            "the same, half of ε": {"lambdas": near, "selection_share": 0.5},
            "chosen, far above": {"lambdas": (0.001, 0.01, 0.1)},
        }.items():
            row(label, epsilon, ours(arrays, runs, epsilon=epsilon, **parameters), results[-1])


def ten_candidates(arrays: dict[str, np.ndarray]) -> None:
    start = time.perf_counter()
    PrivateLogisticRegression(lambdas=TEN, loss="logistic").fit(arrays["train"], arrays["labels"])
    print(f"\nAdult, λ chosen privately of 10: {time.perf_counter() - start:.2f} s in all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    data = {"Adult": split(*adult(arguments.data)), "Magic": split(*magic(arguments.data))}
    ten_candidates(data["Adult"])
    if not PEERS.exists():
        print("No .venv-peers: run make bench-selection once, which makes it.")
        return
    for name, arrays in data.items():
        compare(name, arrays, arguments.runs)


if __name__ == "__main__":
    main()
