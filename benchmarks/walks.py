"""How far a job walks through the code: `python benchmarks/walks.py` prints files, functions and moves of three jobs.

A move is a call from one file of the project into another one; calls made while modules are imported are left out, and
so are comprehensions, which newer versions of Python do not call. `--pairs` lists the most frequent moves. The numbers
depend a little on the random draws of the jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tuple(f"{ROOT / folder}{os.sep}" for folder in ("dpmine", "cli"))
DATA = ROOT / "datasets" / "online_retail.parquet"
JOB = """
title = "One job"
[budget]
ledger = "sqlite:///budget.db"
dataset = "shop"
epsilon = 2
delta = 1e-5
unit = "InvoiceNo"
[inputs]
invoices = "{data}"
[[job]]
kind = "top-itemset"
name = "Pairs"
input = "invoices"
unit = "InvoiceNo"
item = "Item"
size = 2
top = 1
epsilon = 1
delta = 1e-6
"""


class Walk:
    """A profiler that follows calls between the project's files."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.moves: Counter[tuple[str, str, str]] = Counter()
        self._stack: list[str] = []
        self._importing = 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event not in {"call", "return"}:
            return
        if code.co_filename.startswith("<frozen importlib"):
            if code.co_name == "_find_and_load":
                self._importing += 1 if event == "call" else -1
        elif not self._importing and code.co_filename.startswith(PROJECT) and not code.co_name.startswith("<"):
            self._step(code.co_filename, code.co_qualname, called=event == "call")

    def _step(self, file: str, function: str, *, called: bool) -> None:
        if not called:
            if self._stack:
                self._stack.pop()
            return
        self.functions.add((file, function))
        if self._stack and self._stack[-1] != file:
            self.moves[_short(self._stack[-1]), _short(file), function] += 1
        self._stack.append(file)

    def row(self, job: str) -> str:
        """One line of the table."""
        files = len({file for file, _ in self.functions})
        return f"{job:14}{files:8}{len(self.functions):12}{self.moves.total():8}"


def _short(file: str) -> str:
    return str(Path(file).relative_to(ROOT))


def walk(job: Callable[[], object]) -> Walk:
    """The job, followed."""
    steps = Walk()
    # Results are written to the descriptor behind stdout, so there has to be one.
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        sys.setprofile(steps)
        try:
            with contextlib.suppress(SystemExit):
                job()
        finally:
            sys.setprofile(None)
    return steps


def command(*arguments: str) -> Callable[[], object]:
    """The command line with these arguments."""

    def job() -> None:
        from dpmine_cli.main import main

        sys.argv = ["dpmine", *arguments]
        main()

    return job


def fit() -> None:
    """A classifier on 500 rows of three features."""
    from dpmine import PrivateLogisticRegression

    features = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    PrivateLogisticRegression().fit(features, (features[:, 0] > 0).astype(int))


JOBS = {
    "top-itemset": command("top-itemset", str(DATA), "--unit", "InvoiceNo", "--item", "Item"),
    "report": command("report", "job.toml", "-o", "report.html"),
    "fit": fit,
}


def followed(name: str) -> Walk:
    """The job, followed in a folder of its own."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("job.toml").write_text(JOB.format(data=DATA), encoding="utf-8")
        return walk(JOBS[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="list the N most frequent moves of each job")
    pairs = parser.parse_args().pairs
    print(f"{'job':14}{'files':>8}{'functions':>12}{'moves':>8}")
    # A process for each: what one job keeps in memory is not there for the next.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, found in zip(JOBS, pool.map(followed, JOBS), strict=True):
            print(found.row(name))
            for (caller, called, function), count in found.moves.most_common(pairs):
                print(f"    {count:6}  {caller} -> {called}: {function}")


if __name__ == "__main__":
    main()
