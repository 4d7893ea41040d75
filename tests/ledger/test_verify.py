"""Whatever is changed behind a ledger's back shows; every cell of every row is tried."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from ledger.guarantees import at_most, guarantee
from support.cases import every

from dpmine.errors import BadLedger
from dpmine.ledger import records
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.results import SharedResults
from dpmine.ledger.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = {"dpmine_version": 1, "dpmine_datasets": 2, "dpmine_spent": 4, "dpmine_history": 8, "dpmine_results": 1}
SUMS = [table for table in ROWS if table != "dpmine_results"]
"""Tables whose rows cannot go unseen; a result that is gone is lost, and its charge stays."""
COLUMNS = [(table.name, column.name) for table in METADATA.sorted_tables for column in table.columns]
CELLS = [(table, column, row) for table, column in COLUMNS for row in range(ROWS[table])]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A ledger with something in every column, each entry of another day, and both kinds of accounting."""
    path = tmp_path_factory.mktemp("sound") / "budget.db"
    days = (f"2026-01-{day:02}" for day in count(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_today", lambda: next(days))
        yield _filled(path)


def _filled(path: Path) -> Path:
    ledger = Ledger(f"sqlite:///{path}")
    ledger.grant("shop", epsilon=2, delta="1e-3", parts="by_index")
    ledger.charge("shop", guarantee("1/3", "1e-6"), job="top-itemset")
    receipt = ledger.charge("shop/north", at_most("1/2"), job="accuracy-first")
    ledger.settle(receipt, Fraction(1, 4))
    ledger.charge("shop/south", guarantee("1/3"), job="top-itemset")
    ledger.grant("shop", epsilon=3, delta="1e-3", parts="by_index")
    ledger.grant("barn", epsilon=1, delta="0.5", unit="row", accounting="zcdp", approximate_delta="1/5")
    ledger.once("ages 2026-W47").charge("barn", guarantee("1/2", "1/7", unit="row"), job="histogram")
    SharedResults(f"sqlite:///{path}").put("barn", "ages 2026-W47", {".json": b"{}"})
    assert ledger.verify() == 8
    del ledger
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    shutil.copy(sound, tmp_path / "copy.db")
    return tmp_path / "copy.db"


def change(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> int:
    """How many rows it changed; without foreign keys, as somebody with a database browser would."""
    with closing(sqlite3.connect(path)) as connection:
        changed = sum(connection.execute(statement, values).rowcount for statement in statements)
        connection.commit()
    return changed


def refused(path: Path) -> str:
    with pytest.raises(BadLedger) as caught:
        Ledger(f"sqlite:///{path}").verify()
    message = str(caught.value)
    assert message.isprintable()
    assert "sql" not in message.replace("SQLite database", "").replace("sqlite:///", "").lower()
    return message


def other_values(value: object) -> list[object]:
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 1, f"{value} ", "x", value + 0.5, b"1", 2**40]
    text = str(value)
    return [
        text + "0",
        "0",
        "1/7",
        "zcdp" if text == "basic" else "basic",
        text + " ",
        text.upper() + "X",
        "",
        text.encode(),
        7,
        b"\xff\xfe",
        "\ud7ff",
        "9" * 900,
    ]


def test_the_sound_one_is_sound(copy: Path) -> None:
    assert Ledger(f"sqlite:///{copy}").verify() == 8


@every(("number", "column"), enumerate(COLUMNS))
def test_changes_of_any_column_show(sound: Path, tmp_path: Path, number: int, column: tuple[str, str]) -> None:
    """Another two in each, and in another row: all ways in which a cell can be changed are tried somewhere."""
    shutil.copy(sound, tmp_path / "copy.db")
    assert_changes_show(tmp_path / "copy.db", *column, number % ROWS[column[0]], first=number, limit=2)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_any_change_of_any_cell_shows(copy: Path, cell: tuple[str, str, int]) -> None:
    assert_changes_show(copy, *cell)


def assert_changes_show(copy: Path, table: str, column: str, row: int, *, first: int = 0, limit: int = 99) -> None:
    """At most `limit` changes of one cell, beginning with the one numbered `first`."""
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        rowid, value = connection.execute(f"SELECT rowid, {column} FROM {table} LIMIT 1 OFFSET {row}").fetchone()
        tried = 0
        others = other_values(value)
        start = first % len(others)
        for other in others[start:] + others[:start]:
            if tried == limit:
                break
            try:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {rowid}", (other,))
            except sqlite3.Error:  # the database itself refuses: a key twice, no whole number in a key
                continue
            stored = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = {rowid}").fetchone()
            where = rowid if stored else connection.execute(f"SELECT rowid FROM {table}").fetchone()[0]
            connection.commit()
            if not stored or (type(stored[0]), stored[0]) != (type(value), value):
                refused(copy)
                tried += 1
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {where}", (value,))
            connection.commit()
    assert tried >= 2
    assert Ledger(f"sqlite:///{copy}").verify() == 8


@pytest.mark.parametrize(
    "column", ["kind", "part", "epsilon", "delta", "job", "time", "seal", "rho", "approximate_delta"]
)
def test_cells_exchanged_between_entries_show(copy: Path, column: str) -> None:
    own = "WHERE dataset = 'shop' AND number IN (2, 3)"
    with closing(sqlite3.connect(copy)) as connection:
        first, second = (row[0] for row in connection.execute(f"SELECT {column} FROM dpmine_history {own}"))
    assert first != second
    swap = f"UPDATE dpmine_history SET {column} = CASE WHEN {column} = ? THEN ? ELSE ? END {own}"
    assert change(copy, swap, values=(first, second, first)) == 2
    assert "entry 2" in refused(copy)


@pytest.mark.parametrize(("table", "row"), [(table, row) for table in SUMS for row in range(ROWS[table])])
def test_any_deleted_row_shows(copy: Path, table: str, row: int) -> None:
    assert change(copy, f"DELETE FROM {table} WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {row})") == 1
    refused(copy)


@pytest.mark.parametrize("table", SUMS)
def test_an_emptied_table_shows(copy: Path, table: str) -> None:
    change(copy, f"DELETE FROM {table}")
    if table == "dpmine_datasets":
        assert "does not list" in refused(copy)
    else:
        refused(copy)


@pytest.mark.parametrize("first", range(1, 6))
def test_entries_out_of_order_show(copy: Path, first: int) -> None:
    number = "UPDATE dpmine_history SET number = {} WHERE dataset = 'shop' AND number = {}"
    change(copy, number.format(99, first), number.format(first, first + 1), number.format(first + 1, 99))
    assert f"entry {first}" in refused(copy)


@pytest.mark.parametrize("number", [0, 7, 100, -1])
def test_an_inserted_entry_shows(copy: Path, number: int) -> None:
    columns = ", ".join(c.name for c in METADATA.tables["dpmine_history"].columns if c.name != "number")
    row = f"SELECT {number}, {columns} FROM dpmine_history WHERE dataset = 'shop' AND number = 2"
    assert change(copy, f"INSERT INTO dpmine_history (number, {columns}) {row}") == 1
    refused(copy)


@pytest.mark.parametrize(
    "row",
    [
        "INSERT INTO dpmine_spent VALUES ('shop', 'west', '0', '0', '0', '0')",
        "INSERT INTO dpmine_spent VALUES ('cellar', '', '0', '0', '0', '0')",
        "INSERT INTO dpmine_version VALUES (2)",
        "INSERT INTO dpmine_datasets VALUES ('cellar', '', 'replace_one', 'none', '1', '0', 0, 'x', 'basic', '0', '0')",
    ],
)
def test_other_inserted_rows_show(copy: Path, row: str) -> None:
    assert change(copy, row) == 1
    refused(copy)


def test_a_lost_end_of_the_history_shows(copy: Path) -> None:
    """The last entries gone, and the totals put back: the seal of the data set is still that of the last."""
    change(
        copy,
        "DELETE FROM dpmine_history WHERE dataset = 'barn' AND number = 2",
        "DELETE FROM dpmine_spent WHERE dataset = 'barn'",
        "UPDATE dpmine_datasets SET entries = 1 WHERE dataset = 'barn'",
    )
    assert "'barn'" in refused(copy)


def test_a_seal_kept_elsewhere_shows_a_history_that_was_cut_with_care(copy: Path) -> None:
    """Who also moves the seal back has a sound, shorter ledger: only a seal kept elsewhere tells."""
    kept = Ledger(f"sqlite:///{copy}").budget("barn").seal
    change(
        copy,
        "DELETE FROM dpmine_history WHERE dataset = 'barn' AND number = 2",
        "DELETE FROM dpmine_spent WHERE dataset = 'barn'",
        "UPDATE dpmine_datasets SET entries = 1, seal = (SELECT seal FROM dpmine_history WHERE dataset = 'barn') "
        "WHERE dataset = 'barn'",
    )
    ledger = Ledger(f"sqlite:///{copy}")
    assert ledger.verify() == 7
    assert ledger.budget("barn").seal != kept


@pytest.mark.parametrize(
    ("column", "value"),
    [("entries", "x"), ("epsilon", 7), ("unit", 3), ("epsilon", "1/0"), ("rho", ""), ("accounting", "rdp")],
)
def test_a_changed_row_is_not_charged(copy: Path, column: str, value: object) -> None:
    change(copy, f"UPDATE dpmine_datasets SET {column} = CAST(? AS BLOB) WHERE dataset = 'shop'", values=(value,))
    with pytest.raises(BadLedger):
        Ledger(f"sqlite:///{copy}").charge("shop", guarantee("1/100"), job="")
