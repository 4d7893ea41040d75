"""The tables of a ledger, their version, and whether they are as they were made.

`Database` makes them; `Ledger.verify` asks whether anything in them was changed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    inspect,
    select,
    text,
)
from sqlalchemy.pool import NullPool

from dpmine.errors import BadLedger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Inspector
    from sqlalchemy.engine.interfaces import ReflectedIndex
    from sqlalchemy.types import TypeEngine


_NAME = String(200)
_NUMBER = Text  # an exact rational: "1/3"
_SEAL = String(64)
_SETTLES = text("reservation > 0")
_VERSION = 1
"""Of these tables; a ledger of another one is rejected."""


def _filled(**kinds: String | type[Text | Integer | LargeBinary]) -> list[Column[Any]]:
    """Columns of these names and types, none of which is ever null; a unit is "" until the first charge."""
    return [Column(name, kind, nullable=False) for name, kind in kinds.items()]


METADATA = MetaData()
VERSION = Table("dpmine_version", METADATA, Column("version", Integer, primary_key=True))
DATASETS = Table(
    "dpmine_datasets",
    METADATA,
    Column("dataset", _NAME, primary_key=True),
    *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, epsilon=_NUMBER, delta=_NUMBER, entries=Integer, seal=_SEAL),
    *_filled(accounting=_NAME, rho=_NUMBER, approximate_delta=_NUMBER),
)
"""A row a data set: what was granted, and the end of its history. Locked for the length of a charge."""
SPENT = Table(
    "dpmine_spent",
    METADATA,
    Column("dataset", _NAME, ForeignKey(DATASETS.c.dataset), primary_key=True),
    Column("part", _NAME, primary_key=True),
    *_filled(epsilon=_NUMBER, delta=_NUMBER, rho=_NUMBER, approximate_delta=_NUMBER),
)
"""Running totals of what was charged or is set aside, "" being the whole: what the history adds up to."""
HISTORY = Table(
    "dpmine_history",
    METADATA,
    Column("dataset", _NAME, ForeignKey(DATASETS.c.dataset), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_filled(kind=_NAME, part=_NAME, epsilon=_NUMBER, delta=_NUMBER, reservation=Integer),
    *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, job=Text, time=_NAME, seal=_SEAL),
    *_filled(accounting=_NAME, rho=_NUMBER, approximate_delta=_NUMBER, nonce=_NAME),
)
"""One row an entry. An index finds the settlement of a reservation, of which there is at most one."""
Index(
    "dpmine_settled",
    HISTORY.c.dataset,
    HISTORY.c.reservation,
    unique=True,
    sqlite_where=_SETTLES,
    postgresql_where=_SETTLES,
)
RESULTS = Table(
    "dpmine_results",
    METADATA,
    Column("dataset", _NAME, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("file", _NAME, primary_key=True),
    *_filled(content=LargeBinary, seal=_SEAL),
    ForeignKeyConstraint(["dataset", "number"], [HISTORY.c.dataset, HISTORY.c.number]),
)
"""A file of a result, by the number of the charge that it came of."""
_LOCK = int.from_bytes(b"dpmine", "big")  # PostgreSQL's name of the lock under which tables are made


_HAS_LEDGER = {
    "sqlite": text("SELECT name FROM sqlite_master WHERE name = 'dpmine_version'"),
    "postgresql": text(
        "SELECT relname FROM pg_catalog.pg_class "
        "WHERE relname = 'dpmine_version' AND pg_catalog.pg_table_is_visible(oid)"
    ),
}
"""One statement, where an inspector takes several: every charge asks.

PostgreSQL's to_regclass would remember, behind that lock, that there was no such table before it.
"""


def has_ledger(connection: Connection) -> bool:
    """Whether the tables are there. Raises BadLedger where they are those of another version, or it is not known."""
    if connection.execute(_HAS_LEDGER[connection.dialect.name]).scalar() is None:
        return False
    versions = connection.execute(select(VERSION.c.version)).scalars().all()
    if len(versions) != 1 or type(versions[0]) is not int or versions[0] < 1:
        raise BadLedger("The version of this ledger was changed by hand: restore a copy.")
    if versions[0] != _VERSION:
        raise BadLedger("This ledger was written by a later version of dpmine: update dpmine.")
    return True


def make_tables(connection: Connection) -> None:
    """The tables of an empty ledger, inside the caller's transaction; who comes second finds them made."""
    if connection.dialect.name == "postgresql":  # on SQLite, the transaction is the only writer
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if not has_ledger(connection):
        METADATA.create_all(connection)
        connection.execute(VERSION.insert().values(version=_VERSION))


