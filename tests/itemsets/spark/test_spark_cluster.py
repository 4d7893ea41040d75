"""Executors that are processes of their own: one is killed while it counts, and the counts are right all the same."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from support.command_line import python, spawn
from support.conformance.sources import brute_force, table_of
from support.oracles.spark import random_rows, require_spark

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import json, os, signal, sys, threading, time
from pathlib import Path
import dpmine
from dpmine.itemsets.spark import native
from pyspark.sql import SparkSession
native._FEWEST_LINES = 8
spark = SparkSession.builder.getOrCreate()
options = dict(unit="u", basket="b", item="i")
ledger = sys.argv[2]
dpmine.Ledger(ledger).grant("shop", epsilon=3000, delta=1e-3)

def executors():
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parents = ancestors(int(process.name))
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and os.getpid() in parents:
            found.append(int(process.name))
    return found

def ancestors(process):
    parents = []
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        parents.append(process)
    return parents

before, killed = native.Blocks.pairs, []

def pairs(self, *arguments):
    if not killed:
        killed.append(executors()[0])
        os.kill(killed[0], signal.SIGKILL)
    return before(self, *arguments)

native.Blocks.pairs = pairs
best = dpmine.top_itemset(
    spark.read.parquet(sys.argv[1]), ledger=ledger, dataset="shop", epsilon=1000, mechanism="exponential",
    catalogue=list(range(8)), **options
)
assert killed
found = dpmine.itemset_supports(spark.read.parquet(sys.argv[1]), size="2-3", min_support=1, **options)
print(json.dumps([sorted(best.itemset), [[sorted(s), n] for n, s in found.itertuples(index=False)]]))
spark.stop()
"""


def test_an_executor_is_killed_while_it_counts(tmp_path: Path) -> None:
    require_spark()
    rows = random_rows(41, units=60)
    pq.write_table(table_of(rows), tmp_path / "rows.parquet")
    ledger = f"sqlite:///{tmp_path}/budget.db"
    settings = "--master local-cluster[2,1,1024] --conf spark.sql.shuffle.partitions=4 --conf spark.ui.enabled=false"
    variables = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
    }
    rows_file = str(tmp_path / "rows.parquet")
    done = python(PROGRAM, rows_file, ledger, timeout=500, variables=variables)
    assert done.status == 0, done.err[-2000:]
    best, found = json.loads(done.out.splitlines()[-1])
    truth = {**brute_force(rows, 2), **brute_force(rows, 3)}
    assert {tuple(itemset): support for itemset, support in found} == truth
    assert truth[tuple(best)] == max(brute_force(rows, 2).values())
    shown = spawn("ledger", "show", "--ledger", ledger, "--format", "json")
    assert json.loads(shown.out)["datasets"][0]["spent"]["epsilon"] == 1000
