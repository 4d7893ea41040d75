"""SQLite files that this user may read and not write, as they were after the last commit.

SQLite would put files beside the ledger that its owner cannot write. Without a log of changes no one writes: a copy in
memory is read. A connection that outlives the writer's would leave the log there. A log that stays, such as after a
crash, is read by SQLite.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from dpmine.errors import BadLedger

_LOG_STAYS = 1  # second: writers end before that
_PAUSE = 0.01  # seconds


def opened_to_read(path: Path) -> sqlite3.Connection:
    """A connection that sees one state, whatever is written meanwhile. Raises BadLedger, sqlite3.DatabaseError."""
    path = Path(os.path.realpath(path))  # where SQLite has its log
    start = time.monotonic()
    while (waited := time.monotonic() - start) < 2 * _LOG_STAYS:
        connection = None
        if not _has_log(path):
            connection = _copied(path)
        elif waited > _LOG_STAYS:
            connection = _beside_log(path)
        if connection is not None:
            return connection
        time.sleep(_PAUSE)
    raise BadLedger(
        f"'{path}' has changes in a log that cannot be read here: copy the file and its -wal file into a folder that "
        "you can write, and read it there."
    )


def _has_log(path: Path) -> bool:
    return any(os.path.exists(f"{path}-{kind}") for kind in ("wal", "journal"))  # noqa: PTH110 (never raises)


def _copied(path: Path) -> sqlite3.Connection | None:
    """In memory; None where it changed meanwhile. Without a log it holds whole commits: writers change it by that."""
    try:
        content = bytearray(path.read_bytes())
        if content != path.read_bytes() or _has_log(path):
            return None
    except OSError:
        raise BadLedger(f"The ledger at '{path}' cannot be used: its file cannot be opened. Nothing was run.") from None
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if content:  # else there is no ledger in it
        content[18:20] = content[18:20].replace(b"\2", b"\1")  # of no log: sqlite.org/c3ref/deserialize.html
        connection.deserialize(bytes(content))
    connection.execute("PRAGMA query_only = ON").close()
    return connection


def _beside_log(path: Path) -> sqlite3.Connection | None:
    """By SQLite's own locks; None where it cannot use the log, such as while a writer ends."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").close()
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            return None
        raise
    return connection
