"""Lines for cron that the pages show: they fail where dpmine fails, and charge once for each result."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^ *(?:[\d*]+ ){5} *(?P<command>.*)$", re.MULTILINE)
LINES = [
    pytest.param(found["command"], id=f"{path.name} {number}")
    for path in sorted(ROOT.glob("docs/**/*.md"))
    for number, found in enumerate(LINE.finditer(path.read_text(encoding="utf-8")), 1)
]
PROGRAM = """#!/bin/sh
echo called >> "$CALLS"
[ "$STATUS" -eq 0 ] && for last; do :; done && echo result > "$last"
exit "$STATUS"
"""


class Cron:
    """Runs a line as cron does, with a program in the place of dpmine that counts its calls."""

    def __init__(self, folder: Path, line: str) -> None:
        self.folder, self.calls = folder, folder / "calls"
        program = folder / "dpmine"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        self.line = line.replace("\\%", "%").replace("/srv/", f"{folder}/")

    def run(self, status: int) -> int:
        """The exit status of the line, where dpmine would end with this one."""
        names = {"PATH": f"{self.folder}:/usr/bin:/bin", "CALLS": str(self.calls), "STATUS": str(status)}
        return subprocess.run(["/bin/sh", "-c", self.line], env=names, check=False).returncode

    def charged(self) -> int:
        """How often dpmine was called."""
        return len(self.calls.read_text(encoding="utf-8").splitlines())


def test_there_are_lines() -> None:
    assert LINES


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("status", [1, 2, 3, 130])
def test_a_run_without_a_result_is_a_failure_and_may_be_repeated(tmp_path: Path, line: str, status: int) -> None:
    cron = Cron(tmp_path, line)
    assert [cron.run(status), cron.run(0)] == [status, 0]
    assert cron.charged() == 2


@pytest.mark.parametrize("line", LINES)
def test_a_result_is_charged_once(tmp_path: Path, line: str) -> None:
    cron = Cron(tmp_path, line)
    assert [cron.run(0), cron.run(0)] == [0, 0]
    assert cron.charged() == 1
