"""What a folder of evidence says, read from its sources: job file, window, stored results and the ledger's excerpt.

Writing and checking evidence both read it so. The other documents are made of that: the guarantees, a page of
questions, and an entry for a registry.

An evaluation of a guarantee asks the questions. They follow the pyramid of NIST SP 800-226 (March 2025), in words of
ours. Its parts are the parameters and the privacy unit; algorithms, utility and bias; trust, access, side channels and
data collection.

The entry is a draft for the Differential Privacy Deployments Registry, with what a run knows of its deployment. Source
of its format: github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml. Entries there are YAML, and
JSON is that, too.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dpmine.errors import BadData, DpmineError
from dpmine.io.atomic import read_file
from dpmine.ledger.budget import Amount, composed, name_and_part
from dpmine.ledger.records import entry_of, reread
from dpmine.markup import printable
from dpmine.privacy import Neighbors, rounded_up
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.history import Charges
from dpmine.reporting.jobs.file import UnitWords, read_job_file
from dpmine.reporting.jobs.schedule import Window
from dpmine.reporting.page.charts import templates
from dpmine.reporting.page.strength import loss_of_outcomes, odds_text
from dpmine.reporting.recurring import Recurring
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.terms import guaranteed_together
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from jinja2 import Template

    from dpmine.ledger.budget import Budget
    from dpmine.ledger.records import Entry
    from dpmine.reporting.jobs.file import JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import Stored

JOBS, WINDOWS, RESULTS, LEDGER = "jobs.toml", "windows.txt", "results", "ledger.json"
OPEN = "To be completed before submission."
"""What no run knows: who publishes the results, where and what for, and who registers them."""
_MARKUP = re.compile(r"[\\`*~\[\]]|\b_|_\b")  # of Markdown; HTML is escaped by the template
_NEIGHBOURING = {
    Neighbors.REPLACE_ONE: "All data of one {} are replaced by those of another; the number of units is public.",
    Neighbors.ADD_REMOVE: "All data of one {} are added or removed; the number of units is private.",
}
_MODEL = "One party holds the data, runs dpmine on them and publishes the results."
_SECURITY = (
    "Sampling is exact: no floating-point number decides a selection. Rounding errors of released models are bounded "
    "and covered by the guarantee. Running time is not protected."
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The sources of evidence, read.

    Attributes:
        job_file: what was asked for; of a file with a schedule, for the window of the page.
        jobs: those on the page, in order; of a file with a schedule, in every window.
        results: of these; None for a job without a stored result.
        history: the data set's, as the ledger has it.
        budget: what that adds up to.
    """

    job_file: JobFile
    jobs: tuple[Job, ...]
    results: tuple[Stored | None, ...]
    history: tuple[Entry, ...]
    budget: Budget

    @property
    def day(self) -> str:
        """Of the last entry of the history, ISO 8601."""
        return self.history[-1].time[:10]

    @property
    def released(self) -> list[tuple[Job, Stored]]:
        """The jobs with a result."""
        return [(job, result) for job, result in zip(self.jobs, self.results, strict=True) if result is not None]

    @property
    def together(self) -> Amount:
        """What the results come to for one unit."""
        windows: dict[str, Amount] = {}
        for job, result in self.released:
            window = job.scheduled.window if job.scheduled else ""
            windows[window] = windows.get(window, Amount()) + Amount.settled(result.guarantee)
        return composed(Amount(), windows.values()) if self._disjoint else Amount.total(windows.values())

    @property
    def guarantee(self) -> Amount:
        """The (ε, δ) that the page states: of all on it, with charges that came to no result.

        A job that runs once, and has no result, counts as charged.
        """
        if self.job_file.schedule is not None:
            charges = Charges.among(self.history, self.jobs, None, settled=False)
            largest = charges.for_one_unit(disjoint=self._disjoint)
        else:
            pairs = zip(self.jobs, self.results, strict=True)
            largest = Amount.total(
                [Amount.of(result.guarantee if result else job.guarantee_at()) for job, result in pairs]
            )
        accounting, share = self.budget.accounting, self.budget.granted.approximate_delta
        return guaranteed_together(largest, largest, self.job_file.terms.total_under(accounting, share), accounting)

    @property
    def _disjoint(self) -> bool:
        return self.job_file.schedule is not None and self.job_file.schedule.disjoint_units

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
            for job, result in zip(self.jobs, self.results, strict=True)
        ]
        return {
            "format": "dpmine guarantees",
            "title": self.job_file.title,
            "dataset": self.job_file.terms.dataset,
            "unit": budget.unit,
            "neighbors": str(budget.neighbors),
            "accounting": str(budget.accounting),
            "jobs": jobs,
            "guarantee": self.guarantee.to_dict("epsilon", "delta"),
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
    job_file, jobs = read_jobs(folder)
    store = ResultsFolder(folder / RESULTS)
    results = []
    for job in jobs:
        with reading(store.folder / f"{job.stem}.json"):
            results.append(store.find(job))
    with reading(folder / LEDGER):
        excerpt = Document.parse(read_file(folder / LEDGER))
        history = [row.entries for row in excerpt.parts("history")]
        facts = Facts(job_file, jobs, tuple(results), tuple(map(entry_of, history)), reread(history))
    totals = {name: value for name, value in excerpt.entries.items() if name != "history"}
    if not (_has_totals(facts, totals) and _is_covered(facts) and _are_windows_charged(facts)):
        raise altered(folder / LEDGER)
    return facts


def read_jobs(folder: Path) -> tuple[JobFile, tuple[Job, ...]]:
    """The job file, and the jobs on the page; of a file with a schedule, for the windows that the folder names.

    Raises BadData, with the file.
    """
    with reading(folder / JOBS):
        job_file = read_job_file(folder / JOBS, here=False)
    if job_file.schedule is None:
        return job_file, job_file.jobs
    with reading(folder / WINDOWS):
        content = read_file(folder / WINDOWS)
        lines = content.decode(errors="replace").splitlines()
        windows = [Window.parse(line, job_file.schedule.every) for line in lines]
        of_page, others = windows[0] if windows else None, windows[1:]
    if of_page is None or content != windows_text(of_page, others) or of_page in others or others != sorted({*others}):
        raise altered(folder / WINDOWS)
    with reading(folder / JOBS):  # its budget is divided here
        recurring = Recurring(job_file, job_file.schedule)
        at = {window: recurring.at(window, once=window == of_page) for window in sorted(windows)}
    return at[of_page], tuple(job for window in sorted(windows) for job in at[window].jobs)


def windows_text(of_page: object, others: Iterable[object]) -> bytes:
    """The window of the page, then the others that have results on it, in order; each on a line."""
    return "".join(f"{window}\n" for window in (of_page, *others)).encode()


def mechanism(job: Job, result: Stored) -> str:
    """How the result was chosen or learnt, in words."""
    method = job.table.get("method")
    said = "" if method is None else str(job.options.get("method", method.default))
    named = str(result.document.get("mechanism") or job.procedure.format(said))
    if not named:
        raise AssertionError(f"jobs of the kind {job.kind} have no mechanism and no procedure")
    return named.replace("_", " ")


def _has_totals(facts: Facts, totals: dict[str, object]) -> bool:
    """Whether the history is that of the data set, and adds up to these totals."""
    same = json.loads(json.dumps(facts.budget.to_dict())) == totals
    return same and facts.budget.dataset == name_and_part(facts.job_file.terms.dataset)[0]


def _is_covered(facts: Facts) -> bool:
    """Whether the charges cover the results: in amount, and for the unit and the relation of each."""
    budget = facts.budget
    terms = {(result.guarantee.unit, result.guarantee.neighbors) for _, result in facts.released}
    return terms <= {(budget.unit, budget.neighbors)} and budget.spent.fits(facts.together, budget.accounting)


def _are_windows_charged(facts: Facts) -> bool:
    """Whether each result of a window has charges of its own that cover it."""
    recurring = [(job, result) for job, result in facts.released if job.key]
    parts = {name_and_part(job.charged["dataset"])[1] for job, _ in recurring}
    charges = {part: Charges.among(facts.history, facts.jobs, part).amounts for part in parts}
    return all(
        charges[name_and_part(job.charged["dataset"])[1]]
        .get(job.key, Amount())
        .fits(Amount.settled(result.guarantee), facts.budget.accounting)
        for job, result in recurring
    )


def registry_entry(facts: Facts) -> dict[str, object]:
    """The entry, JSON-ready, as a draft: see `OPEN`."""
    budget, title = facts.budget, facts.job_file.title
    mechanisms = sorted({mechanism(job, result) for job, result in facts.released})
    return {
        "url_slug": re.sub(r"\W+", "-", f"{title} {facts.day[:4]}".lower()),
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [facts.job_file.owner or OPEN],
                "description": "; ".join(f"{job.name} ({job.kind})" for job in facts.job_file.jobs),
                "intended_use": OPEN,
                "data_product_type": _product(facts),
                "data_product_region": OPEN,
                "publication_date": facts.day,
            },
            "dp_variant": {"variant_name": "Approximate DP" if facts.guarantee.delta else "Pure DP"},
            "privacy_loss": {
                "privacy_unit": facts.unit,
                "privacy_unit_details": _NEIGHBOURING[budget.neighbors].format(facts.unit),
                **_parameters(facts),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": _MODEL,
                **_repeated(facts),
                **_period(facts.job_file.period),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Lists, intervals and rules are computed from released values alone.",
                "composition": f"Sequential, by a ledger with {budget.accounting} accounting.",
            },
            "implementation": {
                "mechanisms": f"{', '.join(mechanisms)}; dpmine {__version__}. {_SECURITY}",
            },
            "administrative": {"registry_authors": [OPEN]},
        },
    }


