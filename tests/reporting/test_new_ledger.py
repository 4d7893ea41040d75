"""A ledger that is lost or empty is no fresh budget in silence; a job that was not charged is run again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import AGES, RULE, fail, job
from reporting.schedules.weeks import Shop
from reporting.schedules.weeks import sales as weekly_sales

import dpmine
from dpmine.io.atomic import read_file
from dpmine.reporting import store
from dpmine.reporting.jobs.tables import HistogramJob
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from reporting.jobs import Folder


def lose(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def test_a_budget_that_a_run_creates_is_said_in_its_text_and_on_its_page(folder: Folder) -> None:
    folder.ledger.grant("barn", epsilon=1)
    report = folder.run(job(**AGES))
    assert str(report).splitlines()[0].startswith("new data set: granted ε = 100000, δ = 0.01 to 'shop'; ")
    assert (
        "to ε = 100000, δ = 0.01 for each customer. The run that made this page also entered this budget, in a new "
        "data set." in render(report)
    )
    again = folder.run(job(**AGES))
    assert "new" not in str(again)
    assert "also entered this budget" not in render(again)


@pytest.mark.parametrize("damage", [lose, empty])
def test_a_lost_ledger_is_missed_by_jobs_that_have_no_result_yet(
    folder: Folder, damage: Callable[[Path], None]
) -> None:
    folder.run(job(**AGES))
    damage(folder.path / "budget.db")
    with pytest.raises(dpmine.BadLedger, match=r"Jobs in '.*' were run on 'shop', .*: restore the ledger"):
        folder.run(job(**RULE))
    assert not folder.ledger.exists()


def test_tables_are_not_read_to_find_out_what_was_run(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be large."""
    results, looked_at = folder.store(folder.run(job(**RULE)).job_file), list[str]()

    def read(path: Path) -> bytes:
        looked_at.append(path.suffix)
        return read_file(path)

    monkeypatch.setattr(store, "read_file", read)
    assert not results.has_jobs_of(folder.terms["ledger"].strip('"'), "barn")
    assert set(looked_at) == {".json"} < {path.suffix for path in results.folder.iterdir()}


