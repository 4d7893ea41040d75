"""dpmine audit, of our mechanisms and of targets by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from dpmine_cli import main
from support.cases import every

from dpmine.auditing import AuditRow, run
from dpmine.auditing.audit_report import AuditReport
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from pathlib import Path

REFUTED = AuditReport((AuditRow("exponential", Neighbors.REPLACE_ONE, 1.0, 0.0, 0.2, 2.0),))


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["audit", "--mechanism", "bounded-growth", "--epsilon", "1/2", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [(row["mechanism"], row["epsilon"], row["holds"]) for row in rows] == [("bounded_growth", 0.5, True)] * 2


def test_text_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result, picture = tmp_path / "audit.json", tmp_path / "audit.svg"
    assert main.run(["audit", "--mechanism", "exponential", "-o", str(result), "--plot", str(picture)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(result.read_text(encoding="utf-8"))["stages"] == []
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert main.run(["audit", "--mechanism", "exponential"]) == 0
    assert capsys.readouterr().out.count("holds") == 2


def test_a_refuted_claim_is_status_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "audit", lambda *_, **__: REFUTED)
    assert main.run(["audit"]) == 1
    seen = capsys.readouterr()
    assert "BROKEN" in seen.out
    assert seen.err == ""


@every(
    "arguments",
    [
        ["--mechanism", "exact"],
        ["--mechanism", "nonsense"],
        ["--epsilon", "0"],
        ["--plot", "picture.gif"],
        ["--format", "csv"],
    ],
)
def test_bad_requests(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["audit", *arguments]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith("dpmine: error: ")
    assert seen.err.count("\n") == 1


MODULE = '''
import math

class Exponential:
    """With the rate of scores that move together."""

    def law(self, scores):
        weights = [math.exp(score - max(scores)) for score in scores]
        return {place: weight / sum(weights) for place, weight in enumerate(weights)}

exponential = Exponential()
'''
TARGET = ["--target", "chosen:exponential"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "chosen.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "failing.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_false_claim_is_status_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = folder / "audit.svg"
    options = ["--claim", "epsilon=1", "--seconds", "2", "--format", "json", "--plot", str(picture)]
    assert main.run(["audit", *TARGET, *options]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "refuted"
    assert 1.5 < told["measured"] <= 2
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.usefixtures("folder")
@every("options", [["--neighbors", "add-remove"], ["--sensitivity", "1/2"]])
def test_neighbours_and_sensitivity_count(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Where scores move together, or by a half, the claim is true."""
    assert main.run(["audit", *TARGET, "--claim", "epsilon=1", "--seconds", "1", *options]) == 0
    assert "not refuted: ε = 1, δ = 0" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@every(
    ("arguments", "said"),
    [
        (TARGET, "--target needs --claim"),
        ([*TARGET, "--claim", "e=1"], "A claim is written"),
        ([*TARGET, "--claim", "epsilon=1", "--epsilon", "1"], "does not belong to --target"),
        (["--claim", "epsilon=1"], "needs --target"),
        (["--neighbors", "add-remove"], "needs --target"),
        (["--target", "chosen", "--claim", "epsilon=1"], "module:function"),
        (["--target", "absent:f", "--claim", "epsilon=1"], "no module 'absent'"),
        (["--target", "failing:f", "--claim", "epsilon=1"], "raised ZeroDivisionError"),
        (["--target", "chosen:f", "--claim", "epsilon=1"], "has no 'f'"),
    ],
)
def test_bad_targets(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["audit", *arguments]) == 2
    assert said in capsys.readouterr().err
