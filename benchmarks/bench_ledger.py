"""How long one charge takes, beside a bare transaction that inserts one row durably: `make bench-ledger`.

Charges and bare transactions take turns, so that both see the same disk; connections are made for each, as a charge
does. The targets: a median below 5 ms on SQLite and below 20 ms on PostgreSQL.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

EARLIER, CHARGES = 1000, 500
TARGETS = {"SQLite": 5.0, "PostgreSQL": 20.0}  # milliseconds
PROMISE = Guarantee(Fraction(1, 10), Fraction(1, 10**9), Neighbors.REPLACE_ONE)
FORMAT = "{:12} {:>10} {:>10} {:>10} {:>14} {:>8} {:>8}"


@contextmanager
def sqlite_store() -> Iterator[tuple[str, Callable[[], None]]]:
    """A fresh file, and a bare transaction in another."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "bare.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE line (x TEXT)")

        def bare() -> None:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"):
                    connection.execute(statement)
                connection.execute("INSERT INTO line VALUES (?)", ("x" * 300,))
                connection.execute("COMMIT")

        yield f"sqlite:///{folder}/budget.db", bare


@contextmanager
def postgres_store() -> Iterator[tuple[str, Callable[[], None]]]:
    """A private server on this machine, with fsync on."""
    import psycopg
    from accounting.postgres import Cluster

    cluster = Cluster()
    try:
        url = cluster.create("bench")
        with psycopg.connect(cluster.libpq("bench")) as connection:
            connection.execute("CREATE TABLE line (x TEXT)")

        def bare() -> None:
            with psycopg.connect(cluster.libpq("bench")) as connection:
                connection.execute("INSERT INTO line VALUES (%s)", ("x" * 300,))

        yield url, bare
    finally:
        cluster.close()


def timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def measure(name: str, url: str, bare: Callable[[], None]) -> None:
    """One line of the table."""
    ledger = Ledger(url)
    ledger.grant("shop", epsilon=10**6, delta="1/2")
    for _ in range(EARLIER - 1):
        ledger.charge("shop", PROMISE, job="earlier")
    ledger = Ledger(url)  # as a new process, which reads the history once
    first = timed(lambda: ledger.charge("shop", PROMISE, job="first"))
    pairs = [(timed(lambda: ledger.charge("shop", PROMISE, job="bench")), timed(bare)) for _ in range(CHARGES)]
    charges, alone = np.array(pairs).T
    median, late, slowest = np.median(charges), np.quantile(charges, 0.99), charges.max()
    numbers = [f"{value:.2f}" for value in (median, late, slowest, np.median(alone))]
    print(FORMAT.format(name, *numbers, f"{median / np.median(alone):.1f}", f"{first:.1f}"), flush=True)
    if median > TARGETS[name]:
        print(f"    above the target of {TARGETS[name]} ms", file=sys.stderr)


def main() -> None:
    """Measure both stores, PostgreSQL where it is installed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{CHARGES} charges after {EARLIER} earlier entries, in milliseconds")
    print(FORMAT.format("store", "median", "99 %", "slowest", "bare (median)", "ratio", "first"))
    with sqlite_store() as (url, bare):
        measure("SQLite", url, bare)
    with postgres_store() as (url, bare):
        measure("PostgreSQL", url, bare)


if __name__ == "__main__":
    main()