def _period(period: str) -> dict[str, str]:
    return {"data_source_type_details": f"Data of {period}."} if period else {}


def _repeated(facts: Facts) -> dict[str, str]:
    """Whether more data and more releases follow."""
    schedule = facts.job_file.schedule
    if schedule is None:
        return {"release_type": "One release", "data_source_type": "Static"}
    return {
        "release_type": "Many releases",
        "release_type_details": (
            f"This is {facts.job_file.window} of up to {schedule.runs} windows, one for each {schedule.every}. The "
            "job file alone decides what a run of a window is charged at most."
        ),
        "data_source_type": "Dynamic",
    }


def _product(facts: Facts) -> str:
    learnt = any(job.learns for job, _ in facts.released)
    return "Machine learning model" if learnt else "Summary statistics"


def _parameters(facts: Facts) -> dict[str, object]:
    """The guarantee of the page, and what else was charged to the data."""
    guarantee, spent = facts.guarantee, facts.budget.guarantee
    return {
        "privacy_parameters": {"epsilon": rounded_up(guarantee.epsilon), "delta": rounded_up(guarantee.delta)},
        "privacy_parameters_details": (
            f"Of all results together: {guarantee.decimals}. All charges to the data set together: {spent.decimals}."
        ),
    }


def checklist(facts: Facts) -> str:
    """The page, in Markdown. A ticked box is answered by the run, an empty one is for a person to answer."""
    budget, terms = facts.budget, facts.job_file.terms
    replaced, spent = budget.neighbors is Neighbors.REPLACE_ONE, budget.guarantee
    page = _checklist_template().render(
        title=facts.job_file.title,
        owner=facts.job_file.owner,
        period=facts.job_file.period,
        dataset=terms.dataset,
        unit=facts.words.one,
        column=facts.unit,
        replaced=replaced,
        accounting=str(budget.accounting),
        together=facts.guarantee.decimals,
        windows=len({job.scheduled.window for job in facts.jobs if job.scheduled and job.in_window}),
        spent=spent.decimals,
        granted=budget.granted.decimals,
        entries=budget.entries,
        seal=budget.seal,
        odds=odds_text(loss_of_outcomes(spent, 1 if replaced else 2)),
        sure=not spent.delta,
        jobs=[_job(job, result) for job, result in zip(facts.jobs, facts.results, strict=True)],
        asserted=facts.asserted,
        window=facts.job_file.window,
        schedule=facts.job_file.schedule,
        notes=sorted({note for _, result in facts.released for note in result.guarantee.notes}),
        version=__version__,
    )
    return page.replace("&#39;", "'").replace("&#34;", '"') + "\n"  # quotes are no markup


@cache
def _checklist_template() -> Template:
    from jinja2 import PackageLoader

    own = templates().overlay(loader=PackageLoader("dpmine.reporting.evidence"), finalize=_shown)
    return own.get_template("checklist.md.j2")


def _job(job: Job, result: Stored | None) -> dict[str, object]:
    asked_for = {"name": job.name, "kind": job.kind, "input": job.source, "rows": job.options.get("rows_per_unit")}
    if result is None:
        return {**asked_for, "mechanism": "", "guarantee": ""}
    return {**asked_for, "mechanism": mechanism(job, result), "guarantee": str(result.guarantee)}


def _shown(value: object) -> object:
    """What the page prints: texts on one line, of which no character is markup."""
    return _MARKUP.sub(r"\\\g<0>", printable(value)) if type(value) is str else value
