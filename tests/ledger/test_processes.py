"""Processes that race, are killed, or lose power: nothing is overspent and no charge is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ledger.crowd import Crowd, holds
from ledger.guarantees import at_most, guarantee

from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ledger.postgres import Cluster

pytestmark = pytest.mark.slow


@pytest.fixture
def crowd(url: str, tmp_path: Path) -> Iterator[Crowd]:
    workers = Crowd(url, tmp_path)
    yield workers
    workers.kill_all()


@pytest.mark.parametrize(("accounting", "epsilon"), [("basic", 15), ("zcdp", 6)])
def test_sixteen_processes_never_overspend(crowd: Crowd, accounting: str, epsilon: int) -> None:
    ledger = Ledger(crowd.url)
    granted = ledger.grant("shop", epsilon=epsilon, delta="1e-5", accounting=accounting).granted
    crowd.start(16)
    crowd.wait(300)
    reported = crowd.reported("done")
    assert crowd.errors() == ""
    assert holds(crowd.url, reported) == len(reported)
    spent = ledger.budget("shop").spent
    assert spent.epsilon == sum(Fraction(amount) for amount in reported.values())
    refused = [Fraction(amount) for amount in crowd.reported("refused").values()]
    assert len(refused) == 16
    left = granted - spent  # what was refused did not fit at the end either
    assert left.epsilon < min(refused) if accounting == "basic" else left.rho < min(refused) ** 2 / 2
    assert len(reported) > 100


def test_first_grants_race(crowd: Crowd) -> None:
    """Every process makes the ledger, and the data set, if it is the first."""
    code = f"from dpmine.ledger.ledger import Ledger; Ledger({crowd.url!r}).grant('shop', epsilon=1)"
    processes = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(8)]
    assert [process.communicate(timeout=300)[1] for process in processes] == [b""] * 8
    assert Ledger(crowd.url).verify() == 8


_SIMULTANEOUS = """
import sys, time
from dpmine.ledger.ledger import Ledger

for number in range(100):
    while time.time() < float(sys.argv[2]) + number / 20:
        pass
    Ledger(f"sqlite:///{sys.argv[1]}/{number}.db").grant("shop", epsilon=1)
