"""dpmine doctor: what it looks at, and what it says of what is broken."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.command_line import assert_one_error, outcome_of, spawn
from support.tapes import TapeBits

from dpmine.doctor import PACKAGES, Check, Diagnosis, State, diagnose
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.kernels import INSTRUCTION_SETS, INSTRUCTIONS, LIBRARY

LEDGER = "sqlite:///budget.db"


@pytest.fixture(autouse=True)
def place(run: outcome_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a ledger of two data sets."""
    monkeypatch.chdir(tmp_path)
    for name in ("shop", "clinic"):
        assert run("ledger", "grant", "--ledger", LEDGER, "--dataset", name, "--epsilon", "1").status == 0
    return tmp_path


def checks(diagnosis: Diagnosis) -> dict[str, Check]:
    return {check.name: check for check in diagnosis.checks}


def look(ledger: str | None = None) -> dict[str, Check]:
    return checks(diagnose(ledger, bits=SystemBits()))


def test_all_is_well(run: outcome_of) -> None:
    outcome = run("doctor", "--ledger", LEDGER, "--format", "json")
    assert (outcome.status, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    assert document["healthy"] is True
    found = {check["name"]: check["detail"] for check in document["checks"]}
    assert {name: found[name] for name in PACKAGES} == {name: importlib.metadata.version(name) for name in PACKAGES}
    assert found["ledger"] == f"{LEDGER}, 2 data sets"
    assert {check["state"] for check in document["checks"]} <= {"ok", "note"}


def test_text_has_a_line_for_each_check(run: outcome_of) -> None:
    outcome = run("doctor", "-o", "doctor.txt")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    first, empty, *lines = Path("doctor.txt").read_text(encoding="utf-8").splitlines()
    assert first.startswith("dpmine 1.0.0rc1, Python 3.")
    assert empty == ""
    assert [line.split("  ")[0] for line in lines] == list(look())


def test_the_ledger_is_not_changed() -> None:
    before = Path("budget.db").read_bytes()
    assert look(LEDGER)["ledger"].state is State.OK
    assert Path("budget.db").read_bytes() == before


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("sqlite:///no.db", "dpmine ledger grant"),
        ("sqlite:///words.db", "no SQLite database"),
        ("gopher://x", "ledger must be a URL"),
        ("postgresql://me:geheim@127.0.0.1:1/db?password=geheim", "its server cannot be reached"),
    ],
)
def test_a_ledger_that_cannot_be_used(run: outcome_of, url: str, hint: str) -> None:
    """The report comes all the same, then one line and status 2; no password anywhere."""
    Path("words.db").write_text("words, words, words" * 100, encoding="utf-8")
    outcome = run("doctor", "--ledger", url, "--format", "json")
    assert outcome.status == 2
    assert len(outcome.lines) == 1
    assert outcome.err.startswith("dpmine: error: ledger: ")
    assert hint in outcome.err
    assert "geheim" not in outcome.out + outcome.err
    assert json.loads(outcome.out)["healthy"] is False
    assert not Path("no.db").exists()


def test_passwords_are_not_shown_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.ledger.ledger.Ledger.budgets", lambda _self: [None])
    assert look("postgresql://me:geheim@host/db")["ledger"].detail == "postgresql://me:***@host/db, 1 data set"


def test_a_package_that_is_missing(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.metadata.version

    def version(name: str) -> str:
        if name in {"scipy", "psycopg"}:
            raise importlib.metadata.PackageNotFoundError
        return known(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    found = look()
    assert found["scipy"] == Check("scipy", State.FAILED, "not installed: pip install scipy.")
    assert found["psycopg"].state is State.NOTE  # only servers need it
    outcome = run("doctor")
    assert (outcome.status, outcome.lines) == (2, ["dpmine: error: scipy: not installed: pip install scipy."])


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError("quoting things")


def test_kernels_that_do_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Miner, "itemsets", broken)
    check = look()["kernels"]
    assert check.state is State.FAILED
    assert check.detail.endswith("reinstall dpmine.")
    assert "RuntimeError" in check.detail
    assert "quoting" not in check.detail


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    """Without kernels dpmine still says what is wrong."""
    done = spawn("doctor", "--format", "json", variables={"DPMINE_KERNELS": str(tmp_path / "none.so")})
    assert done.status == 2
    (line,) = done.lines
    assert line.startswith("dpmine: error: kernels: The compiled loops of dpmine cannot be loaded from")
    assert "unset DPMINE_KERNELS" in line
    states = {check["name"]: check["state"] for check in json.loads(done.out)["checks"]}
    assert [name for name, state in states.items() if state == "failed"] == ["kernels", "exact selection"]


def test_kernels_that_miscount(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Miner.itemsets

    def one_off(miner: Miner, *arguments: int) -> Itemsets:
        found = search(miner, *arguments)
        return Itemsets(found.items, found.supports + (found.supports == 1))

    monkeypatch.setattr(Miner, "itemsets", one_off)
    assert look()["kernels"] == Check("kernels", State.FAILED, f"{LIBRARY} counts wrongly: reinstall dpmine.")


def test_the_kernels_are_named_with_their_instructions() -> None:
    check = look()["kernels"]
    assert check.state is State.OK
    name, instructions = check.detail.rsplit(", ", 1)
    assert Path(name).samefile(LIBRARY)
    assert instructions == INSTRUCTION_SETS[INSTRUCTIONS]


def test_a_source_that_stands_still() -> None:
    """Zeros only: the two draws are the same."""
    found = checks(diagnose(bits=TapeBits(0, 10_000)))
    assert found["random source"].state is State.FAILED


def test_a_source_that_ends_is_told() -> None:
    assert checks(diagnose(bits=TapeBits(1, 300)))["random source"].state is State.FAILED


def test_no_drawn_value_is_shown() -> None:
    tape = (1 << 511) | 12345
    assert str(12345) not in str(diagnose(bits=TapeBits(tape << 5000, 5512)))


def test_a_choice_outside_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {0: State.OK, 1: State.FAILED, 2: State.FAILED, None: State.OK}
    for place, state in states.items():
        monkeypatch.setattr("dpmine.selection.select.choose", lambda *_, place=place, **__: place)
        assert look()["exact selection"].state is state


def test_temporary_files_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", os.devnull)
    check = look()["temporary files"]
    assert check.state is State.FAILED
    assert "set TMPDIR" in check.detail


@pytest.mark.parametrize("options", [["--format", "csv"], ["--format", "parquet", "-o", "x"], ["-o", "x.csv"]])
def test_no_table(run: outcome_of, options: list[str]) -> None:
    assert re.search("text or json|text, json", assert_one_error(run("doctor", *options)))


def test_a_database_that_is_no_ledger(run: outcome_of) -> None:
    connection = sqlite3.connect("other.db")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    assert run("doctor", "--ledger", "sqlite:///other.db").status == 2
