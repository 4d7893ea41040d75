"""`dpmine.report`: a job file in, a page out, as one call."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

from dpmine.errors import BadParameter
from dpmine.io.atomic import database_files, no_guard, require_apart, unwritable, writable_target, write_atomically
from dpmine.ledger.budget import entries_as_written, name_and_part
from dpmine.ledger.ledger import Ledger
from dpmine.parameters import truth
from dpmine.reporting.batch import check_batch, run_batch
from dpmine.reporting.evidence.folder import require_possible, write_evidence
from dpmine.reporting.forecast import WindowsForecast
from dpmine.reporting.jobs.file import Create, read_job_file
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.windows import WindowRun

if TYPE_CHECKING:
    from dpmine.io.atomic import Guard
    from dpmine.io.files import PathName
    from dpmine.reporting.batch import Report, Watcher
    from dpmine.reporting.checked_batch import CheckedBatch
    from dpmine.reporting.jobs.file import BudgetTerms, JobFile

_PAGE = "report.html"
_SUFFIXES = {"", ".html", ".htm"}


@dataclass(frozen=True, slots=True)
class PreparedReport:
    """A report of which everything was checked that can be without reading a value.

    Attributes:
        job_file: what is asked for.
        store: where results are kept.
        page: the file of the page, links followed.
        batch: what each job is charged; of recurring jobs, in every window that is run.
        window_run: of recurring jobs, the windows that are run; else None.
        evidence: the folder of evidence, if it is asked for.
        checked: that the ledger is as it was written, and by which seal it ends; "" where there is none.
    """

    job_file: JobFile
    store: ResultsFolder
    page: Path
    batch: CheckedBatch | WindowsForecast
    window_run: WindowRun | None = None
    evidence: Path | None = None
    checked: str = ""

    @classmethod
    def of(
        cls,
        jobs: Path,
        output: Path,
        results: Path | None,
        *,
        retry: bool,
        window: str | None = None,
        evidence: Path | None = None,
        ledger_must_exist: bool = False,
        dry_run: bool = False,
        named: tuple[str, str, str] = ("output", "results", "evidence"),
        guard: Guard = no_guard,
    ) -> Self:
        """Raises as `report`.

        `dry_run`: whether a forecast of no window is an answer. `named`: what the user calls page, results, evidence.
        """
        page = writable_target(output, guard=guard)
        job_file = read_job_file(jobs)
        if ledger_must_exist:
            job_file = replace(job_file, terms=replace(job_file.terms, create=Create.NEVER))
        store = ResultsFolder(results or output.with_name(f"{jobs.stem}-results"))
        checked = _checked(job_file.terms)
        window_run = WindowRun.of(job_file, store, window)
        batch = check_batch(job_file, store, retry=retry) if window_run is None else window_run.forecast(retry=retry)
        if isinstance(batch, WindowsForecast) and not dry_run:
            batch.require_windows()
        proof = None if evidence is None else evidence / "results" / "result.parquet"
        written = dict(zip(named, (page, store.folder / "result.parquet", proof), strict=True))
        require_apart(written, batch.paths, {"the job file": jobs, **database_files(job_file.terms.ledger)})
        if output.suffix.lower() not in _SUFFIXES:
            raise BadParameter("The page is HTML only: end its name in .html, such as report.html.")
        store.require_usable(page)
        if evidence is not None:
            require_possible(evidence, job_file)
        return cls(job_file, store, page, batch, window_run, evidence, checked)

    def run(self, *, watch: Watcher, retry: bool) -> Report:
        """Run the jobs; of recurring ones also the windows that were missed. Raises as `run_batch`."""
        if self.window_run is not None:
            done = self.window_run.run(watch=watch, retry=retry)
        else:
            done = run_batch(self.job_file, self.store, watch=watch, retry=retry)
        return replace(done, checked=self.checked)


def _checked(terms: BudgetTerms) -> str:
    """What `Ledger.verify` found, in a line; "" where there is no ledger yet. Raises BadLedger."""
    ledger, name = Ledger(terms.ledger), name_and_part(terms.dataset)[0]
    if not ledger.exists():
        return ""
    number, budget = ledger.verify(), ledger.known(name)
    end = "" if budget is None else f"; {budget.end}"
    return f"ledger: {entries_as_written(number)}{end}"


@overload
def report(
    jobs: PathName,
    output: PathName = _PAGE,
    *,
    results: PathName | None = None,
    retry: bool = False,
    window: str | None = None,
    evidence: PathName | None = None,
    ledger_must_exist: bool = False,
    dry_run: Literal[True],
) -> CheckedBatch | WindowsForecast: ...


@overload
def report(
    jobs: PathName,
    output: PathName = _PAGE,
    *,
    results: PathName | None = None,
    retry: bool = False,
    window: str | None = None,
    evidence: PathName | None = None,
    ledger_must_exist: bool = False,
    dry_run: Literal[False] = False,
) -> Report: ...


def report(
    jobs: PathName,
    output: PathName = _PAGE,
    *,
    results: PathName | None = None,
    retry: bool = False,
    window: str | None = None,
    evidence: PathName | None = None,
    ledger_must_exist: bool = False,
    dry_run: bool = False,
) -> Report | CheckedBatch | WindowsForecast:
    """Run the jobs of a TOML file under one budget, and write one HTML page for all of them: `dpmine report`.

    Everything is checked before anything is charged. Jobs whose results are stored are neither run nor charged again.

    Args:
        jobs: the job file: a budget with its ledger, inputs, and jobs. Its paths are relative to the working directory.
        output: the page, written whole or not at all; by default report.html in the working directory.
        results: the folder of the results; None for `<jobs>-results` beside the page.
        retry: whether jobs that were begun before, without a result, are run and charged again.
        window: of a job file with a schedule, the window that is run, such as "2026-W47"; None for the last one that
            has ended. A window is charged once, however often it is run.
        evidence: a new folder for what others check the report by; None for none. See
            `dpmine.verify_evidence`.
        ledger_must_exist: whether the ledger must know the data set; otherwise the budget is created where it does not.
        dry_run: whether to stop after the checks: nothing is charged, and no value is read.

    Returns the report: its text says what became of each job, `outcomes` holds their documents. With `dry_run=True`,
    the batch: its text says what each job would be charged. Of recurring jobs it is a forecast of all windows that
    would be run, and says why if there is none.
    Raises BadParameter, BadData, UnreadableFile, NotPrivate, BadLedger, NotReady or BudgetExceeded before anything is
    charged.
    Where a job fails, the others are run, the page is written, and an error is raised whose notes say why. It is
    BudgetExceeded where the budget rejected all that failed. A bug is raised as it is, all else as BadData.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> folder = Path(tempfile.mkdtemp())
        >>> sales = pa.table({"customer": [*range(500)] * 2, "item": ["bread"] * 500 + ["milk"] * 500})
        >>> pq.write_table(sales, folder / "sales.parquet")
        >>> text = f'''
        ... [budget]
        ... ledger = "sqlite:///{folder}/budget.db"
        ... dataset = "shop"
        ... epsilon = 1
        ... delta = 1e-6
        ... [[job]]
        ... kind = "top-itemset"
        ... name = "Pairs"
        ... input = "{folder}/sales.parquet"
        ... '''
        >>> _ = (folder / "jobs.toml").write_text(text, encoding="utf-8")
        >>> print(report(folder / "jobs.toml", dry_run=True))
        Pairs: a charge of up to ε = 1, δ = 1e-06
        All together: up to ε = 1, δ = 1e-06 for each customer; the budget is yet to be granted.
        >>> print(report(folder / "jobs.toml", folder / "report.html"))  # doctest: +ELLIPSIS
        new ledger: granted ε = 1, δ = 1e-06 to 'shop'; if there was one before, restore it, ...
        job 'Pairs': done
        ε = 0, δ = 0 left for each customer
        ledger: 'shop' ends at entry 2 with the seal ...

    See Also:
        dpmine.Ledger: the budget.
        top_itemsets: one such job.
    """
    retried, only_checked = truth("retry", retry), truth("dry_run", dry_run)
    job_file, output_file = _path("jobs", jobs), _path("output", output)
    results_folder = None if results is None else _path("results", results)
    evidence_folder = None if evidence is None else _path("evidence", evidence)
    must_exist = truth("ledger_must_exist", ledger_must_exist)
    prepared = PreparedReport.of(
        job_file,
        output_file,
        results_folder,
        retry=retried,
        window=window,
        evidence=evidence_folder,
        ledger_must_exist=must_exist,
        dry_run=only_checked,
    )
    if only_checked:
        return prepared.batch
    from dpmine.reporting.page.render import render

    done = prepared.run(watch=lambda _number, _job, _share: None, retry=retried)
    content = render(done).encode()
    try:
        write_atomically(prepared.page, content)
    except OSError as error:
        raise unwritable(output_file, error) from None
    if evidence_folder is not None:
        write_evidence(done, prepared.store, content, evidence_folder)
    done.raise_failures()
    return done


def _path(name: str, value: PathName) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise BadParameter(f"{name} must be a path.")
    return Path(value)
