"""`dpmine.report`: what `dpmine report` does, from Python."""

from __future__ import annotations

import inspect
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import AGES, HOSTILE, PAIRS, Folder, fail, job
from support.cases import every

import dpmine
from dpmine.ledger.budget import Amount, first_grant
from dpmine.reporting.jobs.tables import HistogramJob

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def batch(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write(job(**PAIRS), job(**AGES))
    return made


def test_a_page_results_and_what_became_of_the_jobs(batch: Folder) -> None:
    done = dpmine.report(batch.path / "jobs.toml", str(batch.path / "page.html"))
    assert str(done).splitlines() == [
        first_grant("ledger", "shop", Amount(Fraction(100000), Fraction(1, 100))),
        "job 'Pairs': done",
        "job 'Ages': done",
        "ε = 97000, δ = 0.008 left for each customer",
        done.ledger_end,
    ]
    assert done.ledger_end.startswith("ledger: 'shop' ends at entry 3 with the seal ")
    assert [outcome.result is not None for outcome in done.outcomes] == [True, True]
    page = (batch.path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert HOSTILE not in page
    assert len(list((batch.path / "jobs-results").glob("*.json"))) == 2
    again = dpmine.report(batch.path / "jobs.toml", batch.path / "page.html")
    assert str(again).startswith("ledger: 3 entries, all as they were written; 'shop' ends at entry 3 with the seal ")
    assert str(again).splitlines()[1] == f"job 'Pairs': stored before, on {done.day.isoformat()}"
    assert again.hint in str(again).splitlines()
    assert not done.hint
    assert again.budget == done.budget


def test_a_dry_run_says_what_it_would_cost_and_writes_nothing(batch: Folder) -> None:
    before = sorted(batch.path.iterdir())
    checked = dpmine.report(batch.path / "jobs.toml", dry_run=True)
    assert str(checked).splitlines()[0] == "Pairs: a charge of up to ε = 2000, δ = 0.001"
    assert checked._repr_html_().startswith("<pre>Pairs: a charge")
    assert sorted(batch.path.iterdir()) == before


def test_results_may_be_kept_elsewhere(batch: Folder) -> None:
    dpmine.report(batch.path / "jobs.toml", batch.path / "page.html", results=batch.path / "kept")
    assert list((batch.path / "kept").glob("*.json"))
    assert not (batch.path / "jobs-results").exists()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (dpmine.BadData("no such thing"), dpmine.BadData),
        (dpmine.BudgetExceeded("no such thing"), dpmine.BudgetExceeded),
    ],
)
def test_a_failing_job_is_an_error_after_the_page(
    batch: Folder, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception]
) -> None:
    files = batch.path / "jobs.toml", batch.path / "page.html"
    with monkeypatch.context() as patch:
        patch.setattr(HistogramJob, "run", fail(error, after_charge=True))
        with pytest.raises(kind, match=r"1 of 2 jobs failed \('Ages'\)") as caught:
            dpmine.report(*files)
    assert caught.value.__notes__ == ["job 'Ages': no such thing"]
    assert "This job has no result." in files[1].read_text(encoding="utf-8")
    with pytest.raises(dpmine.BadData, match="1 of 2"):
        dpmine.report(*files)
    assert str(dpmine.report(*files, retry=True)).splitlines()[2] == "job 'Ages': done"


def test_a_bug_is_raised_as_it_is(batch: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(KeyError("kanarienvogel"), after_charge=False))
    with pytest.raises(KeyError):
        dpmine.report(batch.path / "jobs.toml", batch.path / "page.html")


BAD: dict[str, list[Any]] = {
    "jobs": [None, 7, "", "none.toml", []],
    "output": [None, 7, "", "none/page.html", "jobs.toml", "people.parquet", "budget.db-wal/x", "."],
    "results": [7, "", "none/kept", "."],
    "evidence": [7, "", "none/evidence", ".", "people.parquet"],
    "retry": [None, 0, "no"],
    "window": [7, "", "2026-W47"],
    "ledger_must_exist": [None, 1, "yes"],
    "dry_run": [None, 1, "yes"],
}


@every("name, value", [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_parameter_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Folder(tmp_path).write(job(**AGES))
    with pytest.raises((dpmine.BadParameter, dpmine.UnreadableFile)):
        dpmine.report(**{"jobs": "jobs.toml", "output": "page.html", name: value})
    assert not (tmp_path / "budget.db").exists()
    assert (tmp_path / "jobs.toml").read_text(encoding="utf-8").startswith("\n[budget]")


def test_every_parameter_is_tried() -> None:
    assert set(inspect.signature(dpmine.report).parameters) == set(BAD)


def test_nothing_found_is_said_in_the_stored_result(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    made.write(job(**PAIRS | {"epsilon": 0.001, "delta": 1e-9, "mechanism": "limited-domain"}))
    done = dpmine.report(tmp_path / "jobs.toml", tmp_path / "page.html")
    stored = done.outcomes[0].result
    assert stored is not None
    advice = json.loads(json.dumps(stored.document))["advice"]
    assert "The run was still charged. Try `size=" in advice
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "file says what it would have taken" in page
    assert "Try" not in page


def test_evidence_of_a_page_in_another_folder_is_charged_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command that the page names, with the same page, or with another one and the results folder."""
    monkeypatch.chdir(folder.path)
    (folder.path / "pages").mkdir()
    folder.write(job(**AGES))
    dpmine.report("jobs.toml", "pages/report.html")
    entries = len(folder.ledger.history("shop"))
    assert "where this page was made and with the same PAGE" in (folder.path / "pages" / "report.html").read_text(
        "utf-8"
    )
    for page, results in (("pages/report.html", None), ("other.html", "pages/jobs-results")):
        proof = folder.path / f"evidence of {page[:5]}"
        dpmine.report("jobs.toml", page, results=results, evidence=proof)
        assert dpmine.verify_evidence(proof).results == 1
    assert len(folder.ledger.history("shop")) == entries
