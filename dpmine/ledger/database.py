"""Databases that hold a ledger: SQLite files and PostgreSQL servers, one transaction at a time, or a clear error."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet, finalize

from filelock import FileLock, Timeout
from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from dpmine.errors import BadLedger, NoLedger, NotReady
from dpmine.ledger.files import LOGS, files_at, make_private, may_be_database, may_write, second_name
from dpmine.ledger.read_only import opened_to_read
from dpmine.ledger.tables import has_ledger, make_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import URL, Connection, Engine


_WAIT = 60  # seconds, for other writers
_CONNECT_TIMEOUT = 10  # seconds
_POLL = 0.5  # seconds
_PAUSE = 0.01  # seconds
_TURN = text("SELECT pg_try_advisory_lock(:number)")
_SQLITE, _POSTGRES = "sqlite", "postgresql"
_KINDS = "sqlite:///budget.db or postgresql://user@host/database"
_READS = "dpmine_reads"
_TRANSACTIONS = threading.RLock()
"""Held by every transaction, and by a fork: a child that inherited an open connection would not own its locks."""
_ENGINES: WeakSet[Engine] = WeakSet()


def _before_fork() -> None:
    """No transaction goes on, and no connection is open, while the process is copied."""
    _TRANSACTIONS.acquire()
    for engine in _ENGINES:
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_TRANSACTIONS.release, after_in_child=_TRANSACTIONS.release
    )


class Database:
    """A URL. A connection to a server is kept between transactions, not over a fork; one to a file never is.

    Whenever its last connection closes, an SQLite file holds all that was written: it may be copied, and put back.
    Before that, it holds what was committed but for what a reader of an older state still needs to be in the log.
    """

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. Raises BadLedger for a URL of another kind."""
        self._url = _checked(url)
        plain = self._url.set(drivername=self._url.get_backend_name(), query={})
        self._shown = plain.render_as_string(hide_password=True)
        if self._on_file:  # whatever becomes of the working directory
            self._url = self._url.set(database=_absolute(str(self._url.database)))
        self._engine: Engine | None = None

    def __str__(self) -> str:
        return self._shown

    def __reduce__(self) -> tuple[type[Database], tuple[str]]:
        """A copy opens connections of its own."""
        return Database, (self._url.set(drivername=self._url.get_backend_name()).render_as_string(hide_password=False),)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Connection]:
        """A transaction, undone unless the block ends well; on SQLite it is the only writer.

        Raises BadLedger where there is no ledger and `create` is False, or where it cannot be read or written.
        """
        with self._explained():
            engine, opened = self._connected(create=create), self._files("")
            with engine.connect() as connection:
                with connection.begin():
                    self._require_one_name()  # no other name was given to the file before this transaction had its lock
                    opened += self._files(*LOGS)  # which are there now
                    if not has_ledger(connection):
                        if not create:
                            raise self._none()
                        make_tables(connection)
                    yield connection
                    if self._files("", *LOGS) != opened:
                        raise self._unusable("its file was renamed, removed or replaced at the same time")
                if self._on_file:
                    _empty_log(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger and changes nothing. Raises BadLedger as `writing`.

        An SQLite file may be one that this user cannot write.
        """
        with self._explained():
            engine = self._connected(create=False, to_read=True).execution_options(**{_READS: True})
            with engine.begin() as connection:
                if not has_ledger(connection):
                    raise self._none()
                yield connection

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Held by one process of all that name the same turn, on every machine; it ends with the process.

        It saves work, and nothing rests on it: where a server drops the connection, the next one enters.
        Raises NotReady where another holds it for as many seconds, BadLedger as `reading`.
        """
        end = time.monotonic() + patience
        with ExitStack() as stack:
            with self._explained():
                is_ours = (_file_turn if self._on_file else _server_turn)(self._url, name, stack)
            while not self._asked(is_ours):
                if time.monotonic() >= end:
                    raise NotReady(f"Another run works on {name!r} since {patience:g} seconds: run this one later.")
                time.sleep(_POLL)
            yield

    def _asked(self, is_ours: Callable[[], bool]) -> bool:
        with self._explained():
            try:
                return is_ours()
            except OSError:
                raise BadLedger(f"The folder of the ledger at {self} cannot be written. Nothing was run.") from None

    def _none(self) -> NoLedger:
        grant = "dpmine ledger grant `ledger=URL` `dataset=NAME` `epsilon=E` `delta=D`"
        return NoLedger(f"There is no ledger at {self}: restore it if it was lost, or make one with {grant}.")

    @property
    def _on_file(self) -> bool:
        return self._url.get_backend_name() == _SQLITE

    def _connected(self, *, create: bool, to_read: bool = False) -> Engine:
        """The engine of this process. An SQLite file is made by a grant only, not by looking for one."""
        if self._on_file and not create and not os.path.exists(str(self._url.database)):  # noqa: PTH110 (never raises)
            raise self._none()
        if self._on_file and not may_be_database(str(self._url.database)):
            raise BadLedger(f"The ledger at {self} cannot be opened: it is no file. Give the path of a file.")
        self._require_one_name()
        if self._on_file and create:
            make_private(str(self._url.database))
        if self._on_file:
            read_only = not may_write(str(self._url.database))
            if read_only and not to_read:
                raise self._unusable("it is read-only")
            return _file_engine(self._url, read_only=read_only)
        if self._engine is None:
            self._engine = _server_engine(self._url)
            _ENGINES.add(self._engine)
            finalize(self, self._engine.dispose)
        return self._engine

    def _files(self, *endings: str) -> list[tuple[int, int] | str]:
        return files_at(str(self._url.database), *endings) if self._on_file else []

    def _unusable(self, why: str) -> BadLedger:
        return BadLedger(f"The ledger at {self} cannot be used: {why}. Nothing was run.")

    def _require_one_name(self) -> None:
        """Raises BadLedger for a file with two names: SQLite's lock and log are named after the path, so it had two."""
        second = second_name(str(self._url.database)) if self._on_file else ""
        if second:
            raise self._unusable(f"its file {second}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The transactions of this process in turn; BadLedger, without the database's words, for what goes wrong."""
        try:
            with _TRANSACTIONS:
                yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._unusable(_reason(error)) from None
        except UnicodeDecodeError:  # of the driver, about the words in a damaged schema
            raise self._unusable(_DAMAGED) from None


def _checked(url: str) -> URL:
    """The URL, with our drivers. Raises BadLedger, without repeating it: it may hold a password."""
    try:
        parsed = make_url(str(url)) if str(url).isprintable() else None
    except (ArgumentError, ValueError):
        parsed = None
    kind = parsed.get_backend_name() if parsed is not None else ""
    if parsed is None or kind not in {_SQLITE, _POSTGRES}:
        raise BadLedger(f"ledger must be a URL such as {_file_url(str(url)) or _KINDS}.")
    if kind == _POSTGRES and "@" in f"{parsed.host}{parsed.database}":  # the end of a password, which messages show
        raise BadLedger("ledger is a URL with an @ too many: write each @ of its user name and password as %40.")
    if kind == _POSTGRES:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.host or parsed.query or parsed.database in {None, "", ":memory:"}:
        meant = _file_url(str(url).partition("://")[2]) or "sqlite:///budget.db"
        raise BadLedger(f"ledger must name a file after three slashes and no options, such as {meant}.")
    return parsed.set(drivername="sqlite")


def _file_url(text: str) -> str:
    """The URL that a name of a file was meant as; "" for what may be another URL, and hold a password."""
    return f"sqlite:///{text}" if text.isprintable() and not set(text) & set(":@?") and Path(text).suffix else ""


def _absolute(path: str) -> str:
    """Raises BadLedger for a path in a working directory that is no more."""
    try:
        return os.path.abspath(path)  # noqa: PTH100 (as SQLAlchemy)
    except OSError:
        raise BadLedger("ledger is in a working directory that was deleted: give an absolute path.") from None


@lru_cache(maxsize=16)
def _file_engine(url: URL, *, read_only: bool) -> Engine:
    """One for all that open this file, with the statements that it has compiled; it keeps no connection."""
    if read_only:
        engine = create_engine(url, creator=partial(opened_to_read, Path(str(url.database))), poolclass=NullPool)
    else:
        engine = create_engine(url, connect_args={"timeout": _WAIT}, poolclass=NullPool)
        event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _server_engine(url: URL) -> Engine:
    try:
        arguments = {"connect_timeout": _CONNECT_TIMEOUT}
        engine = create_engine(url, connect_args=arguments, hide_parameters=True, pool_size=1, pool_pre_ping=True)
    except (ImportError, NoSuchModuleError):
        raise BadLedger("PostgreSQL ledgers need a driver: pip install 'dpmine[postgres]'.") from None
    event.listen(engine, "begin", _begin_postgres)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Every commit is on the disk before it returns; transactions begin where we say so."""
    connection.isolation_level = None
    _keep_log(connection)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _keep_log(connection: sqlite3.Connection) -> None:
    """Write ahead; where others change the same new file too, SQLite reports it busy at once and does not wait."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _empty_log(connection: Connection) -> None:
    """Write what was committed into the file itself, while others have it open: a rename would leave the log behind."""
    with suppress(sqlite3.Error), closing(connection.connection.cursor()) as cursor:
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _file_turn(url: URL, _name: str, stack: ExitStack) -> Callable[[], bool]:
    """Of all data sets of the file; whether it is ours, or became ours."""
    lock = FileLock(f"{url.database}.turn", timeout=0)
    stack.callback(lock.release)

    def is_ours() -> bool:
        with suppress(Timeout):
            lock.acquire()
        return lock.is_locked

    return is_ours


def _server_turn(url: URL, name: str, stack: ExitStack) -> Callable[[], bool]:
    """A lock of a connection of its own, which outlives transactions."""
    engine = _server_engine(url)
    stack.callback(engine.dispose)
    connection = stack.enter_context(engine.connect())
    number = int.from_bytes(hashlib.sha256(f"dpmine {name}".encode()).digest()[:8], "big", signed=True)

    def is_ours() -> bool:
        held = connection.execute(_TURN, {"number": number}).scalar() is True
        connection.commit()
        return held

    return is_ours


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get(_READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _begin_postgres(connection: Connection) -> None:
    """A reader sees one state throughout; a writer sees, once it holds a row, what was last committed to it.

    Its commit is on the disk before it returns, whatever the server, the role or the URL has as a default.
    """
    if connection.get_execution_options().get(_READS, False):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return
    connection.exec_driver_sql(
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE; "
        f"SET LOCAL lock_timeout = '{_WAIT}s'; SET LOCAL synchronous_commit = on"
    )


def _reason(error: Exception) -> str:
    """Why, in our own words: a database's message may quote what it was given."""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    if code is not None:
        return next((reason for sign, reason in _REASONS.items() if code.startswith(sign)), "the database rejected it")
    if isinstance(cause, sqlite3.Error):
        return _DAMAGED
    said = str(cause).lower()  # of a server that did not let us in
    return next((reason for sign, reason in _REJECTIONS.items() if sign in said), "its server cannot be reached")


_DAMAGED = "the file is damaged: restore a copy"
_REASONS = {
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_PERM": "permission is denied",
    "SQLITE_NOTADB": "the file is no SQLite database",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_BUSY": f"another process held it for {_WAIT} seconds",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "its disk failed",
    "08": "its server cannot be reached",
    "25006": "it is read-only",
    "28": "its server rejects the user",
    "3D000": "its server has no such database",
    "42501": "permission is denied",
    "53100": "the disk is full",
    "55P03": f"another process held it for {_WAIT} seconds",
    "57P": "its server went away",
}
_REJECTIONS = {
    "password": "its server rejects the user",
    "authentication": "its server rejects the user",
    "pg_hba": "its server rejects the user",
    "does not exist": "its server has no such database or user",
}
