"""What can go wrong with a job that no one watches, by the names of the runbook: each is caused, and then over."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ledger.guarantees import guarantee
from reporting.unattended.stores import FileStore, ServerStore

from dpmine.io.atomic import write_atomically
from dpmine.ledger.results import SharedResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from reporting.unattended.site import Row, Site

FAULTS: dict[str, Callable[[Site], AbstractContextManager[None]]] = {}
FILES_ALONE = {"the ledger is an empty file", "the ledger is no database"}
"""Faults of ledgers that are files."""
PROCESSES = {
    "killed before the charge",
    "killed after the charge",
    "killed after the result",
    "started twice at the same time",
}
"""Faults of processes of their own."""


def fault(name: str) -> Callable[[Callable[[Site], Iterator[None]]], object]:
    def known(cause: Callable[[Site], Iterator[None]]) -> object:
        FAULTS[name] = contextmanager(cause)
        return cause

    return known


def suffer(site: Site, row: Row, *, exactly: bool) -> None:
    """Cause the row's fault, see what it says, do what it says next; after that a run ends well."""
    with FAULTS[row.fault](site):
        outcome = site.run()
        assert row.is_shown(outcome, exactly=exactly), (row, outcome.status, outcome.err)
    for step in row.steps:
        site.do(step)
    outcome = site.run()
    assert outcome.status == 0, (row, outcome)


@fault("the feed is late")
def _late(site: Site) -> Iterator[None]:
    shutil.rmtree(site.feed)
    yield
    site.deliver()


@fault("the folder of all feeds is gone, such as a mount")
def _unmounted(site: Site) -> Iterator[None]:
    (site.root / "sales").rename(site.root / "away")
    yield
    (site.root / "away").rename(site.root / "sales")


@fault("the feed is an empty folder")
def _empty_folder(site: Site) -> Iterator[None]:
    shutil.rmtree(site.feed)
    site.feed.mkdir()
    yield
    site.deliver()


@fault("the feed has dates in another format")
def _format(site: Site) -> Iterator[None]:
    site.deliver(days_as_text=True)
    yield
    site.deliver()


@fault("the feed was cut off")
def _cut(site: Site) -> Iterator[None]:
    path = site.feed / "part.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    yield
    site.deliver()


@fault("a page of a file is damaged")
def _damaged(site: Site) -> Iterator[None]:
    path = site.feed / "part.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    yield
    site.deliver()


@fault("an older file of the feed was put back")
def _older_file(site: Site) -> Iterator[None]:
    site.write(ready='ready = "newer-file"', on_empty="")
    for path in (site.root / "sales").rglob("*.parquet"):
        os.utime(path, (0, 0))
    yield
    site.write()


@fault("the clock is ahead")
def _ahead(site: Site) -> Iterator[None]:
    site.clock(7)
    yield
    site.clock(0)


@fault('the clock is far ahead, with `ready = "clock"`')
def _far_ahead(site: Site) -> Iterator[None]:
    site.write(ready='ready = "clock"', on_empty="")
    site.clock(13 * 7)
    yield
    site.write()
    site.clock(0)


@fault("the clock is behind")
def _behind(site: Site) -> Iterator[None]:
    site.clock(-21)
    yield
    site.clock(0)


def _kill(site: Site, place: str) -> None:
    process = site.process(site.machine, place)
    _, said = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, said


@fault("killed before the charge")
def _before_charge(site: Site) -> Iterator[None]:
    before = site.history()
    _kill(site, "charge")
    assert site.history() == before
    yield


@fault("killed after the charge")
def _before_result(site: Site) -> Iterator[None]:
    before = site.history()
    _kill(site, "result")
    assert len(site.history()) == len(before) + 1
    yield


@fault("killed after the result")
def _before_copy(site: Site) -> Iterator[None]:
    _kill(site, "copy")
    assert site.windows()[str(site.window)] == 1
    yield


@fault("started twice at the same time")
def _twice(site: Site) -> Iterator[None]:
    both = [site.process(machine) for machine in ("a", "b")]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    yield


