"""Budgets and the entries of their histories: as rows of the tables, and as events of dp_accounting.

A ledger is verified by its tables, and by its histories, read again here from the first entry to the last.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, astuple, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select, union, update

from dpmine.errors import BadLedger, BadParameter, DpmineError
from dpmine.exact.bits import SystemBits
from dpmine.ledger.budget import START, WHOLE, Accounting, Amount, Budget, Parts
from dpmine.ledger.tables import DATASETS, HISTORY, SPENT, VERSION
from dpmine.privacy import Neighbors, float_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction
    from typing import TypeAlias

    from sqlalchemy import BindParameter, Connection, RowMapping

    Row: TypeAlias = RowMapping | Mapping[str, Any]


_LONGEST_JOB = 1000  # characters


class Kind(StrEnum):
    """What an entry records."""

    GRANT = "grant"
    """A new total; also the unit, the relation and the parts."""
    CHARGE = "charge"
    """Spent for good, before the data were read."""
    RESERVE = "reserve"
    """Set aside at most; stays spent unless it is settled."""
    SETTLE = "settle"
    """What a reservation came to."""


class ExportForm(StrEnum):
    """What `Ledger.export` writes."""

    JSON = "json"
    """Budgets and histories, with all that a ledger holds."""
    DP_EVENT = "dp_event"
    """What was charged, as events of dp_accounting."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history; numbers and amounts as exact texts.

    Attributes:
        dataset: whose budget.
        number: counted from 1, with no number missing.
        kind: what it records.
        part: the part that was charged, "" for the whole.
        epsilon, delta: the amount; of a settlement what is finally charged.
        reservation: the number of the entry that a settlement settles; else 0.
        unit, neighbors, parts: as they were then.
        job: what was run, in words of the tool; never anything read from the data.
        time: the day of the charge or grant in UTC, ISO 8601; of a settlement, the time of its reservation. Nothing
            finer: the time between two entries would show how long a run took on the data.
        accounting: as it was then.
        rho, approximate_delta: the amount under zCDP; of a grant, the total, "0" under basic accounting.
        nonce: 128 random bits, so that copies that were charged apart have different seals.
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
    accounting: str
    rho: str
    approximate_delta: str
    nonce: str

    @property
    def amount(self) -> Amount:
        """What it records. Raises BadLedger for numbers that no ledger wrote."""
        try:
            return Amount.read(self.epsilon, self.delta, self.rho, self.approximate_delta)
        except ValueError:
            place = f"Entry {self.number} of {self.dataset!r}"
            raise BadLedger(f"{place} was changed by hand: restore a copy of the ledger.") from None

    def seal(self, previous: str) -> str:
        """SHA-256 of this entry and of `previous`, the seal before it, so that no earlier entry can change unseen."""
        content = json.dumps([previous, *astuple(self)], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


_NAMED: BindParameter[str] = bindparam("named")
_FIND = select(DATASETS).where(DATASETS.c.dataset == _NAMED)
_FIND_LOCKED = _FIND.with_for_update()
_TOTALS = select(SPENT).where(SPENT.c.dataset == _NAMED)
_ENTRIES = select(HISTORY).where(HISTORY.c.dataset == _NAMED).order_by(HISTORY.c.number)
_LAST_ENTRIES = _ENTRIES.where(HISTORY.c.number >= bindparam("at", type_=HISTORY.c.number.type))
_ENTRY = select(HISTORY).where(HISTORY.c.dataset == _NAMED, HISTORY.c.number == bindparam("at"))
_SETTLED = select(HISTORY.c.number).where(HISTORY.c.dataset == _NAMED, HISTORY.c.reservation == bindparam("at"))
_END: BindParameter[str] = bindparam("end", type_=HISTORY.c.job.type)
# Not LIKE, in which a backslash, a percent sign and an underscore stand for something else.
_LAST_CHARGE = select(func.max(HISTORY.c.number)).where(
    HISTORY.c.dataset == _NAMED,
    HISTORY.c.part == bindparam("at"),
    func.substr(HISTORY.c.job, func.length(HISTORY.c.job) - func.length(_END) + 1) == _END,
)
# The key of a row is never written again: SQLite would then look at every entry that refers to it.
_WRITE_BUDGET = update(DATASETS).where(DATASETS.c.dataset == _NAMED)
_WRITE_TOTAL = update(SPENT).where(SPENT.c.dataset == _NAMED, SPENT.c.part == bindparam("at"))
_NUMBERS = tuple(field.name for field in fields(Amount))
_WHOLE_NUMBERS = {"entries", "number", "reservation"}


def lock_ledger(connection: Connection) -> None:
    """Two first grants of one data set take turns; ended with the transaction (SQLite locks the file anyway)."""
    connection.execute(select(VERSION).with_for_update()).all()


def find(connection: Connection, dataset: str, *, lock: bool = False) -> Budget | None:
    """The budget of that name, locked until the transaction ends if asked for; None where there is none."""
    row = connection.execute(_FIND_LOCKED if lock else _FIND, {"named": dataset}).mappings().one_or_none()
    return None if row is None else _budget(connection, row)


def all_budgets(connection: Connection) -> tuple[Budget, ...]:
    """By name."""
    rows = connection.execute(select(DATASETS).order_by(DATASETS.c.dataset)).mappings().all()
    return tuple(_budget(connection, row) for row in rows)


def entries(connection: Connection, dataset: str, first: int | None = None) -> Iterator[tuple[Entry, str]]:
    """The history in order, all of it or from the number `first` on, each entry with its seal as it stands there."""
    statement, at = (_ENTRIES, {}) if first is None else (_LAST_ENTRIES, {"at": first})
    for row in connection.execute(statement, {"named": dataset, **at}).mappings():
        yield entry_of(row), row["seal"]


def exported(connection: Connection, budget: Budget) -> dict[str, Any]:
    """Totals and history of a data set, each entry with its seal."""
    history = entries(connection, budget.dataset)
    return {**budget.to_dict(), "history": [{**asdict(entry), "seal": seal} for entry, seal in history]}


def names(connection: Connection) -> set[str]:
    """Of every data set that any table knows of."""
    columns = (table.c.dataset for table in (DATASETS, SPENT, HISTORY))
    return set(connection.execute(union(*(select(column) for column in columns))).scalars())


def charge_of(connection: Connection, dataset: str, part: str, mark: str) -> int:
    """The number of the last charge to this part of the data set whose job ends with the mark of a key; 0 for none."""
    return connection.execute(_LAST_CHARGE, {"named": dataset, "at": part, "end": mark}).scalar() or 0


def open_reservation(connection: Connection, dataset: str, number: int, part: str) -> Amount | None:
    """What the entry of that number set aside for the part and has not settled; None for any other."""
    own = {"named": dataset, "at": number}
    row = connection.execute(_ENTRY, own).mappings().one_or_none()
    settled = connection.execute(_SETTLED, own).first()
    if row is None or (row["kind"], row["part"]) != (Kind.RESERVE, part) or settled is not None:
        return None
    return entry_of(row).amount


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
    entry = Entry(
        **_terms(budget),
        **_numbers(amount),
        number=budget.entries + 1,
        kind=str(kind),
        part=part,
        reservation=reservation,
        job=job,
        time=_written_at(connection, budget.dataset, reservation),
        nonce=f"{SystemBits().take(128):032x}",
    )
    after = replace(budget, entries=entry.number, seal=entry.seal(budget.seal))
    connection.execute(insert(HISTORY), {**asdict(entry), "seal": after.seal})
    row = _row(after)
    connection.execute(_WRITE_BUDGET, {"named": row.pop("dataset"), **row})
    if part in after.charged:
        _write_total(connection, after, part)
    return after


def require_words(job: object) -> None:
    """BadParameter for what cannot be an entry's job: histories are read in terminals, so no control characters."""
    if not isinstance(job, str) or len(job) > _LONGEST_JOB or not job.isprintable():
        raise BadParameter(f"job must be printable text of at most {_LONGEST_JOB} characters.")


def _written_at(connection: Connection, dataset: str, reservation: int) -> str:
    """Today; of a settlement the time of its reservation, because when a run ended depends on the data."""
    if not reservation:
        return _today()
    reserved = connection.execute(_ENTRY, {"named": dataset, "at": reservation}).mappings().one()
    return str(reserved["time"])


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _write_total(connection: Connection, budget: Budget, part: str) -> None:
    total = _numbers(budget.charged[part])
    if not connection.execute(_WRITE_TOTAL, {"named": budget.dataset, "at": part, **total}).rowcount:
        connection.execute(insert(SPENT), {"dataset": budget.dataset, "part": part, **total})


def _row(budget: Budget) -> dict[str, str | int]:
    return {**_terms(budget), **_numbers(budget.granted), "entries": budget.entries, "seal": budget.seal}


def _terms(budget: Budget) -> dict[str, str]:
    kinds = {"neighbors": budget.neighbors, "parts": budget.parts, "accounting": budget.accounting}
    return {"dataset": budget.dataset, "unit": budget.unit, **{name: str(kind) for name, kind in kinds.items()}}


def _numbers(amount: Amount) -> dict[str, str]:
    return {name: str(getattr(amount, name)) for name in _NUMBERS}


def _budget(connection: Connection, row: Row) -> Budget:
    """Raises BadLedger for a row that no ledger wrote."""
    dataset = row["dataset"]
    _require_types(row, f"The row of {dataset!r}")
    totals = connection.execute(_TOTALS, {"named": dataset}).mappings().all()
    try:
        charged = {total["part"]: Amount.read(*(total[name] for name in _NUMBERS)) for total in totals}
        granted = Amount.read(*(row[name] for name in _NUMBERS))
        relation, rule = Neighbors(row["neighbors"]), Parts(row["parts"])
        accounting = Accounting(row["accounting"])
    except ValueError:
        raise _changed(f"The row of {dataset!r}") from None
    return Budget(dataset, relation, rule, granted, row["unit"], accounting, charged, row["entries"], row["seal"])


def entry_of(row: Row) -> Entry:
    """The entry of a row, also of an exported one. Raises BadLedger for a row that no ledger wrote."""
    own: dict[str, Any] = {field.name: row.get(field.name) for field in fields(Entry)}
    _require_types(own, "An entry of the history")
    return Entry(**own)


def _require_types(row: Row, place: str) -> None:
    """SQLite keeps whatever it is handed in any column."""
    if any(type(value) is not (int if name in _WHOLE_NUMBERS else str) for name, value in row.items()):
        raise _changed(place)


def _changed(place: str) -> BadLedger:
    return BadLedger(f"{place} was changed by hand: restore a copy of the ledger.")


def reread(rows: Iterable[Row]) -> Budget:
    """The budget that entries lead to which were exported with their seals. Raises BadLedger as `replayed`."""
    return replayed((entry_of(row), row.get("seal")) for row in rows)


def replayed(history: Iterable[tuple[Entry, object]]) -> Budget:
    """The budget that the entries lead to, by the rules that charges are held to.

    Raises BadLedger, with the number of the entry, for a seal that does not fit, a missing number, or what no ledger
    would write.
    """
    budget: Budget | None = None
    seal, reserved = START, dict[int, tuple[str, Amount]]()
    for number, (entry, stored_seal) in enumerate(history, start=1):
        seal = entry.seal(seal)
        if entry.number != number or seal != stored_seal:
            raise BadLedger(f"The history of {entry.dataset!r} was changed at entry {number}: restore a copy.")
        try:
            budget = _after(budget, entry, reserved)
        except (DpmineError, ValueError):  # the latter of names that no enumeration has
            raise BadLedger(f"Entry {number} of {entry.dataset!r} is none that a ledger would write.") from None
        budget = replace(budget, entries=number, seal=seal)
    if budget is None:
        raise BadLedger("A data set of the ledger has no history: restore a copy.")
    return budget


def _after(budget: Budget | None, entry: Entry, reserved: dict[int, tuple[str, Amount]]) -> Budget:
    """One step; `reserved` holds the open reservations."""
    amount, kind = entry.amount, Kind(entry.kind)
    _require_form(entry, kind)
    accounting = Accounting(entry.accounting)
    if budget is None:
        _require(kind is Kind.GRANT)
        return Budget(entry.dataset, Neighbors(entry.neighbors), Parts(entry.parts), amount, entry.unit, accounting)
    changed = accounting is not budget.accounting and (budget.charged or kind is not Kind.GRANT)
    terms = (entry.neighbors, entry.parts) == (budget.neighbors, budget.parts)
    _require(terms, not changed, budget.unit in {"", entry.unit})
    budget = replace(budget, unit=entry.unit, accounting=accounting)
    if kind is Kind.GRANT:
        return budget.granting(amount)
    if kind is Kind.SETTLE:
        was = _settled(entry, reserved)
        return budget.charging(entry.part, replace(was, epsilon=amount.epsilon) - was)
    _require(min(amount) >= 0)
    if kind is Kind.RESERVE:
        reserved[entry.number] = entry.part, amount
    return budget.charging(entry.part, amount)


def _settled(entry: Entry, reserved: dict[int, tuple[str, Amount]]) -> Amount:
    """The reservation that a settlement ends: of the same part, with the same δ and ρ, and no smaller ε."""
    part, was = reserved.pop(entry.reservation, ("", Amount()))
    amount = entry.amount
    _require(part == entry.part, 0 < amount.epsilon <= was.epsilon, amount == replace(was, epsilon=amount.epsilon))
    return was


def _require_form(entry: Entry, kind: Kind) -> None:
    """That settlements alone have a reservation, grants are totals of the whole, and a job is where one was run."""
    _require((entry.reservation > 0) is (kind is Kind.SETTLE) and entry.reservation >= 0)
    if kind is Kind.GRANT:
        _require(entry.part == WHOLE and entry.amount.is_total(Accounting(entry.accounting)))
    _require(not (kind in {Kind.GRANT, Kind.SETTLE} and entry.job))


def _require(*conditions: bool) -> None:
    """Raises BadLedger unless all hold; `replayed` names the entry."""
    if not all(conditions):
        raise BadLedger("No ledger would write this.")


def dp_event(history: Iterable[Entry]) -> list[dict[str, Any]]:
    """What was charged to a data set: one composition for the whole, and one for each part.

    A composition is a ComposedDpEvent of ZCDpEvents in the form of their named tuples, with equal ρ joined. Each ρ is
    the nearest float above. Reservations count at their most, settled or not. The settled amount depends on the
    outcome, so it bounds no Rényi divergence. dp_accounting has no event for runs that are approximately concentrated.
    The sum of their δ stands beside the event: add it to the δ at which you ask for the event's ε. The whole and a
    unit's own part together bound the unit's privacy loss. An ε computed from events holds for runs that were planned
    beforehand. Raises BadLedger for an entry that no ledger wrote.
    """
    charged_amounts: dict[str, list[Amount]] = {WHOLE: []}
    common: dict[str, object] = {}
    for entry in history:
        common = {"dataset": entry.dataset, "unit": entry.unit or None, "neighbors": entry.neighbors}
        if entry.kind in {Kind.CHARGE, Kind.RESERVE}:
            charged_amounts.setdefault(entry.part, []).append(entry.amount)
    return [
        {
            **common,
            "part": part,
            "event": _composed(amount.rho for amount in amounts),
            "approximate_delta": float_above(Amount.total(amounts).approximate_delta),
        }
        for part, amounts in sorted(charged_amounts.items())
    ]


def _composed(rhos: Iterable[Fraction]) -> dict[str, object]:
    events = [
        _event("SelfComposedDpEvent", event=_event("ZCDpEvent", rho=float_above(rho), xi=0.0), count=count)
        for rho, count in Counter(rhos).items()
    ]
    return _event("ComposedDpEvent", events=events)


def _event(name: str, **values: object) -> dict[str, object]:
    return {"module_name": "dp_accounting.dp_event", "class_name": name, **values}
