"""Target: ledger files, changed in their bytes, their pages or their rows."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import dpmine
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors
from fuzz.choices import ODD, Choices
from fuzz.oracle import Refused, ask, require

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = 4096
_TABLES = ("dpmine_version", "dpmine_datasets", "dpmine_spent", "dpmine_history", "dpmine_results")
_COLUMNS = (
    *("dataset", "part", "epsilon", "delta", "entries", "seal", "kind", "reservation", "unit", "parts", "version"),
    *("accounting", "rho", "approximate_delta"),
)
_VALUES = (
    *(value for value in ODD if isinstance(value, str | int | float | bytes)),
    "1/7",
    "-1/2",
    "1",
    "grant",
    "settle",
    "basic",
    "zcdp",
    "1/128",
)
_ADDED_UP = {"shop": "epsilon", "mill": "rho"}
"""Data sets, and what each kind of accounting adds up of them."""


@cache
def _sound() -> bytes:
    """A small ledger of several pages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.db"
        ledger = dpmine.Ledger(f"sqlite:///{path}")
        ledger.grant("shop", epsilon=2, parts="by_index")
        for number in range(8):
            ledger.charge("shop/north" if number % 3 else "shop", _guarantee("1/8"), job="x" * 200)
        ledger.settle(ledger.charge("shop", _reserved("1/2"), job="search"), "1/4")
        ledger.grant("mill", epsilon=2, delta="1e-5", parts="by_index", accounting="zcdp")
        for number in range(8):
            ledger.charge("mill/north" if number % 3 else "mill", _guarantee("1/8"), job="x" * 200)
        ledger.settle(ledger.charge("mill", _reserved("1/8"), job="search"), "1/16")
        ledger.grant("barn", epsilon=1)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()


def _guarantee(epsilon: str) -> Guarantee:
    return Guarantee(Fraction(epsilon), Fraction(0), Neighbors.REPLACE_ONE)


def _reserved(epsilon: str) -> ExPostGuarantee:
    most = Fraction(epsilon)
    return ExPostGuarantee(most, Fraction(0), Neighbors.REPLACE_ONE, ex_post_epsilon=most)


def ledger_file(data: bytes) -> None:
    """verify, budget and charge: an error or a right answer, and no overspending that verify would accept."""
    choices = Choices(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.db"
        path.write_bytes(_sound())
        choices.one(_CHANGES)(path, choices)
        _use(path, choices)


def _use(path: Path, choices: Choices) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{path}")
    sound = _answered(ledger.verify)
    require(not sound or _logs(path) == _before(), "verify accepts a ledger whose history was changed.")
    epsilon = choices.one(("1/100", "1/8", "1/2", "3/2", "2", "5"))
    name = choices.one(tuple(_ADDED_UP))
    place = name + choices.one(("", "/north", "/south"))
    earlier = _log(path, name)
    ask(lambda: ledger.charge(place, _guarantee(epsilon), job="fuzz"))
    later = _log(path, name)
    grew = len(later) == len(earlier) + 1 and later[: len(earlier)] == earlier
    readable = earlier and later  # a damaged page may hide all of them
    require(grew or not readable, "A charge is not one entry at the end.")
    agrees = _answered(ledger.verify)
    require(agrees or not sound, "verify refuses what a charge made of a sound ledger.")
    require(not agrees or _spent(later, name) <= _granted(later), "verify accepts more than was granted.")


def _answered(call: Callable[[], object]) -> bool:
    """Whether there was an answer instead of a clean error."""
    try:
        ask(call)
    except Refused:
        return False
    return True


Row = tuple[object, ...]


@cache
def _before() -> list[list[Row]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.db"
        path.write_bytes(_sound())
        return _logs(path)


def _logs(path: Path) -> list[list[Row]]:
    return [_log(path, name) for name in _ADDED_UP]


def _log(path: Path, name: str) -> list[Row]:
    """The entries of a data set by number, read without dpmine; none where they cannot be read."""
    query = (
        f"SELECT number, kind, part, {_ADDED_UP[name]}, reservation, epsilon, delta, accounting, approximate_delta "
        "FROM dpmine_history WHERE dataset = ?"
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        with suppress(sqlite3.Error, UnicodeDecodeError):
            return sorted(connection.execute(query, (name,)).fetchall(), key=lambda row: (str(type(row[0])), row[0]))
    return []


def _granted(log: list[Row]) -> Fraction:
    grants = sorted((int(str(number)), str(amount)) for number, kind, _, amount, *_ in log if kind == "grant")
    return Fraction(grants[-1][1])


def _spent(log: list[Row], name: str) -> Fraction:
    """The whole, and the costliest part; ε that was settled counts as settled, ρ is never given back."""
    settled = {}
    if _ADDED_UP[name] == "epsilon":
        settled = {reservation: amount for _, kind, _, amount, reservation, *_ in log if kind == "settle"}
    totals: dict[object, Fraction] = {}
    for number, kind, part, amount, *_ in log:
        if kind in {"charge", "reserve"}:
            totals[part] = totals.get(part, Fraction(0)) + Fraction(str(settled.get(number, amount)))
    whole = totals.pop("", Fraction(0))
    return whole + max(totals.values(), default=Fraction(0))


def _bits(path: Path, choices: Choices) -> None:
    raw = bytearray(path.read_bytes())
    for _ in range(choices.byte() % 4 + 1):
        raw[choices.whole() % len(raw)] ^= 1 << choices.byte() % 8
    path.write_bytes(raw)


def _bytes(path: Path, choices: Choices) -> None:
    raw = bytearray(path.read_bytes())
    place, new = choices.whole() % len(raw), choices.take(choices.byte() % 32)
    raw[place : place + len(new)] = new
    path.write_bytes(raw)


def _cut(path: Path, choices: Choices) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: choices.whole() % len(raw)])


def _pages(path: Path, choices: Choices) -> None:
    """Two pages change places, or one is put over the other."""
    raw = path.read_bytes()
    pages = [raw[start : start + _PAGE] for start in range(0, len(raw), _PAGE)]
    one, other = choices.byte() % len(pages), choices.byte() % len(pages)
    pages[one], pages[other] = pages[other], pages[one] if choices.byte() % 2 else pages[other]
    path.write_bytes(b"".join(pages))


def _rows(path: Path, choices: Choices) -> None:
    """Cells and rows changed by somebody with a database browser."""
    with closing(sqlite3.connect(path)) as connection:
        for _ in range(choices.byte() % 3 + 1):
            table, column, value = choices.one(_TABLES), choices.one(_COLUMNS), choices.one(_VALUES)
            row = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {choices.byte() % 12})"
            kind = choices.byte() % 4
            with suppress(sqlite3.Error, OverflowError, UnicodeError):
                if kind == 0:
                    connection.execute(f"DELETE FROM {table} WHERE {row}")
                else:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {row}", (value,))
        connection.commit()


def _nothing(_path: Path, _choices: Choices) -> None:
    pass


_CHANGES = (_nothing, _bits, _bytes, _cut, _pages, _rows)
