"""Files to run commands on. Every value in them contains a canary, which no message may show."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import CANARY, outcome_of


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> outcome_of:
    """Run a command line in this process."""
    return outcome_of(capfd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test, with one file of each kind."""
    monkeypatch.chdir(tmp_path)
    write_good_files()
    write_bad_files()
    return tmp_path


def write_good_files() -> None:
    bread, butter, tea = (f"{CANARY} {name}" for name in ("bread", "butter", "tea"))
    items = [bread, butter] * 30 + [butter, tea] * 4
    units = [f"{CANARY}-{row // 2}" for row in range(len(items))]
    pq.write_table(pa.table({"customer": units, "item": items}), "sales.parquet")
    pq.write_table(pa.table({"customer": [row // 2 for row in range(60)], "item": [10, 9] * 30}), "numbers.parquet")
    Path("items.txt").write_text(f"{bread}\n{butter}\n{tea}\n{CANARY} unsold\n", encoding="utf-8")


def write_bad_files() -> None:
    whole = Path("sales.parquet").read_bytes()
    Path("truncated.parquet").write_bytes(whole[: len(whole) // 2])
    Path("words.parquet").write_text(f"{CANARY},bread\n", encoding="utf-8")
    Path("empty folder").mkdir()
    unclear = {"shop": [1, 2], "till": [CANARY, CANARY], "product": [CANARY, "b"]}
    pq.write_table(pa.table(unclear), "unclear.parquet")
    pq.write_table(pa.table({"who": [1, 2], "price": [0.5, 1.5]}), "prices.parquet")
    pq.write_table(pa.table({"who": [91_827, 2], "bread": [0, 73_646], "tea": [1, 1]}), "counts.parquet")
    Path("repeated.txt").write_text(f"{CANARY}\n{CANARY}\n", encoding="utf-8")
    Path("nothing.txt").write_text("", encoding="utf-8")
