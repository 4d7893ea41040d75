"""Two machines that run a weekly job on one ledger, which no one watches; and the runbook that says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from reporting.unattended.clock import set_clock
from support.command_line import Outcome, environment, outcome_of
from support.pages.snippets import blocks

import dpmine
from dpmine.errors import BadLedger, DpmineError
from dpmine.ledger.budget import Amount
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.jobs.schedule import Every, Window

if TYPE_CHECKING:
    import pytest
    from reporting.unattended.stores import Store

    from dpmine.ledger.records import Entry

RUNBOOK = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "unattended.md"
RESTORE = "cp backup/budget.db budget.db"
GRANT = next(line.strip() for line in RUNBOOK.read_text(encoding="utf-8").splitlines() if "dpmine ledger grant" in line)
_KILLED = Path(__file__).with_name("killed.py")
_ROW = re.compile(
    r"^\| (?P<fault>[^|]+) \| `(?P<message>[^|]+)` \| (?P<status>\d) \| (?P<next>[^|]+) \|$", re.MULTILINE
)
_COMMAND = re.compile(r"`((?:dpmine|cp) [^`]+)`")
_VARYING = {
    r"\d{4}\\-W\d\d": r"\\d{4}-W\\d\\d",
    r"(?:sqlite|postgresql)://\S+": r"\\S+",
    r"'budget\\.db'": r"'\\S*budget\\.db'",
    r"entry\\ \d+": r"entry\\ \\d+",
}
"""What differs between the runbook's example and another week, machine or ledger, in escaped messages."""


def finding_tests() -> dict[str, str]:
    """For a process that imports what tests do."""
    names = environment()
    return {**names, "PYTHONPATH": os.pathsep.join([names["PYTHONPATH"], str(Path(__file__).resolve().parents[2])])}


def page_block(name: str) -> str:
    """The file of the runbook whose first line is that comment."""
    texts = [block.text for block in blocks(RUNBOOK.read_text(encoding="utf-8"))]
    return next(text for text in texts if text.startswith(f"{name}\n"))


@dataclass(frozen=True)
class Row:
    """A row of the runbook: what happened, what the next run says, how it ends, what to type then."""

    fault: str
    message: str
    status: int
    steps: tuple[str, ...]

    def is_shown(self, outcome: Outcome, *, exactly: bool) -> bool:
        """Whether a run ended so, with the message in a line of its own; "…" stands for the rest of a line."""
        text = re.escape(self.message)
        for example, pattern in () if exactly else _VARYING.items():
            text = re.sub(example, pattern, text)
        line = re.compile(f"dpmine: (error: )?{text.replace('…', '.*')}")
        failed = outcome.lines[-1].startswith("dpmine: error: ")
        said = any(map(line.fullmatch, outcome.lines))
        return said and outcome.status == self.status and failed == bool(self.status)


def runbook() -> list[Row]:
    found = _ROW.finditer(RUNBOOK.read_text(encoding="utf-8"))
    return [
        Row(row["fault"], row["message"], int(row["status"]), tuple(_COMMAND.findall(row["next"]))) for row in found
    ]


