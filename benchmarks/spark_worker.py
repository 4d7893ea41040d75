"""One measurement of bench_spark.py, in a process of its own; prints JSON.

python benchmarks/spark_worker.py dpmine|mllib FILE THRESHOLD EVENT_FOLDER MASTER

Each step is a job description of Spark's event log, from which the bytes of its shuffles are read.
"""

# ruff: noqa: SLF001 - the steps of a search are timed apart

from __future__ import annotations

import gc
import json
import resource
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")  # pyspark warns of pandas 3; nothing here goes through pandas

from pyspark.sql import SparkSession, functions  # noqa: E402

from dpmine.io.source import Columns  # noqa: E402
from dpmine.itemsets.spark.read import read_spark  # noqa: E402
from dpmine.itemsets.spark.supports import SparkMiner  # noqa: E402

COLUMNS = Columns(unit=("transaction_id",), item="item")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "3g",
    "spark.executor.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


class Steps:
    """Seconds of named steps, whose names the event log holds, too."""

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self._context.setLogLevel("OFF")
        self.seconds: dict[str, float] = {}

    def run(self, name: str, action: Any) -> Any:
        self._context.setJobDescription(name)
        start = time.monotonic()
        done = action()
        self.seconds[name] = time.monotonic() - start
        return done


def dpmine_steps(_session: Any, path: str, threshold: int, steps: Steps) -> dict[str, Any]:
    """The levels of all pairs above the threshold; the sizes that the plan on paper needs."""
    read = steps.run("items", lambda: read_spark(path, COLUMNS, memory=1 << 30))
    miner = SparkMiner(read.transactions)
    store = miner._store_for(threshold)
    work = steps.run("baskets", lambda: store.work(2))
    miner._work[2] = work
    levels = steps.run("pairs", lambda: miner.histogram(2, threshold))
    deep = miner._counted[2].threshold
    table = miner._counted[2].table()
    steps.run("checks", lambda: None)
    sizes = {
        "rows": read.transactions.rows.frame.count(),
        "baskets": store.frame.count(),
        "items": read.transactions.catalogue_size,
        "stored": work.stored,
        "occurrences": int(work.of_rank[: miner._ranks.above(deep)].sum()),
        "pairs": table.count(),
        "tasks": store.frame.select(functions.spark_partition_id()).distinct().count(),
        "readers": read.transactions.rows.frame.select(functions.spark_partition_id()).distinct().count(),
        "deep": deep,
    }
    found = dict(zip(levels.supports.tolist(), levels.counts.tolist(), strict=True))
    read.transactions.kept.release_all()
    return {"sizes": sizes, "above": sum(count for support, count in found.items() if support >= threshold)}


def mllib_steps(session: Any, path: str, threshold: int, steps: Steps) -> dict[str, Any]:
    """FPGrowth of MLlib on the same baskets, with the share of the baskets that is the same threshold."""
    from pyspark.ml.fpm import FPGrowth

    def mine() -> int:
        frame = session.read.parquet(path).groupBy("transaction_id").agg(functions.collect_set("item").alias("items"))
        frame = frame.persist()
        share = (threshold - 0.5) / frame.count()
        found = FPGrowth(itemsCol="items", minSupport=share, minConfidence=1.0).fit(frame).freqItemsets
        return int(found.where(functions.size("items") == 2).count())

    return {"sizes": {}, "above": steps.run("pairs", mine)}


def heap(session: Any) -> int:
    """Bytes that live in the heap of the driver's JVM, after a collection."""
    gc.collect()
    machine = session.sparkContext._jvm.java.lang
    machine.System.gc()
    return int(machine.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())


def shuffled(folder: Path) -> dict[str, dict[str, int]]:
    """Bytes and records written to shuffles, by step."""
    step_of: dict[int, str] = {}
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"bytes": 0, "records": 0})
    for line in next(path for path in folder.iterdir() if path.is_file()).read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            for stage in event["Stage IDs"]:
                step_of[stage] = event["Properties"].get("spark.job.description", "")
        if event["Event"] == "SparkListenerStageCompleted":
            for metric in event["Stage Info"]["Accumulables"]:
                for name, key in (("bytesWritten", "bytes"), ("recordsWritten", "records")):
                    if metric["Name"] == f"internal.metrics.shuffle.write.{name}":
                        found[step_of[event["Stage Info"]["Stage ID"]]][key] += int(metric["Value"])
    return dict(found)


def main() -> None:
    """One run, printed as JSON."""
    kind, path, threshold, folder, master = sys.argv[1:]
    start = time.monotonic()
    builder = SparkSession.builder.master(master).config("spark.eventLog.dir", Path(folder).as_uri())
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    steps = Steps(session)
    started = time.monotonic() - start
    found = (dpmine_steps if kind == "dpmine" else mllib_steps)(session, path, int(threshold), steps)
    found |= {"seconds": {"start": started, **steps.seconds}, "heap": heap(session)}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    session.stop()
    print(json.dumps({**found, "shuffled": shuffled(Path(folder))}))


if __name__ == "__main__":
    main()
