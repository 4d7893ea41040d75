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
    prepared = PreparedReport.of(
        line.jobs, line.output, line.results, retry=line.retry, window=line.window, named=named, guard=guard
    )
    if line.check:
        print(f"Results are kept in '{prepared.store.folder}'.")
        if prepared.course is not None and prepared.course.missed:
            print(f"Missed, and run first: {', '.join(map(str, prepared.course.missed))}.")
        print(prepared.batch)
        return
    from dpmine.reporting.page.render import render

    with line.messages as messages:
        batch_begins()
        done = prepared.run(watch=messages.watch, retry=line.retry)
        replace(prepared.page, render(done).encode())
        _say_outcomes(done, messages)
        messages.notice(f"the page is '{line.output}', the results are in '{prepared.store.folder}'")
    done.raise_failures()


def _say_outcomes(done: Report, messages: Messages) -> None:
    for outcome in done.followed:
        say = messages.notice if outcome.error is None else messages.warn
        say(outcome.said)
    if done.rejected:
        messages.warn(done.rejected)
    if left := done.left:
        messages.notice(left)
