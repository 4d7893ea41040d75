"""The tables of a ledger: their versions, bringing older ones up to date, and whether they are as they were made.

`Database` makes and migrates them; `Ledger.verify` asks whether anything in them was changed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.pool import NullPool

from dpmine.errors import BadLedger
from dpmine.ledger.budget import Accounting, Amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection, Inspector


_NAME = String(200)
_NUMBER = Text  # an exact rational: "1/3"
_SEAL = String(64)
_SETTLES = text("reservation > 0")
_BEFORE_ZCDP, _LATEST = 1, 2


def _filled(**kinds: Any) -> list[Column[Any]]:
    """Columns of these names and types, none of which is ever null; a unit is "" until the first charge."""
    return [Column(name, kind, nullable=False) for name, kind in kinds.items()]


def _added(*, accounting: bool = False) -> list[Column[Any]]:
    """The columns of version 2; "" in rows that version 1 wrote, so that their seals stay as they are."""
    names = ("accounting", "rho", "approximate_delta") if accounting else ("rho", "approximate_delta")
    kinds = {"accounting": _NAME}
    return [Column(name, kinds.get(name, _NUMBER), nullable=False, server_default="") for name in names]


def _tables(metadata: MetaData, version: int) -> None:
    """The tables of a ledger, as that version has them."""
    later = version > _BEFORE_ZCDP
    Table("dpmine_version", metadata, Column("version", Integer, primary_key=True))
    datasets = Table(
        "dpmine_datasets",
        metadata,
        Column("dataset", _NAME, primary_key=True),
        *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, epsilon=_NUMBER, delta=_NUMBER, entries=Integer, seal=_SEAL),
        *(_added(accounting=True) if later else ()),
    )
    Table(
        "dpmine_spent",
        metadata,
        Column("dataset", _NAME, ForeignKey(datasets.c.dataset), primary_key=True),
        Column("part", _NAME, primary_key=True),
        *_filled(epsilon=_NUMBER, delta=_NUMBER),
        *(_added() if later else ()),
    )
    history = Table(
        "dpmine_history",
        metadata,
        Column("dataset", _NAME, ForeignKey(datasets.c.dataset), primary_key=True),
        Column("number", Integer, primary_key=True),
        *_filled(kind=_NAME, part=_NAME, epsilon=_NUMBER, delta=_NUMBER, reservation=Integer),
        *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, job=Text, time=_NAME, seal=_SEAL),
        *(_added(accounting=True) if later else ()),
    )
    settled = (history.c.dataset, history.c.reservation)
    Index("dpmine_settled", *settled, unique=True, sqlite_where=_SETTLES, postgresql_where=_SETTLES)


METADATA = MetaData()
_tables(METADATA, _LATEST)
VERSION = METADATA.tables["dpmine_version"]
DATASETS = METADATA.tables["dpmine_datasets"]
"""A row a data set: what was granted, and the end of its history. Locked for the length of a charge."""
SPENT = METADATA.tables["dpmine_spent"]
"""Running totals of what was charged or is set aside, "" being the whole: what the history adds up to."""
HISTORY = METADATA.tables["dpmine_history"]
"""One row an entry. An index finds the settlement of a reservation, of which there is at most one."""


def _create(connection: Connection) -> None:
    first = MetaData()
    _tables(first, _BEFORE_ZCDP)
    first.create_all(connection)


def _add_zcdp(connection: Connection) -> None:
    """Data sets keep basic accounting; their totals get the ρ that is implied by (ε, δ), charge by charge."""
    compiler = connection.dialect.ddl_compiler(connection.dialect, None)  # type: ignore[arg-type]  # no statement
    for table in (DATASETS, SPENT, HISTORY):
        for column in _added(accounting=table is not SPENT):
            written = compiler.get_column_specification(table.c[column.name])
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {written}")
            if connection.dialect.name == "postgresql":  # else an earlier version, about to write, would leave ρ out
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ALTER COLUMN {column.name} DROP DEFAULT")
    connection.execute(update(DATASETS).values(accounting=Accounting.BASIC.value, rho="0", approximate_delta="0"))
    shown = HISTORY.c.dataset, HISTORY.c.part, HISTORY.c.epsilon, HISTORY.c.delta
    charges = select(*shown).where(HISTORY.c.kind.in_(("charge", "reserve")))
    totals: dict[tuple[str, str], Amount] = {}
    try:
        for row in connection.execute(charges):
            place = (row.dataset, row.part)
            totals[place] = totals.get(place, Amount()) + Amount.implied(row.epsilon, row.delta)
    except ValueError:
        raise BadLedger("An entry of the history was changed by hand: restore a copy of the ledger.") from None
    for (dataset, part), total in totals.items():
        own = update(SPENT).where(SPENT.c.dataset == dataset, SPENT.c.part == part)
        connection.execute(own.values(rho=str(total.rho), approximate_delta=str(total.approximate_delta)))


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create, _add_zcdp)
"""Step v makes version v + 1 out of version v; 0 is a database without a ledger."""


_LOCK = int.from_bytes(b"dpmine", "big")  # PostgreSQL's name of the lock that migrations hold


_HAS_LEDGER = {
    "sqlite": text("SELECT name FROM sqlite_master WHERE name = 'dpmine_version'"),
    "postgresql": text(
        "SELECT relname FROM pg_catalog.pg_class "
        "WHERE relname = 'dpmine_version' AND pg_catalog.pg_table_is_visible(oid)"
    ),
}
"""One statement, where an inspector takes several: every charge asks.

