"""Units for systemd that the pages show: systemd's own check accepts them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.snippets import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "schedulers.md"
NAMED = re.compile(r"# /etc/systemd/system/(\S+)\n")


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