_NAMES = tuple(table.name for table in METADATA.sorted_tables)
_MASTER = text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name LIKE 'dpmine%' OR tbl_name IN :ours")
_LIST = f"'{{{','.join(_NAMES)}}}'::text[]"
_OURS = f"(SELECT oid FROM pg_class WHERE oid IN (SELECT to_regclass(name) FROM unnest({_LIST}) AS name))"  # noqa: S608 - constants of this module
_FOREIGN = text(
    f"SELECT 1 FROM pg_trigger WHERE tgrelid IN {_OURS} AND (NOT tgisinternal OR tgenabled <> 'O') "  # noqa: S608 - constants of this module
    f"UNION ALL SELECT 1 FROM pg_rewrite WHERE ev_class IN {_OURS} "
    f"UNION ALL SELECT 1 FROM pg_policy WHERE polrelid IN {_OURS} "
    f"UNION ALL SELECT 1 FROM pg_index WHERE indrelid IN {_OURS} AND NOT (indisvalid AND indisready AND indislive) "
    f"UNION ALL SELECT 1 FROM pg_constraint WHERE conrelid IN {_OURS} AND NOT convalidated "
    f"UNION ALL SELECT 1 FROM pg_class WHERE oid IN {_OURS} "
    "AND (relkind, relpersistence, relrowsecurity) <> ('r', 'p', false)"
)
"""Triggers that are ours or switched off, rules, row policies, indexes and constraints that are not kept up, views."""


def require_own_schema(connection: Connection) -> None:
    """Raises BadLedger where a table, an index or a constraint is not as it was made, or others are there.

    A trigger could change what a charge writes, and a lost index let a reservation be settled twice.
    """
    sound = _is_sound_sqlite if connection.dialect.name == "sqlite" else _is_sound_postgres
    if not sound(connection):
        raise BadLedger(
            "The tables of the ledger were changed by hand (a trigger, an index, a column): restore a copy."
        )


def _is_sound_sqlite(connection: Connection) -> bool:
    """As an empty ledger; and every page can be read, every index finds what its table holds."""
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all() != ["ok"]:
        raise BadLedger("The file of the ledger is damaged: restore a copy.")
    return _master(connection) == _as_made()


@cache
def _as_made() -> set[tuple[str, ...]]:
    """What SQLite keeps about the tables of an empty ledger."""
    with create_engine("sqlite://", poolclass=NullPool).begin() as connection:
        METADATA.create_all(connection)
        return _master(connection)


def _master(connection: Connection) -> set[tuple[str, ...]]:
    """All that SQLite keeps about our tables; how statements are spaced and quoted does not matter."""
    rows = connection.execute(_MASTER.bindparams(bindparam("ours", _NAMES, expanding=True)))
    return {tuple("".join(str(cell).split()).replace('"', "") for cell in row) for row in rows}


def _is_sound_postgres(connection: Connection) -> bool:
    """Whether there are our tables, as they were made, and nothing that acts on them."""
    if connection.execute(_FOREIGN).first() is not None:
        return False
    inspector = inspect(connection)
    return set(_NAMES) <= set(inspector.get_table_names()) and all(
        _is_as_made(connection, inspector, table) for table in METADATA.sorted_tables
    )


def _is_as_made(connection: Connection, inspector: Inspector, table: Table) -> bool:
    columns = {(column.name, _written(connection, column.type), bool(column.nullable)) for column in table.columns}
    found_columns = inspector.get_columns(table.name)
    links = {(tuple(link.column_keys), link.referred_table.name) for link in table.foreign_key_constraints}
    found_links = inspector.get_foreign_keys(table.name)
    return (
        columns == {(each["name"], _written(connection, each["type"]), each["nullable"]) for each in found_columns}
        and set(inspector.get_pk_constraint(table.name)["constrained_columns"]) == {c.name for c in table.primary_key}
        and links == {(tuple(link["constrained_columns"]), link["referred_table"]) for link in found_links}
        and _indexes(inspector, table.name)
        == {(str(i.name), tuple(i.columns.keys()), bool(i.unique)) for i in table.indexes}
        and not [*inspector.get_check_constraints(table.name), *inspector.get_unique_constraints(table.name)]
    )


def _indexes(inspector: Inspector, table: str) -> set[tuple[str, tuple[str | None, ...], bool]]:
    """Those beside the primary key; a condition other than ours makes another index of it."""
    return {
        (str(index["name"]), tuple(index["column_names"]), bool(index["unique"]) and _is_ours(index))
        for index in inspector.get_indexes(table)
    }


def _is_ours(index: ReflectedIndex) -> bool:
    condition: Iterable[str] = str(index.get("dialect_options", {}).get("postgresql_where", ""))
    return "".join(sign for sign in condition if sign not in "() ") == "reservation>0"


def _written(connection: Connection, kind: TypeEngine[Any]) -> str:
    return str(kind.compile(dialect=connection.dialect))
