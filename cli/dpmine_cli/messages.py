"""Messages and progress, on stderr only; and what SIGINT, SIGTERM and SIGHUP do: end the process, and leave nothing.

An interrupt raises no exception where the program happens to be. Compiled libraries would swallow it, turn it into
errors of their own, or crash when they are left half-way.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType, TracebackType

    from rich.progress import Progress

    from dpmine.reporting.jobs.job import Job


STATUS = 130
_NOTHING_WRITTEN = "interrupted; nothing was written."
_JOBS_KEPT = "interrupted; no page was written. Finished jobs are kept: the same command reads them without a charge."
_WHILE_WRITING = "interrupted while the result was written."
_CHARGED = " Charges that are in the ledger stay (dpmine ledger history)."

_LAST_SECONDS = 5.0

_undo: list[Callable[[], object]] = []
_ending: list[int] = []
_interrupt_message: list[str] = [_NOTHING_WRITTEN]
_charged_before = [0]


def listen() -> None:
    """From here on an interrupt ends the process, except where the process was started to ignore it (as by nohup)."""
    for number in _heard():
        signal.signal(number, _end)
    atexit.register(_stop_listening)  # registered first, so it is called last


def _stop_listening() -> None:
    """Ignore signals once the work is done, and text for a closed stderr: both would replace the exit status."""
    for number in _heard():
        signal.signal(number, signal.SIG_IGN)
    try:
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # the interpreter would try once more while it ends
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _heard() -> list[int]:
    """The signals that are not ignored; not every system has all of them."""
    known = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    return [number for number in known if number is not None and signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def undoing(action: Callable[[], object]) -> Iterator[None]:
    """An interrupt inside the block does `action` before the process ends."""
    _undo.append(action)
    try:
        yield
    finally:
        _undo.remove(action)


def begin() -> None:
    """A command line begins: nothing is written or charged so far."""
    _interrupt_message[0], _charged_before[0] = _NOTHING_WRITTEN, _charges()


def batch_begins() -> None:
    """From here on an interrupt says that results of jobs are kept."""
    _interrupt_message[0] = _JOBS_KEPT


def output_begins() -> None:
    """From here on an interrupt no longer says that nothing was written."""
    _interrupt_message[0] = _WHILE_WRITING


def message() -> str:
    """What an interrupt says now. It says that a charge stays as soon as one may be on the disk."""
    return _interrupt_message[0] + staying()


def staying() -> str:
    """What to add to an error: that charges of this command stay, where it made any."""
    return _CHARGED if _charges() > _charged_before[0] else ""


def on_one_line(text: str) -> str:
    """A message without line breaks, and without characters of a name in it that a terminal would obey."""
    from dpmine.markup import printable

    return printable(" ".join(text.split()))


def as_typed(text: str) -> str:
    """A text of the library, with options as they are typed."""
    from dpmine.options.tables import REFERENCE

    return REFERENCE.sub(_typed_reference, text)


def _typed_reference(found: re.Match[str]) -> str:
    from dpmine_cli.options import FLAGS, OTHERWISE

    name, value = found.groups()
    flag = OTHERWISE.get((name, value)) or FLAGS.get(name)
    if flag is None:
        return found[0]
    if value is None:
        return f"{name} ({flag})"
    return flag if value in {"…", "True"} or (name, value) in OTHERWISE else f"{flag} {_typed_value(name, value)}"


def _typed_value(name: str, value: str) -> str:
    """An option's value in Python as it is typed; what stands for one, such as COL, as it is."""
    from ast import literal_eval
    from shlex import quote

    from dpmine.options.names import typed_names

    try:
        known = literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # a user's name may stand in a message
        return value
    if isinstance(known, list | tuple):
        return ",".join(map(str, known))
    if not isinstance(known, str) or not known.isprintable():
        return value
    return typed_names(known) if name == "mechanism" else quote(known)


def _charges() -> int:
    """The number of charges of this process; 0 where the ledger, which takes time to load, was not needed."""
    begun: Callable[[], int] | None = getattr(sys.modules.get("dpmine.ledger.ledger"), "charges_begun", None)
    return begun() if begun else 0  # None also while it is loaded in part


def _end(number: int, frame: FrameType | None) -> None:
    """Past the interpreter's own shutdown: threads may still be inside compiled loops, and must not come back to it."""
    if _ending:  # the second interrupt: end at once
        os._exit(STATUS)
    _ending.append(number)
    try:
        for action in reversed(_undo):
            with suppress(OSError):
                action()
        os.write(sys.stderr.fileno(), f"dpmine: error: {message()}\n".encode())
        _abandon_cluster()
    except (OSError, ValueError, AttributeError):  # stderr is closed
        pass
    finally:
        os._exit(STATUS)


def _abandon_cluster() -> None:
    """A server of Spark Connect would go on working for a process that is gone."""
    loaded = sys.modules.get("dpmine.itemsets.spark.session")
    if loaded is not None:
        loaded.abandon(_LAST_SECONDS)


_PATIENCE = 1.0  # seconds before a progress bar appears
_CLEAR = b"\r\x1b[2K\x1b[?25h"  # wipe the line, show the cursor


class Messages:
    """What a command prints while it works: notices, and a progress bar where stderr is a terminal.

    The bar is in per cent only, because a total would show the number of rows.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._title = ""
        self._said: set[str] = set()
        self._until_exit = ExitStack()

    def __enter__(self) -> Self:
        self._until_exit.enter_context(undoing(self._wipe))
        from dpmine.errors import LayoutWarning

        self._until_exit.enter_context(warnings.catch_warnings())  # noqa: TID251 - around all threads
        warnings.simplefilter("always", LayoutWarning)
        warnings.showwarning = lambda text, *_, **__: self._notice_warning(str(text).removesuffix("."))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._until_exit.close()

    def not_again(self, texts: Iterable[str]) -> None:
        """Warnings that say this, but for the full stop, are no news."""
        self._said.update(texts)

    def _notice_warning(self, text: str) -> None:
        if text not in self._said:
            self.notice(text)

    def notice(self, text: str) -> None:
        """One line, unless quiet."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """One line, quiet or not: for what the reader must not miss."""
        self._close()
        with suppress(OSError, ValueError):  # stderr is closed
            print(f"dpmine: {on_one_line(as_typed(text))}", file=sys.stderr)

    def progress(self, share: float) -> None:
        """`share` in [0, 1] of the work is done; shown once the work has taken a second."""
        if self._bar is None and self._wanted():
            self._bar = _bar(self._title)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=100 * share)

    def watch(self, number: int, job: Job, share: float) -> None:
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


def _bar(title: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = [TextColumn("{task.description}", markup=False)] if title else []
    bar = Progress(*columns, BarColumn(), TaskProgressColumn(), console=Console(stderr=True), transient=True)
    bar.add_task(title, total=100)
    return bar
