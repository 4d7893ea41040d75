"""Sales over some weeks with timestamps, and recurring job files, for the tests of schedules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from reporting.jobs import job, toml

from dpmine.errors import DpmineError
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.call import PreparedReport

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.ledger.records import Entry
    from dpmine.reporting.batch import Report

MONDAY = datetime(2025, 1, 6)  # noqa: DTZ001 - of no zone; of week 2025-W02
PAIRS: dict[str, Any] = {
    "kind": "top-itemset",
    "name": "Pairs",
    "input": "sales",
    "unit": "customer",
    "item": "item",
    "release_support": "auto",
    "min_support": 0,
    "mechanism": "limited-domain",
}
ITEMS = PAIRS | {"name": "Items", "size": "1"}


def sales(path: Path, weeks: int = 52, *, without: int = -1) -> None:
    """Every week 30 customers buy bread and butter, and as many more customers tea and jam as weeks have passed."""
    rows = []
    for week in range(weeks):
        pairs = [(unit, ("bread", "butter")) for unit in range(30)]
        pairs += [(100 + unit, ("jam", "tea")) for unit in range(week)]
        for number, (unit, items) in enumerate(pairs if week != without else []):
            at = MONDAY + timedelta(days=7 * week, hours=number)
            rows += [(unit, at, item) for item in items]
    units, times, items = zip(*rows, strict=True)
    pq.write_table(pa.table({"customer": units, "at": pa.array(times, pa.timestamp("us")), "item": items}), path)


@dataclass
class Shop:
    """A working folder with data, a ledger and a recurring job file; so large a budget that every answer is true."""

    path: Path
    url: str = ""
    schedule: dict[str, Any] = field(
        default_factory=lambda: {"every": "week", "runs": 52, "column": "at", "ready": "clock"}
    )
    terms: dict[str, Any] = field(default_factory=dict)
    jobs: tuple[dict[str, Any], ...] = (PAIRS,)
    results: dict[str, Any] = field(default_factory=dict)
    files: str = "sales.parquet"

    def __post_init__(self) -> None:
        self.url = self.url or f"sqlite:///{self.path}/budget.db"
        self.terms = {"ledger": self.url, "dataset": "shop", "epsilon": 52000, "delta": 0.052, **self.terms}

    def write(self) -> Path:
        tables = {
            "budget": self.terms,
            "schedule": self.schedule,
            "results": self.results,
            "inputs": {"sales": f"{self.path}/{self.files}"},
        }
        lines = [
            f"[{name}]\n" + "\n".join(f"{key} = {toml(value)}" for key, value in table.items())
            for name, table in tables.items()
        ]
        (self.path / "jobs.toml").write_text("\n".join([*lines, *(f"[[job]]\n{job(**each)}" for each in self.jobs)]))
        return self.path / "jobs.toml"

    def run(self, window: str | None, *, retry: bool = False, results: Path | None = None) -> Report:
        prepared = PreparedReport.of(self.write(), self.path / "page.html", results, retry=retry, window=window)
        return prepared.run(watch=lambda *_: None, retry=retry)

    def fails(self, window: str, **options: Any) -> DpmineError:
        """The error of a run that fails, before or after its jobs."""
        try:
            self.run(window, **options).raise_failures()
        except DpmineError as error:
            return error
        raise AssertionError

    @property
    def charges(self) -> list[Entry]:
        return [entry for entry in Ledger(self.url).history("shop") if entry.kind in {"charge", "reserve"}]

    @property
    def charged(self) -> list[str]:
        """The windows in the order of their charges."""
        return [entry.job.rpartition("[")[2].split()[0] for entry in self.charges]
