"""Files that version 0.1.0 wrote: read today, with the same totals, the same results and the same predictions."""

from __future__ import annotations

import csv
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dpmine_cli.main import run
from support.cases import every

import dpmine
from dpmine.privacy import Guarantee, Neighbors

FILES = Path(__file__).with_name("files_of_0_1")
SCHEMAS = Path(dpmine.__file__).with_name("schemas")
LEDGER = "sqlite:///budget.db"
MODELS = {
    "logistic": "classify",
    "huber": "classify",
    "ridge": "accuracy-first",
    "first": "accuracy-first",
    **dict.fromkeys(["thresholds", "intervals", "stumps", "conjunctions", "separators"], "hypothesis"),
}
CLASSES = {
    "logistic": dpmine.PrivateLogisticRegression,
    "huber": dpmine.PrivateHuberSVC,
    "ridge": dpmine.AccuracyFirstRidge,
    "first": dpmine.AccuracyFirstLogistic,
}
JOBS = {"shop": ["Pairs", "Items"], "people": ["Ages", "Rich", "Spent", "Rule"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, as the working folder."""
    copied = shutil.copytree(FILES, tmp_path / "files")
    monkeypatch.chdir(copied)
    return copied


def document(name: str) -> Any:
    return json.loads((FILES / name).read_text(encoding="utf-8"))


def exact(amount: dict[str, Any]) -> tuple[Fraction, Fraction]:
    return Fraction(amount["epsilon_exact"]), Fraction(amount["delta_exact"])


@pytest.mark.usefixtures("folder")
def test_a_ledger_has_the_same_totals_and_history() -> None:
    ledger = dpmine.Ledger(LEDGER)
    totals, histories = document("totals.json")["datasets"], document("ledger.json")["datasets"]
    assert ledger.verify() == sum(each["entries"] for each in totals) == 26
    for budget, before in zip(ledger.budgets(), totals, strict=True):
        assert (budget.dataset, budget.unit, budget.seal) == (before["dataset"], before["unit"], before["seal"])
        assert (str(budget.neighbors), str(budget.parts)) == (before["neighbors"], before["parts"])
        for said in ("granted", "spent", "remaining"):
            amount = getattr(budget, said)
            assert (amount.epsilon, amount.delta) == exact(before[said])
    now = {each["dataset"]: each for each in json.loads(ledger.export())["datasets"]}
    for before in histories:
        after = now[before["dataset"]]
        assert {name: after[name] for name in before if name != "history"}.keys() == before.keys() - {"history"}
        for old, new in zip(before["history"], after["history"], strict=True):
            assert {name: new[name] for name in old} == old


@pytest.mark.usefixtures("folder")
def test_a_ledger_is_charged_on() -> None:
    ledger = dpmine.Ledger(LEDGER)
    promise = Guarantee(Fraction(1, 2), Fraction(0), Neighbors.REPLACE_ONE, unit="customer")
    ledger.charge("shop", promise, job="of today")
    assert ledger.budget("shop").spent.epsilon == Fraction(221, 2) + Fraction(1, 2)
    part = Guarantee(Fraction(3), Fraction(0), Neighbors.ADD_REMOVE, unit="customer")
    ledger.charge("regions/south", part, job="of today")
    assert ledger.budget("regions").spent.epsilon == 5  # north alone had as much: the parts are disjoint
    with pytest.raises(dpmine.BudgetExceeded):
        ledger.charge(
            "regions/north", Guarantee(Fraction(6), Fraction(0), Neighbors.ADD_REMOVE, unit="customer"), job=""
        )
    ledger.grant("shop", epsilon=301, delta="1e-3")
    assert ledger.verify() == 29
    assert run(["ledger", "verify", "--ledger", LEDGER]) == 0


@every("name", JOBS)
def test_stored_results_are_shown_and_not_charged_again(name: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        copied = shutil.copytree(FILES, tmp_path / name)
        patch.chdir(copied)
        spent = dpmine.Ledger(LEDGER).budget(name).spent
        batch = dpmine.report(f"{name}.toml", f"{name}.html", dry_run=True)
        assert str(batch).count("stored already, is charged nothing") == len(JOBS[name])
        report = dpmine.report(f"{name}.toml", f"{name}.html")
        assert [outcome.job.name for outcome in report.outcomes if outcome.reused] == JOBS[name]
        stored = [
            json.loads(path.read_text())["result"] for path in (copied / f"{name}-results").glob("*[0-9a-f].json")
        ]
        assert all(outcome.result is not None and outcome.result.document in stored for outcome in report.outcomes)
        assert dpmine.Ledger(LEDGER).budget(name).spent == spent
        assert all(job in (copied / f"{name}.html").read_text(encoding="utf-8") for job in JOBS[name])


@every(("name", "command"), list(MODELS.items()))
def test_models_predict_the_same(name: str, command: str, tmp_path: Path) -> None:
    written = tmp_path / f"{name}.csv"
    asked = [
        command,
        "--model",
        f"{FILES}/models/{name}.json",
        "--predict",
        f"{FILES}/people.parquet",
        "-o",
        str(written),
    ]
    assert run([*asked, "--quiet"]) == 0
    (head, *now), (head_before, *before) = rows(written), rows(FILES / "models" / f"{name}.predictions.csv")
    assert head == head_before
    numbers = [place for place, column in enumerate(head) if column == "probability" or name == "ridge"]
    for new, old in zip(now, before, strict=True):
        for place, entries in enumerate(zip(new, old, strict=True)):
            same, written_before = entries
            near = pytest.approx(float(written_before), rel=1e-12) if place in numbers else written_before
            assert (float(same) if place in numbers else same) == near


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@every("name", list(MODELS))
def test_models_are_read_by_their_classes(name: str) -> None:
    text = (FILES / "models" / f"{name}.json").read_text(encoding="utf-8")
    kind: Any = CLASSES.get(name, dpmine.HypothesisSelector)
    model, written = kind.from_json(text), json.loads(text)
    assert model.guarantee_.epsilon == Fraction(written["guarantee"]["epsilon_exact"])
    again = kind.from_json(model.to_json())
    assert again.guarantee_ == model.guarantee_


DOCUMENTS = {"itemsets": ["itemsets.json", "region.json"], "histogram": ["histogram.json"]}


@every("name", DOCUMENTS)
def test_documents_have_lost_no_key(name: str) -> None:
    """Programs read results by these keys."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    guarantee = json.loads((SCHEMAS / "guarantee.json").read_text(encoding="utf-8"))
    for file in DOCUMENTS[name]:
        found = document(file)
        assert found.keys() <= schema["properties"].keys()
        assert found["guarantee"].keys() <= guarantee["properties"].keys()


def test_a_catalogue_is_read(folder: Path) -> None:
    chosen = dpmine.top_itemset(
        "sales.parquet",
        size=1,
        unit="customer",
        item="item",
        catalogue="items.txt",
        mechanism="exponential",
        epsilon=20,
    )
    found = "".join(chosen.itemset or ())
    assert found in (folder / "items.txt").read_text(encoding="utf-8").split()


@pytest.mark.usefixtures("folder")
def test_a_unit_that_is_no_column_is_an_error_before_the_charge(capsys: pytest.CaptureFixture[str]) -> None:
    """In 0.1 it was an assertion, which is --one-row-per now."""
    asked = ["histogram", "people.parquet", "--column", "age", "--lower", "20", "--upper", "80", "--quiet"]
    ledger = ["--ledger", LEDGER, "--dataset", "members"]
    dpmine.Ledger(LEDGER).grant("members", epsilon=2, delta="1e-5")
    assert run([*asked, *ledger, "--unit", "person"]) == 2
    assert "There is no column 'person'" in capsys.readouterr().err
    assert run([*asked, *ledger, "--one-row-per", "person"]) == 0
    assert dpmine.Ledger(LEDGER).budget("members").unit == "person"
    assert dpmine.Ledger(LEDGER).budget("members").spent.epsilon == 1


@every(("file", "option"), [("people", "caution = 0"), ("people", 'refit = "all"'), ("shop", 'caution = "0"')])
def test_options_of_the_figures_are_named(file: str, option: str, tmp_path: Path) -> None:
    text = (FILES / f"{file}.toml").read_text(encoding="utf-8").replace("[[job]]\n", f"[[job]]\n{option}\n", 1)
    (tmp_path / "jobs.toml").write_text(text, encoding="utf-8")
    with pytest.raises(dpmine.BadParameter, match=f"no key '{option.partition(' ')[0]}' in job"):
        dpmine.report(tmp_path / "jobs.toml", dry_run=True)
