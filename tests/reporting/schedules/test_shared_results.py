"""One truth for several machines: results of recurring jobs are in the ledger, and each machine has all of them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ledger.guarantees import guarantee
from ledger.postgres import Cluster, running
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from reporting.unattended.site import finding_tests

import dpmine
from dpmine.errors import BadLedger, BadParameter, NotReady
from dpmine.io.atomic import write_atomically
from dpmine.ledger.ledger import KeyedLedger, Ledger
from dpmine.ledger.results import SharedResults
from dpmine.reporting import windows
from dpmine.reporting.history import Charges
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.store import ResultsFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.reporting.batch import Report

NUMBERS = count()
MACHINE = Path(__file__).parents[1] / "unattended" / "killed.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    yield from running()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    sales(tmp_path / "sales.parquet", 12)
    for machine in ("a", "b"):
        (tmp_path / machine / "results").mkdir(parents=True)
    url = request.getfixturevalue("cluster").schema(f"shared_{next(NUMBERS)}") if request.param == "postgres" else ""
    return Shop(tmp_path, url, jobs=(PAIRS, ITEMS))


def run(shop: Shop, machine: str, window: str, **options: Any) -> Report:
    return shop.run(window, results=shop.path / machine / "results", **options)


def results(shop: Shop, machine: str) -> dict[str, bytes]:
    paths = (shop.path / machine / "results").glob("*.*")
    return {path.name: path.read_bytes() for path in paths if path.suffix in {".json", ".parquet"}}


def shown(report: Report) -> list[tuple[str, dict[str, Any]]]:
    """What a page would show of all windows."""
    assert report.timeline is not None
    return [(each.window, dict(each.documents)) for each in report.timeline.windows]


def test_each_machine_makes_the_page_from_what_both_released(shop: Shop) -> None:
    run(shop, "a", "2025-W03").raise_failures()
    run(shop, "b", "2025-W05").raise_failures()
    pages = [run(shop, machine, "2025-W05") for machine in ("a", "b")]
    for page in pages:
        page.raise_failures()
        assert all(outcome.reused for outcome in page.outcomes)
    assert shown(pages[0]) == shown(pages[1])
    assert len(shown(pages[0])) == 3
    assert all(None not in documents.values() for _, documents in shown(pages[0]))
    assert Counter(shop.charged) == {"2025-W03": 2, "2025-W04": 2, "2025-W05": 2}
    assert results(shop, "a") == results(shop, "b")
    assert len(results(shop, "a")) == 2 * 2 * 3
    assert Ledger(shop.url).verify() == 7


@pytest.mark.slow
def test_two_that_start_at_once_end_well_and_have_all_results(shop: Shop) -> None:
    shop.schedule["start"] = "2025-W02"
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052)
    shop.write()
    options = ["../jobs.toml", "-o", "page.html", "--results", "results", "--window", "2025-W04", "--quiet"]
    started = [
        subprocess.Popen(
            [sys.executable, MACHINE, "2025-01-27", "", *options],
            cwd=shop.path / machine,
            env=finding_tests(),
            stderr=subprocess.PIPE,
        )
        for machine in ("a", "b")
    ]
    ends = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], ends
    assert Counter(shop.charged) == {"2025-W02": 2, "2025-W03": 2, "2025-W04": 2}
    assert results(shop, "a") == results(shop, "b")


def test_what_another_machine_does_between_budget_and_results_is_no_loss(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Charges.of

    def meanwhile(*arguments: Any, all_parts: bool = False, **others: Any) -> Any:
        if not all_parts:  # asked by a batch that has read the budget, and not by a choice of windows
            monkeypatch.setattr(Charges, "of", known)
            run(shop, "a", "2025-W03").raise_failures()
        return known(*arguments, all_parts=all_parts, **others)

    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052)
    monkeypatch.setattr(Charges, "of", meanwhile)
    store = ResultsFolder(shop.path / "b" / "results")
    other = windows.WindowRun.of(read_job_file(shop.write()), store, "2025-W03")
    assert other is not None
    assert other.forecast(retry=False).charges == ()


def test_what_one_machine_lost_is_lost_for_all_and_told_by_all(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_arguments: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", crash)
        with pytest.raises(KeyboardInterrupt):
            run(shop, "a", "2025-W03")
    for machine in ("a", "b"):  # the second job was never charged, so the next run charges and runs it
        assert [each.result is None for each in run(shop, machine, "2025-W03").outcomes] == [True, False]
    run(shop, "b", "2025-W03", retry=True).raise_failures()
    again = run(shop, "a", "2025-W03")
    again.raise_failures()
    assert shop.charged == ["2025-W03"] * 3


def test_of_two_charges_with_one_key_the_later_result_counts(shop: Shop) -> None:
    shared, ledger = SharedResults(shop.url), Ledger(shop.url)
    ledger.grant("shop", epsilon=3)
    for content in (b"1", b"2"):
        KeyedLedger(ledger, "pairs", again=True).charge("shop", guarantee("1"), job="job")
        shared.put("shop", "pairs", {".json": content})
        shared.put("shop", "pairs", {".json": b"other"})  # what is there stays
        assert shared.get("shop", "pairs") == {".json": content}
    KeyedLedger(ledger, "pairs", again=True).charge("shop", guarantee("1"), job="job")
    assert shared.get("shop", "pairs") == {".json": b"2"}


def test_a_ledger_that_fails_when_the_result_is_stored_gets_it_from_the_folder(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise BadLedger("The server went away.")

    with monkeypatch.context() as patch:
        patch.setattr(SharedResults, "put", fail)
        failed = run(shop, "a", "2025-W03")
        assert [type(outcome.error) for outcome in failed.outcomes] == [BadLedger, BadLedger]
        assert all(outcome.result is not None for outcome in failed.outcomes)
    run(shop, "a", "2025-W03").raise_failures()
    run(shop, "b", "2025-W03").raise_failures()
    assert results(shop, "a") == results(shop, "b")
    assert len(shop.charged) == 2


def test_a_folder_that_cannot_be_written_leaves_the_result_in_the_ledger(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, **options: Any) -> None:
        if path.suffix in {".json", ".parquet"}:
            raise OSError(28, "No space left")
        write_atomically(path, content, **options)

    with monkeypatch.context() as patch:
        patch.setattr("dpmine.reporting.store.write_atomically", full)
        assert all("results' is full: free some" in outcome.summary for outcome in run(shop, "a", "2025-W03").outcomes)
    assert not results(shop, "a")
    for machine in ("b", "a"):
        run(shop, machine, "2025-W03").raise_failures()
    assert results(shop, "a") == results(shop, "b") != {}
    assert len(shop.charged) == 2


def test_a_damaged_copy_is_replaced(shop: Shop) -> None:
    run(shop, "a", "2025-W03")
    before = results(shop, "a")
    for path in (shop.path / "a" / "results").glob("*.json"):
        path.write_text("{}")
    run(shop, "a", "2025-W03").raise_failures()
    assert results(shop, "a") == before


def test_disjoint_windows_are_shared_by_part(shop: Shop) -> None:
    shop.terms["neighbors"] = "add-remove"
    shop.schedule["disjoint_units"] = True
    shop.jobs = (PAIRS | {"unit": ["customer", "week(at)"]},)
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, neighbors="add-remove", parts="by_unit")
    run(shop, "a", "2025-W03").raise_failures()
    run(shop, "b", "2025-W04").raise_failures()
    assert shown(run(shop, "a", "2025-W04")) == shown(run(shop, "b", "2025-W04"))
    assert shop.charged == ["2025-W03", "2025-W04"]


def test_nobody_waits_for_ever(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "_PATIENCE", 0.1)
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052)
    with SharedResults(shop.url).turn("shop", 0), pytest.raises(NotReady, match="Another run works on 'shop'"):
        run(shop, "a", "2025-W03")
    assert not shop.charged
    run(shop, "a", "2025-W03").raise_failures()
    with SharedResults(shop.url).turn("shop", 0):
        pass


def test_a_result_has_a_charge(shop: Shop) -> None:
    Ledger(shop.url).grant("shop", epsilon=1)
    with pytest.raises(BadLedger, match=r"The ledger has no charge for \[pairs 2025-W03\]"):
        SharedResults(shop.url).put("shop", "pairs 2025-W03", {".json": b"{}"})
    assert SharedResults(shop.url).get("shop", "pairs 2025-W03") == {}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dpmine_results SET content = CAST('{ }' AS BLOB)",
        "UPDATE dpmine_results SET file = '/../../x.json'",
        "UPDATE dpmine_results SET number = 1",
        "UPDATE dpmine_results SET content = 'text'",
    ],
)
def test_a_result_that_was_changed_by_hand_is_rejected(tmp_path: Path, change: str) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger(url).grant("shop", epsilon=1)
    Ledger(url).once("x").charge("shop", guarantee("1"), job="job")
    SharedResults(url).put("shop", "x", {".json": b"{}"})
    assert Ledger(url).verify() == 2
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection, connection:
        connection.execute(change)
    with pytest.raises(BadLedger, match="A result of 'shop' in the ledger was changed by hand"):
        Ledger(url).verify()


def test_only_files_of_results_are_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger(url).grant("shop", epsilon=1)
    Ledger(url).once("x").charge("shop", guarantee("1"), job="job")
    with pytest.raises(BadLedger):
        SharedResults(url).put("shop", "x", {"/../x.json": b"{}"})
    assert SharedResults(url).get("shop", "x") == {}


def test_an_older_copy_of_the_ledger_is_noticed_and_a_newer_one_goes_on(tmp_path: Path) -> None:
    """The copy is made between two runs, as a copy of the file."""
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path)
    shop.run("2025-W03").raise_failures()
    shutil.copy(tmp_path / "budget.db", tmp_path / "old.db")
    shop.run("2025-W04").raise_failures()
    shutil.copy(tmp_path / "budget.db", tmp_path / "new.db")
    shutil.copy(tmp_path / "old.db", tmp_path / "budget.db")
    for dry in (False, True):
        with pytest.raises(BadLedger, match="knows of a charge for 2025-W04 that the ledger does not have"):
            dpmine.report(shop.write(), tmp_path / "page.html", window="2025-W05", dry_run=dry)
    assert shop.charged == ["2025-W03"]
    shutil.copy(tmp_path / "new.db", tmp_path / "budget.db")
    shutil.rmtree(tmp_path / "jobs-results")  # lost with the machine
    report = shop.run("2025-W05")
    report.raise_failures()
    assert shop.charged == ["2025-W03", "2025-W04", "2025-W05"]
    assert all(None not in documents.values() for _, documents in shown(report))


def test_results_are_for_schedules(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path, results={"store": "server"})
    with pytest.raises(BadParameter, match="store must be"):
        shop.run("2025-W03")
    path = shop.write()
    text = path.read_text()
    path.write_text(text[: text.index("[schedule]")] + text[text.index("[results]") :])
    with pytest.raises(BadParameter, match=r"\[results\] is for jobs with a \[schedule\]"):
        dpmine.report(path, tmp_path / "page.html")


def test_a_copy_of_the_ledger_from_before_the_first_charge_is_rejected(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path)
    shop.schedule["start"] = "2025-W02"
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, unit="customer")
    shutil.copy(tmp_path / "budget.db", tmp_path / "old.db")
    shop.run("2025-W02").raise_failures()
    shutil.copy(tmp_path / "old.db", tmp_path / "budget.db")
    with pytest.raises(BadLedger, match="knows of a charge for 2025-W02 that the ledger does not have"):
        shop.run("2025-W03")
    assert shop.charged == []


def test_a_ledger_that_was_charged_elsewhere_replaces_no_result(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path)
    shop.run("2025-W03").raise_failures()
    shutil.copy(tmp_path / "budget.db", tmp_path / "base.db")
    shop.run("2025-W04").raise_failures()
    shutil.copy(tmp_path / "base.db", tmp_path / "budget.db")
    sales(tmp_path / "sales.parquet", 12, without=2)  # another release of W04, whatever the noise
    shop.run("2025-W04", results=tmp_path / "other").raise_failures()
    before = {path.name: path.read_bytes() for path in (tmp_path / "jobs-results").iterdir()}
    with pytest.raises(BadLedger, match=r"has another result of job 'Pairs 2025-W04' than the ledger"):
        shop.run("2025-W05")
    assert {path.name: path.read_bytes() for path in (tmp_path / "jobs-results").iterdir()} == before
    assert shop.charged == ["2025-W03", "2025-W04"]


def test_a_charge_without_a_result_is_missed_in_an_older_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy was made before the run that stopped after its charge, and ends as the ledger did before that run."""
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path)
    last = str(shop.run("2025-W03")).splitlines()[-1]
    budget = Ledger(shop.url).budget("shop")
    assert last == f"ledger: 'shop' ends at entry 2 with the seal {budget.seal[:16]}…"
    shutil.copy(tmp_path / "budget.db", tmp_path / "old.db")

    def crash(*_arguments: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", crash)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W04")
    assert [path.name for path in (tmp_path / "jobs-results").glob("*.charged")]
    shutil.copy(tmp_path / "old.db", tmp_path / "budget.db")
    for window in ("2025-W04", "2025-W05"):
        with pytest.raises(BadLedger, match="knows of a charge for 2025-W04 that the ledger does not have"):
            shop.run(window)
    assert shop.charged == ["2025-W03"]
