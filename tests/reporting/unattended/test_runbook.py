"""The table of docs/how-to/unattended.md: each fault is caused, and message, status and remedy are as it says."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from reporting.unattended.faults import FAULTS, suffer
from reporting.unattended.site import GRANT, Row, Site, page_block, runbook, week
from reporting.unattended.stores import FileStore
from support.command_line import outcome_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    """As the page sets it up, with results of three weeks and copies of the ledger after each."""
    made = Site(tmp_path, FileStore(tmp_path), monkeypatch, outcome_of(capsys), week("2026-W02"))
    made.do(GRANT)
    for copy in ("first.db", "old.db", "budget.db"):
        made.deliver()
        assert made.run().status == 0
        made.copy(copy)
        made.at(made.window.following())
    made.deliver()
    return made


def test_every_fault_is_in_the_runbook() -> None:
    assert [row.fault for row in runbook()] == list(FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("row", runbook(), ids=lambda row: row.fault)
def test_a_fault_says_what_the_runbook_says(site: Site, row: Row) -> None:
    suffer(site, row, exactly=True)
    retried = any("--retry" in step for step in row.steps)
    assert site.windows() == {"2026-W02": 1, "2026-W03": 1, "2026-W04": 1, "2026-W05": 1 + retried}
    assert site.ledger.verify() > 4


@pytest.mark.slow
def test_what_an_older_copy_lacks_is_charged_by_hand(site: Site) -> None:
    """With the page's own lines: as much as before, and the results are in the ledger again."""
    charges = [entry.amount for entry in site.history()]
    site.store.restore(site.copies[-2])
    assert site.run().status == 2
    exec(page_block("# charge_by_hand.py"), {})
    assert [entry.amount for entry in site.history()] == charges
    assert site.run().status == 0
    assert site.windows() == {"2026-W02": 1, "2026-W03": 1, "2026-W04": 1, "2026-W05": 1}
    shutil.rmtree(site.results)
    assert site.run().status == 0
    assert len(list(site.results.glob("*.json"))) == 4
