"""Whether a ledger is as it was written: its tables, and its histories read again from the first entry to the last."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, create_engine, inspect, text

from dpmine.errors import BadLedger, DpmineError
from dpmine.ledger import tables
from dpmine.ledger.budget import START, WHOLE, Amount, Budget, Parts
from dpmine.ledger.records import Entry, Kind
from dpmine.ledger.tables import METADATA
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection, Inspector, Table


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
    return _master(connection) == _made_by(tables.MIGRATIONS)


@cache
def _made_by(migrations: tuple[Callable[[Connection], None], ...]) -> set[tuple[str, ...]]:
    """The tables of an empty ledger."""
    with create_engine("sqlite://").begin() as connection:
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


def replayed(history: Iterable[tuple[Entry, str]]) -> Budget:
    """The budget that the entries lead to, by the rules that charges are held to.

    Raises BadLedger, with the number of the entry, for a seal that does not fit, a gap, or what no ledger would write.
    """
    budget: Budget | None = None
    seal, reserved = START, dict[int, tuple[str, Amount]]()
    for number, (entry, written) in enumerate(history, start=1):
        seal = entry.seal(seal)
        if entry.number != number or seal != written:
            raise BadLedger(f"The history of {entry.dataset!r} was changed at entry {number}: restore a copy.")
        try:
            budget = _after(budget, entry, reserved)
        except (DpmineError, ValueError, KeyError):
            raise BadLedger(f"Entry {number} of {entry.dataset!r} is none that a ledger would write.") from None
        budget = replace(budget, entries=number, seal=seal)
    if budget is None:
        raise BadLedger("A data set of the ledger has no history: restore a copy.")
    return budget


def _after(budget: Budget | None, entry: Entry, reserved: dict[int, tuple[str, Amount]]) -> Budget:
    """One step; `reserved` holds the open reservations."""
    amount, kind = Amount.read(entry.epsilon, entry.delta), Kind(entry.kind)
    _require_form(entry, kind)
    if budget is None:
        if kind is not Kind.GRANT:
            raise ValueError
        return Budget(entry.dataset, Neighbors(entry.neighbors), Parts(entry.parts), amount, entry.unit)
    if (entry.neighbors, entry.parts) != (budget.neighbors, budget.parts) or budget.unit not in {"", entry.unit}:
        raise ValueError
    budget = replace(budget, unit=entry.unit)
    if kind is Kind.GRANT:
        return budget.granting(amount)
    if kind is Kind.SETTLE:
        part, was = reserved.pop(entry.reservation)
        if part != entry.part or not was.fits(amount) or amount.delta != was.delta or amount.epsilon <= 0:
            raise ValueError
        return budget.charging(entry.part, amount - was)
    if min(amount.epsilon, amount.delta) < 0:
        raise ValueError
    if kind is Kind.RESERVE:
        reserved[entry.number] = entry.part, amount
    return budget.charging(entry.part, amount)


def _require_form(entry: Entry, kind: Kind) -> None:
    """ValueError for a reservation in anything but a settlement, a part in a grant, a job where nothing is run."""
    if (entry.reservation > 0) is not (kind is Kind.SETTLE) or entry.reservation < 0:
        raise ValueError
    if kind is Kind.GRANT and entry.part != WHOLE:
        raise ValueError
    if kind in {Kind.GRANT, Kind.SETTLE} and entry.job:
        raise ValueError