PostgreSQL's to_regclass would remember, behind the lock of migrations, that there was no such table before it.
"""


def version_of(connection: Connection) -> int:
    """0 where there is no ledger. Raises BadLedger for one of a later version, or with its version lost."""
    if connection.execute(_HAS_LEDGER[connection.dialect.name]).scalar() is None:
        return 0
    found = connection.execute(select(VERSION.c.version)).scalars().all()
    if len(found) != 1 or type(found[0]) is not int or found[0] < 1:
        raise BadLedger("The version of this ledger was changed by hand: restore a copy.")
    if found[0] > len(MIGRATIONS):
        raise BadLedger("This ledger was written by a later version of dpmine: update dpmine.")
    return found[0]


def is_current(version: int) -> bool:
    """Whether tables of that version can be used as they are."""
    return version == len(MIGRATIONS)


def bring_up_to_date(connection: Connection) -> None:
    """Make or update the tables, inside the caller's transaction; who comes second finds them made."""
    if connection.dialect.name == "postgresql":  # on SQLite, the transaction is the only writer
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    version, latest = version_of(connection), len(MIGRATIONS)
    for step in MIGRATIONS[version:]:
        step(connection)
    if version == 0:
        connection.execute(VERSION.insert().values(version=latest))
    elif version < latest:
        connection.execute(update(VERSION).values(version=latest))


_NAMES = tuple(table.name for table in METADATA.sorted_tables)
_MASTER = text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name LIKE 'dpmine%' OR tbl_name IN :ours")
_LIST = "'{dpmine_version,dpmine_datasets,dpmine_spent,dpmine_history}'::text[]"
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
    """Raises BadLedger where a table, an index or a constraint is not as the migrations make it, or others are there.

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
    return _master(connection) == _made_by(MIGRATIONS)


@cache
def _made_by(migrations: tuple[Callable[[Connection], None], ...]) -> set[tuple[str, ...]]:
    """The tables of an empty ledger."""
    with create_engine("sqlite://", poolclass=NullPool).begin() as connection:
        for step in migrations:
            step(connection)
        return _master(connection)


def _master(connection: Connection) -> set[tuple[str, ...]]:
    """All that SQLite keeps about our tables; how statements are spaced and quoted does not matter."""
    rows = connection.execute(_MASTER.bindparams(bindparam("ours", _NAMES, expanding=True)))
    return {tuple("".join(str(cell).split()).replace('"', "") for cell in row) for row in rows}


def _is_sound_postgres(connection: Connection) -> bool:
    """Columns that a later migration added are let pass; nothing else is."""
    if connection.execute(_FOREIGN).first() is not None:
        return False
    found = inspect(connection)
    return set(_NAMES) <= set(found.get_table_names()) and all(
        _is_as_made(connection, found, table) for table in METADATA.sorted_tables
    )


def _is_as_made(connection: Connection, found: Inspector, table: Table) -> bool:
    columns = {(column.name, _written(connection, column.type), bool(column.nullable)) for column in table.columns}
    there = found.get_columns(table.name)
    links = {(tuple(link.column_keys), link.referred_table.name) for link in table.foreign_key_constraints}
    linked = found.get_foreign_keys(table.name)
    return (
        columns <= {(each["name"], _written(connection, each["type"]), each["nullable"]) for each in there}
        and set(found.get_pk_constraint(table.name)["constrained_columns"]) == {c.name for c in table.primary_key}
        and links == {(tuple(link["constrained_columns"]), link["referred_table"]) for link in linked}
        and _indexes(found, table.name)
        == {(str(i.name), tuple(i.columns.keys()), bool(i.unique)) for i in table.indexes}
        and not [*found.get_check_constraints(table.name), *found.get_unique_constraints(table.name)]
    )


def _indexes(found: Inspector, table: str) -> set[tuple[str, tuple[Any, ...], bool]]:
    """Those beside the primary key; a condition other than ours makes another index of it."""
    return {
        (str(index["name"]), tuple(index["column_names"]), bool(index["unique"]) and _is_ours(index))
        for index in found.get_indexes(table)
    }


def _is_ours(index: Any) -> bool:
    condition: Iterable[str] = str(index.get("dialect_options", {}).get("postgresql_where", ""))
    return "".join(sign for sign in condition if sign not in "() ") == "reservation>0"


def _written(connection: Connection, kind: Any) -> str:
    return str(kind.compile(dialect=connection.dialect))
