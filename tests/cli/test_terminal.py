"""What is printed fits a terminal, and is left as it is for everything else."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.output import folded
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import PROGRAM, environment, outcome_of
from support.terminal import at_terminal, rest_of

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "mechanism           neighbours   claimed  measured  verdict"
ROWS = ("large_margin_tight  replace-one  1        0.59      holds", "exact               add-remove")
TABLE = "\n".join((HEADER, *ROWS))
TEXT = st.text(alphabet="ab ,;=ε\t\n", max_size=120)


@given(TEXT, st.integers(20, 60))
def test_no_word_is_lost_and_no_line_too_long(text: str, width: int) -> None:
    lines = folded(text, width).split("\n")
    words = set(text.split())
    assert words <= {word for line in lines for word in line.split()}
    assert all(len(line) <= width or len(line.split()) <= 3 or " = " in line for line in lines if "\t" not in line)


@given(TEXT)
def test_what_fits_is_left_as_it_is(text: str) -> None:
    assert folded(text, 500) == text


def test_tables_are_cut_between_columns() -> None:
    narrow = folded(TABLE, 45).split("\n")
    assert narrow[:2] == ["mechanism           neighbours   claimed", "large_margin_tight  replace-one  1"]
    assert narrow[3:] == [
        "",
        "mechanism           measured  verdict",
        "large_margin_tight  0.59      holds",
        "exact",
    ]
    assert folded(TABLE, len(HEADER) - 1).split("\n")[0] == "mechanism          neighbours  claimed measured verdict"


def test_prose_is_indented_and_equations_stay_together() -> None:
    assert folded("shop\tgranted ε = 3, δ = 0; spent ε = 1", 30).split("\n") == [
        "shop    granted ε = 3, δ = 0;",
        "        spent ε = 1",
    ]
    assert folded("one two three four five six ε = 1", 29).split("\n") == ["one two three four five six", "    ε = 1"]


def test_long_words_are_not_cut() -> None:
    assert (
        folded("a sqlite:////a/very/long/path/to/some.db z", 20).split("\n")[1].strip()
        == "sqlite:////a/very/long/path/to/some.db"
    )


@pytest.fixture
def budget(run: outcome_of, folder: Path) -> Path:
    for name in ("shop", "another shop with a rather long name"):
        granted = run("ledger", "grant", "--ledger", "sqlite:///b.db", "--dataset", name, "--epsilon", "3")
        assert granted.status == 0
    return folder


COMMANDS = [
    "ledger show --ledger sqlite:///b.db",
    "ledger history --ledger sqlite:///b.db --dataset shop",
    "plan --catalogue-size 400 --units 5000",
    "plan --learn thresholds --accuracy 0.05",
    "audit --mechanism exponential",
    "doctor --ledger sqlite:///b.db",
    "supports sales.parquet --min-support 1 --not-private",
]


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("command", COMMANDS)
def test_output_fits_the_terminal(run: outcome_of, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    whole = run(*command.split()).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for width in (80, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        fitting = run(*command.split()).out
        path = re.compile(r"\S{30,}")  # is not cut
        assert max(len(line) for line in fitting.split("\n") if not path.search(line)) <= width
        if not command.startswith("doctor"):  # the room on the disk is another
            assert set(fitting.split()) == set(whole.split())


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize(
    "variables",
    [
        {"TERM": "xterm-256color"},
        *(pytest.param(other, marks=pytest.mark.slow) for other in ({"NO_COLOR": "1"}, {"TERM": "dumb"})),
    ],
)
def test_results_have_no_colour(variables: dict[str, str]) -> None:
    """On a real terminal."""
    command = [*PROGRAM, "ledger", "show", "--ledger", "sqlite:///b.db"]
    process, master = at_terminal(command, **{"COLUMNS": "50", **variables})
    assert process.wait(timeout=60) == 0
    output = rest_of(master).decode()
    assert "\x1b" not in output
    assert max(map(len, output.split("\r\n"))) <= 50


BAR = """
import os, sys
from dpmine_cli import messages
messages._PATIENCE = -1.0
with messages.Messages(quiet=False) as told:
    told.progress(0.5)
    told.notice("half way")
"""


@pytest.mark.parametrize(
    ("variables", "pattern"),
    [
        ({"TERM": "dumb"}, r"dpmine: half way\r\n"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, r"(?:\x1b\[(?:\?25[lh]|1A|2K)|[━╸╺]| |\d+%|\r|\n)*dpmine: half way\r\n"),
    ],
)
def test_progress_honours_the_terminal(variables: dict[str, str], pattern: str) -> None:
    """No bar where lines cannot be drawn anew, and no colour where none is wanted."""
    process, master = at_terminal([sys.executable, "-c", BAR], **variables)
    assert process.wait(timeout=60) == 0
    output = rest_of(master).decode()
    assert re.fullmatch(pattern, output), output


OF_COMMAND = {
    "top-itemset": ["--size", "1"],
    "supports": ["--size", "1", "--min-support", "9", "--not-private"],
    "catalogue": [],
}
CONTROLS = "\x9b31m\x7f"  # no line of a catalogue has them: such items are left out of its text


@pytest.mark.parametrize("form", ["text", "csv", "json"])
@pytest.mark.parametrize("command", OF_COMMAND)
def test_a_terminal_is_given_nothing_that_it_would_obey(tmp_path: Path, command: str, form: str) -> None:
    """A catalogue has items as they are, where it is no terminal's; JSON, and lists in CSV, escape them everywhere."""
    item = "tea\u202e" if (command, form) == ("catalogue", "text") else f"tea\u202e{CONTROLS}"
    file = tmp_path / "sales.parquet"
    pq.write_table(pa.table({"who": range(900), "what": [item] * 900}), file)
    whole = [*PROGRAM, command, str(file), "--unit", "who", "--item", "what", "--format", form, *OF_COMMAND[command]]
    process, master = at_terminal(whole)
    shown = rest_of(master).decode()
    assert process.wait(timeout=60) == 0, shown
    assert all(line.expandtabs().isprintable() for line in shown.split("\r\n"))
    assert r"\u202e" in shown
    piped = subprocess.run(whole, capture_output=True, check=True, timeout=60, env=environment()).stdout.decode()
    assert (item in piped) is (command == "catalogue" and form != "json")
