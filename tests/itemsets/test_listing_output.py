"""Exact supports are written block by block: the same bytes as at once, within the memory limit."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import assert_one_error, environment, outcome_of

from dpmine.itemsets.release.results import listed_items
from dpmine.markup import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

BASKETS = [["bread", "mi, lk", 'te"a'], ["bread", "mi, lk", "new\nline", "é \u2028"], ["bread", " x", "-> y"]] * 2
COUNT = ["supports", "baskets.parquet", "--not-private", "--min-support", "1", "--size", "1-3", "-q", "-o"]
FORMS = ["txt", "csv", "json", "parquet"]
PEAK = """
import sys
from dpmine_cli.main import run

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

command = ["supports", "one.parquet", "--not-private", "--min-support", "1", "-q", "--memory", "230MB"]
command += ["-o", sys.argv[1]]
assert run([*command, "--size", "1-2"]) == 0
base = peak()
assert run([*command, "--size", "1-20"]) == 0
print(peak() - base)
"""


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> outcome_of:
    return outcome_of(capfd)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"items": BASKETS}), "baskets.parquet")
    return tmp_path


@pytest.fixture
def rows(run: outcome_of, written: Path) -> list[dict[str, Any]]:
    """What is written, as Parquet says it at once."""
    assert run(*COUNT, "whole.parquet").status == 0
    assert pq.ParquetFile("whole.parquet").num_row_groups == 1
    return list(pq.read_table(written / "whole.parquet").to_pylist())


def as_csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["items", "support"])
    writer.writerows([json_text(row["items"]), row["support"]] for row in rows)
    return buffer.getvalue()


@every("block", [1, 700])
def test_blocks_are_what_the_whole_would_be(
    run: outcome_of, rows: list[dict[str, Any]], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{row['support']}\t{listed_items(row['items'])}\n" for row in rows]
    monkeypatch.setattr("dpmine.itemsets.exact_supports._BLOCK", block)
    for form in FORMS:
        assert run(*COUNT, f"out.{form}").status == 0
    said = {form: Path(f"out.{form}").read_bytes().decode() for form in FORMS[:3]}
    assert said["json"] == json_text({"private": False, "itemsets": rows}) + "\n"
    assert said["txt"] == "".join(lines) + "(exact supports; NOT private)\n"
    assert said["csv"] == as_csv(rows)
    table = pq.read_table("out.parquet")
    assert pq.ParquetFile("out.parquet").num_row_groups > 1
    assert table.equals(pq.read_table("whole.parquet"), check_metadata=True)


@every("form", FORMS)
def test_a_failure_between_blocks_leaves_what_was_there(
    run: outcome_of, written: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"items": pa.array([["a"]], pa.large_list(pa.large_string())), "support": [1]})
        raise OSError

    monkeypatch.setattr("dpmine.itemsets.exact_supports.ListedSupports.batches", broken)
    target = written / f"out.{form}"
    target.write_text("old", encoding="utf-8")
    assert_one_error(run(*COUNT, target.name))
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in written.iterdir() if path.name.startswith(".")] == []


@pytest.mark.usefixtures("written")
def test_lists_that_do_not_fit_are_rejected_before_they_are_written(run: outcome_of) -> None:
    pq.write_table(pa.table({"items": [[f"item {number}" for number in range(30)]]}), "one.parquet")
    outcome = run(
        "supports", "one.parquet", "--not-private", "--min-support", "1", "--size", "1-30", "--memory", "100MB"
    )
    assert_one_error(outcome)
    assert "--min-support" in outcome.err
    assert outcome.out == ""


@pytest.mark.slow
@every("form", FORMS)
def test_peak_of_writing_stays_below_the_limit(written: Path, form: str) -> None:
    """A million itemsets, which just fit."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    pq.write_table(pa.table({"items": [[f"item {number}" for number in range(20)]]}), "one.parquet")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, f"out.{form}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=environment(),
        cwd=written,
    )
    assert int(done.stdout) <= 230 * 10**6
