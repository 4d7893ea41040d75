"""The library's messages name parameters; the command line and job files spell them as they are typed there."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from dpmine_cli.messages import as_typed
from dpmine_cli.options import FLAGS
from support.cases import every
from support.command_line import ROOT, outcome_of

from dpmine.options.tables import as_keys

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_OTHERS = ("dpmine/options/", "dpmine/itemsets/spark/session.py", "dpmine/kernels/__init__.py")
"""Texts of `--help`, and options of other programs: Spark's --master, and pip's."""

_METHODS = {"law", "sample"}
"""Of a mechanism of the user's, which messages name in the same way."""


@cache
def _texts() -> list[tuple[str, str]]:
    """All texts of the library but docstrings, each with the place where it stands."""
    found = []
    for path in sorted((ROOT / "dpmine").rglob("*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        found += [
            (f"{path.relative_to(ROOT)}:{node.lineno}", node.value)
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        ]
    return found


def test_every_parameter_in_a_message_of_the_library_is_an_option_of_the_command_line() -> None:
    named = [(place, name) for place, text in _texts() for name in re.findall(r"`(\w+)[=`]", text)]
    assert len(named) > 100
    unknown = [(place, name) for place, name in named if name not in {*FLAGS, *_METHODS}]
    assert [each for each in unknown if not each[0].startswith(_OTHERS)] == []


def test_no_message_of_the_library_spells_an_option_as_the_command_line_does() -> None:
    typed = [place for place, text in _texts() if re.search(r"(?<![-\w])--[a-z]", text)]
    assert [place for place in typed if not place.startswith(_OTHERS)] == []


SPELLED = {
    "`memory`": ("memory (--memory)", "memory"),
    "`memory=…`": ("--memory", "memory"),
    "`k=5`": ("--top 5", "top = 5"),
    "`one_hot=True`": ("--one-hot", "one_hot = true"),
    "`unit='a b'` `item='c'`": ("--unit 'a b' --item c", "unit = 'a b' item = 'c'"),
    r"`delimiter='\t'`": (r"--delimiter '\t'", r"delimiter = '\t'"),
    "`unit=COL`": ("--unit COL", "unit = COL"),
    "`classes=['no', 'yes']`": ("--classes no,yes", "classes = ['no', 'yes']"),
    "`unit='large_margin'`": ("--unit large_margin", "unit = 'large_margin'"),
    "`mechanism='large_margin'`": ("--mechanism large-margin", "mechanism = 'large_margin'"),
    "`target_bounds=(0, 100)`": ("--target-bounds 0,100", "target_bounds = [0, 100]"),
    "`hypotheses='stumps'`": ("--class stumps", "class = 'stumps'"),
    "`features=['a', 'b']`": ("--features a,b", "features = ['a', 'b']"),
    "`ledger=URL`": ("--ledger URL", "ledger = URL"),
    "`not_private`": ("not_private (--not-private)", "`not_private`"),
    "`engine='spark'`": ("--engine spark", "`engine='spark'`"),
    "`retry=True`": ("--retry", "`retry=True`"),
    "`catalogue='from-data'`": ("--catalogue-from-data", "catalogue = 'from-data'"),
    "`feature_bounds` must": ("feature_bounds (--lower, --upper) must", "`feature_bounds` must"),
    "a column `k={}`, or `k={1}`": ("a column --top {}, or --top {1}", "a column top = {}, or top = {1}"),
    "an item called `tea`, or `tea=1`": ("an item called `tea`, or `tea=1`", "an item called `tea`, or `tea=1`"),
}


def test_lists_in_messages_are_written_as_lists() -> None:
    """Names with commas alone are neither Python nor TOML."""
    assert [place for place, text in _texts() if re.search(r"`\w+=\w+(,\w+)+`", text)] == []


@every("message", SPELLED)
def test_options_are_spelled_as_they_are_typed(message: str) -> None:
    assert (as_typed(message), as_keys(message)) == SPELLED[message]


def test_messages_and_advice_reach_the_command_line_with_its_options(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"customer": [1, 1, 2], "item": ["a", "b", "a"]}), "sales.parquet")
    run = outcome_of(capfd)
    assert run("top-itemset", "sales.parquet", "--database", "sqlite:///b").err == (
        "dpmine: error: database (--database) needs query (--query): give the statement that is to run there.\n"
    )
    hopeless = ["top-itemset", "sales.parquet", "--epsilon", "1e-6", "--unit", "customer", "--item", "item"]
    for form in ("text", "json"):
        told = run(*hopeless, "--format", form)
        assert "Try --catalogue FILE" in told.out or "--mechanism" in told.out or "--epsilon" in told.out
        assert "`" not in told.out + told.err
