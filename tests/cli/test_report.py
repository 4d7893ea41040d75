"""dpmine report: a page, results beside it, exit statuses, and what is said where."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from dpmine_cli import messages
from reporting.jobs import AGES, HOSTILE, PAIRS, RULE, Folder, job
from reporting.schedules.weeks import Shop, sales
from support.command_line import assert_one_error, outcome_of
from support.schemas import problems

import dpmine
from dpmine.ledger.budget import Amount, first_grant
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.evidence import folder
from dpmine.reporting.jobs.tables import HistogramJob

if TYPE_CHECKING:
    from pathlib import Path


OTHER = Guarantee(Fraction(10000), Fraction(0), Neighbors.REPLACE_ONE, unit="customer")


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    made = Folder(tmp_path)
    made.write(job(**PAIRS), job(**AGES), job(**RULE))
    return made


def test_a_page_and_its_results(batch: Folder, run: outcome_of) -> None:
    outcome = run("report", "jobs.toml", "-o", "shop.html")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.lines == [
        f"dpmine: {first_grant('ledger', 'shop', Amount(Fraction(100000), Fraction(1, 100)))}",
        "dpmine: job 'Pairs': done",
        "dpmine: job 'Ages': done",
        "dpmine: job 'Rule': done",
        "dpmine: ε = 96000, δ = 0.008 left for each customer",
        f"dpmine: ledger: {Ledger('sqlite:///budget.db').budget('shop').end}",
        'dpmine: the page names no owner of the data: to name one, write owner = "…" atop the job file',
        "dpmine: the page is 'shop.html', the results are in 'jobs-results'",
    ]
    page = (batch.path / "shop.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert HOSTILE not in page
    assert len(list((batch.path / "jobs-results").glob("*.json"))) == 4  # one of them is a model
    again = run("report", "jobs.toml", "-o", "shop.html")
    assert again.lines[1].startswith("dpmine: job 'Pairs': stored before, on 20")
    assert (
        "dpmine: A stored result is of the data of its day; with another --results folder its job is charged again."
        in again.lines
    )
    assert again.lines[-1] == outcome.lines[-1]


def test_defaults(batch: Folder, run: outcome_of) -> None:
    assert run("report", "jobs.toml", "--quiet").err == ""
    assert (batch.path / "report.html").is_file()
    assert (batch.path / "jobs-results").is_dir()


def test_results_may_be_kept_elsewhere(batch: Folder, run: outcome_of) -> None:
    assert run("report", "jobs.toml", "--results", "kept").status == 0
    assert sorted(path.name for path in batch.path.iterdir() if path.is_dir()) == ["kept"]


def test_results_are_not_kept_among_the_inputs(batch: Folder, run: outcome_of) -> None:
    (batch.path / "data").mkdir()
    (batch.path / "people.parquet").rename(batch.path / "data" / "people.parquet")
    batch.write(job(**AGES | {"input": "data"}))
    line = assert_one_error(run("report", "jobs.toml", "--results", "data/results"))
    assert "--results is a new file among the inputs" in line
    assert not (batch.path / "budget.db").exists()


def test_a_dry_run_charges_nothing(batch: Folder, run: outcome_of) -> None:
    outcome = run("report", "jobs.toml", "--dry-run")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "Results are kept in 'jobs-results'.",
        "Pairs: a charge of up to ε = 2000, δ = 0.001",
        "Ages: a charge of up to ε = 1000, δ = 0.001",
        "Rule: a charge of up to ε = 1000, δ = 0",
        "All together: up to ε = 4000, δ = 0.002 for each customer; the budget is yet to be granted.",
    ]
    assert not (batch.path / "budget.db").exists()
    assert not (batch.path / "report.html").exists()
    run("report", "jobs.toml")
    assert run("report", "jobs.toml", "--dry-run").out.splitlines()[1] == "Pairs: stored already; no charge"


def test_refused_budget(batch: Folder, run: outcome_of) -> None:
    batch.write(job(**AGES), epsilon="1")
    outcome = run("report", "jobs.toml")
    assert outcome.status == 3
    assert outcome.lines[0].startswith("dpmine: error: The jobs are charged up to ε = 1000")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (dpmine.BadData("no such thing"), 2, "dpmine: job 'Ages': no such thing"),
        (dpmine.BudgetExceeded("spent"), 3, "dpmine: job 'Ages': spent"),
        (KeyError("kanarienvogel"), 1, "dpmine: job 'Ages': a bug in dpmine (KeyError): please report it"),
    ],
)
def test_a_failing_job(
    batch: Folder, run: outcome_of, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, said: str
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(HistogramJob, "run", fail)
    outcome = run("report", "jobs.toml")
    assert outcome.status == status
    assert outcome.lines[2].startswith(said)
    assert sum(line.startswith("dpmine: error: ") for line in outcome.lines) == 1
    assert "kanarienvogel" not in outcome.err
    assert "dpmine: ε = 97000, δ = 0.009 left for each customer" in outcome.lines
    page = (batch.path / "report.html").read_text(encoding="utf-8")
    assert "This job has no result." in page
    assert "no such thing" not in page
    assert "age is 50 or more" in page


def test_what_is_stored_needs_no_input(batch: Folder, run: outcome_of) -> None:
    run("report", "jobs.toml")
    for name in ("sales", "people"):
        (batch.path / f"{name}.parquet").unlink()
    assert run("report", "jobs.toml").status == 0


@pytest.mark.usefixtures("batch")
def test_retry(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = HistogramJob.run

    def fail(*arguments: Any, **options: Any) -> None:
        honest(*arguments, **options)
        raise dpmine.BadData("no")

    with monkeypatch.context() as patch:
        patch.setattr(HistogramJob, "run", fail)
        run("report", "jobs.toml")
    _, _, ages, *_ = run("report", "jobs.toml", "--dry-run").out.splitlines()
    assert ages == "Ages: begun before, without a result; no charge"
    assert "give --retry" in run("report", "jobs.toml").lines[2]
    assert run("report", "jobs.toml", "--retry").status == 0


BAD = [
    (["jobs.toml", "-o", "none/report.html"], "Cannot write to 'none/report.html' (No such file or directory)"),
    (["jobs.toml", "-o", "jobs.toml/report.html"], "Cannot write to 'jobs.toml/report.html' (Not a directory)"),
    (["jobs.toml", "--evidence", "none/kept"], "Cannot write to 'none/kept' (No such file or directory)"),
    (["jobs.toml", "-o", "sales.parquet"], "--output names one of the input files"),
    (["jobs.toml", "-o", "jobs.toml"], "--output names the job file"),
    (["jobs.toml", "-o", "report.pdf"], "The page is HTML only: end its name in .html"),
    (["jobs.toml", "--dry-run", "-o", "jobs.toml"], "--output names the job file"),
    (["jobs.toml", "--results", ".", "-o", "report.html"], "would lie among the results"),
    (
        ["jobs.toml", "--results", "none/kept"],
        "Cannot write to 'none/kept' (No such file or directory): name a folder that can be written with --results.",
    ),
]


@pytest.mark.parametrize(("arguments", "hint"), BAD)
def test_bad_requests(batch: Folder, run: outcome_of, arguments: list[str], hint: str) -> None:
    outcome = run("report", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.lines) == 1
    assert hint in outcome.err
    assert not (batch.path / "budget.db").exists()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    sales(tmp_path / "sales.parquet", 6)
    made = Shop(tmp_path)
    made.schedule |= {"start": "2025-W02"}
    return made


def test_a_window_of_a_schedule(shop: Shop, run: outcome_of) -> None:
    shop.schedule |= {"runs": 4}
    shop.write()
    checked = run("report", "jobs.toml", "--window", "2025-W04", "--dry-run")
    assert checked.out.splitlines()[1:4] == [
        f"Pairs 2025-W0{week}: a charge of up to ε = 13000, δ = 0.013" for week in (2, 3, 4)
    ]
    done = run("report", "jobs.toml", "--window", "2025-W04")
    assert done.status == 0
    assert done.lines[0].startswith("dpmine: new ledger: granted ε = 52000, δ = 0.052 to 'shop'")
    assert done.lines[1:] == [
        *(f"dpmine: job 'Pairs 2025-W0{week}': done" for week in (2, 3, 4)),
        "dpmine: ε = 13000, δ = 0.013 left for each customer",
        f"dpmine: ledger: {Ledger(shop.url).budget('shop').end}",
        'dpmine: the page names no owner of the data: to name one, write owner = "…" atop the job file',
        "dpmine: the page is 'report.html', the results are in 'jobs-results'",
    ]
    again = run("report", "jobs.toml", "--window", "2025-W04")
    assert (again.status, again.lines[1].partition(", ")[0]) == (0, "dpmine: job 'Pairs 2025-W04': stored before")
    over = run("report", "jobs.toml", "--window", "2025-W06")
    assert over.status == 3
    assert "2025-W06 is behind the last one" in over.err
    assert "is written like 2026-W47" in assert_one_error(run("report", "jobs.toml", "--window", "2025-11"))
    dpmine.Ledger(shop.url).charge("shop", OTHER, job="other")
    gone = run("report", "jobs.toml", "--window", "2025-W05")
    assert gone.status == 3
    assert "The budget of 'shop' does not allow this" in gone.err


def test_a_dry_run_as_json(shop: Shop, run: outcome_of) -> None:
    """Jobs, charges, totals and windows; before the grant, after a run, and where it is too early for a window."""
    shop.schedule |= {"runs": 4, "ready": "{window}.done"}
    shop.write()
    for week in (2, 3):
        (shop.path / f"2025-W0{week}.done").touch()
    asked = ["report", "jobs.toml", "--dry-run", "--format", "json", "--window"]
    found = json.loads(run(*asked, "2025-W03").out)
    assert problems("report_dry_run", found) == []
    assert [(each["name"], each["window"], each["charge"]["epsilon"]) for each in found["jobs"]] == [
        (f"Pairs 2025-W0{week}", f"2025-W0{week}", 13000) for week in (2, 3)
    ]
    assert (found["to_charge"]["epsilon"], found["remaining_afterwards"]["epsilon"]) == (26000, 26000)
    assert (found["granted"], found["windows"]["left_afterwards"], found["windows"]["waiting"]) == (False, 2, None)
    assert run("report", "jobs.toml", "--window", "2025-W03").status == 0
    found = json.loads(run(*asked, "2025-W03").out)
    assert problems("report_dry_run", found) == []
    assert [(each["status"], each["charge"]) for each in found["jobs"]] == [("stored", None)]
    assert (found["granted"], found["to_charge"]["epsilon"], found["windows"]["left_afterwards"]) == (True, 0, 2)
    assert "--format is for --dry-run" in assert_one_error(run("report", "jobs.toml", "--format", "json"))


def test_a_dry_run_ends_with_the_status_of_the_run(
    shop: Shop, run: outcome_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too early for a window, a window that was lost, and what is typed about it."""
    shop.schedule |= {"runs": 5, "ready": "{window}.done", "start": "2025-W02"}
    shop.write()
    (shop.path / "2025-W02.done").touch()
    asked = ["report", "jobs.toml", "--window"]
    early = run(*asked, "2025-W03", "--dry-run", "--format", "json")
    assert early.status == 4
    assert "there is no '2025-W03.done'" in json.loads(early.out)["windows"]["waiting"]
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", lambda *_, **__: 1 / 0)
        assert run(*asked, "2025-W02").status not in {0, 4}
    (shop.path / "2025-W03.done").touch()
    for window in ("2025-W02", "2025-W03"):
        dry = run(*asked, window, "--dry-run")
        assert dry.status == 2
        assert "--retry" in dry.lines[-1]
    assert "--window 2025-W02 with --retry" in dry.out
    assert run(*asked, "2025-W03").status == 2


