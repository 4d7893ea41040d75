"""Processes that charge one ledger, what they reported, and what must then hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpmine.ledger.budget import Accounting, kept_rho
from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

WORKER = Path(__file__).with_name("worker.py")


@dataclass
class Crowd:
    """Workers on one ledger; each has its report file in `folder`."""

    url: str
    folder: Path
    least: int = 1
    most: int = 100
    kind: str = "charges"
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    def start(self, count: int = 1) -> None:
        for _ in range(count):
            name = f"w{self.started}"
            arguments = [self.url, self.folder / f"{name}.report", name, self.started, self.least, self.most, self.kind]
            with (self.folder / f"{name}.errors").open("wb") as errors:
                command = [sys.executable, str(WORKER), *map(str, arguments)]
                self.running.append(subprocess.Popen(command, stderr=errors))
            self.started += 1

    def freeze(self) -> None:
        """Stop all wherever they are; none does anything more when this returns."""
        for process in self.running:
            assert process.poll() is None, self.errors()
            process.send_signal(signal.SIGSTOP)
        for process in self.running:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)

    def thaw(self) -> None:
        for process in self.running:
            process.send_signal(signal.SIGCONT)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        self.running.remove(process)

    def kill_all(self) -> None:
        for process in list(self.running):
            self.kill(process)

    def wait(self, seconds: float) -> None:
        """Until all have been refused."""
        for process in self.running:
            assert process.wait(seconds) == 0
        self.running.clear()

    def until(self, reports: int, seconds: float = 300) -> None:
        """Until that many successes are reported."""
        end = time.monotonic() + seconds
        while len(self.reported("done")) < reports:
            assert time.monotonic() < end, self.errors()
            time.sleep(0.01)

    def reported(self, word: str) -> dict[str, str]:
        """What was reported with that word; a last line that a kill cut short is none."""
        lines = [
            line.split()
            for path in self.folder.glob("*.report")
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
            if line.endswith("\n")
        ]
        return {words[1]: words[2] for words in lines if words[0] == word}

    def errors(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in self.folder.glob("*.errors"))


def holds(url: str, done: Iterable[str], settled: Iterable[str] = ()) -> int:
    """Assert that the ledger is sound, not overspent, and has what was reported. Returns how many charges it has."""
    ledger = Ledger(url)
    ledger.verify()
    budget, entries = ledger.budget("shop"), ledger.history("shop")
    charges = {entry.number: entry for entry in entries if entry.kind in {"charge", "reserve"}}
    settlements = {entry.reservation: entry for entry in entries if entry.kind == "settle"}
    jobs = [entry.job for entry in charges.values()]
    assert len(set(jobs)) == len(jobs)
    assert set(done) <= set(jobs)
    assert set(settled) <= {charges[number].job for number in settlements}
    total = sum((Fraction(settlements.get(number, entry).epsilon) for number, entry in charges.items()), Fraction())
    rho = sum((kept_rho(Fraction(entry.epsilon) ** 2 / 2) for entry in charges.values()), Fraction())
    assert (budget.spent.epsilon, budget.spent.rho) == (total, rho)
    assert budget.granted.fits(budget.spent, budget.accounting)
    assert total <= budget.granted.epsilon or budget.accounting is Accounting.ZCDP
    assert rho <= budget.granted.rho or budget.accounting is Accounting.BASIC
    return len(jobs)
