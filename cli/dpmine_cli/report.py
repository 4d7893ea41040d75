"""dpmine report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from dpmine_cli import interrupts, options
from dpmine_cli.messages import Messages
from dpmine_cli.output import file_target, ledger_files, replace

if TYPE_CHECKING:
    from dpmine.reporting.batch import Report
    from dpmine.reporting.checks import Plan

JobFilePath = Annotated[
    Path, typer.Argument(metavar="JOBS.toml", help="The job file: a budget, inputs and jobs.", show_default=False)
]
Page = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE.html", help="The page, written whole or not at all.")
]
Results = Annotated[
    Optional[Path],
    typer.Option(
        "--results",
        metavar="FOLDER",
        help="Where results are kept; jobs found there cost nothing. Default: JOBS-results, beside the page.",
        show_default=False,
    ),
]
Retry = Annotated[bool, typer.Option("--retry", help="Run jobs that failed before again; they are charged again.")]
Check = Annotated[bool, typer.Option("--check", help="Check everything and say what it would cost; run nothing.")]


def report(
    jobs: JobFilePath,
    output: Page = Path("report.html"),
    results: Results = None,
    retry: Retry = False,
    check: Check = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Run the jobs of a TOML file under one budget, and write one page for all of them.

    Example: dpmine report jobs.toml -o report.html
    """
    page = file_target(output)
    from dpmine.models.tables import require_apart
    from dpmine.reporting.checks import checked_plan
    from dpmine.reporting.job_file import read_job_file
    from dpmine.reporting.store import Store

    job_file = read_job_file(jobs)
    store = Store(results or output.with_name(f"{jobs.stem}-results"), job_file.terms)
    plan = checked_plan(job_file, store, retry=retry)
    written = {"--output": page, "--results": store.folder / "result.parquet"}
    require_apart(written, plan.paths, {"the job file": jobs, **ledger_files(job_file.terms.ledger)})
    store.require_usable(page)
    if check:
        print(f"Results are kept in '{store.folder}'.")
        _tell_cost(plan, job_file.terms.dataset)
        return
    from dpmine.reporting.batch import run_batch
    from dpmine.reporting.page import render

    with Messages(quiet=quiet) as messages:
        interrupts.batch_begins()
        done = run_batch(job_file, store, watch=messages.watch, retry=retry)
        replace(page, render(done).encode())
        _tell_outcomes(done, messages)
        messages.notice(f"the page is '{output}', the results are in '{store.folder}'")
    _end(done)


def _tell_cost(plan: Plan, dataset: str) -> None:
    """What each job would cost, and what is left, on stdout."""
    from dpmine.ledger.budget import name_and_part
    from dpmine.reporting.wording import amount_text

    for step in plan.steps:
        free = "stored already" if step.stored else "begun before, without a result"
        cost = f"costs up to {amount_text(step.price)}" if step.pending else f"{free}, costs nothing"
        print(f"{step.job.name}: {cost}")
    left = "the budget is yet to be granted"
    if plan.budget is not None:
        left = f"{amount_text(plan.budget.remaining_of(name_and_part(dataset)[1]))} left"
    print(f"All together: up to {amount_text(plan.to_pay)} for each {plan.unit}; {left}.")


def _tell_outcomes(done: Report, messages: Messages) -> None:
    from dpmine.ledger.budget import name_and_part
    from dpmine.reporting.wording import amount_text

    for outcome in done.outcomes:
        if outcome.error is not None:
            messages.warn(f"job {outcome.job.name!r}: {_reason(outcome.error)}")
        else:
            messages.notice(f"job {outcome.job.name!r}: {'stored before' if outcome.reused else 'done'}")
    if done.budget is not None:
        left = done.budget.remaining_of(name_and_part(done.job_file.terms.dataset)[1])
        messages.notice(f"{amount_text(left)} left for each {done.unit}")


def _reason(error: Exception) -> str:
    from dpmine.errors import DpmineError

    if isinstance(error, DpmineError):
        return " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "not enough memory."
    return f"a bug in dpmine ({type(error).__name__}): please report it with the output of --debug."


def _end(done: Report) -> None:
    """An error for jobs without a result, after the page was written: refused budgets, bugs, or anything else."""
    from dpmine.errors import BadData, BudgetExceeded, DpmineError

    failed = [outcome for outcome in done.outcomes if outcome.error is not None]
    if not failed:
        return
    text = f"{len(failed)} of {len(done.outcomes)} jobs failed, as said above; the page shows the others."
    for outcome in failed:
        if outcome.error and not isinstance(outcome.error, DpmineError | MemoryError):
            raise outcome.error
    if all(isinstance(outcome.error, BudgetExceeded) for outcome in failed):
        raise BudgetExceeded(text)
    raise BadData(text)
