"""The share of tasks that are done, and jobs that end with an interrupt; neither touches the caller's own jobs."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.conformance.sources import table_of
from support.oracles.spark import LONG, on_spark, random_rows

from dpmine.errors import BadData
from dpmine.itemsets.spark import loading, progress
from dpmine.itemsets.spark.progress import watched
from dpmine.itemsets.spark.session import replacing

pytestmark = pytest.mark.spark
GROUP = "spark.jobGroup.id"


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 0.02)


def long_job(spark: Any) -> None:
    """Two tasks of a minute each."""

    def slow(batches: Any) -> Any:  # executors do not have this module: a function inside is sent to them whole
        import time

        for batch in batches:
            time.sleep(60)
            yield batch

    with replacing():
        spark.range(2).mapInArrow(slow, "id bigint").count()


@pytest.mark.parametrize("way", ["native", "sql"])
def test_each_step_goes_from_nothing_to_one(spark: Any, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(loading, "_known", {spark: way == "native"})
    shares: list[float] = []
    spark.sparkContext.setLocalProperty(GROUP, "the caller's")
    try:
        read = on_spark(spark, table_of(random_rows(51, units=20)), LONG, progress=shares.append).transactions
        assert (shares[0], shares[-1]) == (0, 1)
        assert all(0 <= share <= 1 for share in shares)
        assert any(0 < share < 1 for share in shares)
        for step in (read.miner().histogram, read.miner().itemsets):
            shares.clear()
            step(2, 3)
            assert (shares[0], shares[-1]) == (0, 1)
        shares.clear()
        assert read.item_weights(np.array([1])).any()
        assert (shares[0], shares[-1]) == (0, 1)
        assert spark.sparkContext.getLocalProperty(GROUP) == "the caller's"
    finally:
        spark.sparkContext.setLocalProperty(GROUP, None)
    read.close()


def test_shares_are_whole_per_cents() -> None:
    """The share of 7 tasks would show that they are 7; a stage that was skipped has nothing left to do."""
    stages = {1: (5, 5), 2: (7, 3), 3: (4, 0)}
    jobs = {1: ("SUCCEEDED", [1, 3]), 2: ("RUNNING", [1, 2]), 9: None}

    class Tracker:
        def getJobIdsForGroup(self, _group: str) -> list[int]:  # noqa: N802 - Spark's names
            return [*jobs]

        def getJobInfo(self, number: int) -> Any:  # noqa: N802
            known = jobs[number]
            return known and SimpleNamespace(status=known[0], stageIds=known[1])

        def getStageInfo(self, number: int) -> Any:  # noqa: N802
            tasks, done = stages[number]
            return SimpleNamespace(numTasks=tasks, numCompletedTasks=done)

    assert progress._share(Tracker(), "a group") == 0.75
    stages[2] = (7, 4)
    assert progress._share(Tracker(), "a group") == 0.81  # of 13/16


def test_what_was_counted_is_no_step(spark: Any) -> None:
    shares: list[float] = []
    miner = on_spark(spark, table_of(random_rows(52)), LONG, progress=shares.append).transactions.miner()
    miner.histogram(2, 2)
    shares.clear()
    miner.histogram(2, 2)
    assert not shares


def test_a_step_inside_another_one_is_a_part_of_it(spark: Any) -> None:
    shares: list[float] = []
    with watched(spark, shares.append), watched(spark, shares.append):
        pass
    assert (shares[0], shares[-1], shares.count(0), shares.count(1)) == (0, 1, 1, 1)


def test_what_progress_raises_ends_the_jobs(spark: Any) -> None:
    tracker = spark.sparkContext.statusTracker()

    def enough(_share: float) -> None:
        if tracker.getActiveJobsIds():
            raise LookupError("enough")

    begin = time.monotonic()
    with pytest.raises(LookupError, match="enough"), watched(spark, enough):
        long_job(spark)
    assert time.monotonic() - begin < 30
    require_no_jobs(spark)


def test_an_interrupt_ends_the_jobs_of_the_step_alone(spark: Any) -> None:
    from pyspark import InheritableThread

    tracker = spark.sparkContext.statusTracker()
    ended: list[str] = []

    def job(name: str) -> None:
        try:
            long_job(spark)
        except BadData:
            ended.append(name)

    def started(name: str) -> Any:
        before = len(tracker.getActiveJobsIds())
        working = InheritableThread(target=job, args=(name,))
        working.start()
        end = time.monotonic() + 60
        while len(tracker.getActiveJobsIds()) <= before:
            assert time.monotonic() < end
            time.sleep(0.05)
        return working

    def interrupted() -> None:
        with watched(spark, None):
            threads.append(started("the step's"))
            raise KeyboardInterrupt

    spark.sparkContext.setLocalProperty(GROUP, "the caller's")
    threads = [started("the caller's")]
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        threads[1].join(30)
        assert ended == ["the step's"]
        assert len(tracker.getActiveJobsIds()) == 1
    finally:
        spark.sparkContext.cancelJobGroup("the caller's")
        spark.sparkContext.setLocalProperty(GROUP, None)
    threads[0].join(30)
    require_no_jobs(spark)


def require_no_jobs(spark: Any) -> None:
    """None is left, or soon will be."""
    end = time.monotonic() + 20
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < end
        time.sleep(0.1)
