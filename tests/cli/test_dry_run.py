"""Dry runs: checked as a run is, up to the charge; no value is read, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import assert_one_error

from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from support.command_line import outcome_of

ROWS = {"who": ["a", "b"] * 50, "what": ["x", "y"] * 50, "n": list(range(100)), "yes": [True, False] * 50}
RUNS = {
    "top-itemset": "--unit who --item what",
    "catalogue": "--unit who --item what -o out.txt",
    "histogram": "--unit who --column n --lower 0 --upper 100 --plot out.svg",
    "classify": "--unit who --label yes --features n --lower 0 --upper 100 --classes false,true --model out.json",
    "accuracy-first": "--target n --features yes --excess-risk 0.1 --regularization 0.1 --x-bound 1 --y-bound 99",
    "regress": "--target n --target-bounds 0,99 --features yes --lower 0 --upper 1 --model out.json",
    "hypothesis": "--label yes --class thresholds --features n --lower 0 --upper 100 --classes false,true",
}
LEDGER = ["--ledger", "sqlite:///budget.db", "--dataset", "shop"]


@pytest.fixture
def destroyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose footer alone can be read, and a ledger."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(ROWS), "rows.parquet", compression="none")
    content = Path("rows.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    Path("rows.parquet").write_bytes(b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:])
    Ledger("sqlite:///budget.db").grant("shop", epsilon=20, delta="1e-4")
    return tmp_path


@pytest.mark.parametrize("command", RUNS)
def test_only_names_and_types_are_read(command: str, destroyed: Path, run: outcome_of) -> None:
    before = {path.name: path.read_bytes() for path in destroyed.iterdir()}
    for ledger in ([], LEDGER):
        done = run(command, "rows.parquet", *RUNS[command].split(), *ledger, "--dry-run", "--quiet")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("Dry run of ")
        assert "It would charge ε" in done.out
        assert ("shop would have ε = " in done.out) is bool(ledger)
    assert {path.name: path.read_bytes() for path in destroyed.iterdir()} == before
    assert_one_error(run(command, "rows.parquet", *RUNS[command].split()))  # a real run reads, and fails


def test_of_exact_supports_the_layout_is_said_and_no_value_read(destroyed: Path, run: outcome_of) -> None:
    assert destroyed.exists()
    words = ["supports", "rows.parquet", "--unit", "who", "--item", "what", "--min-support", "1", "--not-private"]
    done = run(*words, "--dry-run")
    assert done.out.splitlines() == [
        "Dry run of supports: no value was read, nothing charged.",
        "Its result would not be private.",
    ]
    assert "unit = who" in done.err
    guarantee = json.loads(run(*words, "--dry-run", "--format", "json").out)["guarantee"]
    assert guarantee["private"] is False
    assert {guarantee[name] for name in ("epsilon", "epsilon_exact", "delta", "delta_exact", "rho")} == {None}
    assert_one_error(run(*words))
    assert_one_error(run(*words[:2], "--unit", "nobody", *words[4:], "--dry-run"))


def test_what_the_run_would_say_is_said(destroyed: Path, run: outcome_of) -> None:
    assert destroyed.exists()
    done = run("top-itemset", "rows.parquet", *RUNS["top-itemset"].split(), "--dry-run", *LEDGER, "--format", "json")
    said = json.loads(done.out)
    assert said["dry_run"] is True
    assert said["guarantee"]["epsilon"] == 1
    assert said["left_afterwards"] == "ε = 19, δ = 9.9e-05"
    assert "unit = who" in done.err
    assert "lead" in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "hint"),
    [
        (["--epsilon", "21", *LEDGER], 3, "short by"),
        (["--unit", "nobody", *LEDGER], 2, "no column 'nobody'"),
        (["--dataset", "shop"], 2, "belong together"),
        ([*LEDGER[:3], "other"], 2, "knows no data set"),
        (
            ["--ledger", "sqlite:///none.db", *LEDGER[2:]],
            2,
            "no ledger at sqlite:///none.db: restore it if it was lost, or make one with",
        ),
        (["--mechanism", "exact", "--not-private", *LEDGER], 2, "private runs only"),
    ],
)
def test_what_the_run_would_reject_is_rejected(
    arguments: list[str], status: int, hint: str, destroyed: Path, run: outcome_of
) -> None:
    assert destroyed.exists()
    done = run("top-itemset", "rows.parquet", "--item", "what", "--unit", "who", *arguments, "--dry-run")
    assert (done.status, done.out) == (status, "")
    assert hint in done.err.splitlines()[-1]
