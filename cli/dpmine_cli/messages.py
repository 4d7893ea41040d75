"""Messages and progress, on stderr only."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Self

from dpmine_cli import interrupts

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE = 1.0  # seconds before a progress bar appears
_CLEAR = b"\r\x1b[2K\x1b[?25h"  # wipe the line, show the cursor


class Messages:
    """What a command tells while it works: notices, and a progress bar where a person is watching.

    The bar is in per cent only, because a total of rows would tell how many there are.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._start = time.monotonic()
        self._bar: Any = None
        self._title = ""
        self._until_exit = ExitStack()

    def __enter__(self) -> Self:
        self._until_exit.enter_context(interrupts.undoing(self._wipe))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._until_exit.close()

    def notice(self, text: str) -> None:
        """One line, unless quiet."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """One line, quiet or not: for what nobody may miss."""
        self._close()
        with suppress(OSError, ValueError):  # nobody listens
            print(f"dpmine: {text}", file=sys.stderr)

    def progress(self, share: float) -> None:
        """`share` in [0, 1] of the work is done; shown once the work has taken a second."""
        if self._bar is None and self._wanted():
            self._bar = _bar(self._title)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=100 * share)

    def watch(self, number: int, job: Any, share: float) -> None:
        """A job of a batch is done to that share, which the bar says with the job's name."""
        if share == 0.0:
            self._close()
            self._title = f"{number} {job.name}"
        self.progress(share)

    def _wanted(self) -> bool:
        patient = time.monotonic() - self._start > _PATIENCE
        return not self._quiet and patient and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _wipe(self) -> None:
        """Leave the terminal as it was, without the bar's own thread, which may be in the middle of drawing."""
        if self._bar is not None:
            os.write(sys.stderr.fileno(), _CLEAR)


def _bar(title: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = [TextColumn("{task.description}", markup=False)] if title else []
    bar = Progress(*columns, BarColumn(), TaskProgressColumn(), console=Console(stderr=True), transient=True)
    bar.add_task(title, total=100)
    return bar
