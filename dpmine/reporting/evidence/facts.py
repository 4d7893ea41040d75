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
from typing import TYPE_CHECKING

from dpmine.errors import BadData, DpmineError
from dpmine.io.atomic import read_file
from dpmine.itemsets.release.results import printable
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.ledger.records import entry_of, reread
from dpmine.privacy import Neighbors, rounded_up, short
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.file import UnitWords, read_job_file
from dpmine.reporting.jobs.schedule import Window
from dpmine.reporting.page.charts import templates
from dpmine.reporting.page.render import odds_text
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.terms import Charges
from dpmine.reporting.windows import Recurring
from dpmine.version import __version__

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
    "frequent-itemsets": "adaptive noisy counts",
    "classify": "{} perturbation",
    "regress": "noise on sufficient statistics",
    "accuracy-first": "noise reduction with a noisy comparison",
    "histogram": "noisy counts",
}
"""How results come about that name no mechanism."""
OPEN = "To be completed before submission."
"""What no run knows: who publishes the results, where and what for, and who registers them."""
_STATISTICS = {"top-itemset", "frequent-itemsets", "compare", "histogram"}
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
    method = job.table.get("method")
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
                "description": "; ".join(f"{job.name} ({job.kind})" for job, _ in facts.released),
                "intended_use": OPEN,
                "data_product_type": _product(facts),
                "data_product_region": OPEN,
                "publication_date": facts.day,
            },
            "dp_variant": {"variant_name": "Approximate DP" if facts.together.delta else "Pure DP"},
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
    learnt = any(job.kind not in _STATISTICS for job, _ in facts.released)
    return "Machine learning model" if learnt else "Summary statistics"


def _parameters(facts: Facts) -> dict[str, object]:
    """The sums of ε and δ, which hold under any accounting, and what else was charged to the data."""
    together, spent = facts.together, facts.budget.guarantee
    return {
        "privacy_parameters": {"epsilon": rounded_up(together.epsilon), "delta": rounded_up(together.delta)},
        "privacy_parameters_details": (
            f"The sums of these results, by basic composition. All charges to the data set together: {spent.decimals}."
        ),
    }


def checklist(facts: Facts) -> str:
    """The page, in Markdown. A ticked box is answered by the run, an empty one is for a person to answer."""
    from jinja2 import PackageLoader

    budget, terms = facts.budget, facts.job_file.terms
    replaced, spent = budget.neighbors is Neighbors.REPLACE_ONE, budget.guarantee
    own = templates().overlay(loader=PackageLoader("dpmine.reporting.evidence"), finalize=_shown)
    page = own.get_template("checklist.md.j2").render(
        title=facts.job_file.title,
        owner=facts.job_file.owner,
        period=facts.job_file.period,
        dataset=terms.dataset,
        unit=facts.words.one,
        column=facts.unit,
        replaced=replaced,
        accounting=str(budget.accounting),
        together=facts.together.shown(budget.accounting, short),
        spent=spent.decimals,
        granted=budget.granted.decimals,
        entries=budget.entries,
        seal=budget.seal,
        odds=odds_text(spent.epsilon if replaced else 2 * spent.epsilon),
        jobs=[_job(facts, place) for place in range(len(facts.results))],
        asserted=facts.asserted,
        window=facts.job_file.window,
        schedule=facts.job_file.schedule,
        notes=sorted({note for _, result in facts.released for note in result.guarantee.notes}),
        version=__version__,
    )
    return page.replace("&#39;", "'").replace("&#34;", '"') + "\n"  # quotes are no markup


def _job(facts: Facts, place: int) -> dict[str, object]:
    job, result = facts.job_file.jobs[place], facts.results[place]
    asked_for = {"name": job.name, "kind": job.kind, "input": job.source, "rows": job.options.get("rows_per_unit")}
    if result is None:
        return {**asked_for, "mechanism": "", "guarantee": ""}
    return {**asked_for, "mechanism": mechanism(job, result), "guarantee": str(result.guarantee)}


def _shown(value: object) -> object:
    """What the page prints: texts on one line."""
    return printable(value) if type(value) is str else value