"""


def test_first_grants_at_the_same_moment(tmp_path: Path) -> None:
    """SQLite does not wait where several change the journal of one new file; we do."""
    command = [sys.executable, "-c", _SIMULTANEOUS, str(tmp_path), str(time.time() + 3)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=300)[1] for process in processes] == [b""] * 4
    assert {Ledger(f"sqlite:///{tmp_path}/{number}.db").verify() for number in range(100)} == {4}


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_killed_processes_lose_no_charge(crowd: Crowd, accounting: str) -> None:
    Ledger(crowd.url).grant("shop", epsilon=10**6, delta="1e-5", accounting=accounting)
    crowd.kind = "reservations"
    numbers = np.random.default_rng(2017)
    crowd.start(5)
    crowd.until(5)
    for kills in range(1, 26):
        time.sleep(float(numbers.random()) * 0.1)
        crowd.kill(crowd.running[int(numbers.integers(len(crowd.running)))])
        crowd.start()
        if kills % 5 == 0:
            crowd.until(len(crowd.reported("done")) + 5)
    crowd.kill_all()
    done, settled = crowd.reported("done"), crowd.reported("settled")
    kept = holds(crowd.url, done, settled)
    assert len(done) <= kept <= len(crowd.reported("try"))
    assert len(settled) > 5
    Ledger(crowd.url).charge("shop", guarantee("1", unit="unit"), job="life goes on")


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_a_crash_between_reservation_and_settlement_keeps_the_reservation(crowd: Crowd, accounting: str) -> None:
    Ledger(crowd.url).grant("shop", epsilon=5, delta="1e-5", accounting=accounting)
    Ledger(crowd.url).charge("shop", at_most("3/4"), job="crashed")  # nobody settles
    spent = Ledger(crowd.url).budget("shop").spent
    assert (spent.epsilon, spent.rho) == (Fraction(3, 4), Fraction(9, 32))
    assert Ledger(crowd.url).verify() == 2


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Crowd]:
    folder = tmp_path / "reports"
    folder.mkdir()
    workers = Crowd(f"sqlite:///{tmp_path / 'budget.db'}", folder, kind="reservations")
    yield workers
    workers.kill_all()


def test_power_cuts_lose_no_charge(writers: Crowd, tmp_path: Path) -> None:
    """All writers are stopped wherever they are: the files are those of that instant, as a crash would leave them."""
    Ledger(writers.url).grant("shop", epsilon=10**6, delta="1e-5", accounting="zcdp")
    writers.start(4)
    numbers = np.random.default_rng(7)
    logs = 0
    for cut in range(12):
        writers.until(len(writers.reported("done")) + 12)
        time.sleep(float(numbers.random()) * 0.02)
        writers.freeze()
        done, settled = writers.reported("done"), writers.reported("settled")
        for suffixes in (["", "-wal", "-shm"], ["", "-wal"]):
            copy = tmp_path / f"cut{cut}-{len(suffixes)}.db"
            for suffix in suffixes:
                if (part := tmp_path / f"budget.db{suffix}").exists():  # between transactions there may be no log
                    shutil.copy(part, f"{copy}{suffix}")
                    logs += suffix == "-wal"
            assert holds(f"sqlite:///{copy}", done, settled) >= len(done)
        writers.thaw()
    assert logs


def test_a_torn_end_of_the_log_takes_no_finished_charge(file: Path) -> None:
    """What was written after the last sync may be lost or torn; every charge before it is there."""
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=100)
    log, sizes = file.with_name("budget.db-wal"), [0]
    with closing(sqlite3.connect(file)) as reader:  # while somebody reads an older state, it stays in the log
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM dpmine_history").fetchall()
        for number in range(20):
            ledger.charge("shop", guarantee("1/7"), job=f"job-{number}")
            sizes.append(log.stat().st_size)
        whole, start = log.read_bytes(), file.read_bytes()
    numbers = np.random.default_rng(11)
    for cut in [*sizes[1:], *map(int, numbers.integers(sizes[1], len(whole), 40))]:
        copy = file.with_name(f"torn{cut}.db")
        copy.write_bytes(start)
        noise = numbers.integers(0, 256, 3000, dtype=np.uint8).tobytes()
        copy.with_name(f"{copy.name}-wal").write_bytes(whole[:cut] + noise)
        finished = sum(size <= cut for size in sizes[1:])
        assert holds(f"sqlite:///{copy}", [f"job-{number}" for number in range(finished)]) == finished


def test_a_log_that_was_moved_into_the_file_loses_nothing(file: Path) -> None:
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=100)
    for number in range(5):
        ledger.charge("shop", guarantee("1/7"), job=f"job-{number}")
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert holds(f"sqlite:///{file}", [f"job-{number}" for number in range(5)]) == 5


def test_a_server_that_crashes_loses_no_charge(cluster: Cluster, tmp_path: Path) -> None:
    """Stopped without a shutdown, three times, while clients charge and are killed."""
    url = cluster.create("crashes")
    Ledger(url).grant("shop", epsilon=10**6, delta="1e-5", accounting="zcdp")
    before = Ledger(url)
    before.charge("shop", guarantee("1", unit="unit"), job="before")
    workers = Crowd(url, tmp_path, kind="reservations")
    workers.start(4)
    try:
        for _ in range(3):
            workers.until(len(workers.reported("done")) + 40)
            cluster.stop("immediate")
            try:
                workers.kill(workers.running[0])
            finally:
                cluster.start()
            workers.start()
        workers.until(len(workers.reported("done")) + 20)
    finally:
        workers.kill_all()
    assert workers.reported("failed")
    assert holds(url, ["before", *workers.reported("done")], workers.reported("settled")) > 140
    before.charge("shop", guarantee("1", unit="unit"), job="after")  # its connection is gone: it opens another
