"""Databases of given rows: on SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ledger.postgres import Cluster

TABLE = "rows"


def database_of(
    kind: str, place: Path | Cluster, columns: Mapping[str, str], rows: Iterable[str], before: str = ""
) -> str:
    """The URL of a new database with one table, TABLE.

    Args:
        kind: "sqlite", "duckdb" or "postgresql".
        place: the folder of the file; of PostgreSQL the server.
        columns: declared types by name.
        rows: each as expressions of the database's SQL, separated by commas.
        before: statements that make types.
    """
    declared = ", ".join(f"{name} {declaration}" for name, declaration in columns.items())
    table = f"CREATE TABLE {TABLE} ({declared})"
    statements = [before, table, *(f"INSERT INTO {TABLE} VALUES ({row})" for row in rows)]
    return _MAKERS[kind](place, [statement for statement in statements if statement])


def _sqlite(folder: Path, statements: list[str]) -> str:
    path = folder / f"{uuid4().hex}.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return f"sqlite:///{path}"


def _duckdb(folder: Path, statements: list[str]) -> str:
    import duckdb

    path = folder / f"{uuid4().hex}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.begin()  # one transaction: a file is written once
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return f"duckdb:///{path}"


def _postgresql(cluster: Cluster, statements: list[str]) -> str:
    import psycopg

    name = f"of_{uuid4().hex}"
    url = cluster.schema(name)
    with psycopg.connect(cluster.libpq("postgres")) as connection:
        connection.execute(f"SET search_path TO {name}".encode())
        for statement in statements:
            connection.execute(statement.encode())
    return url


_MAKERS: dict[str, Callable[[Any, list[str]], str]] = {"sqlite": _sqlite, "duckdb": _duckdb, "postgresql": _postgresql}
