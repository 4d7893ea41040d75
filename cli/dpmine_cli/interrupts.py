"""What SIGINT, SIGTERM and SIGHUP do: end the process at once, and leave nothing behind.

No exception is raised where the program happens to be: compiled libraries swallow it, turn it into errors of their own,
or crash when they are left half-way.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

STATUS = 130
_NOTHING_WRITTEN = "interrupted; nothing was written."
_JOBS_KEPT = "interrupted; no page was written. Jobs that were done are kept, and cost nothing when run again."
_WHILE_WRITING = "interrupted while the result was written."
_CHARGED = " What was charged to the ledger stays charged."

_LAST_SECONDS = 5.0

_undo: list[Callable[[], object]] = []
_ending: list[int] = []
_said: list[str] = [_NOTHING_WRITTEN]


def listen() -> None:
    """From here on an interrupt ends the process, unless who started it wants it ignored (as nohup does)."""
    for number in _heard():
        signal.signal(number, _end)
    atexit.register(_stop_listening)  # registered first, so it is called last


def _stop_listening() -> None:
    """Ignore signals once the work is done: while the interpreter ends, they would replace the exit status."""
    for number in _heard():
        signal.signal(number, signal.SIG_IGN)


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
    from dpmine.ledger.budget import on_charge

    _said[:] = [_NOTHING_WRITTEN]
    on_charge(charge_begins)


def batch_begins() -> None:
    """From here on an interrupt says that results of jobs are kept."""
    _said[0] = _JOBS_KEPT


def output_begins() -> None:
    """From here on an interrupt no longer says that nothing was written."""
    _said[0] = _WHILE_WRITING


def charge_begins() -> None:
    """From here on an interrupt says that a charge stays: it may be on the disk at any moment."""
    _said[1:] = [_CHARGED]


def message() -> str:
    """What an interrupt says now."""
    return "".join(_said)


def _end(number: int, frame: FrameType | None) -> None:
    """Past the interpreter's own shutdown: threads may still be inside compiled loops, and must not come back to it."""
    if _ending:  # somebody is in a hurry
        os._exit(STATUS)
    _ending.append(number)
    try:
        for action in reversed(_undo):
            with suppress(OSError):
                action()
        os.write(sys.stderr.fileno(), f"dpmine: error: {message()}\n".encode())
        _abandon_cluster()
    except (OSError, ValueError, AttributeError):  # nobody listens
        pass
    finally:
        os._exit(STATUS)


def _abandon_cluster() -> None:
    """A server of Spark Connect would go on working for a process that is gone."""
    loaded = sys.modules.get("dpmine.itemsets.spark.session")
    if loaded is not None:
        loaded.abandon(_LAST_SECONDS)