def test_a_lost_ledger_is_missed_where_its_only_job_came_to_no_result(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(HistogramJob, "run", fail(KeyboardInterrupt(), after_charge=True))
        with pytest.raises(KeyboardInterrupt):
            folder.run(job(**AGES))
    lose(folder.path / "budget.db")
    with pytest.raises(dpmine.BadLedger, match="restore the ledger"):
        folder.run(job(**RULE))
    assert not folder.ledger.exists()


def test_results_of_another_ledger_miss_nothing(folder: Folder) -> None:
    folder.run(job(**AGES))
    folder.terms["ledger"] = f'"sqlite:///{folder.path}/other.db"'
    assert folder.run(job(**RULE)).new == "ledger"


def test_a_ledger_that_another_run_makes_meanwhile_is_not_new(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both runs found none; the grant alone knows which was the first."""
    grant = dpmine.Ledger.grant

    def second(ledger: dpmine.Ledger, *arguments: Any, **options: Any) -> Any:
        grant(ledger, *arguments, **options)
        return grant(ledger, *arguments, **options)

    monkeypatch.setattr(dpmine.Ledger, "grant", second)
    assert folder.run(job(**AGES)).new == ""


def test_a_lost_ledger_is_missed_by_the_next_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weekly_sales(tmp_path / "sales.parquet", 4)
    shop = Shop(tmp_path)
    shop.run("2025-W02")
    lose(Path(shop.url.removeprefix("sqlite:///")))
    with pytest.raises(dpmine.BadLedger, match="restore the ledger that was charged"):
        shop.run("2025-W03")


@pytest.mark.parametrize("damage", [lose, empty, None])
@pytest.mark.parametrize("asked", ["file", "call"])
def test_no_budget_is_created_where_the_ledger_must_exist(
    folder: Folder, damage: Callable[[Path], None] | None, asked: str
) -> None:
    folder.ledger.grant("barn", epsilon=1)
    if damage:
        damage(folder.path / "budget.db")
    folder.write(job(**AGES), create='"never"' if asked == "file" else None)
    paths, must_exist = (folder.path / "jobs.toml", folder.path / "page.html"), asked == "call"
    message = "does not know 'shop', and this run may not create its budget"
    with pytest.raises(dpmine.BadLedger, match=message):
        dpmine.report(*paths, dry_run=True, ledger_must_exist=must_exist)
    with pytest.raises(dpmine.BadLedger, match=message):
        dpmine.report(*paths, ledger_must_exist=must_exist)
    assert folder.ledger.known("shop") is None
    folder.ledger.grant("shop", epsilon=100000, delta="0.01", unit="customer")
    assert dpmine.report(*paths, ledger_must_exist=must_exist).new == ""


def test_a_job_that_stopped_before_its_charge_is_run_by_the_next_call(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(HistogramJob, "run", fail(KeyboardInterrupt(), after_charge=False))
            with pytest.raises(KeyboardInterrupt):
                folder.run(job(**AGES))
    assert folder.run(job(**AGES)).outcomes[0].error is None
    assert [entry.kind for entry in folder.ledger.history("shop")] == ["grant", "charge"]


def test_an_attempt_that_may_have_been_charged_is_not_forgotten_by_a_later_one(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later attempt stopped before its charge, so the ledger ends as it did when that attempt began."""
    for after_charge in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(HistogramJob, "run", fail(KeyboardInterrupt(), after_charge=after_charge))
            with pytest.raises(KeyboardInterrupt):
                folder.run(job(**AGES), retry=not after_charge)
    (outcome,) = folder.run(job(**AGES)).outcomes
    assert "the ledger may have a charge for it (dpmine ledger history)" in str(outcome.error)


def test_a_rejected_batch_names_the_folder_of_earlier_results(folder: Folder) -> None:
    folder.run(job(**AGES), epsilon="1000", delta="0.001")
    (folder.path / "results").rename(folder.path / "moved")
    with pytest.raises(dpmine.BudgetExceeded, match=r"Jobs that were run before are found with `results=FOLDER`\.$"):
        folder.run(job(**AGES), epsilon="1000", delta="0.001")


def test_a_file_without_a_ledger_is_no_new_one(folder: Folder) -> None:
    """Whatever the results folder knows: a file that was emptied, or another program's database."""
    (folder.path / "budget.db").touch()
    message = r"budget\.db' is there and holds no ledger, so one may have been lost: restore it"
    with pytest.raises(dpmine.BadLedger, match=message):
        folder.run(job(**AGES))
    assert not folder.ledger.exists()
    folder.ledger.grant("shop", epsilon=100000, delta="0.01", unit="customer")  # by hand
    assert folder.run(job(**AGES)).new == ""


def test_a_run_begins_with_the_state_of_the_ledger(folder: Folder) -> None:
    paths = (folder.write(job(**AGES)), folder.path / "page.html")
    assert str(dpmine.report(*paths)).startswith("new ledger: ")
    seal = folder.ledger.budget("shop").seal
    assert str(dpmine.report(*paths)).splitlines()[0] == (
        f"ledger: 2 entries, all as they were written; 'shop' ends at entry 2 with the seal {seal[:16]}…"
    )


def test_a_ledger_that_was_changed_is_found_before_a_run(folder: Folder) -> None:
    """The entry is of another data set, and not the last: a charge would not look at it."""
    folder.ledger.grant("barn", epsilon=1)
    folder.ledger.grant("barn", epsilon=2)
    with closing(sqlite3.connect(folder.path / "budget.db")) as connection, connection:
        connection.execute("UPDATE dpmine_history SET epsilon = '9' WHERE number = 1")
    with pytest.raises(dpmine.BadLedger, match="The history of 'barn' was changed at entry 1"):
        dpmine.report(folder.write(job(**AGES)), folder.path / "page.html")
    assert folder.ledger.known("shop") is None