def test_a_dry_run_as_json_where_no_window_is_run(shop: Shop, run: outcome_of) -> None:
    """It is too early for all, before the grant and after it; then the budget is exhausted by others."""
    shop.schedule |= {"runs": 4, "ready": "{window}.done", "start": "2025-W02"}
    shop.write()
    asked = ["report", "jobs.toml", "--window", "2025-W02"]
    early = run(*asked, "--dry-run", "--format", "json")
    found = json.loads(early.out)
    assert problems("report_dry_run", found) == []
    assert (early.status, found["jobs"], found["unit"], found["granted"]) == (4, [], None, False)
    assert (found["to_charge"]["epsilon"], found["windows"]["left_afterwards"]) == (0, 4)
    assert "there is no '2025-W02.done'" in found["windows"]["waiting"]
    assert "No window is run; " in run(*asked, "--dry-run").out
    early = run(*asked)
    assert (early.status, early.out, len(early.lines)) == (4, "", 1)
    (shop.path / "2025-W02.done").touch()
    ledger = dpmine.Ledger(shop.url)
    total = ledger.grant("shop", epsilon=52000, delta="0.9", unit="customer").granted
    dpmine.select([9], mechanism="exponential", epsilon=total.epsilon, unit="customer", ledger=ledger, dataset="shop")
    exhausted = run(*asked, "--dry-run", "--format", "json")
    found = json.loads(exhausted.out)
    assert problems("report_dry_run", found) == []
    assert (exhausted.status, found["jobs"], found["unit"]) == (3, [], "customer")
    assert found["windows"]["rejected"].startswith("The budget of 'shop' does not allow this")


