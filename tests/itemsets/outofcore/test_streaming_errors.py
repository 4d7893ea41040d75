"""What can go wrong while data are streamed: one clear line, and nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets import ROOT
from support.oracles.ingest import CANARY, refused
from support.reading import IN_CHUNKS

from dpmine.errors import BadData, UnreadableFile
from dpmine.io.source import Columns
from dpmine.itemsets.outofcore.spill import SpillFile
from dpmine.itemsets.read import read_transactions

LARGE_CHUNKS = replace(IN_CHUNKS, chunk=10**6)
LONG = Columns(unit=("u",), item="i")


def table(rows: int = 20_000) -> pa.Table:
    generator = np.random.default_rng(3)
    items = [CANARY, *(f"item {n}" for n in range(40))]
    return pa.table({"u": generator.integers(0, 5000, rows), "i": [items[n] for n in generator.integers(0, 41, rows)]})


def read(data: Any) -> Any:
    return read_transactions(data, LONG, memory=LARGE_CHUNKS).transactions


def test_a_damaged_row_group(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    for content in (table(), table().sort_by("u")):
        pq.write_table(content, path, row_group_size=5000, compression="zstd")
        middle = pq.ParquetFile(path).metadata.row_group(2).column(1)
        raw = bytearray(path.read_bytes())
        start = middle.dictionary_page_offset or middle.data_page_offset
        raw[start : start + middle.total_compressed_size] = b"\xff" * middle.total_compressed_size
        path.write_bytes(raw)
        with refused(UnreadableFile, "data.parquet", "damaged"):
            read(path)


def test_files_with_other_columns_or_types(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table().drop_columns(["i"]), tmp_path / "b.parquet")
    with refused(BadData, "'i'", "missing"):
        read(tmp_path)
    lists = pa.table({"u": [1], "i": pa.array([[1]])})
    pq.write_table(lists, tmp_path / "b.parquet")
    with refused(BadData, "'i'", "types"):
        read(tmp_path)


def test_a_producer_that_fails_in_the_middle() -> None:
    def batches() -> Any:
        yield from table().to_batches()
        raise ValueError(CANARY)

    with refused(BadData, "producer"):
        read(pa.RecordBatchReader.from_batches(table().schema, batches()))


class FullDisk:
    """A file that takes some bytes and then no more."""

    def __init__(self, **_options: Any) -> None:
        self.room = 10_000

    def seek(self, _place: int) -> None:
        pass

    def write(self, view: memoryview) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, CANARY)
        written = min(self.room, len(view))
        self.room -= written
        return written

    def close(self) -> None:
        pass


def test_units_without_any_value() -> None:
    """A column of nulls leaves no lines, and nothing that Arrow could compare."""
    assert read(pa.table({"u": pa.nulls(100), "i": np.arange(100)})).total_units == 0


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", FullDisk)
    with refused(UnreadableFile, "full", "TMPDIR", "`memory`"):
        read(table())
    with refused(UnreadableFile, "full", "TMPDIR", "`memory`"):
        SpillFile().zeros((1000, 1000), np.uint64)


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with refused(UnreadableFile, "temporary files", "TMPDIR"):
        read(table())


def test_nothing_is_visible_in_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = read(table())
    assert next(found.parts()).unit_count
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_the_owners_only_and_closed_with_its_owner() -> None:
    file = SpillFile()
    handle = file._file.fileno()
    assert os.fstat(handle).st_mode & 0o077 == 0
    extent = file.append(np.arange(5, dtype=np.int32))
    assert file.read_array(extent, np.int32).tolist() == [0, 1, 2, 3, 4]
    assert file.read_array(file.append(np.zeros(0, np.int32)), np.int32).tolist() == []
    del file
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(handle)


def test_a_file_cut_short() -> None:
    file = SpillFile()
    extent = file.append(np.arange(5, dtype=np.int32))
    file._file.truncate(8)
    with refused(UnreadableFile, "read back"):
        file.read_array(extent, np.int32)


def test_files_may_change_once_they_were_read(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(table().sort_by("u"), path)
    found = read(path)
    path.unlink()
    assert found.miner().item_supports.tolist() == read(table()).miner().item_supports.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_stopped_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "tmp").mkdir()
    path, output = tmp_path / "data.parquet", tmp_path / "out.json"
    generator = np.random.default_rng(4)
    columns = {"u": generator.integers(0, 10**6, 3 * 10**6), "i": generator.integers(0, 1000, 3 * 10**6)}
    pq.write_table(pa.table(columns), path)
    command = [sys.executable, "-m", "dpmine_cli.main", "top-itemset", str(path), "--unit", "u", "--item", "i"]
    command += ["--memory", "80MB", "-o", str(output)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'cli'}"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        wait_until_it_spills(process.pid, tmp_path / "tmp")
        process.send_signal(how)
        _, message = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    assert how == signal.SIGKILL or message.splitlines()[-1].startswith("dpmine: error: interrupted")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not output.exists()


def wait_until_it_spills(process: int, temporary: Path) -> None:
    """Waits for a temporary file among the open files of a process."""
    folder = Path(f"/proc/{process}/fd")
    if not folder.exists():
        pytest.skip("needs /proc")
    for _ in range(2400):
        for link in folder.iterdir():
            with suppress(OSError):  # it was closed meanwhile
                if str(link.readlink()).startswith(str(temporary)):
                    return
        time.sleep(0.05)
    pytest.fail("no temporary file was opened")
