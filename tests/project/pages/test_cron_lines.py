"""Lines for cron that the pages show fail where dpmine fails, and charge once for each result; units for systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from reporting.schedules.weeks import Shop, sales
from support.pages.snippets import blocks

from dpmine.reporting.jobs.schedule import Every, Window

ROOT = Path(__file__).resolve().parents[3]
LINE = re.compile(r"^ *(?:[\d*]+ ){5} *(?P<command>.*)$", re.MULTILINE)
LINES = [
    pytest.param(found["command"], id=f"{path.name} {number}")
    for path in sorted(ROOT.glob("docs/**/*.md"))
    for number, found in enumerate(LINE.finditer(path.read_text(encoding="utf-8")), 1)
]
CHECKING = [line for line in LINES if "dpmine report" not in str(line.values[0])]
"""Lines that look for the result themselves."""
RECURRING = [line for line in LINES if line not in CHECKING]
NAMED = re.compile(r"# /etc/systemd/system/(\S+)\n")
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
        (folder / "reports").mkdir()
        self.line = line.replace("\\%", "%").replace("/srv/", f"{folder}/")

    def run(self, status: int) -> int:
        """The exit status of the line, where dpmine would end with this one."""
        names = {"PATH": f"{self.folder}:/usr/bin:/bin", "CALLS": str(self.calls), "STATUS": str(status)}
        return subprocess.run(["/bin/sh", "-c", self.line], env=names, check=False).returncode

    def charged(self) -> int:
        """How often dpmine was called."""
        return len(self.calls.read_text(encoding="utf-8").splitlines())


def test_there_are_lines() -> None:
    assert CHECKING
    assert RECURRING


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("status", [1, 2, 3, 130])
def test_a_run_without_a_result_is_a_failure_and_may_be_repeated(tmp_path: Path, line: str, status: int) -> None:
    cron = Cron(tmp_path, line)
    assert [cron.run(status), cron.run(0)] == [status, 0]
    assert cron.charged() == 2


@pytest.mark.parametrize("line", CHECKING)
def test_a_result_is_charged_once(tmp_path: Path, line: str) -> None:
    cron = Cron(tmp_path, line)
    assert [cron.run(0), cron.run(0)] == [0, 0]
    assert cron.charged() == 1


@pytest.mark.slow
@pytest.mark.parametrize("line", RECURRING)
def test_a_recurring_report_is_charged_once(tmp_path: Path, line: str) -> None:
    """By dpmine itself, for the last window that has ended; the data are of other years."""
    folder = tmp_path / "reports"
    folder.mkdir()
    sales(folder / "sales.parquet", 2)
    shop = Shop(folder)
    shop.write().rename(folder / "weekly.toml")
    command = line.replace("/srv/", f"{tmp_path}/")
    names = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    before, *done = (
        Window.containing(datetime.now().astimezone().date(), Every.WEEK).preceding(),
        *(subprocess.run(["/bin/sh", "-c", command], env=names, check=False).returncode for _ in range(2)),
    )
    assert done == [0, 0]
    assert set(shop.charged) <= {str(before), str(before.following())}  # should a week end meanwhile
    assert len(shop.charged) == len(set(shop.charged)) == 1
    assert (folder / "report.html").exists()


def units() -> dict[str, str]:
    """By their names."""
    texts = [block.text for block in blocks((ROOT / "docs" / "how-to" / "unattended.md").read_text(encoding="utf-8"))]
    return {found[1]: text for text in texts if (found := NAMED.match(text))}


def test_there_are_a_service_and_its_timer() -> None:
    assert sorted(units()) == ["dpmine-weekly.service", "dpmine-weekly.timer"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("wrong", ["", "Persistently=true\n"])
def test_systemd_accepts_them(tmp_path: Path, wrong: str) -> None:
    program = str(Path(sys.executable).with_name("dpmine"))
    paths = [tmp_path / name for name in sorted(units())]
    for path in paths:
        text = units()[path.name].replace("/usr/local/bin/dpmine", program).replace("/srv/reports", str(tmp_path))
        path.write_text(text.replace("Persistent=true\n", wrong or "Persistent=true\n"), encoding="utf-8")
    command = ["systemd-analyze", "verify", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert bool(done.returncode or done.stderr) is bool(wrong)
