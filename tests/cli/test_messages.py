"""Messages, progress and interrupts: what a person at a terminal meets."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.messages import _PATIENCE, Messages
from support.command_line import CANARY, PROGRAM, ROOT, Outcome, environment, outcome_of, python
from support.terminal import at_terminal, rest_of, wait_until_caught

import dpmine
from dpmine.ledger.ledger import Ledger

pytestmark = pytest.mark.usefixtures("folder")

SLOW_READER = """
import os, sys, time
from dpmine.io.sources.parquet import File
from dpmine_cli import main, messages
messages._PATIENCE = {patience}
quick = File.batches
def slow(self, names, **options):
    os.write(1, b"reading\\n")
    time.sleep({pause})
    yield from quick(self, names, **options)
File.batches = slow
sys.argv = ["dpmine", "top-itemset", *["sales.parquet"] * 25, "--mechanism", "large-margin", *{options!r}]
main.main()
"""
MUSHROOM = str(ROOT / "datasets" / "mushroom.parquet")
LONG_RUN = [*PROGRAM, "supports", MUSHROOM, "--size", "9", "--min-support", "100", "--memory", "64GB"]
LONG_RUN += ["--not-private", "-o", "out.csv"]  # on small machines the list would be refused soon


def at_a_terminal(*options: str, pause: float) -> str:
    """What stderr shows on a terminal while 25 files are read with a pause before each."""
    code = SLOW_READER.format(pause=pause, options=list(options), patience=0.3 if pause else 3600)
    process, master = at_terminal([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    shown = rest_of(master)
    assert process.wait(timeout=60) == 0, shown
    return shown.decode()


def test_progress_appears_after_a_second_and_shows_per_cent_only() -> None:
    assert _PATIENCE == 1.0
    shown = at_a_terminal(pause=0.025)
    assert re.search(r"\d+%", shown)
    assert set(re.findall(r"(\d+)%", shown)) <= set(map(str, range(101)))
    visible = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r|dpmine: [^\n]*\n", "", shown)
    assert re.sub(r"\d+%|[━╸╺ \n]", "", visible) == ""
    assert CANARY not in shown


@pytest.mark.slow
def test_no_progress_for_quick_work() -> None:
    assert "%" not in at_a_terminal(pause=0.0)


@pytest.mark.slow
def test_no_progress_when_quiet() -> None:
    assert at_a_terminal("--quiet", pause=0.02) == ""


@pytest.mark.slow
def test_no_progress_without_a_terminal() -> None:
    code = SLOW_READER.format(pause=0.02, options=[], patience=0.3)
    done = python(code)
    assert (done.status, done.lines) == (
        0,
        ["dpmine: long layout: item = item, unit = customer (by the names of the columns)"],
    )


def test_bar_ends_before_a_notice(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("dpmine_cli.messages._PATIENCE", -1.0)
    with Messages(quiet=False) as messages:
        messages.progress(0.5)
        messages.notice("half way")
        messages.progress(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.endswith("dpmine: half way") for line in lines)


def test_names_of_files_and_columns_give_a_terminal_no_orders(run: outcome_of, folder: Path) -> None:
    odd = "\x1b[31m\x9b2J\u202e\nx"
    missing = run("top-itemset", f"{odd}.parquet", "--unit", "u", "--item", "i")
    pq.write_table(pa.table({odd: [1, 2], "i": ["a", "b"]}), folder / "odd.parquet")
    named = run("top-itemset", "odd.parquet", "--unit", odd, "--item", "i")
    for outcome in (missing, named):
        assert not {*"\x1b\x9b\u202e"} & {*outcome.err, *outcome.out}
        assert re.search(r"\\u001b\[31m\\u009b2J\\u202e(?: |\\n)x", outcome.err)


@pytest.mark.usefixtures("capsys")
def test_bar_ends_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("dpmine_cli.messages._PATIENCE", -1.0)
    messages = Messages(quiet=False)
    messages.progress(0.5)
    assert messages._bar is not None
    messages.__exit__(RuntimeError, RuntimeError(), None)
    assert messages._bar is None


@pytest.mark.parametrize(
    ("number", "delay"),
    [
        (signal.SIGTERM, 0.0),
        *(pytest.param(signal.SIGTERM, delay, marks=pytest.mark.slow) for delay in (0.3, 1.0)),
        *(pytest.param(signal.SIGINT, delay, marks=pytest.mark.slow) for delay in (0.0, 0.3, 1.0)),
    ],
)
def test_interrupted_run_leaves_nothing(folder: Path, number: signal.Signals, delay: float) -> None:
    """The run lists millions of itemsets: it is interrupted once it has read its data."""
    Path("out.csv").write_text("old", encoding="utf-8")
    before = set(folder.rglob("*"))
    process = subprocess.Popen(LONG_RUN, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stderr is not None
    assert "layout" in process.stderr.readline()
    time.sleep(delay)
    process.send_signal(number)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 130
    assert rest == "dpmine: error: interrupted; nothing was written.\n"
    assert Path("out.csv").read_text(encoding="utf-8") == "old"
    assert set(folder.rglob("*")) == before


SLOW_WRITER = """
import os, sys, time
from dpmine_cli import main
def stuck(handle):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
os.fsync = stuck
sys.argv = ["dpmine", "supports", "sales.parquet", "--min-support", "1", "--not-private", "-o", "out.csv", "--quiet"]
main.main()
"""


def test_interrupt_while_writing_leaves_nothing(folder: Path) -> None:
    Path("out.csv").write_text("old", encoding="utf-8")
    before = set(folder.rglob("*"))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER], stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stderr is not None
    while "writing" not in (line := process.stderr.readline()):
        assert line, "the run ended before it wrote"
    assert len(set(folder.rglob("*"))) == len(before) + 1  # what is written so far
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == "dpmine: error: interrupted; nothing was written.\n"
    assert process.returncode == 130
    assert Path("out.csv").read_text(encoding="utf-8") == "old"
    assert set(folder.rglob("*")) == before


def test_interrupt_wipes_the_bar() -> None:
    code = SLOW_READER.format(pause=0.2, options=[], patience=0.1)
    process, master = at_terminal([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    shown = b""
    while b"%" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    shown += rest_of(master)
    assert re.search(r"\r\x1b\[2K\x1b\[\?25hdpmine: error: interrupted; nothing was written.\r\n$", shown.decode())


@pytest.mark.slow
def test_ignored_interrupts_stay_ignored() -> None:
    """As in a script's background jobs: whoever starts the run decides."""
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code = ignoring + SLOW_READER.format(pause=0.02, options=[], patience=0.3)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    assert "exact" not in process.communicate(timeout=60)[0]
    assert process.returncode == 0


