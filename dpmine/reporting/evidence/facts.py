"""What a folder of evidence says, read from its sources: job file, window, stored results and the ledger's excerpt.

Writing and checking evidence both read it so, and then make the other documents of it.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.errors import BadData, DpmineError
from dpmine.io.atomic import read_file
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.ledger.records import entry_of, reread
from dpmine.options.tables import OPTIONS
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.recurring import Recurring
from dpmine.reporting.jobs.schedule import Window
from dpmine.reporting.jobs.unit_words import UnitWords
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.timeline import Charges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dpmine.ledger.budget import Budget
    from dpmine.ledger.records import Entry
    from dpmine.reporting.jobs.file import JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import Stored

JOBS, WINDOW, RESULTS, LEDGER = "jobs.toml", "window.txt", "results", "ledger.json"
_LEARNT = {
    "classify": "{} perturbation",
    "regress": "noise on sufficient statistics",
    "accuracy-first": "noise reduction with a noisy comparison",
    "histogram": "noisy counts",
}
"""How results come about that name no mechanism."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The sources of evidence, read.

    Attributes:
        job_file: what was asked for; of a file with a schedule, for one window.
        results: of its jobs, in order; None for a job without a stored result.
        budget: the data set's, as its history adds up.
        day: of the last entry of that history, ISO 8601.
    """

    job_file: JobFile
    results: tuple[Stored | None, ...]
    budget: Budget
    day: str

    @property
    def released(self) -> list[tuple[Job, Stored]]:
        """The jobs with a result."""
        pairs = zip(self.job_file.jobs, self.results, strict=True)
        return [(job, result) for job, result in pairs if result is not None]

    @property
    def together(self) -> Amount:
        """What the results of this job file come to."""
        return Amount.total([Amount.settled(result.guarantee) for _, result in self.released])

    @property
    def asserted(self) -> list[str]:
        """What the guarantees take from the job file, and nothing checked."""
        schedule = self.job_file.schedule
        disjoint = schedule.assertion(self.words.one) if schedule else ""
        return sorted({disjoint, *(result.guarantee.assertion for _, result in self.released)} - {""})

    @property
    def words(self) -> UnitWords:
        """What the job file calls the privacy unit; without a label, its column."""
        return UnitWords.of(self.budget.unit, self.job_file.terms.unit_label)

    @property
    def unit(self) -> str:
        """The unit's label with its column, such as "customer (CustomerID)"."""
        one, column = self.words.one, self.budget.unit
        return one if one == column else f"{one} ({column})"

    def guarantees(self) -> dict[str, object]:
        """The guarantee of each job, and what all come to, JSON-ready."""
        budget = self.budget
        jobs = [
            {
                "name": job.name,
                "kind": job.kind,
                "mechanism": None if result is None else mechanism(job, result),
                "guarantee": None if result is None else result.guarantee.to_dict(),
                "files": [] if result is None else [f"{RESULTS}/{name}" for name in result.files],
            }
            for job, result in zip(self.job_file.jobs, self.results, strict=True)
        ]
        return {
            "format": "dpmine guarantees",
            "title": self.job_file.title,
            "dataset": self.job_file.terms.dataset,
            "unit": budget.unit,
            "neighbors": str(budget.neighbors),
            "accounting": str(budget.accounting),
            "jobs": jobs,
            "results_together": self.together.to_dict(),
            "all_charges": budget.guarantee.to_dict("epsilon", "delta"),
            "granted": budget.granted.to_dict("epsilon", "delta"),
        }


def altered(path: Path) -> BadData:
    """The error for a file that is not as it was written."""
    return BadData(f"'{path}' is not as it was written: restore the folder, or write new evidence with `evidence=…`.")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """`altered` in place of what its readers raise for a file that no run wrote."""
    try:
        yield
    except (Altered, DpmineError, OSError):
        raise altered(path) from None


def read_facts(folder: Path) -> Facts:
    """The sources in the folder, each checked against the others.

    Raises BadData, with the file, where a history does not replay or a result is not that of a job. It also does where
    the ledger's charges do not cover the results, in amount, relation, unit and window.
    """
    job_file = _job_file_of_window(folder)
    store = ResultsFolder(folder / RESULTS)
    results = []
    for job in job_file.jobs:
        with reading(store.folder / f"{job.stem}.json"):
            results.append(store.find(job))
    with reading(folder / LEDGER):
        excerpt = Document.parse(read_file(folder / LEDGER))
        history = [row.entries for row in excerpt.parts("history")]
        facts = Facts(job_file, tuple(results), reread(history), entry_of(history[-1]).time[:10])
    totals = {name: value for name, value in excerpt.entries.items() if name != "history"}
    if not (_has_totals(facts, totals) and _is_covered(facts) and _is_window_charged(facts, map(entry_of, history))):
        raise altered(folder / LEDGER)
    return facts


def _job_file_of_window(folder: Path) -> JobFile:
    """The job file; of one with a schedule, for the window that the folder names."""
    with reading(folder / JOBS):
        job_file = read_job_file(folder / JOBS, here=False)
    if job_file.schedule is None:
        return job_file
    with reading(folder / WINDOW):
        line = read_file(folder / WINDOW)
        window = Window.parse(line.decode(errors="replace").removesuffix("\n"), job_file.schedule.every)
    if line != f"{window}\n".encode():
        raise altered(folder / WINDOW)
    with reading(folder / JOBS):  # its budget is divided here
        return Recurring(job_file, job_file.schedule).at(window)


def mechanism(job: Job, result: Stored) -> str:
    """How the result was chosen or learnt, in words."""
    method = OPTIONS[job.kind].get("method")
    said = "" if method is None else str(job.options.get("method", method.default))
    return str(result.document.get("mechanism") or _LEARNT[job.kind].format(said)).replace("_", " ")


def _has_totals(facts: Facts, totals: dict[str, object]) -> bool:
    """Whether the history is that of the data set, and adds up to these totals."""
    same = json.loads(json.dumps(facts.budget.to_dict())) == totals
    return same and facts.budget.dataset == name_and_part(facts.job_file.terms.dataset)[0]


def _is_covered(facts: Facts) -> bool:
    """Whether the charges cover the results: in amount, and for the unit and the relation of each."""
    budget = facts.budget
    terms = {(result.guarantee.unit, result.guarantee.neighbors) for _, result in facts.released}
    return terms <= {(budget.unit, budget.neighbors)} and budget.spent.fits(facts.together, budget.accounting)


def _is_window_charged(facts: Facts, history: Iterable[Entry]) -> bool:
    """Whether each result of a window has charges of its own that cover it."""
    recurring = [(job, result) for job, result in facts.released if job.key]
    part = name_and_part(facts.job_file.terms.dataset)[1]
    amounts = Charges.among(history, (job for job, _ in recurring), part).amounts
    return all(
        amounts.get(job.key, Amount()).fits(Amount.settled(result.guarantee), facts.budget.accounting)
        for job, result in recurring
    )
