"""The audit of single choices and of choices of k, and `dpmine audit`, of our mechanisms and of targets by name."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from dpmine_cli import main
from support.cases import every
from support.oracles import top_k as top_k_laws

from dpmine.auditing import AuditRow, run
from dpmine.auditing.audit_report import AuditReport
from dpmine.auditing.call import audit
from dpmine.auditing.pairs import Group, Pair, PairSide
from dpmine.auditing.run import audit_top_k
from dpmine.errors import BadParameter, NotPrivate, UnreadableFile
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS
from dpmine.selection.top_k import LimitedDomainTopK, OneShot

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.selection.top_k import TopK


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


ONE, NONE, TINY, LARGE = Fraction(1), Fraction(0), Fraction(1, 10**6), Fraction(1, 10)
REPLACE = Neighbors.REPLACE_ONE


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("count", [2, 3])
def test_lists_reach_what_they_claim(count: int, relation: Neighbors) -> None:
    """Where basic composition is the claim: in ε, and limited-domain top-k in δ, once for all places."""
    exponential = audit_top_k(OneShot.of(count, ONE, NONE, relation))
    assert exponential.holds
    assert exponential.measured_epsilon == pytest.approx(1, rel=1e-3)
    limited = audit_top_k(LimitedDomainTopK.of(count, ONE, TINY, relation, 4))
    assert limited.holds
    assert limited.measured_delta == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [TINY, LARGE])
def test_no_honest_list_is_accused(delta: Fraction) -> None:
    rows = audit(epsilon=ONE, delta=delta, lists=True).mechanisms
    assert len(rows) == 16
    assert all(row.holds for row in rows)
    assert all(row.measured_epsilon > 0.2 for row in rows)


BROKEN: dict[str, TopK] = {
    "the monotone form under replace_one": replace(OneShot.of(2, ONE, NONE, REPLACE), round_epsilon=ONE),
    "every round has all of ε": replace(OneShot.of(3, ONE, LARGE, REPLACE), round_epsilon=Fraction(2)),
    "the lift of another δ": replace(LimitedDomainTopK.of(2, ONE, TINY, REPLACE, 4), leaving_delta=Fraction(1, 10**5)),
    "k̄ leave, one is covered": replace(LimitedDomainTopK.of(3, ONE, TINY, REPLACE, 4), leaving_delta=4 * TINY),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_lists_are_caught(name: str) -> None:
    assert not audit_top_k(BROKEN[name]).holds


@pytest.mark.parametrize("side", PairSide)
def test_masses_are_those_of_the_lists(side: PairSide) -> None:
    """Beside the oracle, which lists candidates one by one: summed over the members of groups."""
    pair = Pair((Group(3.0, 1, 1), Group(1.0, -1, 2), Group(2.0, 0, 1)))
    scores = [group.at(side) for group in pair.groups for _ in range(group.count)]
    owner = [number for number, group in enumerate(pair.groups) for _ in range(group.count)]
    way = OneShot.of(2, Fraction(2), NONE, REPLACE)
    law = top_k_laws.peeled_exponential(scores, 2, 0.5)
    expected: dict[tuple[int | None, ...], float] = {}
    for outcome, mass in law.items():
        names = tuple(None if i is None else owner[i] for i in outcome)
        expected[names] = expected.get(names, 0.0) + mass
    found = run._masses_of(way)(pair, side)
    assert np.sort(found[found > 0]) == pytest.approx(sorted(expected.values()), rel=1e-12)


@pytest.mark.parametrize("side", PairSide)
def test_masses_of_the_limited_domain(side: PairSide) -> None:
    """Beside the oracle, with dummies and ⊥; no ties, whose order is another there."""
    pair = Pair((Group(9.0, 1, 1), Group(30.0, -1, 1), Group(4.0, 0, 1)))
    way = LimitedDomainTopK.of(3, ONE, LARGE, REPLACE, 4)
    domain = top_k_laws.Domain(4, 3, float(way.round_epsilon), float(way.leaving_delta), 2)
    law = top_k_laws.limited_domain([*(group.at(side) for group in pair.groups), *[top_k_laws.DUMMY] * 5], domain)
    found = run._masses_of(way)(pair, side)
    assert found.sum() == pytest.approx(1)
    assert np.sort(found[found > 0]) == pytest.approx(sorted(law.values()), rel=1e-9)


def test_other_ways_have_no_law() -> None:
    with pytest.raises(BadParameter):
        audit_top_k(object())  # type: ignore[arg-type]


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
