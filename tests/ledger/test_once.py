"""Charges that are made once, by a key: whoever starts the run, however often, from any number of processes."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ledger.once import SHARE, WEEKS
from support.cases import every

import dpmine
from dpmine.errors import AlreadyCharged, BadParameter, BudgetExceeded, NotPrivate
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.results import SharedResults
from dpmine.privacy import Guarantee, Neighbors

COST = Guarantee(Fraction(1, 4), Fraction(0), Neighbors.REPLACE_ONE)
WORKER = Path(__file__).with_name("once.py")


def test_a_key_is_charged_once(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    receipt = ledger.once("pairs 2026-W47").charge("shop", COST, job="pairs")
    assert receipt.number == 2
    for job in ("pairs", "otherwise written"):
        with pytest.raises(AlreadyCharged, match=r"'shop' was charged for \[pairs 2026-W47\] before: nothing was run"):
            ledger.once("pairs 2026-W47").charge("shop", COST, job=job)
    ledger.once("pairs 2026-W48").charge("shop", COST, job="pairs")
    ledger.once("Pairs 2026-W47").charge("shop", COST, job="pairs")  # another key: case counts
    ledger.charge("shop", COST, job="pairs")
    assert [entry.job for entry in ledger.history("shop")[1:]] == [
        "pairs [pairs 2026-W47]",
        "pairs [pairs 2026-W48]",
        "pairs [Pairs 2026-W47]",
        "pairs",
    ]
    assert ledger.budget("shop").remaining.epsilon == 0
    assert ledger.verify() == 5


@pytest.mark.parametrize("key", ["pairs\\2026", "a\\\\", "\\", "%", "_", "50%_of", "é\u4e2d", "'"])
def test_a_key_is_charged_once_whatever_is_in_it(ledger: Ledger, url: str, key: str) -> None:
    """A backslash, a percent sign and an underscore are patterns of SQL elsewhere."""
    ledger.grant("shop", epsilon=1)
    ledger.once("x").charge("shop", COST, job="pairs")
    ledger.once(key).charge("shop", COST, job="pairs")
    with pytest.raises(AlreadyCharged):
        ledger.once(key).charge("shop", COST, job="pairs")
    SharedResults(url).put("shop", key, {".json": b"{}"})
    assert SharedResults(url).get("shop", key) == {".json": b"{}"}
    assert SharedResults(url).get("shop", "x") == {}


def test_a_key_belongs_to_a_data_set_and_a_part(ledger: Ledger) -> None:
    added = Guarantee(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE)
    for name in ("shop", "mall"):
        ledger.grant(name, epsilon=1, neighbors="add_remove", parts="by_unit")
    for place in ("shop/north", "shop/south", "mall/north"):
        ledger.once("W1").charge(place, added, job="pairs")
        with pytest.raises(AlreadyCharged):
            ledger.once("W1").charge(place, added, job="pairs")


def test_a_rejected_charge_leaves_the_key_free(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon="1/8")
    with pytest.raises(BudgetExceeded):
        ledger.once("W1").charge("shop", COST, job="pairs")
    with pytest.raises(NotPrivate):
        ledger.once("W1").charge("shop", COST.without_privacy("test"), job="pairs")
    ledger.grant("shop", epsilon="1/4")
    ledger.once("W1").charge("shop", COST, job="pairs")


def test_words_of_a_job_are_no_key(ledger: Ledger) -> None:
    """Without a key no charge may end as one that has it, or a window of a schedule could count as charged."""
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="job must not end in brackets"):
        ledger.charge("shop", COST, job="pairs [2026-W48 0123456789abcdef]")
    ledger.charge("shop", COST, job="pairs]")
    ledger.once("2026-W48 0123456789abcdef").charge("shop", COST, job="pairs [x]")
    assert [entry.job for entry in ledger.history("shop")[1:]] == [
        "pairs]",
        "pairs [x] [2026-W48 0123456789abcdef]",
    ]


@every("key", ["", "a\nb", "x" * 201, None])
def test_keys_are_names(tmp_path: Path, key: object) -> None:
    with pytest.raises(BadParameter, match="key must be a printable name"):
        Ledger(f"sqlite:///{tmp_path / 'budget.db'}").once(key)  # type: ignore[arg-type]


@every("key", ["a [b", "[", "]", "[b]", "a] [b"])
def test_a_key_is_not_the_end_of_another(tmp_path: Path, key: str) -> None:
    """Brackets are around keys in the history: with one inside, "b" would be charged by "a [b"."""
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    for call in (partial(Ledger(url).once, key), partial(SharedResults(url).put, "shop", key, {})):
        with pytest.raises(BadParameter, match=r"key must be a name without \[ and \]"):
            call()


def test_what_else_a_job_says_in_brackets_is_no_key(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.grant("shop", epsilon=1)
    ledger.once("50 of").charge("shop", COST, job="pairs [50 xof")
    ledger.once("50%_of").charge("shop", COST, job="pairs [x]")
    ledger.once("x").charge("shop", COST, job="pairs")


def test_a_call_of_the_library_is_charged_once(tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.grant("shop", epsilon=2, delta="1e-5", unit="unit")
    options: dict[str, Any] = {"mechanism": "exponential", "epsilon": 1, "ledger": ledger.once("W1"), "dataset": "shop"}
    dpmine.select([90, 20], **options)
    with pytest.raises(dpmine.AlreadyCharged):
        dpmine.select([90, 20], **options)
    assert ledger.budget("shop").spent.epsilon == 1


@pytest.mark.slow
def test_processes_race_for_every_week(url: str, tmp_path: Path) -> None:
    """Each week is won by one of them, and charged once."""
    Ledger(url).grant("shop", epsilon=1)
    files = [tmp_path / f"won{number}" for number in range(4)]
    racing = [subprocess.Popen([sys.executable, str(WORKER), url, str(file)]) for file in files]
    assert [process.wait(120) for process in racing] == [0] * 4
    won = sorted(int(line) for file in files for line in file.read_text(encoding="utf-8").splitlines())
    assert won == list(range(WEEKS))
    ledger = Ledger(url)
    assert ledger.budget("shop").spent.epsilon == WEEKS * SHARE
    assert ledger.verify() == 1 + WEEKS
