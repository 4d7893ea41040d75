"""SQLite and PostgreSQL, read as text.

Their drivers would make Python objects of the values, and fail at those that have none, such as a date in the year
20000. So SQLite gives bytes, and PostgreSQL copies rows as text, in its own encoding.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpmine.errors import BadParameter
from dpmine.io.arrow import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

Row = list[str | None]
_CONNECT_TIMEOUT = 10  # seconds
_WAIT = 60  # seconds, for what another process locked
_LIMITED = f"SELECT set_config('lock_timeout', '{_WAIT}s', false) WHERE current_setting('lock_timeout') = '0'"


class Database(Protocol):
    """Runs statements without writing. Its methods raise the type `errors`, or ValueError."""

    errors: type[Exception]
    listing: str
    """The statement that lists the tables and views."""

    def columns(self, statement: str) -> tuple[str, ...]:
        """The columns of a statement that returns no row."""

    def rows(self, statement: str) -> Iterator[Row]:
        """The rows of a statement, as texts; None for null, and for more than LONGEST_TEXT bytes."""


class SQLite:
    """A database in a file.

    Args:
        path: of the file, which exists.
    """

    errors: type[Exception] = sqlite3.Error
    listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"

    def __init__(self, path: str) -> None:
        self._uri = f"{Path(path).absolute().as_uri()}?mode=rw"

    def columns(self, statement: str) -> tuple[str, ...]:
        """See `Database.columns`."""
        with self._connection() as connection:
            return tuple(name for name, *_ in connection.execute(statement).description)

    def rows(self, statement: str) -> Iterator[Row]:
        """See `Database.rows`."""
        with self._connection() as connection:
            for row in connection.execute(statement):
                yield [_of_sqlite(value) for value in row]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._uri, uri=True, timeout=_WAIT)) as connection:
            connection.execute("PRAGMA query_only = ON")  # mode=ro would leave files of a write-ahead log behind
            connection.text_factory = bytes
            yield connection


class PostgreSQL:
    """A database on a server.

    Args:
        url: its address, as libpq's.

    Raises BadParameter where the driver is not installed.
    """

    listing = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise BadParameter("The driver for PostgreSQL is not installed: pip install 'dpmine[postgres]'.") from None
        self.errors: type[Exception] = psycopg.Error
        self._connect, self._url = psycopg.connect, url

    def columns(self, statement: str) -> tuple[str, ...]:
        """See `Database.columns`. It waits for a lock no longer than a minute; `rows`, after a charge, longer."""
        with self._connection() as (connection, codec):
            connection.execute(_LIMITED)
            found = connection.execute(statement.encode(codec), prepare=True).pgresult  # one command
            return tuple((found.fname(place) or b"").decode(codec) for place in range(found.nfields)) if found else ()

    def rows(self, statement: str) -> Iterator[Row]:
        """See `Database.rows`."""
        copied = f"COPY (\n{statement}\n) TO STDOUT"
        with (
            self._connection() as (connection, codec),
            connection.cursor() as cursor,
            cursor.copy(copied.encode(codec)) as lines,
        ):
            for line in lines:
                yield [_of_postgresql(part, codec) for part in bytes(line)[:-1].split(b"\t")]

    @contextmanager
    def _connection(self) -> Iterator[tuple[Connection, str]]:
        """A connection that gives dates in our form and texts as they are stored, and the codec of these.

        The server would fail at a text that has no form in another encoding.
        """
        with self._connect(self._url, connect_timeout=_CONNECT_TIMEOUT) as connection:
            connection.read_only = True
            connection.execute(
                "SELECT set_config('DateStyle', 'ISO', false),"
                " set_config('client_encoding', current_setting('server_encoding'), false)"
            )
            codec = connection.info.encoding
            yield connection, "utf-8" if codec == "ascii" else codec  # of a database that knows no encoding


def _of_sqlite(value: object) -> str | None:
    """A value as text. In SQLite each value has a type of its own."""
    if isinstance(value, bytes):
        return _decoded(value, "utf-8")
    return None if value is None else str(value)


_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def _of_postgresql(part: bytes, codec: str) -> str | None:
    if part == rb"\N" or len(part) > 2 * LONGEST_TEXT:  # escapes double a text at most
        return None
    if b"\\" in part:
        part = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), part)
    return _decoded(part, codec)


def _decoded(content: bytes, codec: str) -> str | None:
    return content.decode(codec, errors="replace") if len(content) <= LONGEST_TEXT else None
