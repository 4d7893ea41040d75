"""Copies of a ledger's file, as the page on ledgers describes them, and what putting one back does."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from ledger.guarantees import guarantee

from dpmine.errors import AlreadyCharged
from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.grant("shop", epsilon=9)
    made.once("first").charge("shop", guarantee("1"), job="job")
    return made


def test_a_file_that_is_copied_between_two_runs_is_the_ledger(ledger: Ledger, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "budget.db", tmp_path / "copy.db")
    copy = Ledger(f"sqlite:///{tmp_path}/copy.db")
    assert copy.verify() == 2
    assert copy.budgets() == ledger.budgets()


def test_a_backup_that_is_made_during_a_charge_has_what_was_charged_before(ledger: Ledger, tmp_path: Path) -> None:
    with ledger._database.writing() as connection:
        connection.exec_driver_sql("UPDATE dpmine_spent SET epsilon = '7'")  # in the middle of a charge
        files = (closing(sqlite3.connect(tmp_path / name)) for name in ("budget.db", "copy.db"))
        with next(files) as source, next(files) as target:
            source.backup(target)
        connection.rollback()
    copy = Ledger(f"sqlite:///{tmp_path}/copy.db")
    assert copy.verify() == 2
    assert copy.budgets() == ledger.budgets()


def test_an_older_copy_is_shorter_and_can_be_charged_by_hand(ledger: Ledger, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "budget.db", tmp_path / "copy.db")
    ledger.once("second").charge("shop", guarantee("1"), job="job")
    newest = ledger.budget("shop")
    shutil.copy(tmp_path / "copy.db", tmp_path / "budget.db")
    restored = Ledger(f"sqlite:///{tmp_path}/budget.db")
    assert restored.verify() == 2
    budget = restored.budget("shop")
    assert (budget.entries, newest.entries) == (2, 3)
    assert budget.seal != newest.seal
    assert budget.spent.epsilon == 1
    restored.once("second").charge("shop", guarantee("1"), job="job")
    assert restored.budget("shop").spent == newest.spent
    with pytest.raises(AlreadyCharged):
        restored.once("first").charge("shop", guarantee("1"), job="job")


def test_two_copies_that_were_charged_apart_have_different_seals(ledger: Ledger, tmp_path: Path) -> None:
    """Also for the same charge on the same day, of which all else is equal."""
    shutil.copy(tmp_path / "budget.db", tmp_path / "copy.db")
    copy = Ledger(f"sqlite:///{tmp_path}/copy.db")
    for each in (ledger, copy):
        each.once("second").charge("shop", guarantee("1"), job="job")
    first, second = ledger.budget("shop"), copy.budget("shop")
    assert (first.entries, first.spent) == (second.entries, second.spent)
    assert first.seal != second.seal
    assert ledger.verify() == copy.verify() == 3
