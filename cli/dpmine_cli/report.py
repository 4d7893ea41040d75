"""dpmine report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine_cli.line import require_apart
from dpmine_cli.messages import batch_begins
from dpmine_cli.output import database_files, file_target, replace

if TYPE_CHECKING:
    from dpmine.reporting.batch import Batch, Report
    from dpmine_cli.line import CommandLine
    from dpmine_cli.messages import Messages


def report(line: CommandLine) -> None:
    """Run the jobs of a TOML file under one budget, and write one page for all of them.

    Example: dpmine report jobs.toml -o report.html
    """
    page = file_target(line.output)
    from dpmine.reporting.batch import checked_batch, run_batch
    from dpmine.reporting.jobs.file import read_job_file
    from dpmine.reporting.store import ResultsFolder

    job_file = read_job_file(line.jobs)
    store = ResultsFolder(line.results or line.output.with_name(f"{line.jobs.stem}-results"))
    batch = checked_batch(job_file, store, retry=line.retry)
    written = {"--output": page, "--results": store.folder / "result.parquet"}
    require_apart(written, batch.paths, {"the job file": line.jobs, **database_files(job_file.terms.ledger)})
    store.require_usable(page)
    if line.check:
        print(f"Results are kept in '{store.folder}'.")
        _print_charges(batch, job_file.terms.dataset)
        return
    from dpmine.reporting.page.render import render

    with line.messages as messages:
        batch_begins()
        done = run_batch(job_file, store, watch=messages.watch, retry=line.retry)
        replace(page, render(done).encode())
        _say_outcomes(done, messages)
        messages.notice(f"the page is '{line.output}', the results are in '{store.folder}'")
    _end(done)


def _print_charges(batch: Batch, dataset: str) -> None:
    """What each job would cost, and what is left, on stdout."""
    from dpmine.privacy import short

    for step in batch.steps:
        free = "stored already" if step.stored else "begun before, without a result"
        cost = f"costs up to {step.charge.shown(batch.accounting, short)}" if step.pending else f"{free}, costs nothing"
        print(f"{step.job.name}: {cost}")
    left = "the budget is yet to be granted" if batch.budget is None else f"{batch.budget.left_of(dataset)} left"
    print(f"All together: up to {batch.to_charge.shown(batch.accounting, short)} for each {batch.unit}; {left}.")


def _say_outcomes(done: Report, messages: Messages) -> None:
    for outcome in done.outcomes:
        if outcome.error is not None:
            messages.warn(f"job {outcome.job.name!r}: {_reason(outcome.error)}")
        else:
            messages.notice(f"job {outcome.job.name!r}: {'stored before' if outcome.reused else 'done'}")
    if done.budget is not None:
        messages.notice(f"{done.budget.left_of(done.job_file.terms.dataset)} left for each {done.unit}")


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
