"""Triggers, rules, lost or changed tables, indexes and constraints are found by verify, in every store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from ledger.guarantees import at_most, guarantee

from dpmine.errors import BadLedger
from dpmine.ledger.budget import START
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.records import Entry, Kind, replayed

if TYPE_CHECKING:
    from ledger.postgres import Cluster

INDEX = "INDEX dpmine_settled ON dpmine_history (dataset, reservation)"
TRIGGER = """
CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER quiet BEFORE UPDATE ON dpmine_spent FOR EACH ROW EXECUTE FUNCTION quiet()"""
CHANGES = [
    "DROP INDEX dpmine_settled",
    "DROP TABLE dpmine_spent",
    "ALTER TABLE dpmine_history RENAME TO dpmine_past",
    "ALTER TABLE dpmine_history RENAME COLUMN job TO work",
    "CREATE INDEX other ON dpmine_history (job)",
    "CREATE UNIQUE INDEX other ON dpmine_spent (epsilon)",
]
SQLITE = [
    *CHANGES,
    "CREATE TRIGGER quiet AFTER INSERT ON dpmine_history BEGIN DELETE FROM dpmine_spent; END",
    "CREATE TRIGGER quiet BEFORE UPDATE ON dpmine_spent BEGIN SELECT RAISE(IGNORE); END",
    "ALTER TABLE dpmine_history ADD COLUMN note INTEGER",
    f"DROP INDEX dpmine_settled; CREATE {INDEX}",
    f"DROP INDEX dpmine_settled; CREATE UNIQUE {INDEX} WHERE reservation > 9",
    "CREATE TABLE dpmine_more (x)",
    "CREATE TABLE n AS SELECT * FROM dpmine_spent; DROP TABLE dpmine_spent; ALTER TABLE n RENAME TO dpmine_spent",
    "ALTER TABLE dpmine_spent RENAME TO s; CREATE VIEW dpmine_spent AS SELECT * FROM s",
]
POSTGRES = [
    *CHANGES,
    TRIGGER,
    "CREATE RULE quiet AS ON UPDATE TO dpmine_spent DO INSTEAD NOTHING",
    "ALTER TABLE dpmine_spent ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE dpmine_history DISABLE TRIGGER ALL",
    "ALTER TABLE dpmine_history DROP CONSTRAINT dpmine_history_dataset_fkey",
    "ALTER TABLE dpmine_history DROP CONSTRAINT dpmine_history_pkey CASCADE",
    "ALTER TABLE dpmine_history ADD CHECK (number < 5)",
    "ALTER TABLE dpmine_history ALTER COLUMN job DROP NOT NULL",
    "ALTER TABLE dpmine_history ALTER COLUMN job TYPE varchar(3000)",
    "ALTER TABLE dpmine_spent SET UNLOGGED",
    f"DROP INDEX dpmine_settled; CREATE {INDEX}",
    f"DROP INDEX dpmine_settled; CREATE UNIQUE {INDEX} WHERE reservation > 9",
    "ALTER TABLE dpmine_spent RENAME TO s; CREATE VIEW dpmine_spent AS SELECT * FROM s",
]


def _sound(url: str) -> Ledger:
    ledger = Ledger(url)
    ledger.grant("shop", epsilon=2)
    ledger.settle(ledger.charge("shop", at_most("1/2"), job="search"), "1/4")
    assert ledger.verify() == 3
    return ledger


@pytest.mark.parametrize("change", SQLITE)
def test_changes_in_a_file(file: object, change: str) -> None:
    ledger = _sound(f"sqlite:///{file}")
    with closing(sqlite3.connect(str(file))) as connection:
        connection.executescript(change)
    with pytest.raises(BadLedger) as caught:
        ledger.verify()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("place", range(len(POSTGRES)))
def test_changes_on_a_server(cluster: Cluster, place: int) -> None:
    ledger = _sound(cluster.schema(f"changed{place}"))
    with ledger._database.writing() as connection:
        connection.exec_driver_sql(POSTGRES[place])
    with pytest.raises(BadLedger):
        ledger.verify()


def test_tables_of_others_do_not_matter(file: object) -> None:
    ledger = _sound(f"sqlite:///{file}")
    with closing(sqlite3.connect(str(file))) as connection:
        connection.executescript("CREATE TABLE birds (name); CREATE INDEX by_name ON birds (name); ANALYZE")
    assert ledger.verify() == 3


FORMS = [
    (Kind.GRANT, {"reservation": 1}),
    (Kind.GRANT, {"part": "north"}),
    (Kind.GRANT, {"job": "x"}),
    (Kind.CHARGE, {"reservation": 1}),
    (Kind.CHARGE, {"reservation": -1}),
    (Kind.RESERVE, {"reservation": 1}),
    (Kind.SETTLE, {"reservation": 0}),
    (Kind.SETTLE, {"reservation": -2}),
    (Kind.SETTLE, {"job": "x"}),
    (Kind.SETTLE, {"part": "north"}),
    (Kind.SETTLE, {"rho": "1/32"}),
    (Kind.SETTLE, {"approximate_delta": "1/9"}),
    (Kind.SETTLE, {"accounting": ""}),
    (Kind.CHARGE, {"accounting": "zcdp"}),
    (Kind.CHARGE, {"accounting": "rdp"}),
    (Kind.CHARGE, {"rho": "-1/8"}),
    (Kind.CHARGE, {"approximate_delta": ""}),
    (Kind.GRANT, {"accounting": "zcdp"}),
    (Kind.GRANT, {"rho": "1"}),
    (Kind.GRANT, {"approximate_delta": "1/9"}),
]


@pytest.mark.parametrize(("kind", "changed"), FORMS)
def test_sealed_entries_that_no_ledger_writes_are_refused(file: object, kind: Kind, changed: dict[str, object]) -> None:
    """Somebody sealed them anew, so only their form tells."""
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=2, parts="by_index")
    ledger.charge("shop", guarantee("1/2"), job="x")
    ledger.settle(ledger.charge("shop", at_most("1/2"), job="search"), "1/4")
    ledger.grant("shop", epsilon=3, parts="by_index")
    entries = list(ledger.history("shop"))
    assert replayed(_sealed(entries)).entries == 5
    place = max(place for place, entry in enumerate(entries) if entry.kind == kind)
    entries[place] = replace(entries[place], **changed)  # type: ignore[arg-type]
    with pytest.raises(BadLedger, match=f"Entry {place + 1} of 'shop' is none that a ledger would write"):
        replayed(_sealed(entries))


def test_sealed_entries_that_change_the_accounting_are_refused(file: object) -> None:
    """Between grants, before the first charge, it may change; after that, no total of the other kind has been kept."""
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=2, delta="1e-5")
    ledger.grant("shop", epsilon=2, accounting="zcdp")
    ledger.charge("shop", guarantee("1/9"), job="x")
    ledger.grant("shop", epsilon=3)
    ledger.charge("shop", guarantee("1/9"), job="x")
    entries = list(ledger.history("shop"))
    assert replayed(_sealed(entries)) == ledger.budget("shop")
    entries[3:] = [
        replace(entries[3], accounting="basic", rho="0", approximate_delta="0"),
        replace(entries[4], accounting="basic"),
    ]
    with pytest.raises(BadLedger, match="Entry 4 of 'shop' is none that a ledger would write"):
        replayed(_sealed(entries))


def _sealed(entries: list[Entry]) -> list[tuple[Entry, str]]:
    seal, found = START, []
    for entry in entries:
        seal = entry.seal(seal)
        found.append((entry, seal))
    return found
