"""The rows of an SQL statement, on DuckDB, SQLite or PostgreSQL, read as they come.

The statement may choose, rename and filter rows one by one, by public conditions. One that joins, groups or numbers
rows can put a person's data into many of them: no guarantee sees that.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from dpmine.errors import BadParameter, DpmineError, FailedPass, UnreadableFile, require_memory
from dpmine.io.files import shown_name
from dpmine.io.input import ENDINGS
from dpmine.io.source import ArrowSource, Source, quoted
from dpmine.io.sources.databases import PostgreSQL, SQLite
from dpmine.io.sources.row_expressions import CLOSED, connected, converted, taken
from dpmine.io.sources.text_columns import TextSource, require_declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from dpmine.io.sources.databases import Database

_ROWS = 2**16  # in a batch
_BATCHES_CACHED = 16  # whose blocks DuckDB may keep of a database's file
_OPEN: list[DuckDBPyConnection] = []
_OPENING = Lock()
"""Held while a connection is opened, or while a limit is lowered that it would share."""
_KINDS = "duckdb:///shop.duckdb, duckdb:///:memory: (for several files), sqlite:///shop.db or postgresql://user@host/database"
_MEMORY = ":memory:"
_TABLES = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
_NO_TABLE = re.compile(r"\w+: \w+ Error: Table with name|\w+: no such table|42P01")
_NO_COLUMN = re.compile(r"\w+: \w+ Error: Referenced column|\w+: no such column|42703")
_NO_SELECT = re.compile(r"ParserException|SQLITE_ERROR: (near|incomplete|unrecognized)|42601")
_OWN_FILE = re.compile(r"PermissionException")
_LOCKED = re.compile(r"IOException: [^\n]*Could not set lock|SQLITE_(BUSY|LOCKED)|55P03|57014")
_NOT_ALLOWED = re.compile(r"SQLITE_(AUTH|CANTOPEN|PERM|READONLY)|42501")
_NOT_CONNECTED = re.compile(r"OperationalError|Connection|08|28|3D000|57P")
_NO_MEMORY = "OutOfMemoryException"
_EXHAUSTED = re.compile(r"53")
"""How errors of DuckDB, SQLite and PostgreSQL begin, after their code or class; the rest of them is not shown."""
_NOT_WORDS = re.compile(r"--[^\n]*|/\*.*?\*/|'[^']*'|\"[^\"]*\"", re.DOTALL)
"""Comments, texts and quoted names."""
_STAND_INS = {"'": " '' ", '"': " x "}
_MIXING = {
    "GROUP BY": r"\bgroup\s+by\b",
    "an aggregate": r"\b(count|sum|avg|min|max|array_agg|string_agg|group_concat|list)\s*\(",
    "DISTINCT": r"\bdistinct\b",
    "LIMIT": r"\b(limit|offset|fetch\s+(first|next)|sample|tablesample|top)\b",
    "JOIN": r"\bjoin\b",
    "several tables": r"\bfrom\s+\S+(\s+(as\s+)?\w+)?\s*,",
    "a window (OVER)": r"\bover\b",
    "UNION": r"\b(union|intersect|except)\b",
    "a second SELECT": r"\bselect\b[\s\S]*\bselect\b",
}
"""Words that can make the rows of one unit depend on those of another."""
_COMPUTES = (
    "the query computes with values, by a function, a conversion or arithmetic (DuckDB converts texts that are "
    "compared with numbers): if that fails at one row, the run ends after its charge, and no guarantee covers that. "
    "Leave it out, or make it null there (TRY_CAST, NULLIF, CASE)"
)
_CAST = re.compile(r"\bcast\s*\(|[\w)]\s*::", re.IGNORECASE)
"""Of anything but a constant text. In SQLite none fails."""
_HARMLESS = (
    "all|and|any|as|avg|between|by|case|cast|coalesce|concat|count|distinct|else|exists|from|ifnull|in|join|length|"
    "like|list|lower|ltrim|max|min|not|nullif|on|or|over|rtrim|select|starts_with|string_agg|sum|then|trim|"
    "try_cast|upper|using|values|when|where|with"
)
"""Before a bracket or a sign: words, functions that fail at no value, and the aggregates of `_MIXING`."""
_CALL = re.compile(rf"\b(?!(?:{_HARMLESS})\b)\w+\s*\(", re.IGNORECASE)
_ARITHMETIC = re.compile(rf"(?:\b(?!(?:{_HARMLESS})\b)\w+|\))\s*(?:[+/%]|-(?!>))|\*\s*(?!from\b)[\w(]", re.IGNORECASE)
"""Fails at zero or beyond the largest integer; in SQLite nowhere."""
_FAILING = (_CALL, _CAST, _ARITHMETIC)
_PLANNED = re.compile(r"\bCAST\((?!['\d-])")
"""A cast in a condition of a plan of DuckDB, which casts texts that are compared with numbers."""
_LISTED = 20  # tables in a message


def open_query(
    query: str,
    database: str,
    declared: Mapping[str, pa.DataType],
    formats: Mapping[str, str],
    open_file: Callable[[str], Source],
) -> Source:
    """The columns of a statement: it is run without rows here, and for its rows when they are needed.

    Columns have the types of DuckDB's; from the other databases they come as text, for SQLite has types by value.
    `formats` are those of `TextSource`. `open_file` opens the files that a statement for DuckDB names as tables: they
    are read by our rules.

    Raises BadParameter for another kind of database, UnreadableFile where it cannot be reached, or rejects it.
    """
    statement = query.strip().rstrip(";")
    kind, _, rest = database.partition("://")
    path, shown = rest.removeprefix("/"), shown_name(database)
    if kind not in {"duckdb", "sqlite", "postgresql"}:
        raise BadParameter(f"`database` must be {_KINDS}.")
    if kind == "postgresql":
        texts = _texts(statement, PostgreSQL(database), shown, declared, _cautions(statement, *_FAILING))
        return replace(texts, formats=formats)
    if kind == "duckdb" and declared:
        raise BadParameter("`types` are for columns of text, and DuckDB's columns have types: leave it out.")
    in_memory = kind == "duckdb" and path == _MEMORY
    if not in_memory and not (path and Path(path).is_file()):  # a database would make one
        raise UnreadableFile(f"{shown} does not exist; check its name.")
    if kind == "sqlite":
        texts = _texts(statement, SQLite(path), shown, declared, _cautions(statement, _CALL))
        return replace(texts, formats=formats)
    return _duckdb(statement, path, shown, open_file)


def _duckdb(statement: str, path: str, shown: str, open_file: Callable[[str], Source]) -> Source:
    try:
        import duckdb
    except ImportError:
        raise BadParameter("duckdb is not installed: pip install 'dpmine[sql]'.") from None
    files: dict[str, Source] = {}

    @contextmanager
    def opened() -> Iterator[DuckDBPyConnection]:
        failed: list[DpmineError] = []
        with _connection(path) as connection:
            connection.execute("SET explain_output = 'all'; SET streaming_buffer_size = '1MB'")
            for name, source in files.items():
                connection.register(name, _stream(source, failed))
            try:
                yield connection
            except (duckdb.Error, OSError, ValueError):
                if failed:
                    raise failed[0] from None
                raise

    def tables() -> list[str]:
        with _explained(shown, duckdb.Error), opened() as connection:
            return [name for (name,) in connection.execute(_TABLES).fetchall()]

    def rows(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _explained(shown, duckdb.Error), opened() as connection:
            yield from _streamed(connection, _selected(statement, names))

    with _explained(shown, duckdb.Error, tables, files), opened() as connection:
        for name in _files_in(statement, connection):
            files[name] = open_file(name)
            connection.register(name, _stream(files[name], []))
        asked = _selected(statement, None)
        schema = pa.RecordBatchReader.from_stream(connection.sql(asked)).schema
        plan = dict(connection.execute(f"EXPLAIN (FORMAT json) {asked}").fetchall())["logical_plan"]
    hint = next((source.header_hint for source in files.values() if source.header_hint), None)
    of_files = dict.fromkeys(chain.from_iterable(source.cautions(()) for source in files.values()))
    cautions = (*of_files, *_cautions(statement, *_FAILING, fails=bool(_PLANNED.search(plan))))
    return ArrowSource(schema.remove_metadata(), rows, repeatable=True, notices=cautions, header_hint=hint)


@contextmanager
def _connection(path: str) -> Iterator[DuckDBPyConnection]:
    """A connection of its own; those of a process to one file share their settings."""
    from duckdb import connect

    with _OPENING:
        connection = connect(path, read_only=path != _MEMORY, config={**CLOSED})
        _OPEN.append(connection)
    try:
        with connection:
            yield connection
    finally:
        _OPEN.remove(connection)


def _streamed(connection: DuckDBPyConnection, statement: str) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(connection.sql(statement).to_arrow_reader(_ROWS)):
        if number % _BATCHES_CACHED == 0:
            _empty_cache(connection)
        yield batch


def _empty_cache(connection: DuckDBPyConnection) -> None:
    """Let go the blocks of a file that DuckDB keeps: a limit that stands could end a run because of the data.

    It would end the query of another thread at once, so beside other connections the blocks stay.
    """
    from duckdb import Error

    with _OPENING:
        if len(_OPEN) > 1:
            return
        with connection.cursor() as cursor:
            with suppress(Error):  # what the query itself holds stays
                cursor.execute("SET memory_limit = '16MB'")
            cursor.execute("RESET memory_limit")


def named_files(query: object, database: object) -> list[str]:
    """The files that a query names as tables; none for another database than DuckDB, or if it is not a SELECT.

    Opens no database. Nor are there any where DuckDB is not installed, which is an error once the query is run.
    """
    is_duckdb = database is None or str(database).startswith("duckdb:")
    if not isinstance(query, str) or not is_duckdb or find_spec("duckdb") is None:
        return []
    with connected() as connection:
        return _files_in(query.strip().rstrip(";"), connection, () if database is None else ENDINGS)


def _files_in(statement: str, connection: DuckDBPyConnection, endings: tuple[str, ...] = ENDINGS) -> list[str]:
    """The table names in a statement that end like files, or all of them; none if it is not a SELECT."""
    (tree,) = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [statement]).fetchall()[0]
    tables: list[str] = []
    json.loads(tree, object_hook=lambda node: tables.append(node.get("table_name", "")))
    return sorted({name for name in tables if name and name.lower().endswith(endings or "")})


def _stream(source: Source, failed: list[DpmineError]) -> pa.RecordBatchReader:
    """The columns of a file that DuckDB can hold without a conversion that fails at a value; others are left out.

    An error of the file, whose words DuckDB would not keep, is added to `failed`.
    """
    kinds = {name: kind for name in source.names if (kind := taken(source.type_of(name))) is not None}
    schema = pa.schema(kinds.items())

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in source.batches(list(kinds)):
                columns = [converted(batch.column(name), kind) for name, kind in kinds.items()]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
        except DpmineError as error:
            failed.append(error)
            raise

    return pa.RecordBatchReader.from_batches(schema, batches())


def _texts(
    statement: str, database: Database, shown: str, declared: Mapping[str, pa.DataType], cautions: tuple[str, ...]
) -> TextSource:
    def tables() -> list[str]:
        with _explained(shown, database.errors):
            return [name for (name,) in database.rows(database.listing) if name is not None]

    def texts(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _explained(shown, database.errors):
            rows = database.rows(_selected(statement, names))
            while taken := list(islice(rows, _ROWS)):
                columns = [pa.array(column, pa.string()) for column in zip(*taken, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))

    with _explained(shown, database.errors, tables):
        header = database.columns(_selected(statement, None))
    require_declared(header, declared, "among the columns of the query")
    return TextSource(header, declared, texts, notices=cautions)


def _cautions(statement: str, *failing: re.Pattern[str], fails: bool = False) -> tuple[str, ...]:
    """What a statement can do to the guarantee: mix units, or fail at one row, as what is `failing` in its words."""
    words = _words(statement)
    cautions = []
    if mixing := [name for name, pattern in _MIXING.items() if re.search(pattern, words, re.IGNORECASE)]:
        cautions.append(
            f"the query has {', '.join(mixing)}: the guarantee is for the rows that a query returns, and these can mix "
            "rows of several units. Leave them out, unless the rows of each unit depend on that unit alone (as in a "
            "join with a public table)"
        )
    if fails or any(pattern.search(words) for pattern in failing):
        cautions.append(_COMPUTES)
    return tuple(cautions)


def _words(statement: str) -> str:
    """The statement without comments, with stand-ins for texts and quoted names."""
    return _NOT_WORDS.sub(lambda found: _STAND_INS.get(found[0][0], " "), statement)


def _selected(statement: str, names: Sequence[str] | None) -> str:
    """The statement for these columns; for None all of them, and no row."""
    chosen = "*" if names is None else ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    everything = f"SELECT {chosen} FROM (\n{statement}\n) AS dpmine_rows"  # noqa: S608 - the user's own statement
    return everything if names is not None else f"{everything} LIMIT 0"


@contextmanager
def _explained(
    shown: str,
    kind: type[Exception],
    tables: Callable[[], Sequence[str]] | None = None,
    files: Mapping[str, Source] | None = None,
) -> Iterator[None]:
    """UnreadableFile without the database's own words, which may quote values.

    With `tables`, which lists them, no row is asked for: what is wrong is then said, by public names alone, and by the
    number of columns of `files`. Without it, the message is the same whatever row failed.
    """
    try:
        yield
    except DpmineError:
        raise
    except (kind, OSError, ValueError) as error:
        require_memory(error)
        if type(error).__name__ == _NO_MEMORY:
            raise MemoryError from None
        failure = error
    else:
        return
    if tables is None:
        raise FailedPass(f"{shown} {_FAILED}") from None
    raise UnreadableFile(_why(shown, failure, tables, files or {})) from None


_FAILED = (
    "failed while it returned rows: its connection ended, another process locked it, or the query computes with values "
    "(a cast, a division), which can fail at one row. Leave such computations out, or make them null there (TRY_CAST, "
    "NULLIF, CASE)."
)


def _why(shown: str, error: Exception, tables: Callable[[], Sequence[str]], files: Mapping[str, Source]) -> str:
    """The message for a statement whose columns cannot be found."""
    kind = type(error).__name__
    sign = f"{getattr(error, 'sqlstate', None) or getattr(error, 'sqlite_errorname', None) or kind}: {error}"
    if _NO_TABLE.match(sign):
        return f"The query names a table that {shown} does not have: {_choice(tables())}."
    if _NO_COLUMN.match(sign):
        return (
            f"The query names a column that its tables in {shown} do not have: correct it in `query=…`. Enclose text "
            f"values in single quotes.{_on_delimiters(files)}"
        )
    reason = next((said for pattern, said in _REASONS.items() if pattern.match(sign)), _OTHER)
    return reason.format(shown=shown, kind=kind)


_REASONS = {
    _NO_SELECT: "The query is not one SELECT statement that {shown} can read: correct it in `query=…`.",
    _OWN_FILE: "The query opens a file by itself: write its name as that of a table, such as FROM 'sales.parquet'.",
    _LOCKED: "{shown} is locked by another process, or gave no answer in the time that it allows: run this later.",
    _NOT_ALLOWED: "{shown} does not allow this user to read what the query names: grant that, or name another user.",
    _NOT_CONNECTED: "{shown} cannot be reached, or rejects the user: check `database=…`, and that its server runs.",
    _EXHAUSTED: "{shown} has no memory, disk space or connection left: run this later.",
}
_OTHER = "{shown} rejects the query ({kind}): try it in the database's own shell."


def _on_delimiters(files: Mapping[str, Source]) -> str:
    """Advice where a file of text has one column, as one with another delimiter than a comma has."""
    single = [name for name, source in files.items() if source.header_hint is not None and len(source.names) == 1]
    if not single:
        return ""
    return f" {single[0]} has one column: for another delimiter, give the file and `delimiter=';'`, no query."


def _choice(tables: Sequence[str]) -> str:
    """What may be written in place of a table that is not there."""
    if not tables:
        return "it holds none; check `database=…` (DuckDB takes files, too: FROM 'sales.parquet')"
    more = ", …" if len(tables) > _LISTED else ""
    return f"write one that it holds in `query=…`: {quoted(tables[:_LISTED])}{more}"
