"""The audit as users see it: rows, report, picture."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dpmine.auditing import AuditRow
from dpmine.auditing.audit_report import AuditReport
from dpmine.auditing.call import audit
from dpmine.errors import BadParameter, NotPrivate, UnreadableFile
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["mechanism", "neighbors", "epsilon", "delta", "measured_delta", "measured_epsilon", "holds"]
PART = AuditRow("large_margin", Neighbors.ADD_REMOVE, 0.6, 0.0, 0.1, 0.7, stage="search")
REFUTED = AuditReport((AuditRow("large_margin", Neighbors.ADD_REMOVE, 1.0, 1e-6, 0.0, 0.4, parts=(PART,)),))


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return audit("stable-maximiser", epsilon="1/2", delta=1e-5)


def test_one_row_for_each_relation(report: AuditReport) -> None:
    rows = report.to_dict()["mechanisms"]
    assert [list(row) for row in rows] == [KEYS, KEYS]
    assert [row["neighbors"] for row in rows] == ["replace_one", "add_remove"]
    assert all(row["holds"] is True and row["epsilon"] == 0.5 and row["delta"] == 1e-5 for row in rows)
    assert all(row["measured_delta"] == pytest.approx(1e-5, rel=1e-3) for row in rows)
    assert report.holds


def test_json_is_the_dictionary(report: AuditReport) -> None:
    assert json.loads(report.to_json()) == report.to_dict()


def test_pure_mechanisms_claim_no_delta() -> None:
    rows = audit("exponential", epsilon=1, delta=0.1).mechanisms
    assert [(row.delta, row.measured_delta) for row in rows] == [(0, 0), (0, 0)]
    assert [row.measured_epsilon for row in rows] == pytest.approx([1, 1], rel=1e-6)


def test_stages_stand_under_their_own_key() -> None:
    document = REFUTED.to_dict()
    assert list(document["stages"][0]) == ["mechanism", "neighbors", "stage", *KEYS[2:]]
    assert "parts" not in document["mechanisms"][0]
    assert not REFUTED.holds


def test_the_text_is_a_table() -> None:
    header, whole, stage = str(REFUTED).splitlines()
    assert header.split()[:2] == ["mechanism", "neighbours"]
    assert whole.startswith("large_margin")
    assert stage.startswith("  search")
    assert whole.endswith("BROKEN")


def test_progress_is_told() -> None:
    shares: list[float] = []
    audit("exponential", progress=shares.append)
    assert shares == [0.5, 1.0]


@pytest.mark.parametrize("name", ["nonsense", "auto"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(BadParameter, match="large_margin_tight"):
        audit(name)


def test_nothing_to_audit_without_a_claim() -> None:
    with pytest.raises(NotPrivate, match="claims no privacy"):
        audit("exact")


@pytest.mark.parametrize("options", [{"epsilon": 0}, {"delta": 1}, {"delta": 0}])
def test_improper_claims_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadParameter):
        audit("exponential", **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_picture(report: AuditReport, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"audit.{suffix}"
    report.plot(file)
    REFUTED.plot(file)
    assert file.stat().st_size > 5000


def test_pictures_that_cannot_be_written(report: AuditReport, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="svg"):
        report.plot(tmp_path / "audit.txt")
    with pytest.raises(UnreadableFile, match="folder"):
        report.plot(tmp_path / "missing" / "audit.svg")


@pytest.mark.slow
def test_thorough_is_a_grid() -> None:
    rows = audit("exponential", epsilon=2, thorough=True).mechanisms
    assert [float(row.epsilon) for row in rows] == [0.5, 2, 8] * 2
    assert all(row.holds for row in rows)


@pytest.mark.slow
def test_the_default_audit_covers_every_private_mechanism() -> None:
    report = audit()
    private = [name for name, kind in MECHANISMS.items() if kind.private]
    assert [(row.mechanism, row.neighbors) for row in report.mechanisms] == [
        (name, relation) for name in private for relation in Neighbors
    ]
    assert {row.mechanism for row in report.stages} == {"large_margin", "large_margin_tight"}
    assert report.holds
