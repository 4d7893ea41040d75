"""Job files and data for the tests of reports: few rows, budgets so large that every answer is the true one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from support.schemas import problems

from dpmine.ledger.ledger import Ledger
from dpmine.reporting.batch import Report, run_batch
from dpmine.reporting.jobs.file import JobFile, read_job_file
from dpmine.reporting.jobs.tables import HistogramJob
from dpmine.reporting.store import ResultsFolder

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.reporting.jobs.job import Job

HOSTILE = '<script>alert("x")</script>'
"""An item that must stay text."""


@dataclass
class Folder:
    """A working folder with data, a ledger and job files."""

    path: Path
    terms: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sales(self.path / "sales.parquet")
        people(self.path / "people.parquet")
        self.terms = {
            "ledger": f'"sqlite:///{self.path}/budget.db"',
            "dataset": '"shop"',
            "epsilon": "100000",
            "delta": "0.01",
            "unit": '"customer"',
        }

    def write(self, *jobs: str, head: str = "", **terms: str | None) -> Path:
        """A job file with these jobs, given as TOML, and other terms; None leaves a term out."""
        budget = {**self.terms, **terms}
        lines = [f"{name} = {value}" for name, value in budget.items() if value is not None]
        inputs = [f'{name} = "{self.path}/{name}.parquet"' for name in ("sales", "people")]
        text = "\n".join([head, "[budget]", *lines, "[inputs]", *inputs, *(f"[[job]]\n{job}" for job in jobs)])
        target = self.path / "jobs.toml"
        target.write_text(text, encoding="utf-8")
        return target

    def read(self, *jobs: str, head: str = "", **terms: str | None) -> JobFile:
        return read_job_file(self.write(*jobs, head=head, **terms))

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.terms["ledger"].strip('"'))

    def store(self, job_file: JobFile) -> ResultsFolder:
        return ResultsFolder(self.path / "results")

    def run(self, *jobs: str, retry: bool = False, head: str = "", **terms: str | None) -> Report:
        return self.run_file(self.read(*jobs, head=head, **terms), retry=retry)

    def run_file(self, job_file: JobFile, *, retry: bool = False) -> Report:
        report = run_batch(job_file, self.store(job_file), watch=_unseen, retry=retry)
        assert problems("jobs", tomllib.loads(job_file.source.decode())) == []  # what runs is as the schema says
        return report


def _unseen(number: int, job: Job, share: float) -> None:
    """Nobody follows."""


def sales(path: Path) -> None:
    baskets = [["bread", "butter", HOSTILE]] * 30 + [["butter", "tea"]] * 4
    rows = [(unit, item) for unit, basket in enumerate(baskets) for item in basket]
    customers, items = zip(*rows, strict=True)
    pq.write_table(pa.table({"customer": customers, "item": items}), path)


def people(path: Path) -> None:
    draw = np.random.default_rng(5)
    age, hours = draw.uniform(20, 80, 3000), draw.uniform(0, 60, 3000)
    pq.write_table(
        pa.table({"customer": range(3000), "age": age, "hours": hours, "rich": age >= 50, "name": ["x"] * 3000}), path
    )


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {toml(entry)}' for key, entry in value.items())}}}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def job(**options: Any) -> str:
    return "\n".join(f"{name} = {toml(value)}" for name, value in options.items())


PAIRS: dict[str, Any] = {
    "kind": "top-itemset",
    "name": "Pairs",
    "input": "sales",
    "unit": "customer",
    "item": "item",
    "top": 2,
    "epsilon": 1000,
    "delta": 1e-3,
    "release_support": 1000,
    "rules": True,
    "units": 34,
    "mechanism": "limited-domain",
}
FREQUENT: dict[str, Any] = {
    "kind": "frequent-itemsets",
    "name": "Frequent",
    "input": "sales",
    "unit": "customer",
    "item": "item",
    "min_support": 20,
    "epsilon": 1000,
    "delta": 1e-3,
    "rules": True,
    "units": 34,
}
AGES: dict[str, Any] = {
    "kind": "histogram",
    "name": "Ages",
    "input": "people",
    "unit": "customer",
    "column": "age",
    "lower": 20,
    "upper": 80,
    "bins": [2, 4],
    "epsilon": 1000,
    "delta": 1e-3,
}
WEIGHTS: dict[str, Any] = {
    "kind": "classify",
    "name": "Weights",
    "input": "people",
    "unit": "customer",
    "label": "rich",
    "features": "age, hours",
    "norm_bound": 100,
    "lambdas": "auto",
    "epsilon": 1000,
}
RULE: dict[str, Any] = {
    "kind": "hypothesis",
    "name": "Rule",
    "input": "people",
    "unit": "customer",
    "label": "rich",
    "class": "thresholds",
    "features": ["age"],
    "lower": 20,
    "upper": 80,
    "grid": "13",
    "epsilon": 1000,
}
TARGET: dict[str, Any] = {
    "kind": "accuracy-first",
    "name": "Target",
    "input": "people",
    "unit": "customer",
    "model_kind": "logistic",
    "target": "rich",
    "features": ["age", "hours"],
    "excess_risk": 0.3,
    "regularization": 0.1,
    "x_bound": 100,
    "epsilon_max": 5000,
}
LINE: dict[str, Any] = {
    "kind": "regress",
    "name": "Line",
    "input": "people",
    "unit": "customer",
    "target": "hours",
    "target_bounds": "0, 100",
    "features": ["age"],
    "lower": 20,
    "upper": 80,
    "epsilon": 1000,
}
ALL = {str(options["name"]): options for options in (PAIRS, FREQUENT, AGES, WEIGHTS, LINE, RULE, TARGET)}


def fail(error: BaseException, *, after_charge: bool) -> Any:
    """A histogram's run that ends so, after its charge or before it; one of hours is honest."""
    run = HistogramJob.run

    def failing(self: HistogramJob, payer: Any, **options: Any) -> Any:
        if self.options["column"] == "hours":
            return run(self, payer, **options)
        if after_charge:
            run(self, payer, **options)
        raise error

    return failing