def test_a_dry_run_as_json_without_a_schedule(batch: Folder, run: outcome_of) -> None:
    found = json.loads(run("report", "jobs.toml", "--dry-run", "--format", "json").out)
    assert problems("report_dry_run", found) == []
    assert [each["status"] for each in found["jobs"]] == ["to_run"] * 3
    assert (found["windows"], found["results"], found["granted"]) == (None, "jobs-results", False)
    assert not (batch.path / "budget.db").exists()


def test_windows_that_the_budget_allows_are_on_the_page(tmp_path: Path, shop: Shop, run: outcome_of) -> None:
    shop.schedule |= {"runs": 4}
    shop.write()
    ledger = dpmine.Ledger(shop.url)
    ledger.grant("shop", epsilon=52000, delta=0.052, unit="customer")
    ledger.charge("shop", OTHER, job="other")
    done = run("report", "jobs.toml", "--window", "2025-W05")
    assert done.status == 3
    assert done.lines[0].startswith("dpmine: ledger: 2 entries, all as they were written; 'shop' ends at entry 2 with ")
    assert done.lines[1:4] == [f"dpmine: job 'Pairs 2025-W0{week}': done" for week in (2, 3, 4)]
    assert "2025-W05 and later windows have no result: The budget of 'shop' does not allow this" in done.lines[-1]
    assert "Pairs 2025-W04" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_too_early_for_a_window(tmp_path: Path, shop: Shop, run: outcome_of) -> None:
    shop.schedule |= {"ready": "done-{window}"}
    shop.write()
    for dry in ([], ["--dry-run"]):
        early = run("report", "jobs.toml", "--window", "2025-W03", *dry)
        assert (early.status, len(early.out.splitlines()), len(early.lines)) == (4, 3 * len(dry), 1)
        text = "2025-W02 is not run yet, and not charged: there is no 'done-2025-W02'. Nor is 2025-W03."
        assert early.lines == [f"dpmine: error: {text}"]
    assert not (tmp_path / "budget.db").exists()
    (tmp_path / "done-2025-W02").touch()
    first = run("report", "jobs.toml", "--window", "2025-W03", "--quiet")
    assert first.status == 4
    assert [line.partition(":")[0] for line in first.lines] == ["dpmine", "dpmine"]
    assert first.lines[0] == "dpmine: 2025-W03 is not run yet, and not charged: there is no 'done-2025-W03'."
    assert shop.charged == ["2025-W02"]
    assert "Pairs 2025-W02" in (tmp_path / "report.html").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------- evidence, and the schema


