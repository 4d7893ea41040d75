"""Spark Connect: a server of its own, and a process that has nothing but its address."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from support.command_line import environment
from support.conformance.sources import brute_force, table_of
from support.oracles.spark import random_rows, require_spark

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import dpmine
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
options = dict(unit="u", basket="b", item="i")
for data, more in ((spark.read.parquet(sys.argv[1]), {}), (sys.argv[1], {"engine": "spark"})):
    found = dpmine.itemset_supports(data, size="2-3", min_support=1, **options, **more)
    print(json.dumps([[sorted(itemset), support] for support, itemset in found.itertuples(index=False)]))
best = dpmine.top_itemset(spark.read.parquet(sys.argv[1]), mechanism="exact", not_private=True, **options)
print(json.dumps(sorted(best.itemset)))
try:
    dpmine.top_itemset(spark.sql("select 1 as u, 1 as b, cast('canary-7f3a' as int) as i"), **options)
except dpmine.BadData as error:
    print(json.dumps(str(error)))
try:
    dpmine.top_itemset("table:no_such_table", engine="spark", **options)
except dpmine.UnreadableFile as error:
    print(json.dumps(str(error)))
spark.stop()
"""


def test_connect_has_the_same_supports(tmp_path: Path) -> None:
    require_spark()
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("needs pyspark[connect]")
    rows = random_rows(31, units=30)
    pq.write_table(table_of(rows), tmp_path / "rows.parquet")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "rows.parquet")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**environment(), "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    frame, files, best, error, missing = map(json.loads, done.stdout.splitlines()[-5:])
    truth = {**brute_force(rows, 2), **brute_force(rows, 3)}
    for found in (frame, files):
        assert {tuple(itemset): support for itemset, support in found} == truth
    assert truth[tuple(best)] == max(brute_force(rows, 2).values())
    assert "Spark failed" in error
    assert "canary" not in error
    assert "does not exist" in missing
