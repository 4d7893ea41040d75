"""The share of a cluster's tasks that are done while jobs run, and the end of these jobs after an interrupt."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Thread, local
from typing import TYPE_CHECKING, Any

from dpmine.io.source import share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from dpmine.io.source import Progress

_PAUSE = 0.5  # seconds between two looks
_GROUP = "spark.jobGroup.id"
_NUMBERS = count()
_this_thread = local()


@contextmanager
def watched(session: SparkSession, progress: Progress | None) -> Iterator[None]:
    """One step: `progress` gets the share, 0 to 1, of the tasks of the jobs that this thread starts inside.

    The share is in whole per cents, because a fraction would show the number of tasks, which depends on the data. It
    falls where a further job brings further tasks. It comes from another thread, while this one waits for
    Spark. What `progress` raises ends the step. An interrupt cancels the step's jobs, and none of the caller's.
    A step inside another one is a part of it.
    """
    if getattr(_this_thread, "watched", False):
        yield
        return
    step, report = f"dpmine {os.getpid()} {next(_NUMBERS)}", _Report(progress)
    report(0.0)
    _this_thread.watched = True
    try:
        with (_tagged if behind_connect(session) else _grouped)(session, step, report):
            yield
    except Exception:
        report.require_success()
        raise
    finally:
        _this_thread.watched = False
    report(1.0)


def behind_connect(session: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, whose jobs and tasks a server knows."""
    return type(session).__module__.startswith("pyspark.sql.connect")


class _Report:
    """Hands shares on; keeps what the caller's function raises for the thread that waits for the jobs."""

    def __init__(self, progress: Progress | None) -> None:
        self.wanted = progress is not None
        self._progress = progress
        self._error: BaseException | None = None

    def __call__(self, share: float) -> None:
        """From the thread that waits: raises what the function raises."""
        self.require_success()
        if self._progress is not None:
            self._progress(share)

    def reached(self, share: float) -> bool:
        """From any thread: raises nothing, and says whether the step goes on."""
        try:
            self(share)
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            self._error = error
        return self._error is None

    def require_success(self) -> None:
        """Raises what the function raised."""
        if self._error is not None:
            raise self._error from None


@contextmanager
def _cancelling(cancel: Callable[[], object]) -> Iterator[None]:
    """An interrupt cancels the jobs, also where pyspark does not listen itself (as in a notebook)."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        with suppress(Exception):  # a session that is gone has no jobs
            cancel()
        raise


@contextmanager
def _grouped(session: SparkSession, step: str, report: _Report) -> Iterator[None]:
    """The driver is in this process: the step's jobs are a group, and the thread has the caller's own group again."""
    context = session.sparkContext
    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, step)
    ended = Event()
    watching = Thread(target=_watch, args=(context, step, report, ended), daemon=True)
    try:
        with _cancelling(lambda: context.cancelJobGroup(step)):
            if report.wanted:
                watching.start()
            yield
    finally:
        ended.set()
        if watching.is_alive():
            watching.join()
        with suppress(Exception):  # as above
            context.setLocalProperty(_GROUP, before)


def _watch(context: Any, group: str, report: _Report, ended: Event) -> None:
    tracker = context.statusTracker()
    while not ended.wait(_PAUSE):
        share = None
        with suppress(Exception):  # what is not known any more, or of a session that was stopped meanwhile
            share = _share(tracker, group)
        if share is not None and not report.reached(share):
            with suppress(Exception):
                context.cancelJobGroup(group)
            return


def _share(tracker: Any, group: str) -> float:
    """Of the tasks of all jobs of a group that are known so far. A job that has ended has no task left."""
    jobs = [job for number in tracker.getJobIdsForGroup(group) if (job := tracker.getJobInfo(number)) is not None]
    running = {stage for job in jobs if job.status == "RUNNING" for stage in job.stageIds}
    tasks = done = 0
    for number in {stage for job in jobs for stage in job.stageIds}:
        stage = tracker.getStageInfo(number)
        if stage is not None:
            tasks += stage.numTasks
            done += stage.numCompletedTasks if number in running else stage.numTasks
    return share_of(done, tasks) if tasks else 0.0


@contextmanager
def _tagged(session: SparkSession, step: str, report: _Report) -> Iterator[None]:
    """Behind Spark Connect: the step's operations have a tag, and the server reports their tasks."""
    known: dict[str, tuple[int, int]] = {}

    def handler(*, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001 - of pyspark
        found = list(stages or ())
        if not done and found:
            tasks = sum(stage.num_tasks for stage in found)
            known[operation_id or ""] = (tasks, min(tasks, sum(stage.num_completed_tasks for stage in found)))
            total = sum(tasks for tasks, _ in known.values())
            if total and not report.reached(share_of(sum(completed for _, completed in known.values()), total)):
                session.interruptTag(step)

    session.addTag(step)
    if report.wanted:
        session.registerProgressHandler(handler)
    try:
        with _cancelling(lambda: session.interruptTag(step)):
            yield
    finally:
        with suppress(Exception):  # a session that is gone has neither
            session.removeTag(step)
            if report.wanted:
                session.removeProgressHandler(handler)
