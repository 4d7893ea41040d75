"""Lines for cron that the pages show fail where dpmine fails, and charge once for each result; units for systemd.

The task for Airflow is called, in the place of Airflow, with each exit status.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from reporting.schedules.weeks import Shop, sales
from support.pages.snippets import blocks

from dpmine.reporting.jobs.schedule import Every, Window

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "how-to" / "unattended.md"
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


class Again(Exception):
    """In the place of AirflowException: the task is tried again."""


class Failed(Again):
    """In the place of AirflowFailException: it is not."""


class Monday(datetime):
    """With the one method of pendulum's that the task calls."""

    def subtract(self, *, days: int) -> datetime:
        return self - timedelta(days=days)


@pytest.mark.parametrize(
    ("status", "kind"), [(0, None), (4, Again), (-9, Again), (1, Failed), (2, Failed), (3, Failed)]
)
def test_airflow_tries_again_what_was_too_early_or_killed(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: type[Exception] | None
) -> None:
    def dag(**_: object) -> Callable[[Any], Any]:
        return lambda function: function

    def task(**options: Any) -> Callable[[Any], Any]:
        assert options["retries"] * options["retry_delay"] == timedelta(days=1)
        return lambda function: partial(function, data_interval_end=Monday(2026, 2, 2, 3))

    commands = []
    parts: dict[str, dict[str, object]] = {
        "airflow": {},
        "airflow.sdk": {"dag": dag, "task": task},
        "airflow.sdk.exceptions": {"AirflowException": Again, "AirflowFailException": Failed},
        "pendulum": {"datetime": datetime},
    }
    for name, members in parts.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(subprocess, "run", run)
    (text,) = [each.text for each in blocks(PAGE.read_text(encoding="utf-8")) if "airflow.sdk" in each.text]
    with nullcontext() if kind is None else pytest.raises(kind) as caught:
        exec(compile(text, "weekly_report.py", "exec"), {})
    assert caught is None or caught.type is kind
    assert commands == [["dpmine", "report", "weekly.toml", "-o", "report.html", "--window", "2026-W05"]]


def units() -> dict[str, str]:
    """By their names."""
    texts = [block.text for block in blocks(PAGE.read_text(encoding="utf-8"))]
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
