"""Whether the tables of a ledger are those that its migrations make: nothing lost or changed, and no triggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, create_engine, inspect, text
from sqlalchemy.pool import StaticPool

from dpmine.errors import BadLedger
from dpmine.ledger.tables import METADATA, bring_up_to_date

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Engine, Inspector, Table

_NAMES = tuple(table.name for table in METADATA.sorted_tables)
_MASTER = text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name LIKE 'dpmine%' OR tbl_name IN :ours")
_LIST = "'{dpmine_version,dpmine_datasets,dpmine_spent,dpmine_history}'::text[]"
_OURS = f"(SELECT oid FROM pg_class WHERE oid IN (SELECT to_regclass(name) FROM unnest({_LIST}) AS name))"  # noqa: S608
_FOREIGN = text(
    f"SELECT 1 FROM pg_trigger WHERE tgrelid IN {_OURS} AND (NOT tgisinternal OR tgenabled <> 'O') "  # noqa: S608
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
    engine = create_engine("sqlite://", poolclass=StaticPool)
    try:
        return _master(connection) == _fresh(engine)
    finally:
        engine.dispose()


def _fresh(engine: Engine) -> set[tuple[str, ...]]:
    with engine.begin() as connection:
        bring_up_to_date(connection)
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
