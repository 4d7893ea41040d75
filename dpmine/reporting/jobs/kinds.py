"""The kinds of jobs, by the names that job files give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.reporting.jobs.compare import CompareJob
from dpmine.reporting.jobs.itemsets import FrequentItemsetsJob, TopItemsetJob
from dpmine.reporting.jobs.tables import AccuracyFirstJob, ClassifyJob, HistogramJob, HypothesisJob, RegressJob

if TYPE_CHECKING:
    from dpmine.reporting.jobs.job import Job

KINDS: dict[str, type[Job]] = {
    job.kind: job
    for job in (
        TopItemsetJob,
        FrequentItemsetsJob,
        CompareJob,
        HistogramJob,
        ClassifyJob,
        RegressJob,
        AccuracyFirstJob,
        HypothesisJob,
    )
}
