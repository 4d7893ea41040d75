"""The most likely mistakes on a command line, and the one line that answers each, word for word.

Every answer says what happened and what to type next, and shows no value of the data.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from shlex import split

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import CANARY, Outcome, assert_one_error, outcome_of

import dpmine
from dpmine.reporting.jobs.file import read_job_file

pytestmark = pytest.mark.usefixtures("folder")

SALES = "top-itemset visits.parquet --unit customer --item product"
AGES = "histogram people.parquet --column age"
PEOPLE = "classify people.parquet --label rich --features age"
BUDGET = "--ledger sqlite:///budget.db --dataset shop"

BEFORE = [f"ledger grant {BUDGET} --epsilon 1 --delta 1e-6 --unit customer"]
"""What works, and is run before the mistakes."""

MISTAKES = {}


def write_files() -> None:
    days = [date(2026, 11, 23), date(2026, 11, 24), date(2026, 11, 25)]
    rows = [(customer, day, f"{CANARY} {day.day % 2}") for customer in range(50) for day in days]
    table = pa.table(dict(zip(("customer", "day", "product"), map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(table, "visits.parquet")
    pacsv.write_csv(table, "visits.csv")
    people = {"age": [float(age) for age in range(50)], "town": [CANARY, "b"] * 25, "rich": ["yes", "no"] * 25}
    pq.write_table(pa.table(people), "people.parquet")
    Path("headless.csv").write_text(f"1,{CANARY}\n2,milk\n", encoding="utf-8")
    Path("csvs").mkdir()
    Path("csvs/visits.csv").write_bytes(Path("visits.csv").read_bytes())
    Path("notes.txt").write_text(f"{CANARY}\n", encoding="utf-8")
    Path("two.txt").write_text(f"{CANARY} 0\n{CANARY} 1\n", encoding="utf-8")
    Path("jobs.toml").write_text('[budget]\nledger = "sqlite:///budget.db"\ndataset = "shop"\n', encoding="utf-8")


def answer(outcome: Outcome) -> str:
    """The error, without the words that every error begins with."""
    if outcome.status == 3:  # the budget
        outcome = Outcome(2, outcome.out, outcome.err)
    return assert_one_error(outcome).removeprefix("dpmine: error: ")


def test_likely_mistakes_are_answered_with_what_to_type_next(run: outcome_of) -> None:
    write_files()
    for line in BEFORE:
        assert run(*split(line)).status == 0
    assert {line: answer(run(*split(line))) for line in MISTAKES} == MISTAKES


def test_parquet_is_not_for_a_terminal(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    expected = "Parquet is not for a terminal: give -o FILE.parquet, or redirect the output."
    assert answer(run(*split(f"{SALES} --format parquet"))) == expected


@pytest.mark.parametrize(
    "command",
    ["top-itemset", "catalogue", "histogram", "classify", "hypothesis", "accuracy-first", "plan", "ledger grant"],
)
def test_both_spellings_of_neighbours(run: outcome_of, command: str) -> None:
    assert "--neighbours" in run(*command.split(), "--help").out


def test_job_files_take_both_spellings() -> None:
    write_files()
    text = Path("jobs.toml").read_text(encoding="utf-8") + 'epsilon = 1\nneighbours = "add_remove"\n\n[[job]]\n'
    job = 'kind = "top-itemset"\ninput = "visits.parquet"\nunit = "customer"\nitem = "product"\n'
    for more, relation in (("", "add_remove"), ('neighbours = "replace-one"\n', "replace-one")):
        Path("jobs.toml").write_text(text + job + more, encoding="utf-8")
        assert read_job_file(Path("jobs.toml")).jobs[0].options["neighbors"] == relation
    Path("jobs.toml").write_text(text + job + 'neighbours = "x"\nneighbors = "x"\n', encoding="utf-8")
    with pytest.raises(dpmine.BadParameter, match="There is no key 'neighbours' in job 'top-itemset 1'"):
        read_job_file(Path("jobs.toml"))