@dataclass
class Site:
    """Machines a and b, each with a working folder; their feed; and the window that has ended last.

    Attributes:
        root: the folder of everything.
        store: where the ledger is.
        patch: what changes the clock and the working directory.
        command: runs command lines.
        machine: the one that runs next.
        window: the one that a run is for by a clock that is right.
        foreseen: whether runs charge exactly what `--dry-run` said before, or nothing.
        copies: of the ledger, the oldest first.
    """

    root: Path
    store: Store
    patch: pytest.MonkeyPatch
    command: outcome_of
    window: Window
    machine: str = "a"
    foreseen: bool = True
    copies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "sales").mkdir(exist_ok=True)
        for machine in ("a", "b"):
            (self.root / machine).mkdir(exist_ok=True)
            (self.root / machine / "sales").symlink_to("../sales")
            self.write(machine)
        self.at(self.window)

    def write(self, machine: str = "", **changes: str) -> None:
        """The job file of a machine, by default that of the next run; some lines of it may be changed."""
        machine = machine or self.machine
        text = page_block("# weekly.toml").replace("sqlite:///budget.db", self.store.url(machine))
        for line, changed in changes.items():
            text, number = re.subn(rf"^{line} = .*$", changed, text, flags=re.MULTILINE)
            assert number == 1, line
        (self.root / machine / "weekly.toml").write_text(text, encoding="utf-8")

    @property
    def folder(self) -> Path:
        return self.root / self.machine

    @property
    def results(self) -> Path:
        return self.folder / "weekly-results"

    @property
    def feed(self) -> Path:
        """The folder of the window's rows."""
        return self.root / "sales" / f"week={self.window}"

    def at(self, window: Window) -> None:
        """It has ended yesterday."""
        self.window = window
        self.clock(0)

    def clock(self, days: int) -> None:
        """Set every machine's to that many days after the right day."""
        self.day = self.window.following().first + timedelta(days)
        set_clock(self.day, self.patch.setattr)

    def deliver(self, *, days_as_text: bool = False) -> None:
        """The feed of the window."""
        start = datetime.combine(self.window.first, datetime.min.time())
        rows = [(unit, start + timedelta(hours=unit), item) for unit in range(120) for item in ("bread", "milk")]
        units, times, items = zip(*rows, strict=True)
        days = [f"{time:%d/%m/%Y}" for time in times] if days_as_text else pa.array(times, pa.timestamp("us"))
        self.feed.mkdir(exist_ok=True)
        pq.write_table(pa.table({"customer": units, "at": days, "item": items}), self.feed / "part.parquet")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store.address)

    def history(self) -> tuple[Entry, ...]:
        """The charges; none while the ledger cannot be read."""
        try:
            return tuple(entry for entry in self.ledger.history("shop") if entry.kind == "charge")
        except (BadLedger, dpmine.BadParameter):
            return ()

    def windows(self) -> Counter[str]:
        """How often each window was charged."""
        return Counter(entry.job.rpartition("[")[2].split()[0] for entry in self.history() if "[" in entry.job)

    def run(self, *more: str) -> Outcome:
        """One run of the next machine, which charges what was forecast."""
        self.patch.chdir(self.folder)
        before = self.history()
        try:
            forecast = dpmine.report("weekly.toml", "report.html", dry_run=True, retry="--retry" in more).to_charge
        except DpmineError:
            forecast = Amount()
        outcome = self.command("report", "weekly.toml", "-o", "report.html", *more)
        charged = Amount.total(entry.amount for entry in self.history()[len(before) :])
        assert charged == (forecast if self.foreseen else Amount()), outcome
        if outcome.status == 0 and before:
            assert re.match(r"dpmine: ledger: \d+ entries, all as they were written; 'shop' ends at", outcome.lines[0])
        return outcome

    def copy(self, name: str) -> None:
        """Copy the ledger between two runs."""
        self.store.copy(name)
        self.copies.append(name)

    def process(self, machine: str, place: str = "") -> subprocess.Popen[str]:
        """The same in a process of its own, killed at that place."""
        command = [sys.executable, str(_KILLED), self.day.isoformat(), place, "weekly.toml", "-o", "report.html"]
        folder = self.root / machine
        return subprocess.Popen(command, cwd=folder, env=finding_tests(), stderr=subprocess.PIPE, text=True)

    def do(self, step: str) -> None:
        """What the runbook says is typed next."""
        if step == RESTORE:
            self.store.restore(self.copies[-1])
            return
        self.patch.chdir(self.folder)
        typed = step.replace("sqlite:///budget.db", self.store.url(self.machine)).split()[1:]
        typed = [str(self.window) if re.fullmatch(r"\d{4}-W\d\d", word) else word for word in typed]
        outcome = self.command(*typed)
        assert outcome.status == 0, (step, outcome)


def week(name: str) -> Window:
    return Window.parse(name, Every.WEEK)
