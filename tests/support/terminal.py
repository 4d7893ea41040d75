"""A terminal as tests see it: what a process shows on it, and when a process is ready for signals."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.command_line import environment

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence


def at_terminal(command: Sequence[str], *, stdout: Any = None, **variables: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process whose stderr, and stdout unless another is given, is a terminal; and the other end of that."""
    master, slave = pty.openpty()
    place = {**environment(), "TERM": "xterm", "COLUMNS": "80", **variables}
    process = subprocess.Popen(
        command, stdout=slave if stdout is None else stdout, stderr=slave, env=place, start_new_session=True
    )
    os.close(slave)
    return process, master


def rest_of(master: int) -> bytes:
    """All that the other end wrote, once it is closed there; closes this one."""
    shown = b""
    while chunk := _chunk(master):
        shown += chunk
    os.close(master)
    return shown


def _chunk(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def wait_until_caught(process: int, number: signal.Signals, seconds: float = 30) -> None:
    """Until the process has a handler for that signal."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        pytest.skip("needs /proc")
    end = time.monotonic() + seconds
    while not _caught(status) >> (number - 1) & 1:
        assert time.monotonic() < end, "the process did not ask for the signal"
        time.sleep(0.02)


def _caught(status: Path) -> int:
    """The set of signals with a handler, as a mask."""
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
    return int(lines["SigCgt"], 16)
