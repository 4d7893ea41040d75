"""A process that charges a ledger until it is refused or killed, and reports each success by a line on the disk.

Arguments: URL, report file, name, seed, least and most of an amount in 1/840ths, "charges" or "reservations".
A line is written before each call (`try`) and after it (`done`, `settled`), and synced before the next step.
"""

from __future__ import annotations

import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpmine.errors import BadLedger, BudgetExceeded
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors


class Report:
    """Lines that are on the disk once written."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())
        os.fsync(self._file)


def step(ledger: Ledger, report: Report, job: str, amount: Fraction, *, reserve: bool) -> None:
    report.write("try", job, amount)
    if not reserve:
        ledger.charge("shop", Guarantee(amount, Fraction(0), Neighbors.REPLACE_ONE), job=job)
        report.write("done", job, amount)
        return
    most = ExPostGuarantee(amount, Fraction(0), Neighbors.REPLACE_ONE, ex_post_epsilon=amount)
    receipt = ledger.charge("shop", most, job=job)
    report.write("done", job, amount)
    ledger.settle(receipt, amount / 3)
    report.write("settled", job, amount / 3)


def main(url: str, path: str, name: str, seed: str, least: str, most: str, kind: str) -> None:
    ledger, report, numbers = Ledger(url), Report(Path(path)), np.random.default_rng(int(seed))
    failures = 0
    for number in range(10**6):
        amount = Fraction(int(numbers.integers(int(least), int(most), endpoint=True)), 840)
        try:
            time.sleep(float(numbers.random()) * 0.01)  # the others have their turn
            step(ledger, report, f"{name}-{number}", amount, reserve=kind == "reservations" and number % 2 == 0)
        except BudgetExceeded:
            report.write("refused", name, amount)
            return
        except BadLedger as error:  # a server that is being restarted
            report.write("failed", name, str(error).replace(" ", "_"))
            failures += 1
            if failures > 200:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
