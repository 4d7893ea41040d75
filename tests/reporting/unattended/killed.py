"""One run of `dpmine report` in a process of its own and on a day of its own, which may be killed at a chosen place.

Arguments: the day; "charge", "result", "copy" or "" for where it is killed; those of `dpmine report`.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import date
from typing import Any, NoReturn

from dpmine_cli.main import run
from reporting.unattended.clock import set_clock

import dpmine.itemsets.top
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.store import ResultsFolder

PLACES = {
    "charge": (Ledger, "_charge"),
    "result": (dpmine.itemsets.top, "answer"),
    "copy": (ResultsFolder, "_write_files"),
}
"""Killed before each of these: before the charge, after it and before the result, after that and before its copy."""


def die(*_arguments: Any, **_options: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main(day: str, place: str, *arguments: str) -> int:
    set_clock(date.fromisoformat(day))
    if place:
        setattr(*PLACES[place], die)
    return run(["report", *arguments])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
