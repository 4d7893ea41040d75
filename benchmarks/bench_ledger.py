"""How long one charge takes, beside a bare transaction that inserts one row durably: `make bench-ledger`.

Both kinds of accounting, after few and after many earlier entries. All of them and the bare transaction take turns, so
that they see the same disk; connections are made for each, as a charge does. The targets: no more than 2.5 bare
transactions, and no longer after 100,000 entries than after 10.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import insert

from dpmine.ledger import records
from dpmine.ledger.budget import WHOLE, Amount
from dpmine.ledger.database import Database
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.records import Kind
from dpmine.ledger.tables import HISTORY
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

RESULTS = Path(__file__).resolve().parent / "results"
EARLIER, CHARGES = (10, 100_000), 200
ACCOUNTINGS = ("basic", "zcdp")
GUARANTEE = Guarantee(Fraction(1, 10), Fraction(1, 10**9), Neighbors.REPLACE_ONE)
MOST, MOST_GROWTH = 2.5, 1.1  # in bare transactions; of many entries beside few
FORMAT = "{:12} {:>12} {:>10} {:>10} {:>10} {:>14} {:>8}"


@contextmanager
def sqlite_store() -> Iterator[tuple[str, Callable[[], None]]]:
    """A fresh file, and a bare transaction in another."""
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:  # on the project's disk: another may be memory
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
    from ledger.postgres import Cluster

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


def filled(url: str, accounting: str, earlier: int) -> str:
    """The name of a data set with so many entries: all between the second and the last are written at once."""
    name, ledger, amount = f"{accounting} {earlier}", Ledger(url), Amount.of(GUARANTEE)
    ledger.grant(name, epsilon=10**6, delta="1/2", accounting=accounting)
    ledger.charge(name, GUARANTEE, job="past")
    like, budget, rows = ledger.history(name)[-1], ledger.budget(name), []
    for number in range(3, earlier):
        entry = replace(like, number=number)
        budget = replace(budget.charging(WHOLE, amount), entries=number, seal=entry.seal(budget.seal))
        rows.append({**asdict(entry), "seal": budget.seal})
    database = Database(url)
    with database.writing() as connection:
        connection.execute(insert(HISTORY), rows)
        records.append(connection, budget.charging(WHOLE, amount), Kind.CHARGE, WHOLE, amount, job="past")
    assert ledger.verify() >= earlier
    return name


def measure(store: str, url: str, bare: Callable[[], None]) -> None:
    """A line for each kind of accounting and number of earlier entries."""
    ledger, cases = Ledger(url), [(accounting, earlier) for accounting in ACCOUNTINGS for earlier in EARLIER]
    names = [filled(url, *case) for case in cases]
    calls: list[Callable[[], object]] = [
        *(partial(ledger.charge, name, GUARANTEE, job="bench") for name in names),
        bare,
    ]
    *charges, alone = np.array([[timed(call) for call in calls] for _ in range(CHARGES)]).T
    medians = {}
    for case, times in zip(cases, charges, strict=True):
        medians[case] = float(np.median(times) / np.median(alone))
        numbers = [f"{value:.2f}" for value in (np.median(times), np.quantile(times, 0.99), np.median(alone))]
        print(FORMAT.format(store, case[0], case[1], *numbers, f"{medians[case]:.2f}"), flush=True)
    for accounting in ACCOUNTINGS:
        growth = medians[accounting, EARLIER[1]] / medians[accounting, EARLIER[0]]
        print(f"    {accounting}: after {EARLIER[1]} entries {growth:.2f} times as long as after {EARLIER[0]}")
        if growth > MOST_GROWTH or medians[accounting, EARLIER[1]] > MOST:
            print(f"    above the target: {MOST} bare transactions, and no growth", file=sys.stderr)


def main() -> None:
    """Measure both stores, PostgreSQL where it is installed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{CHARGES} charges of each kind, in milliseconds")
    print(FORMAT.format("store", "accounting", "earlier", "median", "99 %", "bare (median)", "ratio"))
    with sqlite_store() as (url, bare):
        measure("SQLite", url, bare)
    with postgres_store() as (url, bare):
        measure("PostgreSQL", url, bare)


if __name__ == "__main__":
    main()
