"""Private logistic regressions of diffprivlib on given arrays: AUC and accuracy on the test rows, and seconds a fit.

Called as: python linear_worker.py ARRAYS.npz ...; reads a JSON list of {"epsilon", "C", "runs"} from stdin, prints one
line of JSON: a list of {"auc": [...], "accuracy": [...], "seconds": [...]}, in the same order, with the runs of all
files one after the other. Norms of the rows are at most 1.
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
    tasks = json.load(sys.stdin)
    found: list[dict[str, list[float]]] = [{"auc": [], "accuracy": [], "seconds": []} for _ in tasks]
    for path in sys.argv[1:]:
        arrays = dict(np.load(path))
        for task, results in zip(tasks, found, strict=True):
            measure(results, arrays, **task)
    print(json.dumps(found))


def measure(found: dict[str, list[float]], arrays: dict[str, np.ndarray], epsilon: float, C: float, runs: int) -> None:
    train, labels, test, truth = (arrays[name] for name in ("train", "labels", "test", "truth"))
    for _ in range(runs):
        model = LogisticRegression(epsilon=epsilon, data_norm=1.0, C=C, max_iter=1000)
        start = time.perf_counter()
        model.fit(train, labels)
        found["seconds"].append(time.perf_counter() - start)
        found["auc"].append(float(roc_auc_score(truth, model.decision_function(test))))
        found["accuracy"].append(float(model.score(test, truth)))


if __name__ == "__main__":
    main()
