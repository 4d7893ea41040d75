"""One measurement of bench_spark.py, in a process of its own; prints JSON.

python benchmarks/spark_worker.py local|native|sql|mllib|lists WARM_UP_FILE FILE THRESHOLD EVENT_FOLDER MASTER

The same work on a small file comes first, and is not counted: it starts Java and the executors' Python.
Each step is a job description of Spark's event log, from which the bytes of its shuffles are read.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import dpmine
from dpmine.io.source import Columns
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

warnings.simplefilter("ignore")  # pyspark warns of pandas 3; nothing here goes through pandas

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
        self._context = None if session is None else session.sparkContext
        if self._context is not None:
            self._context.setLogLevel("OFF")
        self.seconds: dict[str, float] = {}

    def run(self, name: str, action: Any) -> Any:
        if self._context is not None:
            self._context.setJobDescription(name)
        start = time.monotonic()
        done = action()
        self.seconds[name] = time.monotonic() - start
        return done


def dpmine_steps(kind: str, path: str, threshold: int, steps: Steps) -> dict[str, Any]:
    """Pairs and triples above the threshold; the sizes that the estimate of native shuffles needs."""
    engine = "local" if kind == "local" else "spark"
    read: Any = steps.run("read", lambda: read_transactions(path, COLUMNS, engine=engine).transactions)
    miner = read.miner()
    pairs = steps.run("pairs", lambda: miner.histogram(2, threshold))
    triples = steps.run("triples", lambda: miner.histogram(3, threshold))
    found: dict[str, Any] = {"pairs": pairs.total(), "triples": triples.total(), "sizes": {}}
    if kind == "native":
        counted = miner._counted  # noqa: SLF001 - candidates are not shown otherwise
        found["sizes"] = {
            "items": len(read.labels),
            "blocks": read.blocks.number,
            "pairs": len(counted[2].listed),
            "triples": len(counted[3].listed),
        }
    read.close()
    return found


def list_steps(session: Any, path: str, turns: int, steps: Steps) -> dict[str, Any]:
    """Lists of all sizes, locally and on Spark in turns; and what Spark itself takes to go through the same rows."""
    columns = {"unit": "transaction_id", "item": "item"}

    def listed(engine: str) -> Any:
        return dpmine.frequent_itemsets(path, k=100, epsilon=1, engine=engine, **columns)

    def grouped(total: str) -> Any:
        frame = session.read.parquet(path).groupBy("transaction_id").agg({"item": total})
        return frame.write.format("noop").mode("overwrite").save()

    for turn in range(turns):
        steps.run(f"local {turn}", lambda: listed("local"))
        steps.run(f"spark {turn}", lambda: listed("spark"))
        steps.run(f"rows of units {turn}", lambda: grouped("count"))
        steps.run(f"items of units {turn}", lambda: grouped("collect_list"))
    return {"sizes": {}}


def mllib_steps(session: Any, path: str, threshold: int, steps: Steps) -> dict[str, Any]:
    """FPGrowth of MLlib on the same baskets, with the share of the baskets that is the same threshold."""
    from pyspark.ml.fpm import FPGrowth
    from pyspark.sql import functions

    def mine() -> int:
        frame = session.read.parquet(path).groupBy("transaction_id").agg(functions.collect_set("item").alias("items"))
        frame = frame.persist()
        share = (threshold - 0.5) / frame.count()
        found = FPGrowth(itemsCol="items", minSupport=share, minConfidence=1.0).fit(frame).freqItemsets
        number = int(found.where(functions.size("items") == 2).count())
        frame.unpersist()
        return number

    return {"pairs": steps.run("pairs", mine), "sizes": {}}


def started(kind: str, folder: str, master: str) -> Any:
    """A session in which executors count natively, or by SQL; none for the local engine."""
    if kind == "local":
        return None
    from pyspark.sql import SparkSession

    from dpmine.itemsets.spark import loading

    if kind == "sql":
        vars(loading)["count_themselves"] = lambda _session: False
    builder = SparkSession.builder.master(master).config("spark.eventLog.dir", Path(folder).as_uri())
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def peaks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The most memory that the process of a task has taken, in bytes."""
    for _ in batches:
        pass
    yield pa.record_batch({"peak": pa.array([_peak()], pa.int64())})


def _peak() -> int:
    """Bytes; Linux alone. What getrusage says begins with the peak of the process that started this one."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in status if line.startswith("VmHWM:")).split()[1])


def heap(session: Any) -> int:
    """Bytes that live in the heap of the driver's JVM, after a collection."""
    gc.collect()
    machine = session.sparkContext._jvm.java.lang  # noqa: SLF001 - there is no other way to ask
    machine.System.gc()
    return int(machine.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())


def shuffled(folder: Path) -> dict[str, int]:
    """Bytes written to shuffles, by step."""
    step_of: dict[int, str] = {}
    found: dict[str, int] = defaultdict(int)
    for line in next(path for path in folder.iterdir() if path.is_file()).read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            for stage in event["Stage IDs"]:
                step_of[stage] = event["Properties"].get("spark.job.description", "")
        if event["Event"] == "SparkListenerStageCompleted":
            for metric in event["Stage Info"]["Accumulables"]:
                if metric["Name"] == "internal.metrics.shuffle.write.bytesWritten":
                    found[step_of[event["Stage Info"]["Stage ID"]]] += int(metric["Value"])
    return dict(found)


def main() -> None:
    """One run, printed as JSON."""
    kind, small, path, threshold, folder, master = sys.argv[1:]

    def work(file: str, lowest: int, steps: Steps) -> dict[str, Any]:
        if kind == "lists":
            return list_steps(session, file, lowest, steps)
        return mllib_steps(session, file, lowest, steps) if kind == "mllib" else dpmine_steps(kind, file, lowest, steps)

    start = time.monotonic()
    session = started(kind, folder, master)
    warming = Steps(session)
    warming.run("start", lambda: work(small, 1 if kind == "lists" else 200, Steps(None)))
    begun = time.monotonic() - start
    steps = Steps(session)
    found = work(path, int(threshold), steps) | {"start": begun, "seconds": steps.seconds, "peak": _peak()}
    if session is not None:
        tasks = session.range(0, 8, 1, 8).mapInArrow(peaks, "peak bigint").collect()
        found |= {"heap": heap(session), "task": max(row[0] for row in tasks)}
        session.stop()
        found["shuffled"] = shuffled(Path(folder))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
