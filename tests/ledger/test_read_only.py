"""A ledger that cannot be written charges nothing, and nothing is run; but it can be shown."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger.guarantees import guarantee

from dpmine.errors import BadLedger
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.read_only import opened_to_read
from dpmine.ledger.tables import HISTORY

READ_ONLY = """
import os, sys
import dpmine
from dpmine.privacy import Guarantee, Neighbors
from dpmine_cli.main import run
from fractions import Fraction
url, good, folder, *job = sys.argv[1:]
os.chdir(folder)
command = [*job, "--dataset", "shop", "-o", "out.json", "--ledger"]
print(run([*command, good]), os.path.exists("out.json"))  # also loads all that nobody could not read
os.remove("out.json")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    guarantee = Guarantee(Fraction(1, 10), Fraction(0), Neighbors.REPLACE_ONE, "who")
    dpmine.Ledger(url).charge("shop", guarantee, job="")
except dpmine.DpmineError as error:
    print(type(error).__name__, error)
print(run([*command, url]), os.path.exists("out.json"))
shown = "show", "history", "verify", "export"
print(*[run(["ledger", name, "--ledger", url, "-o", name + ".json"]) for name in shown])
print(*[os.path.getsize(name + ".json") > 10 for name in shown])
"""


@pytest.mark.parametrize("what", [pytest.param("file", marks=pytest.mark.slow), "folder"])
def test_read_only(file: Path, what: str) -> None:
    """BadLedger; on the command line status 2 and no output. Root, who may write anywhere, becomes nobody."""
    url = f"sqlite:///{file}"
    Ledger(url).grant("shop", epsilon=100, delta="1/2")
    Ledger(url).charge("shop", guarantee("1/100", unit="who"), job="")
    Ledger(url).charge("shop", guarantee("1/100", unit="who"), job="")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    public = Path(tempfile.mkdtemp())  # the folders of pytest are their owner's alone
    try:
        moved, work = public / "ledger" / "budget.db", public / "work"
        for folder, rights in ((public, 0o755), (moved.parent, 0o755), (work, 0o777)):
            folder.mkdir(exist_ok=True)
            folder.chmod(rights)
        shutil.copy(file, moved)
        before = moved.read_bytes()
        moved.chmod(0o444 if what == "file" else 0o666)
        moved.parent.chmod(0o777 if what == "file" else 0o555)
        pq.write_table(pa.table({"who": [1, 2], "what": ["a", "b"]}), work / "sales.parquet")
        job = ("top-itemset", "sales.parquet", "--size", "1", "--unit", "who", "--item", "what")
        command = [sys.executable, "-W", "error", "-c", READ_ONLY, f"sqlite:///{moved}", url, str(work), *job]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        told = done.stdout.splitlines()
        shown = ["0 0 0 0", "True True True True"]
        assert (told[0], told[2:]) == ("0 True", ["2 False", *shown]), done.stderr
        assert told[1].startswith("BadLedger The ledger at ")
        assert "it is read-only" in told[1] or "cannot be opened" in told[1]
        last = done.stderr.splitlines()[-1]
        assert last == f"dpmine: error: {told[1].removeprefix('BadLedger ')}"
        assert moved.read_bytes() == before
        assert list(moved.parent.iterdir()) == [moved]
    finally:
        moved.parent.chmod(0o755)
        shutil.rmtree(public)


def test_a_link_to_a_ledger_is_shown_with_the_log_beside_the_ledger(file: Path, tmp_path: Path) -> None:
    """Opened to read, as by one who may not write: what is not yet moved out of the log counts."""
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=100)
    with closing(sqlite3.connect(file)) as writer:  # keeps the log
        writer.execute("BEGIN").close()
        Ledger(f"sqlite:///{file}").charge("shop", guarantee("1/100", unit="who"), job="")
        link = tmp_path / "link.db"
        link.symlink_to(file)
        with closing(opened_to_read(link)) as by_link, closing(opened_to_read(file)) as by_name:
            found = [list(each.execute(f"SELECT * FROM {HISTORY.name}")) for each in (by_link, by_name)]
    assert found[0] == found[1]
    assert len(found[0]) == 2


def entries(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute(f"SELECT count(*) FROM {HISTORY.name}").fetchone()
    return int(number)


def test_one_state_is_read_whatever_is_charged_meanwhile(file: Path) -> None:
    """And the writer, which ends before the reader, leaves no log behind: the file alone may be copied."""
    url = f"sqlite:///{file}"
    Ledger(url).grant("shop", epsilon=100)
    with closing(opened_to_read(file)) as reader:
        for _ in range(3):
            Ledger(url).charge("shop", guarantee("1/100", unit="who"), job="x" * 900)
        assert entries(reader) == 1
        assert list(file.parent.glob(f"{file.name}*")) == [file]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute(f"DELETE FROM {HISTORY.name}")
    with closing(opened_to_read(file)) as reader:
        assert entries(reader) == 4


def test_a_file_that_changes_while_it_is_copied_is_copied_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, read = f"sqlite:///{file}", Path.read_bytes
    Ledger(url).grant("shop", epsilon=100)
    copies = list[bytes]()

    def charged_after_the_first(path: Path) -> bytes:
        copies.append(read(path))
        if len(copies) == 1:
            Ledger(url).charge("shop", guarantee("1/100", unit="who"), job="x" * 900)
        return copies[-1]

    monkeypatch.setattr(Path, "read_bytes", charged_after_the_first)
    with closing(opened_to_read(file)) as reader:
        assert entries(reader) == 2
    assert len(copies) == 4


def test_a_log_that_cannot_be_read_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that a crash left in a folder that this user cannot write: without it, the state is an old one."""
    Ledger(f"sqlite:///{file}").grant("shop", epsilon=100)
    Path(f"{file}-wal").write_bytes(b"x")

    monkeypatch.setattr("dpmine.ledger.read_only._LOG_STAYS", 0.01)
    monkeypatch.setattr("dpmine.ledger.read_only._beside_log", lambda _path: None)
    with pytest.raises(BadLedger, match="has changes in a log that cannot be read here: copy the file and its -wal"):
        opened_to_read(file)
