"""The plug-in of pytest, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import pytest
from dpmine.auditing import ScoreVectors

class Answers:
    def law(self, rows):
        return {rows[0]: 0.75, 1 - rows[0]: 0.25}

PAIRS = [([0], [1])]

def test_true(dpmine_audit):
    assert dpmine_audit(Answers(), "epsilon=1.1", PAIRS).measured > 1.09

def test_false(dpmine_audit):
    dpmine_audit(Answers(), "epsilon=1", PAIRS)

def test_found(dpmine_audit):
    assert dpmine_audit.report(Answers(), "epsilon=1", PAIRS).refuted

@pytest.mark.dpmine_audit(seconds=5, samples=500, confidence="0.99")
def test_budget(dpmine_audit):
    report = dpmine_audit(lambda rows: 1, "epsilon=1", PAIRS)
    assert report.tried.measured_draws == 500
    assert dpmine_audit(lambda rows: 1, "epsilon=1", PAIRS, samples=200).tried.measured_draws == 200
"""


def test_the_entry_point() -> None:
    found = [point for point in entry_points(group="pytest11") if point.name == "dpmine"]
    assert [point.value for point in found] == ["dpmine.pytest_plugin"]


@pytest.mark.slow
def test_verdicts(tmp_path: Path) -> None:
    """True claims pass, a false one fails with the worst pair, and the marker is known."""
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "test_mine.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert "1 failed, 3 passed" in done.stdout
    for line in ("refuted: ε = 1", "before     [", "event      the outcome is"):
        assert line in done.stdout
    assert "pytest_plugin.py" not in done.stdout


def test_pytest_starts_without_the_library() -> None:
    code = "import dpmine.pytest_plugin, sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
