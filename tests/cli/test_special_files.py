"""Pipes, devices and closed descriptors: rejected before a charge where nothing can be read, written where asked."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from dpmine_cli.options import Format
from dpmine_cli.output import Destination
from support.cases import every
from support.command_line import PROGRAM, Outcome, assert_one_error, ended, environment, outcome_of, python, spawn

import dpmine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("folder")

LEDGER = "sqlite:///budget.db"
TOP = ["top-itemset", "sales.parquet", "--epsilon", "1000", "--format", "json"]
CHARGED = [*TOP, "--ledger", LEDGER, "--dataset", "shop"]


@pytest.fixture
def ledger(folder: Path) -> dpmine.Ledger:
    found = dpmine.Ledger(f"sqlite:///{folder}/budget.db")
    found.grant("shop", epsilon=1000, delta=1e-3)
    return found


def charges(ledger: dpmine.Ledger) -> int:
    return sum(entry.kind == "charge" for entry in ledger.history("shop"))


# ------------------------------------------------------------------------------------------------- closed descriptors

SLOW = "from dpmine_cli import main, messages; messages._PATIENCE = 0.0; main.main()"
"""The command line, with a progress bar from the beginning."""


def closing(numbers: tuple[int, ...], *arguments: str) -> Outcome:
    """Of a command line that is started with some of its descriptors closed."""
    closed = " ".join(f"{number}>&-" for number in numbers)
    return ended(["bash", "-c", f'"$@" {closed}', "bash", sys.executable, "-c", SLOW], *arguments)


SLOW_TEST = pytest.mark.slow
CLOSED = [tuple(number for number, is_closed in enumerate(closed) if is_closed) for closed in product([0, 1], repeat=3)]


@pytest.mark.parametrize(
    "numbers", [*(pytest.param(some, marks=SLOW_TEST) for some in CLOSED[1:-1]), CLOSED[-1]], ids=str
)
def test_closed_descriptors_change_no_result(ledger: dpmine.Ledger, numbers: tuple[int, ...]) -> None:
    """Written to a file: whole, without a message in it, whatever is closed."""
    done = closing(numbers, *CHARGED, "-o", "out.json")
    assert (done.status, done.out) == (0, "")
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["sizes"] == [2, 2]
    assert charges(ledger) == 1


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(2,), (0, 2)], ids=str)
def test_messages_do_not_go_to_stdout_when_stderr_is_closed(numbers: tuple[int, ...]) -> None:
    done = closing(numbers, *TOP)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["sizes"] == [2, 2]


@pytest.mark.parametrize(
    ("numbers", "target"),
    [
        ((1,), []),
        pytest.param((0, 1), [], marks=SLOW_TEST),
        pytest.param((1, 2), [], marks=SLOW_TEST),
        pytest.param((1,), ["-o", "/dev/stdout"], marks=SLOW_TEST),
        ((1,), ["-o", "/dev/fd/1"]),
    ],
    ids=str,
)
def test_a_result_for_a_closed_stdout_is_not_charged(
    ledger: dpmine.Ledger, numbers: tuple[int, ...], target: list[str]
) -> None:
    done = closing(numbers, *CHARGED, *target)
    assert (done.status, done.out) == (2, "")
    assert 2 in numbers or len(done.lines) == 1
    assert charges(ledger) == 0


def test_a_stdout_that_is_only_read_is_not_charged(ledger: dpmine.Ledger) -> None:
    with Path(os.devnull).open("rb") as nothing:
        assert "standard output" in assert_one_error(ended(PROGRAM, *CHARGED, stdout=nothing))
    assert charges(ledger) == 0


# ------------------------------------------------------------------------------------------------------ what is read


@pytest.fixture
def special(folder: Path) -> None:
    """A pipe and a socket, under all names that files have here, and links to them."""
    os.mkfifo(folder / "pipe")
    Path("link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")


HISTOGRAM = ["--column", "price", "--lower", "0", "--upper", "9"]


@contextmanager
def deadline(seconds: int = 60) -> Iterator[None]:
    """What waits for longer fails."""

    def late(*_: object) -> None:
        pytest.fail(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("special")
@every("name", ["pipe", "link", "socket", "/dev/zero"])
@every(
    "arguments",
    [
        ["top-itemset", "{}"],
        ["top-itemset", "sales.parquet", "{}"],
        ["top-itemset", "sales.parquet", "--catalogue", "{}"],
        ["histogram", "{}", *HISTOGRAM],
        ["classify", "--model", "{}", "--predict", "prices.parquet"],
        ["report", "{}"],
        [*TOP, "--ledger", "sqlite:///{}", "--dataset", "shop"],
        ["ledger", "grant", "--ledger", "sqlite:///{}", "--dataset", "shop", "--epsilon", "1"],
    ],
)
def test_what_is_no_file_is_not_opened(run: outcome_of, name: str, arguments: list[str]) -> None:
    """Opening a pipe waits for a writer, and a device may have no end: what would open one fails the test."""
    if name == "/dev/zero" and "sqlite:///{}" in arguments:
        name = "//dev/zero".removeprefix("/")
    filled = [argument.format(name) for argument in arguments]
    with deadline():
        error = assert_one_error(run(*filled))
    assert name in error


# --------------------------------------------------------------------------------------------------- what is written


@pytest.mark.usefixtures("special")
def test_a_pipe_is_written_as_it_is(run: outcome_of) -> None:
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(*TOP, "-o", "pipe").status == 0
        assert json.loads(os.read(reader, 10**6))["sizes"] == [2, 2]
    finally:
        os.close(reader)
    assert not Path("pipe").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_stdout_by_name_is_stdout(name: str) -> None:
    """Through a pipe, and at the end of a file, where what stands before stays."""
    assert json.loads(spawn(*TOP, "-o", name).out)["sizes"] == [2, 2]
    with Path("log").open("a", encoding="utf-8") as log:
        log.write("before\n")
        log.flush()
        subprocess.run([*PROGRAM, *TOP, "-o", name, "-q"], stdout=log, check=True, timeout=120, env=environment())
    first, result = Path("log").read_text(encoding="utf-8").splitlines()
    assert first == "before"
    assert json.loads(result)["sizes"] == [2, 2]


def test_the_null_device_takes_results(run: outcome_of) -> None:
    assert run(*TOP, "-o", os.devnull).status == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.usefixtures("special")
@pytest.mark.parametrize("name", ["socket", ".", "/dev/fd/99"])
def test_what_cannot_be_written_is_not_charged(run: outcome_of, ledger: dpmine.Ledger, name: str) -> None:
    assert "Cannot write" in assert_one_error(run(*CHARGED, "-o", name))
    assert charges(ledger) == 0


def test_a_full_disk_for_a_plot_is_noticed_before_the_charge(
    run: outcome_of, ledger: dpmine.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr("dpmine.io.atomic._created", full)
    assert "Cannot write to 'x.svg'" in assert_one_error(
        run("histogram", "prices.parquet", *HISTOGRAM, "--ledger", LEDGER, "--dataset", "shop", "--plot", "x.svg")
    )
    assert charges(ledger) == 0


def test_looking_whether_a_file_can_be_written_leaves_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    Destination.of(Format.JSON, Path("new.json"))
    assert sorted(folder.iterdir()) == before


# -------------------------------------------------------------------------------------------------- the environment


@pytest.mark.parametrize("arguments", [["top-itemset", "a\udcff"], [*TOP, "-o", "a\udcff"], [*TOP, "--item", "\udcff"]])
def test_arguments_that_are_not_utf8(run: outcome_of, arguments: list[str]) -> None:
    assert "not valid UTF-8" in assert_one_error(run(*arguments))


def test_an_unusable_folder_for_temporary_files_is_noticed_before_the_charge(
    run: outcome_of, ledger: dpmine.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert "TMPDIR" in assert_one_error(run(*CHARGED))
    assert charges(ledger) == 0


def test_a_shortage_of_memory_has_a_message_of_its_own(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: Any, **__: Any) -> None:
        raise pa.ArrowMemoryError

    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", short)
    error = assert_one_error(run(*TOP))
    assert "not enough memory" in error
    assert "--memory" in error


LATE = """
import os, signal
from dpmine_cli import main

class Late:
    def __del__(self, kill=os.kill, own=os.getpid(), number=signal.{}):
        kill(own, number)

late = Late()
main.main()
"""
"""The command line, with a signal while the interpreter shuts down."""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_the_work_is_done_does_not_end_the_process(name: str) -> None:
    assert python(LATE.format(name), "--version") == Outcome(0, f"dpmine {dpmine.__version__}\n", "")
