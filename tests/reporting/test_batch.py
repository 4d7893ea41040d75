"""Batches: what is released, stored, reused and charged, also where jobs fail."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from filelock import FileLock
from reporting.jobs import AGES, ALL, FREQUENT, HOSTILE, PAIRS, RULE, TARGET, WEIGHTS, fail, job

import dpmine
from dpmine.errors import BadData, UnreadableFile
from dpmine.io.atomic import write_atomically
from dpmine.privacy import ExPostGuarantee
from dpmine.reporting.jobs.tables import HistogramJob

if TYPE_CHECKING:
    from pathlib import Path

    from reporting.jobs import Folder

    from dpmine.reporting.batch import Report

EVERY = [job(**options) for options in ALL.values()]


def kinds(folder: Folder) -> list[str]:
    return [entry.kind for entry in folder.ledger.history("shop")]


def documents(report: Report) -> dict[str, Any]:
    return {outcome.job.name: outcome.result.document for outcome in report.outcomes if outcome.result}


def test_every_kind(folder: Folder) -> None:
    report = folder.run(*EVERY)
    assert [outcome.error for outcome in report.outcomes] == [None] * len(ALL)
    found = documents(report)
    pairs = found["Pairs"]["itemsets"]
    assert {tuple(row["items"]) for row in pairs} == {(HOSTILE, "bread"), (HOSTILE, "butter")} or {
        tuple(row["items"]) for row in pairs
    } < {(HOSTILE, "bread"), (HOSTILE, "butter"), ("bread", "butter")}
    assert [row["noisy_support"] for row in pairs] == [30, 30]
    assert found["Pairs"]["rules"][0]["confidence"] == 1
    assert found["Ages"]["column"] == "age"
    assert sum(found["Ages"]["counts"]) == pytest.approx(3000, abs=1)
    assert found["Weights"]["format"] == "dpmine linear classifier"
    assert found["Rule"]["hypothesis"] == "age >= 50"
    assert found["Target"]["reached"] in {True, False}


def test_charges_are_what_was_guaranteed(folder: Folder) -> None:
    report = folder.run(*EVERY)
    spent = folder.ledger.budget("shop").spent
    charges = [outcome.charge for outcome in report.outcomes]
    assert spent.epsilon == sum(charge.epsilon for charge in charges)
    assert spent.delta == sum(charge.delta for charge in charges)
    assert [charge.epsilon for charge in charges[:4]] == [2000, 1000, 1000, 1000]
    target = report.outcomes[-1].result
    assert target is not None
    assert isinstance(target.guarantee, ExPostGuarantee)
    assert charges[-1].epsilon == target.guarantee.ex_post_epsilon < 5000
    assert kinds(folder) == ["grant", *["charge"] * (len(ALL) - 1), "reserve", "settle"]


def test_a_second_run_costs_nothing_and_says_the_same(folder: Folder) -> None:
    first, second = folder.run(*EVERY), folder.run(*EVERY)
    assert [outcome.reused for outcome in first.outcomes] == [False] * len(ALL)
    assert [outcome.reused for outcome in second.outcomes] == [True] * len(ALL)
    assert documents(first) == documents(second)
    assert [one.charge for one in first.outcomes] == [two.charge for two in second.outcomes]
    assert len(kinds(folder)) == 9


def test_a_stored_result_is_found_under_another_name_and_without_its_input(folder: Folder) -> None:
    folder.run(job(**AGES))
    (folder.path / "people.parquet").unlink()
    report = folder.run(job(**AGES | {"name": "Years"}))
    assert report.outcomes[0].reused
    assert len(kinds(folder)) == 2


@pytest.mark.parametrize(
    "changes", [{"epsilon": 999}, {"bins": [4]}, {"column": "hours"}, {"upper": 81}, {"train_share": 0.4}]
)
def test_a_changed_job_is_another(folder: Folder, changes: dict[str, Any]) -> None:
    folder.run(job(**AGES))
    report = folder.run(job(**{**AGES, **changes}))
    assert not report.outcomes[0].reused
    assert len(kinds(folder)) == 3


def test_another_data_set_or_folder_is_another_run(folder: Folder) -> None:
    folder.run(job(**AGES))
    assert not folder.run(job(**AGES), dataset='"mall"').outcomes[0].reused
    for file in (folder.path / "results").glob("ages-*.json"):
        file.unlink()
    assert not folder.run(job(**AGES)).outcomes[0].reused


def test_files(folder: Folder) -> None:
    report = folder.run(*EVERY)
    for outcome in report.outcomes:
        assert outcome.result is not None
        name, *tables = outcome.result.files
        stored = json.loads((folder.path / "results" / name).read_text(encoding="utf-8"))
        assert stored["result"] == outcome.result.document
        assert stored["guarantee"] == outcome.result.guarantee.to_dict()
        assert stored["job"]["kind"] == outcome.job.kind
        models = [table for table in tables if table.endswith("-model.json")]
        assert len(tables) == (1 if outcome.job.name == "Ages" else 2)
        assert len(models) == (outcome.job.name in {"Weights", "Line", "Rule", "Target"})
        for table in set(tables) - set(models):
            assert pq.read_table(folder.path / "results" / table).num_rows > 0
    assert not list((folder.path / "results").glob(".dpmine-*"))


def test_models_can_be_used(folder: Folder) -> None:
    report = folder.run(job(**RULE))
    assert report.outcomes[0].result is not None
    name = report.outcomes[0].result.files[-1]
    selector = dpmine.HypothesisSelector.from_json((folder.path / "results" / name).read_text(encoding="utf-8"))
    assert selector.predict(pd.DataFrame({"age": [20.0, 70.0]})).tolist() == [False, True]


def full(*_arguments: object, **_options: object) -> bytes:
    raise OSError(28, "No space left")


@pytest.mark.parametrize("error", [BadData("no"), ValueError("kanarienvogel"), MemoryError()])
def test_a_failing_job_does_not_lose_the_others(
    folder: Folder, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job(**AGES), job(**AGES | {"name": "Hours", "column": "hours"})]
    monkeypatch.setattr(HistogramJob, "run", fail(error, after_charge=True))
    report = folder.run(*jobs)
    assert [outcome.error for outcome in report.outcomes] == [error, None]
    assert report.outcomes[0].result is None
    assert report.outcomes[0].charge.epsilon == 1000
    assert report.outcomes[1].result is not None
    assert len(kinds(folder)) == 3

    again = folder.run(*jobs)  # neither is run, or charged for
    assert "begun before" in str(again.outcomes[0].error)
    assert again.outcomes[1].reused
    assert len(kinds(folder)) == 3

    monkeypatch.undo()
    retried = folder.run(*jobs, retry=True)
    assert [outcome.error for outcome in retried.outcomes] == [None, None]
    assert len(kinds(folder)) == 4
    assert folder.run(*jobs).outcomes[0].reused
    for file in (folder.path / "results").iterdir():
        assert b"kanarienvogel" not in file.read_bytes()


@pytest.mark.parametrize("error", [dpmine.BudgetExceeded("no"), UnreadableFile("gone")])
def test_what_was_not_charged_is_not_remembered(
    folder: Folder, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(error, after_charge=False))
    (outcome,) = folder.run(job(**AGES)).outcomes
    assert outcome.error is error
    assert not outcome.charged
    assert outcome.charge.epsilon == 0
    monkeypatch.undo()
    assert folder.run(job(**AGES)).outcomes[0].error is None


def test_what_was_charged_for_is_shown_where_it_cannot_be_stored(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpmine.reporting.store.parquet_bytes", full)
    (outcome,) = folder.run(job(**AGES)).outcomes
    assert isinstance(outcome.error, UnreadableFile)
    assert outcome.result is not None
    assert outcome.result.files == ()


class Disk:
    """Files that are written whole, while there is room for them."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.room = folder, 2**30
        patch.setattr("dpmine.reporting.store.write_atomically", self.write)

    def used(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def fill(self) -> None:
        """Other programs take all that is left."""
        self.room = self.used()

    def write(self, target: Path, content: bytes, **options: Any) -> None:
        if self.used() + len(content) > self.room:
            full()
        write_atomically(target, content, **options)


def filling(disk: Disk) -> Any:
    run = HistogramJob.run

    def filled(self: HistogramJob, payer: Any, **options: Any) -> Any:
        released = run(self, payer, **options)
        disk.fill()
        return released

    return filled


def test_a_disk_that_fills_up_during_a_job_loses_no_result(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(folder.path / "results", monkeypatch)
    monkeypatch.setattr(HistogramJob, "run", filling(disk))
    jobs = [job(**AGES), job(**AGES | {"name": "Hours", "column": "hours"})]
    ages, hours = folder.run(*jobs).outcomes
    assert ages.error is None
    assert isinstance(hours.error, UnreadableFile)  # there was no room for it before it was charged
    assert not hours.charged
    assert kinds(folder) == ["grant", "charge"]
    assert [outcome.reused for outcome in folder.run(jobs[0]).outcomes] == [True]
    assert not [path.name for path in disk.folder.iterdir() if path.name == ".dpmine.room"]


def test_a_result_that_is_only_on_a_page_is_not_dropped_by_the_next(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.reporting.store.parquet_bytes", full)
        assert folder.run(job(**AGES)).outcomes[0].result is not None
    with pytest.raises(BadData, match=r"job 'Ages': .*only the page of that run has it.*`retry=True`"):
        folder.run(job(**AGES))
    assert kinds(folder) == ["grant", "charge"]
    assert folder.run(job(**AGES), retry=True).outcomes[0].error is None
    assert folder.run(job(**AGES)).outcomes[0].reused


def test_marks_of_failed_jobs_are_their_owners_alone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """That a job failed may depend on the data, and results folders are shared."""
    monkeypatch.setattr(HistogramJob, "run", fail(BadData("no"), after_charge=True))
    folder.run(job(**AGES))
    (mark,) = (folder.path / "results").glob("*.charged")
    assert mark.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    ["{}", "not json", '{"format": "dpmine job result"}', None],
    ids=["empty", "text", "format only", "other job"],
)
def test_a_damaged_result_is_not_run_again_in_silence(folder: Folder, damage: str | None) -> None:
    folder.run(job(**AGES))
    (file,) = (folder.path / "results").glob("ages-*.json")
    text = damage or file.read_text(encoding="utf-8").replace('"column": "age"', '"column": "hours"', 1)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadData, match=r"job 'Ages': .*delete it to run the job again, which is charged again"):
        folder.run(job(**AGES))
    assert len(kinds(folder)) == 2


def test_a_run_that_died_is_not_charged_for_again_in_silence(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(KeyboardInterrupt(), after_charge=True))
    with pytest.raises(KeyboardInterrupt):
        folder.run(job(**AGES))
    monkeypatch.undo()
    assert "begun before" in str(folder.run(job(**AGES)).outcomes[0].error)
    assert len(kinds(folder)) == 2
    assert folder.run(job(**AGES), retry=True).outcomes[0].error is None
    assert not list((folder.path / "results").glob("*.begun"))


def test_a_ledger_that_was_lost_is_missed(folder: Folder) -> None:
    folder.run(job(**AGES))
    (folder.path / "budget.db").unlink()
    with pytest.raises(dpmine.BadLedger, match=r"were run on 'shop', which the ledger does not know"):
        folder.run(job(**AGES), job(**RULE))
    assert not (folder.path / "budget.db").exists()


def test_a_grant_of_somebody_else_stays(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Granted between the check and the run: it is not raised, and the check is made again."""
    known = dpmine.Ledger.known
    granted: list[int] = []

    def too_late(ledger: dpmine.Ledger, dataset: str) -> Any:
        found = known(ledger, dataset)
        if not granted:
            granted.append(1)
            ledger.grant("shop", epsilon=500, delta=0.01)
        return found

    monkeypatch.setattr(dpmine.Ledger, "known", too_late)
    with pytest.raises(dpmine.BudgetExceeded, match="the ledger grants ε = 500"):
        folder.run(job(**AGES))
    assert kinds(folder) == ["grant"]


@pytest.mark.parametrize("labels", [["a\nb", "c"], ["\u202ea", "b"], ["x\x00", "x"]])
@pytest.mark.parametrize("options", [WEIGHTS, RULE])
def test_odd_labels_lose_no_result(folder: Folder, labels: list[str], options: dict[str, Any]) -> None:
    table = pq.read_table(folder.path / "people.parquet")
    rich = [labels[bool(value)] for value in table.column("rich").to_pylist()]
    place = table.column_names.index("rich")
    pq.write_table(table.set_column(place, "rich", [rich]), folder.path / "people.parquet")
    (outcome,) = folder.run(job(**options)).outcomes
    assert outcome.error is None
    assert outcome.result is not None
    assert all(label.isprintable() for label in outcome.result.document["classes"])


def test_classes_may_be_given(folder: Folder) -> None:
    report = folder.run(job(**WEIGHTS | {"classes": [False, True]}))
    assert documents(report)["Weights"]["classes"] == [False, True]


def test_features_are_scaled_by_bounds(folder: Folder) -> None:
    bounds = {"lower": 0, "upper": "100, 80"}
    report = folder.run(job(**{name: value for name, value in WEIGHTS.items() if name != "norm_bound"} | bounds))
    assert documents(report)["Weights"]["feature_bounds"] == {"lower": [0, 0], "upper": [100, 80]}


def test_one_question_is_one_job(folder: Folder) -> None:
    folder.run(job(**WEIGHTS))
    same = {**WEIGHTS, "features": ["age", "hours"], "neighbors": "replace-one"}
    assert folder.run(job(**same)).outcomes[0].reused


def test_a_full_disk_is_found_before_anything_is_charged(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.reporting.store.require_writable", full)
    with pytest.raises(UnreadableFile, match="is full: free some space"):
        folder.run(job(**AGES))
    assert not (folder.path / "budget.db").exists()


def test_two_runs_in_one_folder(folder: Folder) -> None:
    (folder.path / "results").mkdir()
    with (
        FileLock(folder.path / "results" / ".dpmine.lock"),
        pytest.raises(UnreadableFile, match="Another run works in"),
    ):
        folder.run(job(**AGES))
    folder.run(job(**AGES))


def test_a_folder_that_cannot_be_made(folder: Folder) -> None:
    (folder.path / "results").write_text("a file")
    with pytest.raises(UnreadableFile, match="Cannot write to"):
        folder.run(job(**AGES))
    assert not (folder.path / "budget.db").exists()


def test_the_grant_is_the_file_s(folder: Folder) -> None:
    folder.run(job(**RULE))
    budget = folder.ledger.budget("shop")
    assert (str(budget.granted.epsilon), str(budget.granted.delta), budget.unit) == ("100000", "1/100", "customer")
    folder.run(job(**WEIGHTS), epsilon="5000")
    assert folder.ledger.budget("shop").granted.epsilon == 100_000


def test_nothing_stands_out(folder: Folder) -> None:
    report = folder.run(job(**PAIRS | {"epsilon": 0.001, "mechanism": "large-margin", "top": 1}))
    (document,) = documents(report).values()
    assert document["itemsets"] == []
    assert "needs the best" in document["advice"] or "gap" in document["advice"]
    assert "rules" not in document


def test_rules_are_a_table_with_columns_also_where_there_is_none(folder: Folder) -> None:
    report = folder.run(job(**FREQUENT | {"name": "Items", "max_size": 1}), job(**FREQUENT))
    tables = [name for each in report.outcomes if each.result for name in each.result.files if "-rules." in name]
    none, some = (pq.read_table(folder.path / "results" / name) for name in tables)
    assert none.num_rows == 0 < some.num_rows
    assert none.schema.equals(some.schema)


def test_a_target_that_is_not_reached(folder: Folder) -> None:
    report = folder.run(job(**TARGET | {"epsilon_max": 20000, "excess_risk": 0.01, "slack": 2}))
    (outcome,) = report.outcomes
    assert outcome.error is None or "excess_risk" in str(outcome.error)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EIO])
def test_why_a_results_folder_cannot_be_written(folder: Folder, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail_to_write(*_arguments: Any, **_options: Any) -> None:
        raise OSError(number, "private words of the system")

    monkeypatch.setattr("dpmine.reporting.store.require_writable", fail_to_write)
    with pytest.raises(UnreadableFile) as found:
        folder.run(job(**AGES))
    assert f"results' ({os.strerror(number)}): name a folder" in str(found.value)
    assert "private" not in str(found.value)
