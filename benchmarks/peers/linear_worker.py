"""Private logistic regressions of diffprivlib on given arrays: AUC on the test rows and seconds a fit.

Called as: python linear_worker.py ARRAYS.npz; reads a JSON list of {"epsilon", "C", "runs"} from stdin, prints one line
of JSON: a list of {"auc": [...], "seconds": [...]}, in the same order. Norms of the rows are at most 1.
"""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression
from sklearn.metrics import roc_auc_score


def main() -> None:
    warnings.simplefilter("ignore")
    arrays = np.load(sys.argv[1])
    print(json.dumps([measure(arrays, **task) for task in json.load(sys.stdin)]))


def measure(arrays: "np.lib.npyio.NpzFile", epsilon: float, C: float, runs: int) -> dict[str, list[float]]:
    train, labels, test, truth = (arrays[name] for name in ("train", "labels", "test", "truth"))
    found: dict[str, list[float]] = {"auc": [], "seconds": []}
    for _ in range(runs):
        model = LogisticRegression(epsilon=epsilon, data_norm=1.0, C=C, max_iter=1000)
        start = time.perf_counter()
        model.fit(train, labels)
        found["seconds"].append(time.perf_counter() - start)
        found["auc"].append(float(roc_auc_score(truth, model.decision_function(test))))
    return found


if __name__ == "__main__":
    main()
