"""A ledger of version 1, before zCDP, is brought up to date: nothing is lost, and what is changed still shows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ledger.promises import at_most, promise

from dpmine.errors import BadLedger, BudgetExceeded
from dpmine.ledger import database
from dpmine.ledger.budget import Accounting, Amount, kept_rho
from dpmine.ledger.ledger import Ledger, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable

    from ledger.postgres import Cluster

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")
"""As version 1 wrote it: grants, charges, odd fractions, parts, a settled and an open reservation, three data sets."""
OPEN = Receipt("shop", "", 6)
SEALS = {
    "Kundschaft Zürich": "bec3394a4da9c39a89a4f8b7ce90296f33b989188ec7e13d614412c637ff73c1",
    "barn": "81a2673f668a3b715b1ec7271d8d02a04b71dea880c2be5fc05be5830ed9b794",
    "shop": "5b982247ace46736ab43610df505d1a5f3cc86ea884200888f3c6557e6f5ca55",
}


@pytest.fixture
def old(url: str) -> Ledger:
    """The ledger of version 1, not yet opened, in every store."""
    ledger = Ledger(url)
    if url.startswith("sqlite"):
        change(Path(url.removeprefix("sqlite:///")), VERSION_1)
    else:
        load(ledger)
    return ledger


@pytest.fixture
def old_file(file: Path) -> Path:
    change(file, VERSION_1)
    return file


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def load(ledger: Ledger, more: str = "") -> None:
    """The tables of version 1, on a server."""
    with ledger._database._connected(create=True).begin() as connection:
        connection.exec_driver_sql(VERSION_1.replace("BEGIN TRANSACTION;", "").replace("COMMIT;", more))


def refused(path: Path) -> str:
    with pytest.raises(BadLedger) as caught:
        Ledger(f"sqlite:///{path}").verify()
    assert str(caught.value).isprintable()
    return str(caught.value)


def implied(*epsilons: str) -> Fraction:
    return sum((kept_rho(Fraction(epsilon) ** 2 / 2) for epsilon in epsilons), Fraction())


LOOKS: list[Callable[[Ledger], object]] = [
    Ledger.verify,
    Ledger.budgets,
    Ledger.export,
    lambda ledger: ledger.history("shop"),
    lambda ledger: ledger.known("shop"),
    lambda ledger: ledger.charge("barn", promise("1/9"), job="first of all"),
    lambda ledger: ledger.grant("barn", epsilon=3),
    lambda ledger: ledger.settle(OPEN, "1/8"),
]


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_comes_first_migrates(old: Ledger, look: Callable[[Ledger], object]) -> None:
    look(old)
    assert old.verify() in {12, 13}
    assert {budget.accounting for budget in old.budgets()} == {Accounting.BASIC}


def test_everything_is_as_it_was(old: Ledger) -> None:
    assert old.verify() == 12
    assert {budget.dataset: budget.seal for budget in old.budgets()} == SEALS
    shop = old.budget("shop")
    assert (shop.unit, shop.entries, str(shop.parts)) == ("customer", 9, "by_index")
    assert shop.granted == Amount(Fraction(7, 2), Fraction(1, 10**5))
    assert (shop.charged[""].epsilon, shop.charged["north"].epsilon) == (Fraction(14, 15), Fraction(13, 57))
    history = [asdict(entry) for entry in old.history("shop")]
    assert {(entry["accounting"], entry["rho"], entry["approximate_delta"]) for entry in history} == {("", "", "")}
    assert [entry["kind"] for entry in history] == [
        *("grant", "charge", "reserve", "charge", "settle", "reserve", "charge", "grant", "charge")
    ]
    assert (history[4]["epsilon"], history[4]["reservation"], history[6]["job"]) == ("13/57", 3, "a small one")


def test_totals_are_those_that_the_entries_imply(old: Ledger) -> None:
    """Settled or not, a reservation is worth its most; a charge that is too small for ρ is rounded up."""
    shop = old.budget("shop").charged
    assert shop[""].rho == implied("1/3", "1/2", "1/10")
    assert shop["north"].rho == implied("5/7")
    assert shop["south"].rho == implied("22/71") + Fraction(1, 10**100)
    assert {part: amount.approximate_delta for part, amount in shop.items()} == {
        part: amount.delta for part, amount in shop.items()
    }
    assert old.budget("Kundschaft Zürich").spent.rho == implied("1/7")
    assert old.budget("barn").spent == Amount()


def test_life_goes_on(old: Ledger) -> None:
    old.charge("shop/north", promise("1/2", "1e-6"), job="new")
    old.settle(OPEN, "1/4")
    with pytest.raises(BudgetExceeded):
        old.charge("shop", promise("3"), job="too much")
    old.settle(old.charge("shop", at_most("1/5"), job="search"), "1/6")
    shop = old.budget("shop")
    assert shop.charged[""].epsilon == Fraction(14, 15) - Fraction(1, 4) + Fraction(1, 6)
    assert shop.charged[""].rho == implied("1/3", "1/2", "1/10", "1/5")
    assert shop.charged["north"].rho == implied("5/7", "1/2")
    assert old.history("shop")[9].accounting == "basic"
    assert old.verify() == 16


def test_a_data_set_without_charges_may_change_its_accounting(old: Ledger) -> None:
    old.grant("barn", epsilon=3, delta="1e-5", accounting="zcdp")
    old.charge("barn", promise("1/2"), job="")
    assert old.verify() == 14
    assert [entry.accounting for entry in old.history("barn")] == ["", "zcdp", "zcdp"]


TAMPERED = [
    "UPDATE dpmine_history SET epsilon = '1/4' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET epsilon = '1/4' WHERE dataset = 'shop' AND number = 3",
    "UPDATE dpmine_history SET epsilon = '1/4' WHERE dataset = 'shop' AND number = 5",
    "UPDATE dpmine_history SET delta = '0' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET kind = 'settle' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET job = 'another' WHERE dataset = 'shop' AND number = 9",
    "DELETE FROM dpmine_history WHERE dataset = 'shop' AND number = 4",
    "DELETE FROM dpmine_spent WHERE part = 'north'",
    "UPDATE dpmine_spent SET epsilon = '1/100' WHERE part = 'north'",
    "UPDATE dpmine_datasets SET epsilon = '5' WHERE dataset = 'shop'",
    "UPDATE dpmine_datasets SET seal = 'x' WHERE dataset = 'barn'",
    "INSERT INTO dpmine_spent (dataset, part, epsilon, delta) VALUES ('shop', 'west', '0', '0')",
]
AFTERWARDS = [
    "UPDATE dpmine_history SET rho = '1/18' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET approximate_delta = '0' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET accounting = 'basic' WHERE dataset = 'shop' AND number = 2",
    "UPDATE dpmine_history SET accounting = 'basic', rho = '1/18', approximate_delta = delta WHERE number = 2",
    "UPDATE dpmine_spent SET rho = '0' WHERE part = 'north'",
    "UPDATE dpmine_spent SET rho = '', approximate_delta = '' WHERE dataset = 'Kundschaft Zürich'",
    "UPDATE dpmine_datasets SET rho = '', approximate_delta = '', accounting = ''",
    "UPDATE dpmine_datasets SET accounting = 'zcdp' WHERE dataset = 'barn'",
    "UPDATE dpmine_version SET version = 1",
]
ROBBED = [
    "accounting = ''",
    "rho = ''",
    "approximate_delta = ''",
    "rho = '', approximate_delta = ''",
    "accounting = '', rho = '', approximate_delta = ''",
    "accounting = 'zcdp'",
    "rho = '0'",
]


@pytest.mark.parametrize("script", TAMPERED)
def test_what_was_changed_before_the_migration_shows(old_file: Path, script: str) -> None:
    change(old_file, script)
    assert "sql" not in refused(old_file)
    refused(old_file)  # now with the tables of today


@pytest.mark.parametrize("script", TAMPERED + AFTERWARDS)
def test_what_is_changed_after_the_migration_shows(old_file: Path, script: str) -> None:
    assert Ledger(f"sqlite:///{old_file}").verify() == 12
    change(old_file, script)
    refused(old_file)


@pytest.mark.parametrize("robbed", ROBBED)
@pytest.mark.parametrize("number", [10, 11, 12, 13])
def test_a_new_entry_robbed_of_new_values_shows(old_file: Path, robbed: str, number: int) -> None:
    ledger = Ledger(f"sqlite:///{old_file}")
    ledger.charge("shop", promise("1/7", "1e-7"), job="new")
    ledger.settle(ledger.charge("shop", at_most("1/5"), job="search"), "1/6")
    ledger.grant("shop", epsilon=4, delta="1e-5", parts="by_index")
    ledger.charge("shop", promise("0"), job="ends")
    assert ledger.verify() == 17
    with closing(sqlite3.connect(old_file)) as connection:
        before = connection.execute("SELECT * FROM dpmine_history ORDER BY dataset, number").fetchall()
        connection.execute(f"UPDATE dpmine_history SET {robbed} WHERE dataset = 'shop' AND number = {number}")
        connection.commit()
        if connection.execute("SELECT * FROM dpmine_history ORDER BY dataset, number").fetchall() == before:
            assert (number, robbed) == (13, "rho = '0'")
            return
    assert "'shop'" in refused(old_file)


def test_entries_that_no_ledger_wrote_stop_the_migration(old_file: Path) -> None:
    change(old_file, "UPDATE dpmine_history SET epsilon = '0.5' WHERE number = 2")
    for look in LOOKS:
        with pytest.raises(BadLedger, match="changed by hand"):
            look(Ledger(f"sqlite:///{old_file}"))
    with closing(sqlite3.connect(old_file)) as connection:
        assert connection.execute("SELECT version FROM dpmine_version").fetchall() == [(1,)]


def test_a_reader_of_a_file_that_cannot_be_written(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_connection: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(database, "bring_up_to_date", refuse)
    with pytest.raises(BadLedger, match=r"earlier version of dpmine, and its owner must .*\(dpmine ledger show\): "):
        Ledger(f"sqlite:///{old_file}").budgets()


ROLES = """
CREATE ROLE dpmine_jobs LOGIN PASSWORD '{0}'; CREATE ROLE dpmine_readers LOGIN PASSWORD '{0}';
GRANT SELECT ON dpmine_version, dpmine_datasets, dpmine_spent, dpmine_history TO dpmine_jobs, dpmine_readers;
GRANT UPDATE ON dpmine_datasets TO dpmine_jobs;
GRANT INSERT, UPDATE ON dpmine_spent TO dpmine_jobs;
GRANT INSERT ON dpmine_history TO dpmine_jobs"""


def test_on_a_server_its_owner_migrates(cluster: Cluster) -> None:
    """The roles of docs/how-to/postgresql.md: others get one line, and find the tables as they are afterwards."""
    cluster.create("migrated")
    owner, *others = (Ledger(cluster.url("migrated", user)) for user in ("ledger", "dpmine_jobs", "dpmine_readers"))
    jobs, readers = others
    load(owner, ROLES.format(cluster.PASSWORD))
    calls: list[Callable[[], object]] = [
        readers.verify,
        jobs.budgets,
        lambda: jobs.charge("shop", promise("1/9"), job=""),
    ]
    for call in calls:
        with pytest.raises(BadLedger) as caught:
            call()
        assert "its owner must bring it up to date (dpmine ledger show): permission is denied" in str(caught.value)
    assert owner.budget("shop").entries == 9
    jobs.charge("shop", promise("1/9"), job="")
    jobs.settle(jobs.charge("shop", at_most("1/5"), job=""), "1/6")
    assert readers.verify() == 15
    with pytest.raises(BadLedger, match="permission is denied"):
        jobs.grant("another", epsilon=1)


def test_on_a_server_an_earlier_version_cannot_write_without_rho(cluster: Cluster) -> None:
    """One that looked at the version just before the migration."""
    from sqlalchemy.exc import IntegrityError

    ledger = Ledger(cluster.schema("late"))
    ledger.grant("shop", epsilon=1)
    names = "dataset, number, kind, part, epsilon, delta, reservation, unit, neighbors, parts, job, time, seal"
    values = "'shop', 2, 'charge', '', '1', '0', 0, 'unit', 'replace_one', 'none', '', '2026-01-01', 'x'"
    with pytest.raises(IntegrityError), ledger._database._connected(create=False).begin() as connection:
        connection.exec_driver_sql(f"INSERT INTO dpmine_history ({names}) VALUES ({values})")
    assert ledger.verify() == 1
