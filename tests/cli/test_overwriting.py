"""No output is written over anything that is read or kept, whatever name it goes by; it is seen before a charge."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import assert_one_error, outcome_of

import dpmine
from dpmine.io.atomic import require_apart

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("folder", "people")

LEDGER = "sqlite:///budget.db"
CHARGED = ["--ledger", LEDGER, "--dataset", "shop"]
TOP = ["top-itemset", "sales.parquet", "--catalogue", "items.txt", *CHARGED]
HISTOGRAM = ["histogram", "people.parquet", "--column", "x", "--lower", "0", "--upper", "1", *CHARGED]
TRAINING = ["people.parquet", "--label", "y", "--features", "x", *CHARGED]
CLASSIFY = ["classify", *TRAINING, "--norm-bound", "1"]
RULE = ["hypothesis", *TRAINING, "--lower", "0", "--upper", "1"]
REGRESS = ["regress", "people.parquet", "--target", "x", "--target-bounds", "0,1", "--features", "y", *CHARGED]
REGRESS += ["--lower", "0", "--upper", "1"]
RIDGE = ["accuracy-first", "people.parquet", "--target", "x", "--features", "x", "--excess-risk", "1", *CHARGED]
RIDGE += ["--regularization", "1", "--x-bound", "1", "--y-bound", "1"]
QUERY = "SELECT * FROM 'sales.parquet'"
QUERIES = ["top-itemset", *CHARGED, "--query", QUERY]
SUPPORTS = ["supports", "sales.parquet", "--not-private", "--min-support", "1", "--catalogue", "items.txt"]

COMMANDS: dict[str, tuple[list[str], str, tuple[str, ...]]] = {
    "top-itemset": (TOP, "-o", ("sales.parquet", "items.txt")),
    "supports": (SUPPORTS, "-o", ("sales.parquet", "items.txt")),
    "query": (QUERIES, "-o", ("sales.parquet",)),
    "query of DuckDB": ([*QUERIES, "--database", "duckdb:///:memory:"], "-o", ("sales.parquet",)),
    "histogram": (HISTOGRAM, "-o", ("people.parquet",)),
    "histogram's plot": (HISTOGRAM, "--plot", ("people.parquet",)),
    "classify": ([*CLASSIFY, "--model", "new.json"], "-o", ("people.parquet",)),
    "classify's model": (CLASSIFY, "--model", ("people.parquet",)),
    "classify by a pattern": (["classify", "people*", *CLASSIFY[2:]], "--model", ("people.parquet",)),
    "classify of a folder": (["classify", ".", *CLASSIFY[2:], "--model", "new.json"], "-o", ("people.parquet",)),
    "regress": ([*REGRESS, "--model", "new.json"], "-o", ("people.parquet",)),
    "hypothesis": (RULE, "-o", ("people.parquet",)),
    "accuracy-first": (RIDGE, "-o", ("people.parquet",)),
    "report": (["report", "jobs.toml"], "-o", ("jobs.toml", "sales.parquet", "items.txt")),
    "report of a query": (["report", "queries.toml"], "-o", ("sales.parquet",)),
}
ALIASES: dict[str, Callable[[str, str], object]] = {
    "link": lambda name, alias: Path(alias).symlink_to(name),
    "hard link": os.link,
}


@pytest.fixture
def people() -> dpmine.Ledger:
    pq.write_table(pa.table({"x": [0.5] * 40, "y": [0, 1] * 20}), "people.parquet")
    budget = (
        f'[budget]\nledger = "{LEDGER}"\ndataset = "shop"\nepsilon = 9\ndelta = 1e-3\n[[job]]\nkind = "top-itemset"\n'
    )
    Path("jobs.toml").write_text(f'{budget}input = "sales.parquet"\ncatalogue = "items.txt"\n', encoding="utf-8")
    Path("queries.toml").write_text(f'{budget}query = "{QUERY}"\n', encoding="utf-8")
    found = dpmine.Ledger(LEDGER)
    found.grant("shop", epsilon=9, delta=1e-3)
    return found


@every("command", COMMANDS)
@every("alias", ALIASES)
def test_outputs_are_not_written_over_inputs(run: outcome_of, people: dpmine.Ledger, command: str, alias: str) -> None:
    """By another name of the same file, whose suffix is one that the command writes."""
    arguments, option, inputs = COMMANDS[command]
    for name in inputs:
        before = Path(name).read_bytes()
        other = Path(f"{Path(name).stem}-alias{'.svg' if option == '--plot' else '.json'}")
        ALIASES[alias](name, str(other))
        assert "a file of its own" in assert_one_error(run(*arguments, option, str(other)))
        assert Path(name).read_bytes() == before
        other.unlink()
    assert {entry.kind for entry in people.history("shop")} == {"grant"}


@every("part", ["", "-wal", "-shm", "-journal"])
def test_outputs_are_not_written_over_a_ledger_that_is_yet_to_be_made(run: outcome_of, part: str) -> None:
    Path("folder").mkdir(exist_ok=True)
    grant = ["ledger", "grant", "--ledger", "sqlite:///new.db", "--dataset", "shop", "--epsilon", "1"]
    error = assert_one_error(run(*grant, "--format", "json", "-o", f"folder/../new.db{part}"))
    assert f"--output names the ledger{part}:" in error
    assert not Path("new.db").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--mechanism", "exponential", "--plot", "x.svg", "--format", "text", "-o", "x.svg"],
        ["plan", "--plot", "x.svg", "--format", "text", "-o", "./x.svg"],
        [*CLASSIFY, "--model", "x.json", "-o", "x.json"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_two_outputs_are_two_files(run: outcome_of, arguments: list[str]) -> None:
    assert "name the same file" in assert_one_error(run(*arguments))


def test_a_page_is_not_written_over_the_input_of_a_stored_job(run: outcome_of) -> None:
    assert run("report", "jobs.toml", "-o", "report.html").status == 0
    assert "a file of its own" in assert_one_error(run("report", "jobs.toml", "-o", "sales.parquet"))


def test_files_without_numbers_are_told_apart_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems that Windows mounts give each file the number 0."""
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path in paths:
        path.touch()
    status = os.stat
    monkeypatch.setattr(os, "stat", lambda *given, **options: _Unnumbered(status(*given, **options)))
    require_apart(dict(zip("ab", paths, strict=True)), [])
    with pytest.raises(dpmine.BadParameter, match="a and b name the same file"):
        require_apart({"a": paths[0], "b": tmp_path / "." / "a.json"}, [])


class _Unnumbered:
    """The status of a file, without its number."""

    st_ino = 0

    def __init__(self, status: os.stat_result) -> None:
        self._status = status

    def __getattr__(self, name: str) -> object:
        return getattr(self._status, name)