@fault("another run goes on for an hour")
def _busy(site: Site) -> Iterator[None]:
    site.foreseen = False
    with SharedResults(site.store.address).turn("shop", 0), site.patch.context() as patch:
        patch.setattr("dpmine.ledger.database.time", SimpleNamespace(monotonic=count(0, 3601).__next__))
        yield
    site.foreseen = True


@fault("the disk of the results is full")
def _full(site: Site) -> Iterator[None]:
    def full(path: Path, content: bytes, **options: Any) -> None:
        if site.results in path.absolute().parents and content:
            raise OSError(errno.ENOSPC, "")
        write_atomically(path, content, **options)

    site.foreseen = False
    with site.patch.context() as patch:
        patch.setattr("dpmine.reporting.store.write_atomically", full)
        yield
    site.foreseen = True


@fault("the results folder is lost")
def _lost_results(site: Site) -> Iterator[None]:
    shutil.rmtree(site.results)
    yield


@fault("a file of results is damaged")
def _damaged_result(site: Site) -> Iterator[None]:
    path = min(site.results.glob("*.json"))
    path.write_bytes(path.read_bytes()[:-20])
    yield


@fault("the ledger is lost")
def _lost(site: Site) -> Iterator[None]:
    site.store.lose()
    yield


@fault("the ledger is lost, and the feed is late")
def _lost_and_late(site: Site) -> Iterator[None]:
    site.store.lose()
    shutil.rmtree(site.feed)
    yield
    site.deliver()


@fault("the ledger and the results are lost")
def _all_lost(site: Site) -> Iterator[None]:
    site.store.lose()
    shutil.rmtree(site.results)
    yield


@fault("the ledger is an empty file")
def _empty_file(site: Site) -> Iterator[None]:
    assert isinstance(site.store, FileStore)
    site.store.path.write_bytes(b"")
    shutil.rmtree(site.results)
    site.write(create="")
    yield
    site.write()


@fault("the ledger is no database")
def _no_database(site: Site) -> Iterator[None]:
    site.store.stop()
    yield
    site.store.start()


@fault("the server of the ledger is down")
def _down(site: Site) -> Iterator[None]:
    if isinstance(site.store, ServerStore):
        site.store.stop()
        yield
        site.store.start()
        return
    site.write(ledger='ledger = "postgresql://dpmine_jobs@127.0.0.1:1/budgets"')
    site.foreseen = False
    yield
    site.write()
    site.foreseen = True


@fault("an older copy of the ledger was put back")
def _older_copy(site: Site) -> Iterator[None]:
    site.store.restore(site.copies[-2])
    yield


@fault("a copy of the ledger was charged elsewhere and put back")
def _charged_elsewhere(site: Site) -> Iterator[None]:
    site.store.restore(site.copies[-2])
    site.patch.chdir(site.folder)
    window = str(site.window.preceding())
    apart = site.command("report", "weekly.toml", "-o", "page.html", "--results", "apart", "--window", window)
    assert apart.status == 0, apart
    shutil.rmtree(site.folder / "apart")
    yield


@fault("an entry of the ledger was changed")
def _changed_entry(site: Site) -> Iterator[None]:
    site.store.execute("UPDATE dpmine_history SET epsilon = '1' WHERE number = 2")
    yield


@fault("the ledger is of a later version")
def _later_version(site: Site) -> Iterator[None]:
    site.store.execute("UPDATE dpmine_version SET version = 2")
    yield
    site.store.execute("UPDATE dpmine_version SET version = 1")


@fault("dpmine was upgraded")
def _upgraded(site: Site) -> Iterator[None]:
    site.patch.setattr("dpmine.reporting.store.__version__", f"99.{site.window}")
    yield


@fault("the job file was changed")
def _changed_job(site: Site) -> Iterator[None]:
    site.write(item='item = "item"\nmin_support = 7')
    yield
    site.write()


@fault("another job used up the budget")
def _exhausted(site: Site) -> Iterator[None]:
    left = site.ledger.budget("shop").remaining.epsilon
    site.ledger.charge("shop", guarantee(left), job="another report")
    yield


@fault("the schedule has ended")
def _ended(site: Site) -> Iterator[None]:
    site.clock(70 * 7)
    yield
    site.clock(0)
