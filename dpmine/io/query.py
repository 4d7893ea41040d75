"""The rows of an SQL statement, on DuckDB, SQLite or PostgreSQL, read as they come.

The statement may choose, rename and filter rows one by one, by public conditions. One that joins, groups or numbers
rows can put a person's data into many of them: no guarantee sees that.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadParameter, UnreadableFile, require_memory
from dpmine.io.paths import shown_name
from dpmine.io.source import ArrowSource, Source, quoted
from dpmine.io.text_columns import TextSource, require_declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_ROWS = 2**16  # in a batch
_KINDS = "duckdb:///shop.duckdb, sqlite:///shop.db or postgresql://user@host/database"
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_TABLES = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
_NO_TABLE = re.compile(
    r"[A-Z]\w+ Error: Table with name|\(sqlite3\.\w+\) no such table|\(psycopg\.errors\.UndefinedTable\)"
)
_NO_COLUMN = re.compile(
    r"Binder Error: Referenced column|\(sqlite3\.\w+\) no such column|\(psycopg\.errors\.UndefinedColumn\)"
)
"""How the messages on schemas begin that DuckDB, SQLite and PostgreSQL give; the rest of them is not shown."""
_NOT_WORDS = re.compile(r"--[^\n]*|/\*.*?\*/|'[^']*'|\"[^\"]*\"", re.DOTALL)
"""Comments, texts and quoted names."""
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
_LISTED = 20  # tables in a message
_ANSWER = 10  # seconds, for a server to accept a connection


def open_query(query: str, database: str, declared: Mapping[str, pa.DataType]) -> Source:
    """The columns of a statement: it is run without rows here, and for its rows when they are needed.

    Columns have the types of DuckDB's; from the other databases they come as text, for SQLite has types by value.

    Raises BadParameter for another kind of database, UnreadableFile where it cannot be reached, or rejects it.
    """
    statement = query.strip().rstrip(";")
    kind, _, rest = database.partition("://")
    if kind == "duckdb":
        if declared:
            raise BadParameter("types (--types) are for columns of text: columns of DuckDB have types, leave it out.")
        return _duckdb(statement, rest.removeprefix("/"), shown_name(database))
    if kind not in _DRIVERS:
        raise BadParameter(f"database (--database) must be {_KINDS}.")
    return _other(statement, database, declared)


def _duckdb(statement: str, path: str, shown: str) -> Source:
    try:
        import duckdb
    except ImportError:
        raise BadParameter("duckdb is not installed: pip install 'dpmine[sql]'.") from None
    _require_file(path, shown)

    def tables() -> list[str]:
        with _explained(shown, duckdb.Error), duckdb.connect(path, read_only=True) as connection:
            return [name for (name,) in connection.execute(_TABLES).fetchall()]

    @contextmanager
    def result(names: Sequence[str] | None) -> Iterator[pa.RecordBatchReader]:
        with (
            _explained(shown, duckdb.Error, tables if names is None else None),
            duckdb.connect(path, read_only=True) as connection,
        ):
            yield pa.RecordBatchReader.from_stream(connection.sql(_selected(statement, names)))

    def rows(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with result(names) as found:
            yield from found

    with result(None) as found:
        return ArrowSource(found.schema.remove_metadata(), rows, repeatable=True, known=_known(statement))


def _other(statement: str, database: str, declared: Mapping[str, pa.DataType]) -> Source:
    from sqlalchemy import create_engine, inspect, make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        url = make_url(database)
        engine = create_engine(
            url.set(drivername=_DRIVERS[url.get_backend_name()]),
            poolclass=NullPool,
            connect_args={} if url.get_backend_name() == "sqlite" else {"connect_timeout": _ANSWER},
        )
    except (ArgumentError, KeyError):
        raise BadParameter(f"database (--database) must be {_KINDS}.") from None
    except (ImportError, NoSuchModuleError):
        raise BadParameter("The driver for PostgreSQL is not installed: pip install 'dpmine[postgres]'.") from None
    shown = shown_name(database)
    if url.get_backend_name() == "sqlite":
        _require_file(str(url.database or ""), shown)

    def tables() -> list[str]:
        with _explained(shown, SQLAlchemyError):
            found = inspect(engine)
            return [*found.get_table_names(), *found.get_view_names()]

    @contextmanager
    def result(names: Sequence[str] | None) -> Iterator[Any]:
        with _explained(shown, SQLAlchemyError, tables if names is None else None), engine.connect() as connection:
            streamed = connection.execution_options(stream_results=True, no_parameters=True)  # % is SQL
            with streamed.exec_driver_sql(_selected(statement, names)) as found:  # or the server keeps its cursor
                yield found

    def texts(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with result(names) as found:
            for rows in found.partitions(_ROWS):
                columns = [pa.array(map(_text, column), pa.string()) for column in zip(*rows, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))

    with result(None) as found:
        header = tuple(found.keys())
    require_declared(header, declared, "among the columns of the query")
    return TextSource(header, declared, texts, known=_known(statement))


def _known(statement: str) -> tuple[str, ...]:
    """That the words of a statement can put the data of one unit among those of others; none where no word does."""
    plain = _NOT_WORDS.sub(" ", statement)
    found = [name for name, pattern in _MIXING.items() if re.search(pattern, plain, re.IGNORECASE)]
    if not found:
        return ()
    caution = (
        f"the query has {', '.join(found)}: the guarantee is for the rows that a query returns, and these can mix "
        "rows of several units. Leave them out, unless the rows of each unit depend on that unit alone (as in a join "
        "with a public table)"
    )
    return (caution,)


def _selected(statement: str, names: Sequence[str] | None) -> str:
    """The statement for these columns; for None all of them, and no row."""
    chosen = "*" if names is None else ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    everything = f"SELECT {chosen} FROM (\n{statement}\n) AS dpmine_rows"  # noqa: S608 - the user's own statement
    return everything if names is not None else f"{everything} LIMIT 0"


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    return str(value)


def _require_file(path: str, shown: str) -> None:
    """UnreadableFile where there is none: a database would make one."""
    if not path or not Path(path).is_file():
        raise UnreadableFile(f"{shown} does not exist; check its name.")


@contextmanager
def _explained(shown: str, kind: type[Exception], tables: Callable[[], Sequence[str]] | None = None) -> Iterator[None]:
    """UnreadableFile without the database's own words, which may quote values.

    With `tables`, which lists them, no row is asked for: what is not there is then said, by public names alone.
    """
    try:
        yield
    except (kind, OSError) as error:
        require_memory(error)
        said, name = str(error), type(error).__name__
    else:
        return
    if tables is not None and _NO_TABLE.match(said):
        reason = f"The query names a table that is not in {shown}: {_choice(tables())}."
    elif tables is not None and _NO_COLUMN.match(said):
        reason = (
            f"The query names a column that is not in its tables in {shown}: correct it in --query; text values stand "
            "in single quotes."
        )
    else:
        reason = f"{shown} cannot be reached, or rejects the query ({name}): try both in the database's own shell."
    raise UnreadableFile(reason) from None


def _choice(tables: Sequence[str]) -> str:
    """What may be written in place of a table that is not there."""
    if not tables:
        return "it holds none; check --database"
    more = ", …" if len(tables) > _LISTED else ""
    return f"write one that it holds in --query: {quoted(tables[:_LISTED])}{more}"
