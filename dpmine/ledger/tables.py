"""The tables of a ledger, their version, and how older ones are brought up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, select, text, update

from dpmine.errors import BadLedger

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

METADATA = MetaData()
_NAME = String(200)
_NUMBER = Text  # an exact rational: "1/3"
_SEAL = String(64)


def _filled(**kinds: Any) -> list[Column[Any]]:
    """Columns of these names and types, none of which is ever null; a unit is "" until the first charge."""
    return [Column(name, kind, nullable=False) for name, kind in kinds.items()]


VERSION = Table("dpmine_version", METADATA, Column("version", Integer, primary_key=True))

DATASETS = Table(
    "dpmine_datasets",
    METADATA,
    Column("dataset", _NAME, primary_key=True),
    *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, epsilon=_NUMBER, delta=_NUMBER, entries=Integer, seal=_SEAL),
)
"""A row a data set: what was granted, and the end of its history. Locked for the length of a charge."""

SPENT = Table(
    "dpmine_spent",
    METADATA,
    Column("dataset", _NAME, ForeignKey(DATASETS.c.dataset), primary_key=True),
    Column("part", _NAME, primary_key=True),
    *_filled(epsilon=_NUMBER, delta=_NUMBER),
)
"""Running totals of what was charged or is set aside, "" being the whole: what the history adds up to."""

HISTORY = Table(
    "dpmine_history",
    METADATA,
    Column("dataset", _NAME, ForeignKey(DATASETS.c.dataset), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_filled(kind=_NAME, part=_NAME, epsilon=_NUMBER, delta=_NUMBER, reservation=Integer),
    *_filled(unit=_NAME, neighbors=_NAME, parts=_NAME, job=Text, time=_NAME, seal=_SEAL),
)

_SETTLES = text("reservation > 0")
Index(
    "dpmine_settled",
    HISTORY.c.dataset,
    HISTORY.c.reservation,
    unique=True,
    sqlite_where=_SETTLES,
    postgresql_where=_SETTLES,
)
"""A reservation is settled once, and its settlement is found without reading the history."""


def _create(connection: Connection) -> None:
    METADATA.create_all(connection)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create,)
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
    if len(found) != 1 or found[0] < 1:
        raise BadLedger("The version of this ledger was changed by hand: restore a copy.")
    if found[0] > len(MIGRATIONS):
        raise BadLedger("This ledger was written by a later version of dpmine: update dpmine.")
    return int(found[0])


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
