"""dpmine report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine_cli.messages import batch_begins
from dpmine_cli.output import guard, replace

if TYPE_CHECKING:
    from dpmine.reporting.batch import Report
    from dpmine_cli.line import CommandLine
    from dpmine_cli.messages import Messages


def report(line: CommandLine) -> None:
    """Run the jobs of a TOML file under one budget, and write one page for all of them.

    Example: dpmine report jobs.toml -o report.html
    """
    from dpmine.reporting.call import PreparedReport

    named = "--output", "--results"
    prepared = PreparedReport.of(line.jobs, line.output, line.results, retry=line.retry, named=named, guard=guard)
    if line.check:
        print(f"Results are kept in '{prepared.store.folder}'.")
        print(prepared.batch)
        return
    from dpmine.reporting.batch import run_batch
    from dpmine.reporting.page.render import render

    with line.messages as messages:
        batch_begins()
        done = run_batch(prepared.job_file, prepared.store, watch=messages.watch, retry=line.retry)
        replace(prepared.page, render(done).encode())
        _say_outcomes(done, messages)
        messages.notice(f"the page is '{line.output}', the results are in '{prepared.store.folder}'")
    done.raise_failures()


def _say_outcomes(done: Report, messages: Messages) -> None:
    for outcome in done.outcomes:
        say = messages.notice if outcome.error is None else messages.warn
        say(outcome.said)
    if left := done.left:
        messages.notice(left)
