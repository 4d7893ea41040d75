"""Spark Connect: a server of its own, and processes that have nothing but its address."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
import support
from support.command_line import environment, python
from support.conformance.sources import brute_force, table_of
from support.oracles.spark import random_rows, require_spark

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SESSION = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import dpmine
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
"""
CALLS = """
options = dict(unit="u", basket="b", item="i")
shares = []
for data, more in ((spark.read.parquet(sys.argv[1]), {}), (sys.argv[1], {"engine": "spark"})):
    found = dpmine.itemset_supports(data, size="2-3", min_support=1, **options, **more)
    print(json.dumps([[sorted(itemset), support] for support, itemset in found.itertuples(index=False)]))
best = dpmine.top_itemset(
    spark.read.parquet(sys.argv[1]), mechanism="exact", not_private=True, progress=shares.append, **options
)
print(json.dumps(sorted(best.itemset)))
try:
    dpmine.top_itemset(spark.sql("select 1 as u, 1 as b, cast('canary-7f3a' as int) as i"), **options)
except dpmine.BadData as error:
    print(json.dumps(str(error)))
try:
    dpmine.top_itemset("table:no_such_table", engine="spark", **options)
except dpmine.UnreadableFile as error:
    print(json.dumps(str(error)))
print(json.dumps(shares))
spark.stop()
"""
SUPPORTS = """
from support.conformance.sources import check, table_of
from support.datasets import NAMED
from support.oracles.spark import LONG, THRESHOLDS, random_rows, require_equal
from support.reading import read_baskets
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.spark import loading, native
from dpmine.itemsets.spark.supports import SparkMiner
loading._known[spark] = sys.argv[1] == "native"
native._FEWEST_LINES = 1 << 12
rows = random_rows(33)
read = read_transactions(spark.createDataFrame(table_of(rows)).repartition(3), LONG)
check(read.transactions.miner(), read.transactions.labels.to_pylist(), rows)
for name in sys.argv[2:]:
    data, asked = NAMED[name](), THRESHOLDS[name]
    columns = Columns.of(**data.options)
    read = read_transactions(spark.createDataFrame(data.table), columns)
    miner = read.transactions.miner()
    assert isinstance(miner, native.NativeMiner if sys.argv[1] == "native" else SparkMiner)
    require_equal(miner, Miner(read_baskets(data.table, columns).baskets), {size: asked[size][:1] for size in asked})
    read.close()
print(json.dumps("equal"))
spark.stop()
"""
STEPS = """
import os, signal, threading, time
from dpmine.itemsets.spark.progress import watched

def slow(batches):
    import time
    time.sleep(3000)
    return iter(batches)

def late(share):
    if time.monotonic() > begin + 5:
        raise LookupError

begin, ended = time.monotonic(), []
try:
    with watched(spark, late):
        spark.range(2).mapInArrow(slow, "id bigint").count()
except LookupError:
    ended.append("what progress raised")
threading.Timer(5, os.kill, (os.getpid(), signal.SIGINT)).start()
spark.addTag("the caller's")
try:
    with watched(spark, None):
        spark.range(2).mapInArrow(slow, "id bigint").count()
except KeyboardInterrupt:
    ended.append("interrupted")
ended += sorted(spark.getTags())
assert spark.range(2).mapInArrow(lambda batches: batches, "id bigint").count() == 2  # on executors that are free again
print(json.dumps(ended))
spark.stop()
"""


def printed(program: str, *arguments: str) -> list[Any]:
    """What a process behind Spark Connect prints, as JSON."""
    require_spark()
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("needs pyspark[connect]")
    tests = str(Path(support.__path__[0]).parent)
    variables = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], tests]),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = python(SESSION + program, *arguments, timeout=900, variables=variables)
    assert done.status == 0, done.err[-2000:]
    return [json.loads(line) for line in done.out.splitlines() if line.startswith(("[", '"'))]


def test_calls_answer_behind_connect_as_they_do_without(tmp_path: Path) -> None:
    rows = random_rows(31, units=30)
    pq.write_table(table_of(rows), tmp_path / "rows.parquet")
    frame, files, best, error, missing, shares = printed(CALLS, str(tmp_path / "rows.parquet"))
    truth = {**brute_force(rows, 2), **brute_force(rows, 3)}
    for found in (frame, files):
        assert {tuple(itemset): support for itemset, support in found} == truth
    assert truth[tuple(best)] == max(brute_force(rows, 2).values())
    assert "Spark failed" in error
    assert "canary" not in error
    assert "does not exist" in missing
    assert (shares[0], shares[-1]) == (0, 1)  # a server reports what lies between every other second
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize(("way", "names"), [("native", ["Quest", "mushroom"]), ("sql", ["Quest"])])
def test_data_sets_have_equal_supports_behind_connect(way: str, names: Sequence[str]) -> None:
    """Not all of them, because each takes up to a minute; test_spark_supports.py counts all without Connect."""
    assert printed(SUPPORTS, way, *names) == ["equal"]


def test_a_step_ends_with_an_interrupt_and_with_what_progress_raises() -> None:
    """Tasks that nobody cancelled would outlast the process's limit."""
    assert printed(STEPS)[0] == ["what progress raised", "interrupted", "the caller's"]
