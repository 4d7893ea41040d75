"""OpenDP beside dpmine, in a process of its own: .venv-peers, which `make bench-utility` installs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from utility.data import ROOT
from utility.methods import DELTA, Measured, Setting

from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from utility.data import Case

PEERS = ROOT / ".venv-peers" / "bin" / "python"
WORKER = ROOT / "benchmarks" / "peers" / "top_k_worker.py"
FORMS = {"pure": "OpenDP, pure", "zcdp": "OpenDP, zCDP"}
FOUND = "OpenDP"
ITEMS_PER_UNIT = 20  # that OpenDP counts of a unit to find items: of 3 to 50 the best over all six data sets


def enumerated(section: str, case: Case, settings: list[Setting], runs: int) -> list[Measured]:
    """Both forms of OpenDP's choice among all pairs at these settings."""
    jobs = [_job(form, setting, runs) for form in FORMS for setting in settings]
    return _run(section, case, jobs, {"supports": all_supports(case)})


def by_found_items(section: str, case: Case, settings: list[Setting], runs: int) -> list[Measured]:
    """Items by OpenDP's stable keys, then its choice among the pairs of these."""
    pairs = case.miner.itemsets(case.size, 1)
    counts = case.item_counts(ITEMS_PER_UNIT)
    jobs = [_job("found", setting, runs) | {"items_per_unit": ITEMS_PER_UNIT} for setting in settings]
    return _run(section, case, jobs, {"counts": counts, "items": pairs.items, "supports": pairs.supports})


def _run(section: str, case: Case, jobs: list[dict[str, Any]], arrays: dict[str, np.ndarray]) -> list[Measured]:
    """Nothing where OpenDP is not installed."""
    if not PEERS.exists():
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("supports.npy" if len(arrays) == 1 else "supports.npz")
        if len(arrays) == 1:
            np.save(path, arrays["supports"])
        else:
            np.savez(path, allow_pickle=False, **arrays)
        command = [str(PEERS), str(WORKER), str(path)]
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True)
    answers = map(json.loads, done.stdout.splitlines())
    return [_measured(section, case, job, answer) for job, answer in zip(jobs, answers, strict=True)]


def _job(form: str, setting: Setting, runs: int) -> dict[str, Any]:
    monotonic = setting.neighbors is Neighbors.ADD_REMOVE
    budget = {"epsilon": float(setting.epsilon), "delta": float(DELTA)}
    return {"form": form, "k": setting.k, **budget, "monotonic": monotonic, "runs": runs}


def _measured(section: str, case: Case, job: dict[str, Any], answer: dict[str, Any]) -> Measured:
    threshold, k = case.cut_off(job["k"]), job["k"]
    precision = [sum(support >= threshold for support in chosen) / k for chosen in answer["chosen"]]
    round_epsilon = (1 if job["monotonic"] else 2) / answer["scale"]
    name = FORMS.get(job["form"], FOUND)
    neighbors = Neighbors.ADD_REMOVE if job["monotonic"] else Neighbors.REPLACE_ONE
    setting = (k, job["epsilon"], neighbors.value)
    return Measured(section, case.title, name, *setting, precision, answer["seconds"], round_epsilon)


def all_supports(case: Case) -> np.ndarray:
    """int32[C(N, 2)]: the supports of all pairs, those of 0 too."""
    n = case.baskets.catalogue_size
    found = case.miner.itemsets(2, 1)
    supports = np.zeros(n * (n - 1) // 2, np.int32)
    i, j = found.items[:, 0].astype(np.int64), found.items[:, 1].astype(np.int64)
    supports[i * n - i * (i + 1) // 2 + j - i - 1] = found.supports
    return supports