def test_evidence_is_written_and_verified(batch: Folder, run: outcome_of) -> None:
    outcome = run("report", "jobs.toml", "--evidence", "evidence")
    assert outcome.status == 0
    said, _, fingerprint = outcome.lines[-1].rpartition(" ")
    assert said == "dpmine: the evidence is in 'evidence'; keep its fingerprint elsewhere:"
    found = run("report", "--verify-evidence", "evidence")
    assert (found.status, found.err) == (0, "")
    assert len(found.out.splitlines()) == 1
    assert f"Fingerprint {fingerprint};" in found.out
    (batch.path / "evidence" / "ledger.json").write_bytes(b"{}")
    line = assert_one_error(run("report", "--verify-evidence", "evidence"))
    assert "'evidence/ledger.json' is not as it was written" in line


def test_a_dry_run_looks_at_the_folder_of_evidence(batch: Folder, run: outcome_of) -> None:
    assert run("report", "jobs.toml", "--dry-run", "--evidence", "evidence").status == 0
    assert not (batch.path / "evidence").exists()
    (batch.path / "evidence").mkdir()
    assert "is never written over" in assert_one_error(run("report", "jobs.toml", "--evidence", "evidence"))
    assert not (batch.path / "budget.db").exists()


def test_an_interrupt_leaves_no_temporary_folder(
    batch: Folder, run: outcome_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        [temporary] = batch.path.glob(".dpmine-*.tmp")
        for action in messages._undo:
            action()  # what a signal does before the process ends
        assert not temporary.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "_manifest", interrupted)
    assert run("report", "jobs.toml", "--evidence", "evidence").status == 130
    assert not (batch.path / "evidence").exists()


@pytest.mark.usefixtures("batch")
def test_the_schema_of_job_files(run: outcome_of) -> None:
    outcome = run("report", "--schema")
    assert (outcome.status, outcome.err) == (0, "")
    assert json.loads(outcome.out)["title"] == "dpmine job file"


@pytest.mark.usefixtures("batch")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--schema", "jobs.toml"],
        ["--schema", "--verify-evidence", "evidence"],
        ["--verify-evidence", "evidence", "--dry-run"],
        ["--verify-evidence", "evidence", "--evidence", "more"],
    ],
)
def test_what_runs_nothing_stands_alone(run: outcome_of, arguments: list[str]) -> None:
    assert "run nothing: give one of them alone." in assert_one_error(run("report", *arguments))


@pytest.mark.usefixtures("batch")
def test_a_job_file_is_needed_to_run(run: outcome_of) -> None:
    assert "JOBS.toml is missing: the job file" in assert_one_error(run("report", "--dry-run"))
