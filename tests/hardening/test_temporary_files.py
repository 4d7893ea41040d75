"""Temporary files: the owner's only, without data in their names, and gone whatever ends the run."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli import output
from dpmine_cli.options import Format
from support.command_line import CANARY, environment, outcome_of

from dpmine.errors import UnreadableFile
from dpmine.itemsets.outofcore.spill import SpillFile

if TYPE_CHECKING:
    from collections.abc import Iterator

UMASKS = [0o000, 0o022, 0o077]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data whose every value holds a canary."""
    monkeypatch.chdir(tmp_path)
    items = [f"{CANARY} a", f"{CANARY} b"] * 100
    pq.write_table(pa.table({"user": [f"{CANARY}{row // 2}" for row in range(200)], "i": items}), "data.parquet")
    return tmp_path


@pytest.fixture
def umask() -> Iterator[Any]:
    """Sets the process's mask for the test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


class Document:
    """What is written."""

    def to_json(self) -> str:
        return CANARY


def mode(path: Path | int) -> int:
    return stat.S_IMODE((os.fstat(path) if isinstance(path, int) else path.stat()).st_mode)


@pytest.mark.parametrize("mask", UMASKS)
def test_a_result_is_private_until_it_is_whole(mask: int, folder: Path, umask: Any, monkeypatch: Any) -> None:
    """0600 under every umask while it is written; what the umask allows afterwards; no data in its name."""
    umask(mask)
    seen: list[tuple[str, int]] = []
    quick = os.fsync

    def look(handle: int) -> None:
        seen.extend((path.name, mode(path)) for path in folder.glob(".dpmine-*"))
        quick(handle)

    monkeypatch.setattr(os, "fsync", look)
    output.Destination(Format.JSON, folder / "out.json").write_document(Document())
    [(name, bits)] = seen
    assert bits == 0o600
    assert CANARY not in name
    assert name.startswith(f".dpmine-{os.getpid()}-")
    assert mode(folder / "out.json") == 0o666 & ~mask
    assert sorted(path.name for path in folder.iterdir()) == ["data.parquet", "out.json"]


@pytest.mark.parametrize("step", ["write", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(CANARY), KeyboardInterrupt(), RuntimeError(CANARY), MemoryError()])
def test_a_write_that_fails_anywhere_leaves_nothing(
    step: str, error: BaseException, folder: Path, monkeypatch: Any
) -> None:
    """The old result stays, the temporary file goes, and an OSError is one line without its own text."""
    (folder / "out.json").write_text("old", encoding="utf-8")

    def fail(*_: object, **__: object) -> None:
        raise error

    if step == "write":
        monkeypatch.setattr(os, "fdopen", fail)
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, step, fail)
    with pytest.raises(UnreadableFile if isinstance(error, OSError) else type(error)) as caught:
        output.Destination(Format.JSON, folder / "out.json").write_document(Document())
    assert not isinstance(error, OSError) or CANARY not in str(caught.value)
    assert (folder / "out.json").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["data.parquet", "out.json"]


def test_a_planted_link_is_not_followed(folder: Path, monkeypatch: Any) -> None:
    """Someone guesses the temporary name and plants a link there: it is refused, and its target keeps its content."""
    monkeypatch.setattr(time, "monotonic_ns", lambda: 7)
    (folder / "victim").write_text("precious", encoding="utf-8")
    (folder / f".dpmine-{os.getpid()}-7.tmp").symlink_to(folder / "victim")
    with pytest.raises(UnreadableFile):
        output.Destination(Format.JSON, folder / "out.json").write_document(Document())
    assert (folder / "victim").read_text(encoding="utf-8") == "precious"
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize("mask", UMASKS)
def test_spilled_data_are_the_owners_only(mask: int, tmp_path: Path, umask: Any, monkeypatch: Any) -> None:
    """Under every umask; and without a name, so that nobody can open them."""
    umask(mask)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    file = SpillFile()
    file.append(CANARY.encode())
    assert mode(file._file.fileno()) == 0o600
    assert os.fstat(file._file.fileno()).st_nlink == 0
    assert list(tmp_path.iterdir()) == []
    file.close()


def test_spilled_data_go_with_an_exception(tmp_path: Path, monkeypatch: Any) -> None:
    """Their space comes back although the error is still being handled elsewhere."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    handles: list[int] = []

    def work() -> None:
        file = SpillFile()
        handles.append(file._file.fileno())
        raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(handles[0])


STUCK_WRITER = """
import os, sys, time
from dpmine_cli import main
def stuck(handle):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
os.fsync = stuck
sys.argv = ["dpmine", *{arguments!r}, "--quiet"]
main.main()
"""
TOP = ["top-itemset", "data.parquet", "--epsilon", "50", "-o", "out.json"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_what_stays_when_a_run_is_ended_while_it_writes(number: signal.Signals, folder: Path) -> None:
    """Nothing; after kill -9 one file with the private result, readable by its owner only. The old result stays."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("who runs the tests wants this signal ignored, and so does the program")
    (folder / "out.json").write_text("old", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK_WRITER.format(arguments=TOP)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert process.stderr is not None
        while "writing" not in (line := process.stderr.readline()):
            assert line, "the run ended before it wrote"
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    left = [path for path in folder.iterdir() if path.name not in {"data.parquet", "out.json"}]
    assert (folder / "out.json").read_text(encoding="utf-8") == "old"
    if number is signal.SIGKILL:
        [temporary] = left
        assert temporary.name.startswith(f".dpmine-{process.pid}-")
        assert CANARY not in temporary.name
        assert mode(temporary) == 0o600
    else:
        assert left == []
        assert rest == "dpmine: error: interrupted; nothing was written.\n"


@pytest.mark.parametrize("command", ["top-itemset", "histogram"])
def test_commands_name_no_file_after_data(command: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names of files come from the command line alone."""
    pq.write_table(pa.table({"x": [0.5] * 200}), "numbers.parquet")
    histogram = "numbers.parquet --column x --lower 0 --upper 1 --bins 4 --plot p.svg"
    arguments = {"top-itemset": ["data.parquet"], "histogram": histogram.split()}[command]
    done = outcome_of(capfd)(command, *arguments, "-o", "out.json", "--quiet")
    assert done.status == 0
    known = {"data.parquet", "numbers.parquet", "out.json", "p.svg"}
    assert {path.name for path in folder.rglob("*")} <= known
