"""dpmine plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.cases import every
from support.command_line import assert_one_error, outcome_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dpmine(capsys: pytest.CaptureFixture[str]) -> outcome_of:
    return outcome_of(capsys)


def test_text_by_default(dpmine: outcome_of) -> None:
    done = dpmine("plan", "--catalogue-size", "12")
    assert (done.status, done.err) == (0, "")
    assert "max_of_exponentials *" in done.out


def test_an_unknown_catalogue_by_default_or_by_name(dpmine: outcome_of) -> None:
    assert dpmine("plan").out == dpmine("plan", "--catalogue-size", "unknown").out


def test_json_and_every_option(dpmine: outcome_of, tmp_path: Path) -> None:
    done = dpmine(
        *("plan", "--size", "1-2", "--catalogue-size", "9", "--units", "900", "--epsilon", "1/2", "--delta", "1e-7"),
        *("--neighbors", "add-remove", "--gap", "30", "--success", "0.9", "--format", "json"),
        *("--plot", str(tmp_path / "plan.svg")),
    )
    document = json.loads(done.out)
    assert done.status == 0
    assert document["candidates"] == 9 + 36
    assert (document["epsilon"], document["delta"], document["success"]) == (0.5, 1e-7, 0.9)
    assert (document["neighbors"], document["gap"], document["units"]) == ("add_remove", 30, 900)
    assert (tmp_path / "plan.svg").read_bytes().startswith(b"<?xml")


def test_learning(dpmine: outcome_of) -> None:
    arguments = ("plan", "--learn", "stumps", "--dimension", "3", "--accuracy", "0.1", "--epsilon", "0.5")
    assert "NOT full privacy" in dpmine(*arguments).out
    document = json.loads(dpmine(*arguments, "--failure", "0.1", "--smoothness", "2", "--format", "json").out)
    assert (document["class"], document["dimension"], document["failure"]) == ("stumps", 3, 0.1)


def test_into_a_file(dpmine: outcome_of, tmp_path: Path) -> None:
    done = dpmine("plan", "--catalogue-size", "5", "-o", str(tmp_path / "plan.json"))
    assert (done.status, done.out) == (0, "")
    assert json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["catalogue_size"] == 5


@every(
    "arguments",
    [
        ["--catalogue-size", "many"],
        ["--catalogue-size", "1"],
        ["--epsilon", "0"],
        ["--delta", "2"],
        ["--gap", "0"],
        ["--gap", "5", "--units", "4"],
        ["--plot", "plan.pdf"],
        ["--plot", "missing/folder/plan.svg"],
        ["-o", "plan.parquet"],
        ["sales.parquet"],
        ["--learn", "thresholds"],
        ["--learn", "thresholds", "--accuracy", "0.1", "--units", "5"],
        ["--accuracy", "0.1"],
    ],
)
def test_errors_are_one_line(dpmine: outcome_of, arguments: list[str]) -> None:
    assert_one_error(dpmine("plan", *arguments))