def test_interrupt_inside_the_library(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpmine.itemsets.top.top_itemsets", interrupted)
    outcome = run("top-itemset", "sales.parquet", "-o", "out.json")
    assert (outcome.status, outcome.out) == (130, "")
    assert outcome.err == "dpmine: error: interrupted; nothing was written.\n"
    assert not Path("out.json").exists()


STAYS = (
    "dpmine: error: interrupted; nothing was written. Charges that are in the ledger stay (dpmine ledger history).\n"
)
CHARGED = ["--ledger", "sqlite:///budget.db", "--dataset", "shop"]


def test_interrupt_inside_the_library_after_a_charge(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run("ledger", "grant", *CHARGED, "--epsilon", "1", "--delta", "1e-5")
    monkeypatch.setattr("dpmine.io.sources.parquet.File.batches", interrupted)
    assert run("top-itemset", "sales.parquet", *CHARGED).lines[-1:] == [STAYS.rstrip()]
    free = run("top-itemset", "sales.parquet")  # the next command line in this process begins anew
    assert free.lines[-1:] == ["dpmine: error: interrupted; nothing was written."]


@pytest.mark.parametrize("error", [dpmine.BadData("No."), MemoryError(), RuntimeError()])
def test_every_error_after_a_charge_says_that_it_stays(
    run: outcome_of, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    run("ledger", "grant", *CHARGED, "--epsilon", "1", "--delta", "1e-5")
    monkeypatch.setattr("dpmine.io.sources.parquet.File.batches", failing)
    assert run("top-itemset", "sales.parquet", *CHARGED).err.endswith(
        ". Charges that are in the ledger stay (dpmine ledger history).\n"
    )
    assert "charged" not in run("top-itemset", "sales.parquet").err


def test_interrupt_after_a_charge_says_that_it_stays(run: outcome_of) -> None:
    run("ledger", "grant", *CHARGED, "--epsilon", "1", "--delta", "1e-5")
    code = SLOW_READER.format(pause=5, options=[*CHARGED, "--quiet"], patience=3600)
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=environment())
    ledger = Ledger("sqlite:///budget.db")
    while not ledger.budget("shop").spent.epsilon:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == STAYS
    assert process.returncode == 130
    assert ledger.budget("shop").spent.epsilon == 1


@pytest.mark.slow
def test_a_long_search_shows_progress_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    """It takes minutes in one part: the exponential mechanisms may choose any of 75 billion public itemsets."""
    items = list(map(str, range(60)))
    baskets = [{"unit": unit, "item": [items[(7 * unit + place) % 60] for place in range(50)]} for unit in range(30)]
    pq.write_table(pa.Table.from_pylist(baskets), "long.parquet")
    Path("items.txt").write_text("\n".join(items), encoding="utf-8")
    Ledger("sqlite:///budget.db").grant("shop", epsilon=1, delta="1e-5")
    before = set(tmp_path.rglob("*"))
    command = [*PROGRAM, "top-itemset", "long.parquet", "--unit", "unit", "--item", "item", "--size", "10", *CHARGED]
    process, master = at_terminal([*command, "--catalogue", "items.txt", "-o", "out.csv"])
    shown = b""
    while b"%" not in shown:
        shown += os.read(master, 4096)
    assert b"takes seconds in most data, and hours where long baskets" in shown
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert (shown + rest_of(master)).endswith(STAYS.replace("\n", "\r\n").encode())
    assert Ledger("sqlite:///budget.db").budget("shop").spent.epsilon == 1
    assert set(tmp_path.rglob("*")) == before


AT_START = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Impatient(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Impatient())
sys.argv = ["dpmine", "plan"]
from dpmine_cli.main import main
assert "typer" not in sys.modules
main()
"""


def test_interrupt_while_the_program_is_loaded() -> None:
    assert python(AT_START) == Outcome(130, "", "dpmine: error: interrupted; nothing was written.\n")


@pytest.mark.parametrize(
    "number", [None, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGTERM, signal.SIGHUP))]
)
def test_nobody_listens_to_stderr(number: signal.Signals | None) -> None:
    """Messages are lost then, and neither the result nor the status."""
    if number and signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("who runs the tests wants this signal ignored, and so does the program")
    command = LONG_RUN if number else [*PROGRAM, "supports", "sales.parquet", "--min-support", "1", *LONG_RUN[-3:]]
    reader, writer = os.pipe()
    process = subprocess.Popen(command, stderr=writer, env=environment())
    os.close(writer)
    os.close(reader)
    if number:
        wait_until_caught(process.pid, number)
        time.sleep(1)
        process.send_signal(number)
    assert process.wait(timeout=60) == (130 if number else 0)
    assert Path("out.csv").exists() is (number is None)
