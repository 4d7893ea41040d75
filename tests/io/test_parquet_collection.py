"""The public collection apache/parquet-testing: each file gives a result or errors of one line, and ends no process.

`DPMINE_PARQUET_TESTING` names the folder where it was unpacked; without it nothing is tested.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command_line import python

pytestmark = pytest.mark.slow
FOLDER = os.environ.get("DPMINE_PARQUET_TESTING")
FILES = sorted(path for path in Path(FOLDER or "/nowhere").rglob("*.parquet*") if path.suffix != ".json")
PROGRAM = """
import sys
import pyarrow.parquet as pq
from dpmine_cli.main import run
path = sys.argv[1]
try:
    names = pq.read_schema(path).names
except (OSError, ValueError):
    names = ["unknown"]
exact = ["--not-private", "--min-support", "1", "--size", "1"]
statuses = [run(["top-itemset", path]), run(["supports", path, "--catalogue", path, *exact])]
for name in names:
    statuses.append(run(["supports", path, "--unit", names[0], "--item", name, *exact]))
    statuses.append(run(["histogram", path, "--column", name, "--lower", "0", "--upper", "9", "--bins", "3"]))
print("statuses", *statuses)
"""


def test_the_collection_is_there() -> None:
    if FOLDER is None:
        pytest.skip("DPMINE_PARQUET_TESTING does not name the folder of apache/parquet-testing")
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_gives_a_result_or_one_line(path: Path, tmp_path: Path) -> None:
    done = python(PROGRAM, str(path), cwd=tmp_path, timeout=300)
    assert done.status == 0, done.err[-500:]
    statuses = done.out.splitlines()[-1].split()[1:]
    assert set(statuses) <= {"0", "2"}
    assert all(line.startswith("dpmine: ") for line in done.lines)
    assert done.err.count("dpmine: error: ") == statuses.count("2")
    assert path.suffix != ".encrypted" or "it is encrypted" in done.err
