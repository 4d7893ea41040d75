"""Budgets and the entries of their histories as rows of the tables, and whether all of them are as they were written.

A ledger is verified by its schema, and by its histories, read again from the first entry to the last.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, astuple, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, create_engine, insert, inspect, select, text, union, update

from dpmine.errors import BadLedger, DpmineError
from dpmine.ledger import database
from dpmine.ledger.budget import START, WHOLE, Accounting, Amount, Budget, Parts
from dpmine.ledger.database import DATASETS, HISTORY, METADATA, SPENT, VERSION
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import BindParameter, Connection, Inspector, Table


_ADDED = 3
"""Fields that entries of versions before zCDP do not have, nor their seals."""


class Kind(StrEnum):
    """What an entry records."""

    GRANT = "grant"
    """A new total; also the unit, the relation and the parts."""
    CHARGE = "charge"
    """Spent for good, before the data were touched."""
    RESERVE = "reserve"
    """Set aside at most; stays spent unless it is settled."""
    SETTLE = "settle"
    """What a reservation came to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history; numbers and amounts as exact texts.

    Attributes:
        dataset: whose budget.
        number: from 1, without gaps.
        kind: what it records.
        part: the part that was charged, "" for the whole.
        epsilon, delta: the amount; of a settlement what is finally charged.
        reservation: the number of the entry that a settlement settles; else 0.
        unit, neighbors, parts: as they were then.
        job: what was run, in words of the tool; never anything read from the data.
        time: the day of the charge or grant in UTC, ISO 8601; of a settlement, the time of its reservation. Nothing
            finer: the time between two entries would show how long a run took on the data. Version 0.1.0 wrote
            microseconds, and seals cover the text, so earlier entries keep theirs.
        accounting: as it was then.
        rho, approximate_delta: the amount under zCDP; of a grant, the total, "0" under basic accounting. All three are
            "" in entries of versions before zCDP.
    """

    dataset: str
    number: int
    kind: str
    part: str
    epsilon: str
    delta: str
    reservation: int
    unit: str
    neighbors: str
    parts: str
    job: str
    time: str
    accounting: str = ""
    rho: str = ""
    approximate_delta: str = ""

    @property
    def amount(self) -> Amount:
        """What it records. Raises ValueError for numbers that no ledger wrote."""
        if self.kind == Kind.GRANT and not self.accounting:
            return Amount.read(self.epsilon, self.delta, "0", "0")
        return Amount.read(self.epsilon, self.delta, self.rho, self.approximate_delta)

    def seal(self, previous: str) -> str:
        """SHA-256 of this entry and of the seal before it, so that no earlier entry can change unseen."""
        told = astuple(self) if self.accounting else astuple(self)[:-_ADDED]
        content = json.dumps([previous, *told], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


_NAMED: BindParameter[str] = bindparam("named")
_FIND = select(DATASETS).where(DATASETS.c.dataset == _NAMED)
_FIND_LOCKED = _FIND.with_for_update()
_TOTALS = select(SPENT).where(SPENT.c.dataset == _NAMED)
_FROM = bindparam("at", type_=HISTORY.c.number.type)
_ENTRIES = select(HISTORY).where(HISTORY.c.dataset == _NAMED, HISTORY.c.number >= _FROM).order_by(HISTORY.c.number)
_FIRST = -(2**31)  # numbers below 1 are not left out: they show that a history was changed
_ENTRY = select(HISTORY).where(HISTORY.c.dataset == _NAMED, HISTORY.c.number == bindparam("at"))
_SETTLED = select(HISTORY.c.number).where(HISTORY.c.dataset == _NAMED, HISTORY.c.reservation == bindparam("at"))
_WRITE_BUDGET = update(DATASETS).where(DATASETS.c.dataset == _NAMED)
_WRITE_TOTAL = update(SPENT).where(SPENT.c.dataset == _NAMED, SPENT.c.part == bindparam("at"))
_NUMBERS = tuple(field.name for field in fields(Amount))
_WHOLE_NUMBERS = {"entries", "number", "reservation"}


def lock_ledger(connection: Connection) -> None:
    """Two first grants of one data set take turns; ended with the transaction (SQLite locks the file anyway)."""
    connection.execute(select(VERSION).with_for_update()).all()


def find(connection: Connection, dataset: str, *, lock: bool = False) -> Budget | None:
    """The budget of that name, locked until the transaction ends if asked for; None where there is none."""
    row = connection.execute(_FIND_LOCKED if lock else _FIND, {"named": dataset}).one_or_none()
    return None if row is None else _budget(connection, row)


def all_budgets(connection: Connection) -> tuple[Budget, ...]:
    """By name."""
    rows = connection.execute(select(DATASETS).order_by(DATASETS.c.dataset)).all()
    return tuple(_budget(connection, row) for row in rows)


def entries(connection: Connection, dataset: str, first: int = _FIRST) -> Iterator[tuple[Entry, str]]:
    """The history in order, from the number `first` on, each entry with its seal as it stands there."""
    for row in connection.execute(_ENTRIES, {"named": dataset, "at": first}).mappings():
        yield _entry(row), row["seal"]


def names(connection: Connection) -> set[str]:
    """Of every data set that any table knows of."""
    columns = (table.c.dataset for table in (DATASETS, SPENT, HISTORY))
    return set(connection.execute(union(*(select(column) for column in columns))).scalars())


def open_reservation(connection: Connection, dataset: str, number: int, part: str) -> Amount | None:
    """What the entry of that number set aside for the part and has not settled; None for any other."""
    own = {"named": dataset, "at": number}
    row = connection.execute(_ENTRY, own).mappings().one_or_none()
    settled = connection.execute(_SETTLED, own).first()
    if row is None or (row["kind"], row["part"]) != (Kind.RESERVE, part) or settled is not None:
        return None
    try:
        return _entry(row).amount
    except ValueError:
        raise BadLedger(f"Entry {number} of {dataset!r} was changed by hand: restore a copy of the ledger.") from None


def add(connection: Connection, budget: Budget) -> None:
    """The row of a new data set."""
    connection.execute(insert(DATASETS), _row(budget))


def append(
    connection: Connection,
    budget: Budget,
    kind: Kind,
    part: str,
    amount: Amount,
    *,
    job: str = "",
    reservation: int = 0,
) -> Budget:
    """One more entry, and the totals of `budget`, which it leads to. Returns the budget with the entry counted."""
    number, time = budget.entries + 1, _written_at(connection, budget.dataset, reservation)
    record: dict[str, Any] = {
        "number": number,
        "kind": str(kind),
        "part": part,
        "reservation": reservation,
        "job": job,
        "time": time,
    }
    entry = Entry(**_terms(budget), **_numbers(amount), **record)
    after = replace(budget, entries=entry.number, seal=entry.seal(budget.seal))
    connection.execute(insert(HISTORY), {**asdict(entry), "seal": after.seal})
    connection.execute(_WRITE_BUDGET, {**_row(after), "named": budget.dataset})
    if part in after.charged:
        _write_total(connection, after, part)
    return after


def _written_at(connection: Connection, dataset: str, reservation: int) -> str:
    """Today; of a settlement the time of its reservation, because when a run ended depends on the data."""
    if not reservation:
        return _today()
    reserved = connection.execute(_ENTRY, {"named": dataset, "at": reservation}).mappings().one()
    return str(reserved["time"])


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _write_total(connection: Connection, budget: Budget, part: str) -> None:
    row = {"dataset": budget.dataset, "part": part, **_numbers(budget.charged[part])}
    if not connection.execute(_WRITE_TOTAL, {**row, "named": budget.dataset, "at": part}).rowcount:
        connection.execute(insert(SPENT), row)


def _row(budget: Budget) -> dict[str, Any]:
    return {**_terms(budget), **_numbers(budget.granted), "entries": budget.entries, "seal": budget.seal}


def _terms(budget: Budget) -> dict[str, Any]:
    unit, neighbors, parts = budget.unit, str(budget.neighbors), str(budget.parts)
    accounting = str(budget.accounting)
    return {"dataset": budget.dataset, "unit": unit, "neighbors": neighbors, "parts": parts, "accounting": accounting}


def _numbers(amount: Amount) -> dict[str, Any]:
    return {name: str(getattr(amount, name)) for name in _NUMBERS}


def _read(row: Any) -> Amount:
    return Amount.read(*(getattr(row, name) for name in _NUMBERS))


def _budget(connection: Connection, row: Any) -> Budget:
    """Raises BadLedger for a row that no ledger wrote."""
    rows = connection.execute(_TOTALS, {"named": row.dataset}).all()
    try:
        _require_types(row._mapping)  # noqa: SLF001 (the public name of a row's mapping)
        charged = {spent.part: _read(spent) for spent in rows}
        granted, relation, rule = _read(row), Neighbors(row.neighbors), Parts(row.parts)
        accounting = Accounting(row.accounting)
    except ValueError:
        raise BadLedger(f"The row of {row.dataset!r} was changed by hand: restore a copy of the ledger.") from None
    return Budget(row.dataset, relation, rule, granted, row.unit, accounting, charged, row.entries, row.seal)


def _entry(row: Any) -> Entry:
    """Raises BadLedger for a row that no ledger wrote."""
    try:
        _require_types(row)
    except ValueError:
        raise BadLedger("An entry of the history was changed by hand: restore a copy of the ledger.") from None
    return Entry(**{field.name: row[field.name] for field in fields(Entry)})


def _require_types(row: Any) -> None:
    """SQLite keeps whatever it is handed in any column."""
    for name, value in row.items():
        if type(value) is not (int if name in _WHOLE_NUMBERS else str):
            raise ValueError


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
    return _master(connection) == _made_by(database.MIGRATIONS)


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
    amount, kind = entry.amount, Kind(entry.kind)
    _require_form(entry, kind)
    accounting = Accounting(entry.accounting or Accounting.BASIC)
    if budget is None:
        if kind is not Kind.GRANT:
            raise ValueError
        return Budget(entry.dataset, Neighbors(entry.neighbors), Parts(entry.parts), amount, entry.unit, accounting)
    changed = accounting is not budget.accounting and (budget.charged or kind is not Kind.GRANT)
    terms = (entry.neighbors, entry.parts) == (budget.neighbors, budget.parts)
    if changed or not terms or budget.unit not in {"", entry.unit}:
        raise ValueError
    budget = replace(budget, unit=entry.unit, accounting=accounting)
    if kind is Kind.GRANT:
        return budget.granting(amount)
    if kind is Kind.SETTLE:
        was = _settled(entry, reserved)
        return budget.charging(entry.part, replace(was, epsilon=amount.epsilon) - was)
    if min(amount) < 0:
        raise ValueError
    if kind is Kind.RESERVE:
        reserved[entry.number] = entry.part, amount
    return budget.charging(entry.part, amount)


def _settled(entry: Entry, reserved: dict[int, tuple[str, Amount]]) -> Amount:
    """The reservation that a settlement ends: of the same part, with the same δ and ρ, and no smaller ε."""
    part, was = reserved.pop(entry.reservation)
    amount = entry.amount
    now = replace(was, epsilon=amount.epsilon)
    if part != entry.part or not 0 < amount.epsilon <= was.epsilon or amount.delta != was.delta:
        raise ValueError
    if entry.rho and amount != now:
        raise ValueError
    return was


def _require_form(entry: Entry, kind: Kind) -> None:
    """ValueError for a reservation in anything but a settlement, a part in a grant, a job where nothing is run."""
    if (entry.reservation > 0) is not (kind is Kind.SETTLE) or entry.reservation < 0:
        raise ValueError
    if kind is Kind.GRANT and entry.part != WHOLE:
        raise ValueError
    if kind in {Kind.GRANT, Kind.SETTLE} and entry.job:
        raise ValueError
    if len({bool(each) for each in (entry.accounting, entry.rho, entry.approximate_delta)}) > 1:
        raise ValueError
