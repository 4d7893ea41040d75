"""One start of a recurring job in a process of its own, which may be killed: before its charge, or before its result.

Arguments: job file, page, results folder, window, and "", "before" or "after".
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

from dpmine_cli.main import run

import dpmine.itemsets.top
from dpmine.ledger.ledger import Ledger


def die(*_arguments: Any, **_options: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main(jobs: str, page: str, results: str, window: str, killed: str) -> int:
    if killed == "before":
        Ledger._charge = die  # type: ignore[method-assign]
    if killed == "after":
        dpmine.itemsets.top.answer = die
    return run(["report", jobs, "-o", page, "--results", results, "--window", window, "--quiet"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
