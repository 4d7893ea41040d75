"""A year of a weekly job on two machines, with every fault of the runbook: what was charged, and what is shown."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from ledger.postgres import Cluster, running
from reporting.test_page import Page
from reporting.unattended.faults import FILES_ALONE, PROCESSES, suffer
from reporting.unattended.site import GRANT, Row, Site, runbook, week
from reporting.unattended.stores import FROM_ANY, FileStore, ServerStore
from support.command_line import outcome_of

import dpmine
from dpmine.ledger.budget import Accounting, Amount

if TYPE_CHECKING:
    from collections.abc import Iterator

YEAR = list(week("2026-W02").until(week("2026-W53")))
CALM = 4
"""Weeks at the beginning without a fault: a clock is behind something, and a copy is older than another."""
NUMBER = 36
"""Of faults in a year; each of the runbook's is among them."""
ONCE = {*PROCESSES, "another job used up the budget"}
"""Not drawn again: those take long, and the runbook's command grants more only once."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    yield from running()


@pytest.fixture(params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    root = request.getfixturevalue("tmp_path")
    server = request.param == "postgres"
    store = ServerStore(request.getfixturevalue("cluster"), "year") if server else FileStore(root, FROM_ANY)
    made = Site(root, store, monkeypatch, outcome_of(capsys), YEAR[0])
    made.do(GRANT)
    return made


def drawn(random: Random, rows: list[Row]) -> dict[int, Row]:
    """Which fault is in which week."""
    repeatable = [row for row in rows if row.fault not in ONCE]
    faults = [*rows, *random.choices(repeatable, k=NUMBER - len(rows))]
    return dict(zip(random.sample(range(CALM, len(YEAR)), NUMBER), faults, strict=True))


@pytest.mark.slow
def test_a_year_with_faults(site: Site) -> None:
    random = Random(2026)
    on_file = isinstance(site.store, FileStore)
    faults = drawn(random, [row for row in runbook() if on_file or row.fault not in FILES_ALONE])
    for number, window in enumerate(YEAR):
        site.at(window)
        site.deliver()
        site.machine = random.choice("ab")
        if number in faults:
            suffer(site, faults[number], exactly=False)
        for machine in random.sample("ab", 2):
            site.machine = machine
            outcome = site.run()
            assert outcome.status == 0, (window, outcome)
        site.copy(str(window))
    retried = [YEAR[number] for number, row in faults.items() if any("--retry" in step for step in row.steps)]
    assert site.windows() == Counter(map(str, [*YEAR, *retried]))
    require_sound_totals(site, grants=1 + sum(row.status == 3 and bool(row.steps) for row in faults.values()))
    require_equal_machines(site)


def require_sound_totals(site: Site, *, grants: int) -> None:
    """The ledger's totals are the sum of its charges, of which none is of a budget that no one granted."""
    budget, charged = site.ledger.budget("shop"), [entry.amount for entry in site.history()]
    assert site.ledger.verify() == grants + len(charged)
    assert budget.spent == Amount.total(charged)
    assert budget.granted.fits(budget.spent, Accounting.ZCDP)
    site.patch.chdir(site.folder)
    timeline = dpmine.report("weekly.toml", "report.html").timeline
    assert timeline is not None
    assert timeline.charge == Amount.total(entry.amount for entry in site.history() if "[" in entry.job)
    assert [each.window for each in timeline.windows] == list(map(str, YEAR))
    assert all(each.charged and None not in each.documents.values() for each in timeline.windows)


def require_equal_machines(site: Site) -> None:
    """Both show the same, byte for byte, and have the same results."""
    shown = []
    for machine in ("a", "b"):
        site.machine = machine
        assert site.run().status == 0
        files = {
            path.name: path.read_bytes() for path in site.results.glob("*.*") if path.suffix in {".json", ".parquet"}
        }
        shown.append(((site.folder / "report.html").read_bytes(), files))
    assert shown[0] == shown[1]
    page, files = shown[0]
    assert len(files) == 2 * len(YEAR)
    assert re.search(f"{len(YEAR)} windows from {YEAR[0]} to {YEAR[-1]}", Page(page.decode()).text)
