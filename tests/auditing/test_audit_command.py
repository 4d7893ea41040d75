"""dpmine audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dpmine_cli import main
from support.cases import every

from dpmine.auditing import AuditRow, run
from dpmine.auditing.audit_report import AuditReport
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
