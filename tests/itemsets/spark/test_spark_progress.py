"""The share of tasks that are done, and jobs that end with an interrupt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from support.conformance.sources import table_of
from support.oracles.spark import LONG, on_spark, random_rows

from dpmine.itemsets.spark import progress
from dpmine.itemsets.spark.progress import watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

pytestmark = pytest.mark.spark


def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(60)
        yield batch


def test_progress_rises_to_one(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 0.02)
    shares: list[float] = []
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", "the caller's")
    on_spark(spark, table_of(random_rows(51, units=20)), LONG, progress=shares.append).transactions.close()
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == "the caller's"
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert any(0 < share < 1 for share in shares)


def test_an_interrupt_ends_the_jobs(spark: Any) -> None:
    from pyspark import InheritableThread

    tracker = spark.sparkContext.statusTracker()
    jobs: list[Any] = []

    def job() -> None:
        with pytest.raises(Exception, match="cancelled"):
            spark.range(2).mapInArrow(slow, "id bigint").count()
        jobs.append("cancelled")

    def interrupted() -> None:
        with watched(spark, None):
            working = InheritableThread(target=job)
            jobs.append(working)
            working.start()
            while not tracker.getActiveJobsIds():
                time.sleep(0.05)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    jobs[0].join(30)
    assert jobs[1:] == ["cancelled"]
    assert not tracker.getActiveJobsIds()
