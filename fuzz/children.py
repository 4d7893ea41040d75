"""Workers that may crash: started again behind the mutant that ended them."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PATIENCE = 60.0  # seconds for one mutant, the start of its child included


@dataclass
class Report:
    """What came of a target's mutants.

    Attributes:
        runs: mutants run.
        outcomes: how many ended how.
        failures: number of the mutant, and what went wrong.
        native: mutants that crash pyarrow alone, too.
    """

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    native: list[int] = field(default_factory=list)


def run_forked(target: str, *, first: int, runs: int, seconds: float) -> Report:
    """Mutants of a target from `first` on, until there are `runs` of them or the time is over."""
    report, until, number = Report(), time.monotonic() + seconds, first
    while number < first + runs and time.monotonic() < until:
        lines, ended = _child(target, number, first + runs, until)
        for line in lines:
            mutant, _, outcome = line.partition(" ")
            number = int(mutant) + 1
            report.runs += 1
            report.outcomes[outcome.split(" ")[0] or ended] += 1
            if outcome.startswith(("FAILED", "out")):
                report.failures.append(line)
            elif not outcome:
                _lost(target, int(mutant), ended, report)
        if not lines:
            report.failures.append(f"{number} the worker does not start: {ended}")
            break
    return report


def _lost(target: str, number: int, ended: str, report: Report) -> None:
    """A child ended in the middle of a mutant: where pyarrow alone ends so, too, it is not ours."""
    lines, _ = _child(f"bare:{target}", number, number + 1, time.monotonic() + _PATIENCE)
    if lines == [f"{number} "]:
        report.native.append(number)
    else:
        report.failures.append(f"{number} {ended}")


def _child(target: str, first: int, stop: int, until: float) -> tuple[list[str], str]:
    """Its lines, the last one without an outcome where it was lost, and how it ended."""
    command = [sys.executable, "-m", "fuzz.worker", target, str(first), str(stop)]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told, ended = bytearray(), "time ran out"
    with child:
        while child.stdout is not None:
            ready = select.select([child.stdout], [], [], _PATIENCE)[0]
            part = os.read(child.stdout.fileno(), 65536) if ready else b""
            told += part
            if not part:
                ended = "no answer" if not ready else f"status {child.wait()}"
                break
            if time.monotonic() > until and told.endswith(b"\n"):
                break
        child.kill()
    lines = told.decode().splitlines()
    return lines, ended
