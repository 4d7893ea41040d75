"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path


def write_whole(
    target: Path,
    content: bytes,
    *,
    private: bool = False,
    guard: Callable[[Path], AbstractContextManager[object]] = lambda _temporary: nullcontext(),
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Write beside the target, for its owner's eyes alone until it is whole and on the disk, then rename.

    A `private` file stays its owner's alone; others get the rights of the file that they replace, or of any new one.
    `guard` surrounds the time in which the temporary file exists; `ready` is called before it is renamed.
    Raises OSError, and then leaves what was there.
    """
    temporary = target.parent / f".dpmine-{os.getpid()}-{time.monotonic_ns()}.tmp"
    with guard(temporary):
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if not private:
                temporary.chmod(_rights(target))
            ready()
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _rights(target: Path) -> int:
    """Those of the file that is there, or of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
