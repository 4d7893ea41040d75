"""What the path of an SQLite ledger leads to: which files, under how many names, and whether they may be written."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from dpmine.io.atomic import file_identity, is_file

LOGS = "-wal", "-shm"
"""How the paths end of what SQLite keeps beside an open file: commits that are not in it yet, and locks."""
_ESCAPED = re.compile(rb"\\([0-7]{3})")  # in the list of mounts: blanks and backslashes


def files_at(path: str, *endings: str) -> list[tuple[int, int] | str]:
    """Which files the path leads to, links followed, with each of the endings: SQLite commits to what it opened."""
    real = os.path.realpath(path)
    return [file_identity(f"{real}{ending}") for ending in endings]


def may_write(path: str) -> bool:
    """Whether this user may write the file, and others beside it; SQLite says why one that is not there is not made."""
    real = os.path.realpath(path)
    return not os.path.exists(real) or (os.access(real, os.W_OK) and os.access(Path(real).parent, os.W_OK))  # noqa: PTH110


def may_be_database(path: str) -> bool:
    """Whether there is a regular file or nothing: SQLite blocks on a pipe, and reads a device as an empty database."""
    try:
        return is_file(path)
    except OSError:
        return True


def make_private(path: str) -> None:
    """A new file that its owner alone reads and writes; files that SQLite puts beside it get the same rights.

    Links are followed: through a link to a missing file, SQLite would create that file readable by others.
    Where this fails, so does opening the file, which is reported.
    """
    with suppress(OSError):
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def second_name(path: str) -> str:
    """How the file, links followed, comes to have another name, and what to do; "" where it has one, or is not there.

    A hard link shows under both names. A file that is mounted shows where it is mounted: the other name is its own.
    """
    real = os.path.realpath(path)
    with suppress(OSError):
        if Path(real).stat().st_nlink > 1:
            return "has a second name (a hard link): remove one of them, but not one with a -wal file beside it"
        if os.fsencode(real) in _mount_points():
            return "is mounted: mount the folder, not the file"
    return ""


def _mount_points() -> set[bytes]:
    """Of this process, on Linux; os.path.ismount does not see files."""
    try:
        with Path("/proc/self/mountinfo").open("rb") as lines:
            return {_ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), line.split()[4]) for line in lines}
    except OSError:
        return set()
