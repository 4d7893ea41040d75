"""Every choice that --help offers can be made: no command offers what it then rejects."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from dpmine_cli.options import OPTIONS, flags_of
from pyarrow.feather import write_feather
from support.cases import every

if TYPE_CHECKING:
    from support.command_line import outcome_of

    from dpmine.reporting.jobs.options import Option

LEDGER = "--ledger sqlite:///budget.db"
BOUNDS = "--lower 0 --upper 9"
TRAINING = "data.parquet --label rich --model m.json"
SEARCH = "--x-bound 1 --excess-risk 0.4 --regularization 10 --epsilon-max 1000 --model m.json"
RUNS = {
    "top-itemset": "top-itemset data.parquet --unit person --item town",
    "catalogue": "catalogue data.parquet --unit person --item town",
    "supports": "supports data.parquet --unit person --item town --min-support 1 --not-private",
    "histogram": f"histogram data.parquet --column age {BOUNDS}",
    "classify": f"classify {TRAINING} --features age {BOUNDS}",
    "hypothesis": f"hypothesis {TRAINING} --features age {BOUNDS} --grid 11",
    "accuracy-first": f"accuracy-first data.parquet --features age --target pay --y-bound 1 {SEARCH}",
    "plan": "plan --epsilon 1",
    "audit": "audit --mechanism exponential",
    "doctor": "doctor",
    "grant": f"ledger grant {LEDGER} --dataset another --epsilon 1",
    "show": f"ledger show {LEDGER}",
    "history": f"ledger history {LEDGER} --dataset shop",
    "verify": f"ledger verify {LEDGER}",
    "export": f"ledger export {LEDGER}",
}
"""A command line of each command that works."""

OTHER_RUNS = {
    "accuracy-first --model-kind logistic": f"accuracy-first data.parquet --features age --target rich {SEARCH}",
    "hypothesis --class conjunctions": f"hypothesis {TRAINING} --features age",
    "hypothesis --class separators": f"hypothesis {TRAINING} --features age,pay {BOUNDS}",
    "grant --parts by-unit": f"ledger grant {LEDGER} --dataset units --epsilon 1 --neighbors add-remove",
    "grant --parts by-index": f"ledger grant {LEDGER} --dataset places --epsilon 1",
}
"""Where a choice is for another kind of run."""

NEEDED = {
    "--accounting zcdp": "--delta 1e-6",
    "--mechanism bounded-growth": "--max-items-per-unit 5",
    "--mechanism exponential": "--catalogue towns.txt",
    "--mechanism max-of-exponentials": "--catalogue towns.txt",
    "--mechanism max-of-laplaces": "--catalogue towns.txt",
    "--mechanism exact": "--not-private",
}
"""What a choice needs beside it, where the command has such an option."""


def choices(name: str, option: Option) -> list[str]:
    """Those that the help offers: as choices, or in the text of --mechanism."""
    if name == "format" and not option.choices:
        return ["text", "json", "csv", "parquet"]
    if name == "mechanism":
        return re.findall(r"(?<![(\w-])[a-z]+(?:-[a-z]+)*(?=[,.]| \()", option.help.split(":")[-1])
    return list(option.choices)


OFFERED = [
    (command, flags_of(name, option)[0], choice)
    for command, table in OPTIONS.items()
    for name, option in table.items()
    for choice in choices(name, option)
]


def command_line(command: str, flag: str, choice: str) -> str:
    """The command line that makes the choice, with what it needs."""
    chosen = f"{flag} {choice}"
    line = OTHER_RUNS.get(f"{command} {chosen}", RUNS[command])
    if flag == "--input-format":
        line = line.replace("data.parquet", f"data.{choice}")
    needed = NEEDED.get(chosen, "")
    known = {each for name, option in OPTIONS[command].items() for each in flags_of(name, option)}
    return f"{line} {chosen} {needed if needed.split(' ')[0] in known else ''}"


@pytest.fixture
def tables(folder: Path, run: outcome_of) -> Path:
    """One table in every form, and a ledger."""
    generator = np.random.default_rng(4)
    columns = {
        "person": np.arange(400) // 2,
        "town": [f"t{number}" for number in generator.integers(0, 3, 400)],
        "age": generator.uniform(0, 1, 400),
        "pay": generator.uniform(-1, 1, 400),
        "rich": ["no", "yes"] * 200,
    }
    table = pa.table(columns)
    pq.write_table(table, "data.parquet")
    pacsv.write_csv(table, "data.csv")
    pacsv.write_csv(table, "data.tsv", pacsv.WriteOptions(delimiter="\t"))
    write_feather(table, "data.arrow")
    Path("towns.txt").write_text("t0\nt1\nt2\n", encoding="utf-8")
    assert run(*split(f"ledger grant {LEDGER} --dataset shop --epsilon 9 --delta 1e-5")).status == 0
    return folder


@pytest.mark.slow
@every("command, flag, choice", OFFERED)
@pytest.mark.usefixtures("tables")
def test_what_is_offered_is_accepted(run: outcome_of, command: str, flag: str, choice: str) -> None:
    outcome = run(*split(command_line(command, flag, choice)))
    assert outcome.status == 0, outcome.err


def test_all_commands_and_the_mechanisms_are_tried() -> None:
    assert {command for command, *_ in OFFERED} == {*OPTIONS} - {"report"}
    mechanisms = {command for command, flag, _ in OFFERED if flag == "--mechanism"}
    assert mechanisms == {"top-itemset", "histogram", "classify", "hypothesis", "audit"}
    tried = {choice for command, flag, choice in OFFERED if (command, flag) == ("hypothesis", "--mechanism")}
    assert {"auto", "exponential", "stable-maximiser", "exact"} < tried
    assert ("plan", "--format", "csv") not in OFFERED
