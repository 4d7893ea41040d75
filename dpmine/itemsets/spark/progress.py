"""The share of a cluster's tasks that are done while jobs run, and the end of these jobs after an interrupt."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.io.source import Progress

_PAUSE = 0.5  # seconds between two looks
_NUMBERS = count()
_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def watched(session: Any, progress: Progress | None) -> Iterator[None]:
    """Jobs that this thread starts inside form a group: `progress` gets the share of its tasks that are done, 0 to 1.

    An interrupt cancels the group, also in a notebook. The caller's own group is the thread's again afterwards. Behind
    Spark Connect, which shows no tasks, `progress` gets 0 and 1 alone, and `abandon` ends the jobs.
    """
    report = progress or _ignore
    report(0.0)
    context = None if type(session).__module__.startswith("pyspark.sql.connect") else session.sparkContext
    if context is None:
        yield
    else:
        with _grouped(context) as group, _reported(context, group, report):
            yield
    report(1.0)


@contextmanager
def _grouped(context: Any) -> Iterator[str]:
    group = f"dpmine {next(_NUMBERS)}"
    before = [(name, context.getLocalProperty(name)) for name in _PROPERTIES]
    context.setLocalProperty(_PROPERTIES[0], group)
    try:
        yield group
    except KeyboardInterrupt:
        with suppress(Exception):  # a session that is gone has no jobs
            context.cancelJobGroup(group)
        raise
    finally:
        with suppress(Exception):
            for name, value in before:
                context.setLocalProperty(name, value)


@contextmanager
def _reported(context: Any, group: str, report: Progress) -> Iterator[None]:
    ended = Event()
    watching = Thread(target=_watch, args=(context.statusTracker(), group, report, ended), daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _watch(tracker: Any, group: str, report: Progress, ended: Event) -> None:
    """Reports never fall, though a further job brings further tasks."""
    highest = 0.0
    while not ended.wait(_PAUSE):
        with suppress(Exception):  # what is not known any more, or of a session that was stopped meanwhile
            highest = max(highest, _share(tracker, group))
            report(highest)


def _share(tracker: Any, group: str) -> float:
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    tasks = sum(stage.numTasks for stage in known)
    return sum(stage.numCompletedTasks for stage in known) / tasks if tasks else 0.0


def _ignore(_share: float) -> None:
    """Progress that is not shown."""
