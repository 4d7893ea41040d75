"""Ctrl-C while a cluster works: the process ends at once, its jobs with it, and a charge stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from support.command_line import spawn
from support.datasets import DATASETS
from support.oracles.spark import require_spark
from support.terminal import at_terminal, rest_of

import dpmine

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SLOW = """
import os, sys, threading, time
from dataclasses import replace
from dpmine.itemsets.spark import blocks, loading, progress
from dpmine_cli import main
from pyspark import SparkContext
_, way, *sys.argv = sys.argv

def sleep(batches, **options):
    import time
    time.sleep(90)
    return iter(())

def slow_rows(*given, before=loading._known_alone):
    rows = before(*given)
    return replace(rows, frame=rows.frame.where("reflect('java.lang.Thread', 'sleep', 90000L) = ''"))

if way == "native":
    blocks.block_pairs = sleep
else:
    loading.count_themselves = lambda session: False
    loading._known_alone = slow_rows

def say_when_it_sleeps():
    active, since = (), time.monotonic()
    while not active or time.monotonic() < since + 3:
        time.sleep(0.2)
        found = tuple(SparkContext._active_spark_context.statusTracker().getActiveJobsIds())
        if found != active:
            active, since = found, time.monotonic()
    os.write(1, b"asleep\\n")

def share(*given, before=progress._share):
    if threads:
        threads.pop().start()
    return before(*given)

threads = [threading.Thread(target=say_when_it_sleeps, daemon=True)]
progress._share = share
main.main()
"""


@pytest.mark.parametrize("way", ["native", "sql"])
def test_an_interrupt_at_a_terminal(tmp_path: Path, way: str) -> None:
    require_spark()
    ledger = f"sqlite:///{tmp_path}/budget.db"
    dpmine.Ledger(ledger).grant("shop", epsilon=3, delta=1e-3)
    options = [str(DATASETS / "mushroom.parquet"), "--unit", "transaction_id", "--item", "item", "--engine", "spark"]
    options += ["--mechanism", "large-margin", "--epsilon", "1", "--delta", "1e-6", "--ledger", ledger]
    status, shown, session = interrupted(way, ["dpmine", "top-itemset", *options, "--dataset", "shop"])
    assert status == 130, shown
    assert "%" in shown
    assert "dpmine: error: interrupted; nothing was written. Charges that are in the ledger stay" in shown
    assert "Traceback" not in shown
    spent = json.loads(spawn("ledger", "show", "--ledger", ledger, "--format", "json").out)
    assert spent["datasets"][0]["spent"]["epsilon"] == 1
    end = time.monotonic() + 30
    while members(session):
        assert time.monotonic() < end, "Java, or Python on an executor, goes on"
        time.sleep(0.2)


def interrupted(way: str, line: Sequence[str]) -> tuple[int, str, int]:
    """Exit status, what stderr showed on a terminal, and the session of the processes."""
    process, master = at_terminal([sys.executable, "-c", SLOW, way, *line], stdout=subprocess.PIPE)
    shown: list[bytes] = []
    reading = Thread(target=lambda: shown.append(rest_of(master)))  # a full terminal would stop the process
    reading.start()
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"asleep\n"
    assert len(members(process.pid)) > 1
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    status = process.wait(timeout=60)
    reading.join(60)
    return status, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(shown).decode()), process.pid


def members(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = place.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[3]) == session and rest.split()[0] != "Z":
            found.append(name)
    return found
